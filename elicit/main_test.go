package elicit_test

import (
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/internal/servicetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

const modern = "2026-07-28"

var start = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// newServer returns a server whose clock stands still, and its handler.
func newServer(t testing.TB, options *elicit.Options) (*elicit.Server, http.Handler) {
	t.Helper()
	own := elicit.Options{}
	if options != nil {
		own = *options
	}
	if own.Logger == nil {
		own.Logger = slog.New(slog.DiscardHandler)
	}
	server, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil), &own)
	if err != nil {
		t.Fatal(err)
	}
	server.SetNow(func() time.Time { return start })
	return server, elicit.NewHTTPHandler(server, nil)
}

type none struct{}

func serve(t testing.TB, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}
