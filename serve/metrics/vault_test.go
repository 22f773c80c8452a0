package metrics_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/serve/metrics"
	"github.com/parley-mcp/parley/vault"
)

// An authority answers what its test says.
type authority struct{ err error }

func (a *authority) Refresh(context.Context, vault.RefreshRequest) (vault.Tokens, error) {
	if a.err != nil {
		return vault.Tokens{}, a.err
	}
	return vault.Tokens{Access: vault.NewSecret("sentinel-new"), Lifetime: time.Hour}, nil
}
func (a *authority) Revoke(context.Context, vault.RevokeRequest) error { return a.err }

// A vault whose endpoint is counted: a renewal, failures of each class, a revocation.
func TestRenewals(t *testing.T) {
	t.Parallel()
	m := metrics.New(&metrics.Options{Servers: []string{"hotel"}})
	a := &authority{}
	endpoint := m.Endpoint(a, map[string]string{"https://hotel.example/mcp": "hotel", "https://x.example/mcp": "not in the file"})
	v, err := vault.New(vault.NewMemory(nil), vault.NewKeys(), &vault.Options{Endpoint: endpoint})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}()
	ada := vault.Principal{Issuer: "https://id.example", Subject: "ada-9f31"}
	if _, err := v.Save(t.Context(), ada, vault.NewGrant{
		Provider: "https://hotel.example/mcp", Access: vault.NewSecret("sentinel-old"), Refresh: vault.NewSecret("sentinel-refresh"), Lifetime: time.Hour,
		Terms: vault.Terms{TokenEndpoint: "https://as.example/token", RevocationEndpoint: "https://as.example/revoke", Renewal: vault.Renewal{By: vault.RenewByRefreshToken}},
	}); err != nil {
		t.Fatal(err)
	}
	token, err := v.Token(t.Context(), ada, "https://hotel.example/mcp", "", "test")
	if err != nil {
		t.Fatal(err)
	}
	if token, err = v.Renew(t.Context(), ada, token, "test"); err != nil || token.Reveal() != "sentinel-new" {
		t.Fatal(token, err)
	}
	for _, class := range []vault.Class{vault.InvalidGrant, vault.Refused, vault.Unavailable, vault.NotSent, vault.Lost, "made up"} {
		a.err = &vault.EndpointError{Class: class}
		if _, err := endpoint.Refresh(t.Context(), vault.RefreshRequest{Provider: "https://x.example/mcp"}); err == nil {
			t.Error("the failure is the vault's to see")
		}
	}
	a.err = errors.New("sentinel")
	if err := endpoint.Revoke(t.Context(), vault.RevokeRequest{Provider: "https://hotel.example/mcp"}); err == nil {
		t.Error("the failure is the vault's to see")
	}
	a.err = nil
	if err := endpoint.Revoke(t.Context(), vault.RevokeRequest{Provider: "https://hotel.example/mcp"}); err != nil {
		t.Error(err)
	}
	text := page(t, m)
	wants(t, text,
		`parley_credentials_renewed_total{outcome="renewed",server="hotel"} 1`,
		`parley_credentials_renewed_total{outcome="invalid_grant",server="other"} 1`,
		`parley_credentials_renewed_total{outcome="refused",server="other"} 1`,
		`parley_credentials_renewed_total{outcome="unavailable",server="other"} 1`,
		`parley_credentials_renewed_total{outcome="not_sent",server="other"} 1`,
		`parley_credentials_renewed_total{outcome="lost",server="other"} 1`,
		`parley_credentials_renewed_total{outcome="other",server="other"} 1`,
		`parley_credentials_revoked_total{outcome="lost",server="hotel"} 1`,
		`parley_credentials_revoked_total{outcome="revoked",server="hotel"} 1`,
	)
	for _, private := range []string{"sentinel", "ada-9f31", "example"} {
		if strings.Contains(ours(text), private) {
			t.Errorf("the page has %q", private)
		}
	}
}

// Each limit is counted once, by its kind, whatever met it.
func TestLimits(t *testing.T) {
	t.Parallel()
	m := metrics.New(&metrics.Options{Servers: []string{"hotel"}})
	for _, reason := range []string{inbox.ReasonTooManyQuestions, inbox.ReasonPerMinute, inbox.ReasonTooManyRounds, "made up"} {
		m.Observe(&inbox.AuditEntry{Kind: inbox.AuditRefused, Server: "hotel", Reason: reason, Count: 7})
	}
	for _, reason := range []string{inbox.ReasonTooManyQuestions, inbox.ReasonTooManyRounds, inbox.ReasonKeepsAsking} { // the first was counted as it was refused
		m.Observe(&inbox.AuditEntry{Kind: inbox.AuditFinished, Server: "hotel", State: string(inbox.Failed), Reason: reason})
	}
	m.Limited(serve.ReasonTooManyStreams)
	m.Limited("made up")
	wants(t, page(t, m),
		`parley_limits_hit_total{reason="too_many_questions",server="hotel"} 1`,
		`parley_limits_hit_total{reason="questions_per_minute",server="hotel"} 1`,
		`parley_limits_hit_total{reason="too_many_rounds",server="hotel"} 2`,
		`parley_limits_hit_total{reason="keeps_asking",server="hotel"} 1`,
		`parley_limits_hit_total{reason="other",server="hotel"} 1`,
		`parley_limits_hit_total{reason="too_many_streams",server=""} 1`,
		`parley_limits_hit_total{reason="other",server=""} 1`,
	)
}
