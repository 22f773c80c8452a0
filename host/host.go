package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/exact"
	"github.com/parley-mcp/parley/internal/wiretap"
	"github.com/parley-mcp/parley/policy"
	"github.com/parley-mcp/parley/vault"
)

// Errors of a host. Test with errors.Is.
var (
	// ErrNoServer: the servers file names no such server.
	ErrNoServer = errors.New("host: no such server")
	// ErrNoTool: the server lists no such tool.
	ErrNoTool = errors.New("host: no such tool")
	// ErrInvalid: a server or a call that cannot be used as it stands.
	ErrInvalid = errors.New("host: invalid")
	// ErrSignIn: the server wants the connection to be authorized first.
	ErrSignIn = errors.New("host: the server wants a sign-in")
	// ErrClosed: the host was closed, or is about to be.
	ErrClosed = errors.New("host: closed")
)

// Options of a [Host]; zero fields are the defaults.
type Options struct {
	// Implementation is what servers are told about this client. Default:
	// name "parley".
	Implementation *mcp.Implementation

	// Transport makes the HTTP connections, below redirects and headers.
	// Default: a clone of [http.DefaultTransport].
	Transport http.RoundTripper

	// Modes are the modes of questions that the surfaces on this inbox can answer. Servers
	// are told of these and no others, and a question of another mode is refused. nil:
	// [inbox.Form] and [inbox.URL], which the page of package serve has both. Empty: none,
	// and servers learn that nobody can be asked.
	Modes []inbox.Mode

	ConnectTimeout time.Duration // until a session is open, the start of a program included; default 60 s
	ProbeTimeout   time.Duration // for a server's silence on server/discover, after which it counts as legacy; default 3 s
	ListTimeout    time.Duration // for all pages of a server's list of tools; default 30 s
	Grace          time.Duration // how long a stop waits for replies; default 10 s
	Poll           time.Duration // how often Run looks without a hint; default 5 s
	Concurrency    int           // calls in flight at once, without those that are held; default 256

	// Held is how many calls may wait for a person on an open connection, over all
	// people: each keeps some 60 kB and an open file. What servers ask beyond it is
	// refused with too_many_questions. Default 10,000.
	Held       int
	MaxMessage int // bytes of one message of a server that are read; default and most 15 MiB

	// Policy says what may leave, and what may be shown. Default: [policy.Default].
	Policy policy.Policy

	// Vault keeps what people are given when they sign in to servers. Its Audit and
	// Endpoint are [VaultAudit] and [VaultEndpoint]; who made it runs it. nil: nobody
	// signs in, and calls of servers that want it are blocked.
	Vault *vault.Vault
	// ClientMetadataURL is the https address of the client ID metadata document of
	// this host, which is also its client id at authorization servers that know such
	// documents (package serve has one). Empty: the host registers instead.
	ClientMetadataURL string

	// Tracer makes spans of composing and of each send. Default: none are made.
	Tracer Tracer

	Log *slog.Logger // default: nowhere. Never holds arguments, answers or addresses
}

// A Host is the engine on the client side: it keeps the connections to the
// servers, sends calls, parks them when a server asks, and carries the answers
// back. It is safe for concurrent use. Any number of hosts may work on one
// store.
type Host struct {
	inbox   *inbox.Inbox
	servers map[string]*Server
	order   []string
	options Options
	modes   modes // of the options
	http    http.RoundTripper
	policy  policy.Policy
	vault   *vault.Vault // nil: nobody signs in
	log     *slog.Logger

	registering sync.Mutex // one client registration at a time

	stopping chan struct{} // closed by Close
	runs     atomic.Bool   // Run was called
	keeping  sync.Mutex    // held by the one [Host.Auto] that does the housekeeping where Run was not
	keepNext time.Time     // when it is due again; guarded by keeping
	stopOnce sync.Once
	group    sync.WaitGroup  // goroutines of this host
	base     context.Context // of all work; ends after the grace of a stop
	open     context.Context // of what nobody waits for at a stop
	shut     context.CancelFunc
	cancel   context.CancelCauseFunc

	mu      sync.Mutex
	pools   map[poolKey]*pool
	eras    map[string]inbox.Era // by server, once known
	running map[inbox.CallID]*carriage
	resting int           // of those that run: they wait for a person
	lease   time.Duration // of the last claim
	freed   chan struct{} // has room for one: a call is no longer in flight
	told    time.Time     // the last line of the log on calls that could not be claimed
}

