package wiretap

import (
	"bytes"
	"context"
	"errors"
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
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// cutter is a proxy that cuts the stream of a response, or of a request for one, whenever it is told to.
type cutter struct {
	proxy *httputil.ReverseProxy
	cut   chan struct{}
	calls atomic.Int32
	gets  atomic.Int32
}

func (c *cutter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	call := bytes.Contains(body, []byte(`"tools/call"`))
	if call {
		c.calls.Add(1)
	} else if r.Method == http.MethodGet {
		c.gets.Add(1)
	}
	if call || r.Method == http.MethodGet {
		go func() {
			select {
			case <-c.cut:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	c.proxy.ServeHTTP(w, r.WithContext(ctx))
}

// behindCutter serves back through a proxy.
func behindCutter(t *testing.T, back http.Handler) (string, *cutter) {
	t.Helper()
	behind := httptest.NewServer(back)
	at, _ := url.Parse(behind.URL)
	trip := http.DefaultTransport.(*http.Transport).Clone()
	c := &cutter{proxy: httputil.NewSingleHostReverseProxy(at), cut: make(chan struct{})}
	c.proxy.Transport, c.proxy.FlushInterval = trip, -1
	c.proxy.ErrorLog = log.New(io.Discard, "", 0)
	c.proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	front := httptest.NewServer(c)
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		trip.CloseIdleConnections()
		behind.CloseClientConnections()
		behind.Close()
	})
	return front.URL, c
}

// A question is held over any number of cuts by a server of the official SDK that keeps its events: it is asked once,
// and the answer arrives once.
func TestHeldOverCuts(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-06-18", v2025} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := mcp.NewServer(&mcp.Implementation{Name: "srv", Version: "1"}, nil)
			var ran atomic.Int32
			server.AddTool(&mcp.Tool{Name: "ask", InputSchema: map[string]any{"type": "object"}},
				func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					ran.Add(1)
					ctx, cancel := context.WithTimeout(ctx, 15*time.Second) // with an event store nothing else ends it
					defer cancel()
					// In the older revision a stream can be resumed from its first message on only.
					if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Progress: 1}); err != nil {
						return nil, err
					}
					res, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "How many?"})
					if err != nil {
						return nil, err
					}
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: res.Action}}}, nil
				})
			front, proxy := behindCutter(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
				&mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)}))
			tap := New(nil)
			tap.leastPause = time.Millisecond
			asked, answer := make(chan struct{}, 4), make(chan struct{})
			release := sync.OnceFunc(func() { close(answer) })
			defer release()
			cs := overHTTP(t, tap, front, version, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked <- struct{}{}
				<-answer
				return &mcp.ElicitResult{Action: "decline"}, nil
			})
			x, ended := new(Exchange), make(chan error, 1)
			go func() {
				_, err := callTool(t, cs, x, "ask")
				ended <- err
			}()
			wait(t, "the question", asked)
			for range 4 {
				select {
				case proxy.cut <- struct{}{}:
				case err := <-ended:
					t.Fatalf("the call ended: %v, %+v", err, x.Outcome())
				case <-testCtx(t).Done():
					t.Fatal("the stream was not resumed")
				}
			}
			release()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			if out := x.Outcome(); out.Reply == nil || !strings.Contains(string(out.Reply.Result), "decline") || out.Status != 200 {
				t.Errorf("outcome = %+v", out)
			}
			if ran.Load() != 1 || proxy.calls.Load() != 1 || len(asked) != 0 || proxy.gets.Load() < 4 {
				t.Errorf("ran %d times, sent %d times, asked %d times more, %d GETs", ran.Load(), proxy.calls.Load(), len(asked), proxy.gets.Load())
			}
		})
	}
}

// polled is a round tripper without a network: call is the response to a call's POST, and get to the nth GET.
type polled struct {
	call string
	get  func(n int) (*http.Response, error)
	// answer, if not nil, says what becomes of the nth request with an answer: whether its bytes leave, and its error.
	answer func(n int) (leaves bool, err error)

	mu    sync.Mutex
	gets  []*http.Request
	times []time.Duration // of the GETs, since the first request
	began time.Time
	tries int // of an answer
	sent  []string
}

