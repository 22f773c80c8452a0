package host

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/plain"
	"github.com/parley-mcp/parley/vault"
)

// Errors of signing in to a server, beside [SignInError].
var (
	// ErrNoSignIn: nobody signs in to this server here. It is a program, or the
	// servers file has an Authorization header for it, or it is reached without
	// TLS, or the host has no vault.
	ErrNoSignIn = errors.New("host: nobody signs in to this server here")
	// ErrSignInOver: no such sign-in is under way for this person. It did not come
	// about, has taken longer than ten minutes, or somebody else began it.
	ErrSignInOver = errors.New("host: no such sign-in is under way")
)

// A SignInError says why a sign-in to a server did not come about. Its text is a
// sentence part for people, with nothing of a stranger's but a domain or a code.
type SignInError struct {
	Server string
	Why    string
	err    error
}

func (e *SignInError) Error() string { return fmt.Sprintf("sign-in to %q: %s", e.Server, e.Why) }

func (e *SignInError) Unwrap() error { return e.err }

// signInFlow names the flows in the vault that this file begins and takes.
const signInFlow = "authorize"

// A SignInPage is where a person has to go to sign in to a server.
type SignInPage struct {
	// URL is the page of the authorization server. It is good for ten minutes and
	// for this person alone.
	URL    string
	Issuer string   // the authorization server, as it names itself
	Scopes []string // what is asked for; empty: whatever the authorization server gives
}

// A signInData is what the callback needs again. It is sealed in the flow, beside
// the issuer and the verifier: nothing that the browser brings back is trusted.
type signInData struct {
	Server     string          `json:"server"`
	Redirect   string          `json:"redirect"`
	Token      string          `json:"token"`
	Revocation string          `json:"revocation,omitempty"`
	Resource   string          `json:"resource"`
	Client     vault.ClientRef `json:"client"`
	Registered bool            `json:"registered,omitempty"` // by us, dynamically
	Asked      []string        `json:"asked,omitempty"`
	SendsIss   bool            `json:"sends_iss,omitempty"`
}

// SignIn begins a sign-in of p to a server and returns the page to go to. The
// browser comes back to redirectURL with the parameters that [Host.SignedIn] takes;
// it has to be on loopback or https. Errors are [ErrNoServer], [ErrNoSignIn], a
// *[SignInError], and those of the vault.
//
// What is asked for is what p has allowed before and what the server has said to
// miss since (MCP 2026-07-28 basic/authorization, "Step-Up Authorization Flow").
func (h *Host) SignIn(ctx context.Context, p inbox.Principal, server, redirectURL string) (*SignInPage, error) {
	s, err := h.signable(server)
	if err != nil {
		return nil, err
	}
	if !goodRedirect(redirectURL) {
		return nil, fmt.Errorf("%w: a sign-in comes back to https or to loopback", ErrInvalid)
	}
	found, err := h.discover(ctx, s)
	if err != nil {
		return nil, err
	}
	client, registered, err := h.clientFor(ctx, s, found.server, redirectURL)
	if err != nil {
		return nil, err
	}
	asked, err := h.scopesFor(ctx, p, s, found)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(signInData{
		Server: s.ID, Redirect: redirectURL, Token: found.server.TokenEndpoint, Revocation: found.server.RevocationEndpoint,
		Resource: found.resource, Client: vault.ClientRef{Issuer: client.Issuer, Name: client.Name}, Registered: registered,
		Asked: asked, SendsIss: found.server.AuthorizationResponseIssParameterSupported,
	})
	if err != nil {
		return nil, err
	}
	verifier := vault.NewSecret(random())
	state, err := h.vault.Begin(ctx, vault.Principal(p), vault.Flow{
		Name: signInFlow, Provider: s.provider(), Issuer: found.server.Issuer, Verifier: verifier, Data: data,
	})
	if errors.Is(err, vault.ErrLimit) {
		return nil, &SignInError{Server: s.ID, Why: "too many sign-ins are under way; they end after ten minutes", err: err}
	}
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(found.server.AuthorizationEndpoint)
	if err != nil { // discover has looked at it
		return nil, &SignInError{Server: s.ID, Why: "its authorization server names no page to sign in at"}
	}
	// RFC 6749 4.1.1, RFC 7636 4.3, RFC 8707 2. What the endpoint's own query holds stays.
	q := u.Query()
	challenge := sha256.Sum256([]byte(verifier.Reveal()))
	for name, value := range map[string]string{
		"response_type": "code", "client_id": client.ID, "redirect_uri": redirectURL, "state": state.Reveal(),
		"code_challenge": base64.RawURLEncoding.EncodeToString(challenge[:]), "code_challenge_method": "S256",
		"resource": found.resource, "scope": strings.Join(asked, " "),
	} {
		if q.Del(name); value != "" {
			q.Set(name, value)
		}
	}
	if slices.Contains(asked, scopeOffline) {
		// OpenID Connect Core 11: without consent this scope is ignored.
		q.Set("prompt", "consent")
	}
	u.RawQuery = q.Encode()
	return &SignInPage{URL: u.String(), Issuer: found.server.Issuer, Scopes: asked}, nil
}

// signable finds a server that people can sign in to here.
func (h *Host) signable(id string) (*Server, error) {
	s, err := h.server(id)
	if err != nil {
		return nil, err
	}
	if h.vault == nil || !s.signable() {
		return nil, fmt.Errorf("%w: %q", ErrNoSignIn, id)
	}
	return s, nil
}

// signable reports whether a token may be sent to the server: MCP 2026-07-28
// basic/authorization, "Communication Security" asks for https; loopback needs none.
func (s *Server) signable() bool {
	if s.Kind() != HTTP || s.authorized() { // the file's own wins
		return false
	}
	return strings.HasPrefix(strings.ToLower(s.URL), "https://") || s.Local()
}

