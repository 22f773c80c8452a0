package host_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
)

// params reads what a call carried.
type params struct {
	Meta      map[string]json.RawMessage `json:"_meta"`
	Name      string                     `json:"name"`
	Arguments json.RawMessage            `json:"arguments"`
	Responses map[string]json.RawMessage `json:"inputResponses"`
	State     *string                    `json:"requestState"`
}

func received(t *testing.T, c hosttest.Call) params {
	t.Helper()
	var p params
	if err := json.Unmarshal(c.Params, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEmptyState: request state that is "" goes back, and none where there was none.
// MCP 2026-07-28 mrtr, "Client Requirements" C2, C4.
func TestEmptyState(t *testing.T) {
	t.Parallel()
	eachBackend(t, func(t *testing.T, b *backend) {
		asks := func(state string) hosttest.Tool {
			return func(x *hosttest.Exchange) {
				if len(x.Responses) > 0 {
					x.Text("ok")
					return
				}
				x.Result(`{"resultType":"input_required","inputRequests":{` + request("name", askName) + `}` + state + `}`)
			}
		}
		s, wire := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{"empty": asks(`,"requestState":""`), "none": asks(``)}})
		r := newRig(t, b, nil, s)
		for tool, want := range map[string]bool{"empty": true, "none": false} {
			c := r.start("shop", tool, "")
			r.step(c.ID, host.Asked)
			r.answer(r.one(c.ID), inbox.Accept, `{"name":"Ada"}`)
			if got := text(t, r.end(c.ID)); got != "ok" {
				t.Errorf("%s: %s", tool, got)
			}
			calls := wire.Calls()
			if got := received(t, calls[len(calls)-1]).State; (got != nil) != want || got != nil && *got != "" {
				t.Errorf("%s: request state %v went back", tool, got)
			}
		}
	})
}

func TestModernRound(t *testing.T) {
	t.Parallel()
	eachBackend(t, func(t *testing.T, b *backend) {
		s, wire := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{
			"order": func(x *hosttest.Exchange) {
				if x.State == nil {
					x.Asks("{"+request("size", askSize)+","+request("", askName)+"}", "opaque é \" state")
					return
				}
				x.Text("ordered")
			},
		}})
		r := newRig(t, b, nil, s)
		call := r.start("shop", "order", `{"item":"tea","n":9007199254740993}`)
		r.step(call.ID, host.Asked)

		list := r.open(call.ID)
		if len(list) != 2 || list[0].Key != "size" || list[1].Key != "" {
			t.Fatalf("questions %+v, want size and the empty key, in the order of the wire", list)
		}
		if got := string(list[0].Params); got != askSize {
			t.Errorf("params %s, want the bytes as they came %s", got, askSize)
		}
		r.answer(list[0], inbox.Accept, `{"n":9007199254740993,"b":"1","a":"2"}`)
		if c := r.step(call.ID, host.Asked); c.State != inbox.Waiting { // a partial answer is kept, not sent
			t.Fatalf("state %s after one of two answers", c.State)
		}
		r.answer(list[1], inbox.Decline, "")

		// Another machine takes it from here.
		r.Close()
		r2 := newRig(t, b, nil, s)
		end := r2.step(call.ID, "")
		if end.State != inbox.Done || end.IsError {
			t.Fatalf("ended %s (%s)", end.State, end.Detail)
		}
		want := `{"resultType":"complete","content":[{"type":"text","text":"ordered"}]}`
		if string(end.Result) != want {
			t.Errorf("result %s, want %s", end.Result, want)
		}

		calls := wire.Calls()
		if len(calls) != 2 {
			t.Fatalf("%d calls reached the server, want 2", len(calls))
		}
		first, second := received(t, calls[0]), received(t, calls[1])
		if got := string(first.Arguments); got != `{"item":"tea","n":9007199254740993}` || string(second.Arguments) != got {
			t.Errorf("arguments %s then %s", first.Arguments, second.Arguments)
		}
		if first.State != nil || first.Responses != nil {
			t.Error("the first round carried answers or request state")
		}
		if second.State == nil || *second.State != "opaque é \" state" {
			t.Errorf("request state came back as %v", second.State)
		}
		got := map[string]string{}
		for k, v := range second.Responses {
			got[k] = string(v)
		}
		if diff := cmp.Diff(map[string]string{
			"size": `{"action":"accept","content":{"n":9007199254740993,"b":"1","a":"2"}}`,
			"":     `{"action":"decline"}`,
		}, got); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		key := "io.github.parley-mcp/idempotencyKey"
		if first.Meta[key] == nil || string(first.Meta[key]) != string(second.Meta[key]) {
			t.Errorf("idempotency keys %s and %s", first.Meta[key], second.Meta[key])
		}
		caps := `{"elicitation":{"form":{},"url":{}}}`
		if got := string(first.Meta["io.modelcontextprotocol/clientCapabilities"]); got != caps {
			t.Errorf("declared %s, want %s", got, caps)
		}
	})
}

func TestStateOnly(t *testing.T) {
	t.Parallel()
	s, wire := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{
		"order": func(x *hosttest.Exchange) {
			if x.N < 2 {
				x.Asks("", "later")
				return
			}
			x.Text("ordered")
		},
	}})
	r := newRig(t, nil, nil, s)
	began := time.Now()
	if end := r.step(r.start("shop", "order", "").ID, ""); end.State != inbox.Done {
		t.Fatalf("ended %s (%s)", end.State, end.Detail)
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("three sends within %v: no back-off", took)
	}
	calls := wire.Calls()
	if len(calls) != 3 || *received(t, calls[2]).State != "later" || received(t, calls[2]).Responses != nil {
		t.Errorf("calls %+v", calls)
	}
}

func TestRoundsOfOneCall(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{
		"order": func(x *hosttest.Exchange) {
			switch {
			case x.State == nil:
				x.Asks("{"+request("who", askName)+"}", "s1")
			case *x.State == "s1":
				x.Asks("{"+request("size", askSize)+"}", "")
			default:
				x.Text("wrong")
			}
		},
		"endless": func(x *hosttest.Exchange) { x.Asks("{"+request("who", askName)+"}", "s") },
	}})
	r := newRig(t, nil, nil, s)
	call := r.start("shop", "order", "")
	r.step(call.ID, host.Asked)
	r.answer(r.one(call.ID), inbox.Accept, `{"name":"Ada"}`)
	r.step(call.ID, host.Asked)
	if q := r.one(call.ID); q.Key != "size" {
		t.Errorf("second round asks %q", q.Key)
	}

	// A server that asks what was declined twice.
	call = r.start("shop", "endless", "")
	for range 2 {
		r.step(call.ID, host.Asked)
		r.answer(r.one(call.ID), inbox.Decline, "")
	}
	if end := r.step(call.ID, ""); end.State != inbox.Failed || end.Reason != inbox.ReasonKeepsAsking {
		t.Errorf("ended %s, %s; want failed, keeps_asking", end.State, end.Reason)
	}
}
