package wiretap

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
