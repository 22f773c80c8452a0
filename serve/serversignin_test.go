package serve_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/fakeprovider"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/serve/client"
	"github.com/parley-mcp/parley/serve/internal/conform"
	"github.com/parley-mcp/parley/store/memstore"
	"github.com/parley-mcp/parley/vault"
)

// signInSite is a host with a server that wants the tokens of a provider.
type signInSite struct {
	*httptest.Server
	t        *testing.T
	provider *fakeprovider.Server
	client   *client.Client
	embed    string // a token for the page of a product
	said     bytes.Buffer
	log      lockedBuffer
}

// lockedBuffer is a log that several goroutines write to.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newSignInSite(t *testing.T, publicURL string) *signInSite {
	t.Helper()
	s := &signInSite{t: t}
	var issuer string
	s.provider, issuer = fakeprovider.Start(t, nil)
	mcp := hosttest.NewServer(t, &hosttest.Script{
		Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("ok") }},
		Intercept: func(w http.ResponseWriter, r *http.Request, _ string) bool {
			passed := false
			s.provider.Protect(issuer, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true })).ServeHTTP(w, r)
			return !passed
		},
	})
	servers := []*host.Server{{ID: "shop", URL: mcp.URL, OAuth: host.OAuth{Scopes: []string{"openid"}}}, {ID: "file", URL: mcp.URL, Headers: map[string]host.Secret{"Authorization": host.NewSecret("Bearer secret_of_the_file")}}}
	keys := inbox.NewKeys()
	in := inbox.New(memstore.New(nil), keys, nil)
	endpoint, err := host.VaultEndpoint(servers)
	if err != nil {
		t.Fatal(err)
	}
	v, err := vault.New(vault.NewMemory(nil), keys, &vault.Options{Endpoint: endpoint, Audit: host.VaultAudit(in, servers)})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h, err := host.New(in, servers, &host.Options{Vault: v, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	local, err := serve.OpenLocal(t.TempDir() + "/token")
	if err != nil {
		t.Fatal(err)
	}
	key, row, err := serve.NewAPIKey("acme", "https://acme.example", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	api := serve.New(h, in, &serve.Options{Local: local, Log: log, PublicURL: publicURL, APIKeys: []*serve.APIKey{row}, Keys: keys})
	s.Server = httptest.NewServer(conform.Handler(t, api.Handler()))
	t.Cleanup(func() {
		s.Server.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	code, body := s.ask("POST", "/v1/sign-in", "", `{"token":"`+local.OneTime()+`"}`)
	var in1 client.SignedIn
	if err := json.Unmarshal(body, &in1); err != nil || code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	s.said.Reset() // the bearer of this host is no token of a server
	s.client = client.New(s.URL, client.Bearer(in1.Token))
	minted, err := client.New(s.URL, client.Bearer(key)).MintToken(t.Context(), client.TokenRequest{Subject: "u", Conversation: "v_1", Scopes: []client.Scope{client.ScopeRead, client.ScopeAnswer, client.ScopeCall}})
	if err != nil {
		t.Fatal(err)
	}
	s.embed = minted.Token
	return s
}

func (s *signInSite) ask(method, path, bearer, body string) (int, []byte) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	s.said.Write(b)
	return resp.StatusCode, b
}

func (s *signInSite) row(id string) client.Server {
	s.t.Helper()
	list, err := s.client.Servers(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	text, _ := json.Marshal(list)
	s.said.Write(text)
	for _, one := range list {
		if one.ID == id {
			return one
		}
	}
	s.t.Fatalf("no server %s", id)
	return client.Server{}
}

// consent goes to the page and returns the query that the browser comes back with.
func (s *signInSite) consent(page *client.SignInPage) url.Values {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, page.URL, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	to, err := resp.Location()
	if err != nil || to.Scheme+"://"+to.Host+to.Path != s.URL+"/sign-in/servers/callback" {
		s.t.Fatalf("the way back: %s, %v", to, err)
	}
	return to.Query()
}

func signInReply(q url.Values) client.SignInReply {
	return client.SignInReply{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error")}
}

func TestSignInToAServer(t *testing.T) {
	t.Parallel()
	s := newSignInSite(t, "")
	ctx := t.Context()
	if row := s.row("shop"); row.SignIn != "none" || !row.CanSignIn {
		t.Errorf("at first: %+v", row)
	}
	if row := s.row("file"); row.CanSignIn {
		t.Errorf("with a header of the file: %+v", row)
	}
	if _, err := s.client.Tools(ctx, "shop"); client.Code(err) != "sign_in" {
		t.Errorf("without a sign-in: %v", err)
	}
	if row := s.row("shop"); row.SignIn != "needed" {
		t.Errorf("asked for: %+v", row)
	}
	page, err := s.client.SignIn(ctx, "shop")
	if err != nil {
		t.Fatal(err)
	}
	if page.Link == nil || page.Link.Host == "" || page.Link.Href != page.URL || page.Issuer == "" {
		t.Errorf("%+v", page)
	}
	q := s.consent(page)

	// The page of the callback does nothing by itself.
	path := "/sign-in/servers/callback?"
	for range 2 {
		if code, body := s.ask("GET", path+q.Encode(), "", ""); code != http.StatusOK || !bytes.Contains(body, []byte("signin.")) || bytes.Contains(body, []byte(q.Get("code"))) {
			t.Errorf("%d %s", code, body)
		}
	}
	for _, name := range []string{"state", "code", "iss", "error"} {
		if code, _ := s.ask("GET", path+q.Encode()+"&"+name+"=x&"+name+"=y", "", ""); code != http.StatusBadRequest {
			t.Errorf("%s twice: %d", name, code)
		}
	}
	if code, _ := s.ask("GET", path+"state="+strings.Repeat("x", 17<<10), "", ""); code != http.StatusBadRequest {
		t.Errorf("too long: %d", code)
	}
	// Nobody, and somebody else, take nothing away.
	text, err := json.Marshal(signInReply(q))
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := s.ask("POST", "/v1/servers/sign-in/callback", "", string(text)); code != http.StatusUnauthorized {
		t.Errorf("nobody: %d", code)
	}
	for _, route := range []string{"sign-in/callback", "shop/sign-in", "shop/sign-out", "shop/account"} {
		if code, _ := s.ask("POST", "/v1/servers/"+route, s.embed, string(text)); code != http.StatusForbidden && code != http.StatusNotFound {
			t.Errorf("the page of a product: %s: %d", route, code)
		}
	}
	got, err := s.client.SignedIn(ctx, signInReply(q))
	if err != nil || got.Outcome != "done" || got.Server != "shop" {
		t.Fatalf("%+v, %v", got, err)
	}
	if row := s.row("shop"); row.SignIn != "done" {
		t.Errorf("signed in: %+v", row)
	}
	if got, err := s.client.SignedIn(ctx, signInReply(q)); err != nil || got.Outcome != "done" || got.Server != "shop" {
		t.Errorf("again: %+v, %v", got, err)
	}
	if _, err := s.client.Tools(ctx, "shop"); err != nil {
		t.Error(err)
	}
	page, err = s.client.SignIn(ctx, "shop")
	if err != nil {
		t.Fatal(err)
	}
	wrong := signInReply(s.consent(page))
	wrong.Issuer = "https://evil.example"
	_, err = s.client.SignedIn(ctx, wrong)
	if client.Code(err) != "sign_in_failed" || strings.Contains(err.Error(), "evil") {
		t.Errorf("another issuer: %v", err)
	}
	if row := s.row("shop"); !row.CanSignOut || row.Status == "failed" {
		t.Errorf("before the sign-out: %+v", row)
	}
	out, err := s.client.SignOut(ctx, "shop")
	if err != nil || out.Server != "shop" || out.Revoked != "revoked" || s.provider.Counts().Revoked == 0 {
		t.Errorf("%+v, %v, %d tokens revoked", out, err, s.provider.Counts().Revoked)
	}
	if row := s.row("shop"); row.CanSignOut || row.SignIn != "none" {
		t.Errorf("after the sign-out: %+v", row)
	}
	if out, err := s.client.SignOut(ctx, "shop"); err != nil || out.Revoked != "nothing" {
		t.Errorf("once more: %+v, %v", out, err)
	}
	if _, err := s.client.Tools(ctx, "shop"); client.Code(err) != "sign_in" {
		t.Errorf("signed out: %v", err)
	}
	s.said.WriteString(s.log.String())
	for _, secret := range []string{"access.", "refresh.", "code.", "secret_"} {
		if strings.Contains(s.said.String(), secret) {
			t.Errorf("%q was said", secret)
		}
	}
}

// The document by which authorization servers know this host says the address that
// browsers use, and stands there only if that is https.
func TestClientMetadata(t *testing.T) {
	t.Parallel()
	s := newSignInSite(t, "https://parley.example.com/")
	code, body := s.ask("GET", serve.ClientMetadataPath, "", "")
	var doc struct {
		ID       string   `json:"client_id"`
		Name     string   `json:"client_name"`
		Redirect []string `json:"redirect_uris"`
		Method   string   `json:"token_endpoint_auth_method"`
	}
	if err := json.Unmarshal(body, &doc); err != nil || code != http.StatusOK {
		t.Fatalf("%d %s %v", code, body, err)
	}
	if doc.ID != "https://parley.example.com"+serve.ClientMetadataPath || doc.Name == "" || doc.Method != "none" ||
		len(doc.Redirect) != 1 || doc.Redirect[0] != "https://parley.example.com/sign-in/servers/callback" {
		t.Errorf("%+v", doc)
	}
	page, err := s.client.SignIn(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	if u, err := url.Parse(page.URL); err != nil || u.Query().Get("redirect_uri") != doc.Redirect[0] {
		t.Errorf("%s, %v", page.URL, err)
	}
	if code, _ := newSignInSite(t, "").ask("GET", serve.ClientMetadataPath, "", ""); code != http.StatusNotFound {
		t.Errorf("without a public address: %d", code)
	}
}