type poolKey struct{ principal, server string }

// New returns a host for these servers over in. It connects to nothing until
// something is to be done. Close it when it is no longer needed.
func New(in *inbox.Inbox, servers []*Server, options *Options) (*Host, error) {
	h := &Host{
		inbox: in, servers: map[string]*Server{}, stopping: make(chan struct{}),
		pools: map[poolKey]*pool{}, eras: map[string]inbox.Era{}, running: map[inbox.CallID]*carriage{},
		lease: defaultLease, freed: make(chan struct{}, 1),
	}
	if options != nil {
		h.options = *options
	}
	o := &h.options
	var err error
	if h.modes, err = modesOf(o.Modes); err != nil {
		return nil, err
	}
	h.vault = o.Vault
	if o.ClientMetadataURL != "" && !documentURL(o.ClientMetadataURL) {
		return nil, fmt.Errorf("%w: a client ID metadata document has an https address with a path", ErrInvalid)
	}
	if o.Implementation == nil {
		o.Implementation = &mcp.Implementation{Name: "parley", Title: "Parley", Version: "0"}
	}
	for _, d := range []struct {
		field    *time.Duration
		standard time.Duration
	}{
		{&o.ConnectTimeout, connectTimeout}, {&o.ProbeTimeout, probeTimeout}, {&o.ListTimeout, listTimeout}, {&o.Grace, 10 * time.Second},
		{&o.Poll, 5 * time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.standard
		}
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 256
	}
	if o.Held <= 0 {
		o.Held = 10_000
	}
	if o.MaxMessage <= 0 || o.MaxMessage > wiretap.DefaultMaxMessage { // past it the SDK gives up the connection
		o.MaxMessage = wiretap.DefaultMaxMessage
	}
	if h.log = o.Log; h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	if h.policy = o.Policy; h.policy == nil {
		h.policy = policy.Default()
	}
	if h.http = o.Transport; h.http == nil {
		t, ok := http.DefaultTransport.(*http.Transport)
		if !ok {
			t = &http.Transport{Proxy: http.ProxyFromEnvironment}
		}
		t = t.Clone()
		// A request on a connection that the server closes at that moment is
		// uncertain. Common servers close idle ones after five seconds: be first.
		t.IdleConnTimeout = 3 * time.Second
		// A held call keeps a connection for as long as its person thinks, and these
		// are most of what it keeps. What is larger goes past them.
		t.ReadBufferSize, t.WriteBufferSize = 1<<10, 1<<10
		h.http = t
	}
	for _, s := range servers {
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("%w: server %q: %w", ErrInvalid, s.ID, err)
		}
		if h.servers[s.ID] != nil {
			return nil, fmt.Errorf("%w: server %q is there twice", ErrInvalid, s.ID)
		}
		h.servers[s.ID] = s
		h.order = append(h.order, s.ID)
	}
	h.base, h.cancel = context.WithCancelCause(context.Background())
	h.open, h.shut = context.WithCancel(context.Background())
	return h, nil
}

// server finds a server by its id.
func (h *Host) server(id string) (*Server, error) {
	if s := h.servers[id]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrNoServer, id)
}

func (h *Host) pool(s *Server, p inbox.Principal) *pool {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := poolKey{p.Key(), s.ID}
	if h.pools[key] == nil {
		h.pools[key] = h.newPool(s, p)
	}
	return h.pools[key]
}

func (h *Host) allPools() []*pool {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*pool, 0, len(h.pools))
	for _, p := range h.pools {
		list = append(list, p)
	}
	return list
}

// era is what an earlier process or session of the server spoke, so that the
// next need not be probed; empty if there was none.
func (h *Host) era(server string) inbox.Era {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.eras[server]
}

func (h *Host) learnEra(server string, era inbox.Era) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.eras[server] = era
}

// enter counts a goroutine of the host; false if the host is stopping.
func (h *Host) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.stopping:
		return false
	default:
		h.group.Add(1)
		return true
	}
}

