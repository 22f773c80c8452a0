package tokenendpoint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/oauth2"
	"pgregory.net/rapid"

	"github.com/parley-mcp/parley/internal/tokenendpoint"
	"github.com/parley-mcp/parley/vault"
)

// canned answers every request with the same response and keeps what was sent.
type canned struct {
	status int
	kind   string
	body   string

	request *http.Request
	sent    string
}

// RoundTrip implements [http.RoundTripper].
func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c.request, c.sent = r, string(text)
	header := http.Header{}
	if c.kind != "" {
		header.Set("Content-Type", c.kind)
	}
	return &http.Response{
		Status: http.StatusText(c.status), StatusCode: c.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(strings.NewReader(c.body)), ContentLength: int64(len(c.body)), Request: r,
	}, nil
}

// outcome is what a client makes of a response, in the words of both.
type outcome struct {
	Access, Refresh, Type string
	Lifetime              time.Duration // to the second
	Scope                 string
	Code                  string // of an error
	Failed                bool
}

const oldToken = "the-old-refresh-token"

func ours(c *canned) outcome {
	e := tokenendpoint.New(&http.Client{Transport: c}, nil)
	tokens, err := e.Refresh(context.Background(), vault.RefreshRequest{
		Terms: vault.Terms{TokenEndpoint: "https://idp.example/token"}, Client: public, Refresh: vault.NewSecret(oldToken),
	})
	if err != nil {
		failure, _ := errors.AsType[*vault.EndpointError](err)
		return outcome{Failed: true, Code: failure.Code}
	}
	return outcome{
		Access: tokens.Access.Reveal(), Refresh: tokens.Refresh.Reveal(), Type: tokens.Type, Lifetime: tokens.Lifetime, Scope: strings.Join(tokens.Scopes, " "),
	}
}

// theirs runs in a bubble, where the clock stands still while it works.
func theirs(t *testing.T, c *canned) (o outcome) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { o = read(c) })
	return o
}

func read(c *canned) outcome {
	config := oauth2.Config{ClientID: public.ID, Endpoint: oauth2.Endpoint{TokenURL: "https://idp.example/token", AuthStyle: oauth2.AuthStyleInParams}}
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Transport: c})
	token, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: oldToken}).Token()
	if err != nil {
		o := outcome{Failed: true}
		if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
			o.Code = refused.ErrorCode
		}
		return o
	}
	o := outcome{Access: token.AccessToken, Refresh: token.RefreshToken, Type: token.TokenType}
	if o.Refresh == oldToken { // it puts the old one where none came
		o.Refresh = ""
	}
	if !token.Expiry.IsZero() {
		o.Lifetime = time.Until(token.Expiry)
	}
	if scope, ok := token.Extra("scope").(string); ok {
		o.Scope = scope
	}
	return o
}

