package wiretap

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
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

func TestAskLegacy(t *testing.T) {
	t.Parallel()
	url, rec := serveSDK(t, nil)
	tap := New(nil)
	x := &Exchange{Call: "c1"}
	var q *Question
	var marked bool
	handler := func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		q = tap.Question(req.Params.GetMeta())
		if q == nil {
			return nil, errors.New("no question")
		}
		q.Answer(json.RawMessage("{\n\"action\":\"accept\",\"content\":{\"zebra\":9007199254740993}}"), func(context.Context) error {
			marked = rec.find("9007199254740993}}") == ""
			return nil
		})
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	cs := overHTTP(t, tap, url, v2025, handler)
	if _, err := callTool(t, cs, x, "ask"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(q.Params), `"requestedSchema":`+askSchema) {
		t.Errorf("params = %s, want the schema's bytes", q.Params)
	}
	if !q.Exact || !slices.Equal(q.Exchanges, []*Exchange{x}) {
		t.Errorf("exchanges = %v (exact %v), want x", q.Exchanges, q.Exact)
	}
	wait(t, "Done", q.Done())
	if d := q.Delivery(); !d.Accepted || !d.Left || d.Status != http.StatusAccepted || d.Err != nil || !marked {
		t.Errorf("delivery = %+v, marked before the first byte: %v", d, marked)
	}
	want := `{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":{ "action":"accept","content":{"zebra":9007199254740993}}}`
	if got := rec.find(`"accept"`); got != want {
		t.Errorf("answer on the wire:\n got %s\nwant %s", got, want)
	}
	if tap.Question(map[string]any{MarkerKey: "parley-1"}) != nil {
		t.Error("an answered question is still open")
	}
	if s := tap.Stats(); s.Questions != 1 || s.OpenAsks != 0 {
		t.Errorf("stats = %+v", s)
	}
}

// Content of the handler's own result reaches the wire as exactly as its values marshal: the reduced request has no
// schema that the SDK could check against, so json.Number and json.RawMessage pass, from a handler and from a
// receiving middleware. What is lost is only an empty content, which the SDK omits.
func TestAnswerThroughSDK(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		content map[string]any
		want    string
	}{
		{"raw", map[string]any{"zebra": json.RawMessage("9007199254740993")}, `"result":{"action":"accept","content":{"zebra":9007199254740993}}`},
		{"number", map[string]any{"zebra": json.Number("1e400")}, `"result":{"action":"accept","content":{"zebra":1e400}}`},
		{"empty", map[string]any{}, `"result":{"action":"accept"}`},
	} {
		for _, middleware := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/middleware=%v", tt.name, middleware), func(t *testing.T) {
				t.Parallel()
				asked := rawAsk(`"q-7"`, `{"message":"m","requestedSchema":`+askSchema+`}`)
				srv := newRaw(t, asked)
				answer := func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: tt.content}, nil
				}
				handler := answer
				if middleware {
					handler = nil
				}
				client := newClient(handler)
				if middleware {
					client.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
						return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
							if r, ok := req.(*mcp.ElicitRequest); ok {
								return answer(ctx, r)
							}
							return next(ctx, method, req)
						}
					})
				}
				tap := New(nil)
				cs, err := client.Connect(testCtx(t), &mcp.StreamableClientTransport{
					Endpoint: srv.url, HTTPClient: &http.Client{Transport: tap.RoundTripper(srv.transport)}, DisableStandaloneSSE: true, MaxRetries: -1,
				}, &mcp.ClientSessionOptions{ProtocolVersion: v2025})
				if err != nil {
					t.Fatal(err)
				}
				defer cs.Close()
				if _, err := callTool(t, cs, new(Exchange), "t"); err != nil {
					t.Fatal(err)
				}
				if got, want := srv.answer(), `{"jsonrpc":"2.0","id":"q-7",`+tt.want+`}`; got != want {
					t.Errorf("answer:\n got %s\nwant %s", got, want)
				}
			})
		}
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

// rawServer is an HTTP server written by hand: it does the handshake of the legacy era and leaves tools/call to a
// function.
type rawServer struct {
	url       string
	transport *http.Transport
	answers   chan string
}

type rawCall func(w http.ResponseWriter, r *http.Request, id string, s *rawServer)

