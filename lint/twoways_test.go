package lint_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/internal/elicitation"
	"github.com/parley-mcp/parley/lint"
)

// twoWaysCases are params with the member that can be read in two ways; "" where there
// is none.
var twoWaysCases = []struct{ params, member string }{
	{`{"mode":"url","message":"m","url":"https://a.example/","URL":"https://b.example/","elicitationId":"e"}`, "URL"},
	{`{"mode":"url","message":"m","URL":"https://b.example/","elicitationId":"e"}`, "URL"},
	{`{"mode":"url","message":"m","url":"https://a.example/","\u0075rl":"https://b.example/","elicitationId":"e"}`, "url"},
	{`{"mode":"url","message":"m","url":"https://a.example/","elicitationID":"e"}`, "elicitationID"},
	{`{"mode":"form","message":"m","mode":"url","requestedSchema":{"type":"object","properties":{}}}`, "mode"},
	{`{"message":"m","Mode":"form","requestedSchema":{"type":"object","properties":{}}}`, "Mode"},
	{`{"message":"m","requestedschema":{"type":"object","properties":{}}}`, "requestedschema"},
	{`{"message":"m","me\u017f\u017fage":"n","requestedSchema":{"type":"object","properties":{}}}`, "meſſage"}, // the long s
	{`{"message":"m","requestedSchema":{"type":"object","properties":{}},"_META":{}}`, "_META"},
	{`{"message":"m","requestedSchema":{"type":"object","properties":{}},"own":1,"own":1}`, "own"},

	{`{"message":"m","requestedSchema":{"type":"object","properties":{}},"own":1,"Own":1}`, ""},
	{`{"message":"m","requested_schema":{"type":"object","properties":{}}}`, ""},
	{`{"message":"m","requestedSchema":{"type":"object","properties":{"url":{"type":"string"},"URL":{"type":"string"}}}}`, ""},
	{`{"message":"m","requestedSchema":{"type":"object","properties":{}},"_meta":{"k":1,"k":2}}`, ""},
}

// Lint refuses what the host's reader refuses, in all revisions and wherever a question
// comes from.
func TestTwoWays(t *testing.T) {
	t.Parallel()
	around := map[string]string{
		"params":  `%`,
		"request": `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":%}`,
		"result":  `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":%}}}`,
		"error":   `{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"m","data":{"elicitations":[%]}}}`,
		"record":  `{"t":"2026-08-01T10:00:00Z","dir":"recv","msg":{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":%}}`,
		"session": `{"jsonrpc":"2.0","method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":%}` + "\n",
	}
	for _, c := range twoWaysCases {
		if _, err := elicitation.Read([]byte(c.params)); errors.Is(err, elicitation.ErrTwoWays) != (c.member != "") {
			t.Errorf("the host's reader says %v of %s", err, c.params)
		}
		for place, text := range around {
			for _, rev := range []form.Revision{form.Rev20250618, form.Rev20251125, form.Rev20260728} {
				rep, err := lint.Lint([]byte(strings.Replace(text, "%", c.params, 1)), &lint.Options{Revision: rev})
				if err != nil {
					t.Fatal(err)
				}
				var found []lint.Finding
				for _, f := range rep.Findings {
					if f.Code == "ambiguous-params" {
						found = append(found, f)
					}
					if c.member != "" && (f.Code == "duplicate-key" || f.Code == "extra-params" && strings.HasSuffix(f.Pointer, "/"+c.member) && c.member != "own") {
						t.Errorf("%s, %s: it is said twice: %v", place, c.params, codes(rep))
					}
				}
				switch {
				case c.member == "" && len(found) == 0:
				case c.member == "" || len(found) != 1:
					t.Errorf("%s, %s, %s: found %v", place, rev, c.params, codes(rep))
				case found[0].Severity != lint.Error || !strings.HasSuffix(found[0].Pointer, "/"+c.member) ||
					!strings.Contains(found[0].Text, `"`+c.member+`"`) || !strings.Contains(found[0].Text, "hosts refuse"):
					t.Errorf("%s, %s, %s: found %+v", place, rev, c.params, found[0])
				}
			}
		}
	}
}
