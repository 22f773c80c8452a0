package rules

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/policy"
)

func TestReadRequest(t *testing.T) {
	t.Parallel()
	somebody := inbox.Principal{Issuer: "https://issuer.example", Subject: "somebody"}
	for name, tc := range map[string]struct {
		text string
		want Request
	}{
		"json": {
			`{"call": {"server": "s", "tool": "t", "arguments": {"n": 9007199254740993, "big": 1e400, "s": "1e5", "e": "\ud83d\ude00", "x": [true, null, -0.10]}}}`,
			Request{Input: policy.Input{
				Phase: policy.Compose, Actor: inbox.Model, Principal: somebody, Server: "s", Method: policy.ToolsCall, Name: "t",
				Arguments: json.RawMessage(`{"big":1e400,"e":"😀","n":9007199254740993,"s":"1e5","x":[true,null,-0.10]}`),
			}},
		},
		"yaml": {
			"call:\n  actor: person\n  principal: {tenant: acme, subject: ada}\n  groups: [a, b]\n  conversation: c\n  server: s\n  trusted: true\n" +
				"  resource: file:///x\n  phase: resume\n  arguments: {n: 9007199254740993, big: 1e400, s: '1e5', d: \"2026-11-30\"}\n",
			Request{Input: policy.Input{
				Phase: policy.Resume, Actor: inbox.Person, Principal: inbox.Principal{Issuer: "https://issuer.example", Tenant: "acme", Subject: "ada"},
				Groups: []string{"a", "b"}, Conversation: "c", Server: "s", Trusted: true, Method: policy.ResourcesRead, Name: "file:///x",
				Arguments: json.RawMessage(`{"n":9007199254740993,"big":1e400,"s":"1e5","d":"2026-11-30"}`),
			}},
		},
		"text of arguments": {
			`call: {server: s, tool: t, arguments: '{"a": 1, "a": 2}'}`,
			Request{Input: policy.Input{
				Phase: policy.Compose, Actor: inbox.Model, Principal: somebody, Server: "s", Method: policy.ToolsCall, Name: "t",
				Arguments: json.RawMessage(`{"a": 1, "a": 2}`),
			}},
		},
		"question": {
			`{"question": {"server": "s", "url": "https://LOGIN.example.com.:443/x?token=secret"}}`,
			Request{
				Input:    policy.Input{Phase: policy.Asked, Actor: inbox.Model, Principal: somebody, Server: "s", Method: policy.ToolsCall},
				Question: &policy.Question{Mode: inbox.URL, Domain: "login.example.com"},
			},
		},
	} {
		got, err := ReadRequest("r", []byte(tc.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tc.want, *got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	for _, bad := range []string{``, `{}`, `[]`, `{"call": {}}`, `{"call": {"server": "s"}}`, `{"call": 1}`, `{"x": {}}`, `{"question": {"server": "s", "mode": "email"}}`,
		`{"call": {"server": "s", "tool": "t", "url": "https://x.example"}}`, `{"call": {"server": "s", "tool": "t", "prompt": "p"}}`,
		`{"call": {"server": "s", "tool": "t"}`, `{"call": {"server": "s", "tool": "t", "tool": "u"}}`, strings.Repeat("[", 1000), strings.Repeat(" ", MaxFile+1)} {
		if got, err := ReadRequest("r", []byte(bad)); err == nil {
			t.Errorf("%.60s: %+v", bad, got)
		}
	}
}
