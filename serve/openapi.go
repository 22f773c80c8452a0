package serve

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/link"

	"github.com/parley-mcp/parley/serve/client"
)

// The document is made of the table of routes and of the types that they read and
// write, so it cannot say something else than the code does.
//
//go:generate go run ./internal/openapi ../docs/openapi.json ../docs/api.md

// OpenAPI is the OpenAPI 3.1 document of the API. It is served as /v1/openapi.json.
func OpenAPI() []byte { return slices.Clone(document()) }

var document = sync.OnceValue(makeDocument)

func (s *Server) openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(document()) // the reader is gone: nobody to tell
}

// An operation is what the document says of a route.
type operation struct {
	summary string
	query   []parameter
	in, out reflect.Type // bodies; nil: none
	status  int          // of success; 0: 200
	idem    bool         // takes an Idempotency-Key
	header  []parameter
	model   bool // changes something, and is for models too
}

type parameter struct{ name, kind, doc string }

func body[T any]() reflect.Type { return reflect.TypeFor[T]() }

// object is a JSON object of the document.
type object = map[string]any

func makeDocument() []byte {
	d := drawing{schemas: object{}}
	paths := map[string]object{}
	add := func(pattern string, op object) {
		method, path, _ := strings.Cut(pattern, " ")
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(method)] = op
	}
	for _, r := range append(slices.Clone(routes), freshAddressRoute) {
		op := d.operation(r.pattern, r.op)
		op["security"] = []object{{"bearer": []string{}}, {"session": []string{}}}
		if r.scope != "" {
			op["x-parley-scope"] = r.scope
		}
		if r.op.model || strings.HasPrefix(r.pattern, "GET ") && r.scope != scopeOperator {
			op["x-parley-model"] = true // a session of a model has it, too
		}
		add(r.pattern, op)
	}
	for _, r := range otherRoutes {
		op := d.operation(r.pattern, r.op)
		if r.apiKey {
			op["security"] = []object{{"apiKey": []string{}}}
		} else {
			op["security"] = []object{}
		}
		add(r.pattern, op)
	}
	b, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Parley", "version": "1",
			"description": "Questions of MCP servers to people, and their answers. Every row belongs to the principal of the request; rows of others are not there.",
			"license":     object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"paths": paths,
		"components": object{
			"schemas": d.schemas,
			"securitySchemes": object{
				"bearer":  object{"type": "http", "scheme": "bearer", "description": "The bearer of local sign-in, or a token of POST /v1/embed-tokens."},
				"session": object{"type": "apiKey", "in": "cookie", "name": "__Host-parley", "description": "The session of --auth oidc."},
				"apiKey":  object{"type": "http", "scheme": "bearer", "description": "A key of `parley apikey`, for back ends only."},
			},
			"responses": object{"Problem": d.drawProblem()},
		},
	}, "", "  ")
	if err != nil {
		panic("serve: " + err.Error()) // strings, maps and lists
	}
	return append(b, '\n')
}

// A drawing collects the schemas that the operations refer to.
type drawing struct{ schemas object }

