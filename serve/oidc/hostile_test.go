package oidc_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/oidctest"
	"github.com/parley-mcp/parley/serve/oidc"
	"github.com/parley-mcp/parley/store/memstore"
)

// A group of the operators' name in another tenant is another group.
func TestOperatorsOfOneTenant(t *testing.T) {
	t.Parallel()
	for tenant, want := range map[string]bool{"ours": true, "theirs": false} {
		s := newSite(t, func(o *oidc.Options) { o.TenantClaim, o.OperatorTenant = "tid", "ours" })
		s.provider.Set(func() { s.provider.Claims["groups"], s.provider.Claims["tid"] = []string{"ops"}, tenant })
		b := s.browser()
		b.get("/")
		if who, in := b.session(); !in || who.Operator != want {
			t.Errorf("%s: %+v, %v", tenant, who, in)
		}
		if status, _, _ := b.get("/v1/ops/audit"); (status == http.StatusOK) != want {
			t.Errorf("%s: the audit of everybody answers %d", tenant, status)
		}
	}
	p := oidctest.New(t)
	for name, o := range map[string]oidc.Options{
		"any tenant's group":         {TenantClaim: "tid", OperatorGroup: "ops"},
		"a tenant of people of none": {OperatorTenant: "ours", OperatorGroup: "ops"},
	} {
		o.Issuer, o.ClientID, o.PublicURL = p.URL, oidctest.ClientID, "https://parley.example.com"
		o.Store, o.Keys = memstore.New(nil), inbox.NewKeys()
		if _, err := oidc.Open(t.Context(), &o); err == nil || !strings.Contains(err.Error(), "tenant") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a provider says of itself crosses no network in the clear, and what is no provider
// is not printed.
func TestProviderInTheClear(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	good := oidc.Options{Issuer: p.URL, ClientID: oidctest.ClientID, PublicURL: "https://parley.example.com", Store: memstore.New(nil), Keys: inbox.NewKeys()}
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "jwks_uri"} {
		p.Set(func() { p.Metadata = map[string]any{name: "http://id.example.com/x"} })
		if _, err := oidc.Open(t.Context(), &good); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	clear := good
	clear.Issuer = "http://id.example.com"
	if _, err := oidc.Open(t.Context(), &clear); err == nil || !strings.Contains(err.Error(), "https") {
		t.Errorf("an issuer in the clear: %v", err)
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "\x1b[2J"+strings.Repeat("<html>", 10000))
	}))
	defer page.Close()
	wrong := good
	wrong.Issuer = page.URL
	if _, err := oidc.Open(t.Context(), &wrong); err == nil || len(err.Error()) > 500 || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("an address that is no provider: %.600v", err)
	}
}

// Sign-ins that nobody finishes are kept for as long as they can be finished.
func TestAbandonedSignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	b := s.browser()
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := b.Get(s.url + "/sign-in")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if c := resp.Cookies(); len(c) != 1 || c[0].MaxAge < 1 || c[0].MaxAge > 601 {
		t.Errorf("%v", c)
	}
	whole := s.browser()
	whole.get("/")
	at, _ := url.Parse(s.url)
	if len(whole.jar.Cookies(at)) != 1 {
		t.Error("no session after the sign-in")
	}
	resp, err = whole.Get(s.url + "/sign-in")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if _, in := whole.session(); !in {
		t.Error("who signs in again is signed out")
	}
}

// A subject that no store takes signs nobody in.
func TestLongSubject(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.provider.Set(func() { s.provider.Claims["sub"] = strings.Repeat("a", 2000) })
	if status, _, _ := s.browser().get("/"); status != http.StatusBadGateway {
		t.Errorf("status %d", status)
	}
}

func TestSecretDoesNotPrint(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	o := &oidc.Options{Issuer: p.URL, ClientID: oidctest.ClientID, ClientSecret: host.NewSecret(oidctest.ClientSecret), PublicURL: "https://parley.example.com", Store: memstore.New(nil), Keys: inbox.NewKeys()}
	s, err := oidc.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if text := fmt.Sprintf(verb+verb, s, o); strings.Contains(text, oidctest.ClientSecret) {
			t.Errorf("%s prints the secret: %s", verb, text)
		}
	}
}

// Names of claims are case-sensitive: whoever may name some of their own is still nobody else.
func TestClaimsByCase(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"SUB", "\u017fub", "ISS", "Nonce"} {
		s := newSite(t, nil)
		s.provider.Set(func() { s.provider.Claims["sub"], s.provider.Claims[name] = "mallory", "ann" })
		b := s.browser()
		status, _, _ := b.get("/")
		if who, in := b.session(); in || status == http.StatusOK {
			t.Errorf("%s: status %d, %+v", name, status, who)
		}
	}
}
