package oidc_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/oidctest"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/serve/internal/conform"
	"github.com/parley-mcp/parley/serve/oidc"
	"github.com/parley-mcp/parley/store/memstore"
)

// A site is a host whose people sign in with a provider.
type site struct {
	t        *testing.T
	provider *oidctest.Provider
	url      string
	keys     *inbox.Keys
	store    inbox.Store
	client   *http.Client // trusts the site's certificate
	log      *syncBuffer
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newSite(t *testing.T, change func(*oidc.Options)) *site {
	t.Helper()
	s := &site{t: t, provider: oidctest.New(t), keys: inbox.NewKeys(), store: memstore.New(nil), log: &syncBuffer{}}
	s.open(change)
	return s
}

// open starts a machine on the site's store.
func (s *site) open(change func(*oidc.Options)) {
	s.t.Helper()
	var handler http.Handler
	var mu sync.Mutex
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := handler
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	s.t.Cleanup(server.Close)
	options := &oidc.Options{
		Issuer: s.provider.URL, ClientID: oidctest.ClientID, ClientSecret: host.NewSecret(oidctest.ClientSecret), PublicURL: server.URL,
		OperatorGroup: "ops", Store: s.store, Keys: s.keys, Log: slog.New(slog.NewTextHandler(s.log, nil)),
	}
	if change != nil {
		change(options)
	}
	signIn, err := oidc.Open(s.t.Context(), options)
	if err != nil {
		s.t.Fatal(err)
	}
	in := inbox.New(s.store, s.keys, nil)
	h, err := host.New(in, nil, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { h.Close() })
	mu.Lock()
	handler = conform.Handler(s.t, serve.New(h, in, &serve.Options{Identify: signIn.Identify, SignIn: signIn.Handler()}).Handler())
	mu.Unlock()
	s.url, s.client = server.URL, server.Client()
}

// A browser follows redirects and keeps cookies.
type browser struct {
	*http.Client
	site *site
	jar  http.CookieJar
}

func (s *site) browser() *browser {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	transport := s.client.Transport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: transport.TLSClientConfig.RootCAs}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &browser{&http.Client{Transport: transport, Jar: jar}, s, jar}
}

// get opens a path of the site, or an address.
func (b *browser) get(path string) (status int, body string, at *url.URL) {
	b.site.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = b.site.url + path
	}
	resp, err := b.Get(path)
	if err != nil {
		b.site.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		b.site.t.Fatal(err)
	}
	return resp.StatusCode, string(raw), resp.Request.URL
}

type session struct {
	Principal struct{ Issuer, Tenant, Subject string }
	Name      string
	Operator  bool
}

