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

// held is the token of the last check; zero if there was none.
func (b *bearer) held() vault.Token {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.token
}

// refused tells what is the person's to do from what time will do; b.mu is held.
func (b *bearer) refused(err error) error {
	switch {
	case errors.Is(err, vault.ErrReconnect), errors.Is(err, vault.ErrRejected), errors.Is(err, vault.ErrNotFound):
		return &signInError{status: http.StatusUnauthorized, with: b.token}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, vault.ErrUnavailable):
		return &UnreachableError{Server: b.server.ID, Why: "its authorization server gives no fresh token at the moment", err: err}
	}
	return &UnreachableError{Server: b.server.ID, Why: "what you signed in with cannot be read here at the moment", err: err}
}

// maxRefused is how many resumptions of one call may be refused with 401 although the
// token was renewed, or could not be for a reason that stays.
const maxRefused = 3

// renewing is the round tripper right above the network. It sends a request that is
// no call a second time after a 401, with a fresh token: nothing of it ran. A call is
// marked before, so it goes through the store first (see carriage.unauthorized). The
// response to a call is resumed by a GET with what the call was sent with, which may
// be over by then: such a request gets the token of now.
type renewing struct {
	base   http.RoundTripper
	bearer *bearer
}

func (r *renewing) RoundTrip(req *http.Request) (*http.Response, error) {
	call, _ := req.Context().Value(requestKey{}).(*request)
	if call != nil && req.Method == http.MethodGet {
		return r.resume(req, call)
	}
	resp, _, err := r.send(req, call == nil)
	return resp, err
}

// send sends a request, and once more after a 401 if it may. cause is why there is no
// fresh token for that, if the response is the first 401.
func (r *renewing) send(req *http.Request, renews bool) (resp *http.Response, cause, err error) {
	resp, err = r.base.RoundTrip(req)
	sent := vault.NewSecret(req.Header.Get("Authorization"))
	if err != nil || resp.StatusCode != http.StatusUnauthorized || !renews || sent.IsZero() || req.Body != nil && req.GetBody == nil {
		return resp, nil, err
	}
	if err := r.bearer.renew(req.Context(), sent, "the connection to "+r.bearer.server.name()); err != nil {
		return resp, err, nil // it goes on as the 401 that it is
	}
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return resp, err, nil // it goes on as the 401 that it is
		}
	}
	_ = resp.Body.Close() // nobody reads it
	again.Header.Set("Authorization", r.bearer.used().Reveal())
	resp, err = r.base.RoundTrip(again)
	return resp, nil, err
}

// resume sends a request that resumes the response to a call. The wiretap sends the
// next one after an error and a 401, for as long as a person is being asked: so what
// time will not mend is its end. Each try would be another hand-out of the vault.
func (r *renewing) resume(req *http.Request, call *request) (*http.Response, error) {
	token, err := r.bearer.header(req.Context(), false)
	switch {
	case errors.Is(err, errOtherGrant):
		return forbidden(req), nil
	case err != nil:
		return nil, err
	case !token.IsZero():
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", token.Reveal())
	}
	resp, cause, err := r.send(req, true)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || req.Header.Get("Authorization") == "" {
		return resp, err
	}
	if cause != nil && !errors.As(cause, new(*signInError)) {
		_ = resp.Body.Close()
		return nil, cause // the authorization server, or the vault, is away
	}
	if call.refused++; call.refused < maxRefused {
		return resp, nil
	}
	_ = resp.Body.Close()
	return forbidden(req), nil
}

// forbidden is the response that ends the resuming: no later request would fare better.
func forbidden(req *http.Request) *http.Response {
	return &http.Response{
		Status: "403 Forbidden", StatusCode: http.StatusForbidden, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: http.NoBody, Request: req,
	}
}

// purpose is what the audit says that a token was read for.
func (c *carriage) purpose() string { return c.call.Method + " " + tidy(c.call.Name) }

// authorized checks, before the mark of a request or an answer, that the token is good.
func (c *carriage) authorized(ctx context.Context, conn *connection) error {
	if conn.web == nil || conn.web.bearer == nil {
		return nil
	}
	return conn.web.bearer.check(withCall(ctx, c.call.ID), c.purpose())
}

