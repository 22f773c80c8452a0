package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
)

// What a reply, or its absence, means for the call.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tool   hosttest.Tool
		legacy bool
		state  inbox.CallState
		reason string
		sends  int // requests that reached the server; 0 means 1
		detail string
	}{
		"result": {
			tool: func(x *hosttest.Exchange) { x.Text("ok") }, state: inbox.Done,
		},
		"result without a type": {
			tool: func(x *hosttest.Exchange) { x.Result(`{"content":[]}`) }, state: inbox.Done,
		},
		"tool error": {
			tool:  func(x *hosttest.Exchange) { x.Result(`{"content":[],"isError":true}`) },
			state: inbox.Failed, reason: host.ReasonToolError,
		},
		"error": {
			tool:  func(x *hosttest.Exchange) { x.Error(-32603, "no\x1b[2J luck", "") },
			state: inbox.Failed, reason: host.ReasonServerError, detail: "no␛[2J luck",
		},
		"twice": {
			tool: func(x *hosttest.Exchange) {
				x.Notify("notifications/message", `{"level":"info","data":1}`)
				x.Text("first")
				x.Text("second")
			},
			state: inbox.Done,
		},
		"sampling": {
			tool:  func(x *hosttest.Exchange) { x.Asks(`{"a":{"method":"sampling/createMessage","params":{}}}`, "s") },
			state: inbox.Failed, reason: host.ReasonForeignRequest, detail: "language model",
		},
		"roots among questions": {
			tool:  func(x *hosttest.Exchange) { x.Asks(`{`+request("q", askName)+`,"r":{"method":"roots/list"}}`, "s") },
			state: inbox.Failed, reason: host.ReasonForeignRequest, detail: "folders",
		},
		"unknown request": {
			tool:  func(x *hosttest.Exchange) { x.Asks(`{"a":{"method":"dance"}}`, "s") },
			state: inbox.Failed, reason: host.ReasonForeignRequest,
		},
		"task": {
			tool:  func(x *hosttest.Exchange) { x.Result(`{"resultType":"task","taskId":"1"}`) },
			state: inbox.Failed, reason: host.ReasonUnknownResult,
		},
		"asks nothing": {
			tool:  func(x *hosttest.Exchange) { x.Result(`{"resultType":"input_required"}`) },
			state: inbox.Failed, reason: host.ReasonBadResult,
		},
		"asks twice under one key": {
			tool:  func(x *hosttest.Exchange) { x.Asks("{"+request("q", askName)+","+request("q", askSize)+"}", "s") },
			state: inbox.Failed, reason: host.ReasonBadResult,
		},
		"question without text": {
			tool:  func(x *hosttest.Exchange) { x.Asks("{"+request("q", `{"requestedSchema":{}}`)+"}", "s") },
			state: inbox.Failed, reason: host.ReasonBadQuestion,
		},
		"unknown mode": {
			tool:  func(x *hosttest.Exchange) { x.Asks("{"+request("q", `{"mode":"dance","message":"?"}`)+"}", "s") },
			state: inbox.Failed, reason: host.ReasonBadQuestion,
		},
		"questions in a complete result": {
			tool: func(x *hosttest.Exchange) {
				x.Result(`{"content":[],"requestState":"s2","inputRequests":{` + request("q", askName) + `}}`)
			},
			legacy: true, state: inbox.Failed, reason: host.ReasonAskedInVain,
		},
		"a type of its own in an older revision": {
			tool:   func(x *hosttest.Exchange) { x.Result(`{"content":[],"resultType":"table"}`) },
			legacy: true, state: inbox.Done,
		},
		"headers missing": {
			tool: func(x *hosttest.Exchange) {
				if x.N == 0 {
					x.Error(-32020, "missing header", "")
				} else {
					x.Text("ok")
				}
			},
			state: inbox.Done, sends: 2,
		},
		"headers missing again": {
			tool:  func(x *hosttest.Exchange) { x.Error(-32020, "missing header", "") },
			state: inbox.Failed, reason: host.ReasonServerError, sends: 2,
		},
		"connection dropped": {
			tool: func(x *hosttest.Exchange) { x.Die() }, state: inbox.Uncertain,
		},
		"half a frame": {
			tool:  func(x *hosttest.Exchange) { x.Raw("data: {\"jsonrpc\":\"2.0\",\"id\":"); x.Die() },
			state: inbox.Uncertain,
		},
		"stream without a reply": {
			tool: func(x *hosttest.Exchange) { x.Notify("notifications/progress", `{"progressToken":1,"progress":1}`) }, state: inbox.Uncertain,
		},
		"not JSON": {
			tool: func(x *hosttest.Exchange) { x.Raw("data: <html>\n\n") }, state: inbox.Uncertain,
		},
		"500": {
			tool: func(x *hosttest.Exchange) { x.Status(500, nil) }, state: inbox.Uncertain,
		},
		"400": {
			tool: func(x *hosttest.Exchange) { x.Status(400, nil) }, state: inbox.Uncertain,
		},
		"404 without a session": {
			tool: func(x *hosttest.Exchange) { x.Status(404, nil) }, state: inbox.Uncertain,
		},
		"403 without a challenge": {
			tool: func(x *hosttest.Exchange) { x.Status(403, nil) }, state: inbox.Uncertain,
		},
		"401": {
			tool: func(x *hosttest.Exchange) { x.Status(401, nil) }, state: inbox.Blocked, reason: inbox.ReasonSignIn,
		},
		"403 with a challenge": {
			tool: func(x *hosttest.Exchange) {
				x.Status(403, http.Header{"Www-Authenticate": {`Bearer error="insufficient_scope"`}})
			},
			state: inbox.Blocked, reason: inbox.ReasonSignIn,
		},
		"the server does not know": {
			tool:  func(x *hosttest.Exchange) { x.Error(-32000, "crashed", `{"reason":"outcome_unknown"}`) },
			state: inbox.Uncertain, detail: "does not know",
		},
		"session forgotten": {
			tool: func(x *hosttest.Exchange) {
				if x.N == 0 {
					x.Status(404, nil)
				} else {
					x.Text("ok")
				}
			},
			legacy: true, state: inbox.Done, sends: 2,
		},
		"session forgotten twice": {
			tool: func(x *hosttest.Exchange) { x.Status(404, nil) }, legacy: true, state: inbox.Uncertain, sends: 2,
		},
		"dies in a legacy call": {
			tool: func(x *hosttest.Exchange) { x.Die() }, legacy: true, state: inbox.Uncertain,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := &hosttest.Script{Tools: map[string]hosttest.Tool{"tool": test.tool}}
			if test.legacy {
				script.Revision = "2025-11-25"
			}
			s, wire := web(t, "Tea shop", script)
			r := newRig(t, nil, nil, s)
			call := r.start(s.ID, "tool", "")
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			stop, err := r.Step(ctx, ada, call.ID)
			if err != nil {
				t.Fatal(err)
			}
			got := stop.Call
			if got.State != test.state || test.reason != "" && got.Reason != test.reason {
				t.Errorf("%s (%s, %q), want %s (%s)", got.State, got.Reason, got.Detail, test.state, test.reason)
			}
			if !strings.Contains(got.Detail, test.detail) {
				t.Errorf("detail %q, want %q in it", got.Detail, test.detail)
			}
			if words := host.Explain(got, ""); !strings.Contains(words, s.ID) {
				t.Errorf("%q does not name the server", words)
			}
			if n, want := len(wire.Calls()), max(test.sends, 1); n != want {
				t.Errorf("%d requests reached the server, want %d", n, want)
			}
		})
	}
}

