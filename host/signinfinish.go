package host

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/exact"
	"github.com/parley-mcp/parley/internal/plain"
	"github.com/parley-mcp/parley/internal/tokenendpoint"
	"github.com/parley-mcp/parley/vault"
)

// A SignInReply is what the browser brought back from the authorization server
// (RFC 6749 4.1.2, RFC 9207 2). Whoever reads it off an address has refused
// parameters that come twice.
type SignInReply struct {
	State  Secret
	Code   Secret
	Issuer string // iss; empty: there was none
	Error  string // error; empty: there was none
}

// SignInOutcome says how a sign-in ended.
type SignInOutcome string

const (
	SignedInDone  SignInOutcome = "done"
	SignInDenied  SignInOutcome = "denied"        // the person, or the authorization server, did not allow it
	OtherAccount  SignInOutcome = "other_account" // nothing changed yet: see [Host.ChooseAccount]
	maxAuthCode                 = 8 << 10         // bytes of a code
	maxStateBytes               = 256
)

// A SignInResult is how a sign-in ended. It prints without its decision.
type SignInResult struct {
	Server  string
	Outcome SignInOutcome
	Account string   // whose; often not known
	Missing []string // asked for and not allowed
	Resumed int      // calls that go on
	// Before is the account that is signed in still, of the outcome OtherAccount;
	// Decision is what ChooseAccount takes, within ten minutes.
	Before   string
	Decision Secret
}

// SignedIn finishes what [Host.SignIn] began: it takes the sign-in, once and for p
// alone, checks who answers, exchanges the code, stores the tokens in the vault, and
// lets p's calls go on that wait for it. A reply with the state of somebody else's
// sign-in, or with an edited one, changes nothing, and the true one still counts. One
// that comes again is answered as before while p is signed in by it.
// Errors are [ErrSignInOver], a *[SignInError], and those of the vault.
func (h *Host) SignedIn(ctx context.Context, p inbox.Principal, r SignInReply) (*SignInResult, error) {
	if h.vault == nil {
		return nil, ErrNoSignIn
	}
	state, code := r.State.Reveal(), r.Code.Reveal()
	if state == "" || len(state) > maxStateBytes || len(code) > maxAuthCode {
		return nil, ErrSignInOver
	}
	ctx, cancel := finishing(ctx)
	defer cancel()
	flow, err := h.vault.Take(ctx, vault.Principal(p), signInFlow, vault.NewSecret(state), "a sign-in that comes back")
	if errors.Is(err, vault.ErrNotFound) {
		return h.signedInBefore(ctx, p, state, "")
	}
	if err != nil {
		return nil, err
	}
	var d signInData
	if err := json.Unmarshal(flow.Data, &d); err != nil {
		return nil, ErrSignInOver
	}
	s, err := h.signable(d.Server)
	if err != nil || s.provider() != flow.Provider { // the servers file has changed meanwhile
		return nil, ErrSignInOver
	}
	// RFC 9207 2.4, MCP 2026-07-28 basic/authorization, "Authorization Response
	// Validation": byte for byte, and before the error is looked at.
	if r.Issuer != flow.Issuer && (r.Issuer != "" || d.SendsIss) {
		return nil, &SignInError{Server: s.ID, Why: "the answer does not come from the authorization server that it was begun with"}
	}
	switch {
	case r.Error == "access_denied":
		return &SignInResult{Server: s.ID, Outcome: SignInDenied}, nil
	case r.Error != "":
		return nil, &SignInError{Server: s.ID, Why: "its authorization server said " + saidNo(r.Error)}
	case code == "":
		return nil, &SignInError{Server: s.ID, Why: "its authorization server sent no code"}
	}
	before, err := h.vault.Grants(ctx, vault.Principal(p), s.provider())
	if err != nil {
		return nil, err
	}
	how := "first"
	if slices.ContainsFunc(before, func(g vault.Grant) bool { return g.Label == vault.DefaultLabel }) {
		how = "again"
	}
	grant, err := h.exchange(ctx, s, flow, &d, code)
	if err != nil {
		return nil, err
	}
	grant.Flow = vault.NewSecret(state)
	saved, err := h.vault.Save(ctx, vault.Principal(p), grant)
	if other, ok := errors.AsType[*vault.OtherAccountError](err); ok {
		return &SignInResult{
			Server: s.ID, Outcome: OtherAccount, Account: accountName(other.New), Before: accountName(other.Old),
			Decision: NewSecret(other.Decision.Reveal()),
		}, nil
	}
	if err != nil {
		return nil, err
	}
	return h.signedIn(ctx, p, s, saved, how)
}

// finishTime bounds the end of a sign-in: one request to the authorization server, and
// a few writes.
const finishTime = 2 * time.Minute

