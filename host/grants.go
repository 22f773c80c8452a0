package host

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/tokenendpoint"
	"github.com/parley-mcp/parley/vault"
)

// heldFor is how long a connection uses a token without asking the vault again, for
// requests that are no calls: each hand-out is a row of the audit. Calls always ask.
const heldFor = time.Minute

// A bearer is what one connection is authorized with: the grant of its principal for
// its server. It never holds anybody else's.
type bearer struct {
	vault     *vault.Vault
	principal vault.Principal
	server    *Server

	mu    sync.Mutex
	token vault.Token
	have  bool
	until time.Time
	bad   error // why there was no token the last time, if there was none
}

// newBearer is nil where no token of the vault may be sent.
func (h *Host) newBearer(s *Server, p inbox.Principal) *bearer {
	if h.vault == nil || !s.signable() {
		return nil
	}
	return &bearer{vault: h.vault, principal: vault.Principal(p), server: s}
}

// errOtherGrant: the person has signed in anew, or out, since the connection was made.
// What the server keeps of its session belongs to the sign-in before.
var errOtherGrant = errors.New("another sign-in than that of the connection")

// check asks the vault for a token that is good now. No grant is no error: the server
// may want none.
func (b *bearer) check(ctx context.Context, purpose string) error {
	token, err := b.vault.Token(ctx, b.principal, b.server.provider(), "", purpose)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case errors.Is(err, vault.ErrNotFound) && !b.have:
		b.bad, b.until = nil, time.Now().Add(heldFor)
	case errors.Is(err, vault.ErrNotFound), err == nil && b.have && b.token.Grant() != token.Grant():
		b.bad = errOtherGrant
	case err != nil:
		b.bad = b.refused(err)
	default:
		b.keep(token)
	}
	return b.bad
}

// keep holds a token; b.mu is held.
func (b *bearer) keep(token vault.Token) {
	b.bad = nil
	b.token, b.have, b.until = token, true, time.Now().Add(heldFor)
	if end := token.Expires(); !end.IsZero() && end.Before(b.until) {
		b.until = end
	}
}

// header is what to authorize a request with, empty if there is no grant.
func (b *bearer) header(ctx context.Context, call bool) (vault.Secret, error) {
	b.mu.Lock()
	fresh := time.Now().Before(b.until)
	b.mu.Unlock()
	if !call && !fresh { // a call was checked right before its mark
		if err := b.check(ctx, "the connection to "+b.server.name()); err != nil {
			return vault.Secret{}, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.have {
		return vault.Secret{}, nil
	}
	return b.token.Header(), nil
}

// renew replaces a token that the server refused with 401: once, however many
// connections and machines it refused.
func (b *bearer) renew(ctx context.Context, refused vault.Secret, purpose string) error {
	b.mu.Lock()
	token, have := b.token, b.have
	b.mu.Unlock()
	switch {
	case !have:
		return &signInError{status: http.StatusUnauthorized}
	case !token.Header().Equal(refused):
		return nil // another request has done so
	}
	next, err := b.vault.Renew(ctx, b.principal, token, purpose)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.bad = b.refused(err)
		return b.bad
	}
	b.keep(next)
	return nil
}

// trouble is why there was no token the last time; nil if there was one, or none is known.
func (b *bearer) trouble() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bad
}

// used is the token that requests go with now.
func (b *bearer) used() vault.Secret {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.have {
		return vault.Secret{}
	}
	return b.token.Header()
}

// refused tells what is the person's to do from what time will do.
func (b *bearer) refused(err error) error {
	switch {
	case errors.Is(err, vault.ErrReconnect), errors.Is(err, vault.ErrRejected), errors.Is(err, vault.ErrNotFound):
		return &signInError{status: http.StatusUnauthorized}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, vault.ErrUnavailable):
		return &UnreachableError{Server: b.server.ID, Why: "its authorization server gives no fresh token at the moment", err: err}
	}
	return &UnreachableError{Server: b.server.ID, Why: "what you signed in with cannot be read here at the moment", err: err}
}

// renewing is the round tripper right above the network. It sends a request that is
// no call a second time after a 401, with a fresh token: nothing of it ran. A call is
// marked before, so it goes through the store first (see carriage.unauthorized).
type renewing struct {
	base   http.RoundTripper
	bearer *bearer
}

func (r *renewing) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.base.RoundTrip(req)
	sent := vault.NewSecret(req.Header.Get("Authorization"))
	_, call := req.Context().Value(requestKey{}).(*request)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || call || sent.IsZero() || req.Body != nil && req.GetBody == nil {
		return resp, err
	}
	if r.bearer.renew(req.Context(), sent, "the connection to "+r.bearer.server.name()) != nil {
		return resp, nil // it goes on as the 401 that it is
	}
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return resp, nil //nolint:nilerr // as above
		}
	}
	_ = resp.Body.Close() // nobody reads it
	again.Header.Set("Authorization", r.bearer.used().Reveal())
	return r.base.RoundTrip(again)
}

// purpose is what the audit says that a token was read for.
func (c *carriage) purpose() string { return c.call.Method + " " + tidy(c.call.Name) }

// authorized checks, before the mark, that the token is good.
func (c *carriage) authorized(conn *connection) error {
	if conn.web == nil || conn.web.bearer == nil {
		return nil
	}
	return conn.web.bearer.check(withCall(c.ctx, c.call.ID), c.purpose())
}

