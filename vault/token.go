package vault

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Token returns the principal's access token for the provider under the label
// (empty: [DefaultLabel]), renewed if its end is near. The purpose says who
// wants it and for what, for the audit.
//
// If it has to be renewed, one request is sent, whoever and however many ask on
// however many machines, and the new token is stored before anybody gets it.
// When ctx ends the caller stops waiting; the renewal goes on. A token that has
// not ended is given out while it cannot be renewed.
//
// The errors: [ErrNotFound], [*ReconnectError], [*WaitError], [ErrNotAudited],
// [ErrSealed], [ErrKeysGone], [ErrClosed], and those of the store.
func (v *Vault) Token(ctx context.Context, p Principal, provider, label, purpose string) (Token, error) {
	if err := v.begin(p); err != nil {
		return Token{}, err
	}
	if label == "" {
		label = DefaultLabel
	}
	if provider == "" {
		return Token{}, ErrNotFound
	}
	g, now, err := v.find(ctx, p, Query{Kind: KindGrant, Provider: provider, Name: label})
	if err != nil {
		return Token{}, err
	}
	if g.due(now, v.options.Margin) {
		if g, err = v.renewed(ctx, g, now, purpose); err != nil {
			return Token{}, err
		}
	}
	return v.hand(ctx, g, purpose)
}

// Renew returns another token than the given one, which the provider refused
// with 401. If the grant has a newer one already that is it; else it is renewed,
// once for all who hold the refused one. If the provider refuses that, too,
// Renew gives [ErrRejected] for a minute: a token is not what is missing.
//
// The other errors are those of [Vault.Token].
func (v *Vault) Renew(ctx context.Context, p Principal, refused Token, purpose string) (Token, error) {
	if err := v.begin(p); err != nil {
		return Token{}, err
	}
	if refused.grant == "" {
		return Token{}, ErrNotFound
	}
	g, now, err := v.find(ctx, p, Query{Kind: KindGrant, ID: string(refused.grant)})
	if err != nil {
		return Token{}, err
	}
	switch {
	case g.d.Generation == refused.generation:
		g, err = v.replaced(ctx, g, now, purpose)
	case g.due(now, v.options.Margin): // the newer one is old by now
		g, err = v.renewed(ctx, g, now, purpose)
	}
	if err != nil {
		return Token{}, err
	}
	return v.hand(ctx, g, purpose)
}

// Secret returns the secret of this name that a static key consists of.
func (v *Vault) Secret(ctx context.Context, p Principal, provider, label, name, purpose string) (Secret, error) {
	if err := v.begin(p); err != nil {
		return Secret{}, err
	}
	if label == "" {
		label = DefaultLabel
	}
	if provider == "" {
		return Secret{}, ErrNotFound
	}
	g, _, err := v.find(ctx, p, Query{Kind: KindGrant, Provider: provider, Name: label})
	if err != nil {
		return Secret{}, err
	}
	field := secretPrefix + name
	if !has(g.row, field) { // and the audit is not told of names that callers make up
		return Secret{}, fmt.Errorf("%w: no secret of this name", ErrNotFound)
	}
	if err := v.auditRead(ctx, g, field, purpose); err != nil {
		return Secret{}, err
	}
	f, err := v.open(p, g.row, g.d.Generation, field)
	if err != nil {
		return Secret{}, err
	}
	return NewSecret(string(f[field])), nil
}

// find reads one grant outside of a transaction, with the store's time.
func (v *Vault) find(ctx context.Context, p Principal, q Query) (*grant, time.Time, error) {
	q.Limit = 1
	rows, now, err := v.store.Rows(ctx, p.Key(), q)
	if err != nil {
		return nil, time.Time{}, err
	}
	if len(rows) == 0 {
		return nil, time.Time{}, ErrNotFound
	}
	d, err := v.details.read(rows[0])
	return &grant{p: p, row: rows[0], d: d}, now, err
}

// details remembers what was read from a grant's Detail, by its bytes: between
// two renewals they are the same at each use of the token, and reading JSON costs
// as much as a read of the row.
type details struct {
	mu    sync.Mutex
	known map[string]grantDetail
}

// maxDetails bounds the memory, of about 500 bytes each.
const maxDetails = 4096