// finishing is a context for the end of a sign-in, which goes on when the person closes
// the page. A code is good once: what it was exchanged for would be lost, and live on at
// the authorization server.
func finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), finishTime)
}

// errorCodes are what an authorization server may say to no, of RFC 6749 4.1.2.1, RFC
// 7591 3.2.2, RFC 8707 2 and OpenID Connect Core 3.1.2.6. Anything else is a stranger's text.
var errorCodes = []string{
	"access_denied", "consent_required", "interaction_required", "invalid_client_metadata", "invalid_redirect_uri",
	"invalid_request", "invalid_scope", "invalid_software_statement", "invalid_target", "login_required", "server_error",
	"temporarily_unavailable", "unapproved_software_statement", "unauthorized_client", "unsupported_response_type",
}

// saidNo is a known code for people, and "no" for any other.
func saidNo(code string) string {
	if slices.Contains(errorCodes, code) {
		return code
	}
	return "no"
}

func accountName(a vault.Account) string {
	if a.Name != "" {
		return plain.Line(a.Name, 200)
	}
	return plain.Line(a.ID, 200)
}

// exchange trades the code for tokens at the endpoint that the sign-in was begun with.
func (h *Host) exchange(ctx context.Context, s *Server, flow vault.Flow, d *signInData, code string) (vault.NewGrant, error) {
	client, err := h.vault.Client(ctx, d.Client.Tenant, d.Client.Issuer, d.Client.Name, "a code is exchanged")
	if errors.Is(err, vault.ErrNotFound) {
		return vault.NewGrant{}, &SignInError{Server: s.ID, Why: "its client registration is gone; sign in once more"}
	}
	if err != nil {
		return vault.NewGrant{}, err
	}
	to, err := s.egress()
	if err != nil {
		return vault.NewGrant{}, err
	}
	terms := vault.Terms{
		Issuer: flow.Issuer, TokenEndpoint: d.Token, RevocationEndpoint: d.Revocation, Resource: d.Resource, Client: d.Client,
	}
	reply, err := tokenendpoint.New(to, nil).Exchange(ctx, tokenendpoint.Exchange{
		Terms: terms, Client: client, Code: vault.NewSecret(code), RedirectURI: d.Redirect, Verifier: flow.Verifier,
	})
	if err != nil {
		return vault.NewGrant{}, h.notExchanged(ctx, s, d, err)
	}
	if !strings.EqualFold(reply.Type, "Bearer") && reply.Type != "" {
		return vault.NewGrant{}, &SignInError{Server: s.ID, Why: "its authorization server gave a kind of token that is not supported here"}
	}
	return vault.NewGrant{
		Provider: flow.Provider, Account: accountOf(reply.ID, flow.Issuer, client.ID, time.Now()),
		Access: reply.Access, Refresh: reply.Refresh, Type: reply.Type, Lifetime: reply.Lifetime,
		Asked: d.Asked, Scopes: reply.Scopes, Terms: terms,
	}, nil
}

// notExchanged words a failed exchange. A registration that the server does not know
// any more is dropped, so that the next sign-in makes another.
func (h *Host) notExchanged(ctx context.Context, s *Server, d *signInData, err error) error {
	e := &SignInError{Server: s.ID, Why: "its authorization server did not exchange the code", err: err}
	refused, ok := errors.AsType[*vault.EndpointError](err)
	switch {
	case !ok:
	case refused.Class == vault.Refused && refused.Code == "invalid_client" && d.Registered:
		e.Why = "its authorization server does not know this host any more; sign in once more"
		if err := h.vault.DeleteClient(ctx, d.Client.Tenant, d.Client.Issuer, d.Client.Name); err != nil && !errors.Is(err, vault.ErrNotFound) {
			h.log.Warn("host: a client registration", "server", s.ID, "err", err)
		}
	case refused.Class == vault.Refused && refused.Code == "invalid_client":
		e.Why = "its authorization server refuses the client id of the servers file, or its secret"
	case refused.Class == vault.InvalidGrant:
		e.Why = "its authorization server refuses the code; sign in once more"
	case refused.Class == vault.Unavailable, refused.Class == vault.NotSent, refused.Class == vault.Lost:
		e.Why = "its authorization server cannot be reached now; sign in once more"
	}
	return e
}

// signedIn records the sign-in, which is stored, and lets go on what waited for it.
func (h *Host) signedIn(ctx context.Context, p inbox.Principal, s *Server, g vault.Grant, how string) (*SignInResult, error) {
	for _, other := range h.alike(s.provider()) {
		h.pool(other, p).renew()
	}
	if err := h.inbox.CredentialChanged(ctx, p, inbox.CredentialChange{Kind: inbox.AuditSignedIn, Server: s.ID, State: how}); err != nil {
		h.log.Error("host: a sign-in could not be recorded", "server", s.ID, "err", err) // each use of it will be, or is refused
	}
	return h.goOn(ctx, p, s, g)
}

