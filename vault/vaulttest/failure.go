package vaulttest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/vault"
)

// testRevokedAtProvider: the grant has ended at the provider. One request finds
// out, and then nobody asks until the person has consented again.
func testRevokedAtProvider(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	d.save(v, nil)
	token := d.token(v)
	d.provider.End()
	d.clock.Advance(expired)
	for i := range 100 {
		machine := []*vault.Vault{v, other}[i%2]
		_, err := machine.Token(t.Context(), adaLovelace, server, "", "test")
		e, ok := errors.AsType[*vault.ReconnectError](err)
		if !ok || !errors.Is(err, vault.ErrReconnect) || e.Reason != vault.ReasonRefused || e.Provider != server || e.Label != vault.DefaultLabel {
			t.Fatalf("Token: %v", err)
		}
		if _, err := machine.Renew(t.Context(), adaLovelace, token, "test"); !errors.Is(err, vault.ErrReconnect) {
			t.Fatalf("Renew: %v", err)
		}
		d.clock.Advance(time.Hour)
	}
	if d.provider.Requests() != 1 {
		t.Errorf("%d requests", d.provider.Requests())
	}
	if g := d.only(v); g.Status != vault.ReconnectNeeded || g.Reason != vault.ReasonRefused {
		t.Errorf("it shows as %s, %s", g.Status, g.Reason)
	}
	d.save(v, nil)
	if got := d.token(other).Reveal(); got != "access-2-0" || d.only(v).Status != vault.Alive || d.only(v).Reason != "" {
		t.Errorf("after another consent: %q, %+v", got, d.only(v))
	}
}

// testDead: the server refuses the client. It is asked once per cool-down, which grows.
func testDead(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	d.save(v, nil)
	d.clock.Advance(expired)
	d.provider.Before = func(context.Context, int) error {
		return &vault.EndpointError{Class: vault.Refused, Status: 401, Code: "invalid_client"}
	}
	requests := 0
	for _, pause := range []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute} {
		requests++
		var wait sync.WaitGroup
		for i := range 50 {
			wait.Go(func() {
				_, err := []*vault.Vault{v, other}[i%2].Token(t.Context(), adaLovelace, server, "", "test")
				e, ok := errors.AsType[*vault.WaitError](err)
				if !ok || !errors.Is(err, vault.ErrUnavailable) || !e.Refused || e.Code != "invalid_client" || e.RetryAfter <= 0 || e.RetryAfter > pause {
					t.Errorf("Token: %v", err)
				}
			})
		}
		wait.Wait()
		if n := d.provider.Requests(); n != requests {
			t.Fatalf("%d requests, want %d", n, requests)
		}
		if g := d.only(v); g.Status != vault.Dead || g.Reason != vault.ReasonClient || g.RetryAt.IsZero() {
			t.Errorf("it shows as %+v", g)
		}
		d.clock.Advance(pause)
	}
	d.provider.Before = nil // somebody repaired the client
	if got := d.token(v).Reveal(); got != "access-1-1" || d.only(v).Status != vault.Alive {
		t.Errorf("after the repair: %q, %+v", got, d.only(v))
	}
}

// testUnavailable: a server that is away costs some requests and no grant.
func testUnavailable(t *testing.T, store Store) {
	for name, failure := range map[string]error{
		"503":      &vault.EndpointError{Class: vault.Unavailable, Status: 503},
		"429":      &vault.EndpointError{Class: vault.Unavailable, Status: 429, RetryAfter: 40 * time.Second},
		"not sent": &vault.EndpointError{Class: vault.NotSent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, store)
			v := d.machine(nil)
			d.save(v, nil)
			d.clock.Advance(expired)
			d.provider.Before = func(context.Context, int) error { return failure }
			for range 600 { // ten minutes
				_, err := v.Token(t.Context(), adaLovelace, server, "", "test")
				if e, ok := errors.AsType[*vault.WaitError](err); !ok || e.Refused {
					t.Fatalf("Token: %v", err)
				}
				d.clock.Advance(time.Second)
			}
			if n := d.provider.Requests(); n < 3 || n > 10 {
				t.Errorf("%d requests in ten minutes", n)
			}
			if g := d.only(v); g.Status != vault.Alive {
				t.Errorf("it shows as %+v", g)
			}
			d.provider.Before = nil
			d.clock.Advance(5 * time.Minute)
			if got := d.token(v).Reveal(); got != "access-1-1" {
				t.Errorf("when the server is back the token is %q", got)
			}
		})
	}
}

