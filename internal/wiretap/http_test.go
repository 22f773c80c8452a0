package wiretap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/internal/servicetest"
)

// recorder keeps the bodies of the POSTs that reach a handler.
type recorder struct {
	next http.Handler
	mu   sync.Mutex
	got  []string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodPost {
		b, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(b))
		r.mu.Lock()
		r.got = append(r.got, string(b))
		r.mu.Unlock()
	}
	r.next.ServeHTTP(w, req)
}

func (r *recorder) find(part string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.got {
		if strings.Contains(b, part) {
			return b
		}
	}
	return ""
}

func serveSDK(t *testing.T, opts *mcp.StreamableHTTPOptions) (string, *recorder) {
	t.Helper()
	server := sdkServer()
	rec := &recorder{next: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, opts)}
	srv := httptest.NewServer(rec)
	t.Cleanup(srv.Close)
	return srv.URL, rec
}

func TestCall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, version string
		opts          *mcp.StreamableHTTPOptions
		session       bool
	}{
		{"legacy events", v2025, nil, true},
		{"legacy json", v2025, &mcp.StreamableHTTPOptions{JSONResponse: true}, true},
		{"modern events", v2026, &mcp.StreamableHTTPOptions{Stateless: true}, false},
		{"modern json", v2026, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url, rec := serveSDK(t, tt.opts)
			tap := New(nil)
			cs := overHTTP(t, tap, url, tt.version, nil)
			if got := cs.InitializeResult().ProtocolVersion; got != tt.version {
				t.Fatalf("version = %s, want %s", got, tt.version)
			}
			var marks int
			x := &Exchange{BeforeSend: func(context.Context) error {
				marks++
				if rec.find(`"tools/call"`) != "" {
					t.Error("BeforeSend ran after the request was there")
				}
				return nil
			}}
			// Lists under the same context do not count.
			if _, err := cs.ListTools(With(testCtx(t), x), nil); err != nil {
				t.Fatal(err)
			}
			if got := x.Outcome(); got.Left || got.Begun || got.Reply != nil {
				t.Errorf("after ListTools: %+v, want nothing", got)
			}
			if _, err := callTool(t, cs, x, "plain"); err != nil {
				t.Fatal(err)
			}
			out := x.Outcome()
			if marks != 1 || !out.Begun || !out.Left || out.Status != 200 || out.Session != tt.session || out.Fault != nil {
				t.Errorf("marks = %d, outcome = %+v", marks, out)
			}
			if out.Reply == nil || !strings.Contains(string(out.Reply.Result), `"text":"done"`) {
				t.Errorf("reply = %+v", out.Reply)
			}
			wait(t, "Replied", x.Replied())

			// One exchange is one send.
			if _, err := callTool(t, cs, x, "plain"); !errors.Is(err, ErrSentBefore) {
				t.Errorf("second send: %v, want ErrSentBefore", err)
			}
			if _, err := callTool(t, cs, new(Exchange), "plain"); err != nil {
				t.Errorf("the session after that: %v", err)
			}
			if s := tap.Stats(); s.OpenCalls != 0 || s.Junk != 0 || s.Stray != 0 {
				t.Errorf("stats = %+v", s)
			}
		})
	}
}

func TestVeto(t *testing.T) {
	t.Parallel()
	url, rec := serveSDK(t, nil)
	cs := overHTTP(t, New(nil), url, v2025, nil)
	errMark := errors.New("lease lost")
	x := &Exchange{BeforeSend: func(context.Context) error { return errMark }}
	_, err := callTool(t, cs, x, "plain")
	if !errors.Is(err, ErrVetoed) || !errors.Is(err, errMark) {
		t.Errorf("error = %v, want ErrVetoed and the hook's", err)
	}
	if out := x.Outcome(); out.Begun || out.Left || rec.find("tools/call") != "" {
		t.Errorf("outcome = %+v; sent: %v", out, rec.find("tools/call") != "")
	}
	if _, err := callTool(t, cs, new(Exchange), "plain"); err != nil {
		t.Errorf("the session after a veto: %v", err)
	}
}

