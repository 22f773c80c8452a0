package fakeprovider

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// family is a grant: all tokens that came of one consent.
type family struct {
	client, subject, scope, resource string
	revoked                          bool
}

type code struct {
	*family
	redirect, challenge string
	expires             time.Time
	used                bool
}

type refreshToken struct {
	*family
	used      time.Time     // zero: not yet
	successor *refreshToken // of the last use
	ended     bool          // given again by a retry of its predecessor
}

type accessToken struct {
	*family
	expires time.Time
	revoked bool
}

// Grant makes a grant without consent, for tests that begin later.
func (s *Server) Grant(client, subject, scope string) (refresh, access string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &family{client: client, subject: subject, scope: scope}
	return s.newRefresh(f), s.newAccess(f)
}

func (s *Server) newRefresh(f *family) string {
	text := "refresh." + rand.Text() + rand.Text()
	s.refresh[text] = &refreshToken{family: f}
	return text
}

func (s *Server) newAccess(f *family) string {
	text := "access." + rand.Text() + rand.Text()
	s.access[text] = &accessToken{family: f, expires: s.options.Now().Add(s.options.Lifetime)}
	return text
}

// Valid reports whether the access token can be used now, and whose it is.
func (s *Server) Valid(access string) (subject string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.access[access]
	if a == nil || a.revoked || a.family.revoked || !s.options.Now().Before(a.expires) {
		return "", false
	}
	return a.subject, true
}

// Scope is that of the access token, as it was asked for.
func (s *Server) Scope(access string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.access[access]; a != nil {
		return a.scope
	}
	return ""
}

// SetSubject says who consents from now on.
func (s *Server) SetSubject(subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Subject = subject
}

// idToken says who has consented (OpenID Connect Core 2). Nobody here checks its
// signature, which is none.
func (s *Server) idToken(f *family, issuer string) string {
	part := func(v any) string {
		text, _ := json.Marshal(v) //nolint:errchkjson // texts and numbers
		return base64.RawURLEncoding.EncodeToString(text)
	}
	now := s.options.Now()
	return part(map[string]any{"alg": "RS256"}) + "." + part(map[string]any{
		"iss": issuer, "sub": f.subject, "aud": f.client, "email": f.subject + "@id.example", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}) + "." + base64.RawURLEncoding.EncodeToString([]byte("not signed"))
}

// Refreshable reports whether the refresh token would be taken now.
func (s *Server) Refreshable(refresh string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.refresh[refresh]
	return r != nil && s.usable(r)
}

// authorize consents at once (RFC 6749, section 4.1.1).
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	s.count(&s.counts.Authorize)
	q := r.URL.Query()
	s.mu.Lock()
	c, known := s.clients[q.Get("client_id")]
	s.mu.Unlock()
	redirect, err := url.Parse(q.Get("redirect_uri"))
	if !known || err != nil || !slices.Contains(c.RedirectURIs, q.Get("redirect_uri")) {
		http.Error(w, "unknown client or redirect_uri", http.StatusBadRequest) // RFC 6749, section 4.1.2.1: no redirect
		return
	}
	back := redirect.Query()
	if q.Has("state") {
		back.Set("state", q.Get("state"))
	}
	if !s.options.NoIss { // RFC 9207, section 2
		back.Set("iss", s.issuer(r))
	}
	switch {
	case q.Get("response_type") != "code":
		back.Set("error", "unsupported_response_type")
	case q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43:
		back.Set("error", "invalid_request")
	case s.options.Deny:
		back.Set("error", "access_denied")
	default:
		text := "code." + rand.Text()
		s.mu.Lock()
		s.codes[text] = &code{
			family:   &family{client: c.ID, subject: s.options.Subject, scope: q.Get("scope"), resource: q.Get("resource")},
			redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"), expires: s.options.Now().Add(time.Minute),
		}
		s.mu.Unlock()
		back.Set("code", text)
	}
	redirect.RawQuery = back.Encode()
	http.Redirect(w, r, redirect.String(), http.StatusFound) //nolint:gosec // the client registered it
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	c, ok := s.form(w, r, "token")
	if !ok {
		return
	}
	var answer map[string]any
	failure := "unsupported_grant_type"
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		answer, failure = s.exchange(c, r.PostForm, s.issuer(r))
	case "refresh_token":
		answer, failure = s.use(c, r.PostForm)
	}
	if answer == nil {
		s.fail(w, http.StatusBadRequest, failure)
		return
	}
	if s.options.Granted != nil {
		s.options.Granted(r)
	}
	writeJSON(w, http.StatusOK, answer)
}