// testValidMeanwhile: within the margin the old token is good enough.
func testValidMeanwhile(t *testing.T, store Store) {
	d := newDesk(t, store)
	patient := d.machine(func(o *vault.Options) { o.Patience = time.Minute }) // the refusal arrives, however slow the store is
	v := d.machine(func(o *vault.Options) { o.Patience = time.Millisecond })
	d.save(v, nil)
	d.clock.Advance(59*time.Minute + 30*time.Second)
	d.provider.Before = func(context.Context, int) error { return &vault.EndpointError{Class: vault.Unavailable, Status: 503} }
	if got := d.token(patient).Reveal(); got != "access-1-0" {
		t.Errorf("while the server is away the token is %q", got)
	}
	d.provider.Before = nil
	d.clock.Advance(5 * time.Second)
	arrived, goOn := d.provider.stall(2)
	if got := d.token(v).Reveal(); got != "access-1-0" {
		t.Errorf("while the server is slow the token is %q", got)
	}
	<-arrived
	goOn()
	if err := v.Close(); err != nil { // waits for the renewal
		t.Fatal(err)
	}
	if got := d.token(d.machine(nil)).Reveal(); got != "access-1-1" {
		t.Errorf("then it is %q", got)
	}
}

// testLostAnswers: an answer that does not arrive, and what the terms say of it.
func testLostAnswers(t *testing.T, store Store) {
	tests := map[string]struct {
		rotates, forgives bool
		renewal           vault.Renewal
		lost              int // so many answers are lost, one after another
		saved             bool
	}{
		"no grace":                   {true, false, vault.Renewal{}, 1, false},
		"always rotates, no grace":   {true, false, vault.Renewal{Rotation: vault.RotationAlways}, 1, false},
		"does not rotate":            {false, false, vault.Renewal{Rotation: vault.RotationNever}, 20, true},
		"exchange of access tokens":  {false, false, vault.Renewal{By: vault.RenewByAccessToken}, 20, true},
		"the client's credentials":   {false, false, vault.Renewal{By: vault.RenewByClient}, 20, true},
		"grace until use":            {true, true, vault.Renewal{Grace: vault.GraceUntilUse}, 1, true},
		"grace until use, often":     {true, true, vault.Renewal{Grace: vault.GraceUntilUse}, 5, true},
		"grace, never ending losses": {true, true, vault.Renewal{Grace: vault.GraceUntilUse}, 1000, false},
		"grace that is not there":    {true, false, vault.Renewal{Grace: vault.GraceUntilUse}, 1, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, store)
			d.provider.Rotates, d.provider.Forgives = test.rotates, test.forgives
			machines := []*vault.Vault{d.machine(nil), d.machine(nil)}
			d.save(machines[0], func(n *vault.NewGrant) { n.Terms.Renewal = test.renewal })
			d.clock.Advance(expired)
			d.provider.After = func(_ context.Context, request int) error {
				if request <= test.lost {
					return errLost
				}
				return nil
			}
			var last error
			for i := range 100 {
				_, last = machines[i%2].Token(t.Context(), adaLovelace, server, "", "test")
				if last == nil || errors.Is(last, vault.ErrReconnect) {
					break
				}
				if !errors.Is(last, vault.ErrUnavailable) {
					t.Fatal(last)
				}
				d.clock.Advance(5 * time.Minute)
			}
			if test.saved && last != nil || !test.saved && !errors.Is(last, vault.ErrReconnect) {
				t.Errorf("after %d lost answers: %v", test.lost, last)
			}
			if !test.saved {
				if g := d.only(machines[1]); g.Reason != vault.ReasonLostReply {
					t.Errorf("it shows as %+v", g)
				}
			}
			n := d.provider.Requests()
			if n > test.lost+1 || n > 12 && !test.saved {
				t.Errorf("%d requests after %d lost answers", n, test.lost)
			}
			for range 20 { // never a loop
				_, _ = machines[0].Token(t.Context(), adaLovelace, server, "", "test")
				d.clock.Advance(time.Minute)
			}
			if again := d.provider.Requests(); again > n {
				t.Errorf("%d requests more", again-n)
			}
		})
	}
}

// testGraceSeconds: the provider's grace has an end.
func testGraceSeconds(t *testing.T, store Store) {
	for name, late := range map[string]bool{"in time": false, "too late": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, store)
			d.provider.Forgives = true
			v := d.machine(nil)
			d.save(v, func(n *vault.NewGrant) { n.Terms.Renewal.Grace = 30 * time.Second })
			d.clock.Advance(expired)
			// The process dies in the middle: its intent stays.
			d.provider.After = func(_ context.Context, request int) error {
				if request == 1 {
					return errLost
				}
				return nil
			}
			_, err := v.Token(t.Context(), adaLovelace, server, "", "test")
			if !errors.Is(err, vault.ErrUnavailable) {
				t.Fatal(err)
			}
			if d.clock.Advance(20 * time.Second); late {
				// The next answer is lost, too, and its cool-down leads past the grace.
				d.provider.After = func(context.Context, int) error { return errLost }
				_, _ = v.Token(t.Context(), adaLovelace, server, "", "test")
				d.clock.Advance(20 * time.Second)
				d.provider.After = func(context.Context, int) error { return errLost }
			}
			_, err = v.Token(t.Context(), adaLovelace, server, "", "test")
			if late && !errors.Is(err, vault.ErrReconnect) || !late && err != nil {
				t.Errorf("Token: %v", err)
			}
			if want := map[bool]int{false: 2, true: 3}[late]; d.provider.Requests() != want {
				t.Errorf("%d requests, want %d", d.provider.Requests(), want)
			}
		})
	}
}

