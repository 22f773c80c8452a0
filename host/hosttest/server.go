package hosttest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A Server plays a script over Streamable HTTP on loopback.
type Server struct {
	URL string

	script *Script
	http   *httptest.Server
	asking *askings

	mu       sync.Mutex
	sessions map[string]bool
	named    int
	calls    []Call
	counts   map[string]int
	lists    int
	get      map[string]chan []byte // standalone streams, by session
}

// A Call is a tools/call that reached the server.
type Call struct {
	Name   string
	Params json.RawMessage
	Header http.Header
}

// NewServer starts a server that ends with the test.
func NewServer(t testing.TB, script *Script) *Server {
	t.Helper()
	s := Start(script)
	t.Cleanup(s.Close)
	return s
}

// Start starts a server that ends with [Server.Close].
func Start(script *Script) *Server {
	s := &Server{
		script: script, asking: newAskings(), sessions: map[string]bool{}, counts: map[string]int{},
		get: map[string]chan []byte{},
	}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL + "/mcp"
	return s
}

// Close drops all connections and stops the server.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Calls returns the calls of tools that arrived so far.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// ForgetSessions makes the server answer 404 to every session it knew, as
// after a restart.
func (s *Server) ForgetSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 8<<20))
	if err != nil {
		return
	}
	var m message
	_ = json.Unmarshal(body, &m)
	if s.script.Intercept != nil && s.script.Intercept(w, r, m.Method) {
		return
	}
	session := r.Header.Get("Mcp-Session-Id")
	stateful := !s.script.modern() && !s.script.Sessionless
	if stateful && m.Method != "initialize" && m.Method != "server/discover" && !s.knows(session) {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	switch {
	case r.Method == http.MethodGet:
		s.standalone(w, r, session)
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusNoContent)
	case m.Method == "": // a response of the client
		s.asking.answered(string(m.ID), body)
		w.WriteHeader(http.StatusAccepted)
	case len(m.ID) == 0: // a notification
		w.WriteHeader(http.StatusAccepted)
	case s.script.plays(m) != nil:
		s.play(w, r, m)
	default:
		s.mu.Lock()
		lists := s.lists
		if m.Method == "tools/list" {
			s.lists++
		}
		s.mu.Unlock()
		if stateful && m.Method == "initialize" {
			w.Header().Set("Mcp-Session-Id", s.newSession())
		}
		w.Header().Set("Content-Type", "application/json")
		if result, ok := s.script.housekeeping(m, lists); ok {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		} else {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
		}
	}
}

func (s *Server) knows(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[session]
}

func (s *Server) newSession() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.named++
	id := fmt.Sprintf("session-%d", s.named)
	s.sessions[id] = true
	s.get[id] = make(chan []byte, 16)
	return id
}

// standalone is the stream that the server may write to outside any call.
func (s *Server) standalone(w http.ResponseWriter, r *http.Request, session string) {
	s.mu.Lock()
	c := s.get[session]
	s.mu.Unlock()
	if c == nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	if !s.script.QuietStream {
		flush(w)
	}
	for {
		select {
		case msg := <-c:
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", msg)
			flush(w)
		case <-r.Context().Done():
			return
		}
	}
}

// Standalone writes msg to the standalone stream of every session.
func (s *Server) Standalone(msg string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.get {
		select {
		case c <- []byte(msg):
		default:
		}
	}
}

func (s *Server) play(w http.ResponseWriter, r *http.Request, m message) {
	name := counted(m)
	s.mu.Lock()
	n := s.counts[name]
	s.counts[name]++
	if m.Method == "tools/call" {
		s.calls = append(s.calls, Call{name, m.Params, r.Header.Clone()})
	}
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	x := s.script.exchange(ctx, m, n, &httpWire{w: w, json: s.script.JSON || s.script.modern()}, s.asking)
	x.Header = r.Header
	s.script.plays(m)(x)
}

// flush sends what was written so far. A client that is gone needs none of it.
func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// httpWire writes to the response of one POST: plain JSON until something
// other than the reply is sent, an event stream from then on.
type httpWire struct {
	mu     sync.Mutex
	w      http.ResponseWriter
	json   bool
	stream bool
	done   bool
}

func (h *httpWire) open() {
	if !h.stream {
		h.stream = true
		h.w.Header().Set("Content-Type", "text/event-stream")
		h.w.WriteHeader(http.StatusOK)
	}
}

func (h *httpWire) event(msg []byte) {
	h.open()
	fmt.Fprintf(h.w, "event: message\ndata: %s\n\n", strings.ReplaceAll(string(msg), "\n", " "))
	flush(h.w)
}

func (h *httpWire) send(msg []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.event(msg)
}

func (h *httpWire) reply(msg []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stream || !h.json {
		h.event(msg)
		return
	}
	if !h.done {
		h.w.Header().Set("Content-Type", "application/json")
	}
	h.done = true
	_, _ = h.w.Write(msg)
}

func (h *httpWire) raw(b []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open()
	_, _ = h.w.Write(b)
	flush(h.w)
}

func (h *httpWire) status(code int, header http.Header) {
	maps.Copy(h.w.Header(), header)
	h.w.WriteHeader(code)
}

func (h *httpWire) die() { panic(http.ErrAbortHandler) }