// borrow connects for something that is no call and gives back a release.
func (h *Host) borrow(ctx context.Context, p inbox.Principal, id string) (*connection, func(), error) {
	s, err := h.server(id)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.open, cancel)
	defer stop()
	defer cancel()
	if !h.enter() {
		return nil, nil, ErrClosed
	}
	pl := h.pool(s, p)
	for first := true; ; first = false {
		c, err := pl.acquire(ctx, "", true)
		if err != nil {
			h.group.Done()
			return nil, nil, h.outward(ctx, p, s, err)
		}
		if err = c.ready(ctx, time.Now().Add(-listAge)); err == nil {
			return c, func() { pl.release(c); h.group.Done() }, nil
		}
		pl.release(c)
		if first && (errors.Is(err, errOtherGrant) || errors.Is(err, errRefused)) {
			pl.drop(c)
			continue
		}
		h.group.Done()
		return nil, nil, h.outward(ctx, p, s, err)
	}
}

// outward names the server in an error that has no type of its own outside.
func (h *Host) outward(ctx context.Context, p inbox.Principal, s *Server, err error) error {
	if want := (*signInError)(nil); errors.As(err, &want) {
		h.want(ctx, p, s, want.lacking())
		return fmt.Errorf("%w: %q", ErrSignIn, s.ID)
	}
	return err
}

// Tools lists the tools of a server for a person, in the server's order. An
// *[UnreachableError] says in words why there is none.
func (h *Host) Tools(ctx context.Context, p inbox.Principal, server string) ([]*Tool, error) {
	c, release, err := h.borrow(ctx, p, server)
	if err != nil {
		return nil, err
	}
	defer release()
	c.mu.Lock()
	defer c.mu.Unlock()
	tools := make([]*Tool, 0, len(c.order))
	for _, name := range c.order {
		t := *c.tools[name]
		tools = append(tools, &t)
	}
	return tools, nil
}

// Title is the title that a server gave its tool when p's tools were last
// listed, in the server's own words; empty if it has none or they were not
// listed yet. It never connects.
func (h *Host) Title(p inbox.Principal, server, tool string) string {
	h.mu.Lock()
	pl := h.pools[poolKey{p.Key(), server}]
	h.mu.Unlock()
	if pl == nil {
		return ""
	}
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return pl.titles[tool]
}

// NewCall is what [Host.Start] needs to compose a call.
type NewCall struct {
	Conversation string
	Actor        inbox.Actor // default inbox.Person
	Origin       inbox.Origin
	Server       string          // id
	Method       string          // tools/call, prompts/get or resources/read; default tools/call
	Name         string          // the tool's or prompt's name, or the resource's URI
	Arguments    json.RawMessage // a JSON object or empty
	Key          string          // the same key with the same call makes one call
	// Groups are the person's, as their sign-in has just verified them; nil: not known
	// now. They are remembered for when the call goes on.
	Groups []string
}

// Start composes a call for a person: it finds the server and the tool,
// records where they are and what they look like, and leaves the call ready to
// be sent by [Host.Run] or [Host.Step]; or, as the policy says, approving or denied.
func (h *Host) Start(ctx context.Context, p inbox.Principal, n NewCall) (*inbox.Call, error) {
	if n.Method == "" {
		n.Method = "tools/call"
	}
	if !slices.Contains([]string{"tools/call", "prompts/get", "resources/read"}, n.Method) {
		return nil, fmt.Errorf("%w: %q is no method of a call", ErrInvalid, n.Method)
	}
	if n.Name == "" {
		return nil, fmt.Errorf("%w: a call needs a name", ErrInvalid)
	}
	if len(n.Arguments) > 0 {
		var object map[string]json.RawMessage
		if json.Unmarshal(n.Arguments, &object) != nil || object == nil {
			return nil, fmt.Errorf("%w: arguments must be a JSON object", ErrInvalid)
		}
		// A page shows the last of two members to whoever approves the call, and the
		// server may take the first.
		if exact.Once(n.Arguments) != nil {
			return nil, fmt.Errorf("%w: arguments name a member twice", ErrInvalid)
		}
		// A message nested deeper than the wiretap reads does not leave this host,
		// and the server would pass for unreachable until the call expires.
		if nesting(n.Arguments) > maxNesting {
			return nil, fmt.Errorf("%w: arguments are nested more than %d deep", ErrInvalid, maxNesting)
		}
	}
	c, release, err := h.borrow(ctx, p, n.Server)
	if err != nil {
		return nil, err
	}
	defer release()
	if n.Method == "tools/call" && c.tool(n.Name) == nil {
		// It may have been added since the list was fetched.
		if err := c.ready(ctx, time.Now()); err != nil {
			return nil, h.outward(ctx, p, c.server, err)
		}
		if c.tool(n.Name) == nil {
			return nil, fmt.Errorf("%w: %q has no %q", ErrNoTool, n.Server, tidy(n.Name))
		}
	}
	if n.Actor == "" {
		n.Actor = inbox.Person
	}
	span := h.span(ctx, SpanStart{Kind: SpanCompose, Server: n.Server, Method: n.Method, Tool: n.Name, Era: c.era})
	made, err := h.compose(ctx, p, c, &n, span.Trace())
	if err != nil {
		span.End("", "")
		return nil, err
	}
	span.End(made.State, made.Reason)
	return made, nil
}