// session is who the browser is signed in as; false: nobody.
func (b *browser) session() (session, bool) {
	b.site.t.Helper()
	status, body, _ := b.get("/v1/session")
	var s session
	if status == http.StatusOK {
		if err := json.Unmarshal([]byte(body), &s); err != nil {
			b.site.t.Fatal(err)
		}
	}
	return s, status == http.StatusOK
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.provider.Claims["groups"] = []string{"staff", "ops"}
	b := s.browser()
	if _, in := b.session(); in {
		t.Fatal("signed in without a sign-in")
	}
	status, body, at := b.get("/")
	if status != http.StatusOK || at.Path != "/" || !strings.Contains(body, "page") {
		t.Fatalf("after the sign-in: %d at %s", status, at)
	}
	who, in := b.session()
	if !in || who.Principal.Issuer != s.provider.URL || who.Principal.Subject != "ann" || who.Name != "Ann" || !who.Operator {
		t.Fatalf("%+v", who)
	}
	u, _ := url.Parse(s.url)
	cookies := b.jar.Cookies(u)
	if len(cookies) != 1 || cookies[0].Name != "__Host-parley" {
		t.Fatalf("cookies %v", cookies)
	}

	// Signing out ends the session everywhere, also for who kept the cookie.
	kept := cookies[0].Value
	resp, err := b.Post(s.url+"/sign-out", "", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	b.jar.SetCookies(u, []*http.Cookie{{Name: "__Host-parley", Value: kept, Path: "/", Secure: true}})
	if who, in := b.session(); in {
		t.Errorf("a cookie works after the sign-out: %+v", who)
	}
	if log := s.log.String(); strings.Contains(log, "sentinel") || strings.Contains(log, oidctest.ClientSecret) {
		t.Errorf("the log tells secrets: %s", log)
	}
}

// A session is known to every machine on the store, and to none with other keys.
func TestSessionOnOtherMachine(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	b := s.browser()
	b.get("/")
	u, _ := url.Parse(s.url)
	cookie := b.jar.Cookies(u)[0]
	for name, test := range map[string]struct {
		keys *inbox.Keys
		want bool
	}{"the same keys": {s.keys, true}, "other keys": {inbox.NewKeys(), false}} {
		other := &site{t: t, provider: s.provider, keys: test.keys, store: s.store, log: s.log}
		other.open(nil)
		c := other.browser()
		at, _ := url.Parse(other.url)
		c.jar.SetCookies(at, []*http.Cookie{{Name: cookie.Name, Value: cookie.Value, Path: "/", Secure: true}})
		if _, in := c.session(); in != test.want {
			t.Errorf("%s: signed in %v", name, in)
		}
	}
}

// Who was erased is signed out, on every machine, and can sign in again as somebody new.
func TestErasedSession(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	b := s.browser()
	b.get("/")
	who, in := b.session()
	if !in {
		t.Fatal("not signed in")
	}
	erase := func(subject string) {
		if err := inbox.New(s.store, s.keys, nil).Erase(t.Context(), inbox.Principal{Issuer: who.Principal.Issuer, Subject: subject}); err != nil {
			t.Fatal(err)
		}
	}
	erase("bob")
	if _, in := b.session(); !in {
		t.Error("signed out because somebody else was erased")
	}
	erase("ann")
	if who, in := b.session(); in {
		t.Errorf("an erased person is signed in: %+v", who)
	}
	b.get("/sign-in")
	if _, in := b.session(); !in {
		t.Error("who comes back cannot sign in")
	}
	_, err := oidc.Open(t.Context(), &oidc.Options{
		Issuer: s.provider.URL, ClientID: oidctest.ClientID, PublicURL: s.url, Store: s.store, Keys: s.keys, Lifetime: inbox.ErasedTime + 1,
	})
	if err == nil {
		t.Error("a session may outlive the memory of an erasure")
	}
}

// What comes back is checked before the code goes out.
func TestCallbackRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer    func(q url.Values)
		metadata  map[string]any
		exchanges int
		want      string
	}{
		"another state":    {func(q url.Values) { q.Set("state", "x"+q.Get("state")) }, nil, 0, "another browser"},
		"no state":         {func(q url.Values) { q.Del("state") }, nil, 0, "another browser"},
		"two codes":        {func(q url.Values) { q.Add("code", "other") }, nil, 0, "does not fit"},
		"another issuer":   {func(q url.Values) { q.Set("iss", "https://evil.example") }, nil, 0, "does not fit"},
		"a slash more":     {func(q url.Values) { q.Set("iss", "ISSUER/") }, nil, 0, "does not fit"},
		"iss was promised": {nil, map[string]any{"authorization_response_iss_parameter_supported": true}, 0, "does not fit"},
		"no code":          {func(q url.Values) { q.Del("code") }, nil, 0, "does not fit"},
		"denied": {func(q url.Values) {
			q.Del("code")
			q.Set("error", "access_denied")
			q.Set("error_description", "<script>")
		}, nil, 0, "refused"},
		"an error":     {func(q url.Values) { q.Del("code"); q.Set("error", "server_error<script>") }, nil, 0, "could not be used"},
		"another code": {func(q url.Values) { q.Set("code", "guessed") }, nil, 1, "could not be used"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			s.provider.Set(func() {
				s.provider.Metadata = test.metadata
				s.provider.Answer = func(q url.Values) {
					if test.answer != nil {
						test.answer(q)
					}
					if q.Get("iss") == "ISSUER/" {
						q.Set("iss", s.provider.URL+"/")
					}
				}
			})
			s.open(nil) // reads the metadata again
			b := s.browser()
			status, body, _ := b.get("/")
			if status < 400 || !strings.Contains(body, test.want) || strings.Contains(body, "script") {
				t.Errorf("%d %s", status, body)
			}
			if _, in := b.session(); in {
				t.Error("signed in")
			}
			if s.provider.Requests() != test.exchanges {
				t.Errorf("%d requests to the token endpoint", s.provider.Requests())
			}
		})
	}
}

// An ID token counts only from the provider, for this client, of this sign-in.
func TestIDTokenRefused(t *testing.T) {
	t.Parallel()
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(p *oidctest.Provider){
		"another issuer": func(p *oidctest.Provider) { p.Claims["iss"] = "https://evil.example" },
		"another client": func(p *oidctest.Provider) { p.Claims["aud"] = "other" },
		"another nonce":  func(p *oidctest.Provider) { p.Claims["nonce"] = "other" },
		"no nonce":       func(p *oidctest.Provider) { p.Claims["nonce"] = "" },
		"expired":        func(p *oidctest.Provider) { p.Claims["exp"] = 1 },
		"no subject":     func(p *oidctest.Provider) { p.Claims["sub"] = "" },
		"another signer": func(p *oidctest.Provider) { p.Signer = stranger },
		"no token":       func(p *oidctest.Provider) { p.Token = func(b map[string]any) { delete(b, "id_token") } },
		"no signature": func(p *oidctest.Provider) {
			p.Token = func(b map[string]any) {
				parts := strings.Split(b["id_token"].(string), ".")
				b["id_token"] = "eyJhbGciOiJub25lIn0." + parts[1] + "."
			}
		},
		"many groups":    func(p *oidctest.Provider) { p.Claims["groups"] = make([]string, 501) },
		"odd groups":     func(p *oidctest.Provider) { p.Claims["groups"] = map[string]any{"ops": true} },
		"without tenant": func(p *oidctest.Provider) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(o *oidc.Options) {
				if name == "without tenant" {
					o.TenantClaim, o.OperatorTenant = "tid", "ours"
				}
			})
			s.provider.Set(func() { change(s.provider) })
			b := s.browser()
			status, body, _ := b.get("/")
			if status != http.StatusBadGateway || !strings.Contains(body, "could not be used") {
				t.Errorf("%d %s", status, body)
			}
			if who, in := b.session(); in {
				t.Errorf("signed in as %+v", who)
			}
			if log := s.log.String(); strings.Contains(log, "sentinel") {
				t.Errorf("the log tells secrets: %s", log)
			}
		})
	}
}

