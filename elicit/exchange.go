package elicit

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// exchange answers modern requests that the kit has read from their bytes: it
// hands them to the server's methods, through all of its middleware.
//
// The SDK's own stateless handler decodes each body about ten times, through a
// decoder that takes tens of KiB for each value; that was most of the cost of a
// call. Everything that is not an ordinary request of a modern client for
// something that was added here goes to that handler, which has the right error
// for it.
type exchange struct {
	server *Server
	// direct: requests share a session that was closed before the first of them.
	// Else each has its own, as middleware may expect.
	direct bool
	warn   sync.Once

	once   sync.Once // guards what follows
	modern bool      // the MCP server speaks the revision
	shared *mcp.ServerSession
	info   *mcp.Implementation // what the MCP server says of itself in each result
}

// serve answers the request and reports true, or leaves it alone. Whoever
// changes this compares with the checks of mcp.StreamableHTTPHandler: whatever
// they refuse must not get past here.
func (x *exchange) serve(w http.ResponseWriter, req *http.Request, body []byte) bool {
	if !ordinary(req) {
		return false
	}
	m, ok := readCall(body)
	// MCP 2026-07-28 transports, "Standard Headers": as in the body.
	if !ok || req.Header.Get("Mcp-Method") != m.method || req.Header.Get("Mcp-Name") != m.name || !x.server.plain(m.method, m.name) {
		return false
	}
	extra := &mcp.RequestExtra{TokenInfo: auth.TokenInfoFromContext(req.Context()), Header: req.Header}
	x.once.Do(func() { x.learn(req.Context(), extra) })
	if !x.modern {
		return false
	}
	chains, receive := chainsOf(x.server.mcp)
	beating := newHeartbeat(w, firstBeat)
	defer beating.end()
	r := &reply{w: beating}
	defer r.end()
	ctx, session := req.Context(), x.shared
	bare := !x.server.foreign && chains == x.server.own
	if x.direct && bare {
		ctx = context.WithValue(ctx, replyKey{}, r)
	} else {
		if x.direct {
			x.warn.Do(func() {
				x.server.log.Error("middleware was added to the MCP server after NewDirectHTTPHandler: each request has a session of its own from now on")
			})
		}
		var err error
		session, err = x.server.mcp.Connect(ctx, &connection{reply: r, extra: make(chan jsonrpc.Message, 1), done: make(chan struct{})}, m.session())
		if err != nil {
			http.Error(beating, "failed connection", http.StatusInternalServerError)
			return true
		}
		defer func() { _ = session.Close() }() // before the beating ends
	}
	result, err := receive(ctx, m.method, m.request(session, extra))
	event, _ := events.Get().(*bytes.Buffer) // nothing else is in there
	r.finish(x.response(event, m, result, err, bare))
	if event.Cap() <= 64<<10 {
		event.Reset()
		events.Put(event)
	}
	if err == nil && session == x.shared && !r.claimed {
		// One of the SDK's own has taken the name, and may want of its session
		// what this one does not have.
		x.server.forget(m.method, m.name)
	}
	return true
}

// learn asks the MCP server about itself, on a session that ends with that. No
// middleware sees it.
func (x *exchange) learn(ctx context.Context, extra *mcp.RequestExtra) {
	session, err := x.server.mcp.Connect(ctx, &connection{reply: &reply{over: true}, extra: make(chan jsonrpc.Message, 1), done: make(chan struct{})}, nil)
	if err != nil {
		return
	}
	_ = session.Close()
	_, receive := bareServer()
	client := &mcp.InitializeParams{ProtocolVersion: modernRevision, Capabilities: &mcp.ClientCapabilities{}, ClientInfo: &mcp.Implementation{}}
	greeting, err := receive(ctx, "initialize", &mcp.ServerRequest[*mcp.InitializeParams]{Session: session, Extra: extra, Params: client})
	initialized, ok := greeting.(*mcp.InitializeResult)
	if err != nil || !ok {
		return
	}
	meta := mcp.Meta{mcp.MetaKeyProtocolVersion: modernRevision, mcp.MetaKeyClientCapabilities: map[string]any{}}
	about, err := receive(ctx, "server/discover", &mcp.ServerRequest[*mcp.DiscoverParams]{Session: session, Extra: extra, Params: &mcp.DiscoverParams{Meta: meta}})
	discovered, ok := about.(*mcp.DiscoverResult)
	if err != nil || !ok {
		return
	}
	for _, version := range discovered.SupportedVersions {
		x.modern = x.modern || version == modernRevision
	}
	x.shared, x.info = session, initialized.ServerInfo
}