// unauthorized settles a send that the server refused with 401, or with 403 and a
// challenge. Nothing ran. A refused token is renewed, and the call sent once more.
func (c *carriage) unauthorized(conn *connection, status int, header string) sent {
	refusal := &signInError{status: status, challenge: header}
	if conn.web == nil || conn.web.bearer == nil {
		c.blockForSignIn(refusal)
		return sentStop
	}
	refusal.with = conn.web.bearer.held()
	used := conn.web.bearer.used()
	if status == http.StatusUnauthorized && !used.IsZero() && !c.tries.renewed {
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
	c.blockForSignIn(refusal)
	return sentStop
}

// blockForSignIn blocks the call until the person has signed in, or allowed more. If
// they did while the server refused it, nothing else would let it go on.
func (c *carriage) blockForSignIn(refusal *signInError) {
	h := c.host
	asked := readChallenge(refusal.challenge)
	scopes := lacking(refusal.status, asked)
	detail := h.signInSentence(c.server)
	if len(scopes) > 0 || refusal.status == http.StatusForbidden && asked.code == codeScope {
		detail = missingSentence(c.name(), scopes)
	}
	h.want(c.ctx, c.claim.Principal, c.server, scopes)
	c.blockFor(inbox.ReasonSignIn, detail)
	if h.vault == nil || !c.server.signable() {
		return
	}
	c.host.record("signed in meanwhile", c.claim, func(ctx context.Context) error {
		grants, err := h.vault.Grants(ctx, vault.Principal(c.claim.Principal), c.server.provider())
		for _, g := range grants {
			if g.Label == vault.DefaultLabel && refusal.answeredBy(g) {
				_, err = h.inbox.UnblockFor(ctx, c.claim.Principal, c.server.ID, inbox.ReasonSignIn)
			}
		}
		return err
	})
}

// cannotSend is cannot for a call that is marked, and of which nothing ran.
func (c *carriage) cannotSend(conn *connection, err error) {
	if c.ctx.Err() != nil {
		c.nothingRan()
		return
	}
	c.cannot(c.host.pool(conn.server, conn.principal), err)
}

// codeScope says that a token is good and does not allow enough (RFC 6750 3.1).
const codeScope = "insufficient_scope"

// lacking are the scopes that a server says to miss; nil if that is not what it says.
// Servers with the SDK's middleware send 403 with the scopes and no code.
func lacking(status int, c challenge) []string {
	if status == http.StatusForbidden && (c.code == codeScope || c.code == "") {
		return c.scopes
	}
	return nil
}

func (e *signInError) lacking() []string { return lacking(e.status, readChallenge(e.challenge)) }

// want remembers which scopes the server missed, for the next sign-in on whichever
// machine (MCP 2026-07-28 basic/authorization, "Step-Up Authorization Flow"). If that
// cannot be written the server will say it again.
func (h *Host) want(ctx context.Context, p inbox.Principal, s *Server, scopes []string) {
	if len(scopes) == 0 || h.vault == nil || !s.signable() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.leaseTime())
	defer cancel()
	if err := h.vault.Want(ctx, vault.Principal(p), s.provider(), "", scopes); err != nil {
		h.log.Warn("host: what a server misses could not be kept", "server", s.ID, "err", err)
	}
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

// refusal is how the server refused the last connection, or a request on one that is
// open, for want of a sign-in; nil if it did not.
func (p *pool) refusal() *signInError {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.list) == 0 {
		refusal := (*signInError)(nil)
		errors.As(p.last, &refusal)
		return refusal
	}
	for _, c := range p.list {
		if c.web == nil {
			continue
		}
		if refusal := c.web.wanted(); refusal != nil {
			return refusal
		}
	}
	return nil
}

// answeredBy reports whether the grant is one that the server has not refused yet: the
// person has signed in since.
func (e *signInError) answeredBy(g vault.Grant) bool {
	return g.Status == vault.Alive && (g.ID != e.with.Grant() || g.Generation != e.with.Generation())
}

// answered reports whether the person has signed in since, perhaps on another machine.
// Then the refusal is forgotten.
func (p *pool) answered(refusal *signInError, g vault.Grant) bool {
	if !refusal.answeredBy(g) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.list {
		if c.web != nil {
			c.web.forgive(refusal)
		}
	}
	if last := (*signInError)(nil); errors.As(p.last, &last) && last == refusal {
		p.last = nil
	}
	return true
}

type callKey struct{}

// withCall says which call a credential is read for; see [VaultAudit].
func withCall(ctx context.Context, id inbox.CallID) context.Context {
	return context.WithValue(ctx, callKey{}, id)
}

// VaultAudit is the [vault.Options].Audit of a host's vault: each use of a person's
// credential is a row of the audit of in, with the server and the call that it is for,
// and so is the end of a sign-in. Where that row cannot be written no credential is given
// out.
func VaultAudit(in *inbox.Inbox, servers []*Server) func(context.Context, vault.Event) error {
	ids := VaultServers(servers)
	return func(ctx context.Context, e vault.Event) error {
		server := ids[e.Provider]
		if server == "" {
			server = e.Provider
		}
		person := inbox.Principal(e.Principal)
		switch {
		case person.Issuer == "": // registrations belong to nobody
			return nil
		case e.Kind == vault.KindGrant && e.Action == vault.ActionDelete:
			return in.CredentialChanged(ctx, person, inbox.CredentialChange{Kind: inbox.AuditSignedOut, Server: server})
		case e.Kind == vault.KindRevocation && e.Action == vault.ActionGaveUp:
			return in.CredentialChanged(ctx, person, inbox.CredentialChange{Kind: inbox.AuditNotRevoked, Server: server, State: "gave_up"})
		case e.Kind == vault.KindGrant && (e.Action == vault.ActionRead || e.Action == vault.ActionRenew), e.Kind == vault.KindRevocation && e.Action == vault.ActionRevoke:
		default: // what is stored is not read; the host says what came of it
			return nil
		}
		call, _ := ctx.Value(callKey{}).(inbox.CallID)
		return in.CredentialRead(ctx, person, inbox.CredentialUse{
			Call: call, Server: server, Credential: e.Label, Purpose: string(e.Action) + ": " + e.Purpose,
		})
	}
}

// VaultServers are the ids of the servers by the provider of their grants in the vault.
func VaultServers(servers []*Server) map[string]string {
	ids := make(map[string]string, len(servers))
	for _, s := range servers {
		if s.Kind() == HTTP {
			ids[s.provider()] = s.ID
		}
	}
	return ids
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
