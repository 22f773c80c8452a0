package elicit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/yosida95/uritemplate/v3"

	"github.com/parley-mcp/parley/internal/seal"
)

// Options of a [Server]. The zero Options are right for a server of one
// process whose paused calls may die with it.
type Options struct {
	// Keyset seals request states: a Tink keyset in JSON, the same on every
	// machine that serves the same clients. KeysFile is the path of a file with
	// one; the file is made, with a fresh key, if it is not there. Set at most
	// one of them. With neither the key is fresh and lives in memory, so paused
	// calls end with the process.
	Keyset   []byte
	KeysFile string

	// Audience names this server in the request states that it seals. Required
	// with Keyset and KeysFile, and different for each server that shares keys:
	// it keeps a state of one from running a tool of the other.
	Audience string

	// Principal returns the verified person behind a request, and is asked about
	// each one, answers of legacy clients included. An error refuses the request; one
	// that wraps [ErrUnavailable] says that it can be sent again.
	// For legacy clients the context is that of the connection; use the request's
	// own extra. It is required where access tokens are verified: without it a
	// request that has one is refused. See [FromToken]. By default the principal
	// is [Local] on stdio and else anonymous.
	Principal func(ctx context.Context, extra *mcp.RequestExtra) (Principal, error)

	// Lifetime is how long a question stays open: 7 days by default. People
	// answer later than programs; the state is bound to its principal and
	// arguments all that time.
	Lifetime time.Duration

	// Together says of which clients of revisions before 2026-07-28 all questions
	// of one [AskAll] may be open at once, by the name and version that a client
	// calls itself. By default they are asked one after the other there: clients
	// cannot say what they can show, and what becomes of a second question is not
	// in the protocol.
	Together func(clientName, clientVersion string) bool

	// Replay keeps a record of each request that carries a request state or an
	// idempotency key, so that none of them runs twice. Without it nothing is
	// remembered; see the package documentation. One that is durable needs keys
	// that are, too: what it keeps is sealed. The server does not close it.
	Replay ReplayGuard

	Limits Limits

	// Logger gets panics, with the id that the client sees, and what looks
	// wrong with clients. By default slog.Default().
	Logger *slog.Logger
}

// Server adds questions to an MCP server. Its methods, and [AddTool], are safe
// for concurrent use.
type Server struct {
	mcp       *mcp.Server
	audience  string
	principal func(context.Context, *mcp.RequestExtra) (Principal, error)
	lifetime  time.Duration
	visitWait time.Duration
	together  func(name, version string) bool
	replay    ReplayGuard
	limits    Limits
	log       *slog.Logger
	now       func() time.Time
	meter     meter
	held      held
	watched   watched
	foreign   bool   // there was middleware before the kit's
	own       chains // the kit's own, outermost

	mu        sync.RWMutex // guards what follows
	shared    bool         // the key outlives the process
	ring      *seal.Ring
	known     map[string]bool // "method name" of what was added
	headers   map[string]bool // names of tools that may want arguments in headers
	hidden    map[string]Mode // tools that are listed only to clients that can be asked in a mode
	templates []*uritemplate.Template
}

// NewServer adds questions to an MCP server, which may also have tools of its
// own. Options may be nil.
func NewServer(server *mcp.Server, options *Options) (*Server, error) {
	if server == nil {
		return nil, errors.New("elicit: no MCP server")
	}
	if options == nil {
		options = &Options{}
	}
	s := &Server{
		mcp:       server,
		audience:  options.Audience,
		principal: options.Principal,
		lifetime:  options.Lifetime,
		together:  options.Together,
		replay:    options.Replay,
		limits:    options.Limits.withDefaults(),
		log:       options.Logger,
		now:       time.Now,
		visitWait: visitWait,
		shared:    options.Keyset != nil || options.KeysFile != "",
		known:     make(map[string]bool),
		headers:   make(map[string]bool),
		hidden:    make(map[string]Mode),
	}
	if s.principal == nil {
		s.principal = withoutToken
	}
	if s.lifetime < 0 {
		return nil, fmt.Errorf("elicit: lifetime %s is negative", s.lifetime)
	}
	if s.lifetime == 0 {
		s.lifetime = 7 * 24 * time.Hour
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if options.Keyset != nil && options.KeysFile != "" {
		return nil, errors.New("elicit: both a keyset and a keys file")
	}
	if s.shared && strings.TrimSpace(s.audience) == "" {
		return nil, errors.New("elicit: keys that outlive the process need an audience")
	}
	if s.replay != nil && s.replay.Durable() && !s.shared && s.audience == "" {
		return nil, errors.New("elicit: a durable replay guard needs a keyset, a keys file, or the audience of a program on stdio")
	}
	var err error
	switch {
	case options.Keyset != nil:
		s.ring, err = seal.Read(options.Keyset)
	case options.KeysFile != "":
		s.ring, err = seal.Open(options.KeysFile)
	default:
		s.ring = seal.NewRing()
	}
	if err != nil {
		return nil, fmt.Errorf("elicit: %w", err)
	}
	found, _ := chainsOf(server)
	none, _ := bareServer()
	s.foreign = found != none
	server.AddSendingMiddleware(exactSchema)
	server.AddReceivingMiddleware(noCaching, s.hide)
	if s.replay != nil { // around the mending: what is kept is what is sent
		server.AddReceivingMiddleware(s.guardCalls, s.advertise)
	}
	s.own, _ = chainsOf(server)
	return s, nil
}

func (s *Server) keys() *seal.Ring {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.ring
}
