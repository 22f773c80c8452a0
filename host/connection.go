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
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/wiretap"
)

const (
	revisionModern = "2026-07-28"
	revisionLegacy = "2025-11-25" // the newest of the legacy era; a server may choose an older one

	// probeTimeout is how long a program may stay silent on server/discover
	// before it counts as legacy.
	probeTimeout = 3 * time.Second
	// connectTimeout covers the start of a program, which may fetch itself first.
	connectTimeout = 60 * time.Second
	// listTimeout bounds fetching the tools, outside of any call.
	listTimeout = 30 * time.Second
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
	gone    chan struct{}    // closed when the session has ended

	mu       sync.Mutex
	tools    map[string]*Tool
	order    []string // of tools, as listed
	listed   bool
	calls    int // in flight
	sends    map[*wiretap.Exchange]*carriage
	parked   map[inbox.CallID]bool // modern, stdio: paused work that only this process may know
	lastUsed time.Time
	retired  bool // not to be used again; closed with its last call
}

// connect opens a session. legacy pins the era, where it is known.
func (h *Host) connect(ctx context.Context, s *Server, p inbox.Principal, legacy bool) (*connection, error) {
	c := &connection{
		host: h, server: s, principal: p, gone: make(chan struct{}),
		sends: map[*wiretap.Exchange]*carriage{}, parked: map[inbox.CallID]bool{}, lastUsed: time.Now(),
	}
	c.tap = wiretap.New(&wiretap.Options{})
	client := mcp.NewClient(h.options.Implementation, &mcp.ClientOptions{
		// What is declared is what a surface can answer, and nothing else; nil
		// would declare roots. MCP 2026-07-28 elicitation, "Capabilities" C1, C2; the
		// SDK sends them as the revision has it, with the _meta of every request
		// (MCP 2026-07-28 mrtr, "top" B1).
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		}},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			if token, ok := req.Params.ProgressToken.(string); ok {
				c.progress(token)
			}
		},
	})
	client.AddSendingMiddleware(substitute)
	client.AddReceivingMiddleware(c.receive)

	revision := revisionModern
	if legacy {
		revision = revisionLegacy
	}
	ctx, cancel := context.WithTimeout(ctx, h.options.ConnectTimeout)
	defer cancel()
	session, err := client.Connect(ctx, c.transport(), &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return nil, c.explainConnect(ctx, err)
	}
	c.session = session
	c.revision = session.InitializeResult().ProtocolVersion
	c.era = inbox.Legacy
	if c.revision >= revisionModern {
		c.era = inbox.Modern
	}
	h.group.Add(1)
	go func() {
		defer h.group.Done()
		err := session.Wait()
		c.tap.Close()
		close(c.gone)
		_ = session.Close() // what the SDK still holds of a session that ended by itself
		h.log.Debug("host: connection ended", "server", s.ID, "err", err)
	}()
	return c, nil
}

func (c *connection) transport() mcp.Transport {
	if c.server.Kind() == Stdio {
		c.process = c.tap.Process(c.server.cmd(), &wiretap.ProcessOptions{Probe: c.host.options.ProbeTimeout})
		return captureTransport{c.process}
	}
	u, _ := url.Parse(c.server.URL) // checked by Server.check
	c.web = &headers{base: c.tap.RoundTripper(c.host.http), server: c.server, origin: origin(u)}
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

func (e *UnreachableError) Error() string {
	text := fmt.Sprintf("server %q: %s", e.Server, e.Why)
	if e.Stderr != "" {
		text += "; it last wrote: " + e.Stderr
	}
	return text
}

func (e *UnreachableError) Unwrap() error { return e.err }

// explainConnect says in words why a connection could not be made. The errors
// of net/http and the SDK print addresses, so none of their text is used.
func (c *connection) explainConnect(ctx context.Context, err error) error {
	e := &UnreachableError{Server: c.server.ID}
	if c.web != nil {
		if want := c.web.wanted(); want != nil {
			return want
		}
	}
	var exit *wiretap.ExitError
	if c.process != nil {
		errors.As(c.process.Err(), &exit)
	}
	switch {
	case errors.Is(err, errElsewhere):
		e.Why = "it redirects to another address"
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Why = "it did not answer in time"
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		e.Why = "its program is not there"
	case errors.Is(err, fs.ErrPermission):
		e.Why = "its program may not be started"
	case exit != nil && exit.State != "":
		e.Why = "its program ended (" + exit.State + ")"
	case c.process != nil:
		e.Why = "its program did not answer as an MCP server"
	default:
		e.Why = reason(err)
	}
	if c.process != nil {
		// The output of a program that ended arrives a moment later.
		e.Stderr = lastLines(c.process.Stderr(), c.server)
	}
	return e
}

// receive is the receiving middleware: it answers what the server asks before
// the SDK's own handlers, whose schema gate is older than the specification.
func (c *connection) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "elicitation/create":
			r, ok := req.(*mcp.ElicitRequest)
			if !ok || r.Params == nil {
				return nil, rpcError(codeInvalidParams, "the question cannot be read", "")
			}
			return c.elicit(ctx, r)
		case "ping":
			return next(ctx, method, req)
		}
		if strings.HasPrefix(method, "notifications/") {
			return next(ctx, method, req)
		}
		// Nothing else was declared: sampling, roots and whatever else there is.
		return nil, rpcError(codeMethodNotFound, "this client offers elicitation only", "")
	}
}

// ready fetches the tools if that was not done, so that the fingerprint can be
// compared and x-mcp-header parameters reach their headers.
func (c *connection) ready(ctx context.Context, anew bool) error {
	c.mu.Lock()
	listed := c.listed
	c.mu.Unlock()
	if listed && !anew {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	tools, err := c.listTools(ctx)
	if err != nil {
		return c.explainConnect(ctx, err)
	}
	byName, order := make(map[string]*Tool, len(tools)), make([]string, 0, len(tools))
	for _, t := range tools {
		byName[t.Name] = t
		order = append(order, t.Name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools, c.order, c.listed = byName, order, true
	return nil
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
	cmd := exec.Command(s.Command, s.Args...)
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
