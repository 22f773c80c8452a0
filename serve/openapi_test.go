package serve_test

import (
	"bytes"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/serve/internal/conform"
)

// conforms compares an answer with the document.
func conforms(t *testing.T, method, path string, r *reply) {
	t.Helper()
	conform.Answer(t, method, path, r.status, r.header, r.body)
}

// The copy that readers of the repository see is the one that is served.
func TestOpenAPIIsCommitted(t *testing.T) {
	t.Parallel()
	kept, err := os.ReadFile("../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept, serve.OpenAPI()) {
		t.Error("docs/openapi.json is old: run make generate")
	}
	b := setup(t)
	b.token = ""
	if r := b.get("/v1/openapi.json").want(http.StatusOK); !bytes.Equal(r.body, kept) {
		t.Error("another document is served")
	}
}

// Every route that names a row answers an id of somebody else, and one of another
// conversation, byte for byte like an id that nobody has. Names that anybody may have
// or ask for, those of conversations and of the host's servers, tell nobody anything of
// others and reach nothing of theirs.
func TestForeignIDs(t *testing.T) {
	t.Parallel()
	d := conform.Read(t)
	e := embed(t)
	scopes := []string{"read", "answer", "call"}
	owner := e.as(e.mint(e.acme, person("ann", "v_1", scopes...)).Token)
	strangers := map[string]*bench{
		"another person":       e.as(e.mint(e.acme, person("bob", "v_1", scopes...)).Token),
		"another tenant":       e.as(e.mint(e.acme, map[string]any{"tenant": "us", "subject": "ann", "conversation": "v_1", "scopes": scopes}).Token),
		"another product":      e.as(e.mint(e.other, map[string]any{"subject": "ann", "conversation": "v_1", "scopes": scopes}).Token),
		"another conversation": e.as(e.mint(e.acme, map[string]any{"tenant": "eu", "subject": "ann", "conversation": "v_2", "scopes": scopes}).Token),
		"the operator":         e.bench,
	}
	bodies := map[string]any{
		"answer": map[string]any{"action": "decline"}, "check": map[string]any{"input": map[string]any{}},
		"open": map[string]any{"url_sha256": strings.Repeat("0", 64)}, "resolve": map[string]any{"how": "give_up"}, "{id}": map[string]any{"allow": true}, "shown": map[string]any{"evidence": "x"},
	}
	c := owner.run("seat", map[string]any{})
	_, a := asked(t, e.inbox, inbox.Principal{Issuer: "https://acme.example", Tenant: "eu", Subject: "ann"}, inbox.Ask{})
	tried := 0
	for path, methods := range d.Paths {
		kind, last := strings.Split(path, "/")[2], path[strings.LastIndex(path, "/")+1:]
		if !strings.Contains(path, "{id}") {
			continue
		}
		for method := range methods {
			id := map[string]string{"calls": c.ID, "questions": c.Questions[0], "conversations": "v_1", "approvals": string(a.ID), "servers": "desk", "ops": "a-webhook"}[kind]
			if id == "" {
				t.Fatalf("no row of %s is made by this test", path)
			}
			for who, b := range strangers {
				got := b.do(strings.ToUpper(method), strings.Replace(path, "{id}", id, 1), bodies[last], nil)
				unknown := b.do(strings.ToUpper(method), strings.Replace(path, "{id}", "nobody-has-this", 1), bodies[last], nil)
				switch {
				case kind == "conversations" && who == "the operator":
					// Not bound to one: each has one of every name, and this one is empty.
					want := bytes.Replace(unknown.body, []byte("nobody-has-this"), []byte(id), 1)
					if got.status != http.StatusOK || !bytes.Equal(got.body, want) {
						t.Errorf("%s of %s: %d %s; want %s", got.what, who, got.status, got.body, want)
					}
					continue
				case kind == "conversations" && who != "another conversation":
					if want := `{"id":"v_1","calls":[],"questions":[],"approvals":[],"event":0}` + "\n"; got.status != http.StatusOK || string(got.body) != want {
						t.Errorf("%s of %s: %d %s; want %s", got.what, who, got.status, got.body, want)
					}
					continue
				case kind == "servers" && (who == "the operator" || last == "tools" || last == "seen"):
					continue // the servers are everybody's; what is done there is one's own: see below
				case kind == "ops" && who != "the operator":
					if got.status != http.StatusForbidden {
						t.Errorf("%s of %s: %d %s", got.what, who, got.status, got.body)
					}
					continue
				}
				if got.status != http.StatusNotFound || got.status != unknown.status || !bytes.Equal(got.body, unknown.body) {
					t.Errorf("%s of %s: %d %s; of an id that nobody has: %d %s", got.what, who, got.status, got.body, unknown.status, unknown.body)
				}
				tried++
			}
		}
	}
	if tried < 60 {
		t.Errorf("only %d tries", tried)
	}
	var now call
	if owner.get("/v1/calls/" + c.ID).want(http.StatusOK).decode(&now); now.State != c.State || now.Version != c.Version {
		t.Errorf("strangers made of %+v %+v", c, now)
	}
}