// testLearnedRotation: nobody said whether the provider rotates; its last answer did.
func testLearnedRotation(t *testing.T, store Store) {
	d := newDesk(t, store)
	d.provider.Rotates = false
	v := d.machine(nil)
	d.save(v, nil)
	d.clock.Advance(expired)
	d.token(v)
	d.clock.Advance(expired)
	d.provider.After = func(context.Context, int) error { return errLost }
	if _, err := v.Token(t.Context(), adaLovelace, server, "", "test"); !errors.Is(err, vault.ErrUnavailable) {
		t.Errorf("a lost answer of a server that does not rotate: %v", err)
	}
	d.provider.After = nil
	d.clock.Advance(time.Minute)
	if got := d.token(v).Reveal(); got != "access-1-3" {
		t.Errorf("the token is %q", got)
	}
}

func testNotRenewable(t *testing.T, store Store) {
	for name, change := range map[string]func(*vault.NewGrant){
		"no refresh token": func(n *vault.NewGrant) { n.Refresh = vault.Secret{} },
		"no endpoint":      func(n *vault.NewGrant) { n.Terms.TokenEndpoint = "" },
		"never":            func(n *vault.NewGrant) { n.Terms.Renewal.By = vault.RenewNever },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, store)
			v := d.machine(nil)
			d.save(v, change)
			token := d.token(v)
			if d.only(v).Renewable {
				t.Error("it shows as renewable")
			}
			_, err := v.Renew(t.Context(), adaLovelace, token, "test")
			if e, ok := errors.AsType[*vault.ReconnectError](err); !ok || e.Reason != vault.ReasonNotRenewable {
				t.Errorf("Renew: %v", err)
			}
			d.clock.Advance(expired)
			if _, err := v.Token(t.Context(), adaLovelace, server, "", "test"); !errors.Is(err, vault.ErrReconnect) {
				t.Errorf("Token: %v", err)
			}
			if d.provider.Requests() != 0 {
				t.Errorf("%d requests", d.provider.Requests())
			}
		})
	}
}

// testStoreAway: the store is away right when the answer has come. The pair is
// offered again until it is back.
func testStoreAway(t *testing.T, store Store) {
	d := newDesk(t, store)
	away := &switched{Store: d.open()}
	v := d.machineOn(away, nil)
	d.save(v, nil)
	d.clock.Advance(expired)
	d.provider.After = func(context.Context, int) error {
		away.fail(3)
		return nil
	}
	if got := d.token(v).Reveal(); got != "access-1-1" {
		t.Errorf("the token is %q", got)
	}
	d.clock.Advance(expired)
	if got := d.token(d.machine(nil)).Reveal(); got != "access-1-2" || d.provider.Invalid() != 0 {
		t.Errorf("the next is %q, after %d invalid_grant", got, d.provider.Invalid())
	}
}

// switched is a store that is away for the next few transactions.
type switched struct {
	vault.Store
	mu   sync.Mutex
	left int
}

func (s *switched) fail(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = n
}

func (s *switched) Update(ctx context.Context, principal string, f func(vault.Tx) error) error {
	s.mu.Lock()
	if s.left > 0 {
		s.left--
		s.mu.Unlock()
		return errors.New("the store is away")
	}
	s.mu.Unlock()
	return s.Store.Update(ctx, principal, f)
}

// testClose: Close waits for a renewal, and nothing begins after it.
func testClose(t *testing.T, store Store) {
	d := newDesk(t, store)
	v := d.machine(nil)
	d.save(v, nil)
	d.clock.Advance(expired)
	arrived, goOn := d.provider.stall(1)
	renewing := d.inBackground(v)
	<-arrived
	closed := make(chan error)
	go func() { closed <- v.Close() }()
	goOn()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	<-renewing
	if _, err := v.Token(t.Context(), adaLovelace, server, "", "test"); !errors.Is(err, vault.ErrClosed) {
		t.Errorf("Token after Close: %v", err)
	}
	if got := d.token(d.machine(nil)).Reveal(); got != "access-1-1" || d.provider.Requests() != 1 {
		t.Errorf("what the closed machine renewed is %q, with %d requests", got, d.provider.Requests())
	}
}