func newRaw(t *testing.T, call rawCall) *rawServer {
	t.Helper()
	s := &rawServer{answers: make(chan string, 16), transport: http.DefaultTransport.(*http.Transport).Clone()}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		b, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(b, &m) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		switch m.Method {
		case "initialize":
			w.Header().Set(headerSession, "s-1")
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}}`, m.ID)
		case "tools/call", "resources/read":
			call(w, r, string(m.ID), s)
		case "":
			s.answers <- string(b)
			w.WriteHeader(http.StatusAccepted)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	s.url = srv.URL
	t.Cleanup(func() {
		s.transport.CloseIdleConnections()
		srv.CloseClientConnections()
		srv.Close()
	})
	return s
}

func (s *rawServer) answer() string { return <-s.answers }

func (s *rawServer) connect(t *testing.T, tap *Tap, handler elicitFunc) *mcp.ClientSession {
	t.Helper()
	return overHTTP(t, tap, s.url, v2025, handler)
}

// events sends each text as it is and flushes.
func events(w http.ResponseWriter, parts ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, p := range parts {
		io.WriteString(w, p)
		w.(http.Flusher).Flush()
	}
}

func result(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[]}}`
}

// rawAsk asks one question, waits for its answer and replies.
func rawAsk(id, params string) rawCall {
	return func(w http.ResponseWriter, r *http.Request, call string, s *rawServer) {
		events(w, "data: {\"jsonrpc\":\"2.0\",\"id\":"+id+",\"method\":\"elicitation/create\",\"params\":"+params+"}\n\n")
		select {
		case a := <-s.answers:
			s.answers <- a
		case <-r.Context().Done():
			return
		}
		events(w, "data: "+result(call)+"\n\n")
	}
}