func TestRoundModern(t *testing.T) {
	t.Parallel()
	url, _ := serveSDK(t, &mcp.StreamableHTTPOptions{Stateless: true})
	cs := overHTTP(t, New(nil), url, v2026, nil)
	x := new(Exchange)
	res, err := callTool(t, cs, x, "round")
	if err != nil {
		t.Fatal(err)
	}
	if !res.NeedsInput() || res.RequestState != "" {
		t.Errorf("the SDK's result: NeedsInput %v, state %q; want true, none", res.NeedsInput(), res.RequestState)
	}
	in, asked, err := ParseResult(x.Outcome().Reply.Result)
	if err != nil || !asked {
		t.Fatalf("ParseResult = %v, %v", asked, err)
	}
	if in.State != "s1" || len(in.Requests) != 1 || in.Requests[0].Key != "n" || in.Requests[0].Foreign() {
		t.Errorf("input = %+v", in)
	}
	if !strings.Contains(string(in.Requests[0].Params), askSchema) {
		t.Errorf("params = %s, want the schema's bytes", in.Requests[0].Params)
	}
	x = new(Exchange)
	_, err = cs.CallTool(With(testCtx(t), x), &mcp.CallToolParams{Name: "round", RequestState: in.State,
		InputResponses: mcp.InputResponseMap{"n": &mcp.ElicitResult{Action: "decline"}}})
	if err != nil {
		t.Fatal(err)
	}
	if r := x.Outcome().Reply; r == nil || !strings.Contains(string(r.Result), `"text":"decline"`) {
		t.Errorf("second round: %+v", r)
	}
}

func TestNothingLeft(t *testing.T) {
	t.Parallel()
	srv := newRaw(t, nil)
	tap := New(nil)
	refuse := errors.New("no route")
	var down sync.Map
	base := roundTripFunc(func(r *http.Request) (*http.Response, error) {
		if _, ok := down.Load("down"); ok {
			return nil, refuse
		}
		return srv.transport.RoundTrip(r)
	})
	cs := overHTTP(t, tap, srv.url, v2025, nil, func(tr *mcp.StreamableClientTransport) {
		tr.HTTPClient.Transport = tap.RoundTripper(base)
	})
	down.Store("down", true)
	x := new(Exchange)
	_, err := callTool(t, cs, x, "t")
	if !errors.Is(err, refuse) {
		t.Errorf("error = %v", err)
	}
	if out := x.Outcome(); !out.Begun || out.Left || !errors.Is(out.Fault, refuse) {
		t.Errorf("outcome = %+v, want begun, nothing left", out)
	}
	// And over a real dial that fails.
	dead := "http://" + servicetest.FreeAddr(t)
	x = new(Exchange)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`
	req, _ := http.NewRequestWithContext(With(testCtx(t), x), http.MethodPost, dead, strings.NewReader(body))
	if _, err := tap.RoundTripper(srv.transport).RoundTrip(req); err == nil {
		t.Error("dialled a closed port")
	}
	if out := x.Outcome(); !out.Begun || out.Left {
		t.Errorf("outcome = %+v, want begun, nothing left", out)
	}
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A redirect sends the same call again; the mark is committed once.
func TestRedirect(t *testing.T) {
	t.Parallel()
	srv := newRaw(t, func(w http.ResponseWriter, r *http.Request, id string, _ *rawServer) {
		if r.URL.Path == "/" || r.URL.Path == "" {
			w.Header().Set("Location", "/mcp/")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		events(w, "data: "+result(id)+"\n\n")
	})
	cs := srv.connect(t, New(nil), nil)
	marks := 0
	x := &Exchange{BeforeSend: func(context.Context) error { marks++; return nil }}
	if _, err := callTool(t, cs, x, "t"); err != nil {
		t.Fatal(err)
	}
	if out := x.Outcome(); marks != 1 || out.Status != 200 || out.Reply == nil {
		t.Errorf("marks = %d, outcome = %+v", marks, out)
	}
}

func TestForeignAndComplete(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var foreign, completed []string
	tap := New(&Options{
		Foreign: func(method string, xs []*Exchange) {
			mu.Lock()
			defer mu.Unlock()
			foreign = append(foreign, fmt.Sprint(method, len(xs)))
		},
		Completed: func(id string) {
			mu.Lock()
			defer mu.Unlock()
			completed = append(completed, id)
		},
	})
	srv := newRaw(t, func(w http.ResponseWriter, r *http.Request, call string, s *rawServer) {
		events(w, `data: {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[]}}`+"\n\n",
			`data: {"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n\n",
			`data: {"jsonrpc":"2.0","id":3,"method":"x/y"}`+"\n\n",
			`data: {"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e-1"}}`+"\n\n")
		for range 3 {
			select {
			case a := <-s.answers:
				defer func() { s.answers <- a }()
			case <-r.Context().Done():
				return
			}
		}
		events(w, "data: "+result(call)+"\n\n")
	})
	cs := srv.connect(t, tap, nil)
	if _, err := callTool(t, cs, new(Exchange), "t"); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{"sampling/createMessage1", "x/y1"}, foreign); diff != "" {
		t.Errorf("foreign (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"e-1"}, completed); diff != "" {
		t.Errorf("completed (-want +got):\n%s", diff)
	}
}