func (p *polled) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.began.IsZero() {
		p.began = time.Now()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Method == http.MethodPost {
		if p.answer != nil && r.ContentLength != int64(len(aCall)) {
			p.tries++
			if leaves, err := p.answer(p.tries); err != nil {
				if leaves {
					_, _ = r.Body.Read(make([]byte, 1))
				}
				return nil, err
			}
		}
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"method"`) {
			return streamed(200, p.call), nil
		}
		p.sent = append(p.sent, string(body))
		return streamed(202, ""), nil
	}
	p.gets, p.times = append(p.gets, r), append(p.times, time.Since(p.began))
	return p.get(len(p.gets))
}

func streamed(status int, text string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {kindEvents}, headerSession: {"s-1"}}, Body: io.NopCloser(strings.NewReader(text)),
	}
}

// send sends a request of ours, and reads its response to the end.
func (p *polled) send(ctx context.Context, t *testing.T, tap *Tap, version, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://x.example/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{headerVersion: {version}, headerSession: {"s-1"}, "Content-Type": {"application/json"}, "Authorization": {"Bearer t"}}
	resp, err := tap.RoundTripper(p).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return string(text)
}

const (
	aCall    = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}`
	aQuery   = `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"m"}}`
	anAnswer = `{"jsonrpc":"2.0","id":"parley-1","result":{"action":"decline"}}`
)

// What a server makes its client send by closing each stream is bounded, by time while somebody is being asked, and by
// number otherwise.
func TestResumingIsBounded(t *testing.T) {
	t.Parallel()
	numbered := func(n int) (*http.Response, error) {
		return streamed(200, fmt.Sprintf("id: e%d\nretry: 1\n\n", n)), nil
	}
	for _, tt := range []struct {
		name  string
		call  string
		get   func(n int) (*http.Response, error)
		most  int           // GETs within an hour
		least int           // the same
		first time.Duration // the least pause before the first
		ends  bool          // by itself
	}{
		{"a new id each time, asked", "id: e0\nretry: 1\ndata: " + aQuery + "\n\n", numbered, 150, 100, time.Second, false},
		{"a new id each time", "id: e0\nretry: 1\n\n", numbered, 150, 100, time.Second, false},
		{"a message each time", "id: e0\nretry: 0\n\n", func(n int) (*http.Response, error) {
			return streamed(200, fmt.Sprintf("id: e%d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n", n)), nil
		}, 3600, 3000, time.Second, false},
		{"polling", "id: e0\nretry: 5000\n\n", func(int) (*http.Response, error) { return streamed(200, "id: e1\nretry: 5000\n\n"), nil },
			720, 600, 5 * time.Second, false},
		{"polling, without events", "id: e0\nretry: 1000\n\n", func(int) (*http.Response, error) { return streamed(200, ""), nil },
			3600, 3000, time.Second, false},
		{"polling, at once", "id: e0\nretry: 0\n\n", func(int) (*http.Response, error) { return streamed(200, ""), nil }, 150, 100, time.Second, false},
		{"polling, some refused", "id: e0\nretry: 5000\n\n", func(n int) (*http.Response, error) { return streamed(200+300*(n%2), ""), nil },
			600, 100, 5 * time.Second, false},
		{"polling, all refused", "id: e0\nretry: 1000\n\n", func(int) (*http.Response, error) { return streamed(503, ""), nil }, 6, 6, time.Second, true},
		{"polling, asked", "id: e0\nretry: 5000\ndata: " + aQuery + "\n\n", func(int) (*http.Response, error) { return streamed(200, ""), nil },
			720, 600, 5 * time.Second, false},
		{"the same message each time", "id: e0\nretry: 0\n\n", func(int) (*http.Response, error) {
			return streamed(200, "id: e1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\nid: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"y\"}\n\n"), nil
		}, 150, 100, time.Second, false},
		{"the same message each time, of no poll", "id: e0\n\n", func(int) (*http.Response, error) {
			return streamed(200, "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\nid: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"y\"}\n\n"), nil
		}, 7, 7, time.Second, true},
		{"a long pause", "id: e0\nretry: 86400000\n\n", numbered, 150, 90, 5 * time.Minute, false},
		{"nothing", "id: e0\n\n", func(int) (*http.Response, error) { return streamed(200, ""), nil }, 6, 6, time.Second, true},
		{"no connection", "id: e0\n\n", func(int) (*http.Response, error) { return nil, errors.New("refused") }, 6, 6, time.Second, true},
		{"no connection, asked", "id: e0\ndata: " + aQuery + "\n\n", func(int) (*http.Response, error) { return nil, errors.New("refused") },
			150, 100, time.Second, false},
		{"502", "id: e0\n\n", func(int) (*http.Response, error) { return streamed(502, ""), nil }, 6, 6, time.Second, true},
		{"no id", "data: " + aQuery + "\n\n", numbered, 0, 0, 0, true},
		{"405", "id: e0\ndata: " + aQuery + "\n\n", func(int) (*http.Response, error) { return streamed(405, ""), nil }, 1, 1, time.Second, true},
		{"a page", "id: e0\n\n", func(int) (*http.Response, error) {
			resp := streamed(200, "<html>")
			resp.Header.Set("Content-Type", "text/html")
			return resp, nil
		}, 1, 1, time.Second, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, tap, x := &polled{call: tt.call, get: tt.get}, New(nil), new(Exchange)
				ctx, cancel := context.WithTimeout(With(t.Context(), x), time.Hour)
				defer cancel()
				read := p.send(ctx, t, tap, v2025, aCall)
				if n := len(p.gets); n > tt.most || n < tt.least {
					t.Errorf("%d GETs, want %d to %d", n, tt.least, tt.most)
				}
				if len(p.times) > 0 && (p.times[0] < tt.first || p.times[0] > tt.first*9/8+time.Millisecond) {
					t.Errorf("resumed after %v, want %v", p.times[0], tt.first)
				}
				if ended := ctx.Err() == nil; ended != tt.ends {
					t.Errorf("ended by itself: %v", ended)
				}
				if out := x.Outcome(); !errors.Is(out.Fault, ErrCut) || out.Status != 200 {
					t.Errorf("outcome = %+v", out)
				}
				if strings.Contains(read, "id: ") || strings.Contains(read, "retry") {
					t.Errorf("the SDK could resume by itself: %q", read)
				}
			})
		})
	}
}

