package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve/metrics"
	"github.com/parley-mcp/parley/vault"
)

// openVault opens the vault beside the inbox and runs it until s is closed: the
// keys are read again as they change, for the inbox too, and other machines
// see which this one has (parley vault rotate waits for that). Keys that do not
// open all that is there are refused. Each use of a person's credential is a row of
// the inbox's audit, and requests to authorization servers reach what the servers
// file allows; counts, if there are any, count those requests.
func (s *storage) openVault(ctx context.Context, in *inbox.Inbox, servers []*host.Server, counts *metrics.Metrics, log *slog.Logger) error {
	endpoint, err := host.VaultEndpoint(servers)
	if err != nil {
		return usageError("", "%w", err)
	}
	if counts != nil {
		endpoint = counts.Endpoint(endpoint, host.VaultServers(servers))
	}
	store, err := openVaultStore(ctx, s.place, s.file)
	if err != nil {
		return err
	}
	v, err := vault.New(store, s.ring, &vault.Options{Endpoint: endpoint, Audit: host.VaultAudit(in, servers), Log: log})
	if err != nil {
		return errors.Join(usageError("", "the keys: %w", err), store.Close())
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := v.Check(ctx); err != nil {
		return errors.Join(usageError("use the file that all machines have; `parley vault status` says more", "the keys: %w", err), store.Close())
	}
	s.vault = v
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- v.Run(running) }()
	s.close = append(s.close, func() error {
		stop()
		return errors.Join(<-ended, v.Close(), store.Close())
	})
	return nil
}
