package host_test

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/fakeprovider"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/vault"
)

const back = "http://127.0.0.1:8420/sign-in/servers/callback"

var bob = inbox.Principal{Issuer: "test", Subject: "bob"}

// A guarded is a scripted MCP server that wants the tokens of a provider, and a store
// for the vaults of the machines that use it.
type guarded struct {
	*host.Server
	also     []*host.Server // of the file, before it
	provider *fakeprovider.Server
	issuer   string
	script   *hosttest.Server
	rows     *vault.Memory
	keys     *seal.Ring
	ahead    atomic.Int64 // of the store's clock, in nanoseconds

	mu      sync.Mutex
	refused map[string]bool // access tokens that are refused all the same
	seen    []string        // access tokens of calls
	needs   string          // a scope that calls need
	code    string          // that it says it with; default insufficient_scope, "-": none
	at      string          // of which method; default tools/call
	all     atomic.Bool     // refuse every token
	hold    func(method, access string)
	audited func(vault.Event) // before the row of it is written
}

func guard(t *testing.T, revision string, tools map[string]hosttest.Tool, options *fakeprovider.Options) *guarded {
	t.Helper()
	g := &guarded{keys: seal.NewRing(), refused: map[string]bool{}}
	g.rows = vault.NewMemory(func() time.Time { return time.Now().Add(time.Duration(g.ahead.Load())) })
	g.provider, g.issuer = fakeprovider.Start(t, options)
	g.Server, g.script = web(t, "shop", &hosttest.Script{Revision: revision, Tools: tools, Intercept: g.intercept})
	return g
}

func (g *guarded) intercept(w http.ResponseWriter, r *http.Request, method string) bool {
	access := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	g.mu.Lock()
	hold := g.hold
	g.mu.Unlock()
	if hold != nil {
		hold(method, access)
	}
	g.mu.Lock()
	if method == "tools/call" {
		g.seen = append(g.seen, access)
	}
	refused, needs := g.refused[access] || g.all.Load() && access != "", g.needs
	code, at := cmp.Or(g.code, "insufficient_scope"), cmp.Or(g.at, "tools/call")
	g.mu.Unlock()
	if refused {
		r.Header.Set("Authorization", "Bearer refused")
	}
	if method == at && access != "" && needs != "" && !slices.Contains(strings.Fields(g.provider.Scope(access)), needs) {
		challenge := `Bearer scope="` + needs + `"`
		if code != "-" {
			challenge += `, error="` + code + `"`
		}
		w.Header().Set("WWW-Authenticate", challenge)
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	passed := false
	g.provider.Protect(g.issuer, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true })).ServeHTTP(w, r)
	return !passed
}

func (g *guarded) calls() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.seen)
}

func (g *guarded) refuse(access ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range access {
		g.refused[one] = true
	}
}

// machine is one with a vault on the shared rows.
func (g *guarded) machine(t *testing.T, b *backend, o host.Options) *rig {
	t.Helper()
	servers := append(slices.Clone(g.also), g.Server)
	endpoint, err := host.VaultEndpoint(servers)
	if err != nil {
		t.Fatal(err)
	}
	var in *inbox.Inbox
	v, err := vault.New(g.rows, g.keys, &vault.Options{
		Endpoint: endpoint, Log: o.Log,
		Audit: func(ctx context.Context, e vault.Event) error {
			if g.audited != nil {
				g.audited(e)
			}
			return host.VaultAudit(in, servers)(ctx, e)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	o.Vault = v
	r := newRig(t, b, &rigOptions{host: o}, servers...)
	in, r.vault = r.in, v
	return r
}

// visit goes to the page, where the provider consents at once, and reads the way back.
func visit(t *testing.T, page string) host.SignInReply {
	t.Helper()
	q := visitRaw(t, page)
	return host.SignInReply{
		State: host.NewSecret(q.Get("state")), Code: host.NewSecret(q.Get("code")), Issuer: q.Get("iss"), Error: q.Get("error"),
	}
}

func visitRaw(t *testing.T, page string) url.Values {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		t.Fatalf("the provider answered %s: %v", resp.Status, err)
	}
	if got := to.Scheme + "://" + to.Host + to.Path; got != back {
		t.Fatalf("the way back is %s", got)
	}
	return to.Query()
}

func (r *rig) page() *host.SignInPage { r.t.Helper(); return r.pageOf(ada) }

func (r *rig) pageOf(p inbox.Principal) *host.SignInPage {
	r.t.Helper()
	page, err := r.SignIn(r.t.Context(), p, "shop", back)
	if err != nil {
		r.t.Fatalf("SignIn: %v", err)
	}
	return page
}

func (r *rig) signIn() *host.SignInResult { r.t.Helper(); return r.signInAs(ada) }

func (r *rig) signInAs(p inbox.Principal) *host.SignInResult {
	r.t.Helper()
	got, err := r.SignedIn(r.t.Context(), p, visit(r.t, r.pageOf(p).URL))
	if err != nil {
		r.t.Fatalf("SignedIn: %v", err)
	}
	return got
}

func (r *rig) signInState() host.SignInStatus {
	r.t.Helper()
	all, err := r.SignIns(r.t.Context(), ada)
	if err != nil {
		r.t.Fatal(err)
	}
	return all["shop"]
}

// withQuery is the address with another value of the parameter.
func withQuery(t *testing.T, address, name, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

func query(t *testing.T, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}