// TestAgrees: what the standard says, both read alike, and both send alike.
func TestAgrees(t *testing.T) {
	t.Parallel()
	visible := rapid.StringMatching(`[!-~]{1,60}`) // VSCHAR without the space
	test := t
	rapid.Check(t, func(t *rapid.T) {
		c := &canned{status: 200, kind: "application/json"}
		fields := map[string]any{"extra": rapid.SampledFrom([]any{nil, true, 1.5, "x", []any{1}, map[string]any{"access_token": "y"}}).Draw(t, "extra")}
		if rapid.Bool().Draw(t, "success") {
			fields["access_token"] = visible.Draw(t, "access")
			fields["token_type"] = rapid.SampledFrom([]string{"Bearer", "bearer", "mac"}).Draw(t, "type")
			if rapid.Bool().Draw(t, "refreshed") {
				fields["refresh_token"] = visible.Draw(t, "refresh")
			}
			if seconds := rapid.IntRange(0, 10*365*24*3600).Draw(t, "lifetime"); seconds > 0 {
				fields["expires_in"] = seconds
				if rapid.Bool().Draw(t, "as text") {
					fields["expires_in"] = fmt.Sprint(seconds)
				}
			}
			if rapid.Bool().Draw(t, "scoped") {
				scopes := rapid.SliceOfN(rapid.StringMatching(`s:[!#-+\--\[\]-~]{1,9}`), 1, 4).Draw(t, "scope") // NQCHAR without the comma; in forms the oracle takes digits, "inf" and the like for numbers
				fields["scope"] = strings.Join(scopes, " ")
			}
		} else {
			c.status = rapid.SampledFrom([]int{400, 401, 403, 500}).Draw(t, "status")
			fields["error"] = rapid.SampledFrom([]string{
				"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope", "invalid_target",
			}).Draw(t, "error")
			fields["error_description"] = rapid.StringMatching(`[ !#-\[\]-~]{0,40}`).Draw(t, "description")
		}
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "form") {
			form := url.Values{}
			for name, value := range fields {
				form.Set(name, fmt.Sprint(value))
			}
			c.kind, text = "application/x-www-form-urlencoded", []byte(form.Encode())
		} else if rapid.Bool().Draw(t, "indented") {
			var wide bytes.Buffer
			if err := json.Indent(&wide, text, " ", "\t"); err != nil {
				t.Fatal(err)
			}
			text = wide.Bytes()
		}
		c.body = string(text)
		got, sent := ours(c), c.sent
		want := theirs(test, c)
		if got != want {
			t.Fatalf("%s %s\nours   %+v\ntheirs %+v", c.kind, c.body, got, want)
		}
		if sent != c.sent {
			t.Fatalf("sent\nours   %s\ntheirs %s", sent, c.sent)
		}
	})
}

// TestDiffers is the table of what x/oauth2 does otherwise, and why we do not.
// A row where both agree again fails, so that the table stays true.
func TestDiffers(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	good := outcome{Access: "a"}
	timed := outcome{Access: "a", Lifetime: time.Hour}
	failed := outcome{Failed: true}
	tests := []struct {
		why          string
		c            canned
		ours, theirs outcome
	}{
		{"a lifetime with a fraction is one", canned{200, "application/json", `{"access_token":"a","expires_in":3600.0}`, nil, ""}, timed, failed},
		{"and the fraction of a second does not count", canned{200, "application/json", `{"access_token":"a","expires_in":3600.9}`, nil, ""}, timed, failed},
		{"an empty lifetime is none", canned{200, "application/json", `{"access_token":"a","expires_in":""}`, nil, ""}, good, failed},
		{"nor is one that makes no sense", canned{200, "application/json", `{"access_token":"a","expires_in":"soon"}`, nil, ""}, good, failed},
		{"or is an object: the tokens count", canned{200, "application/json", `{"access_token":"a","expires_in":{}}`, nil, ""}, good, failed},
		{"a lifetime below zero says nothing", canned{200, "application/json", `{"access_token":"a","expires_in":-1}`, nil, ""}, good, outcome{Access: "a", Lifetime: -time.Second}},
		{"nobody knows what is in 68 years", canned{200, "application/json", `{"access_token":"a","expires_in":9223372036854775807}`, nil, ""},
			outcome{Access: "a", Lifetime: 10 * year}, outcome{Access: "a", Lifetime: 2147483647 * time.Second}},
		{"JSON is JSON, whatever its label", canned{200, "text/plain", `{"access_token":"a"}`, nil, ""}, good, failed},
		{"even that of a form", canned{200, "application/x-www-form-urlencoded", `{"access_token":"a"}`, nil, ""}, good, failed},
		{"a byte order mark is no JSON, but no harm either", canned{200, "application/json", "\ufeff" + `{"access_token":"a"}`, nil, ""}, good, failed},
		{"a form without a label is a form", canned{200, "", `access_token=a`, nil, ""}, good, failed},
		{"a lifetime with a fraction, in a form", canned{200, "text/plain", `access_token=a&expires_in=3600.0`, nil, ""}, timed, good},
		{"an error that is an object is an error, with its code", canned{200, "application/json", `{"error":{"code":"invalid_grant"}}`, nil, ""}, outcome{Failed: true, Code: "invalid_grant"}, failed},
		{"names are compared exactly (RFC 8259 has no other way)", canned{200, "application/json", `{"Access_Token":"a"}`, nil, ""}, failed, good},
		{"a token that breaks a header is none", canned{200, "application/json", `{"access_token":"a\nb"}`, nil, ""}, failed, outcome{Access: "a\nb"}},
		{"a refresh token that cannot be one is as if it were not there", canned{200, "application/json", `{"access_token":"a","refresh_token":7}`, nil, ""}, good, failed},
		{"a code that is text for people is not repeated", canned{400, "application/json", `{"error":"Sorry, <b>no</b>."}`, nil, ""}, failed, outcome{Failed: true, Code: "Sorry, <b>no</b>."}},
		{"nor is one that repeats what was sent", canned{400, "application/json", `{"error":"` + oldToken + `"}`, nil, ""}, failed, outcome{Failed: true, Code: oldToken}},
		{"scopes that came as a list", canned{200, "application/json", `{"access_token":"a","scope":["x","y"]}`, nil, ""}, outcome{Access: "a", Scope: "x y"}, good},
		{"or with commas", canned{200, "application/json", `{"access_token":"a","scope":"x,y"}`, nil, ""}, outcome{Access: "a", Scope: "x y"}, outcome{Access: "a", Scope: "x,y"}},
		{"what is after the end of an answer is no part of one", canned{200, "application/json", `{"access_token":"a"}` + strings.Repeat(" ", 1<<20) + `{`, nil, ""}, failed, good},
	}
	for _, test := range tests {
		got, other := ours(&test.c), theirs(t, &test.c)
		if got != test.ours {
			t.Errorf("%s: ours %+v, want %+v", test.why, got, test.ours)
		}
		if other != test.theirs {
			t.Errorf("%s: theirs %+v, want %+v", test.why, other, test.theirs)
		}
		if got == other {
			t.Errorf("%s: no difference", test.why)
		}
	}
}

