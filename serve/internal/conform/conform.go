// Package conform holds the answers of the HTTP API against its own document, for tests.
//
//	api := httptest.NewServer(conform.Handler(t, server.Handler()))
//
// What the document does not name is not there: a field, a status, a route.
package conform

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/parley-mcp/parley/serve"
)

// A Document is the OpenAPI document, as far as tests look at it.
type Document struct {
	OpenAPI    string
	Paths      map[string]map[string]Operation
	Components struct {
		Schemas   map[string]json.RawMessage
		Responses map[string]struct {
			Problems []Problem `json:"x-parley-problems"`
		}
	}
}

// A Problem is what the document says of a code.
type Problem struct {
	Code   string
	Status int
	When   string
	Params map[string]string
}

// Problems are all of them.
func (d *Document) Problems() []Problem { return d.Components.Responses["Problem"].Problems }

// An Operation is a method of a path.
type Operation struct {
	OperationID string
	Security    []map[string][]string
	Scope       string      `json:"x-parley-scope"`
	Model       bool        `json:"x-parley-model"`
	Parameters  []Parameter `json:"parameters"`
	RequestBody *struct {
		Content map[string]struct{ Schema json.RawMessage }
	}
	Responses map[string]struct {
		Content map[string]struct {
			Schema json.RawMessage
			Events []Event `json:"x-parley-events"`
		}
	}
}

// An Event is what the document says of one of the event stream.
type Event struct {
	Event, Description string
	Data               json.RawMessage // its schema
}

// Events are all of them.
func (d *Document) Events() []Event {
	return d.Paths["/v1/events"]["get"].Responses["200"].Content["text/event-stream"].Events
}

// A Parameter is one of a path, a query or the headers.
type Parameter struct{ Name, In, Description string }

var document = sync.OnceValues(func() (*Document, error) {
	var d Document
	err := json.Unmarshal(serve.OpenAPI(), &d) //nolint:musttag // OpenAPI's names are Go's in other letters
	return &d, err
})

// Read reads the document.
func Read(t testing.TB) *Document {
	t.Helper()
	d, err := document()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// validator makes a schema of the document strict: what it does not name is not there.
func (d *Document) validator(schema json.RawMessage) (*jsonschema.Resolved, error) {
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

// Answer compares an answer with the document. Every test of the API goes through it, by
// itself or by [Handler].
func Answer(t testing.TB, method, path string, status int, header http.Header, body []byte) {
	t.Helper()
	contentType, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	if !strings.HasPrefix(path, "/v1/") || !strings.HasSuffix(contentType, "json") || path == "/v1/openapi.json" || method == http.MethodHead {
		return
	}
	if len(body) > 1<<20 {
		return // the race detector takes a minute for such a one; its kind is looked at in smaller ones
	}
	d, err := document()
	if err != nil {
		t.Error(err)
		return
	}
	schema := json.RawMessage(`{"$ref":"#/components/schemas/Problem"}`)
	if status < 300 {
		op, ok := d.Paths[Template(path)][strings.ToLower(method)]
		if !ok {
			t.Errorf("%s %s is not in the document", method, path)
			return
		}
		response, ok := op.Responses[strconv.Itoa(status)]
		if !ok {
			t.Errorf("%s %s answers %d, which is not in the document", method, path, status)
			return
		}
		schema = response.Content[contentType].Schema
	}
	d.holds(t, method+" "+path, schema, body)
	if status < 300 {
		return
	}
	var p struct {
		Code   string         `json:"code"`
		Params map[string]any `json:"params"`
	}
	if err := json.Unmarshal(body, &p); err != nil {
		t.Errorf("%s %s: %v", method, path, err)
		return
	}
	i := slices.IndexFunc(d.Problems(), func(row Problem) bool { return row.Code == p.Code })
	if i < 0 || d.Problems()[i].Status != status {
		t.Errorf("%s %s answers %d %s, which is not in the document", method, path, status, p.Code)
		return
	}
	for name := range p.Params {
		if d.Problems()[i].Params[name] == "" {
			t.Errorf("%s %s answers %s with params that are not in the document: %s", method, path, p.Code, name)
		}
	}
}

// Stream compares an event of the stream with the document.
func Stream(t testing.TB, event string, data []byte) {
	t.Helper()
	d, err := document()
	if err != nil {
		t.Error(err)
		return
	}
	for _, e := range d.Events() {
		if e.Event == event {
			d.holds(t, "the event "+event, e.Data, data)
			return
		}
	}
	t.Errorf("the event %q is not in the document", event)
}

// holds compares a body with a schema of the document.
func (d *Document) holds(t testing.TB, what string, schema json.RawMessage, body []byte) {
	t.Helper()
	v, ok := validators.Load(string(schema))
	if !ok {
		made, err := d.validator(schema)
		if err != nil {
			t.Error(err)
			return
		}
		v, _ = validators.LoadOrStore(string(schema), made)
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	resolved := v.(*jsonschema.Resolved) //nolint:forcetypeassert // nothing else is stored
	if err := resolved.Validate(value); err != nil {
		t.Errorf("%s has what the document does not say: %v\n%.2000s", what, err, body)
	}
}

// Template is the path of the document that a path of a request is one of.
func Template(path string) string {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	own := []string{"sign-in", "embed-tokens", "refusals", "ops"} // their third part is no id
	if len(parts) > 3 && !slices.Contains(own, parts[2]) && (parts[2] != "servers" || parts[3] != "sign-in") {
		parts[3] = "{id}"
	}
	if len(parts) > 4 && parts[2] == "ops" && parts[3] == "webhooks" {
		parts[4] = "{id}"
	}
	return strings.Join(parts, "/")
}

// Handler compares all that h answers with the document, whoever asks.
func Handler(t testing.TB, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &copier{ResponseWriter: w, status: http.StatusOK}
		h.ServeHTTP(c, r)
		Answer(t, r.Method, r.URL.Path, c.status, w.Header(), c.body.Bytes())
	})
}

// A copier keeps what is answered as JSON.
type copier struct {
	http.ResponseWriter

	status int
	body   bytes.Buffer
}

func (c *copier) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *copier) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *copier) Write(b []byte) (int, error) {
	if strings.Contains(c.Header().Get("Content-Type"), "json") {
		c.body.Write(b)
	}
	return c.ResponseWriter.Write(b)
}