// compose stores the call as the policy says.
func (h *Host) compose(ctx context.Context, p inbox.Principal, c *connection, n *NewCall, trace inbox.Trace) (*inbox.Call, error) {
	d, tool, err := h.judge(ctx, p, c, n)
	if err != nil {
		return nil, err
	}
	call := inbox.NewCall{
		Conversation: n.Conversation, Actor: n.Actor, Origin: n.Origin, Trace: trace,
		Server: n.Server, Endpoint: c.server.Endpoint(), Fingerprint: c.fingerprint(n.Method, n.Name), Era: c.era,
		Method: n.Method, Name: n.Name, Arguments: n.Arguments, Key: n.Key,
	}
	switch d.Effect {
	case policy.Ask:
		call.Ask = ask(d, tool)
	case policy.Deny:
		call.Deny = &inbox.Denial{Rule: d.Rule, Reason: d.Reason}
	default:
		call.Rule = d.Rule
	}
	return h.inbox.Compose(ctx, p, call)
}

// judge asks the policy about a new call.
func (h *Host) judge(ctx context.Context, p inbox.Principal, c *connection, n *NewCall) (policy.Decision, *Tool, error) {
	groups := n.Groups
	var err error
	if groups == nil {
		groups, err = h.inbox.Groups(ctx, p)
	} else {
		err = h.inbox.RememberGroups(ctx, p, groups)
	}
	if err != nil {
		return policy.Decision{}, nil, err
	}
	in := &policy.Input{
		Phase: policy.Compose, Actor: n.Actor, Principal: p, Groups: groups, Conversation: n.Conversation,
		Server: c.server.ID, Trusted: c.server.Trusted, Method: n.Method, Name: n.Name, Arguments: n.Arguments,
	}
	var tool *Tool
	if n.Method == policy.ToolsCall {
		tool = c.tool(n.Name)
		in.Annotations = annotations(tool)
	}
	d, err := h.decide(ctx, in)
	return d, tool, err
}

// Close stops the host: calls in flight get Options.Grace to finish, held
// questions end with host_stopped, parked work stays in the store, and all
// connections and programs are closed. It is idempotent.
func (h *Host) Close() error {
	h.stopOnce.Do(func() {
		h.mu.Lock()
		close(h.stopping)
		h.shut()
		running := make([]*carriage, 0, len(h.running))
		for _, c := range h.running {
			running = append(running, c)
		}
		h.mu.Unlock()
		timer := time.AfterFunc(h.options.Grace, func() { h.cancel(ErrClosed) })
		for _, c := range running {
			<-c.done
		}
		timer.Stop()
		h.cancel(ErrClosed)
		for _, p := range h.allPools() {
			<-p.turn // nobody connects any more
			p.mu.Lock()
			list := slices.Clone(p.list)
			p.mu.Unlock()
			for _, c := range list {
				p.drop(c)
			}
			p.turn <- struct{}{}
		}
		h.group.Wait()
		if t, ok := h.http.(*http.Transport); ok && h.options.Transport == nil {
			t.CloseIdleConnections()
		}
	})
	return nil
}
