// Package natsnotify is an [inbox.Notifier] over NATS, for those who run one
// anyway. It uses plain subjects and no JetStream: hints may be lost, and the
// store's polling does without them. A message holds ids only.
//
// While the server is away hints are dropped. After each new connection, and
// when messages came faster than they were read, all subscribers are told to
// look, since some may have been lost.
package natsnotify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/notify/internal/relay"
)

// ErrClosed is the answer of a notifier that was closed.
var ErrClosed = relay.ErrClosed

// Options of a [Notifier]; zero fields are the defaults.
type Options struct {
	// Prefix begins the subject: "PREFIX.hints". Default: the path of the
	// address if it has one, else "parley". Inboxes that share a server each
	// have their own, or they wake each other.
	Prefix string
	Log    *slog.Logger // connections lost and found; default: nowhere
}

// Notifier is one machine's end. It is safe for concurrent use.
type Notifier struct {
	relay   *relay.Relay
	conn    *nats.Conn
	subject string
	group   sync.WaitGroup
	ended   chan struct{} // the connection is closed for good
}

// Prefixes are tokens of a subject without wildcards.
var prefixes = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

const maxPrefix = 200 // bytes

// Open connects to the server: nats://USER:PASSWORD@HOST:PORT/PREFIX, or tls://.
// No error repeats the address. ctx bounds the opening only.
func Open(ctx context.Context, address string, options *Options) (*Notifier, error) {
	var o Options
	if options != nil {
		o = *options
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	server, err := url.Parse(address)
	if err != nil || server.Host == "" || server.Scheme != "nats" && server.Scheme != "tls" {
		return nil, errors.New("natsnotify: the address cannot be read: write it as nats://USER:PASSWORD@HOST:PORT")
	}
	if path := strings.Trim(server.Path, "/"); o.Prefix == "" {
		o.Prefix = path
	}
	if o.Prefix == "" {
		o.Prefix = "parley"
	}
	if len(o.Prefix) > maxPrefix || !prefixes.MatchString(o.Prefix) {
		return nil, errors.New("natsnotify: the prefix of the subject is letters, digits, - and _, with dots between")
	}
	server.Path = ""
	timeout := 5 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, max(time.Until(deadline), time.Millisecond))
	}
	n := &Notifier{relay: relay.New(), subject: o.Prefix + ".hints", ended: make(chan struct{})}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n.conn, err = nats.Connect(server.String(),
		nats.Name("parley"), nats.Timeout(timeout), nats.NoEcho(),
		nats.MaxReconnects(-1), nats.ReconnectWait(250*time.Millisecond), nats.ReconnectJitter(250*time.Millisecond, time.Second),
		nats.PingInterval(20*time.Second), nats.MaxPingsOutstanding(2),
		nats.ReconnectBufSize(-1), // hints of the past are of no use
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				o.Log.Warn("natsnotify: connection lost, polling only", "err", err)
			}
		}),
		nats.ReconnectHandler(func(conn *nats.Conn) {
			// The subscription was sent again; only the answer says that it holds.
			for err := conn.FlushTimeout(5 * time.Second); err != nil; err = conn.FlushTimeout(5 * time.Second) {
				if !errors.Is(err, nats.ErrTimeout) || !conn.IsConnected() {
					return // lost once more, and there will be another time
				}
			}
			o.Log.Info("natsnotify: connected again")
			n.relay.WakeAll()
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			o.Log.Warn("natsnotify: hints were lost", "err", err)
			n.relay.WakeAll()
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(n.ended) }),
	)
	if err != nil {
		return nil, fmt.Errorf("natsnotify: connecting to %s: %w", server.Host, err)
	}
	_, err = n.conn.Subscribe(n.subject, func(m *nats.Msg) { n.relay.Receive(m.Data) })
	if err == nil {
		err = n.conn.FlushTimeout(timeout) // from here on nothing is missed
	}
	if err != nil {
		n.conn.Close()
		<-n.ended
		return nil, fmt.Errorf("natsnotify: subscribing at %s: %w", server.Host, err)
	}
	n.group.Go(func() {
		for n.relay.Wait() {
			for _, message := range n.relay.Take() {
				if err := n.conn.Publish(n.subject, message); err != nil && n.relay.Life().Err() == nil && !errors.Is(err, nats.ErrReconnectBufExceeded) {
					o.Log.Warn("natsnotify: a hint was not sent", "err", err)
				}
			}
		}
	})
	return n, nil
}

// Notify implements [inbox.Notifier]. It never waits for the server.
func (n *Notifier) Notify(ctx context.Context, hint inbox.Hint) error {
	return n.relay.Notify(ctx, hint)
}

// Subscribe implements [inbox.Notifier].
func (n *Notifier) Subscribe(ctx context.Context, principal string) (<-chan inbox.Hint, error) {
	return n.relay.Subscribe(ctx, principal)
}

// Close ends the subscriptions and closes the connection. Hints that were not
// sent are dropped.
func (n *Notifier) Close() error {
	n.relay.Close()
	n.group.Wait()
	n.conn.Close()
	<-n.ended
	return nil
}

var _ inbox.Notifier = (*Notifier)(nil)
