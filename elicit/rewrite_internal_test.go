package elicit

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What this package adds to _meta for itself is its own: however a client spells the
// name, its value does not come through.
func TestNobodyOutsideSetsRawAnswers(t *testing.T) {
	t.Parallel()
	s, err := NewServer(mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	AddTool(s, &mcp.Tool{Name: "pay"}, func(context.Context, *Call, struct{}) (string, error) { return "", nil })
	for _, name := range []string{metaRaw, `io.github.parley-mcp\/raw`, `\u0069o.github.parley-mcp/raw`} {
		meta := `"_meta":{"a":1,"` + name + `":"{}"}`
		for _, text := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay",` + meta + `}}`,
			`{"jsonrpc":"2.0","id":1,"result":{` + meta + `}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"ACTION":"accept",` + meta + `}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"action":5,` + meta + `}}`,
		} {
			m, ok := parseMessage([]byte(text))
			if !ok {
				t.Fatal(text)
			}
			var got struct {
				Params, Result struct {
					Meta map[string]any `json:"_meta"`
				}
			}
			if err := json.Unmarshal(s.rewrite([]byte(text), m), &got); err != nil {
				t.Fatal(err)
			}
			left := got.Params.Meta
			if left == nil {
				left = got.Result.Meta
			}
			if left[metaRaw] != nil || left["a"] == nil {
				t.Errorf("%s: _meta is %v", text, left)
			}
		}
	}
	// Answers under an escaped name are answers too, and keep their digits.
	text := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","\u0069nputResponses":{"n":9007199254740993}}}`
	m, _ := parseMessage([]byte(text))
	if got := string(s.rewrite([]byte(text), m)); !strings.Contains(got, metaRaw) || !strings.Contains(got, `9007199254740993`) {
		t.Errorf("rewritten to %s", got)
	}
	// A path with a backslash is no reason to write a message anew.
	text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"at":"C:\\tmp"}}}`
	m, _ = parseMessage([]byte(text))
	if got := string(s.rewrite([]byte(text), m)); got != text {
		t.Errorf("rewritten to %s", got)
	}
}

func TestVersionByExactNames(t *testing.T) {
	t.Parallel()
	const said = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	for params, want := range map[string]string{
		`{"_meta":` + said + `}`: modernRevision, `{"_META":` + said + `}`: "",
		`{"_meta":{"IO.modelcontextprotocol/protocolVersion":"2026-07-28"}}`: "", `5`: "",
	} {
		m, _ := parseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`))
		if got := m.version(); got != want {
			t.Errorf("%s: version %q, want %q", params, got, want)
		}
	}
}