func TestLapsed(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{"reason":"invalid_request_state"}`: host.ReasonLapsed,
		`null`:                               host.ReasonProbablyLapsed,
	} {
		s, _ := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{
			"tool": func(x *hosttest.Exchange) {
				if x.State == nil {
					x.Asks("{"+request("q", askName)+"}", "s")
				} else {
					x.Error(-32602, "bad state", data)
				}
			},
		}})
		r := newRig(t, nil, nil, s)
		call := r.start("shop", "tool", "")
		r.step(call.ID, host.Asked)
		r.answer(r.one(call.ID), inbox.Accept, `{"name":"Ada"}`)
		if end := r.step(call.ID, ""); end.State != inbox.Lapsed || end.Reason != want {
			t.Errorf("ended %s, %s; want lapsed, %s", end.State, end.Reason, want)
		}
		// Run again fills the answer in and sends nothing by itself.
		again, err := r.in.RunAgain(t.Context(), ada, call.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		r.step(again.ID, host.Asked)
		if q := r.one(again.ID); string(q.Suggested) != `{"name":"Ada"}` {
			t.Errorf("suggested %s", q.Suggested)
		}
	}
}

// An error that other calls on the session must survive.
func TestOneCallDoesNotTakeOthersDown(t *testing.T) {
	t.Parallel()
	tools := map[string]hosttest.Tool{
		"ask":  legacyTools["ask"],
		"bad":  func(x *hosttest.Exchange) { x.Status(400, nil) },
		"junk": func(x *hosttest.Exchange) { x.Raw("data: <html>\n\n"); x.Raw("nonsense\n\n") },
		"401":  func(x *hosttest.Exchange) { x.Status(401, nil) },
	}
	s, _ := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: tools})
	r := newRig(t, nil, nil, s)
	call := r.start("shop", "ask", "")
	r.step(call.ID, host.Held)
	for _, tool := range []string{"bad", "junk"} {
		r.step(r.start("shop", tool, "").ID, host.Uncertain)
	}
	r.step(r.start("shop", "401", "").ID, host.Blocked)
	r.answer(r.one(call.ID), inbox.Accept, `{"n":1}`)
	if got := text(t, r.end(call.ID)); got != `{"action":"accept","content":{"n":1}}` {
		t.Errorf("the held call got %s", got)
	}
}

func TestURLsNeeded(t *testing.T) {
	t.Parallel()
	s, wire := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"pay": func(x *hosttest.Exchange) {
			if x.N == 0 {
				x.Error(-32042, "pay first", `{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://pay.example/1","message":"Pay"}]}`)
			} else {
				x.Text("paid")
			}
		},
		"form": func(x *hosttest.Exchange) { x.Error(-32042, "?", `{"elicitations":[`+askName+`]}`) },
		"none": func(x *hosttest.Exchange) { x.Error(-32042, "?", `{"elicitations":[]}`) },
	}})
	r := newRig(t, nil, nil, s)
	call := r.start("shop", "pay", `{"sum":1}`)
	r.step(call.ID, host.Asked)
	q := r.one(call.ID)
	if q.Mode != inbox.URL || q.Key != "e1" {
		t.Fatalf("question %+v", q)
	}
	if _, err := r.in.Open(t.Context(), ada, q.ID, digestOf(q.URL)); err != nil {
		t.Fatal(err)
	}
	r.answer(q, inbox.Accept, "")
	if got := text(t, r.end(call.ID)); got != "paid" {
		t.Errorf("got %s", got)
	}
	second := received(t, wire.Calls()[1])
	if second.Responses != nil || second.State != nil || string(second.Arguments) != `{"sum":1}` {
		t.Errorf("the request went again as %s, want it as it was", wire.Calls()[1].Params)
	}
	for _, tool := range []string{"form", "none"} {
		if end := r.end(r.start("shop", tool, "").ID); end.Reason != host.ReasonBadQuestion {
			t.Errorf("%s: ended %s, %s", tool, end.State, end.Reason)
		}
	}
}

