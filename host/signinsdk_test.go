package host_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/fakeprovider"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/vault"
)

// A server of the official SDK behind its own middleware: the metadata and challenges are
// its, and so is the judgement of tokens.
func TestSignInToASDKServer(t *testing.T) {
	t.Parallel()
	g := &guarded{keys: seal.NewRing(), refused: map[string]bool{}}
	g.rows = vault.NewMemory(func() time.Time { return time.Now().Add(time.Duration(g.ahead.Load())) })
	g.provider, g.issuer = fakeprovider.Start(t, nil)
	var wanted atomic.Pointer[[]string]
	wanted.Store(&[]string{"files:read"})

	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "who"}, func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: req.Extra.TokenInfo.UserID}}}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		subject, ok := g.provider.Valid(token)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: subject, Scopes: strings.Fields(g.provider.Scope(token)), Expiration: time.Now().Add(time.Minute)}, nil
	}
	mux := http.NewServeMux()
	const metadata = "/.well-known/oauth-protected-resource/mcp"
	site := httptest.NewServer(mux)
	t.Cleanup(func() {
		site.Close()
		for session := range server.Sessions() { // whose end came without a token
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	mux.Handle(metadata, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: site.URL + "/mcp", AuthorizationServers: []string{g.issuer}, ScopesSupported: []string{"files:read", "files:write"},
	}))
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{
			ResourceMetadataURL: site.URL + metadata, Scopes: *wanted.Load(),
		})(handler).ServeHTTP(w, r)
	})
	g.Server = &host.Server{ID: "shop", URL: site.URL + "/mcp"}

	b := backends["memory"](t)
	r, other := g.machine(t, b, host.Options{}), g.machine(t, b, host.Options{})
	if _, err := r.Tools(t.Context(), ada, "shop"); err == nil {
		t.Error("the tools were listed without a sign-in")
	}
	page := r.page()
	if page.Issuer != g.issuer || !slices.Equal(page.Scopes, []string{"files:read"}) {
		t.Errorf("%+v", page)
	}
	if got, err := r.SignedIn(t.Context(), ada, visit(t, page.URL)); err != nil || got.Outcome != host.SignedInDone {
		t.Fatalf("%+v, %v", got, err)
	}
	if done := r.step(r.start("shop", "who", "").ID, ""); text(t, done) != "ada" {
		t.Errorf("%s", done.Result)
	}
	// The server wants more from now on: 403 with the scopes, and no code.
	call := r.start("shop", "who", "")
	wanted.Store(&[]string{"files:read", "files:write"})
	blocked := r.step(call.ID, host.Blocked)
	if blocked.Reason != inbox.ReasonSignIn || !strings.Contains(blocked.Detail, "files:write") {
		t.Errorf("%s: %s", blocked.Reason, blocked.Detail)
	}
	page = other.page()
	if !slices.Equal(page.Scopes, []string{"files:read", "files:write"}) {
		t.Errorf("the other machine asks for %q", page.Scopes)
	}
	if got, err := other.SignedIn(t.Context(), ada, visit(t, page.URL)); err != nil || got.Resumed != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if done := other.step(call.ID, ""); text(t, done) != "ada" {
		t.Errorf("%s", done.Result)
	}
	// A token that has ended is renewed; a sign-in that has ended is asked for.
	g.ahead.Store(int64(2 * time.Hour))
	r.step(r.start("shop", "who", "").ID, "")
	if n := g.provider.Counts().Refreshed; n != 1 {
		t.Errorf("%d renewals", n)
	}
	call = r.start("shop", "who", "")
	if got, err := other.SignOut(t.Context(), ada, "shop"); err != nil || got != host.RevokedDone {
		t.Errorf("%q, %v", got, err)
	}
	if blocked := r.step(call.ID, host.Blocked); blocked.Reason != inbox.ReasonSignIn {
		t.Errorf("%s: %s", blocked.Reason, blocked.Detail)
	}
}
