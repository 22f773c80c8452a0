package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/fakeprovider"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/vault"
)

// cutting is a proxy that cuts the response to a call, and what resumes it,
// whenever it is told to.
func cutting(t *testing.T, to string) (address string, cut chan<- struct{}) {
	t.Helper()
	at, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	trip, cuts := &http.Transport{}, make(chan struct{})
	proxy := httputil.NewSingleHostReverseProxy(at)
	proxy.Transport, proxy.FlushInterval, proxy.ErrorLog = trip, -1, log.New(io.Discard, "", 0)
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		if bytes.Contains(body, []byte(`"tools/call"`)) || r.Header.Get("Last-Event-ID") != "" {
			go func() {
				select {
				case <-cuts:
					cancel()
				case <-ctx.Done():
				}
			}()
		}
		proxy.ServeHTTP(w, r.WithContext(ctx))
	}))
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		trip.CloseIdleConnections()
	})
	return front.URL, cuts
}

// A proxy may cut the response to a call as often as it likes: the question stays
// open, and its answer arrives once.
func TestHeldOverCuts(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	sdk := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	sdk.AddTool(&mcp.Tool{Name: "greet", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ran.Add(1)
			answer, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who are you?", RequestedSchema: json.RawMessage(sdkSchema)})
			if err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(answer.Action, answer.Content["name"])}}}, nil
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk },
		&mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	address, cut := cutting(t, web.URL)
	r := newRig(t, nil, nil, &host.Server{ID: "sdk", URL: address})
	call := r.start("sdk", "greet", "")
	r.step(call.ID, host.Held)
	q := r.one(call.ID)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for range 3 {
		select {
		case cut <- struct{}{}:
		case <-ctx.Done():
			t.Fatal("the response is not resumed")
		}
	}
	if still := r.one(call.ID); still.ID != q.ID {
		t.Errorf("another question is open: %s", still.ID)
	}
	r.answer(q, inbox.Accept, `{"name":"Ada"}`)
	end := r.end(call.ID)
	if got := text(t, end); got != "acceptAda" || ran.Load() != 1 || end.Sends != 1 {
		t.Errorf("got %q; ran %d times, sent %d times", got, ran.Load(), end.Sends)
	}
	if list, err := r.in.Questions(t.Context(), ada, inbox.QuestionFilter{Call: call.ID}); err != nil || len(list) != 1 {
		t.Errorf("%d questions were asked, %v", len(list), err)
	}
}

// away refuses every connection while it is down, and tells of each answer that it refused.
type away struct {
	http.RoundTripper
	down    atomic.Bool
	refused chan struct{}
}

func (a *away) RoundTrip(r *http.Request) (*http.Response, error) {
	if !a.down.Load() {
		return a.RoundTripper.RoundTrip(r)
	}
	if r.Method == http.MethodPost {
		a.refused <- struct{}{}
	}
	return nil, syscall.ECONNREFUSED
}

// The answer of a person who gives it during an outage arrives after it, once.
func TestAnsweredInAnOutage(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	sdk := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	sdk.AddTool(&mcp.Tool{Name: "greet", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ran.Add(1)
			answer, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who are you?", RequestedSchema: json.RawMessage(sdkSchema)})
			if err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(answer.Action, answer.Content["name"])}}}, nil
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk },
		&mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	address, cut := cutting(t, web.URL)
	trip := &http.Transport{}
	t.Cleanup(trip.CloseIdleConnections)
	net := &away{RoundTripper: trip, refused: make(chan struct{}, 100)}
	r := newRig(t, nil, &rigOptions{host: host.Options{Transport: net}}, &host.Server{ID: "sdk", URL: address})
	call := r.start("sdk", "greet", "")
	r.step(call.ID, host.Held)
	q := r.one(call.ID)
	net.down.Store(true)
	cut <- struct{}{}
	r.answer(q, inbox.Accept, `{"name":"Ada"}`)
	select {
	case <-net.refused:
	case <-time.After(30 * time.Second):
		t.Fatal("the answer was not given")
	}
	net.down.Store(false)
	end := r.end(call.ID)
	if got := text(t, end); got != "acceptAda" || ran.Load() != 1 || end.Sends != 1 {
		t.Errorf("got %q; ran %d times, sent %d times", got, ran.Load(), end.Sends)
	}
	if after, err := r.in.Question(t.Context(), ada, q.ID); err != nil || after.State != inbox.Accepted {
		t.Errorf("the question is %+v, %v", after, err)
	}
}