// TestHostile sends broken responses. Whatever comes, the call ends, and the session lives for the next call.
func TestHostile(t *testing.T) {
	t.Parallel()
	plain := func(kind string, status int, body func(id string) string) rawCall {
		return func(w http.ResponseWriter, _ *http.Request, id string, _ *rawServer) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			io.WriteString(w, body(id))
		}
	}
	is := func(s string) func(string) string { return func(string) string { return s } }
	const js, es = "application/json", "text/event-stream"
	huge := strings.Repeat("x", 5000)
	for _, tt := range []struct {
		name  string
		call  rawCall
		reply bool // a reply is found all the same
		fault error
		limit bool // the fault is a *LimitError
	}{
		{"half an event", plain(es, 200, func(id string) string { return "data: " + result(id)[:30] }), false, ErrCut, false},
		{"event without its blank line", plain(es, 200, func(id string) string { return "data: " + result(id) + "\n" }), false, ErrCut, false},
		{"no event", plain(es, 200, is("")), false, ErrCut, false},
		{"comment, other event, then the reply", plain(es, 200, func(id string) string {
			return ": hi\n\nevent: other\ndata: {}\n\nnocolon\n\ndata: " + result(id) + "\n\n"
		}), true, nil, false},
		{"CR, mark and several data lines", plain(es, 200, func(id string) string {
			return "\uFEFFdata: {\"jsonrpc\":\"2.0\",\rdata:\"id\":" + id + ",\rdata: \"result\":{}}\r\r"
		}), true, nil, false},
		{"two messages in an event", plain(es, 200, func(id string) string {
			return "data: " + result(id) + result(id) + "\n\n"
		}), false, ErrMalformed, false},
		{"batch in an event", plain(es, 200, func(id string) string { return "data: [" + result(id) + "]\n\n" }), false, ErrMalformed, false},
		{"junk event, then the reply", plain(es, 200, func(id string) string {
			return "data: hello\n\ndata: " + result(id) + "\n\n"
		}), true, nil, false},
		{"huge event", plain(es, 200, func(id string) string { return "data: " + huge + "\n\ndata: " + result(id) + "\n\n" }), false, nil, true},
		{"huge line without end", plain(es, 200, is("data: "+huge)), false, nil, true},
		{"reply to a string id", plain(es, 200, func(id string) string { return "data: " + result(`"`+id+`"`) + "\n\n" }), false, ErrMalformed, false},
		{"half a body", func(w http.ResponseWriter, _ *http.Request, id string, _ *rawServer) {
			w.Header().Set("Content-Type", js)
			w.Header().Set("Content-Length", "500")
			io.WriteString(w, result(id)[:20])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, false, ErrCut, false},
		{"empty body", plain(js, 200, is("")), false, ErrMalformed, false},
		{"two messages", plain(js, 200, func(id string) string { return result(id) + "\n" + result(id) }), false, ErrMalformed, false},
		{"batch", plain(js, 200, func(id string) string { return "[" + result(id) + "]" }), false, ErrMalformed, false},
		{"wrong id", plain(js, 200, is(result("777"))), false, ErrMalformed, false},
		{"null id", plain(js, 200, is(`{"jsonrpc":"2.0","id":null,"result":{}}`)), false, ErrMalformed, false},
		{"request as the body", plain(js, 200, is(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)), false, ErrMalformed, false},
		{"result and error", plain(js, 200, func(id string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"result":{},"error":{"code":1,"message":""}}`
		}), false, ErrMalformed, false},
		{"result twice", plain(js, 200, func(id string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"result":{},"result":{"a":1}}`
		}), false, ErrMalformed, false},
		{"error null beside a result", plain(js, 200, func(id string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"result":{},"error":null}`
		}), true, nil, false},
		{"huge body", plain(js, 200, is(huge)), false, nil, true},
		{"deep body", plain(js, 200, func(id string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"result":` + strings.Repeat(`[`, 1200) + strings.Repeat(`]`, 1200) + `}`
		}), false, nil, true},
		{"error that the SDK cannot decode", plain(js, 200, func(id string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":"x","message":7}}`
		}), true, nil, false},
		{"undeclared resultType", plain(js, 200, func(id string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"task","content":[]}}`
		}), true, nil, false},
		{"unknown method in inputRequests", plain(js, 200, func(id string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"input_required","inputRequests":{"":{"method":"x/y"},"r":{"method":"roots/list"}}}}`
		}), true, nil, false},
		{"other content type", plain("text/html", 200, is("<html>")), false, ErrMalformed, false},
		{"bytes that are not UTF-8", plain(js, 200, func(id string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"` + "\xff" + `"}]}}`
		}), true, nil, false},
		{"gzip unasked", func(w http.ResponseWriter, _ *http.Request, id string, _ *rawServer) {
			w.Header().Set("Content-Type", js)
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, result(id))
			z.Close()
		}, true, nil, false},
		{"gzip bomb", func(w http.ResponseWriter, _ *http.Request, id string, _ *rawServer) {
			w.Header().Set("Content-Type", js)
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, strings.Repeat(" ", 1<<20)+result(id))
			z.Close()
		}, false, nil, true},
		{"gzip events", func(w http.ResponseWriter, _ *http.Request, id string, _ *rawServer) {
			w.Header().Set("Content-Type", es)
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, "data: "+result(id)+"\n\n")
			z.Close()
		}, true, nil, false},
		{"broken gzip", func(w http.ResponseWriter, _ *http.Request, id string, _ *rawServer) {
			w.Header().Set("Content-Type", js)
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "not gzip")
		}, false, ErrCut, false},
	} {
		for _, compressed := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/compression=%v", tt.name, compressed), func(t *testing.T) {
				t.Parallel()
				first := true
				srv := newRaw(t, func(w http.ResponseWriter, r *http.Request, id string, s *rawServer) {
					if first {
						first = false
						tt.call(w, r, id, s)
						return
					}
					events(w, "data: "+result(id)+"\n\n")
				})
				tap := New(&Options{MaxMessage: 4096})
				srv.transport.DisableCompression = !compressed
				cs := overHTTP(t, tap, srv.url, v2025, nil, func(tr *mcp.StreamableClientTransport) {
					tr.HTTPClient.Transport = tap.RoundTripper(srv.transport)
				})
				x := new(Exchange)
				_, err := callTool(t, cs, x, "t")
				out := x.Outcome()
				if !out.Left || out.Status != 200 || !out.Session {
					t.Errorf("outcome = %+v", out)
				}
				if got := out.Reply != nil; got != tt.reply {
					t.Errorf("reply = %v, want %v (fault %v, error %v)", got, tt.reply, out.Fault, err)
				}
				if out.Reply != nil && !utf8.Valid(out.Reply.Result) {
					t.Errorf("result = %q", out.Reply.Result)
				}
				if !tt.reply && err == nil {
					t.Error("no reply and no error")
				}
				if tt.fault != nil && !errors.Is(out.Fault, tt.fault) {
					t.Errorf("fault = %v, want %v", out.Fault, tt.fault)
				}
				if limit := new(LimitError); tt.limit && (!errors.As(out.Fault, &limit) || limit.Limit == 0) {
					t.Errorf("fault = %v, want a *LimitError", out.Fault)
				}
				if strings.Contains(tt.name, "content type") {
					return // the SDK gives up the session for it
				}
				x = new(Exchange)
				if _, err := callTool(t, cs, x, "t"); err != nil || x.Outcome().Reply == nil {
					t.Errorf("the next call: %v, %+v", err, x.Outcome())
				}
			})
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		status    int
		body      string // %s is the id
		challenge string
		want      Outcome
	}{
		{"session gone", 404, "", "", Outcome{Begun: true, Left: true, Status: 404, Session: true}},
		{"session gone, error without id", 404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`, "",
			Outcome{Begun: true, Left: true, Status: 404, Session: true, Refusal: json.RawMessage(`{"code":-32001,"message":"Session not found"}`)}},
		{"sign in", 401, "", `Bearer resource_metadata="https://x.test/"`,
			Outcome{Begun: true, Left: true, Status: 401, Session: true, Challenge: `Bearer resource_metadata="https://x.test/"`}},
		{"forbidden, with no challenge", 403, "no", "", Outcome{Begun: true, Left: true, Status: 403, Session: true}},
		{"refused with the id", 400, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32020,"message":"m"}}`, "",
			Outcome{Begun: true, Left: true, Status: 400, Session: true, Reply: &Reply{Error: json.RawMessage(`{"code":-32020,"message":"m"}`)}}},
		{"server error with the id", 500, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"m"}}`, "",
			Outcome{Begun: true, Left: true, Status: 500, Session: true, Reply: &Reply{Error: json.RawMessage(`{"code":-32603,"message":"m"}`)}}},
		{"bad gateway", 502, "<html>", "", Outcome{Begun: true, Left: true, Status: 502, Session: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := newRaw(t, func(w http.ResponseWriter, _ *http.Request, id string, _ *rawServer) {
				if tt.challenge != "" {
					w.Header().Set("WWW-Authenticate", tt.challenge)
				}
				w.WriteHeader(tt.status)
				if strings.Contains(tt.body, "%s") {
					fmt.Fprintf(w, tt.body, id)
				} else {
					io.WriteString(w, tt.body)
				}
			})
			cs := srv.connect(t, New(nil), nil)
			x := new(Exchange)
			if _, err := callTool(t, cs, x, "t"); err == nil {
				t.Error("no error")
			}
			if diff := cmp.Diff(tt.want, x.Outcome()); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
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
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	x = new(Exchange)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`
	req, _ := http.NewRequestWithContext(With(testCtx(t), x), http.MethodPost, dead.URL, strings.NewReader(body))
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

// An id is put back as the server wrote it, and withdrawn by it, whatever its type and size.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	for _, id := range []string{`"q-7"`, `7`, `9007199254740993`, `""`, `1.5`, `"7"`} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			tap := New(nil)
			asked := make(chan *Question, 1)
			srv := newRaw(t, func(w http.ResponseWriter, r *http.Request, call string, s *rawServer) {
				ask := "data: {\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"method\":\"elicitation/create\",\"params\":{}}\n\n"
				events(w, ask, ask) // the second is a repeat
				select {
				case q := <-asked:
					asked <- q
				case <-r.Context().Done():
					return
				}
				events(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"other\"}}\n\n",
					"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"+id+"}}\n\n",
					"data: "+result(call)+"\n\n")
			})
			returned := make(chan struct{})
			cs := srv.connect(t, tap, func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				defer close(returned)
				q := tap.Question(req.Params.GetMeta())
				q.Answer(nil, func(context.Context) error { t.Error("the hook of a withdrawn question ran"); return nil })
				asked <- q
				<-ctx.Done()
				return &mcp.ElicitResult{Action: "cancel"}, nil
			})
			if _, err := callTool(t, cs, new(Exchange), "t"); err != nil {
				t.Fatal(err)
			}
			q := <-asked
			if string(q.ID) != id {
				t.Errorf("id = %s, want %s", q.ID, id)
			}
			wait(t, "Withdrawn", q.Withdrawn())
			wait(t, "Done", q.Done())
			wait(t, "the handler", returned)
			if d := q.Delivery(); !errors.Is(d.Err, ErrWithdrawn) || d.Left || d.Accepted {
				t.Errorf("delivery = %+v", d)
			}
			cs.Close()
			select {
			case a := <-srv.answers:
				t.Errorf("answered a withdrawn question: %s", a)
			default:
			}
			if s := tap.Stats(); s.Repeated != 1 || s.Questions != 1 {
				t.Errorf("stats = %+v", s)
			}
		})
	}
}

// What the SDK would refuse to decode, or to hand to a handler, reaches the handler.
func TestUndecodableQuestions(t *testing.T) {
	t.Parallel()
	for _, params := range []string{
		`{"message":5,"requestedSchema":"not a schema"}`,
		`{"mode":"file","message":"m"}`,
		`{"mode":"form","message":"m","url":"https://x.test","requestedSchema":{"type":"array"}}`,
		`{"mode":"url","message":"m"}`,
		`{"_meta":[],"message":"m"}`,
		`{"_meta":{"io.github.parley-mcp/tap":"parley-9"},"message":"m"}`,
		`[1]`, `null`,
	} {
		t.Run(params, func(t *testing.T) {
			t.Parallel()
			tap := New(nil)
			srv := newRaw(t, rawAsk(`3`, params))
			var got json.RawMessage
			cs := srv.connect(t, tap, func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				got = tap.Question(req.Params.GetMeta()).Params
				return &mcp.ElicitResult{Action: "decline"}, nil
			})
			if _, err := callTool(t, cs, new(Exchange), "t"); err != nil {
				t.Fatal(err)
			}
			if string(got) != params {
				t.Errorf("params = %s", got)
			}
			if got, want := srv.answer(), `{"jsonrpc":"2.0","id":3,"result":{"action":"decline"}}`; got != want {
				t.Errorf("answer = %s, want %s", got, want)
			}
		})
	}
}

func TestAnswerVetoed(t *testing.T) {
	t.Parallel()
	tap := New(nil)
	done := make(chan *Question, 1)
	srv := newRaw(t, func(w http.ResponseWriter, r *http.Request, call string, s *rawServer) {
		events(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\"}\n\n")
		select {
		case q := <-done:
			done <- q
		case <-r.Context().Done():
			return
		}
		events(w, "data: "+result(call)+"\n\n")
	})
	errMark := errors.New("no mark")
	cs := srv.connect(t, tap, func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		q := tap.Question(req.Params.GetMeta())
		q.Answer(nil, func(context.Context) error { return errMark })
		go func() { <-q.Done(); done <- q }()
		return &mcp.ElicitResult{Action: "cancel"}, nil
	})
	if _, err := callTool(t, cs, new(Exchange), "t"); err != nil {
		t.Fatal(err)
	}
	q := <-done
	if d := q.Delivery(); !errors.Is(d.Err, ErrVetoed) || !errors.Is(d.Err, errMark) || d.Left {
		t.Errorf("delivery = %+v", d)
	}
	if len(srv.answers) != 0 {
		t.Error("a vetoed answer was sent")
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

// A response that ends before the reply is resumed by the SDK; the reply still finds its exchange, and a question
// that is sent once more is asked once.
func TestResume(t *testing.T) {
	t.Parallel()
	tap := New(nil)
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
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
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
		tr.MaxRetries = 2
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
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
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

func TestOverflow(t *testing.T) {
	t.Parallel()
	tap := New(&Options{MaxOpen: 2})
	for i := range 5 {
		out, _, err := tap.incoming(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"elicitation/create"}`, i), nil)
		if err != nil || (out != nil) != (i < 2) {
			t.Errorf("request %d: %s, %v", i, out, err)
		}
	}
	if s := tap.Stats(); s.Overflow != 3 || s.OpenAsks != 2 {
		t.Errorf("stats = %+v", s)
	}
	q := tap.Question(map[string]any{MarkerKey: "parley-1"})
	tap.Close()
	wait(t, "Done", q.Done())
	if d := q.Delivery(); !errors.Is(d.Err, ErrClosed) {
		t.Errorf("delivery = %+v", d)
	}
}
