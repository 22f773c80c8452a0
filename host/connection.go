package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/wiretap"
)

const (
	revisionModern = "2026-07-28"
	revisionLegacy = "2025-11-25" // the newest of the legacy era; a server may choose an older one

	// probeTimeout is how long a server may stay silent on server/discover
	// before it counts as legacy.
	probeTimeout = 3 * time.Second
	// connectTimeout covers the start of a program, which may fetch itself first.
	connectTimeout = 60 * time.Second
	// listTimeout bounds fetching the tools, outside of any call.
	listTimeout = 30 * time.Second
	// listAge is how old a list of tools may be that is shown, or that a call is composed by.
	listAge = 15 * time.Second
)

// A connection is one MCP session with one server on behalf of one principal:
// an HTTP session, or one process. It never serves anyone else.
type connection struct {
	host      *Host
	server    *Server
	principal inbox.Principal
	era       inbox.Era
	revision  string

	tap     *wiretap.Tap
	session *mcp.ClientSession
	process *wiretap.Process // stdio
	web     *headers         // HTTP
	probe   *probe           // HTTP
	gone    chan struct{}    // closed when the session has ended
	listing chan struct{}    // holds one token: the right to fetch the tools
	legacy  atomic.Bool      // era, once it is known

	mu       sync.Mutex
	tools    map[string]*Tool
	order    []string  // of tools, as listed
	listed   time.Time // when the fetching of tools began; zero: not fetched
	calls    int       // in flight
	sends    map[*wiretap.Exchange]*carriage
	settling map[*carriage]bool // their reply is being recorded
	told     completions
	parked   map[inbox.CallID]bool // modern, stdio: paused work that only this process may know
	lastUsed time.Time
	retired  bool // not to be used again; closed with its last call
}

// connect opens a session. A known era is kept to; of an unknown one, "", the
// server is asked, and what stays silent for the probe's time counts as legacy.
func (h *Host) connect(ctx context.Context, s *Server, p inbox.Principal, era inbox.Era) (*connection, error) {
	c := &connection{
		host: h, server: s, principal: p, gone: make(chan struct{}), listing: make(chan struct{}, 1),
		sends: map[*wiretap.Exchange]*carriage{}, settling: map[*carriage]bool{}, parked: map[inbox.CallID]bool{}, lastUsed: time.Now(),
	}
	c.listing <- struct{}{}
	// Each call in flight may ask: a question without room gets no reply, and its call none.
	c.tap = wiretap.New(&wiretap.Options{
		MaxMessage: h.options.MaxMessage, MaxOpen: max(wiretap.DefaultMaxOpen, h.options.Concurrency), Completed: c.completed,
		// The pause that a server asks for is on the call's time: a few of them have to fit into it.
		MostRetry: min(s.sendTimeout()/4, wiretap.DefaultMostRetry),
	})
	client := mcp.NewClient(h.options.Implementation, &mcp.ClientOptions{
		// The SDK sends them with initialize, and in the modern era with the _meta of
		// every request (MCP 2026-07-28 mrtr, "top" B1).
		Capabilities:   h.modes.capabilities(),
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			if token, ok := req.Params.ProgressToken.(string); ok {
				c.progress(token)
			}
		},
	})
	client.AddSendingMiddleware(substitute, uncached)
	client.AddReceivingMiddleware(c.receive)

	revision := revisionModern
	if era == inbox.Legacy {
		revision = revisionLegacy
	}
	ctx, cancel := context.WithTimeout(ctx, h.options.ConnectTimeout)
	defer cancel()
	session, err := client.Connect(ctx, c.transport(era), &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return nil, c.explainConnect(ctx, err, 0)
	}
	c.session = session
	c.revision = session.InitializeResult().ProtocolVersion
	c.era = inbox.Legacy
	if c.revision >= revisionModern {
		c.era = inbox.Modern
	}
	c.legacy.Store(c.era == inbox.Legacy)
	h.group.Go(func() {
		err := session.Wait()
		c.tap.Close()
		close(c.gone)
		_ = session.Close() // what the SDK still holds of a session that ended by itself
		why := ""
		if err != nil { // the error itself may hold the address, and that a secret
			why = reason(err)
		}
		h.log.Debug("host: connection ended", "server", s.ID, "why", why)
	})
	return c, nil
}