func (c *details) read(row *Row) (grantDetail, error) {
	c.mu.Lock()
	d, ok := c.known[string(row.Detail)]
	c.mu.Unlock()
	if ok {
		return d, nil
	}
	if err := detail(row, &d); err != nil {
		return d, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxDetails {
		c.known = map[string]grantDetail{}
	}
	c.known[string(row.Detail)] = d
	return d, nil
}

// hand gives the grant's access token out, once the audit has agreed.
func (v *Vault) hand(ctx context.Context, g *grant, purpose string) (Token, error) {
	if err := v.auditRead(ctx, g, fieldAccess, purpose); err != nil {
		return Token{}, err
	}
	field, err := v.openOne(g.p, g.row, g.d.Generation, fieldAccess)
	if err != nil {
		return Token{}, err
	}
	if len(field) == 0 {
		return Token{}, fmt.Errorf("%w: the grant has no access token", ErrNotFound)
	}
	access, kind, scopes, err := unpackAccess(g.row, field)
	if err != nil {
		return Token{}, err
	}
	return Token{
		access: access, kind: kind, expires: g.d.Expires, scopes: scopes, grant: g.id(), generation: g.d.Generation,
	}, nil
}

func (v *Vault) auditRead(ctx context.Context, g *grant, field, purpose string) error {
	if v.options.Audit == nil {
		return nil
	}
	return v.audit(ctx, Event{
		Action: ActionRead, Principal: g.p, Kind: KindGrant, ID: g.row.ID, Provider: g.row.Provider, Label: g.row.Name,
		Fields: []string{field}, Purpose: purpose,
	})
}

// due reports whether the token has to be renewed before it is used. A margin
// of a quarter of its life keeps short ones from being renewed at each use.
func (g *grant) due(now time.Time, margin time.Duration) bool {
	if g.d.Expires.IsZero() {
		return false
	}
	if g.d.Margin != 0 {
		margin = g.d.Margin
	}
	margin = max(min(margin, g.d.Lifetime/4), 0)
	return !now.Before(g.d.Expires.Add(-margin))
}

// valid reports whether the token has not ended.
func (g *grant) valid(now time.Time) bool { return g.d.Expires.IsZero() || now.Before(g.d.Expires) }

// trouble says why it makes no sense to renew the grant now; nil: it does.
func (g *grant) trouble(now time.Time) error {
	switch {
	case g.status() == ReconnectNeeded:
		return g.reconnect(g.d.Reason)
	case !g.d.Renewable:
		return g.reconnect(ReasonNotRenewable)
	case now.Before(g.d.Wait):
		return &WaitError{Grant: g.id(), RetryAfter: g.d.Wait.Sub(now), Refused: g.status() == Dead, Code: g.d.Code}
	}
	return nil
}

// renewed returns the grant with a token that is not due. While the old token
// is valid it is good enough, if the new one takes too long or cannot be had.
func (v *Vault) renewed(ctx context.Context, g *grant, now time.Time, purpose string) (*grant, error) {
	err := g.trouble(now)
	if err == nil {
		var patience <-chan time.Time
		if g.valid(now) {
			timer := time.NewTimer(min(v.options.Patience, g.d.Expires.Sub(now)/2))
			defer timer.Stop()
			patience = timer.C
		}
		var fresh *grant
		if fresh, err = v.wait(ctx, v.fly(ctx, g, 0, purpose), patience); err == nil {
			return fresh, nil
		}
	}
	if g.valid(now) && ctx.Err() == nil && !errors.Is(err, ErrNotFound) {
		return g, nil
	}
	return nil, err
}

// replaced returns the grant with another token than it has, which was refused.
func (v *Vault) replaced(ctx context.Context, g *grant, now time.Time, purpose string) (*grant, error) {
	if err := g.rejected(now); err != nil {
		return nil, err
	}
	if err := g.trouble(now); err != nil {
		return nil, err
	}
	return v.wait(ctx, v.fly(ctx, g, g.d.Generation, purpose), nil)
}

// rejectedPause is how long a renewal that a 401 caused is the last of its kind.
const rejectedPause = time.Minute

// rejected is [ErrRejected] if the grant's token is itself the answer to a 401.
func (g *grant) rejected(now time.Time) error {
	if !g.d.Rejected.IsZero() && now.Before(g.d.Rejected.Add(rejectedPause)) {
		return ErrRejected
	}
	return nil
}
