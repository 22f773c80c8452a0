package wiretap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseResult(t *testing.T) {
	t.Parallel()
	raw := `{"resultType":"input_required","content":null,"inputRequests":{
		"__proto__":{"method":"elicitation/create","params":{"message":"m","requestedSchema":` + askSchema + `}},
		"":{"params":{"a":1.50},"method":"sampling/createMessage"},
		"` + strings.Repeat("k", 2048) + `":{"method":"roots/list"}},
		"requestState":"","ttlMs":1500,"_meta":{"io.github.parley-mcp/expiresAt":"2030-01-02T03:04:05+01:00"}}`
	want := &InputRequired{
		Requests: []InputRequest{
			{"__proto__", "elicitation/create", json.RawMessage(`{"message":"m","requestedSchema":` + askSchema + `}`)},
			{"", "sampling/createMessage", json.RawMessage(`{"a":1.50}`)},
			{strings.Repeat("k", 2048), "roots/list", nil},
		},
		HasState:  true,
		Meta:      json.RawMessage(`{"io.github.parley-mcp/expiresAt":"2030-01-02T03:04:05+01:00"}`),
		ExpiresAt: time.Date(2030, 1, 2, 2, 4, 5, 0, time.UTC),
		TTL:       1500 * time.Millisecond,
	}
	got, asked, err := ParseResult(json.RawMessage(raw))
	if err != nil || !asked {
		t.Fatalf("ParseResult = %v, %v", asked, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Requests[0].Foreign() || !got.Requests[1].Foreign() || !got.Requests[2].Foreign() {
		t.Error("foreign requests are not told apart")
	}
}

func TestParseResultVerdicts(t *testing.T) {
	t.Parallel()
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `%s"k%d":{"method":"elicitation/create"}`, map[bool]string{true: ",", false: ""}[i > 0], i)
		}
		return b.String()
	}
	limit := errors.New("a *LimitError")
	for _, tt := range []struct {
		name, raw string
		asked     bool
		err       error
	}{
		{"no resultType", `{"content":[]}`, false, nil},
		{"complete", `{"resultType":"complete"}`, false, nil},
		{"complete, with a member of that name", `{"inputRequests":[1],"x":{}}`, false, nil},
		{"complete, with an empty one", `{"inputRequests":{},"requestState":"s"}`, false, ErrMisplaced},
		{"complete, with state and nothing else", `{"resultType":"complete","content":[],"requestState":"s"}`, false, ErrMisplaced},
		{"complete, with empty state and nothing else", `{"resultType":"complete","requestState":""}`, false, ErrMisplaced},
		{"complete, with state and content", `{"content":[{"type":"text","text":"ok"}],"requestState":"s"}`, false, nil},
		{"complete, with state and structured content", `{"content":[],"structuredContent":{},"requestState":"s"}`, false, nil},
		{"complete, with a member of that name and another type", `{"content":[],"requestState":{}}`, false, nil},
		{"a second round sent to a legacy client", `{"content":[],"requestState":"s2","inputRequests":{"a":{"method":"elicitation/create","params":{}}}}`, false, ErrMisplaced},
		{"task", `{"resultType":"task"}`, false, ErrUndeclared},
		{"empty type", `{"resultType":""}`, false, ErrUndeclared},
		{"null type", `{"resultType":null}`, false, ErrMalformed},
		{"number", `{"resultType":1}`, false, ErrMalformed},
		{"type twice", `{"resultType":"complete","resultType":"input_required"}`, false, ErrMalformed},
		{"type in other letters", `{"ResultType":"input_required"}`, false, nil},
		{"state only", `{"resultType":"input_required","requestState":"s"}`, true, nil},
		{"empty requests", `{"resultType":"input_required","inputRequests":{}}`, true, nil},
		{"neither", `{"resultType":"input_required"}`, false, ErrMalformed},
		{"null requests", `{"resultType":"input_required","inputRequests":null}`, false, ErrMalformed},
		{"requests are a list", `{"resultType":"input_required","inputRequests":[]}`, false, ErrMalformed},
		{"a key twice", `{"resultType":"input_required","inputRequests":{"a":{"method":"m"},"a":{"method":"m"}}}`, false, ErrMalformed},
		{"no method", `{"resultType":"input_required","inputRequests":{"a":{}}}`, false, ErrMalformed},
		{"method is null", `{"resultType":"input_required","inputRequests":{"a":{"method":null}}}`, false, ErrMalformed},
		{"request is null", `{"resultType":"input_required","inputRequests":{"a":null}}`, false, ErrMalformed},
		{"state is a number", `{"resultType":"input_required","requestState":7}`, false, ErrMalformed},
		{"many", `{"resultType":"input_required","inputRequests":{` + many(MaxInputRequests) + `}}`, true, nil},
		{"too many", `{"resultType":"input_required","inputRequests":{` + many(MaxInputRequests+1) + `}}`, false, limit},
		{"key too long", `{"resultType":"input_required","inputRequests":{"` + strings.Repeat("k", MaxInputKey+1) + `":{"method":"m"}}}`, false, limit},
		{"state too long", `{"resultType":"input_required","requestState":"` + strings.Repeat("s", MaxRequestState+1) + `"}`, false, limit},
		{"params too long", `{"resultType":"input_required","inputRequests":{"a":{"method":"m","params":"` + strings.Repeat("s", MaxInputParams) + `"}}}`, false, limit},
		{"too deep", `{"x":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `}`, false, limit},
		{"list", `[]`, false, ErrMalformed},
		{"nothing", ``, false, ErrMalformed},
		{"cut", `{"resultType":`, false, ErrMalformed},
		{"bytes after it", `{} {}`, false, ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in, asked, err := ParseResult(json.RawMessage(tt.raw))
			if asked != tt.asked || (in != nil) != asked {
				t.Errorf("asked = %v (%v), want %v", asked, in, tt.asked)
			}
			switch {
			case errors.Is(tt.err, limit):
				if !errors.As(err, new(*LimitError)) {
					t.Errorf("error = %v, want a *LimitError", err)
				}
			case !errors.Is(err, tt.err):
				t.Errorf("error = %v, want %v", err, tt.err)
			}
		})
	}
}

func FuzzParseResult(f *testing.F) {
	f.Add([]byte(`{"resultType":"input_required","inputRequests":{"":{"method":"elicitation/create","params":{}}},"requestState":"s"}`))
	f.Add([]byte(`{"resultType":"task"}`))
	f.Add([]byte(`{"inputRequests":{"a":{"method":"x"}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		in, asked, err := ParseResult(raw)
		if (in != nil) != asked || asked && err != nil {
			t.Fatalf("ParseResult(%q) = %v, %v, %v", raw, in, asked, err)
		}
		if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrMisplaced) && !errors.Is(err, ErrUndeclared) && !errors.As(err, new(*LimitError)) {
			t.Fatalf("ParseResult(%q): unnamed error %v", raw, err)
		}
		if !asked {
			return
		}
		for _, r := range in.Requests {
			if r.Method == "" || r.Params != nil && !json.Valid(r.Params) || !bytes.Contains(raw, r.Params) {
				t.Fatalf("ParseResult(%q): request %+v", raw, r)
			}
		}
	})
}

