package host_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
)

// Prompts and resources ask as tools do, and go on with the answer: on this machine and
// on another one, also where the server says of its question that it may be kept, which
// the SDK takes for a result (MCP 2026-07-28 mrtr, "Supported Requests").
func TestPromptsAndResourcesGoOn(t *testing.T) {
	t.Parallel()
	for method, test := range map[string]struct{ name, param, result string }{
		"prompts/get":    {"greeting", "name", `{"resultType":"complete","messages":[{"role":"user","content":{"type":"text","text":"ok"}}]}`},
		"resources/read": {"file:///menu", "uri", `{"resultType":"complete","contents":[{"uri":"file:///menu","text":"ok"}],"ttlMs":0,"cacheScope":"private"}`},
	} {
		for _, elsewhere := range []bool{false, true} {
			for _, kept := range []int{0, 60_000} {
				t.Run(fmt.Sprintf("%s, elsewhere %t, ttlMs %d", method, elsewhere, kept), func(t *testing.T) {
					t.Parallel()
					var sends atomic.Int32
					var last atomic.Value
					s, _ := web(t, "shop", &hosttest.Script{Methods: map[string]hosttest.Tool{method: func(x *hosttest.Exchange) {
						sends.Add(1)
						if x.State == nil {
							x.Result(fmt.Sprintf(`{"resultType":"input_required","inputRequests":{%s},"requestState":"s","ttlMs":%d,"cacheScope":"private"}`,
								request("q", askName), kept))
							return
						}
						last.Store(string(x.Params))
						x.Result(test.result)
					}}})
					b := backends["memory"](t)
					r := newRig(t, b, nil, s)
					n := host.NewCall{Conversation: "v_1", Server: "shop", Method: method, Name: test.name}
					if method == "prompts/get" {
						n.Arguments = json.RawMessage(`{"tone":"9007199254740993"}`)
					}
					call, err := r.Start(t.Context(), ada, n)
					if err != nil {
						t.Fatal(err)
					}
					r.step(call.ID, host.Asked)
					r.answer(r.one(call.ID), inbox.Accept, `{"name":"Ada"}`)
					if elsewhere {
						r.Close()
						r = newRig(t, b, nil, s)
					}
					end := r.step(call.ID, "")
					if end.State != inbox.Done || string(end.Result) != test.result {
						t.Fatalf("ended %s (%q) with %s", end.State, end.Detail, end.Result)
					}
					if n := sends.Load(); n != 2 {
						t.Errorf("it was sent %d times, want 2", n)
					}
					var got map[string]json.RawMessage
					if err := json.Unmarshal([]byte(last.Load().(string)), &got); err != nil {
						t.Fatal(err)
					}
					if string(got[test.param]) != fmt.Sprintf("%q", test.name) || string(got["requestState"]) != `"s"` ||
						string(got["arguments"]) != string(n.Arguments) ||
						string(got["inputResponses"]) != `{"q":{"action":"accept","content":{"name":"Ada"}}}` {
						t.Errorf("it went on with %s", last.Load())
					}
				})
			}
		}
	}
}

// A server that wants to be asked again later is, and not before: after what it asks for,
// up to an hour, and after half a second where it asks for less.
func TestAgainLater(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[string]time.Duration{
		``:                    500 * time.Millisecond,
		`,"ttlMs":0`:          500 * time.Millisecond,
		`,"ttlMs":100`:        500 * time.Millisecond,
		`,"ttlMs":90000`:      90 * time.Second,
		`,"ttlMs":36000000`:   time.Hour,
		`,"ttlMs":1e300`:      time.Hour,
		`,"ttlMs":-5`:         500 * time.Millisecond,
		`,"ttlMs":"tomorrow"`: 500 * time.Millisecond,
	} {
		t.Run(ttl, func(t *testing.T) {
			t.Parallel()
			now := time.Now().Truncate(time.Millisecond)
			b, passed := standingFrom(now)
			s, wire := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) {
				if x.State == nil {
					x.Result(`{"resultType":"input_required","requestState":"later"` + ttl + `}`)
					return
				}
				x.Text("ok")
			}}})
			r := newRig(t, b, nil, s)
			call := r.start("shop", "tool", "")
			if err := r.Resume(t.Context(), ada, call.ID); err != nil {
				t.Fatal(err)
			}
			for since := int64(-1); call.State != inbox.Ready || call.Sends == 0; since = call.Version {
				var err error
				if call, err = r.in.Wait(patient(t), ada, call.ID, since); err != nil {
					t.Fatal(err)
				}
			}
			if got := call.NotBefore.Sub(now); got != want {
				t.Errorf("it is sent again after %v, want %v", got, want)
			}
			passed.Store(int64(want - time.Millisecond))
			if _, _, err := r.in.ClaimNext(t.Context(), []string{"shop"}); err == nil {
				t.Fatal("a machine takes it before its time")
			}
			if n := len(wire.Calls()); n != 1 {
				t.Fatalf("%d sends before its time", n)
			}
			passed.Store(int64(want))
			if end := r.step(call.ID, ""); end.State != inbox.Done || len(wire.Calls()) != 2 {
				t.Errorf("ended %s after %d sends", end.State, len(wire.Calls()))
			}
		})
	}
}

