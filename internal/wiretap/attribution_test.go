package wiretap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Each question belongs to the call on whose response it came, however many are open.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	const n = 8
	url, _ := serveSDK(t, nil)
	tap := New(nil)
	var mu sync.Mutex
	open := 0
	all := make(chan struct{})
	asked := make(map[*Exchange]int)
	cs := overHTTP(t, tap, url, v2025, func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		q := tap.Question(req.Params.GetMeta())
		mu.Lock()
		if !q.Exact || len(q.Exchanges) != 1 {
			t.Errorf("question of %d calls, exact %v", len(q.Exchanges), q.Exact)
		}
		asked[q.Exchanges[0]]++
		if open++; open == n {
			close(all)
		}
		mu.Unlock()
		<-all // every question is open at once
		q.Answer([]byte(fmt.Sprintf(`{"action":"accept","content":{"zebra":%s}}`, q.Exchanges[0].Call)), nil)
		return &mcp.ElicitResult{Action: "cancel"}, nil
	})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			x := &Exchange{Call: fmt.Sprint(i)}
			if _, err := callTool(t, cs, x, "ask"); err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if want := fmt.Sprintf(`accept{\"zebra\":%d}`, i); asked[x] != 1 || !strings.Contains(string(x.Outcome().Reply.Result), want) {
				t.Errorf("call %d: asked %d times, reply %s", i, asked[x], x.Outcome().Reply.Result)
			}
		})
	}
	wg.Wait()
}

// In JSON mode a legacy server asks on the standalone stream, which belongs to no call: every open one may be meant.
func TestStandaloneStream(t *testing.T) {
	t.Parallel()
	url, _ := serveSDK(t, &mcp.StreamableHTTPOptions{JSONResponse: true})
	tap := New(nil)
	x := new(Exchange)
	var q *Question
	cs := overHTTP(t, tap, url, v2025, func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		q = tap.Question(req.Params.GetMeta())
		return &mcp.ElicitResult{Action: "decline"}, nil
	}, func(tr *mcp.StreamableClientTransport) { tr.DisableStandaloneSSE = false })
	if _, err := callTool(t, cs, x, "ask"); err != nil {
		t.Fatal(err)
	}
	if q == nil || q.Exact || len(q.Exchanges) != 1 || q.Exchanges[0] != x {
		t.Errorf("question = %+v", q)
	}
}