func TestURLsNeededDeclined(t *testing.T) {
	t.Parallel()
	s, wire := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"pay": func(x *hosttest.Exchange) {
			x.Error(-32042, "pay first", `{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://pay.example/1","message":"Pay"}]}`)
		},
	}})
	r := newRig(t, nil, nil, s)
	call := r.start("shop", "pay", "")
	r.step(call.ID, host.Asked)
	r.answer(r.one(call.ID), inbox.Decline, "")
	if end := r.end(call.ID); end.State != inbox.Failed || end.Reason != host.ReasonDeclined || len(wire.Calls()) != 1 {
		t.Errorf("ended %s, %s after %d sends", end.State, end.Reason, len(wire.Calls()))
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("ok") }}})
	// The port of a server that is closed may be another test's a moment later; port 1 is nobody's.
	var gone atomic.Bool
	var dialer net.Dialer
	// Without idle connections: a request on one that is just being closed may have left.
	r := newRig(t, nil, &rigOptions{host: host.Options{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if gone.Load() {
				address = "127.0.0.1:1"
			}
			return dialer.DialContext(ctx, network, address)
		},
	}}}, s)
	call := r.start("shop", "tool", "")
	gone.Store(true) // after the tools were listed: the next request finds nobody
	got := r.step(call.ID, host.Blocked)
	if got.Reason != inbox.ReasonUnreachable || !strings.Contains(got.Detail, "shop") || got.MarkedBefore {
		t.Errorf("blocked %s: %s", got.Reason, got.Detail)
	}
	if _, err := r.Tools(t.Context(), ada, "shop"); err == nil {
		t.Error("Tools of a dead server gave no error")
	} else if u := (*host.UnreachableError)(nil); !errors.As(err, &u) || u.Server != "shop" || u.Why != "nothing listens at its address" {
		t.Errorf("Tools: %v", err)
	}
	list := r.Servers(ada)
	if len(list) != 1 || list[0].State != host.Broken || list[0].Error != "shop cannot be reached: nothing listens at its address." {
		t.Errorf("status %+v", list)
	}
}