// alike are the servers of one sign-in: the servers file may name an address twice.
func (h *Host) alike(provider string) (list []*Server) {
	for _, id := range h.order {
		if s := h.servers[id]; s.signable() && s.provider() == provider {
			list = append(list, s)
		}
	}
	return list
}

// goOn lets go on what waited for a sign-in, which is stored.
func (h *Host) goOn(ctx context.Context, p inbox.Principal, s *Server, g vault.Grant) (*SignInResult, error) {
	n := 0
	for _, other := range h.alike(s.provider()) {
		more, err := h.inbox.UnblockFor(ctx, p, other.ID, inbox.ReasonSignIn)
		if err != nil {
			return nil, err
		}
		n += more
	}
	return &SignInResult{Server: s.ID, Outcome: SignedInDone, Account: accountName(g.Account), Missing: g.Missing, Resumed: n}, nil
}

// signedInBefore answers a reply, or a choice, that comes once more, since its answer was
// lost: for as long as p is signed in by it, it ended well. It names the server, if that is
// one of the sign-in, or the first that is.
func (h *Host) signedInBefore(ctx context.Context, p inbox.Principal, state, server string) (*SignInResult, error) {
	g, err := h.vault.Finished(ctx, vault.Principal(p), vault.NewSecret(state))
	if errors.Is(err, vault.ErrNotFound) {
		return nil, ErrSignInOver
	}
	if err != nil {
		return nil, err
	}
	list := h.alike(g.Provider)
	if len(list) == 0 {
		return nil, ErrSignInOver
	}
	named := max(0, slices.IndexFunc(list, func(s *Server) bool { return s.ID == server }))
	return h.goOn(ctx, p, list[named], g)
}

// ChooseAccount carries out what p decided about an [OtherAccount]: replace the
// account that is signed in, or keep it and forget the new one. Errors are
// [ErrSignInOver] and those of the vault.
func (h *Host) ChooseAccount(ctx context.Context, p inbox.Principal, server string, decision Secret, replace bool) (*SignInResult, error) {
	s, err := h.signable(server)
	if err != nil {
		return nil, err
	}
	ctx, cancel := finishing(ctx)
	defer cancel()
	choice := vault.Discard
	if replace {
		choice = vault.Replace
	}
	g, err := h.vault.Decide(ctx, vault.Principal(p), vault.NewSecret(decision.Reveal()), choice, "")
	if errors.Is(err, vault.ErrNotFound) {
		return h.signedInBefore(ctx, p, decision.Reveal(), s.ID)
	}
	if err != nil {
		return nil, err
	}
	if !replace {
		return &SignInResult{Server: s.ID, Outcome: SignInDenied}, nil
	}
	return h.signedIn(ctx, p, s, g, "other_account")
}

// maxIDToken bounds an ID token, in bytes.
const maxIDToken = 64 << 10

// accountOf reads who an ID token is about; zero if there is none, or none for us.
// It came from the token endpoint over TLS, which stands in for its signature
// (OpenID Connect Core 3.1.3.7, 6). It tells accounts apart and grants nothing.
func accountOf(token vault.Secret, issuer, client string, now time.Time) vault.Account {
	parts := strings.Split(token.Reveal(), ".")
	if len(parts) != 3 || len(token.Reveal()) > maxIDToken {
		return vault.Account{}
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return vault.Account{}
	}
	var claims struct {
		Issuer   string          `json:"iss"`
		Subject  string          `json:"sub"`
		Audience json.RawMessage `json:"aud"`
		Expires  float64         `json:"exp"`
		Email    string          `json:"email"`
		Username string          `json:"preferred_username"`
		Name     string          `json:"name"`
	}
	if exact.Unmarshal(body, &claims) != nil {
		return vault.Account{}
	}
	var audience []string
	if json.Unmarshal(claims.Audience, &audience) != nil {
		audience = make([]string, 1)
		if json.Unmarshal(claims.Audience, &audience[0]) != nil {
			return vault.Account{}
		}
	}
	// A subject that would not be shown as it is cannot be compared either.
	if claims.Issuer != issuer || !slices.Contains(audience, client) || claims.Expires < float64(now.Unix()) ||
		claims.Subject == "" || plain.Line(claims.Subject, 256) != claims.Subject {
		return vault.Account{}
	}
	a := vault.Account{ID: claims.Subject}
	for _, name := range []string{claims.Email, claims.Username, claims.Name} {
		if a.Name == "" {
			a.Name = plain.Line(name, 200)
		}
	}
	return a
}

// random is 256 bits in base64url: a verifier (RFC 7636 4.1).
func random() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails (crypto/rand, since Go 1.24)
	return base64.RawURLEncoding.EncodeToString(b)
}
