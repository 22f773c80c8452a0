package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/quiet"
	"github.com/parley-mcp/parley/policy/rules"
	"github.com/parley-mcp/parley/serve"
)

// Files in the data directory.
const (
	storeFile = "parley.db"
	keysFile  = "keys.json"
	tokenFile = "token"
)

// grace is how long a stopping host waits for work that is on the wire.
const grace = 10 * time.Second

// A hosting is what a host is run with, beside its flags.
type hosting struct {
	servers            *host.ServersFile
	policy             *rules.Live // nil: the host's default
	questionsPerMinute int         // of one server; 0: the inbox's default
	ready              string      // a line more for when all is ready
}

// takeData makes the data directory and takes it for this process. It comes before
// all else: of two hosts the second has then opened, read and printed nothing.
func takeData(dir string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, usageError("choose another directory with --data", "the data directory: %w", err)
	}
	return lockData(dir)
}

// runHost runs the host behind ln, on common.data, which is taken, until ctx ends.
func runHost(ctx context.Context, env *environment, common hostFlags, ln net.Listener, what hosting) (err error) {
	servers := what.servers
	log := newLog(env)
	told, err := common.tellingFlags.open(ctx, env, servers, log)
	if err != nil {
		return err
	}
	defer told.close()
	kept, err := openStorage(ctx, &common.storeFlags, common.data, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()

	in := inbox.New(kept.store, kept.ring, &inbox.Options{
		Owner: kept.owner, Lease: common.lease, Notifier: kept.notifier, Log: log,
		Retention:          time.Duration(common.retention) * 24 * time.Hour,
		AuditRetention:     common.auditRetention(),
		Observe:            told.observe(),
		QuestionsPerMinute: what.questionsPerMinute,
	})
	if err := kept.openVault(ctx, in, servers.Servers, told.metrics, log); err != nil {
		return err
	}
	if kept.owner != "" {
		// Sound only under the store's lock: no other process owns a lease here.
		if _, err := in.Recover(ctx); err != nil {
			return fmt.Errorf("recovering the calls of the last run: %w", err)
		}
	}
	hosted := &host.Options{
		Implementation: &mcp.Implementation{Name: "parley", Title: "Parley", Version: version},
		Vault:          kept.vault, ClientMetadataURL: common.clientMetadata(),
		Log: log,
	}
	if told.tracer != nil {
		hosted.Tracer = told.tracer
	}
	if what.policy != nil {
		hosted.Policy = what.policy
		policyNews(log, what.policy.Rules(), nil)
	}
	h, err := host.New(in, servers.Servers, hosted)
	if err != nil {
		return usageError("", "%w", err)
	}
	signIn, err := common.authFlags.open(ctx, env, common.data, kept, log)
	if err != nil {
		return errors.Join(err, h.Close())
	}
	options := signIn.options(kept)
	options.Log, options.Version, options.PublicURL = log, version, common.public()
	base := "http://" + ln.Addr().String()
	public := common.public()
	if public == "" {
		public = base
	}
	if err := told.over(in, kept.store, public); err != nil {
		return errors.Join(err, h.Close())
	}
	options.Webhooks = told.sender
	if told.metrics != nil {
		options.Limited = told.metrics.Limited
	}
	api := serve.New(h, in, options)

	running := filepath.Join(common.data, runningFile)
	if err := os.WriteFile(running, []byte(base+"\n"), 0o600); err != nil {
		return fmt.Errorf("the data directory: %w", err)
	}
	defer os.Remove(running)

	for _, note := range servers.Notes {
		fmt.Fprintf(env.stderr, "parley: note: %s\n", note)
	}
	if signIn.local != nil {
		fmt.Fprintf(env.stdout, "Parley is ready. Open this address; it signs in one browser, once, within %s:\n\n  %s\n\n",
			inMinutes(serve.OneTimeLife), serve.Address(base, signIn.local.OneTime()))
		fmt.Fprintf(env.stdout, "%s%sAnother address: parley address --data %s\nStop: Ctrl-C\n", what.ready, told.said(), common.data)
	} else {
		fmt.Fprint(env.stdout, told.said())
		fmt.Fprintf(env.stdout, "Parley is ready at %s, for the people of %s.\nStop: Ctrl-C\n", common.publicURL, common.issuer)
	}
	return serveUntil(ctx, ln, api.Handler(), told.beside(following(what.policy, policyEvery, log, h.Run)))
}

func inMinutes(d time.Duration) string { return fmt.Sprintf("%d minutes", int(d.Minutes())) }

// newLog is the log of a process: for the operator, on standard error, and
// without what is none of the operator's business (package quiet).
func newLog(env *environment) *slog.Logger {
	text := slog.NewTextHandler(env.stderr, &slog.HandlerOptions{Level: slog.LevelInfo})
	return slog.New(quiet.New(text))
}

// serveUntil serves handler on ln and runs work beside it. When ctx ends it stops
// work first, so that pages see how held calls end, then closes the streams.
func serveUntil(ctx context.Context, ln net.Listener, handler http.Handler, work func(context.Context) error) error {
	streams, endStreams := context.WithCancel(context.WithoutCancel(ctx))
	defer endStreams()
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return streams },
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()

	workCtx, stopWork := context.WithCancel(ctx)
	defer stopWork()
	done := make(chan error, 1)
	go func() { done <- work(workCtx) }()

	var result error
	select {
	case <-ctx.Done():
		result = ended(<-done)
	case err := <-failed:
		stopWork()
		return errors.Join(fmt.Errorf("serving: %w", err), ended(<-done))
	case err := <-done:
		result = ended(err)
		if result == nil && ctx.Err() == nil {
			result = errors.New("the host stopped by itself")
		}
	}
	endStreams()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := srv.Shutdown(stop); err != nil {
		srv.Close()
	}
	return result
}

// ended drops the error that only says that the host was told to stop.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// listen opens the listener of the flag.
func listen(ctx context.Context, flagName, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, connectError(fmt.Sprintf("is another parley running? choose another port with %s", flagName),
			"%s is in use", addr)
	}
	if malformed, ok := errors.AsType[*net.AddrError](err); ok {
		return nil, usageError("write it as HOST:PORT, for example "+defaultAddr, "%s %q: %s", flagName, addr, malformed.Err)
	}
	if err != nil {
		return nil, connectError("", "listening on %s: %w", addr, err)
	}
	return ln, nil
}