// A server that was down comes back, and the call goes on by itself.
func TestReachableAgain(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	s, _ := web(t, "shop", &hosttest.Script{
		Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("ok") }},
		Intercept: func(w http.ResponseWriter, _ *http.Request, _ string) bool {
			if down.Load() {
				w.WriteHeader(http.StatusBadGateway)
			}
			return down.Load()
		},
	})
	b := backends["memory"](t)
	first := newRig(t, b, nil, s)
	call := first.start("shop", "tool", "")
	first.Close()
	down.Store(true)
	r := newRig(t, b, nil, s)
	r.run()
	r.until(call.ID, inbox.Blocked)
	down.Store(false)
	if got := r.until(call.ID, inbox.Done); text(t, got) != "ok" {
		t.Errorf("got %s", got.Result)
	}
}

func TestSignInAtConnect(t *testing.T) {
	t.Parallel()
	var open atomic.Bool
	open.Store(true)
	s, _ := web(t, "shop", &hosttest.Script{
		Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("ok") }},
		Intercept: func(w http.ResponseWriter, _ *http.Request, _ string) bool {
			if !open.Load() {
				w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://x.example/"`)
				w.WriteHeader(http.StatusUnauthorized)
			}
			return !open.Load()
		},
	})
	b := backends["memory"](t)
	first := newRig(t, b, nil, s)
	call := first.start("shop", "tool", "")
	first.Close()
	open.Store(false)
	r := newRig(t, b, nil, s)
	got := r.step(call.ID, host.Blocked)
	if got.Reason != inbox.ReasonSignIn || got.Sends != 0 {
		t.Errorf("blocked %s after %d sends", got.Reason, got.Sends)
	}
	if _, err := r.Tools(t.Context(), ada, "shop"); !errors.Is(err, host.ErrSignIn) {
		t.Errorf("Tools: %v, want ErrSignIn", err)
	}
	open.Store(true)
	if _, err := r.in.UnblockFor(t.Context(), ada, "shop", inbox.ReasonSignIn); err != nil {
		t.Fatal(err)
	}
	r.step(call.ID, "")
}