// FuzzRead feeds the reader of responses. It must not crash, and whatever it
// takes can be sent in a header and does not come out in an error.
func FuzzRead(f *testing.F) {
	for _, body := range []string{
		`{"access_token":"a","refresh_token":"r","expires_in":3600,"scope":"x y"}`, `{"access_token":"a","expires_in":"1e3"}`,
		`{"error":"invalid_grant"}`, `{"error":{"code":"x"}}`, `access_token=a&expires_in=3600`, `{"scope":["a","b"],"access_token":"t"}`,
		"\ufeff{}", `{"access_token":`, `[]`, ``, `{"access_token":"a","access_token":"b"}`,
	} {
		f.Add(200, "application/json", body)
		f.Add(400, "text/plain", body)
	}
	f.Fuzz(func(t *testing.T, status int, kind, body string) {
		if status < 100 || status > 999 {
			status = 200
		}
		c := &canned{status: status, kind: kind, body: body}
		e := tokenendpoint.New(&http.Client{Transport: c}, nil)
		reply, err := e.Exchange(t.Context(), tokenendpoint.Exchange{
			Terms: vault.Terms{TokenEndpoint: "https://idp.example/token"}, Client: public, Code: vault.NewSecret("the-code"),
		})
		if err != nil {
			failure, ok := errors.AsType[*vault.EndpointError](err)
			if !ok || !reply.Access.IsZero() || !reply.Refresh.IsZero() {
				t.Fatalf("%v (%T) with a reply", err, err)
			}
			if failure.Class == vault.NotSent || failure.Status != status || strings.Contains(failure.Code, "the-code") {
				t.Fatalf("%+v", failure)
			}
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Fatalf("error %q", err)
			}
			return
		}
		if status < 200 || status > 299 || reply.Access.IsZero() || reply.Lifetime < 0 {
			t.Fatalf("status %d, lifetime %v", status, reply.Lifetime)
		}
		for _, s := range append([]string{reply.Access.Reveal(), reply.Refresh.Reveal(), reply.ID.Reveal(), reply.Type}, reply.Scopes...) {
			if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Fatalf("%q was taken", s)
			}
		}
	})
}