// A link to the callback that somebody else began signs nobody in, and uses up nothing
// of theirs; the same answer counts once.
func TestCallbackOfAnotherBrowser(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	ann, victim := s.browser(), s.browser()
	ann.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/sign-in/callback" {
			return http.ErrUseLastResponse
		}
		return nil
	}
	resp, err := ann.Get(s.url + "/sign-in")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	link := resp.Header.Get("Location")
	if status, _, _ := victim.get(link); status != http.StatusBadRequest {
		t.Errorf("another browser: %d", status)
	}
	if _, in := victim.session(); in {
		t.Error("another browser is signed in")
	}
	if s.provider.Requests() != 0 {
		t.Error("the code went out for another browser")
	}
	if status, _, _ := ann.get(link); status != http.StatusOK {
		t.Errorf("the browser that began: %d", status)
	}
	if status, _, _ := ann.get(link); status != http.StatusBadRequest || s.provider.Requests() != 1 {
		t.Errorf("a second time: %d, %d requests", status, s.provider.Requests())
	}
}

// A session that was planted before the sign-in is worth nothing after it.
func TestSessionFixation(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	attacker := s.browser()
	attacker.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := attacker.Get(s.url + "/sign-in")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	u, _ := url.Parse(s.url)
	planted := attacker.jar.Cookies(u)
	victim := s.browser()
	victim.jar.SetCookies(u, []*http.Cookie{{Name: planted[0].Name, Value: planted[0].Value, Path: "/", Secure: true}})
	victim.get("/sign-in")
	if _, in := victim.session(); !in {
		t.Fatal("the victim is not signed in")
	}
	if who, in := attacker.session(); in {
		t.Errorf("the planted session is %+v", who)
	}
}

func TestReturn(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for in, want := range map[string]string{
		"/": "/", "/?q=1": "/", "//evil.example": "/", `/\evil.example`: "/", "https://evil.example": "/", "evil": "/", "/\t/evil.example": "/", "": "/",
	} {
		_, _, at := s.browser().get("/sign-in?return=" + url.QueryEscape(in))
		if at.Host != strings.TrimPrefix(s.url, "https://") || at.Path != want {
			t.Errorf("%q leads to %s", in, at)
		}
	}
}

// Who opens the link to a question signs in and is there.
func TestLinkToQuestion(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	if _, _, at := s.browser().get("/?q=q_1&x=a%26b"); at.Path != "/" || at.RawQuery != "q=q_1&x=a%26b" {
		t.Errorf("the sign-in ends at %s", at)
	}
}

// Requests that change something and come from other sites are refused.
func TestCrossSite(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	b := s.browser()
	b.get("/")
	for _, header := range []http.Header{
		{"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}}, {"Origin": {"https://evil.example"}}, {"Origin": {"null"}},
	} {
		for _, path := range []string{"/sign-out", "/v1/calls", "/v1/questions/x/answer"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = header.Clone()
			resp, err := b.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s with %v: %d", path, header, resp.StatusCode)
			}
		}
	}
	if _, in := b.session(); !in {
		t.Error("another site signed the person out")
	}
}

func TestOpenRefused(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	good := oidc.Options{Issuer: p.URL, ClientID: oidctest.ClientID, PublicURL: "https://parley.example.com", Store: memstore.New(nil), Keys: inbox.NewKeys()}
	for name, change := range map[string]func(*oidc.Options){
		"plain http":     func(o *oidc.Options) { o.PublicURL = "http://parley.example.com" },
		"a path":         func(o *oidc.Options) { o.PublicURL = "https://parley.example.com/x" },
		"no address":     func(o *oidc.Options) { o.PublicURL = "" },
		"no client":      func(o *oidc.Options) { o.ClientID = "" },
		"another issuer": func(o *oidc.Options) { o.Issuer += "/" },
		"nobody there":   func(o *oidc.Options) { o.Issuer = "http://127.0.0.1:1" },
	} {
		o := good
		change(&o)
		if _, err := oidc.Open(t.Context(), &o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := oidc.Open(t.Context(), &good); err != nil {
		t.Error(err)
	}
	p.Set(func() { p.Metadata = map[string]any{"code_challenge_methods_supported": []string{"plain"}} })
	if _, err := oidc.Open(t.Context(), &good); err == nil {
		t.Error("a provider without S256 is taken")
	}
}