// resuming is a scripted server whose tools are cut after their first events.
// What it does with the requests that resume them is in get, by tool.
type resuming struct {
	get map[string]func(w http.ResponseWriter, r *http.Request, n int)

	mu      sync.Mutex
	ids     map[string]json.RawMessage // of the calls
	answers map[string]<-chan json.RawMessage
	gets    map[string]int
	auth    []string // of the resumptions
}

// cut is a tool of this name that sends an event with an id, or asks in it, and is cut.
func (s *resuming) cut(name string, ask bool) hosttest.Tool {
	return func(x *hosttest.Exchange) {
		s.mu.Lock()
		s.ids[name], s.answers[name] = x.ID, x.Expect(`"q-`+name+`"`)
		s.mu.Unlock()
		event := "id: " + name + "-1\n"
		if ask {
			event += "data: " + elicitation(`"q-`+name+`"`, askName) + "\n"
		}
		x.Raw(event + "\n")
	}
}

func (s *resuming) intercept(w http.ResponseWriter, r *http.Request, _ string) bool {
	name, _, ok := strings.Cut(r.Header.Get("Last-Event-ID"), "-")
	if !ok {
		return false
	}
	s.mu.Lock()
	n := s.gets[name]
	s.gets[name]++
	s.auth = append(s.auth, r.Header.Get("Authorization"))
	s.mu.Unlock()
	s.get[name](w, r, n)
	return true
}

// reply ends the call of this name, once its question has an answer.
func (s *resuming) reply(w http.ResponseWriter, r *http.Request, name string, asked bool) {
	s.mu.Lock()
	id, answer := s.ids[name], s.answers[name]
	s.mu.Unlock()
	said := []byte(`"ok"`)
	if asked {
		select {
		case msg := <-answer:
			said, _ = json.Marshal(say(read(msg)))
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "id: %s-2\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":%s}]}}\n\n", name, id, said)
}

func (s *resuming) count(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gets[name]
}

func newResuming() *resuming {
	return &resuming{
		get: map[string]func(http.ResponseWriter, *http.Request, int){},
		ids: map[string]json.RawMessage{}, answers: map[string]<-chan json.RawMessage{}, gets: map[string]int{},
	}
}

// A response that cannot be resumed ends its own call, and no other of the session.
func TestResumptionThatFailsTakesNoOtherDown(t *testing.T) {
	t.Parallel()
	s := newResuming()
	tools := map[string]hosttest.Tool{"ask": s.cut("ask", true), "held": legacyTools["ask"]}
	s.get["ask"] = func(w http.ResponseWriter, r *http.Request, _ int) { s.reply(w, r, "ask", true) }
	for _, status := range []int{400, 403, 404, 405} {
		name := fmt.Sprint("refused", status)
		tools[name] = s.cut(name, status == 404)
		s.get[name] = func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(status) }
	}
	tools["later"] = s.cut("later", false)
	s.get["later"] = func(w http.ResponseWriter, r *http.Request, n int) {
		if n < 2 {
			w.WriteHeader([]int{500, 503}[n])
			return
		}
		s.reply(w, r, "later", false)
	}
	server, wire := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: tools, Intercept: s.intercept})
	r := newRig(t, nil, nil, server)
	r.run()
	var held []*inbox.Call
	for _, name := range []string{"held", "ask"} {
		call := r.start("shop", name, "")
		r.step(call.ID, host.Held)
		held = append(held, call)
	}
	later := r.start("shop", "later", "")
	refused := map[int]*inbox.Call{}
	for _, status := range []int{400, 403, 404, 405} {
		refused[status] = r.start("shop", fmt.Sprint("refused", status), "")
	}
	for status, call := range refused {
		got := r.until(call.ID, inbox.Uncertain)
		if got.Reason != inbox.ReasonNoReply || !strings.Contains(got.Detail, "ended before it answered") {
			t.Errorf("%d: %s, %q", status, got.Reason, got.Detail)
		}
		if n := s.count(fmt.Sprint("refused", status)); n != 1 {
			t.Errorf("%d: resumed %d times, want 1", status, n)
		}
		if n := len(r.open(call.ID)); n != 0 {
			t.Errorf("%d: %d questions are open", status, n)
		}
	}
	if got := text(t, r.end(later.ID)); got != "ok" {
		t.Errorf("after 500 and 503: %s", got)
	}
	r.answer(r.one(held[0].ID), inbox.Accept, `{"n":1}`)
	r.answer(r.one(held[1].ID), inbox.Accept, `{"name":"Ada"}`)
	for i, want := range []string{`{"action":"accept","content":{"n":1}}`, `{"action":"accept","content":{"name":"Ada"}}`} {
		if got := text(t, r.end(held[i].ID)); got != want {
			t.Errorf("the held call got %s, want %s", got, want)
		}
	}
	if n := len(wire.Calls()); n != 7 {
		t.Errorf("%d sends, want one for each call", n)
	}
}

