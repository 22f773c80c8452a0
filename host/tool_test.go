package host_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
)

func TestServerChanged(t *testing.T) {
	t.Parallel()
	var schema atomic.Value
	schema.Store(`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string"}}}`)
	script := &hosttest.Script{
		Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) {
			if x.State == nil {
				x.Asks("{"+request("q", askName)+"}", "s")
			} else {
				x.Text("ok")
			}
		}},
		Listed: func(int) string {
			return `[{"name":"tool","inputSchema":` + schema.Load().(string) + `}]`
		},
		ListTTL: 3_600_000,
	}
	s, wire := web(t, "shop", script)
	b := backends["memory"](t)
	r := newRig(t, b, nil, s)
	list, err := r.Tools(t.Context(), ada, "shop")
	if err != nil || len(list) != 1 || string(list[0].InputSchema) != schema.Load() {
		t.Fatalf("tools %+v (%v), want the schema as it came", list, err)
	}
	calls := []*inbox.Call{r.start("shop", "tool", ""), r.start("shop", "tool", ""), r.start("shop", "tool", "")}
	for _, c := range calls {
		r.step(c.ID, host.Asked)
		r.answer(r.one(c.ID), inbox.Accept, `{"name":"Ada"}`)
	}
	// Another order of members is the same schema.
	schema.Store(`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`)
	r.Close()
	r = newRig(t, b, nil, s)
	r.step(calls[0].ID, "")
	sent := len(wire.Calls())

	// The tool changes under a connection that stays open.
	schema.Store(`{"type":"object","properties":{"c":{"type":"string"}}}`)
	if got := r.step(calls[1].ID, host.Blocked); got.Reason != inbox.ReasonServerChanged {
		t.Errorf("blocked %s, want server_changed", got.Reason)
	}
	if n := len(wire.Calls()); n != sent {
		t.Errorf("%d calls reached the server after its tool had changed", n-sent)
	}

	// The same id at another address.
	elsewhere, wire := web(t, "shop", script)
	r.Close()
	schema.Store(`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string"}}}`)
	r = newRig(t, b, nil, elsewhere)
	if got := r.step(calls[2].ID, host.Blocked); got.Reason != inbox.ReasonServerChanged || len(wire.Calls()) != 0 {
		t.Errorf("blocked %s, want server_changed; %d calls went to the new address", got.Reason, len(wire.Calls()))
	}
	// And gone.
	again, err := r.in.RunAgain(t.Context(), ada, calls[2].ID, "")
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	r = newRig(t, b, nil)
	if got := r.step(again.ID, host.Blocked); got.Reason != inbox.ReasonServerRemoved {
		t.Errorf("blocked %s, want server_removed", got.Reason)
	}
}

// Titles are known without a connection, once the tools were listed, and are no other person's.
func TestTitle(t *testing.T) {
	t.Parallel()
	s, wire := web(t, "shop", &hosttest.Script{Listed: func(int) string {
		return `[{"name":"buy","title":"Buy tea","inputSchema":{"type":"object"}},
			{"name":"sell","inputSchema":{"type":"object"},"annotations":{"title":"Sell tea"}},{"name":"look","inputSchema":{"type":"object"}}]`
	}})
	r := newRig(t, nil, nil, s)
	if got := r.Title(ada, "shop", "buy"); got != "" {
		t.Errorf("title %q of a server that nobody asked", got)
	}
	if _, err := r.Tools(t.Context(), ada, "shop"); err != nil {
		t.Fatal(err)
	}
	wire.Close()
	bob := inbox.Principal{Issuer: "test", Subject: "bob"}
	for _, test := range []struct {
		p                  inbox.Principal
		server, tool, want string
	}{
		{ada, "shop", "buy", "Buy tea"}, {ada, "shop", "sell", "Sell tea"}, {ada, "shop", "look", ""},
		{ada, "shop", "nothing", ""}, {ada, "nowhere", "buy", ""}, {bob, "shop", "buy", ""},
	} {
		if got := r.Title(test.p, test.server, test.tool); got != test.want {
			t.Errorf("Title(%s, %s, %s) = %q, want %q", test.p.Subject, test.server, test.tool, got, test.want)
		}
	}
}

func TestTrustedServerIsSentAgain(t *testing.T) {
	t.Parallel()
	script := func() *hosttest.Script {
		return &hosttest.Script{
			Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) {
				if x.N == 0 {
					x.Die()
				}
				x.Text("ok")
			}},
			Listed: func(int) string {
				return `[{"name":"tool","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}}]`
			},
		}
	}
	stranger, _ := web(t, "stranger", script())
	trusted, wire := web(t, "trusted", script())
	trusted.Trusted = true
	r := newRig(t, nil, nil, stranger, trusted)
	r.step(r.start("stranger", "tool", "").ID, host.Uncertain)
	if got := r.end(r.start("trusted", "tool", "").ID); got.State != inbox.Done || len(wire.Calls()) != 2 {
		t.Errorf("ended %s after %d sends", got.State, len(wire.Calls()))
	}
}

// A tool whose header parameters cannot be sent is left out, and its neighbours
// stay. Programs have no headers, and older revisions no such parameters.
func TestToolWithBadHeaders(t *testing.T) {
	t.Parallel()
	const list = `[{"name":"good","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Region"}}}},` +
		`{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"Region"}}}},` +
		`{"name":"worse","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"a b"}}}}]`
	tools := map[string]hosttest.Tool{"good": func(x *hosttest.Exchange) { x.Text(x.Header.Get("Mcp-Param-Region")) }}
	for revision, want := range map[string]int{"2026-07-28": 1, "2025-11-25": 3} {
		s, _ := web(t, "shop", &hosttest.Script{Revision: revision, Tools: tools, Listed: func(int) string { return list }})
		r := newRig(t, nil, nil, s)
		got, err := r.Tools(t.Context(), ada, "shop")
		if err != nil || len(got) != want || got[0].Name != "good" {
			t.Errorf("%s: %d tools, %v; want %d", revision, len(got), err, want)
		}
		if _, err := r.Start(t.Context(), ada, host.NewCall{Server: "shop", Name: "bad"}); errors.Is(err, host.ErrNoTool) != (want == 1) {
			t.Errorf("%s: Start of the bad one: %v", revision, err)
		}
		if want == 1 {
			if header := text(t, r.end(r.start("shop", "good", `{"a":"north"}`).ID)); header != "north" {
				t.Errorf("the header says %q", header)
			}
		}
	}
}

// A list that a server writes over many lines keeps the order of its fields.
func TestToolsOverManyLines(t *testing.T) {
	t.Parallel()
	const schema = "{\n  \"type\": \"object\",\n  \"properties\": {\"b\": {}, \"a\": {}}\n}"
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		s, _ := web(t, "shop", &hosttest.Script{Revision: revision, JSON: true, Listed: func(int) string {
			return "[\n{\"name\":\"tool\",\"inputSchema\":" + schema + "}\n]"
		}})
		r := newRig(t, nil, nil, s)
		if got, err := r.Tools(t.Context(), ada, "shop"); err != nil || len(got) != 1 || string(got[0].InputSchema) != schema {
			t.Errorf("%s: %+v, %v", revision, got, err)
		}
	}
}
