// Package pgnotify is an [inbox.Notifier] over LISTEN and NOTIFY of PostgreSQL.
//
// It keeps two connections: one listens, one sends. Both have to be direct:
// LISTEN does not pass a transaction pooler. NOTIFY takes a lock of the whole
// database when it commits, so hints never ride on the store's transactions:
// they wait in a queue that holds each once, and those that came together
// travel in one message. A message holds ids only.
//
// While the database is away hints are dropped, and the store's polling does
// without them. After each new connection all subscribers are told to look,
// since some may have been lost.
package pgnotify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/notify/internal/relay"
)

// ErrClosed is the answer of a notifier that was closed.
var ErrClosed = relay.ErrClosed

// Options of a [Notifier]; zero fields are the defaults.
type Options struct {
	// Channel is what is listened to, up to 63 bytes; default "parley". Inboxes
	// in one database each have their own, or they wake each other.
	Channel string
	Log     *slog.Logger // connections lost and found; default: nowhere
}

const (
	firstPause = 100 * time.Millisecond // before a new connection; doubled up to lastPause
	lastPause  = 10 * time.Second
	probe      = 30 * time.Second // silence after which the connection is tried
	reply      = 10 * time.Second // how long an answer may take
)

// Notifier is one machine's end. It is safe for concurrent use.
type Notifier struct {
	relay   *relay.Relay
	config  *pgx.ConnConfig
	channel string
	log     *slog.Logger
	sender  atomic.Uint32 // the server's process id of the connection that sends
	group   sync.WaitGroup
}

// Open connects and listens. dsn is a connection string as pgstore takes it;
// its search_path and pool settings do not matter, and no error repeats it.
// ctx bounds the opening only.
func Open(ctx context.Context, dsn string, options *Options) (*Notifier, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		// Those of the parser may repeat a part of it, and it holds a password.
		return nil, errors.New("pgnotify: the connection string cannot be read: write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	for name := range config.RuntimeParams { // what is meant for the store's pool
		if name == "search_path" || strings.HasPrefix(name, "pool_") {
			delete(config.RuntimeParams, name)
		}
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = reply
	}
	n := &Notifier{relay: relay.New(), config: config, channel: "parley", log: slog.New(slog.DiscardHandler)}
	if options != nil {
		if options.Channel != "" {
			n.channel = options.Channel
		}
		if options.Log != nil {
			n.log = options.Log
		}
	}
	if len(n.channel) > 63 {
		return nil, errors.New("pgnotify: the channel's name is longer than 63 bytes")
	}
	conn, err := n.listen(ctx)
	if err != nil {
		return nil, fmt.Errorf("pgnotify: %w", err)
	}
	n.group.Go(func() { n.receive(n.relay.Life(), conn) })
	n.group.Go(func() { n.send(n.relay.Life()) })
	return n, nil
}

// Notify implements [inbox.Notifier]. It never waits for the database.
func (n *Notifier) Notify(ctx context.Context, hint inbox.Hint) error {
	return n.relay.Notify(ctx, hint)
}

// Subscribe implements [inbox.Notifier].
func (n *Notifier) Subscribe(ctx context.Context, principal string) (<-chan inbox.Hint, error) {
	return n.relay.Subscribe(ctx, principal)
}

// Close ends the subscriptions and closes the connections. Hints that were not
// sent are dropped.
func (n *Notifier) Close() error {
	n.relay.Close()
	n.group.Wait()
	return nil
}

func (n *Notifier) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.ConnectConfig(ctx, n.config.Copy())
}

func (n *Notifier) listen(ctx context.Context) (*pgx.Conn, error) {
	conn, err := n.connect(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, reply)
	defer cancel()
	if _, err := conn.Exec(ctx, `LISTEN `+pgx.Identifier{n.channel}.Sanitize()); err != nil {
		closeConn(conn)
		return nil, err
	}
	return conn, nil
}

// receive delivers what others send, over one connection after the other.
func (n *Notifier) receive(ctx context.Context, conn *pgx.Conn) {
	for {
		err := n.deliver(ctx, conn)
		closeConn(conn)
		if ctx.Err() != nil {
			return
		}
		n.log.Warn("pgnotify: not listening, polling only", "err", err)
		for pause := firstPause; ; pause = min(2*pause, lastPause) {
			if conn, err = n.listen(ctx); err == nil {
				break
			}
			if !sleep(ctx, pause) {
				return
			}
		}
		n.log.Info("pgnotify: listening again")
		n.relay.WakeAll()
	}
}

// deliver returns when the connection is lost.
func (n *Notifier) deliver(ctx context.Context, conn *pgx.Conn) error {
	for {
		wait, cancel := context.WithTimeout(ctx, probe)
		message, err := conn.WaitForNotification(wait)
		silent := wait.Err() != nil
		cancel()
		switch {
		case err == nil:
			if message.PID != n.sender.Load() { // this process has been told
				n.relay.Receive([]byte(message.Payload))
			}
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case !silent || conn.IsClosed():
			return err
		}
		// A peer that vanished without a word is found out only by asking it.
		ask, cancel := context.WithTimeout(ctx, reply)
		err = conn.Ping(ask)
		cancel()
		if err != nil {
			return err
		}
	}
}

// send sends what the relay has, over a connection of its own.
func (n *Notifier) send(ctx context.Context) {
	var conn *pgx.Conn
	defer func() { closeConn(conn) }()
	pause := firstPause
	for n.relay.Wait() {
		messages := n.relay.Take()
		err := error(nil)
		if conn == nil {
			conn, err = n.connect(ctx)
		}
		if err == nil {
			n.sender.Store(conn.PgConn().PID())
			err = n.notify(ctx, conn, messages)
		}
		if err == nil {
			pause = firstPause
			continue
		}
		if ctx.Err() != nil {
			return
		}
		closeConn(conn)
		conn = nil
		n.sender.Store(0)
		n.log.Warn("pgnotify: hints were not sent", "err", err)
		if !sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, lastPause)
	}
}

// notify sends the messages in one transaction, so they take the lock once.
func (n *Notifier) notify(ctx context.Context, conn *pgx.Conn, messages [][]byte) error {
	ctx, cancel := context.WithTimeout(ctx, reply)
	defer cancel()
	batch := &pgx.Batch{}
	for _, message := range messages {
		batch.Queue(`SELECT pg_notify($1, $2)`, n.channel, string(message))
	}
	return conn.SendBatch(ctx, batch).Close()
}

func closeConn(conn *pgx.Conn) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // it is not used again
}

// sleep waits for about d; false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d)) //nolint:gosec // so that machines do not come back all at once
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

var _ inbox.Notifier = (*Notifier)(nil)