// A query by an id of somebody else finds what one by an id that nobody has does.
func TestForeignQueries(t *testing.T) {
	t.Parallel()
	as := staff(t, nil, time.Hour)
	ann, bob := as("ann"), as("bob")
	c, _ := asked(t, ann.inbox, inbox.Principal{Issuer: "https://id.example", Tenant: "eu", Subject: "ann"}, inbox.Ask{})
	path := "/v1/audit?call=" + string(c.ID)
	if list := ann.audit("?call=" + string(c.ID)); len(list) != 2 {
		t.Fatalf("the owner sees %+v", list)
	}
	unknown := bob.get("/v1/audit?call=nobody-has-this").want(http.StatusOK)
	if got := bob.get(path).want(http.StatusOK); !bytes.Equal(got.body, unknown.body) || len(bob.audit("")) != 0 {
		t.Errorf("%s; of an id that nobody has: %s", got.body, unknown.body)
	}
	e := embed(t)
	page := e.as(e.mint(e.acme, person("ann", "v_1", "read", "answer", "call")).Token)
	made := page.run("plain", map[string]any{"n": 1})
	for _, id := range []string{made.ID, "nobody-has-this"} { // of all conversations: for no page of a product
		page.get("/v1/audit?call="+id).code(http.StatusNotFound, "not_found")
	}
	if list := e.audit("?call=" + made.ID); len(list) != 0 {
		t.Errorf("the operator's own trail has %+v", list)
	}
}

// What headers a route reads stands in the document.
func TestHeadersAreInTheDocument(t *testing.T) {
	t.Parallel()
	d := conform.Read(t)
	for route, name := range map[string]string{"/v1/events": "Last-Event-ID", "/v1/calls/{id}/run-again": "Idempotency-Key"} {
		method := "get"
		if name == "Idempotency-Key" {
			method = "post"
		}
		if !slices.ContainsFunc(d.Paths[route][method].Parameters, func(p conform.Parameter) bool { return p.Name == name && p.In == "header" && p.Description != "" }) {
			t.Errorf("%s does not name the header %s: %+v", route, name, d.Paths[route][method].Parameters)
		}
	}
}

// Nothing of the API is for nobody, but for what signs people in.
func TestSignedOut(t *testing.T) {
	t.Parallel()
	d := conform.Read(t)
	e := embed(t)
	for path, methods := range d.Paths {
		for method, op := range methods {
			open := len(op.Security) == 0
			for name, token := range map[string]string{"nothing": "", "a guess": "parley_embed_AAAA", "an API key": e.other} {
				if _, key := first(op.Security)["apiKey"]; key && name == "an API key" {
					continue
				}
				status := e.as(token).do(strings.ToUpper(method), strings.Replace(path, "{id}", "x", 1), map[string]any{}, nil).status
				if !open && status != http.StatusUnauthorized {
					t.Errorf("%s %s with %s: %d", method, path, name, status)
				}
			}
		}
	}
}

func first(list []map[string][]string) map[string][]string {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}