// Where the bytes do not say it, a question may belong to every tagged call that is under way: not to untagged ones,
// not to those that have a reply, nor to those that were cancelled.
func TestCandidates(t *testing.T) {
	t.Parallel()
	tap := New(nil)
	var xs []*Exchange
	send := func(ctx context.Context, id int, method, params string) {
		s, err := tap.outgoing(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
		if err != nil {
			t.Fatal(err)
		}
		tap.expect(s.call)
	}
	for i := range 4 {
		x := &Exchange{Call: fmt.Sprint(i)}
		xs = append(xs, x)
		send(With(testCtx(t), x), i, "tools/call", "{}")
	}
	send(testCtx(t), 10, "tools/call", "{}")
	send(With(testCtx(t), xs[0]), 11, "tools/list", "{}")
	if _, _, err := tap.incoming([]byte(result("1")), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := tap.outgoing(testCtx(t), []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tap.incoming([]byte(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create"}`), nil); err != nil {
		t.Fatal(err)
	}
	q := tap.Question(map[string]any{MarkerKey: "parley-1"})
	var got []string
	for _, x := range q.Exchanges {
		got = append(got, x.Call)
	}
	if diff := cmp.Diff([]string{"0", "3"}, got); diff != "" || q.Exact {
		t.Errorf("exact %v (-want +got):\n%s", q.Exact, diff)
	}
	// The reply to a cancelled call is still taken.
	if _, _, err := tap.incoming([]byte(result("2")), nil); err != nil {
		t.Fatal(err)
	}
	wait(t, "the late reply", xs[2].Replied())
}

// After a challenge the SDK sends the same call again once it is authorized: the mark is committed once, and the last
// response counts. After any other response a repeat could run the call twice.
func TestRepeat(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		first int
		again bool
	}{{401, true}, {403, true}, {307, true}, {308, true}, {200, false}, {404, false}, {500, false}, {503, false}} {
		t.Run(fmt.Sprint(tt.first), func(t *testing.T) {
			t.Parallel()
			status := tt.first
			rt := New(nil).RoundTripper(roundTripFunc(func(r *http.Request) (*http.Response, error) {
				resp := &http.Response{StatusCode: status, Header: make(http.Header), Body: http.NoBody, Request: r}
				resp.Header.Set("WWW-Authenticate", "Bearer")
				return resp, nil
			}))
			marks := 0
			x := &Exchange{BeforeSend: func(context.Context) error { marks++; return nil }}
			send := func() error {
				body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`)
				req, err := http.NewRequestWithContext(With(testCtx(t), x), http.MethodPost, "http://x.test", body)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := rt.RoundTrip(req)
				if err == nil {
					resp.Body.Close()
				}
				return err
			}
			if err := send(); err != nil {
				t.Fatal(err)
			}
			status = http.StatusOK
			err := send()
			if tt.again && err != nil || !tt.again && !errors.Is(err, ErrSentBefore) {
				t.Errorf("repeat: %v", err)
			}
			want := tt.first
			if tt.again {
				want = http.StatusOK
			}
			if out := x.Outcome(); marks != 1 || out.Status != want || tt.again && out.Challenge != "" {
				t.Errorf("marks %d, outcome %+v", marks, out)
			}
		})
	}
}

// A server that keeps the response open after the reply does not hold the connection.
func TestLinger(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	srv := newRaw(t, func(w http.ResponseWriter, r *http.Request, id string, _ *rawServer) {
		events(w, "data: "+result(id)+"\n\n")
		<-r.Context().Done()
		close(closed)
	})
	tap := New(nil)
	tap.afterReply = time.Millisecond
	cs := srv.connect(t, tap, nil)
	if _, err := callTool(t, cs, new(Exchange), "t"); err != nil {
		t.Fatal(err)
	}
	wait(t, "the end of the response", closed)
}

// watched is a response body that tells when it is first read and when it is closed.
type watched struct {
	io.ReadCloser
	read, closed func()
}

func (w *watched) Read(p []byte) (int, error) {
	w.read()
	return w.ReadCloser.Read(p)
}

func (w *watched) Close() error {
	defer w.closed()
	return w.ReadCloser.Close()
}

// A caller that gives up leaves an exchange that says so.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	srv := newRaw(t, func(w http.ResponseWriter, r *http.Request, id string, _ *rawServer) {
		events(w, ": wait\n\n")
		<-r.Context().Done()
	})
	x := new(Exchange)
	ctx, cancel := context.WithCancel(With(testCtx(t), x))
	closed := make(chan struct{})
	tap := New(nil)
	cs := overHTTP(t, tap, srv.url, v2025, nil, func(tr *mcp.StreamableClientTransport) {
		tr.HTTPClient.Transport = tap.RoundTripper(roundTripFunc(func(r *http.Request) (*http.Response, error) {
			resp, err := srv.transport.RoundTrip(r)
			if err == nil && strings.Contains(resp.Header.Get("Content-Type"), "event-stream") {
				resp.Body = &watched{resp.Body, cancel, sync.OnceFunc(func() { close(closed) })}
			}
			return resp, err
		}))
	})
	if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "t"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	wait(t, "the end of the response", closed)
	if out := x.Outcome(); !out.Left || out.Reply != nil || !errors.Is(out.Fault, ErrCut) {
		t.Errorf("outcome = %+v", out)
	}
	if n := tap.Stats().OpenCalls; n != 0 {
		t.Errorf("%d calls are open", n)
	}
}

// An answer whose delivery fails ends the question, and says how far it got.
func TestAnswerRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		status int // of the POST that carries the answer, 0: the connection fails
		want   Delivery
	}{
		{"refused", 500, Delivery{Left: true, Status: 500}},
		{"session gone", 404, Delivery{Left: true, Status: 404}},
		{"200", 200, Delivery{Left: true, Status: 200, Accepted: true}},
		{"no connection", 0, Delivery{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			done := make(chan struct{})
			srv := newRaw(t, func(w http.ResponseWriter, r *http.Request, call string, _ *rawServer) {
				events(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\"}\n\n")
				select {
				case <-done:
				case <-r.Context().Done():
				}
				events(w, "data: "+result(call)+"\n\n")
			})
			down := errors.New("down")
			tap := New(nil)
			got := make(chan Delivery, 1)
			cs := overHTTP(t, tap, srv.url, v2025, func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				q := tap.Question(req.Params.GetMeta())
				go func() {
					<-q.Done()
					got <- q.Delivery()
					close(done)
				}()
				return &mcp.ElicitResult{Action: "cancel"}, nil
			}, func(tr *mcp.StreamableClientTransport) {
				tr.HTTPClient.Transport = tap.RoundTripper(roundTripFunc(func(r *http.Request) (*http.Response, error) {
					if r.Method != http.MethodPost || r.ContentLength == 0 {
						return srv.transport.RoundTrip(r)
					}
					body, _ := r.GetBody()
					b, _ := io.ReadAll(body)
					if !strings.Contains(string(b), `"result"`) {
						return srv.transport.RoundTrip(r)
					}
					if tt.status == 0 {
						return nil, down
					}
					return &http.Response{StatusCode: tt.status, Header: make(http.Header), Body: http.NoBody, Request: r}, nil
				}))
			})
			callTool(t, cs, new(Exchange), "t") // 404 costs the session; the delivery is what counts
			d := <-got
			if tt.status == 0 {
				if !errors.Is(d.Err, down) {
					t.Errorf("error = %v", d.Err)
				}
				d.Err = nil
				d.Left = false // GetBody was read by the test's own transport
			}
			if diff := cmp.Diff(tt.want, d); diff != "" {
				t.Errorf("delivery (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFaultStands(t *testing.T) {
	t.Parallel()
	x := new(Exchange)
	limit := &LimitError{What: "x", Limit: 1}
	for _, step := range []struct{ give, want error }{{ErrCut, ErrCut}, {limit, limit}, {ErrClosed, limit}} {
		x.fault(step.give)
		if got := x.Outcome().Fault; !errors.Is(got, step.want) {
			t.Errorf("after %v: %v, want %v", step.give, got, step.want)
		}
	}
	x.reply(message{result: []byte("{}")})
	x.reply(message{result: []byte(`{"second":1}`)})
	if out := x.Outcome(); out.Fault != nil || string(out.Reply.Result) != "{}" || !out.Left {
		t.Errorf("after a reply: %+v", out)
	}
}

// A server may withdraw a question while the answer is on its way, withdraw other requests, and use an id again.
func TestWithdrawRaces(t *testing.T) {
	t.Parallel()
	tap := New(nil)
	in := func(msg string) string {
		t.Helper()
		out, _, err := tap.incoming([]byte(msg), nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	const cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	question := func(token string) *Question { return tap.Question(map[string]any{MarkerKey: token}) }

	in(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create"}`)
	q := question("parley-1")
	s, err := tap.outgoing(testCtx(t), []byte(`{"jsonrpc":"2.0","id":"parley-1","result":{}}`))
	if err != nil || s.swallow {
		t.Fatalf("answer: %+v, %v", s, err)
	}
	if err := q.begin(testCtx(t)); err != nil {
		t.Fatal(err)
	}
	in(cancelled)
	wait(t, "Withdrawn", q.Withdrawn())
	tap.answered(s.ask, 202, true, nil)
	if d := q.Delivery(); !d.Accepted || d.Err != nil {
		t.Errorf("an answer on its way: %+v", d)
	}

	// Withdrawn between the look at the answer and its start.
	in(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create"}`)
	q = question("parley-2")
	in(cancelled)
	if err := q.begin(testCtx(t)); !errors.Is(err, ErrWithdrawn) {
		t.Errorf("begin = %v, want ErrWithdrawn", err)
	}

	in(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}`)
	if got := in(cancelled); !strings.Contains(got, `"requestId":"parley-3"`) {
		t.Errorf("passed on: %s", got)
	}
	if s, err = tap.outgoing(testCtx(t), []byte(`{"jsonrpc":"2.0","id":"parley-3","error":{"code":-32601,"message":""}}`)); err != nil || !s.swallow {
		t.Errorf("the answer to a withdrawn request: %+v, %v", s, err)
	}
	// The id is free again while the SDK still works on the withdrawn request.
	if in(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create"}`) == "" || question("parley-4") == nil {
		t.Error("an id that was withdrawn cannot be used again")
	}
	if got := in(cancelled + " "); !strings.Contains(got, "parley-4") {
		t.Errorf("passed on: %s", got)
	}
	if in(cancelled) != "" {
		t.Error("a cancellation of nothing was passed on")
	}
}

// An answer follows a redirect once; one that is not followed ends the question.
func TestAnswerRedirected(t *testing.T) {
	t.Parallel()
	for _, follow := range []bool{true, false} {
		t.Run(fmt.Sprint(follow), func(t *testing.T) {
			t.Parallel()
			done := make(chan struct{})
			srv := newRaw(t, func(w http.ResponseWriter, r *http.Request, call string, _ *rawServer) {
				events(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\"}\n\n")
				select {
				case <-done:
				case <-r.Context().Done():
				}
				events(w, "data: "+result(call)+"\n\n")
			})
			tap := New(nil)
			if !follow {
				tap.afterReply = time.Millisecond
			}
			redirected := false
			marks := 0
			got := make(chan Delivery, 1)
			cs := overHTTP(t, tap, srv.url, v2025, func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				q := tap.Question(req.Params.GetMeta())
				q.Answer(nil, func(context.Context) error { marks++; return nil })
				go func() {
					<-q.Done()
					got <- q.Delivery()
					close(done)
				}()
				return &mcp.ElicitResult{Action: "cancel"}, nil
			}, func(tr *mcp.StreamableClientTransport) {
				if !follow {
					tr.HTTPClient.CheckRedirect = func(*http.Request, []*http.Request) error { return errors.New("no redirects") }
				}
				tr.HTTPClient.Transport = tap.RoundTripper(roundTripFunc(func(r *http.Request) (*http.Response, error) {
					if r.GetBody != nil && !redirected {
						body, _ := r.GetBody()
						if b, _ := io.ReadAll(body); strings.Contains(string(b), `"result"`) {
							redirected = true
							return &http.Response{StatusCode: http.StatusTemporaryRedirect, Header: http.Header{"Location": {srv.url + "/x"}}, Body: http.NoBody, Request: r}, nil
						}
					}
					return srv.transport.RoundTrip(r)
				}))
			})
			if _, err := callTool(t, cs, new(Exchange), "t"); err != nil {
				t.Error(err)
			}
			want := Delivery{Left: true, Status: 307}
			if follow {
				want = Delivery{Left: true, Status: 202, Accepted: true}
				if a := srv.answer(); a != `{"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}` {
					t.Errorf("answer = %s", a)
				}
			}
			if diff := cmp.Diff(want, <-got); diff != "" || marks != 1 {
				t.Errorf("marks %d, delivery (-want +got):\n%s", marks, diff)
			}
		})
	}
}
