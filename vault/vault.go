package vault

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/parley-mcp/parley/internal/seal"
)

// Options of a [Vault]; zero fields are the defaults.
type Options struct {
	// Audit is told of everything that happens to a secret, before it happens.
	// If it returns an error no secret is given out. It is called from several
	// goroutines and should be quick: a send waits for it. nil: there is no audit.
	Audit func(context.Context, Event) error

	// Endpoint renews and revokes tokens. nil: neither happens.
	Endpoint Endpoint

	// Log is told of what nobody waits for. nil: nothing is logged.
	Log *slog.Logger

	// Margin is how long before its end a token is renewed, default 1 min, but
	// never more than a quarter of its life. A grant can have its own.
	Margin time.Duration

	// RequestTimeout bounds one request to an authorization server, default 20 s.
	// The lease of a renewal is twice as long and 5 s more: after a machine has
	// died in the middle of one, others wait so long.
	RequestTimeout time.Duration

	// Patience is how long the user of a token that is still valid waits for
	// the next one, default 2 s.
	Patience time.Duration

	// CommitFor is how long a renewed token is kept in memory while the store
	// does not take it, default 5 min.
	CommitFor time.Duration

	// RevokeFor is how long revocations are tried, default 7 days.
	RevokeFor time.Duration

	// Poll is the pause between two sweeps of [Vault.Run], default 30 s.
	Poll time.Duration

	// Machine names this machine to the others, at most 256 bytes; default: a random name.
	Machine string
}

func (o *Options) defaults() {
	def := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	def(&o.Margin, time.Minute)
	def(&o.RequestTimeout, 20*time.Second)
	def(&o.Patience, 2*time.Second)
	def(&o.CommitFor, 5*time.Minute)
	def(&o.RevokeFor, 7*24*time.Hour)
	def(&o.Poll, 30*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Machine == "" {
		o.Machine = "m_" + randomText()
	}
}

// lease is how long a machine may take for one renewal, by the store's clock.
func (o *Options) lease() time.Duration { return 2*o.RequestTimeout + 5*time.Second }

// Vault keeps credentials. It is safe for concurrent use, and several of them,
// on several machines, may share a store.
type Vault struct {
	store   Store
	keys    *Keys
	options Options
	details details

	mu      sync.Mutex
	closed  bool
	flights map[flightKey]*flight
	running sync.WaitGroup // flights, which end by their own bounds
	kick    chan struct{}  // wakes Run: there is something to revoke
}

// New makes a vault on the store. The caller closes the store after the vault.
func New(store Store, keys *Keys, options *Options) (*Vault, error) {
	v := &Vault{store: store, keys: keys, flights: map[flightKey]*flight{}, kick: make(chan struct{}, 1)}
	if options != nil {
		v.options = *options
	}
	v.options.defaults()
	if err := checkText("machine's name", v.options.Machine, maxShort); err != nil {
		return nil, err
	}
	// Rows say which key sealed them, so that a rotation knows when it is done.
	if seal.KeyID(keys.Seal(sealPurpose, nil, nil)) != keys.Primary() {
		return nil, errors.New("vault: the primary key writes no id into what it seals (a Tink key of output prefix TINK does)")
	}
	return v, nil
}

// Close refuses what comes from now on and waits for renewals that are under
// way, since a new token that nobody stored is lost. They take at most some
// minutes, and a second while the store and the authorization server are well.
func (v *Vault) Close() error {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.running.Wait()
	return nil
}

// Format implements [fmt.Formatter], so that a vault does not spread out what it holds.
func (v *Vault) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("vault.Vault(withheld)")) }

// begin refuses work for nobody, after Close, and with keys that are gone.
func (v *Vault) begin(p Principal) error {
	if err := p.check(); err != nil {
		return err
	}
	return v.usable()
}

func (v *Vault) usable() error {
	v.mu.Lock()
	closed := v.closed
	v.mu.Unlock()
	if closed {
		return ErrClosed
	}
	return v.keys.Err()
}

// wake lets Run look for revocations now.
func (v *Vault) wake() {
	select {
	case v.kick <- struct{}{}:
	default:
	}
}

// randomText is 130 random bits that are easy to copy.
func randomText() string { return strings.ToLower(rand.Text()) }