// A pause is never shorter than the floor and what the server asks for, nor much longer than it has to be.
func TestPause(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		retry       string
		opened      bool
		brief       int
		least, most time.Duration
	}{
		{"", true, 0, time.Second, time.Second},
		{"1", true, 0, time.Second, time.Second},
		{"1", true, 3, time.Second, 4 * time.Second},
		{"5000", true, 9, 5 * time.Second, 5 * time.Second},
		{"5000", false, 2, 5 * time.Second, 5 * time.Second},
		{"5000", false, 5, 5 * time.Second, 16 * time.Second},
		{"60000", false, 99, time.Minute, time.Minute},
		{"", false, 99, time.Second, mostPause},
		{"86400000", true, 0, DefaultMostRetry, DefaultMostRetry},
		{"99999999999999999999", true, 0, DefaultMostRetry, DefaultMostRetry},
	} {
		r := &resumption{opened: tt.opened, brief: tt.brief, mostRetry: DefaultMostRetry}
		r.note(event{retry: tt.retry})
		for range 100 {
			least, most := r.pause(time.Second)
			if least < tt.least || least > tt.least*9/8 || most < tt.most || most > tt.most*9/8 || most < least {
				t.Errorf("%+v: %v, %v", tt, least, most)
			}
		}
	}
}

