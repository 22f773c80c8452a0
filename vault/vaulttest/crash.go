package vaulttest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/vault"
)

// A crash is simulated by a world that stops: from its moment on the machine's
// store and its authorization server answer nothing any more, so nothing that
// the machine would still do has an effect.

var errCrashed = errors.New("this machine has crashed")

// world counts the steps of one machine and ends before or after one of them.
type world struct {
	mu    sync.Mutex
	steps int
	at    int  // the step at which it ends; 0: never
	after bool // the step has its effect, and nobody learns of it
	ended bool
}

// step is one thing that the machine does to the world.
func (w *world) step(do func() error) error {
	w.mu.Lock()
	if w.ended {
		w.mu.Unlock()
		return errCrashed
	}
	w.steps++
	now := w.steps == w.at
	w.ended = now
	w.mu.Unlock()
	if now && !w.after {
		return errCrashed
	}
	err := do()
	if now {
		return errCrashed
	}
	return err
}

type crashingStore struct {
	vault.Store
	world *world
}

// A step that has its effect has it in a store that is slow, too: the dying
// machine's short patience must not be what cuts it.
func (s *crashingStore) Update(ctx context.Context, principal string, f func(vault.Tx) error) error {
	return s.world.step(func() error { return s.Store.Update(context.WithoutCancel(ctx), principal, f) })
}

func (s *crashingStore) Rows(ctx context.Context, principal string, q vault.Query) (rows []*vault.Row, now time.Time, err error) {
	err = s.world.step(func() error {
		rows, now, err = s.Store.Rows(ctx, principal, q)
		return err
	})
	return rows, now, err
}

type crashingEndpoint struct {
	vault.Endpoint
	world *world
}

func (e *crashingEndpoint) Refresh(ctx context.Context, r vault.RefreshRequest) (tokens vault.Tokens, err error) {
	err = e.world.step(func() error {
		tokens, err = e.Endpoint.Refresh(ctx, r)
		return err
	})
	return tokens, err
}

// policy is how a provider treats refresh tokens.
type policy struct {
	rotates, forgives bool
	renewal           vault.Renewal
}

// testCrash ends a machine at every step of a renewal, before and after it, and
// lets another one go on.
func testCrash(t *testing.T, store Store) {
	t.Parallel()
	policies := map[string]policy{
		"rotates":         {true, false, vault.Renewal{}},
		"grace":           {true, true, vault.Renewal{Grace: vault.GraceUntilUse}},
		"grace, an hour":  {true, true, vault.Renewal{Grace: time.Hour}},
		"does not rotate": {false, false, vault.Renewal{Rotation: vault.RotationNever}},
	}
	for name, policy := range policies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := 0
			t.Run("steps", func(t *testing.T) { steps = countSteps(t, store) }) // which closes what it opened
			if steps < 6 {
				t.Errorf("a renewal has %d steps: the test does not see them all", steps)
			}
			lost := 0
			for at := range steps {
				for _, after := range []bool{false, true} {
					t.Run(fmt.Sprintf("step %d, after it: %v", at+1, after), func(t *testing.T) {
						if !survives(t, store, policy, &world{at: at + 1, after: after}) {
							lost++
						}
					})
				}
			}
			if policy.rotates && !policy.forgives && (lost == 0 || lost > 4) {
				t.Errorf("%d crashes lost the grant: want those between the intent and the end, and no other", lost)
			}
		})
	}
}

// survives lets a machine renew in the world that ends, and others go on. It
// reports whether the grant can still be used.
func survives(t *testing.T, store Store, policy policy, w *world) bool {
	t.Helper()
	d := newDesk(t, store)
	d.provider.Rotates, d.provider.Forgives = policy.rotates, policy.forgives
	first := d.machine(nil)
	must(t, first.SetClient(t.Context(), "", vault.Client{Issuer: "https://as.example", ID: "id"}))
	d.save(first, func(n *vault.NewGrant) {
		n.Terms.Renewal = policy.renewal
		n.Terms.Client.Issuer = "https://as.example"
	})
	d.clock.Advance(expired)

	dying := d.machineOn(&crashingStore{d.open(), w}, func(o *vault.Options) {
		o.Endpoint = &crashingEndpoint{d.provider, w}
		o.CommitFor = time.Millisecond
	})
	_, err := dying.Token(t.Context(), adaLovelace, server, "", "test")
	if err == nil && !w.ended {
		t.Fatal("nothing crashed")
	}
	must(t, dying.Close())
	sent := d.provider.Requests()
	stored := read(t, d.open(), adaLovelace.Key(), vault.Query{Kind: vault.KindGrant})[0]

	d.clock.Advance(time.Minute) // the lease of the dead
	var token vault.Token
	survivors := []*vault.Vault{d.machine(nil), d.machine(nil)}
	for i := range 10 {
		token, err = survivors[i%2].Token(t.Context(), adaLovelace, server, "", "test")
		if err == nil || errors.Is(err, vault.ErrReconnect) {
			break
		}
		d.clock.Advance(time.Minute)
	}
	if n := d.provider.Requests(); n > 2 {
		t.Errorf("%d requests", n)
	}
	if err == nil {
		if !d.provider.Takes(token.Reveal()) {
			t.Errorf("the provider does not take %q", token.Reveal())
		}
		// The refresh token that is stored is the provider's.
		d.clock.Advance(expired)
		if _, err := survivors[0].Token(t.Context(), adaLovelace, server, "", "test"); err != nil {
			t.Errorf("the next renewal: %v", err)
		}
		return true
	}
	if policy.forgives || !policy.rotates {
		t.Errorf("the grant is lost, though the provider forgives: %v", err)
	}
	if e, ok := errors.AsType[*vault.ReconnectError](err); !ok || e.Reason != vault.ReasonLostReply {
		t.Error(err)
	}
	if sent == 0 && stored.Version < 3 { // consent, lease, and no intent
		t.Error("the grant was given up, and its refresh token was never used")
	}
	for range 20 { // and nobody asks any more
		if _, err := survivors[0].Token(t.Context(), adaLovelace, server, "", "test"); !errors.Is(err, vault.ErrReconnect) {
			t.Errorf("then %v", err)
		}
		d.clock.Advance(time.Hour)
	}
	if n := d.provider.Requests(); n != sent {
		t.Errorf("the old refresh token was used again: %d requests more", n-sent)
	}
	return false
}

// countSteps counts the steps of a renewal in which nothing crashes.
func countSteps(t *testing.T, store Store) int {
	t.Helper()
	d := newDesk(t, store)
	w := &world{}
	v := d.machineOn(&crashingStore{d.open(), w}, func(o *vault.Options) { o.Endpoint = &crashingEndpoint{d.provider, w} })
	if err := v.SetClient(t.Context(), "", vault.Client{Issuer: "https://as.example", ID: "id"}); err != nil {
		t.Fatal(err)
	}
	d.save(v, func(n *vault.NewGrant) { n.Terms.Client.Issuer = "https://as.example" })
	d.clock.Advance(expired)
	before := w.steps
	d.token(v)
	return w.steps - before
}
