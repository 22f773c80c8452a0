package vaulttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/parley-mcp/parley/vault"
)

// Provider plays an authorization server behind [vault.Endpoint]: it knows
// which refresh token is the current one of each grant.
type Provider struct {
	// Rotates: a refresh token ends when it is used, and every answer has a
	// new one.
	Rotates bool
	// Forgives: the refresh token before the current one is taken again, until
	// the current one was used.
	Forgives bool
	// Lifetime of access tokens, default 1 h.
	Lifetime time.Duration
	// Before runs before the provider looks at a request; an error is the
	// answer. After runs when it has decided; an error replaces its answer.
	Before, After func(ctx context.Context, request int) error
	// Revoking runs in each revocation; an error is the answer.
	Revoking func(token string) error

	mu       sync.Mutex
	grants   []*consent
	requests int
	invalid  int
	revoked  []string
}

// consent is one grant as the provider sees it.
type consent struct {
	n                int
	access           []string // alive
	refresh, earlier string
	gone             bool
}

// Consent gives a fresh pair for the provider's terms, as after a sign-in.
func (p *Provider) Consent() vault.NewGrant {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &consent{}
	p.grants = append(p.grants, c)
	c.refresh = fmt.Sprintf("refresh-%d-%d", len(p.grants), c.n)
	access := p.mint(c, len(p.grants))
	return vault.NewGrant{
		Provider: "https://mcp.example/", Access: vault.NewSecret(access), Refresh: vault.NewSecret(c.refresh), Type: "Bearer",
		Lifetime: p.lifetime(), Asked: []string{"read", "write"},
		Terms: vault.Terms{
			Issuer: "https://as.example", TokenEndpoint: "https://as.example/token", RevocationEndpoint: "https://as.example/revoke",
		},
	}
}

func (p *Provider) lifetime() time.Duration {
	if p.Lifetime == 0 {
		return time.Hour
	}
	return p.Lifetime
}

func (p *Provider) mint(c *consent, grant int) string {
	access := fmt.Sprintf("access-%d-%d", grant, c.n)
	c.access = append(c.access, access)
	return access
}

// Requests is how many refresh requests have arrived.
func (p *Provider) Requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

// Invalid is how many of them were answered with invalid_grant.
func (p *Provider) Invalid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.invalid
}

// Revoked are the tokens that were revoked, in order.
func (p *Provider) Revoked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.revoked...)
}

// Takes reports whether the access token works.
func (p *Provider) Takes(access string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.grants {
		for _, a := range c.access {
			if a == access && !c.gone {
				return true
			}
		}
	}
	return false
}

// End makes the provider forget all grants, as a person can at its page.
func (p *Provider) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.grants {
		c.gone = true
	}
}

// Refresh implements [vault.Endpoint].
func (p *Provider) Refresh(ctx context.Context, request vault.RefreshRequest) (vault.Tokens, error) {
	p.mu.Lock()
	p.requests++
	n := p.requests
	p.mu.Unlock()
	if p.Before != nil {
		if err := p.Before(ctx, n); err != nil {
			return vault.Tokens{}, err
		}
	}
	tokens, err := p.decide(request)
	if p.After != nil {
		if err := p.After(ctx, n); err != nil {
			return vault.Tokens{}, err
		}
	}
	return tokens, err
}

func (p *Provider) decide(request vault.RefreshRequest) (vault.Tokens, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	refresh := request.Refresh.Reveal()
	for i, c := range p.grants {
		known := refresh == c.refresh || refresh == c.earlier && p.Forgives
		switch request.Terms.Renewal.By {
		case vault.RenewByAccessToken:
			known = slices.Contains(c.access, request.Access.Reveal())
		case vault.RenewByClient:
			known = true
		case vault.RenewByRefreshToken, vault.RenewNever:
		}
		if c.gone || !known {
			continue
		}
		c.n++
		tokens := vault.Tokens{Access: vault.NewSecret(p.mint(c, i+1)), Type: "Bearer", Lifetime: p.lifetime()}
		if p.Rotates {
			if refresh == c.refresh {
				c.earlier = c.refresh
			}
			c.refresh = fmt.Sprintf("refresh-%d-%d", i+1, c.n)
			tokens.Refresh = vault.NewSecret(c.refresh)
		}
		return tokens, nil
	}
	p.invalid++
	return vault.Tokens{}, &vault.EndpointError{Class: vault.InvalidGrant, Status: 400, Code: "invalid_grant"}
}

// Revoke implements [vault.Endpoint].
func (p *Provider) Revoke(_ context.Context, request vault.RevokeRequest) error {
	token := request.Token.Reveal()
	if p.Revoking != nil {
		if err := p.Revoking(token); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revoked = append(p.revoked, token)
	for _, c := range p.grants {
		if c.refresh == token || c.earlier == token {
			c.gone = true
		}
		for i, access := range c.access {
			if access == token {
				c.access = append(c.access[:i:i], c.access[i+1:]...)
				break
			}
		}
	}
	return nil
}

var _ vault.Endpoint = (*Provider)(nil)

// errLost is an answer that did not arrive.
var errLost = &vault.EndpointError{Class: vault.Lost, Err: errors.New("the connection broke")}