// FuzzMessage: nothing that a server sends panics, and what is passed on is JSON on one line that the tap reads too.
func FuzzMessage(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"a","method":"elicitation/create","params":{}}`,
		`{"jsonrpc":"2.0","id":1e2,"method":"x"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1.0,"message":"m","data":[1]}}`, `[]`, "\xff",
		`{"jsonrpc":"2.0","id":1,"re@ult":{}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		tap := New(nil)
		x := new(Exchange)
		tap.expect(&call{id: json.RawMessage("1"), method: "tools/call", x: x})
		out, to, err := tap.incoming(raw, nil)
		if err != nil && (out != nil || to != nil) {
			t.Fatalf("incoming(%q) = %q, %v, %v", raw, out, to, err)
		}
		if out != nil {
			if _, err := parseMessage(out); err != nil {
				t.Fatalf("incoming(%q) passes on %q: %v", raw, out, err)
			}
		}
		// A reply that cannot be read is a fault: nobody would wait for another one.
		if o := x.Outcome(); (to != nil) != (o.Reply != nil || o.Fault != nil) {
			t.Fatalf("incoming(%q): reply %+v", raw, o)
		}
	})
}

func TestIDs(t *testing.T) {
	t.Parallel()
	same := [][2]string{{`7`, `7.0`}, {`7`, `7e0`}, {`0`, `-0`}, {`"a"`, `"\u0061"`}}
	differ := [][2]string{{`7`, `"7"`}, {`9007199254740992`, `9007199254740993`}, {`"a"`, `"A"`}, {`1.5`, `1`}}
	for _, p := range same {
		if a, b := idKey(json.RawMessage(p[0])), idKey(json.RawMessage(p[1])); a != b || a == "" {
			t.Errorf("%s and %s: %q, %q, want the same", p[0], p[1], a, b)
		}
	}
	for _, p := range differ {
		if a, b := idKey(json.RawMessage(p[0])), idKey(json.RawMessage(p[1])); a == b {
			t.Errorf("%s and %s are the same", p[0], p[1])
		}
	}
	for _, bad := range []string{``, `null`, `true`, `{}`, `[1]`, `1e999`} {
		if got := idKey(json.RawMessage(bad)); got != "" {
			t.Errorf("%s is an id: %q", bad, got)
		}
	}
}

func TestParseError(t *testing.T) {
	t.Parallel()
	got, err := ParseError(json.RawMessage(`{"code":-32042,"message":"open","data":{"elicitations":[1]}}`))
	if diff := cmp.Diff(RPCError{-32042, "open", json.RawMessage(`{"elicitations":[1]}`)}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{`{}`, `{"code":1.5,"message":""}`, `{"code":1,"message":2}`, `"x"`, `{"code":1,"code":2,"message":""}`} {
		if _, err := ParseError(json.RawMessage(bad)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v, want ErrMalformed", bad, err)
		}
	}
}

func TestElicitations(t *testing.T) {
	t.Parallel()
	e := RPCError{Code: -32042, Data: json.RawMessage(`{"elicitations":[{"mode":"url","n":1.50},{"mode":"url"}]}`)}
	got, err := e.Elicitations()
	want := []json.RawMessage{json.RawMessage(`{"mode":"url","n":1.50}`), json.RawMessage(`{"mode":"url"}`)}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := (RPCError{Code: -32602, Data: e.Data}).Elicitations(); got != nil || err != nil {
		t.Errorf("another error: %s, %v", got, err)
	}
	for _, data := range []string{``, `{}`, `{"elicitations":{}}`, `{"elicitations":[]}`, `[]`} {
		if _, err := (RPCError{Code: -32042, Data: json.RawMessage(data)}).Elicitations(); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v, want ErrMalformed", data, err)
		}
	}
	many := `{"elicitations":[1` + strings.Repeat(",1", MaxInputRequests) + `]}`
	if _, err := (RPCError{Code: -32042, Data: json.RawMessage(many)}).Elicitations(); !errors.As(err, new(*LimitError)) {
		t.Errorf("many: %v, want a *LimitError", err)
	}
}
