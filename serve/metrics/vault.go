package metrics

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-mcp/parley/vault"
)

// What a renewal and a revocation come to if they do not fail; else the outcome is
// the [vault.Class] of the failure.
const (
	outcomeRenewed = "renewed"
	outcomeRevoked = "revoked"
)

var classes = []string{
	string(vault.InvalidGrant), string(vault.Refused), string(vault.Unavailable), string(vault.NotSent), string(vault.Lost),
}

// Endpoint returns an endpoint for [vault.Options] that counts what e does. Servers
// are the ids of servers by the provider of their grants ([host.VaultServers]).
func (m *Metrics) Endpoint(e vault.Endpoint, servers map[string]string) vault.Endpoint {
	return &endpoint{Endpoint: e, metrics: m, servers: servers}
}

type endpoint struct {
	vault.Endpoint
	metrics *Metrics
	servers map[string]string
}

// Refresh implements [vault.Endpoint].
func (e *endpoint) Refresh(ctx context.Context, r vault.RefreshRequest) (vault.Tokens, error) {
	tokens, err := e.Endpoint.Refresh(ctx, r)
	e.count(e.metrics.renewed, r.Provider, outcomeRenewed, err)
	return tokens, err
}

// Revoke implements [vault.Endpoint].
func (e *endpoint) Revoke(ctx context.Context, r vault.RevokeRequest) error {
	err := e.Endpoint.Revoke(ctx, r)
	e.count(e.metrics.revoked, r.Provider, outcomeRevoked, err)
	return err
}

func (e *endpoint) count(in *prometheus.CounterVec, provider, outcome string, err error) {
	if err != nil {
		outcome = string(vault.Lost) // as the vault takes an error without a class
		if failed, ok := errors.AsType[*vault.EndpointError](err); ok {
			outcome = one(classes, string(failed.Class))
		}
	}
	in.WithLabelValues(e.metrics.server(e.servers[provider]), outcome).Inc()
}