// form checks the form, which [Server.endpoint] has read, and finds the client;
// it answers if it cannot.
func (s *Server) form(w http.ResponseWriter, r *http.Request, endpoint string) (Client, bool) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		s.fail(w, http.StatusBadRequest, "invalid_request")
		return Client{}, false
	}
	for name, values := range r.PostForm { // RFC 6749, section 3.2: not twice; RFC 8707 allows it of resource
		if len(values) > 1 && name != "resource" {
			s.fail(w, http.StatusBadRequest, "invalid_request")
			return Client{}, false
		}
	}
	s.mu.Lock()
	s.forms[endpoint] = r.PostForm
	switch {
	case endpoint == "revoke":
		s.counts.Revoke++
	case r.PostForm.Get("grant_type") == "refresh_token":
		s.counts.Refresh++
	case r.PostForm.Get("grant_type") == "authorization_code":
		s.counts.Exchange++
	}
	s.mu.Unlock()
	c, ok := s.authenticate(r)
	if !ok {
		w.Header().Set("WWW-Authenticate", "Basic")
		s.fail(w, http.StatusUnauthorized, "invalid_client")
	}
	return c, ok
}

// exchange takes a code (RFC 6749, section 4.1.3; RFC 7636, section 4.6).
func (s *Server) exchange(c Client, form url.Values, issuer string) (answer map[string]any, failure string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	code := s.codes[form.Get("code")]
	if code == nil || code.client != c.ID || code.revoked {
		return nil, "invalid_grant"
	}
	if code.used { // RFC 6749, section 4.1.2
		code.revoked = true
		return nil, "invalid_grant"
	}
	code.used = true
	digest := sha256.Sum256([]byte(form.Get("code_verifier")))
	if base64.RawURLEncoding.EncodeToString(digest[:]) != code.challenge || form.Get("redirect_uri") != code.redirect || !s.options.Now().Before(code.expires) {
		return nil, "invalid_grant"
	}
	if form.Has("resource") && form.Get("resource") != code.resource { // RFC 8707, section 2.2
		return nil, "invalid_target"
	}
	answer = s.answer(code.family)
	answer["refresh_token"] = s.newRefresh(code.family)
	if slices.Contains(strings.Fields(code.scope), "openid") {
		answer["id_token"] = s.idToken(code.family, issuer)
	}
	return answer, ""
}

func (s *Server) answer(f *family) map[string]any {
	answer := map[string]any{"access_token": s.newAccess(f), "token_type": "Bearer", "expires_in": int(s.options.Lifetime.Seconds())}
	if f.scope != "" {
		answer["scope"] = f.scope
	}
	return answer
}

// use takes a refresh token (RFC 6749, section 6).
func (s *Server) use(c Client, form url.Values) (answer map[string]any, failure string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.refresh[form.Get("refresh_token")]
	if r == nil || r.client != c.ID {
		return nil, "invalid_grant"
	}
	for one := range strings.FieldsSeq(form.Get("scope")) {
		if !slices.Contains(strings.Fields(r.scope), one) {
			return nil, "invalid_scope"
		}
	}
	if !s.usable(r) {
		if !r.used.IsZero() || r.ended {
			s.counts.Reused++
			r.revoked = r.revoked || s.options.RevokeFamily
		}
		return nil, "invalid_grant"
	}
	s.counts.Refreshed++
	answer = s.answer(r.family)
	if s.options.KeepRefresh {
		return answer, ""
	}
	if r.successor != nil {
		s.counts.Retried++
		r.successor.ended = true
	} else {
		r.used = s.options.Now()
	}
	text := s.newRefresh(r.family)
	r.successor = s.refresh[text]
	answer["refresh_token"] = text
	return answer, ""
}

// usable: not used yet, or within the grace.
func (s *Server) usable(r *refreshToken) bool {
	switch {
	case r.revoked || r.ended:
		return false
	case r.used.IsZero():
		return true
	case s.options.Grace == UntilUse:
		return r.successor.used.IsZero()
	}
	return s.options.Now().Before(r.used.Add(s.options.Grace))
}

// revoke revokes a token of the client (RFC 7009, section 2.1). One that is not
// known is no error.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	c, ok := s.form(w, r, "revoke")
	if !ok {
		return
	}
	s.mu.Lock()
	text := r.PostForm.Get("token")
	if token := s.refresh[text]; token != nil && token.client == c.ID {
		token.revoked = true
		s.counts.Revoked++
	}
	if token := s.access[text]; token != nil && token.client == c.ID {
		token.revoked = true
		s.counts.Revoked++
	}
	s.mu.Unlock()
	w.WriteHeader(http.StatusOK)
}

func (s *Server) controlGrant(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Client  string `json:"client"`
		Subject string `json:"subject"`
		Scope   string `json:"scope"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	refresh, access := s.Grant(in.Client, in.Subject, in.Scope)
	writeJSON(w, http.StatusOK, map[string]string{"refresh_token": refresh, "access_token": access})
}