// unauthorized settles a send that the server refused with 401, or with 403 and a
// challenge. Nothing ran. A refused token is renewed, and the call sent once more.
func (c *carriage) unauthorized(conn *connection, status int, header string) sent {
	if conn.web == nil || conn.web.bearer == nil {
		c.block(inbox.ReasonSignIn, "")
		return sentStop
	}
	asked := readChallenge(header)
	used := conn.web.bearer.used()
	switch {
	case status == http.StatusForbidden && asked.code == "insufficient_scope":
		c.host.want(c.claim.Principal, c.server.ID, asked.scopes)
		c.blockFor(inbox.ReasonSignIn, missingSentence(c.name(), asked.scopes))
		return sentStop
	case status == http.StatusUnauthorized && !used.IsZero() && !c.tries.renewed:
		c.tries.renewed = true
		err := conn.web.bearer.renew(withCall(c.ctx, c.call.ID), used, c.purpose())
		if err == nil {
			c.nothingRan()
			return sentAgain
		}
		if !errors.As(err, new(*signInError)) {
			c.cannotSend(conn, err)
			return sentStop
		}
	}
	c.block(inbox.ReasonSignIn, "")
	return sentStop
}

// cannotSend is cannot for a call that is marked, and of which nothing ran.
func (c *carriage) cannotSend(conn *connection, err error) {
	if c.ctx.Err() != nil {
		c.nothingRan()
		return
	}
	c.cannot(c.host.pool(conn.server, conn.principal), err)
}

// want remembers which scopes the server missed, for the next sign-in (MCP 2026-07-28
// basic/authorization, "Step-Up Authorization Flow"). It is known to this machine.
func (h *Host) want(p inbox.Principal, server string, scopes []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := poolKey{p.Key(), server}
	for _, scope := range scopes {
		if !slices.Contains(h.wanted[key], scope) && len(h.wanted[key]) < maxScopes {
			h.wanted[key] = append(h.wanted[key], scope)
		}
	}
}

// missing are the scopes that the server missed since the last sign-in.
func (h *Host) missing(p inbox.Principal, server string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.wanted[poolKey{p.Key(), server}])
}

// renew lets go of the connections that were made before a sign-in, or under it.
func (p *pool) renew() {
	p.mu.Lock()
	list := slices.Clone(p.list)
	p.last = nil
	p.mu.Unlock()
	for _, c := range list {
		p.drop(c)
	}
}

// wantsSignIn reports whether the server refused the last connection, or a request on
// one that is open, for want of a sign-in.
func (p *pool) wantsSignIn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.list) == 0 {
		return errors.As(p.last, new(*signInError))
	}
	for _, c := range p.list {
		if c.web != nil && c.web.wanted() != nil {
			return true
		}
	}
	return false
}

type callKey struct{}

// withCall says which call a credential is read for; see [VaultAudit].
func withCall(ctx context.Context, id inbox.CallID) context.Context {
	return context.WithValue(ctx, callKey{}, id)
}

// VaultAudit is the [vault.Options].Audit of a host's vault: each use of a person's
// credential is a row of the audit of in, with the server and the call that it is for.
// Where that row cannot be written no credential is given out.
func VaultAudit(in *inbox.Inbox, servers []*Server) func(context.Context, vault.Event) error {
	ids := make(map[string]string, len(servers))
	for _, s := range servers {
		if s.Kind() == HTTP {
			ids[s.provider()] = s.ID
		}
	}
	return func(ctx context.Context, e vault.Event) error {
		uses := e.Action == vault.ActionRead || e.Action == vault.ActionRenew || e.Action == vault.ActionRevoke
		if e.Kind != vault.KindGrant || !uses || e.Principal.Issuer == "" {
			return nil // what is stored or deleted is not read, and registrations belong to nobody
		}
		call, _ := ctx.Value(callKey{}).(inbox.CallID)
		server := ids[e.Provider]
		if server == "" {
			server = e.Provider
		}
		return in.CredentialRead(ctx, inbox.Principal(e.Principal), inbox.CredentialUse{
			Call: call, Server: server, Credential: e.Label, Purpose: string(e.Action) + ": " + e.Purpose,
		})
	}
}

// VaultEndpoint is the [vault.Options].Endpoint of a host's vault. Requests for a
// server's grants reach what its sign-in may reach: the internet, and what the servers
// file allows beyond it. Those of servers that are not in the file reach the internet.
func VaultEndpoint(servers []*Server) (vault.Endpoint, error) {
	e := &endpoints{by: map[string]vault.Endpoint{}}
	for _, s := range append([]*Server{{ID: "none"}}, servers...) {
		c, err := s.egress()
		if err != nil {
			return nil, err
		}
		e.by[s.provider()] = tokenendpoint.New(c, nil)
	}
	return e, nil
}

// endpoints choose by provider; "" is that of the rest.
type endpoints struct{ by map[string]vault.Endpoint }

func (e *endpoints) of(provider string) vault.Endpoint {
	if one := e.by[provider]; one != nil {
		return one
	}
	return e.by[""]
}

// Refresh implements [vault.Endpoint].
func (e *endpoints) Refresh(ctx context.Context, r vault.RefreshRequest) (vault.Tokens, error) {
	return e.of(r.Provider).Refresh(ctx, r)
}

// Revoke implements [vault.Endpoint].
func (e *endpoints) Revoke(ctx context.Context, r vault.RevokeRequest) error {
	return e.of(r.Provider).Revoke(ctx, r)
}
