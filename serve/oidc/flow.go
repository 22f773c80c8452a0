package oidc

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/exact"
	"github.com/parley-mcp/parley/internal/plain"
)

// Routes are the paths of [SignIn.Handler].
var Routes = []string{"GET /sign-in", "GET /sign-in/callback", "POST /sign-out"}

// Handler serves [Routes]. It goes behind the headers and checks of package serve:
// serve.Options.SignIn.
func (s *SignIn) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sign-in", s.start)
	mux.HandleFunc("GET /sign-in/callback", s.callback)
	mux.HandleFunc("POST /sign-out", s.signOut)
	return s.sessions.LoadAndSave(mux)
}

// start sends the browser to the provider. What the way back is checked against is in
// the browser's session.
func (s *SignIn) start(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	left, err := s.store().time(ctx) // the way back may end at another machine, whose clock is another one
	if err != nil {
		s.sessions.ErrorFunc(w, r, err)
		return
	}
	state, nonce, verifier := random(), random(), oauth2.GenerateVerifier()
	s.sessions.Put(ctx, stateKey, state)
	s.sessions.Put(ctx, nonceKey, nonce)
	s.sessions.Put(ctx, verifierKey, verifier)
	s.sessions.Put(ctx, returnKey, returnPath(r.URL.Query().Get("return")))
	s.sessions.Put(ctx, leftKey, left.Unix())
	if s.sessions.GetString(ctx, subjectKey) == "" {
		// Anybody can begin a sign-in. What nobody finishes is kept no longer than it counts.
		s.sessions.SetDeadline(ctx, time.Now().Add(flowTime).UTC())
	}
	http.Redirect(w, r, s.config.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), http.StatusSeeOther)
}

func random() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails (crypto/rand, since Go 1.24)
	return base64.RawURLEncoding.EncodeToString(b)
}

// returnPath is where the person wanted to go, if that is a path of this host.
// Browsers read "//" and "/\" as the beginning of another host's name.
func returnPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(text, "/") || len(text) > 2000 ||
		strings.HasPrefix(text, "//") || strings.ContainsAny(text, "\\\x00\t\r\n") {
		return "/"
	}
	return text
}

// callback takes the provider's answer.
func (s *SignIn) callback(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	to := s.sessions.GetString(ctx, returnKey)
	err := s.finish(w, r)
	if err == nil {
		http.Redirect(w, r, returnPath(to), http.StatusSeeOther)
		return
	}
	s.log.WarnContext(ctx, "a sign-in failed", "issuer", s.options.Issuer, "err", err)
	var no *refusal
	switch {
	case errors.As(err, &no):
		answer(w, no.status, no.page)
	default:
		answer(w, http.StatusBadGateway, pageProvider)
	}
}

// A refusal is a sign-in that did not come about, with the page that says so.
type refusal struct {
	status int
	page   page
	why    string
}

func (e *refusal) Error() string { return e.why }

func (s *SignIn) finish(_ http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return &refusal{http.StatusBadRequest, pageOdd, "the query cannot be read"}
	}
	for name, values := range query {
		if len(values) > 1 {
			return &refusal{http.StatusBadRequest, pageOdd, fmt.Sprintf("the parameter %q comes %d times", plain.Line(name, 40), len(values))}
		}
	}
	// A browser without the session, or with another sign-in's state, uses nothing up.
	state := s.sessions.GetString(ctx, stateKey)
	if state == "" || subtle.ConstantTimeCompare([]byte(state), []byte(query.Get("state"))) != 1 {
		return &refusal{http.StatusBadRequest, pageState, "the state is not one of this browser's session"}
	}
	nonce, verifier := s.sessions.PopString(ctx, nonceKey), s.sessions.PopString(ctx, verifierKey)
	left := s.sessions.GetInt64(ctx, leftKey)
	for _, key := range []string{stateKey, returnKey, leftKey} {
		s.sessions.Remove(ctx, key)
	}
	// Used up before anything is sent: the same answer a second time finds no state.
	if _, _, err := s.sessions.Commit(ctx); err != nil {
		return &refusal{http.StatusServiceUnavailable, pageTrouble, "storing a session: " + err.Error()}
	}
	now, err := s.store().time(ctx)
	if err != nil {
		return &refusal{http.StatusServiceUnavailable, pageTrouble, "reading the time: " + err.Error()}
	}
	if now.Sub(time.Unix(left, 0)) > flowTime {
		return &refusal{http.StatusBadRequest, pageState, "the sign-in took too long"}
	}
	// RFC 9207, section 2.4: compared as a string; and on a mismatch nothing of the answer is shown.
	if iss := query.Get("iss"); iss != s.options.Issuer && (iss != "" || s.issParam) {
		return &refusal{http.StatusBadRequest, pageOdd, "the answer is of another issuer"}
	}
	if query.Has("error") {
		code := plain.Line(query.Get("error"), 40)
		if code == "access_denied" {
			return &refusal{http.StatusForbidden, pageDenied, "the provider says access_denied"}
		}
		return &refusal{http.StatusBadGateway, pageProvider, "the provider says " + code}
	}
	if query.Get("code") == "" {
		return &refusal{http.StatusBadRequest, pageOdd, "there is no code"}
	}
	who, err := s.exchange(ctx, query.Get("code"), nonce, verifier)
	if err != nil {
		return err
	}
	kept, err := writeGroups(who.groups)
	if err != nil {
		return err
	}
	since, err := s.inbox.Time(ctx, s.principal(who))
	if err != nil {
		return &refusal{http.StatusServiceUnavailable, pageTrouble, "reading the time of the store: " + err.Error()}
	}
	// A new name for the session: one that was known before the sign-in signs nobody in
	// (session fixation), and nothing of whoever was signed in here before stays.
	err = s.sessions.Clear(ctx)
	if err == nil {
		err = s.sessions.RenewToken(ctx)
	}
	if err != nil {
		return &refusal{http.StatusServiceUnavailable, pageTrouble, "storing a session: " + err.Error()}
	}
	s.sessions.Put(ctx, issuerKey, s.options.Issuer)
	s.sessions.Put(ctx, tenantKey, who.tenant)
	s.sessions.Put(ctx, subjectKey, who.subject)
	s.sessions.Put(ctx, nameKey, who.name)
	s.sessions.Put(ctx, groupsKey, kept)
	s.sessions.Put(ctx, signedInKey, since.Format(time.RFC3339Nano))
	return nil
}