func (c *connection) transport(era inbox.Era) mcp.Transport {
	if c.server.Kind() == Stdio {
		o := &wiretap.ProcessOptions{Probe: c.host.options.ProbeTimeout}
		if era == inbox.Modern {
			o.Probe = -1 // it will answer, however long it takes to start
		}
		c.process = c.tap.Process(c.server.cmd(), o)
		return captureTransport{c.process}
	}
	u, _ := url.Parse(c.server.URL) // checked by Server.check
	c.web = &headers{server: c.server, origin: origin(u), bearer: c.host.newBearer(c.server, c.principal)}
	base := c.host.http
	if c.web.bearer != nil {
		base = &renewing{base: base, bearer: c.web.bearer}
	}
	c.probe = &probe{base: c.tap.RoundTripper(base), wait: c.host.options.ProbeTimeout}
	if era == inbox.Modern {
		c.probe.wait = 0 // it will answer, however long it takes to wake up
	}
	c.web.base = c.probe
	return &mcp.StreamableClientTransport{
		Endpoint:     c.server.URL,
		HTTPClient:   &http.Client{Transport: c.web, CheckRedirect: sameOrigin},
		MaxEventSize: -1, // the wiretap has the bound
	}
}

// An UnreachableError says why a server cannot be used now. Its text is a
// sentence part for people and holds no secret.
type UnreachableError struct {
	Server string
	Why    string // sanitised
	Stderr string // the last lines of a program, sanitised; empty for HTTP
	err    error
}

// errSlow is in the error of a server that let the probe pass and then refused
// a legacy session: it is modern, and was slow to start.
var errSlow = errors.New("refused after a probe without a reply")

// errMute is in the error of a program that ended, without a message, when it was
// asked what it is: it may be one that takes nothing but initialize as the first
// message, as MCP 2025-11-25 lifecycle, "Initialization", has it.
var errMute = errors.New("ended without a message")

// errRefused is in the error of an HTTP server that answered, with an error.
var errRefused = errors.New("refused by the server")

func (e *UnreachableError) Error() string {
	text := fmt.Sprintf("server %q: %s", e.Server, e.Why)
	if e.Stderr != "" {
		text += "; it last wrote: " + e.Stderr
	}
	return text
}

func (e *UnreachableError) Unwrap() error { return e.err }

// explainConnect says in words why a connection could not be made. The errors
// of net/http and the SDK print addresses, so none of their text is used. large
// is how many messages had been over a limit before.
func (c *connection) explainConnect(ctx context.Context, err error, large int64) error {
	e := &UnreachableError{Server: c.server.ID}
	if c.web != nil {
		if err := c.web.refused(); err != nil {
			return err
		}
	}
	var exit *wiretap.ExitError
	if c.process != nil {
		errors.As(c.process.Err(), &exit)
	}
	switch {
	case errors.As(err, new(listError)):
		e.Why = err.Error()
	case errors.Is(err, errElsewhere):
		e.Why = "it redirects to another address"
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Why = "it did not answer in time"
	case ctx.Err() != nil:
		return ctx.Err()
	case noRevision(err):
		e.Why = "it speaks no revision of the protocol that is known here"
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		e.Why = "its program is not there"
	case errors.Is(err, fs.ErrPermission):
		e.Why = "its program may not be started"
	case exit != nil && errors.As(exit.Err, new(*wiretap.LimitError)), c.tap.Stats().TooLarge > large:
		e.Why = "it sent more than is accepted"
	case exit != nil && errors.Is(exit.Err, wiretap.ErrNotServer) && c.tap.Stats().Messages > 0:
		e.Why = "its program is not an MCP server: it sends back what it is sent"
	case exit != nil && errors.Is(exit.Err, wiretap.ErrNotServer):
		e.Why = "its program is not an MCP server"
	case c.process != nil && refused(err):
		e.Why = reason(err)
	case exit != nil && exit.State != "":
		e.Why = "its program ended (" + exit.State + ")"
	case c.process != nil:
		e.Why = "its program did not answer as an MCP server"
	default:
		e.Why = reason(err)
	}
	if c.web != nil {
		e.err = c.noSession(ctx, err)
	}
	if c.process != nil {
		switch {
		case refused(err) && c.process.Probed():
			e.err = errSlow
		case exit != nil && exit.State != "" && exit.Err == nil && c.tap.Stats().Messages == 0:
			e.err = errMute
		}
		if stats := c.tap.Stats(); stats.Messages == 0 && len(stats.FirstJunk) > 0 {
			e.Why += fmt.Sprintf("; where messages belong it writes text: %s", lastLines(strings.Join(stats.FirstJunk, "\n"), c.server))
		}
		e.Stderr = lastLines(c.process.Stderr(), c.server)
	}
	return e
}

// refused reports whether the server itself answered with an error. The SDK
// makes errors of the same type, with these codes, for a connection that ended.
func refused(err error) bool {
	var rpc *jsonrpc.Error
	return errors.As(err, &rpc) && !slices.Contains([]int64{-32003, -32004, -32005}, rpc.Code)
}

// noRevision reports whether an error of Connect says that there is no revision
// that both sides know: the SDK says so in words alone, and a server that knows
// neither server/discover nor initialize by its error.
func noRevision(err error) bool {
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return rpc.Code == codeUnsupported || rpc.Code == codeMethodNotFound
	}
	return strings.Contains(err.Error(), "unsupported protocol version")
}