func (d *drawing) operation(pattern string, op operation) object {
	method, path, _ := strings.Cut(pattern, " ")
	out := object{"summary": op.summary, "operationId": operationID(method, path)}
	params := []object{}
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			params = append(params, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	for _, p := range op.query {
		params = append(params, object{"name": p.name, "in": "query", "description": p.doc, "schema": object{"type": p.kind}})
	}
	for _, p := range op.header {
		params = append(params, object{"name": p.name, "in": "header", "description": p.doc, "schema": object{"type": p.kind}})
	}
	if op.idem {
		params = append(params, object{
			"name": "Idempotency-Key", "in": "header", "schema": object{"type": "string", "maxLength": 200},
			"description": "The same request with the same key is done once.",
		})
	}
	if len(params) > 0 {
		out["parameters"] = params
	}
	if op.in != nil {
		out["requestBody"] = object{"required": op.in != body[client.Surface](), "content": object{"application/json": object{"schema": d.schema(op.in)}}}
	}
	status := op.status
	if status == 0 {
		status = http.StatusOK
	}
	success := object{"description": http.StatusText(status)}
	switch {
	case path == "/v1/events":
		success["content"] = object{"text/event-stream": d.drawEvents()}
	case op.out != nil:
		success["content"] = object{"application/json": object{"schema": d.schema(op.out)}}
	case status == http.StatusOK:
		success["content"] = object{"application/json": object{"schema": object{}}}
	}
	out["responses"] = object{strconv.Itoa(status): success, "default": object{"$ref": "#/components/responses/Problem"}}
	return out
}

// operationID makes "postCallsStop" of "POST /v1/calls/{id}/stop".
func operationID(method, path string) string {
	var id strings.Builder
	id.WriteString(strings.ToLower(method))
	for part := range strings.FieldsFuncSeq(strings.TrimPrefix(path, "/v1"), func(r rune) bool { return r == '/' || r == '-' || r == '.' }) {
		if part == "{id}" {
			part = "one"
		}
		id.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return id.String()
}

// enums are the values of types that have few.
var enums = map[reflect.Type][]string{
	body[inbox.Action]():     {"accept", "decline", "cancel"},
	body[inbox.Mode]():       {"form", "url"},
	body[inbox.Resolution](): {"send_again", "it_happened", "give_up"},
	body[Scope]():            {"read", "answer", "call"},
	body[link.Verdict]():     {"ok", "note", "warn", "refuse"},
	body[form.Control](): {
		"text", "textarea", "email", "uri", "integer", "number", "boolean", "date", "date-time", "choice", "choices", "json", "unsupported",
	},
	body[inbox.CallState](): {
		"new", "approving", "ready", "claimed", "sent", "waiting", "blocked", "uncertain",
		"done", "failed", "denied", "stopped", "expired", "interrupted", "lapsed",
	},
	body[inbox.QuestionState](): {"open", "opened", "accepted", "declined", "cancelled", "expired", "withdrawn"},
	body[inbox.ApprovalState](): {"open", "allowed", "denied", "expired", "withdrawn"},
	body[inbox.Scope]():         {"once", "conversation", "always"},
	body[inbox.Actor]():         {"person", "model"},
	body[inbox.Closer]():        {"person", "expiry", "server", "call_ended", "stop", "policy", "host_stopped"},
}

// schema is the JSON Schema (draft 2020-12) of a type as encoding/json writes it.
// Structs are named schemas, referred to.
func (d *drawing) schema(t reflect.Type) object {
	switch t {
	case body[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case body[json.RawMessage]():
		return object{}
	case body[form.Input]():
		return object{"type": "object", "additionalProperties": d.schema(body[form.Entry]())}
	case body[form.Entry]():
		return object{"description": "What one control holds: text, or a list of texts.", "anyOf": []object{
			{"type": "string"}, {"type": "array", "items": object{"type": "string"}}, {"type": "null"}, {"type": "object"},
		}}
	}
	if values := enums[t]; values != nil {
		return object{"type": "string", "enum": values}
	}
	if t.Implements(body[json.Marshaler]()) && t.Kind() != reflect.Pointer {
		panic("serve: " + t.String() + " writes itself and needs a case here")
	}
	switch t.Kind() {
	case reflect.Pointer:
		return orNull(d.schema(t.Elem()))
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Interface:
		return object{}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": d.schema(t.Elem())}
	case reflect.Slice:
		return object{"type": "array", "items": d.schema(t.Elem())}
	case reflect.Struct:
		name := schemaName(t)
		if d.schemas[name] == nil {
			d.schemas[name] = object{} // a type may hold itself
			d.schemas[name] = d.structure(t)
		}
		return object{"$ref": "#/components/schemas/" + name}
	}
	panic("serve: " + t.String() + " has no schema")
}

func orNull(s object) object {
	if kind, ok := s["type"].(string); ok {
		s = maps.Clone(s)
		s["type"] = []string{kind, "null"}
		return s
	}
	return object{"anyOf": []object{s, {"type": "null"}}}
}

func (d *drawing) structure(t reflect.Type) object {
	properties, required := object{}, []string{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		s := d.schema(f.Type)
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		if !optional {
			required = append(required, name)
		}
		if values := f.Tag.Get("enum"); values != "" {
			s = object{"type": "string", "enum": strings.Split(values, ",")}
		}
		if f.Type.Kind() == reflect.Slice && f.Type != body[json.RawMessage]() && f.Tag.Get("null") != "" {
			s = orNull(s)
		}
		if f.Type == body[form.Input]() && !optional {
			s = orNull(s) // a nil map
		}
		if doc := f.Tag.Get("doc"); doc != "" {
			s = maps.Clone(s)
			if s["$ref"] != nil {
				s = object{"allOf": []object{s}}
			}
			s["description"] = doc
		}
		properties[name] = s
	}
	out := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// schemaName is the type's name in the document: "Call" of client.Call, "LinkReport" of
// link.Report.
func schemaName(t reflect.Type) string {
	pkg := t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:]
	if pkg == "client" {
		return t.Name()
	}
	return strings.ToUpper(pkg[:1]) + pkg[1:] + t.Name()
}
