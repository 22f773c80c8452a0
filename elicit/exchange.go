package elicit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// exchange is the connection of one modern request: a transport whose session
// reads that request and writes its response.
//
// The SDK's own stateless handler decodes each body about ten times, through a
// decoder that takes tens of KiB for each value; that was most of the cost of a
// call. Here the message that rewrite has read anyway goes straight to a
// session. Everything that is not an ordinary request of a modern client for
// something that was added here goes to the SDK's handler, which has the right
// error for it.
type exchange struct {
	request *jsonrpc.Request
	gone    <-chan struct{}      // the client has disconnected
	extra   chan jsonrpc.Message // what else the session reads
	done    chan struct{}        // closed with the connection

	mu       sync.Mutex // guards what follows
	w        http.ResponseWriter
	started  bool // something was written
	closed   bool
	answered chan struct{} // closed with the response; w is not used after
}

// call returns the JSON-RPC request in the message, if it may be served by an
// exchange. Whoever changes this compares with the checks of
// mcp.StreamableHTTPHandler: whatever they refuse must not get past here.
func (h *handler) call(req *http.Request, m message) (*jsonrpc.Request, bool) {
	header := req.Header
	if !m.canAsk() || header.Get("Mcp-Protocol-Version") != modernRevision ||
		// MCP 2026-07-28 transports, "Standard Headers": as in the body.
		header.Get("Mcp-Method") != m.method ||
		// What every SDK sends; other spellings are for the SDK to judge.
		header.Get("Content-Type") != "application/json" || header.Get("Accept") != "application/json, text/event-stream" ||
		string(m.fields["jsonrpc"]) != `"2.0"` || rebound(req) {
		return nil, false
	}
	id, ok := requestID(m.fields["id"])
	if !ok {
		return nil, false
	}
	var params, meta map[string]json.RawMessage
	var name, version string
	member := "name"
	if m.method == methodResource {
		member = "uri"
	}
	if json.Unmarshal(m.fields["params"], &params) != nil || json.Unmarshal(params[member], &name) != nil ||
		json.Unmarshal(params["_meta"], &meta) != nil || json.Unmarshal(meta[mcp.MetaKeyProtocolVersion], &version) != nil ||
		version != modernRevision || name == "" || header.Get("Mcp-Name") != name || !h.server.plain(m.method, name) {
		return nil, false
	}
	// The SDK refuses a message of more than a thousand levels.
	if bytes.Count(m.fields["params"], []byte("{"))+bytes.Count(m.fields["params"], []byte("[")) > 900 {
		return nil, false
	}
	// Written again, so that nothing reads a repeated key in another way.
	text, err := json.Marshal(params)
	if err != nil {
		return nil, false
	}
	return &jsonrpc.Request{ID: id, Method: m.method, Params: text, Extra: &mcp.RequestExtra{
		TokenInfo: auth.TokenInfoFromContext(req.Context()), Header: header,
	}}, true
}

// requestID reads an id that comes back as it was sent.
func requestID(raw json.RawMessage) (jsonrpc.ID, bool) {
	var value any
	if json.Unmarshal(raw, &value) != nil || value == nil {
		return jsonrpc.ID{}, false
	}
	if number, ok := value.(float64); ok && (math.Abs(number) >= 1<<53 || strconv.FormatInt(int64(number), 10) != string(raw)) {
		return jsonrpc.ID{}, false
	}
	id, err := jsonrpc.MakeID(value)
	return id, err == nil
}

// rebound reports whether a request to this very machine names another one: a
// page whose domain was made to point here. MCP transports, "Security Warning".
func rebound(req *http.Request) bool {
	local, ok := req.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && local != nil && loopback(local.String()) && !loopback(req.Host)
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// serveCall answers one request.
func (h *handler) serveCall(w http.ResponseWriter, req *http.Request, request *jsonrpc.Request) {
	x := &exchange{
		request:  request,
		gone:     req.Context().Done(),
		extra:    make(chan jsonrpc.Message, 1),
		done:     make(chan struct{}),
		w:        w,
		answered: make(chan struct{}),
	}
	session, err := h.server.mcp.Connect(req.Context(), x, &mcp.ServerSessionOptions{State: &mcp.ServerSessionState{}})
	if err != nil {
		http.Error(w, "failed connection", http.StatusInternalServerError)
		return
	}
	select {
	case <-x.answered:
	case <-x.done: // the session has failed
	}
	_ = session.Close() // waits for the handler
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.started {
		http.Error(w, "the call could not be answered", http.StatusInternalServerError)
	}
}

// Connect implements [mcp.Transport].
func (x *exchange) Connect(context.Context) (mcp.Connection, error) {
	return &exchangeReader{exchange: x}, nil
}

// SessionID implements [mcp.Connection]: there are no sessions in the revision.
func (x *exchange) SessionID() string { return "" }

// Close implements [mcp.Connection].
func (x *exchange) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.closed {
		x.closed = true
		close(x.done)
	}
	return nil
}

// exchangeReader is an exchange and what was read from it; the SDK reads in one
// goroutine.
type exchangeReader struct {
	*exchange
	requested, cancelled bool
}

// Read implements [mcp.Connection].
func (r *exchangeReader) Read(ctx context.Context) (jsonrpc.Message, error) {
	if !r.requested {
		r.requested = true
		return r.request, nil
	}
	gone := r.gone
	if r.cancelled {
		gone = nil
	}
	select {
	case m := <-r.extra:
		return m, nil
	case <-gone:
		// MCP 2026-07-28 transports: a client that disconnects cancels.
		r.cancelled = true
		params, err := json.Marshal(map[string]any{"requestId": r.request.ID.Raw()})
		return &jsonrpc.Request{Method: "notifications/cancelled", Params: params}, err
	case <-r.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements [mcp.Connection].
func (x *exchange) Write(_ context.Context, m jsonrpc.Message) error {
	request, isRequest := m.(*jsonrpc.Request)
	if isRequest && request.IsCall() {
		refused := &jsonrpc.Response{ID: request.ID, Error: refuse(refuseRequests)}
		select {
		case x.extra <- refused:
		case <-x.done:
		}
		return nil
	}
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	select {
	case <-x.answered:
		return nil // a notification that comes too late
	default:
	}
	x.started = true
	if response, ok := m.(*jsonrpc.Response); ok {
		defer close(x.answered)
		if status := errorStatus(response); status != 0 {
			x.w.Header().Set("Content-Type", "application/json")
			x.w.WriteHeader(status)
			_, _ = x.w.Write(text) // a client that is gone is told by gone
			return nil
		}
	}
	header := x.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache, no-transform")
	event := make([]byte, 0, len(text)+len("event: message\ndata: \n\n"))
	event = append(event, "event: message\ndata: "...)
	event = append(event, text...)
	event = append(event, "\n\n"...)
	_, _ = x.w.Write(event)
	if isRequest {
		_ = http.NewResponseController(x.w).Flush()
	}
	return nil
}

// errorStatus is the HTTP status of errors that have one (MCP 2026-07-28
// transports, "Error Handling"), else 0.
func errorStatus(r *jsonrpc.Response) int {
	var wire *jsonrpc.Error
	if !errors.As(r.Error, &wire) {
		return 0
	}
	switch wire.Code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeInvalidParams, mcp.CodeUnsupportedProtocolVersion, mcp.CodeMissingRequiredClientCapabilities:
		return http.StatusBadRequest
	}
	return 0
}