// receive is the receiving middleware: it answers what the server asks before
// the SDK's own handlers, whose schema gate is older than the specification.
func (c *connection) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "elicitation/create":
			r, ok := req.(*mcp.ElicitRequest)
			if !ok || r.Params == nil {
				return nil, refuse(refuseUnreadable)
			}
			return c.elicit(ctx, r)
		case "ping":
			return next(ctx, method, req)
		}
		if strings.HasPrefix(method, "notifications/") {
			return next(ctx, method, req)
		}
		// Nothing else was declared: sampling, roots and whatever else there is.
		return nil, refuse(refuseMethod)
	}
}

// ready fetches the tools, so that the fingerprint can be compared and
// x-mcp-header parameters reach their headers. A list whose fetching began
// after since will do: calls that are resumed at the same time share one.
func (c *connection) ready(ctx context.Context, since time.Time) error {
	if c.fresh(since) {
		return nil
	}
	select {
	case <-c.listing:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { c.listing <- struct{}{} }()
	if c.fresh(since) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.host.options.ListTimeout)
	defer cancel()
	began, large := time.Now(), c.tap.Stats().TooLarge
	var note refusalNote
	tools, err := c.listTools(context.WithValue(ctx, refusalKey{}, &note))
	if err != nil {
		if refusal := c.noted(&note); refusal != nil {
			return refusal
		}
		return c.explainConnect(ctx, err, large)
	}
	byName, order := make(map[string]*Tool, len(tools)), make([]string, 0, len(tools))
	for _, t := range tools {
		byName[t.Name] = t
		order = append(order, t.Name)
	}
	c.host.pool(c.server, c.principal).learn(tools)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools, c.order, c.listed = byName, order, began
	return nil
}

// noted is what the note holds, unless the reason is known better: no fresh token could
// be had. nil: nothing.
func (c *connection) noted(note *refusalNote) error {
	if c.web == nil || c.web.bearer != nil && c.web.bearer.trouble() != nil {
		return nil
	}
	c.web.mu.Lock()
	defer c.web.mu.Unlock()
	if note.refusal == nil { // a nil *signInError is no nil error
		return nil
	}
	return note.refusal
}

// fresh reports whether the tools were fetched after since; its zero value means: ever.
func (c *connection) fresh(since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.listed.IsZero() && !c.listed.Before(since)
}

func (c *connection) tool(name string) *Tool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools[name]
}

// fingerprint is what a call to name is bound to; empty for a tool that is not there.
func (c *connection) fingerprint(method, name string) string {
	if method != "tools/call" {
		return fingerprint(method, name, nil)
	}
	if t := c.tool(name); t != nil {
		return t.Fingerprint
	}
	return ""
}

// alive reports whether the session may still be used.
func (c *connection) alive() bool {
	select {
	case <-c.gone:
		return false
	default:
		return c.process == nil || c.process.Err() == nil
	}
}

// begin and end frame a call in flight.
func (c *connection) begin(x *wiretap.Exchange, s *carriage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sends[x] = s
}

func (c *connection) end(x *wiretap.Exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sends, x)
}

// progress extends the time of the send with this token.
func (c *connection) progress(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sends {
		if s.token == token {
			s.watch.touch()
			return
		}
	}
}

// close ends the session; calls in flight on it were cancelled before.
func (c *connection) close() {
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	_ = session.Close()
	<-c.gone
}

// retention is how long the server keeps a record of idempotency keys, by the
// extension io.github.parley-mcp/idempotency; 0 if it does not say so.
func (c *connection) retention() time.Duration {
	caps := c.session.InitializeResult().Capabilities
	if caps == nil {
		return 0
	}
	settings, _ := caps.Extensions[extensionIdempotency].(map[string]any)
	text, _ := settings["retention"].(string)
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0
	}
	return d
}

// cmd builds the program's command. It gets a few variables of this process
// and those of the servers file: the rest may hold keys of ours.
func (s *Server) cmd() *exec.Cmd {
	cmd := exec.Command(s.Command, s.Args...) //nolint:noctx // it lives longer than the call that starts it
	cmd.Dir = s.Dir
	cmd.Env = []string{}
	names := []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"}
	if runtime.GOOS == "windows" {
		names = append(names, "APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE",
			"PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE")
	}
	for _, name := range names {
		if v, ok := os.LookupEnv(name); ok && s.Env[name].Reveal() == "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	set := make([]string, 0, len(s.Env))
	for name, v := range s.Env {
		set = append(set, name+"="+v.Reveal())
	}
	slices.Sort(set)
	cmd.Env = append(cmd.Env, set...)
	return cmd
}
