package oidc

import (
	"html/template"
	"net/http"
)

// A page says how a sign-in ended. Nothing that came with the request is on it.
type page struct {
	Title, Text, Link string
}

var (
	pageDenied   = page{"You are not signed in", "The sign-in was refused, by you or by your organisation.", "Try again"}
	pageState    = page{"You are not signed in", "This sign-in was begun in another browser, was used already, or took too long.", "Sign in again"}
	pageOdd      = page{"You are not signed in", "The answer of the sign-in service does not fit what was asked.", "Sign in again"}
	pageProvider = page{"You are not signed in", "The sign-in service could not be used. Whoever runs this host finds the reason in its log.", "Try again"}
	pageTrouble  = page{"That did not work", "This host cannot read or store sign-ins at the moment, so it cannot say whether you are signed in. Try again in a moment.", "Try again"}
	pageStillIn  = page{"You are still signed in", "This host could not end your session. Go back, and sign out again in a moment.", ""}
	pageOut      = page{"You are signed out", "Questions stay here until you come back.", "Sign in"}
)

var layout = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{.Title}} - Parley</title>
<h1>{{.Title}}</h1>
<p>{{.Text}}</p>
{{with .Link}}<p><a href="/sign-in">{{.}}</a></p>{{end}}
</html>
`))

func answer(w http.ResponseWriter, status int, p page) {
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "2")
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = layout.Execute(w, p) // the reader is gone: nobody to tell
}
