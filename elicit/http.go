package elicit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTPOptions of [NewHTTPHandler].
type HTTPOptions struct {
	// SessionTimeout ends a legacy session that has no request open for so
	// long: 2 hours by default. Negative means never.
	SessionTimeout time.Duration

	// MaxBody bounds the body of a request, in bytes: 4 MiB by default.
	MaxBody int64

	// CrossOrigin decides about requests that a browser sends from another
	// site. By default all of them are refused.
	CrossOrigin *http.CrossOriginProtection

	// Logger gets what the SDK logs. By default that is dropped.
	Logger *slog.Logger
}

// NewHTTPHandler serves MCP over Streamable HTTP, to modern and to legacy
// clients at one address. Options may be nil.
//
// Legacy sessions live in this process: with several machines, requests of one
// session must reach the same one. Modern requests go anywhere.
//
// The handler does not authenticate; put the SDK's auth.RequireBearerToken
// around it. A legacy call stays open while a person thinks, so an
// [http.Server] around it must have no WriteTimeout.
func NewHTTPHandler(s *Server, options *HTTPOptions) http.Handler {
	return newHandler(s, options, false)
}

func newHandler(s *Server, options *HTTPOptions, direct bool) http.Handler {
	if options == nil {
		options = &HTTPOptions{}
	}
	timeout := options.SessionTimeout
	if timeout == 0 {
		timeout = 2 * time.Hour
	}
	maxBody := options.MaxBody
	if maxBody <= 0 {
		maxBody = mcp.DefaultMaxRequestBodyBytes
	}
	protection := options.CrossOrigin
	if protection == nil {
		protection = http.NewCrossOriginProtection()
	}
	server := func(*http.Request) *mcp.Server { return s.mcp }
	h := &handler{
		server:   s,
		exchange: &exchange{server: s, direct: direct},
		maxBody:  maxBody,
		timeout:  max(timeout, 0),
		sessions: newSessions(),
		// No handler of the SDK serves questions in both eras: the stateful one
		// refuses 2026-07-28, and the stateless one cannot call back.
		modern: mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
			Stateless:           true,
			Logger:              options.Logger,
			MaxRequestBodyBytes: -1, // bounded here, before rewriting adds to it
			// MCP 2026-07-28 transports: a client that disconnects cancels.
			PropagateRequestCancellation: true,
		}),
		legacy: mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
			Logger:              options.Logger,
			MaxRequestBodyBytes: -1, // bounded here, before rewriting adds to it
			SessionTimeout:      max(timeout, 0),
			// Without a store of events an open question is lost with the
			// connection that carried it.
			EventStore: mcp.NewMemoryEventStore(nil),
		}),
	}
	// MCP transports, "Security Warning": servers MUST validate Origin.
	return protection.Handler(h)
}

type handler struct {
	server         *Server
	exchange       *exchange
	maxBody        int64
	timeout        time.Duration // of sessions; zero: never
	modern, legacy http.Handler
	sessions       sessions
}

func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	req = withAddress(req)
	if req.Method != http.MethodPost || req.Body == nil {
		h.serveSDK(w, req, nil)
		return
	}
	body, err := readAll(http.MaxBytesReader(w, req.Body, h.maxBody), req.ContentLength)
	if err != nil {
		if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
			http.Error(w, fmt.Sprintf("request body exceeds %d bytes", tooLarge.Limit), http.StatusRequestEntityTooLarge)
			return
		}
		http.Error(w, "failed to read body", http.StatusBadRequest)
		return
	}
	if !h.exchange.serve(w, req, body) {
		h.serveSDK(w, req, body)
	}
}

// readAll is io.ReadAll with room for what the client has announced.
func readAll(r io.Reader, announced int64) ([]byte, error) {
	var body bytes.Buffer
	body.Grow(int(min(max(announced, 0), 64<<10)) + bytes.MinRead) // which it wants for the end
	_, err := body.ReadFrom(r)
	return body.Bytes(), err
}

// serveSDK gives a request to the SDK's handler of its era. Body is what was
// read of a POST.
func (h *handler) serveSDK(w http.ResponseWriter, req *http.Request, body []byte) {
	// The SDK changes the request, while a beat makes net/http read its own.
	req = req.Clone(req.Context())
	version := req.Header.Get("Mcp-Protocol-Version")
	var beat time.Duration // when to break the silence first; zero: never
	if req.Method == http.MethodGet && version < modernRevision {
		beat = getBeat
	}
	if body != nil {
		if m, ok := parseMessage(body); ok {
			if m.canAsk() {
				beat = firstBeat
			}
			body = h.server.rewrite(body, m)
			if version == "" {
				// Modern but without the header: the modern handler has the
				// right error for it.
				version = m.version()
			}
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		req.ContentLength = int64(len(body))
	}
	if beat > 0 {
		beating := newHeartbeat(w, beat)
		defer beating.end()
		w = beating
	}
	if version >= modernRevision {
		h.modern.ServeHTTP(w, req)
		return
	}
	w, ok := h.admit(w, req)
	if !ok {
		return
	}
	if id := req.Header.Get(sessionHeader); id != "" {
		if req.Method == http.MethodDelete {
			h.server.held.end(id)
		} else {
			defer h.server.held.enter(id, h.timeout)()
		}
	}
	h.legacy.ServeHTTP(w, req)
}