// claims are what the host keeps of an ID token.
type claims struct {
	subject, tenant, name string
	groups                []string
}

const (
	maxGroups    = 500
	maxGroup     = 200  // bytes
	maxPrincipal = 1024 // bytes of a key, as the inbox takes
)

// exchange trades the code for an ID token and reads it.
func (s *SignIn) exchange(ctx context.Context, code, nonce, verifier string) (*claims, error) {
	ctx = oidc.ClientContext(ctx, s.client)
	tokens, err := s.config.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		// The library's error prints the body, in which there may be tokens.
		if re := (*oauth2.RetrieveError)(nil); errors.As(err, &re) {
			return nil, fmt.Errorf("the token endpoint answered %d %s", re.Response.StatusCode, plain.Line(re.ErrorCode, 40))
		}
		return nil, errors.New("the token endpoint could not be asked, or its answer not be read")
	}
	raw, _ := tokens.Extra("id_token").(string)
	if raw == "" {
		return nil, errors.New("the token endpoint sent no ID token")
	}
	token, err := s.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("the ID token: %w", shortened(err))
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) != 1 || nonce == "" {
		return nil, errors.New("the ID token is of another sign-in")
	}
	all, err := claimsOf(token)
	if err != nil {
		return nil, err
	}
	who := &claims{subject: token.Subject}
	if who.subject == "" {
		return nil, errors.New("the ID token has no subject")
	}
	if name, ok := all["name"].(string); ok {
		who.name = plain.Line(name, 100)
	}
	if s.options.TenantClaim != "" {
		if who.tenant, _ = all[s.options.TenantClaim].(string); who.tenant == "" {
			return nil, fmt.Errorf("the ID token has no claim %q", s.options.TenantClaim)
		}
	}
	if len(s.principal(who).Key()) > maxPrincipal {
		return nil, errors.New("the subject of the ID token is too long")
	}
	who.groups, err = groups(all[s.options.GroupsClaim])
	return who, err
}

// maxClaims bounds the claims of an ID token.
const maxClaims = 1000

// verified are the claims that the library has judged.
var verified = []string{"iss", "sub", "aud", "exp", "iat", "nbf", "nonce"}

// claimsOf reads the claims, whose names are case-sensitive (RFC 7519, section 4). The
// library reads "SUB" for "sub", so a provider whose users or tenants name claims of
// their own would let them be somebody else.
func claimsOf(token *oidc.IDToken) (all map[string]any, err error) {
	var raw json.RawMessage
	if err := token.Claims(&raw); err != nil {
		return nil, errors.New("the claims of the ID token cannot be read")
	}
	members, err := exact.Members(raw, maxClaims)
	if err != nil {
		return nil, fmt.Errorf("the claims of the ID token cannot be read: %w", err)
	}
	if exact.Ambiguous(members, verified...) {
		return nil, errors.New("the ID token can be read in two ways")
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, errors.New("the claims of the ID token cannot be read")
	}
	return all, nil
}

func (s *SignIn) principal(who *claims) inbox.Principal {
	return inbox.Principal{Issuer: s.options.Issuer, Tenant: who.tenant, Subject: who.subject}
}

// groups reads the claim. More than are kept is an error: which of them were left out
// would decide what the person may do.
func groups(claim any) ([]string, error) {
	list := []string{}
	switch claim := claim.(type) {
	case nil:
	case string:
		list = append(list, claim)
	case []any:
		for _, g := range claim {
			if text, ok := g.(string); ok {
				list = append(list, text)
			}
		}
	default:
		return nil, errors.New("the groups of the ID token are no list")
	}
	if len(list) > maxGroups {
		return nil, fmt.Errorf("the ID token has more than %d groups", maxGroups)
	}
	for _, g := range list {
		if len(g) > maxGroup {
			return nil, fmt.Errorf("a group of the ID token has more than %d bytes", maxGroup)
		}
	}
	return list, nil
}

// signOut ends the session.
func (s *SignIn) signOut(w http.ResponseWriter, r *http.Request) {
	if err := s.sessions.Destroy(r.Context()); err != nil {
		s.log.ErrorContext(r.Context(), "a session could not be ended", "err", err)
		answer(w, http.StatusServiceUnavailable, pageStillIn)
		return
	}
	answer(w, http.StatusOK, pageOut)
}
