package travel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
)

// Name is the server's name in MCP.
const Name = "travel"

// Options of [New].
type Options struct {
	// LogFile is appended to, one JSON line per execution, each on disk before
	// its tool returns. What it holds already counts: its bookings can be
	// cancelled. Log gets the same lines; if it has a Sync method, that is
	// called after each. Both may be empty.
	LogFile string
	Log     io.Writer

	// KeysFile keeps the key of paused calls, so that they survive a restart.
	// Empty means that they do not.
	KeysFile string

	// Kit is passed on to the kit, except for KeysFile and Audience.
	Kit elicit.Options

	// BeforeBook runs after the last question of book_flight and before its
	// line in the log, AfterBook between the line and the result. An error ends
	// the tool. Tests kill the process in there.
	BeforeBook func(ctx context.Context) error
	AfterBook  func(ctx context.Context) error

	// Now is the time of bookings: time.Now by default.
	Now func() time.Time
}

// Server is the travel desk. It serves MCP over Streamable HTTP to modern and
// legacy clients, and is safe for concurrent use.
type Server struct {
	handler http.Handler
	kit     *elicit.Server
	options Options

	mu      sync.Mutex
	file    *os.File
	entries []Entry
}

// New makes a travel desk. Options may be nil.
func New(options *Options) (*Server, error) {
	s := &Server{}
	if options != nil {
		s.options = *options
	}
	if s.options.Now == nil {
		s.options.Now = time.Now
	}
	kitOptions := s.options.Kit
	kitOptions.KeysFile, kitOptions.Audience = s.options.KeysFile, Name
	desk := mcp.NewServer(&mcp.Implementation{Name: Name, Title: "Travel desk", Version: "1.0.0"}, &mcp.ServerOptions{
		Instructions: "Books flights, cancels trips and quotes group journeys. It asks the traveller for what it needs.",
		Capabilities: &mcp.ServerCapabilities{},
	})
	kit, err := elicit.NewServer(desk, &kitOptions)
	if err != nil {
		return nil, fmt.Errorf("travel: %w", err)
	}
	if err := s.openLog(); err != nil {
		return nil, fmt.Errorf("travel: %w", err)
	}
	s.kit = kit
	s.addBookFlight(kit)
	s.addCancelTrip(kit)
	s.addGroupQuote(kit)
	s.handler = elicit.NewHTTPHandler(kit, nil)
	return s, nil
}

// ServeHTTP serves MCP.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) { s.handler.ServeHTTP(w, req) }

// Kit returns the server's kit, for serving it over another transport.
func (s *Server) Kit() *elicit.Server { return s.kit }

// Close closes the log. No tool may run any more.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// errClosed is what tools get after Close.
var errClosed = errors.New("the travel desk is closed")
