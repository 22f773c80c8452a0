package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/exact"
	"github.com/parley-mcp/parley/internal/plain"
	"github.com/parley-mcp/parley/link"
	"github.com/parley-mcp/parley/policy"
)

// A Request is something to decide about that somebody wrote down: a call, or a
// question of one.
type Request struct {
	Input    policy.Input
	Question *policy.Question // nil: the call itself
}

// ReadRequest reads a request from YAML or JSON: an object with the member
// "call" or "question", as in the cases of a file. The file's name is for
// messages.
func ReadRequest(file string, data []byte) (*Request, error) {
	r := &reader{file: file}
	var root *yaml.Node
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) && len(data) <= MaxFile {
		if v, err := exact.Decode(data); err == nil {
			root = jsonNode(v) // YAML would refuse some of the escapes of JSON
		}
	}
	if root == nil {
		root = r.document(data)
	}
	if root == nil {
		return nil, r.err()
	}
	var req *Request
	if r.mapping(root, "a request", r.requestFields(func(q *Request) { req = q })...) && req == nil {
		r.failf(root, "", "a request is a call or a question")
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return req, nil
}

// requestFields are the keys call and question, of which one is there.
func (r *reader) requestFields(set func(*Request)) []field {
	var seen bool
	read := func(question bool) func(*yaml.Node) {
		return func(v *yaml.Node) {
			if seen {
				r.failf(v, "", "it is a call or a question, not both")
				return
			}
			seen = true
			set(r.request(v, question))
		}
	}
	return []field{{"call", read(false)}, {"question", read(true)}}
}

// request reads what policies know of a call, with what is most common where
// nothing is said: a model's tool call on behalf of somebody, not trusted.
func (r *reader) request(n *yaml.Node, question bool) *Request {
	req := &Request{Input: policy.Input{
		Phase: policy.Compose, Actor: inbox.Model,
		Principal: inbox.Principal{Issuer: "https://issuer.example", Subject: "somebody"},
	}}
	in := &req.Input
	name := func(method, key string) field {
		return field{key, func(v *yaml.Node) {
			if in.Method != "" {
				r.failf(v, "", "a call is of one tool, prompt or resource")
				return
			}
			in.Method = method
			in.Name, _ = r.text(v, key)
		}}
	}
	fields := []field{
		{"actor", func(v *yaml.Node) {
			in.Actor = inbox.Actor(r.word(v, "actor", string(inbox.Person), string(inbox.Model)))
		}},
		{"principal", func(v *yaml.Node) {
			r.mapping(v, "a principal",
				field{"issuer", func(v *yaml.Node) { in.Principal.Issuer, _ = r.text(v, "issuer") }},
				field{"tenant", func(v *yaml.Node) { in.Principal.Tenant, _ = r.text(v, "tenant") }},
				field{"subject", func(v *yaml.Node) { in.Principal.Subject, _ = r.text(v, "subject") }})
		}},
		{"groups", func(v *yaml.Node) { in.Groups, _ = r.texts(v, "groups") }},
		{"conversation", func(v *yaml.Node) { in.Conversation, _ = r.text(v, "conversation") }},
		{"server", func(v *yaml.Node) { in.Server, _ = r.text(v, "server") }},
		{"trusted", func(v *yaml.Node) {
			if b := r.flag(v, "trusted"); b != nil {
				in.Trusted = *b
			}
		}},
		name(policy.ToolsCall, "tool"), name(policy.PromptsGet, "prompt"), name(policy.ResourcesRead, "resource"),
		{"annotations", func(v *yaml.Node) {
			a := &in.Annotations
			r.mapping(v, "annotations",
				field{"readOnly", func(v *yaml.Node) { a.ReadOnly = r.flag(v, "readOnly") }},
				field{"destructive", func(v *yaml.Node) { a.Destructive = r.flag(v, "destructive") }},
				field{"idempotent", func(v *yaml.Node) { a.Idempotent = r.flag(v, "idempotent") }},
				field{"openWorld", func(v *yaml.Node) { a.OpenWorld = r.flag(v, "openWorld") }})
		}},
		{"arguments", func(v *yaml.Node) {
			if v.Kind == yaml.ScalarNode && v.Tag == "!!str" {
				in.Arguments = json.RawMessage(v.Value) // as they would come from the wire, good or bad
				return
			}
			in.Arguments = r.json(nil, v)
		}},
	}
	if question {
		req.Question = &policy.Question{}
		fields = append(fields, r.questionFields(req.Question)...)
		in.Phase = policy.Asked
	} else {
		fields = append(fields, field{"phase", func(v *yaml.Node) {
			in.Phase = policy.Phase(r.word(v, "phase", string(policy.Compose), string(policy.Resume), string(policy.Deliver)))
		}})
	}
	if !r.mapping(n, "a request", fields...) {
		return req
	}
	if in.Server == "" {
		r.failf(n, "server: ...", "the request names no server")
	}
	if in.Method == "" && !question {
		r.failf(n, "tool: ...", "the call names no tool, prompt or resource")
	}
	if in.Method == "" {
		in.Method = policy.ToolsCall
	}
	return req
}

func (r *reader) questionFields(q *policy.Question) []field {
	q.Mode = inbox.Form
	return []field{
		{"mode", func(v *yaml.Node) {
			q.Mode = inbox.Mode(r.word(v, "mode", string(inbox.Form), string(inbox.URL)))
		}},
		{"url", func(v *yaml.Node) {
			if address, ok := r.text(v, "url"); ok {
				q.Mode, q.Domain = inbox.URL, strings.TrimSuffix(link.Inspect(address, nil).Host, ".")
			}
		}},
	}
}

// jsonNumber is the grammar of RFC 8259, section 6.
var jsonNumber = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`)

// json writes a YAML value as JSON, without changing a number.
func (r *reader) json(b []byte, n *yaml.Node) []byte {
	switch n.Kind {
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, item := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			b = r.json(b, item)
		}
		return append(b, ']')
	case yaml.MappingNode:
		seen := map[string]bool{}
		b = append(b, '{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || seen[key.Value] {
				r.failf(key, "", "a key is one word, and there once")
				continue
			}
			seen[key.Value] = true
			if len(seen) > 1 {
				b = append(b, ',')
			}
			b = append(appendText(b, key.Value), ':')
			b = r.json(b, n.Content[i+1])
		}
		return append(b, '}')
	}
	switch n.Tag {
	case "!!str":
		if n.Style == 0 && jsonNumber.MatchString(n.Value) { // 1e400 is a text to YAML, since no double holds it
			return append(b, n.Value...)
		}
		return appendText(b, n.Value)
	case "!!null":
		return append(b, "null"...)
	case "!!bool":
		return append(b, strings.ToLower(n.Value)...)
	}
	if !jsonNumber.MatchString(n.Value) {
		r.failf(n, "write a text in quotes, and a number with digits, point and exponent only", "%s is no value of JSON", plain.Line(n.Value, 40))
		return append(b, "null"...)
	}
	return append(b, n.Value...)
}

func appendText(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // not possible: texts have one
		return append(b, `""`...)
	}
	return append(b, text...)
}

// jsonNode is a decoded JSON value as YAML would have read it, without places.
func jsonNode(v any) *yaml.Node {
	switch v := v.(type) {
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			n.Content = append(n.Content, jsonNode(name), jsonNode(v[name]))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range v {
			n.Content = append(n.Content, jsonNode(item))
		}
		return n
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: string(v)}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(v)}
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: v}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
}