// ordinary reports whether the headers of a request are those that every SDK
// sends; other spellings are for the SDK to judge, and so is what it refuses.
func ordinary(req *http.Request) bool {
	header := req.Header
	return header.Get("Mcp-Protocol-Version") == modernRevision && len(header.Values("Last-Event-ID")) == 0 &&
		header.Get("Content-Type") == "application/json" && header.Get("Accept") == "application/json, text/event-stream" &&
		!rebound(req)
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

// connection is what the session of one request sends through. Nothing comes in
// but answers to the SDK's own requests.
type connection struct {
	reply *reply
	extra chan jsonrpc.Message
	done  chan struct{} // closed with the connection
	once  sync.Once
}

// Connect implements [mcp.Transport].
func (c *connection) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements [mcp.Connection]: there are no sessions in the revision.
func (c *connection) SessionID() string { return "" }

// Close implements [mcp.Connection].
func (c *connection) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}

// Read implements [mcp.Connection].
func (c *connection) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.extra:
		return m, nil
	case <-c.done:
		return nil, io.EOF
	}
}

// Write implements [mcp.Connection].
func (c *connection) Write(_ context.Context, m jsonrpc.Message) error {
	request, ok := m.(*jsonrpc.Request)
	switch {
	case !ok:
		return nil // no request came in that way
	case request.IsCall():
		select {
		case c.extra <- &jsonrpc.Response{ID: request.ID, Error: refuse(refuseRequests)}:
		case <-c.done:
		}
		return nil
	}
	text, err := jsonrpc.EncodeMessage(m)
	if err == nil {
		c.reply.notify(text)
	}
	return err
}

// events are buffers for events that were sent: net/http has copied them.
var events = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// replyKey is the context key of the *reply of a request without a session.
type replyKey struct{}

// reply is the response to one request.
type reply struct {
	claimed bool // the handler is one that was added here

	mu   sync.Mutex // guards what follows
	w    http.ResponseWriter
	over bool // w is not used any more
}

// claim notes that a handler which was added here has the request.
func claim(ctx context.Context) {
	if r, ok := ctx.Value(replyKey{}).(*reply); ok {
		r.claimed = true
	}
}

// standIn gives a run what it would have of a session of its own.
func (r *reply) standIn(run *run, in incoming) {
	if run.progress != nil {
		run.progress.send = func(_ context.Context, done, total float64, message string) {
			params, err := json.Marshal(&mcp.ProgressNotificationParams{ProgressToken: in.token, Progress: done, Total: total, Message: message})
			if err != nil {
				return
			}
			if text, err := jsonrpc.EncodeMessage(&jsonrpc.Request{Method: "notifications/progress", Params: params}); err == nil {
				r.notify(text)
			}
		}
	}
	if run.caller == any(in.session) {
		run.caller = r // or all whose address is not known were one
	}
}

// notify sends a notification ahead of the response.
func (r *reply) notify(text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return // it comes too late
	}
	r.event(slices.Concat([]byte(eventStart), text, []byte(eventEnd)))
	_ = http.NewResponseController(r.w).Flush()
}

// finish sends the response: an event, or if it has a status its text.
func (r *reply) finish(text []byte, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if status == 0 {
		r.event(text)
		return
	}
	header := r.w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-cache, no-transform")
	r.w.WriteHeader(status)
	_, _ = r.w.Write(text) // a client that is gone is told by the context
}

// What stands around a message in an event stream.
const (
	eventStart = "event: message\ndata: "
	eventEnd   = "\n\n"
)

// end keeps what a panic has left running from w, which is net/http's again.
func (r *reply) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}

// event writes into the stream. r.mu is held.
func (r *reply) event(event []byte) {
	header := r.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache, no-transform")
	_, _ = r.w.Write(event) // a client that is gone is told by the context
}