// A response that ends before the reply is resumed below the SDK; the reply still finds its exchange, and a question
// that is sent once more is asked once.
func TestResume(t *testing.T) {
	t.Parallel()
	tap := New(nil)
	tap.leastPause = time.Millisecond
	ask := "id: e1\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\"}}\n\n"
	var mu sync.Mutex
	var callID string
	srv := newRaw(t, func(w http.ResponseWriter, r *http.Request, id string, s *rawServer) {
		mu.Lock()
		callID = id
		mu.Unlock()
		events(w, "retry: 1\n\n", ask)
	})
	base := roundTripFunc(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet {
			return srv.transport.RoundTrip(r)
		}
		if got := r.Header.Get(headerLastEvent); got != "e1" {
			t.Errorf("Last-Event-ID = %q", got)
		}
		mu.Lock()
		defer mu.Unlock()
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
			Body: io.NopCloser(strings.NewReader(ask + "id: e2\ndata: " + result(callID) + "\n\n"))}, nil
	})
	asked := make(chan *Question, 4)
	cs := overHTTP(t, tap, srv.url, v2025, func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		q := tap.Question(req.Params.GetMeta())
		asked <- q
		<-q.Exchanges[0].Replied()
		return &mcp.ElicitResult{Action: "decline"}, nil
	}, func(tr *mcp.StreamableClientTransport) {
		tr.HTTPClient.Transport = tap.RoundTripper(base)
	})
	x := new(Exchange)
	if _, err := callTool(t, cs, x, "t"); err != nil {
		t.Fatal(err)
	}
	if out := x.Outcome(); out.Reply == nil || out.Fault != nil {
		t.Errorf("outcome = %+v", out)
	}
	q := <-asked
	wait(t, "Done", q.Done())
	if s := tap.Stats(); !q.Exact || s.Questions != 1 || s.Repeated != 1 || len(asked) != 0 {
		t.Errorf("exact %v, stats %+v", q.Exact, s)
	}
}

// The SDK caches resources/read by URI when ttlMs is set; a tagged read is always sent.
func TestReadIsNotCached(t *testing.T) {
	t.Parallel()
	url, _ := serveSDK(t, &mcp.StreamableHTTPOptions{Stateless: true})
	tap := New(nil)
	base := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(base.CloseIdleConnections)
	reads := 0
	cs := overHTTP(t, tap, url, v2026, nil, func(tr *mcp.StreamableClientTransport) {
		tr.HTTPClient.Transport = tap.RoundTripper(roundTripFunc(func(r *http.Request) (*http.Response, error) {
			b, _ := io.ReadAll(r.Body)
			var m struct {
				ID     json.RawMessage
				Method string
			}
			if json.Unmarshal(b, &m); m.Method != "resources/read" {
				r.Body = io.NopCloser(bytes.NewReader(b))
				return base.RoundTrip(r)
			}
			reads++
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
				Body: io.NopCloser(strings.NewReader(fmt.Sprintf(
					`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","ttlMs":60000,"requestState":"s"}}`, m.ID)))}, nil
		}))
	})
	for range 2 {
		x := new(Exchange)
		if _, err := cs.ReadResource(With(testCtx(t), x), &mcp.ReadResourceParams{URI: "a:b"}); err != nil {
			t.Fatal(err)
		}
		if x.Outcome().Reply == nil {
			t.Fatal("no reply")
		}
	}
	if reads != 2 {
		t.Errorf("reads = %d, want 2", reads)
	}
}
