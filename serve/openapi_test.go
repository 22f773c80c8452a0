package serve_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
)

// An apiDocument is the OpenAPI document, as far as the tests look at it.
type apiDocument struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string
		Security    []map[string][]string
		Scope       string `json:"x-parley-scope"`
		RequestBody *struct {
			Content map[string]struct{ Schema json.RawMessage }
		}
		Responses map[string]struct {
			Content map[string]struct{ Schema json.RawMessage }
		}
	}
	Components struct{ Schemas map[string]json.RawMessage }
}

var readDocument = sync.OnceValues(func() (*apiDocument, error) {
	var d apiDocument
	err := json.Unmarshal(serve.OpenAPI(), &d)
	return &d, err
})

// validator makes a schema of the document strict: what it does not name is not there.
func (d *apiDocument) validator(schema json.RawMessage) (*jsonschema.Resolved, error) {
	root := map[string]any{}
	if err := json.Unmarshal(local(schema), &root); err != nil {
		return nil, err
	}
	defs := map[string]any{}
	for name, text := range d.Components.Schemas {
		var s map[string]any
		if err := json.Unmarshal(local(text), &s); err != nil {
			return nil, err
		}
		s["additionalProperties"] = false
		defs[name] = s
	}
	root["$defs"] = defs
	text, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

func local(schema []byte) []byte {
	return bytes.ReplaceAll(schema, []byte("#/components/schemas/"), []byte("#/$defs/"))
}

var validators sync.Map // of a schema's text

// conforms compares an answer with the document. Every test of the API goes through it.
func conforms(t *testing.T, method, path string, r *reply) {
	t.Helper()
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	contentType, _, _ := strings.Cut(r.header.Get("Content-Type"), ";")
	if !strings.HasPrefix(path, "/v1/") || !strings.HasSuffix(contentType, "json") || path == "/v1/openapi.json" || method == http.MethodHead {
		return
	}
	if len(r.body) > 1<<20 {
		return // the race detector takes a minute for such a one; its kind is looked at in smaller ones
	}
	schema := json.RawMessage(`{"$ref":"#/components/schemas/Problem"}`)
	if r.status < 300 {
		op, ok := d.Paths[template(path)][strings.ToLower(method)]
		if !ok {
			t.Fatalf("%s %s is not in the document", method, path)
		}
		response, ok := op.Responses[strconv.Itoa(r.status)]
		if !ok {
			t.Fatalf("%s %s answers %d, which is not in the document", method, path, r.status)
		}
		schema = response.Content[contentType].Schema
	}
	v, ok := validators.Load(string(schema))
	if !ok {
		made, err := d.validator(schema)
		if err != nil {
			t.Fatal(err)
		}
		v, _ = validators.LoadOrStore(string(schema), made)
	}
	var value any
	if err := json.Unmarshal(r.body, &value); err != nil {
		t.Fatal(err)
	}
	if err := v.(*jsonschema.Resolved).Validate(value); err != nil {
		t.Errorf("%s %s answers what the document does not say: %v\n%.2000s", method, path, err, r.body)
	}
}

// template is the path of the document that a path of a request is one of.
func template(path string) string {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	if len(parts) > 3 && parts[2] != "sign-in" && parts[2] != "embed-tokens" && parts[2] != "refusals" && parts[2] != "ops" {
		parts[3] = "{id}"
	}
	if len(parts) > 4 && parts[2] == "ops" && parts[3] == "webhooks" {
		parts[4] = "{id}"
	}
	return strings.Join(parts, "/")
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
// conversation, byte for byte like an id that nobody has.
func TestForeignIDs(t *testing.T) {
	t.Parallel()
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	e := embed(t)
	scopes := []string{"read", "answer", "call"}
	owner := e.as(e.mint(e.acme, http.StatusCreated, person("ann", "v_1", scopes...)).Token)
	strangers := map[string]*bench{
		"another person":       e.as(e.mint(e.acme, http.StatusCreated, person("bob", "v_1", scopes...)).Token),
		"another tenant":       e.as(e.mint(e.acme, http.StatusCreated, map[string]any{"tenant": "us", "subject": "ann", "conversation": "v_1", "scopes": scopes}).Token),
		"another product":      e.as(e.mint(e.other, http.StatusCreated, map[string]any{"subject": "ann", "conversation": "v_1", "scopes": scopes}).Token),
		"another conversation": e.as(e.mint(e.acme, http.StatusCreated, map[string]any{"tenant": "eu", "subject": "ann", "conversation": "v_2", "scopes": scopes}).Token),
		"the operator":         e.bench,
	}
	bodies := map[string]any{
		"answer": map[string]any{"action": "decline"}, "check": map[string]any{"input": map[string]any{}},
		"open": map[string]any{"url_sha256": strings.Repeat("0", 64)}, "resolve": map[string]any{"how": "give_up"}, "{id}": map[string]any{"allow": true}, "shown": map[string]any{"evidence": "x"},
	}
	c := owner.run("seat", map[string]any{})
	_, a := asked(t, e.inbox, inbox.Principal{Issuer: "https://acme.example", Tenant: "eu", Subject: "ann"}, "v_1", inbox.Ask{})
	tried := 0
	for path, methods := range d.Paths {
		kind, last := strings.Split(path, "/")[2], path[strings.LastIndex(path, "/")+1:]
		if !strings.Contains(path, "{id}") || kind == "servers" || kind == "ops" {
			continue
		}
		for method := range methods {
			id := map[string]string{"calls": c.ID, "questions": c.Questions[0], "conversations": "v_1", "approvals": string(a.ID)}[kind]
			if id == "" {
				t.Fatalf("no row of %s is made by this test", path)
			}
			for who, b := range strangers {
				if kind == "conversations" && who != "another conversation" {
					continue // conversations of different people have the same name
				}
				got := b.do(strings.ToUpper(method), strings.Replace(path, "{id}", id, 1), bodies[last], nil)
				unknown := b.do(strings.ToUpper(method), strings.Replace(path, "{id}", "nobody-has-this", 1), bodies[last], nil)
				if got.status != http.StatusNotFound || got.status != unknown.status || !bytes.Equal(got.body, unknown.body) {
					t.Errorf("%s of %s: %d %s; of an id that nobody has: %d %s", got.what, who, got.status, got.body, unknown.status, unknown.body)
				}
				tried++
			}
		}
	}
	if tried < 40 {
		t.Errorf("only %d tries", tried)
	}
}

// Nothing of the API is for nobody, but for what signs people in.
func TestSignedOut(t *testing.T) {
	t.Parallel()
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
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