// A call whose time is bounded hears of its reply in time, whatever pause its server asks for.
func TestPauseIsBounded(t *testing.T) {
	t.Parallel()
	for _, retry := range []string{"60000", "86400000", "9223372036854775807", "99999999999999999999"} {
		synctest.Test(t, func(t *testing.T) {
			p, x := &polled{call: "id: e1\nretry: " + retry + "\n\n", get: func(int) (*http.Response, error) {
				return streamed(200, "id: e2\ndata: "+result("7")+"\n\n"), nil
			}}, new(Exchange)
			ctx, cancel := context.WithTimeout(With(t.Context(), x), time.Minute)
			defer cancel()
			p.send(ctx, t, New(&Options{MostRetry: 15 * time.Second}), v2025, aCall)
			if x.Outcome().Reply == nil || p.times[0] < 15*time.Second || p.times[0] > 17*time.Second {
				t.Errorf("%s: resumed after %v, outcome %+v", retry, p.times, x.Outcome())
			}
		})
	}
}

// A resumption is a GET as the request was; the era that knows of none has none.
func TestResumptionRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		get := func(n int) (*http.Response, error) {
			if n == 1 {
				return streamed(409, ""), nil // the server has not noticed the cut
			}
			return streamed(200, "id: e2\ndata: "+result("7")+"\n\n"), nil
		}
		p, x := &polled{call: "id: e1\n\nid: e\u00012\n\ndata: {", get: get}, new(Exchange)
		p.send(With(t.Context(), x), t, New(nil), v2025, aCall)
		want := http.Header{
			headerVersion: {v2025}, headerSession: {"s-1"}, "Authorization": {"Bearer t"}, "Accept": {kindEvents}, "Last-Event-Id": {"e1"},
		}
		if x.Outcome().Reply == nil || len(p.gets) != 2 {
			t.Fatalf("%d GETs, outcome %+v", len(p.gets), x.Outcome())
		}
		if diff := cmp.Diff(want, p.gets[1].Header); diff != "" || p.gets[1].Body != nil || p.gets[1].ContentLength != 0 {
			t.Errorf("header (-want +got):\n%s", diff)
		}

		p, x = &polled{call: "id: e1\nretry: 1\n\n", get: get}, new(Exchange)
		if read := p.send(With(t.Context(), x), t, New(nil), v2026, aCall); read != "" || len(p.gets) != 0 {
			t.Errorf("modern: read %q, %d GETs", read, len(p.gets))
		}

		// The request that begins the session has no id of it yet.
		p = &polled{call: "id: e1\n\n", get: get}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x.example/", strings.NewReader(strings.Replace(aCall, "tools/call", "initialize", 1)))
		resp, err := New(nil).RoundTripper(p).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if read, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(read), `"id":7`) || p.gets[0].Header.Get(headerSession) != "s-1" {
			t.Errorf("read %q (%v) with %v", read, err, p.gets[0].Header)
		}
	})
}

// What a server repeats on a resumed stream is asked once, also when it was answered long ago; and the reply is fetched
// soon after the answer, however long the pauses were before.
func TestRepeatedQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tap, x := New(nil), new(Exchange)
		ctx := With(t.Context(), x)
		var p *polled
		var answered, fetched time.Duration
		p = &polled{call: "id: e1\ndata: " + aQuery + "\n\n", get: func(n int) (*http.Response, error) {
			switch {
			case answered == 0:
				return streamed(200, "id: e1\ndata: "+aQuery+"\n\n"), nil
			case fetched == 0:
				fetched = time.Since(p.began)
				return streamed(200, "id: f1\ndata: "+aQuery+"\n\n"), nil
			}
			return streamed(200, "id: e1\ndata: "+aQuery+"\n\nid: e2\ndata: "+result("7")+"\n\n"), nil
		}}
		go func() {
			time.Sleep(10*time.Minute + time.Second) //nolint:forbidigo // synctest: no time passes
			p.mu.Lock()
			answered = time.Since(p.began)
			p.mu.Unlock()
			p.send(ctx, t, tap, v2025, anAnswer)
		}()
		read := p.send(ctx, t, tap, v2025, aCall)
		if x.Outcome().Reply == nil || strings.Count(read, "elicitation/create") != 1 {
			t.Errorf("read %q, outcome %+v", read, x.Outcome())
		}
		if s := tap.Stats(); s.Questions != 1 || s.Repeated < 10 {
			t.Errorf("stats = %+v", s)
		}
		if fetched-answered > 2*time.Second {
			t.Errorf("the reply was fetched %v after the answer", fetched-answered)
		}
	})
}
