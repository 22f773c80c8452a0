package fakeprovider

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Options of a [Server]; zero fields are the defaults.
type Options struct {
	Issuer string // default: the address under which a request reached it

	// KeepRefresh makes refresh tokens last: a refresh answers without one. The
	// default is that each is used once and answered with its successor.
	KeepRefresh bool
	// Grace is how long a used refresh token is taken again; [UntilUse]: until
	// its successor is used. A retry ends the successor that was given before.
	Grace time.Duration
	// RevokeFamily makes the reuse of a refresh token end the whole grant (RFC
	// 9700, section 4.14.2).
	RevokeFamily bool

	Lifetime time.Duration // of access tokens; default one hour
	NoIss    bool          // neither advertise nor send iss (RFC 9207)
	Subject  string        // who consents; default "ada"
	Deny     bool          // consent to nothing: access_denied
	NoRevoke bool          // do not advertise revocation (RFC 7009)

	Now func() time.Time // default time.Now

	// Granted, if set, is called with the request of each grant or refresh once
	// it is committed and before the response is written.
	Granted func(*http.Request)
	// Answered, if set, is called after a response of the token endpoint was
	// written and flushed.
	Answered func(*http.Request)
}

// UntilUse is a [Options.Grace] that ends with the successor's first use.
const UntilUse = time.Duration(-1)

// Counts are what arrived and what became of it.
type Counts struct {
	Metadata, Register, Authorize, Exchange, Refresh, Revoke int // requests
	Refreshed                                                int // refreshes that were committed
	Retried                                                  int // of them those within the grace
	Reused                                                   int // refresh tokens that came again without grace
	InvalidGrant                                             int // answers
	InvalidClient                                            int
	Revoked                                                  int // tokens that were known
}

// A Client is a registration.
type Client struct {
	ID           string   `json:"client_id"`
	Secret       string   `json:"client_secret,omitempty"`
	Method       string   `json:"token_endpoint_auth_method"` // none, client_secret_basic or client_secret_post
	RedirectURIs []string `json:"redirect_uris,omitempty"`
}

// Server is the authorization server. It is safe for concurrent use.
type Server struct {
	options Options
	mux     *http.ServeMux

	mu      sync.Mutex
	counts  Counts
	clients map[string]Client
	codes   map[string]*code
	refresh map[string]*refreshToken
	access  map[string]*accessToken
	faults  map[string][]Fault
	forms   map[string]url.Values // the last of each endpoint
}

// New makes a server. Options may be nil.
func New(options *Options) *Server {
	s := &Server{
		mux: http.NewServeMux(), clients: map[string]Client{}, codes: map[string]*code{},
		refresh: map[string]*refreshToken{}, access: map[string]*accessToken{}, faults: map[string][]Fault{}, forms: map[string]url.Values{},
	}
	if options != nil {
		s.options = *options
	}
	if s.options.Lifetime == 0 {
		s.options.Lifetime = time.Hour
	}
	if s.options.Subject == "" {
		s.options.Subject = "ada"
	}
	if s.options.Now == nil {
		s.options.Now = time.Now
	}
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		s.mux.HandleFunc("GET "+path, s.endpoint("metadata", s.metadata))
	}
	s.mux.HandleFunc("POST /register", s.endpoint("register", s.register))
	s.mux.HandleFunc("GET /authorize", s.endpoint("authorize", s.authorize))
	s.mux.HandleFunc("POST /token", s.endpoint("token", s.token))
	s.mux.HandleFunc("POST /revoke", s.endpoint("revoke", s.revoke))
	s.mux.HandleFunc("POST /-/grant", s.controlGrant)
	s.mux.HandleFunc("POST /-/misbehave", s.controlMisbehave)
	s.mux.HandleFunc("GET /-/counts", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, s.Counts()) })
	return s
}

// Start runs a server on the loopback address until the test ends. The URL is
// its issuer. Options may be nil.
func Start(t testing.TB, options *Options) (s *Server, issuer string) {
	t.Helper()
	s = New(options)
	running := httptest.NewServer(s)
	t.Cleanup(func() {
		running.CloseClientConnections() // those that a fault holds
		running.Close()
	})
	return s, running.URL
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Counts returns what arrived so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Form returns a copy of what the last request to the endpoint (token, revoke)
// had in its body, or nil.
func (s *Server) Form(endpoint string) url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	form := url.Values{}
	maps.Copy(form, s.forms[endpoint])
	return form
}

// AddClient registers a client by hand.
func (s *Server) AddClient(c Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[c.ID] = c
}

// issuer is the address under which this request came, unless one is set.
func (s *Server) issuer(r *http.Request) string {
	if s.options.Issuer != "" {
		return s.options.Issuer
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	s.count(&s.counts.Metadata)
	issuer := s.issuer(r)
	m := map[string]any{ // RFC 8414, section 2
		"issuer": issuer, "authorization_endpoint": issuer + "/authorize", "token_endpoint": issuer + "/token",
		"registration_endpoint": issuer + "/register", "revocation_endpoint": issuer + "/revoke",
		"response_types_supported": []string{"code"}, "grant_types_supported": []string{"authorization_code", "refresh_token"},
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_basic", "client_secret_post"},
		"authorization_response_iss_parameter_supported": !s.options.NoIss,
	}
	if s.options.NoRevoke {
		delete(m, "revocation_endpoint")
	}
	writeJSON(w, http.StatusOK, m)
}

// register registers anybody (RFC 7591, sections 3.1 and 3.2).
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	s.count(&s.counts.Register)
	c := Client{Method: "client_secret_basic"}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&c); err != nil || len(c.RedirectURIs) == 0 {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_redirect_uri"})
		return
	}
	c.ID, c.Secret = "client_"+rand.Text(), ""
	if c.Method != "none" {
		c.Secret = "secret_" + rand.Text()
	}
	s.AddClient(c)
	answer := map[string]any{
		"client_id": c.ID, "client_id_issued_at": s.options.Now().Unix(), "redirect_uris": c.RedirectURIs,
		"token_endpoint_auth_method": c.Method, "grant_types": []string{"authorization_code", "refresh_token"},
	}
	if c.Secret != "" {
		answer["client_secret"], answer["client_secret_expires_at"] = c.Secret, 0
	}
	writeJSON(w, http.StatusCreated, answer)
}

// authenticate finds the client of a request, by the method that it registered
// and no other.
func (s *Server) authenticate(r *http.Request) (Client, bool) {
	id, secret, basic := r.BasicAuth()
	inBody := r.PostForm.Has("client_id") || r.PostForm.Has("client_secret")
	if basic && inBody { // RFC 6749, section 2.3: one method for a request
		return Client{}, false
	}
	method := "client_secret_basic"
	if basic {
		var err1, err2 error
		id, err1 = url.QueryUnescape(id)
		secret, err2 = url.QueryUnescape(secret)
		if err1 != nil || err2 != nil {
			return Client{}, false
		}
	} else {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
		method = "none"
		if r.PostForm.Has("client_secret") {
			method = "client_secret_post"
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, known := s.clients[id]
	return c, known && c.Method == method && c.Secret == secret
}

func (s *Server) count(n *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
}

// fail answers with an error of RFC 6749, section 5.2.
func (s *Server) fail(w http.ResponseWriter, status int, code string) {
	switch code {
	case "invalid_grant":
		s.count(&s.counts.InvalidGrant)
	case "invalid_client":
		s.count(&s.counts.InvalidClient)
	}
	writeJSON(w, status, map[string]any{"error": code, "error_description": "refused by the fake provider"})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that has left is no concern of ours
}
