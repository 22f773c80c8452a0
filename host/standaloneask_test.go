package host_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
)

// Some servers ask on the standalone stream, where nothing says which call the
// question belongs to: it is the only open one's, or nobody's.
func TestQuestionOnTheStandaloneStream(t *testing.T) {
	t.Parallel()
	var wire *hosttest.Server // set before any tool runs
	outside := make(chan string, 1)
	s, started := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"ask": legacyTools["ask"],
		"get": func(x *hosttest.Exchange) {
			// An id of its own each time: the same question once more, before the status of the
			// answer is here, counts as repeated (MCP 2025-11-25 basic, "Requests").
			id := fmt.Sprintf(`"g-%d"`, x.N)
			answer := x.Expect(id)
			wire.Standalone(elicitation(id, askName))
			x.Text(say(read(x.Await(answer))))
		},
		"after": func(x *hosttest.Exchange) {
			x.Text("ok")
			answer := x.Expect(`"outside"`)
			wire.Standalone(elicitation(`"outside"`, askName))
			outside <- say(read(<-answer))
		},
	}})
	wire = started
	r := newRig(t, nil, nil, s)

	call := r.start("shop", "get", "")
	r.step(call.ID, host.Held)
	r.answer(r.one(call.ID), inbox.Accept, `{"name":"Ada"}`)
	if got := text(t, r.end(call.ID)); got != `{"action":"accept","content":{"name":"Ada"}}` {
		t.Errorf("the server got %s", got)
	}

	refused := `error -32000 {"reason":"no_call"}`
	if got := text(t, r.end(r.start("shop", "after", "").ID)); got != "ok" {
		t.Errorf("got %s", got)
	}
	if got := <-outside; got != refused {
		t.Errorf("a question outside any call got %s, want %s", got, refused)
	}

	other := r.start("shop", "ask", "")
	r.step(other.ID, host.Held)
	if got := text(t, r.end(r.start("shop", "get", "").ID)); got != refused {
		t.Errorf("a question of one of two calls got %s, want %s", got, refused)
	}
	if list := r.open(other.ID); len(list) != 1 {
		t.Errorf("the other call has %d questions, want its own", len(list))
	}
}

// A server that sends nothing on the standalone stream, not even its header,
// until there is a message for it can be used, and asked there.
func TestStandaloneStreamThatIsQuiet(t *testing.T) {
	t.Parallel()
	var wire *hosttest.Server // set before any tool runs
	s, started := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", QuietStream: true, Tools: map[string]hosttest.Tool{
		"get": func(x *hosttest.Exchange) {
			answer := x.Expect(`"g-1"`)
			wire.Standalone(elicitation(`"g-1"`, askName))
			x.Text(say(read(x.Await(answer))))
		},
	}})
	wire = started
	r := newRig(t, nil, &rigOptions{host: host.Options{ConnectTimeout: 15 * time.Second}}, s)
	call := r.start("shop", "get", "")
	r.step(call.ID, host.Held)
	r.answer(r.one(call.ID), inbox.Accept, `{"name":"Ada"}`)
	if got := text(t, r.end(call.ID)); got != `{"action":"accept","content":{"name":"Ada"}}` {
		t.Errorf("the server got %s", got)
	}
}

// Every setting that must keep a server's records from being asked twice.
func TestIdempotencyExtension(t *testing.T) {
	t.Parallel()
	for retention, want := range map[string]int{`"retention":"1h"`: 2, `"retention":"1ns"`: 1, ``: 1} {
		s, wire := web(t, "shop", &hosttest.Script{
			Capabilities: `{"tools":{},"extensions":{"io.github.parley-mcp/idempotency":{` + retention + `}}}`,
			Tools: map[string]hosttest.Tool{"pay": func(x *hosttest.Exchange) {
				if x.N == 0 {
					x.Die()
				}
				x.Text("paid")
			}},
		})
		r := newRig(t, nil, nil, s)
		call := r.start("shop", "pay", "")
		if want == 1 {
			r.step(call.ID, host.Uncertain)
		} else if got := text(t, r.end(call.ID)); got != "paid" {
			t.Errorf("got %s", got)
		}
		if n := len(wire.Calls()); n != want {
			t.Errorf("%s: %d sends, want %d", retention, n, want)
		}
	}
}