func TestTimeoutCountsProgressAndNotPeople(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var once sync.Once
	t.Cleanup(func() { once.Do(func() { close(release) }) })
	mute, _ := web(t, "mute", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"silent": func(x *hosttest.Exchange) { <-x.Context.Done() },
	}})
	mute.SendTimeout = 300 * time.Millisecond
	s, _ := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"busy": func(x *hosttest.Exchange) {
			ticker := time.NewTicker(time.Second)
			defer ticker.Stop()
			for i := range 12 {
				<-ticker.C
				n, _ := json.Marshal(i)
				x.Notify("notifications/progress", `{"progressToken":`+string(x.Meta["progressToken"])+`,"progress":`+string(n)+`}`)
			}
			x.Text("ok")
		},
		"ask": func(x *hosttest.Exchange) { x.Text(say(read(x.Elicit(askSize)))) },
	}})
	s.SendTimeout = 10 * time.Second
	r := newRig(t, nil, nil, mute, s)

	asked := r.start("shop", "ask", "")
	r.step(asked.ID, host.Held)

	got := r.step(r.start("mute", "silent", "").ID, host.Uncertain)
	if !strings.Contains(got.Detail, "no sign of life") {
		t.Errorf("detail %q", got.Detail)
	}
	if end := r.step(r.start("shop", "busy", "").ID, ""); text(t, end) != "ok" {
		t.Errorf("a busy server timed out: %s", end.State)
	}
	// The held call is older than its send time-out by now.
	r.answer(r.one(asked.ID), inbox.Accept, `{"n":1}`)
	if end := r.end(asked.ID); text(t, end) != `{"action":"accept","content":{"n":1}}` {
		t.Errorf("ended %s", end.State)
	}
}

// A redirect may not carry arguments and answers to another origin.
func TestRedirectElsewhere(t *testing.T) {
	t.Parallel()
	var leaked atomic.Int32
	other := hosttest.NewServer(t, &hosttest.Script{Intercept: func(http.ResponseWriter, *http.Request, string) bool {
		leaked.Add(1)
		return false
	}})
	var away atomic.Bool
	s, _ := web(t, "shop", &hosttest.Script{
		Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("ok") }},
		Intercept: func(w http.ResponseWriter, r *http.Request, _ string) bool {
			if away.Load() {
				http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			}
			return away.Load()
		},
	})
	s.Headers = map[string]host.Secret{"X-Key": host.NewSecret("k-123")}
	r := newRig(t, nil, nil, s)
	call := r.start("shop", "tool", "")
	away.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	stop, err := r.Step(ctx, ada, call.ID)
	if err != nil {
		t.Fatal(err)
	}
	if stop.Call.State == inbox.Done || leaked.Load() != 0 {
		t.Errorf("%s, and %d requests went elsewhere", stop.Call.State, leaked.Load())
	}
}

func TestTransportsOfOneHostAreBounded(t *testing.T) {
	t.Parallel()
	// One connection per host and a held call: the answer needs a second one,
	// which a pool of one would never give.
	s, _ := web(t, "shop", legacy("2025-11-25"))
	dials := atomic.Int32{}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	r := newRig(t, nil, &rigOptions{host: host.Options{Transport: transport}}, s)
	call := r.start("shop", "ask", "")
	r.step(call.ID, host.Held)
	r.answer(r.one(call.ID), inbox.Cancel, "")
	if got := text(t, r.end(call.ID)); got != `{"action":"cancel"}` || dials.Load() < 2 {
		t.Errorf("got %s over %d connections", got, dials.Load())
	}
}