// A call that waits was asked by what stood at its endpoint then. On a machine whose
// servers file has the server elsewhere it does not go on, and nothing is sent there.
func TestServerMovedWhileAsked(t *testing.T) {
	t.Parallel()
	tool := func(x *hosttest.Exchange) {
		if x.State == nil {
			x.Asks("{"+request("q", askName)+"}", "s")
			return
		}
		x.Text("ok")
	}
	script := &hosttest.Script{Tools: map[string]hosttest.Tool{"tool": tool}}
	for name, move := range map[string]func(t *testing.T, s *host.Server) (*host.Server, func() int){
		"another port": func(t *testing.T, _ *host.Server) (*host.Server, func() int) {
			s, wire := web(t, "shop", script)
			return s, func() int { return len(wire.Calls()) }
		},
		"another path": func(_ *testing.T, s *host.Server) (*host.Server, func() int) {
			return &host.Server{ID: s.ID, URL: s.URL + "/v2"}, nil
		},
		"another query": func(_ *testing.T, s *host.Server) (*host.Server, func() int) {
			return &host.Server{ID: s.ID, URL: s.URL + "?tenant=2"}, nil
		},
		"a program": func(t *testing.T, _ *host.Server) (*host.Server, func() int) {
			return program(t, "shop", "moved"), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := backends["memory"](t)
			s, wire := web(t, "shop", script)
			r := newRig(t, b, nil, s)
			call := r.start("shop", "tool", "")
			r.step(call.ID, host.Asked)
			q := r.one(call.ID)
			r.Close()

			moved, calls := move(t, s)
			other := newRig(t, b, nil, moved)
			other.answer(q, inbox.Accept, `{"name":"Ada"}`)
			got := other.step(call.ID, host.Blocked)
			if got.Reason != inbox.ReasonServerChanged || !strings.Contains(host.Explain(got, ""), "has changed since the call was made") {
				t.Errorf("blocked %s, %q", got.Reason, host.Explain(got, ""))
			}
			if n := len(wire.Calls()); n != 1 || calls != nil && calls() != 0 {
				t.Errorf("%d sends to where it was", n)
			}
		})
	}
}

func init() {
	programs["moved"] = &hosttest.Script{Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("wrong") }}}
}

// Error -32042 asks also in a response with an error status, as long as it answers this
// very request. Without the request's id it proves nothing (MCP 2025-11-25
// client/elicitation, "URL Elicitation Required Error"; basic/transports, "Sending Messages to the Server").
func TestPagesInAnErrorStatus(t *testing.T) {
	t.Parallel()
	const pages = `{"elicitations":[` + askPage + `]}`
	for _, status := range []int{400, 403, 404, 409, 500, 503} {
		for _, sessionless := range []bool{true, false} {
			for _, id := range []string{"its own", "null", "another"} {
				t.Run(fmt.Sprintf("%d, sessionless %t, id %s", status, sessionless, id), func(t *testing.T) {
					t.Parallel()
					s, wire := web(t, "shop", &hosttest.Script{
						Revision: "2025-11-25", JSON: true, Sessionless: sessionless,
						Tools: map[string]hosttest.Tool{"pay": func(x *hosttest.Exchange) {
							if id == "its own" && x.N > 0 {
								x.Text("paid")
								return
							}
							x.Status(status, http.Header{"Content-Type": {"application/json"}})
							switch id {
							case "its own":
								x.Error(-32042, "pay first", pages)
							case "null":
								x.ID = json.RawMessage("null")
								x.Error(-32042, "pay first", pages)
							case "another":
								x.ID = json.RawMessage(`"another"`)
								x.Error(-32042, "pay first", pages)
							}
						}},
					})
					r := newRig(t, nil, nil, s)
					call := r.start("shop", "pay", "")
					if id != "its own" {
						r.step(call.ID, host.Uncertain)
						if n := len(r.open(call.ID)); n != 0 {
							t.Errorf("%d questions of nobody", n)
						}
						want := 1
						if status == http.StatusNotFound && !sessionless {
							want = 2 // the session was gone, the first time
						}
						if n := len(wire.Calls()); n != want {
							t.Errorf("%d sends, want %d", n, want)
						}
						return
					}
					r.step(call.ID, host.Asked)
					r.reply(t.Context(), r.one(call.ID))
					if got := text(t, r.end(call.ID)); got != "paid" || len(wire.Calls()) != 2 {
						t.Errorf("got %s after %d sends", got, len(wire.Calls()))
					}
				})
			}
		}
	}
}

// In the modern era error -32042 is no more than an error, in the first round or later: a page
// is asked for in a result, with request state.
func TestPagesInAModernError(t *testing.T) {
	t.Parallel()
	s, wire := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{
		"pay": func(x *hosttest.Exchange) { x.Error(-32042, "pay first", `{"elicitations":[`+askPage+`]}`) },
		"ask": func(x *hosttest.Exchange) {
			if x.State == nil {
				x.Asks("{"+request("q", askName)+"}", "s")
				return
			}
			x.Error(-32042, "pay first", `{"elicitations":[`+askPage+`]}`)
		},
	}})
	r := newRig(t, nil, nil, s)
	sends := 0
	for _, tool := range []string{"pay", "ask"} {
		sends++
		call := r.start("shop", tool, "")
		if tool == "ask" {
			sends++
			r.step(call.ID, host.Asked)
			r.reply(t.Context(), r.one(call.ID))
		}
		end := r.end(call.ID)
		const want = "shop asked a question that cannot be shown: it named pages to open in an error, which its protocol revision does not have."
		if end.State != inbox.Failed || end.Reason != host.ReasonBadQuestion || end.Detail != want || len(wire.Calls()) != sends {
			t.Errorf("%s: %s (%s, %q) after %d sends", tool, end.State, end.Reason, end.Detail, len(wire.Calls()))
		}
		if open := r.open(call.ID); len(open) != 0 {
			t.Errorf("%s: %d questions are open", tool, len(open))
		}
	}
}