// A server that asks for a longer pause than its call may take costs it nothing.
func TestPauseWithinTheTimeOfTheCall(t *testing.T) {
	t.Parallel()
	s := newResuming()
	tool := s.cut("tool", false)
	s.get["tool"] = func(w http.ResponseWriter, r *http.Request, _ int) { s.reply(w, r, "tool", false) }
	server, _ := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Intercept: s.intercept, Tools: map[string]hosttest.Tool{
		"tool": func(x *hosttest.Exchange) {
			x.Raw("retry: 3600000\n")
			tool(x)
		},
	}})
	server.SendTimeout = 6 * time.Second
	r := newRig(t, nil, nil, server)
	if got := text(t, r.end(r.start("shop", "tool", "").ID)); got != "ok" {
		t.Errorf("got %s", got)
	}
}

// The token that a call was sent with may end while its question is held: what
// resumes its response has the token of now.
func TestResumptionHasTheTokenOfNow(t *testing.T) {
	t.Parallel()
	g := &guarded{keys: seal.NewRing(), refused: map[string]bool{}}
	g.rows = vault.NewMemory(nil)
	g.provider, g.issuer = fakeprovider.Start(t, nil)
	s := newResuming()
	refuse := make(chan struct{})
	s.get["ask"] = func(w http.ResponseWriter, r *http.Request, _ int) { s.reply(w, r, "ask", true) }
	g.Server, g.script = web(t, "shop", &hosttest.Script{
		Revision: "2025-11-25", Tools: map[string]hosttest.Tool{"ask": s.cut("ask", true)},
		Intercept: func(w http.ResponseWriter, r *http.Request, method string) bool {
			if r.Header.Get("Last-Event-ID") != "" {
				select {
				case <-refuse:
				case <-r.Context().Done():
				}
			}
			return g.intercept(w, r, method) || s.intercept(w, r, method)
		},
	})
	r := g.machine(t, nil, host.Options{})
	r.signIn()
	call := r.start("shop", "ask", "")
	r.step(call.ID, host.Held)
	g.refuse(g.calls()...)
	close(refuse)
	r.answer(r.one(call.ID), inbox.Accept, `{"name":"Ada"}`)
	if got := text(t, r.end(call.ID)); got != `{"action":"accept","content":{"name":"Ada"}}` {
		t.Errorf("got %s", got)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(g.calls()) != 1 || len(s.auth) != 1 || s.auth[0] == "Bearer "+g.calls()[0] || g.provider.Counts().Refreshed != 1 {
		t.Errorf("%d calls, %d resumptions, %d renewals", len(g.calls()), len(s.auth), g.provider.Counts().Refreshed)
	}
}

// A server that refuses every token is not asked for the rest of a response for ever.
func TestResumptionThatIsRefused(t *testing.T) {
	t.Parallel()
	g := &guarded{keys: seal.NewRing(), refused: map[string]bool{}}
	g.rows = vault.NewMemory(nil)
	g.provider, g.issuer = fakeprovider.Start(t, nil)
	s := newResuming()
	var gets atomic.Int32
	g.Server, g.script = web(t, "shop", &hosttest.Script{
		Revision: "2025-11-25", Tools: map[string]hosttest.Tool{"ask": s.cut("ask", true)},
		Intercept: func(w http.ResponseWriter, r *http.Request, method string) bool {
			if r.Header.Get("Last-Event-ID") != "" {
				gets.Add(1)
				r.Header.Set("Authorization", "Bearer refused")
			}
			return g.intercept(w, r, method)
		},
	})
	r := g.machine(t, nil, host.Options{})
	r.signIn()
	call := r.start("shop", "ask", "")
	r.step(call.ID, host.Held)
	if got := r.until(call.ID, inbox.Uncertain); got.Reason != inbox.ReasonNoReply {
		t.Errorf("%s, %q", got.Reason, got.Detail)
	}
	if n, renewed := gets.Load(), g.provider.Counts().Refreshed; n < 3 || n > 6 || renewed > 3 || len(r.open(call.ID)) != 0 {
		t.Errorf("%d GETs, %d renewals, %d open questions", n, renewed, len(r.open(call.ID)))
	}
}