// authorized reports whether the servers file has an Authorization header for it.
func (s *Server) authorized() bool {
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}

// goodRedirect: MCP 2026-07-28 basic/authorization, "Communication Security": "All
// redirect URIs MUST be either localhost or use HTTPS".
func goodRedirect(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && loopbackName(u.Hostname())
}

// scopeOffline is asked for where it is offered, since a parked call may wait for
// longer than an access token lives (MCP 2026-07-28 basic/authorization, "Refresh Tokens").
const scopeOffline = "offline_access"

// maxScopes bounds what is asked for.
const maxScopes = 100

// scopesFor are the scopes to ask for: those of the file, else those of the
// server's challenge, else those that it says to support ("Scope Selection
// Strategy"), and with them all that p has allowed or was found to miss.
func (h *Host) scopesFor(ctx context.Context, p inbox.Principal, s *Server, found *discovery) ([]string, error) {
	var asked []string
	add := func(scopes []string) {
		for _, scope := range scopes {
			if validScope(scope) && !slices.Contains(asked, scope) && len(asked) < maxScopes {
				asked = append(asked, scope)
			}
		}
	}
	switch {
	case len(s.OAuth.Scopes) > 0:
		add(s.OAuth.Scopes)
	case len(found.challenged) > 0:
		add(found.challenged)
	default:
		add(found.supported)
	}
	grants, err := h.vault.Grants(ctx, vault.Principal(p), s.provider())
	if err != nil {
		return nil, err
	}
	for _, g := range grants {
		if g.Label == vault.DefaultLabel && g.Issuer == found.server.Issuer {
			add(g.Scopes)
		}
	}
	wanted, err := h.vault.Wanted(ctx, vault.Principal(p), s.provider(), "")
	if err != nil {
		return nil, err
	}
	add(wanted[s.provider()])
	if len(s.OAuth.Scopes) == 0 && slices.Contains(found.server.ScopesSupported, scopeOffline) {
		add([]string{scopeOffline})
	}
	return asked, nil
}

// validScope: RFC 6749 3.3, scope-token.
func validScope(text string) bool {
	if text == "" || len(text) > 256 {
		return false
	}
	for i := range len(text) {
		if c := text[i]; c <= 0x20 || c == '"' || c == '\\' || c >= 0x7f {
			return false
		}
	}
	return true
}

// SignInState says whether a person is signed in to a server.
type SignInState string

const (
	SignInNone   SignInState = "none"   // nobody asked for it
	SignInNeeded SignInState = "needed" // calls do not go on without it
	SignInDone   SignInState = "done"
)

// A SignInStatus is what can be shown of a person's sign-in to a server.
type SignInStatus struct {
	State   SignInState
	Can     bool     // SignIn is possible
	Kept    bool     // something is kept that SignOut would end, whether it is of use or not
	Account string   // as the authorization server calls it; often not known
	Scopes  []string // allowed; nil: nobody said
	Missing []string // asked for by the server and not allowed
}

// SignIns says of each server, by its id, whether p is signed in to it.
func (h *Host) SignIns(ctx context.Context, p inbox.Principal) (map[string]SignInStatus, error) {
	grants, wanted := map[string]vault.Grant{}, map[string][]string{}
	if h.vault != nil {
		all, err := h.vault.Grants(ctx, vault.Principal(p), "")
		if err != nil {
			return nil, err
		}
		for _, g := range all {
			if g.Label == vault.DefaultLabel {
				grants[g.Provider] = g
			}
		}
		if wanted, err = h.vault.Wanted(ctx, vault.Principal(p), "", ""); err != nil {
			return nil, err
		}
	}
	out := make(map[string]SignInStatus, len(h.order))
	for _, id := range h.order {
		s := h.servers[id]
		st := SignInStatus{State: SignInNone, Can: h.vault != nil && s.signable()}
		g, has := grants[s.provider()]
		has = has && st.Can
		if st.Can {
			st.Missing = wanted[s.provider()]
		}
		if has {
			st.Kept, st.Account, st.Scopes = true, plain.Line(g.Account.Name, 200), g.Scopes
		}
		h.mu.Lock()
		pl := h.pools[poolKey{p.Key(), id}]
		h.mu.Unlock()
		refused := false
		if pl != nil {
			refusal := pl.refusal()
			refused = refusal != nil && !(has && pl.answered(refusal, g))
		}
		switch {
		case has && g.Status != vault.Alive, len(st.Missing) > 0, refused:
			st.State = SignInNeeded
		case has:
			st.State = SignInDone
		}
		out[id] = st
	}
	return out, nil
}

// provider names the server in the vault: its canonical address (MCP 2026-07-28
// basic/authorization, "Canonical Server URI"). An address with a secret in it is
// cut, and told from others by a digest, since the vault shows providers to operators.
func (s *Server) provider() string {
	if s.Kind() != HTTP {
		return ""
	}
	if s.open() {
		return s.canonical()
	}
	sum := sha256.Sum256([]byte(s.URL))
	return fmt.Sprintf("%s #%x", s.canonical(), sum[:8])
}

// open reports whether all of the address may be seen.
func (s *Server) open() bool {
	u, err := url.Parse(s.URL)
	return err == nil && u.User == nil && u.RawQuery == "" && u.Fragment == "" && (s.shown == "" || s.shown == withoutSecrets(s.URL))
}

// canonical is the address as a resource identifier: without user, query and
// fragment, and without the path where a variable stands in it.
func (s *Server) canonical() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	base := strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Host)
	if s.shown != "" && s.shown != withoutSecrets(s.URL) || u.Path == "/" {
		return base
	}
	return base + u.EscapedPath()
}
