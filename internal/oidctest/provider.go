// Package oidctest is an OpenID provider for tests: on the wire as real ones are, with
// one person who agrees at once, and wrong in the ways that a test sets.
//
//	p := oidctest.New(t)
//	signIn, err := oidc.Open(ctx, &oidc.Options{Issuer: p.URL, ClientID: oidctest.ClientID, ...})
//	p.Set(func() { p.Claims["nonce"] = "another sign-in's" })
package oidctest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// The one client that a provider knows.
const ClientID, ClientSecret = "parley", "s3cret-of-the-client"

// A Provider has discovery, keys, the authorization endpoint with PKCE, and the token
// endpoint, which takes each code once. Change its fields inside of Set.
type Provider struct {
	*httptest.Server

	Claims   map[string]any            // of the ID tokens, beside the usual ones
	Metadata map[string]any            // more of it
	Answer   func(q url.Values)        // changes the query of the way back
	Token    func(body map[string]any) // changes the token response
	Signer   *rsa.PrivateKey           // signs instead of the provider's key

	key      *rsa.PrivateKey
	mu       sync.Mutex
	codes    map[string]url.Values // the authorization requests by code
	requests int                   // at the token endpoint
}

// New starts a provider whose person is "ann".
func New(t testing.TB) *Provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{key: key, codes: map[string]url.Values{}, Claims: map[string]any{"sub": "ann", "name": "Ann"}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.exchange)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// Set changes the provider between requests.
func (p *Provider) Set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// Requests is how often the token endpoint was asked.
func (p *Provider) Requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"RS256"}, "code_challenge_methods_supported": []string{"S256"},
	}
	maps.Copy(m, p.Metadata)
	answer(w, http.StatusOK, m)
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: "1", Algorithm: "RS256", Use: "sig"}}})
}

// authorize asks nobody and sends the browser back.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	in := r.URL.Query()
	code := rand.Text()
	p.codes[code] = in
	out := url.Values{"code": {code}, "state": {in.Get("state")}}
	if p.Answer != nil {
		p.Answer(out)
	}
	http.Redirect(w, r, in.Get("redirect_uri")+"?"+out.Encode(), http.StatusFound) //nolint:gosec // a test's own client
}

// exchange takes each code once, from the client that asked for it, with its verifier.
func (p *Provider) exchange(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	fail := func(code string) {
		answer(w, http.StatusBadRequest, map[string]string{"error": code, "error_description": "sentinel-in-a-description"})
	}
	id, secret, _ := r.BasicAuth()
	asked, ok := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	switch {
	case id != ClientID || secret != ClientSecret:
		fail("invalid_client")
		return
	case !ok || asked.Get("redirect_uri") != r.PostFormValue("redirect_uri") ||
		asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(challenge[:]) || asked.Get("code_challenge_method") != "S256":
		fail("invalid_grant")
		return
	}
	claims := map[string]any{
		"iss": p.URL, "aud": ClientID, "nonce": asked.Get("nonce"),
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
	}
	maps.Copy(claims, p.Claims)
	key := p.key
	if p.Signer != nil {
		key = p.Signer
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "1"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	idToken, err := signed.CompactSerialize()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	body := map[string]any{"access_token": "sentinel-access-token", "token_type": "Bearer", "expires_in": 60, "id_token": idToken}
	if p.Token != nil {
		p.Token(body)
	}
	answer(w, http.StatusOK, body)
}

func answer(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client is gone: nobody to tell
}
