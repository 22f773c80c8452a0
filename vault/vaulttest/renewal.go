package vaulttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/vault"
)

func testRenewal(t *testing.T, store Store) {
	t.Parallel()
	run(t, store, map[string]func(*testing.T, Store){
		"race":                   testRace,
		"one waits":              testOneWaits,
		"margin":                 testMargin,
		"kept refresh token":     testKeptRefreshToken,
		"caller leaves":          testCallerLeaves,
		"refused with 401":       testRefused401,
		"401 storm":              testStorm401,
		"stalled holder":         testStalledHolder,
		"stalled, other failed":  testStalledHolderOthersFailed,
		"stalled, other at work": testStalledHolderOtherAtWork,
		"stalled before sending": testStalledBeforeSending,
		"false invalid_grant":    testFalseInvalidGrant,
		"revoked":                testRevokedAtProvider,
		"dead":                   testDead,
		"unavailable":            testUnavailable,
		"valid meanwhile":        testValidMeanwhile,
		"lost answers":           testLostAnswers,
		"grace in seconds":       testGraceSeconds,
		"learned rotation":       testLearnedRotation,
		"deleted meanwhile":      testDeletedMeanwhile,
		"consent meanwhile":      testConsentMeanwhile,
		"erased meanwhile":       testErasedMeanwhile,
		"not renewable":          testNotRenewable,
		"client":                 testRenewalClient,
		"store away":             testStoreAway,
		"close":                  testClose,
	})
}

const expired = time.Hour + time.Second // after this the tokens of a Provider have ended

// testRace: whoever and however many ask on two machines, one request is sent
// and everybody gets its token.
func testRace(t *testing.T, store Store) {
	d := newDesk(t, store)
	machines := []*vault.Vault{d.machine(nil), d.machine(nil)}
	d.save(machines[0], nil)
	for round := 1; round <= 3; round++ {
		d.clock.Advance(expired)
		var wait sync.WaitGroup
		tokens := make([]string, 100)
		for i := range tokens {
			wait.Go(func() {
				token, err := machines[i%2].Token(t.Context(), adaLovelace, server, "", "test")
				if err != nil {
					t.Error(err)
					return
				}
				tokens[i] = token.Reveal()
			})
		}
		wait.Wait()
		if got := slices.Compact(tokens); len(got) != 1 || got[0] != fmt.Sprintf("access-1-%d", round) {
			t.Errorf("round %d: the callers have %q", round, got)
		}
		if n := d.provider.Requests(); n != round {
			t.Fatalf("round %d: %d requests in all", round, n)
		}
	}
	if d.provider.Invalid() != 0 {
		t.Errorf("%d requests were answered with invalid_grant", d.provider.Invalid())
	}
}

// testOneWaits: while one machine has the lease another one looks, sends
// nothing, and gets what the first one brings.
func testOneWaits(t *testing.T, store Store) {
	d := newDesk(t, store)
	looked := make(chan struct{}, 100)
	v := d.machine(nil)
	other := d.machineOn(&watched{d.open(), looked}, nil)
	d.save(v, nil)
	d.clock.Advance(expired)
	arrived, goOn := d.provider.stall(1)
	first := d.inBackground(v)
	<-arrived
	second := d.inBackground(other)
	for range 3 {
		<-looked
	}
	if n := d.provider.Requests(); n != 1 {
		t.Errorf("%d requests while one machine has the lease", n)
	}
	goOn()
	for _, done := range []<-chan result{first, second} {
		if r := <-done; r.err != nil || r.token.Reveal() != "access-1-1" {
			t.Errorf("a machine has %q, %v", r.token.Reveal(), r.err)
		}
	}
}

// watched says when a transaction has ended.
type watched struct {
	vault.Store
	done chan struct{}
}

func (w *watched) Update(ctx context.Context, principal string, f func(vault.Tx) error) error {
	err := w.Store.Update(ctx, principal, f)
	w.done <- struct{}{}
	return err
}

func testMargin(t *testing.T, store Store) {
	tests := map[string]struct {
		lifetime, margin time.Duration
		fresh, due       time.Duration // after which it is not, and is, renewed
	}{
		"default":               {time.Hour, 0, 58 * time.Minute, 59*time.Minute + time.Second},
		"of the grant":          {time.Hour, 10 * time.Minute, 49 * time.Minute, 50*time.Minute + time.Second},
		"never early":           {time.Hour, -1, time.Hour - 2*time.Second, time.Hour + time.Second},
		"at most a quarter":     {20 * time.Second, 0, 13 * time.Second, 16 * time.Second},
		"none, it has no end":   {0, 0, 1000 * time.Hour, 0},
		"lifetime by the terms": {-1, 0, 28 * time.Minute, 29*time.Minute + time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, store)
			v := d.machine(nil)
			d.save(v, func(n *vault.NewGrant) {
				n.Lifetime = max(test.lifetime, 0)
				n.Terms.Renewal.Margin = test.margin
				if test.lifetime < 0 {
					n.Terms.Renewal.Lifetime = 30 * time.Minute
				}
			})
			d.clock.Advance(test.fresh)
			d.token(v)
			if n := d.provider.Requests(); n != 0 {
				t.Errorf("after %v it was renewed", test.fresh)
			}
			if test.due == 0 {
				return
			}
			d.clock.Advance(test.due - test.fresh)
			if got := d.token(v).Reveal(); got != "access-1-1" || d.provider.Requests() != 1 {
				t.Errorf("after %v the token is %q", test.due, got)
			}
		})
	}
}

// testKeptRefreshToken: an answer without a refresh token leaves the old one.
func testKeptRefreshToken(t *testing.T, store Store) {
	d := newDesk(t, store)
	d.provider.Rotates = false
	v := d.machine(nil)
	d.save(v, nil)
	for range 3 {
		d.clock.Advance(expired)
		d.token(v)
	}
	if d.provider.Requests() != 3 || d.provider.Invalid() != 0 {
		t.Errorf("%d requests, %d with invalid_grant", d.provider.Requests(), d.provider.Invalid())
	}
}

// testCallerLeaves: the caller's end does not cut a renewal.
func testCallerLeaves(t *testing.T, store Store) {
	d := newDesk(t, store)
	v := d.machine(nil)
	d.save(v, nil)
	d.clock.Advance(expired)
	arrived, goOn := make(chan struct{}), make(chan struct{})
	d.provider.After = func(ctx context.Context, _ int) error {
		close(arrived)
		<-goOn
		return ctx.Err() // of the request, which must not have ended
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := v.Token(ctx, adaLovelace, server, "", "test")
		left <- err
	}()
	<-arrived
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that left has %v", err)
	}
	close(goOn)
	if got := d.token(v).Reveal(); got != "access-1-1" || d.provider.Requests() != 1 {
		t.Errorf("after the caller left the token is %q, with %d requests", got, d.provider.Requests())
	}
}

// testRefused401: a token that the provider refuses is renewed once.
func testRefused401(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	d.save(v, nil)
	first := d.token(v)
	second, err := v.Renew(t.Context(), adaLovelace, first, "test")
	if err != nil || second.Reveal() != "access-1-1" {
		t.Fatalf("Renew = %q, %v", second.Reveal(), err)
	}
	// Who comes late with the first token gets the second.
	late, err := other.Renew(t.Context(), adaLovelace, first, "test")
	if err != nil || !late.Equal(second) || d.provider.Requests() != 1 {
		t.Errorf("a late Renew = %q, %v, with %d requests", late.Reveal(), err, d.provider.Requests())
	}
	// It is refused, too: a token is not what is missing.
	for _, machine := range []*vault.Vault{v, other} {
		if _, err := machine.Renew(t.Context(), adaLovelace, second, "test"); !errors.Is(err, vault.ErrRejected) {
			t.Errorf("Renew of a fresh token: %v", err)
		}
	}
	if d.provider.Requests() != 1 {
		t.Errorf("%d requests", d.provider.Requests())
	}
	d.clock.Advance(time.Minute + time.Second)
	if third, err := v.Renew(t.Context(), adaLovelace, second, "test"); err != nil || third.Reveal() != "access-1-2" {
		t.Errorf("a minute later Renew = %q, %v", third.Reveal(), err)
	}
	if _, err := v.Renew(t.Context(), adaLovelace, vault.Token{}, "test"); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("Renew of no token: %v", err)
	}
}

// testStorm401: many with one refused token cause one request.
func testStorm401(t *testing.T, store Store) {
	d := newDesk(t, store)
	machines := []*vault.Vault{d.machine(nil), d.machine(nil)}
	d.save(machines[0], nil)
	refused := d.token(machines[0])
	var wait sync.WaitGroup
	for i := range 50 {
		wait.Go(func() {
			token, err := machines[i%2].Renew(t.Context(), adaLovelace, refused, "test")
			if err != nil || token.Reveal() != "access-1-1" {
				t.Errorf("Renew = %q, %v", token.Reveal(), err)
			}
		})
	}
	wait.Wait()
	if d.provider.Requests() != 1 {
		t.Errorf("%d requests", d.provider.Requests())
	}
}

// stall makes the n-th request wait after the provider has decided it, until
// the test says go on.
func (p *Provider) stall(n int) (arrived <-chan struct{}, goOn func()) {
	a, g := make(chan struct{}), make(chan struct{})
	p.After = func(_ context.Context, request int) error {
		if request == n {
			close(a)
			<-g
		}
		return nil
	}
	return a, func() { close(g) }
}

// inBackground asks for the token on a machine of its own.
func (d *desk) inBackground(v *vault.Vault) <-chan result {
	done := make(chan result, 1)
	go func() {
		token, err := v.Token(d.t.Context(), adaLovelace, server, "", "test")
		done <- result{token, err}
	}()
	return done
}

type result struct {
	token vault.Token
	err   error
}

// testStalledHolder: the holder of the lease stalls past its end; somebody else
// renews; what the first one brings is refused.
func testStalledHolder(t *testing.T, store Store) {
	d := newDesk(t, store)
	d.provider.Forgives = true
	v, other := d.machine(nil), d.machine(nil)
	d.save(v, func(n *vault.NewGrant) { n.Terms.Renewal.Grace = vault.GraceUntilUse })
	d.clock.Advance(expired)
	arrived, goOn := d.provider.stall(1)
	stalled := d.inBackground(v)
	<-arrived
	d.clock.Advance(time.Minute)
	if got := d.token(other).Reveal(); got != "access-1-2" {
		t.Errorf("the second machine has %q", got)
	}
	before := read(t, d.open(), adaLovelace.Key(), vault.Query{Kind: vault.KindGrant})[0]
	goOn()
	if r := <-stalled; r.err != nil || r.token.Reveal() != "access-1-2" {
		t.Errorf("the stalled machine goes on with %q, %v", r.token.Reveal(), r.err)
	}
	after := read(t, d.open(), adaLovelace.Key(), vault.Query{Kind: vault.KindGrant})[0]
	if before.Version != after.Version {
		t.Error("the stalled machine wrote over a newer pair")
	}
	// The pair that is stored is the provider's: the next renewal works.
	d.clock.Advance(expired)
	if got := d.token(v).Reveal(); got != "access-1-3" || d.provider.Invalid() != 0 {
		t.Errorf("the next token is %q, after %d invalid_grant", got, d.provider.Invalid())
	}
}

// testStalledHolderOthersFailed: others gave the grant up meanwhile, since the
// provider has no grace. The pair that comes late is the newest there is.
func testStalledHolderOthersFailed(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	d.save(v, nil)
	d.clock.Advance(expired)
	arrived, goOn := d.provider.stall(1)
	stalled := d.inBackground(v)
	<-arrived
	d.clock.Advance(time.Minute)
	_, err := other.Token(t.Context(), adaLovelace, server, "", "test")
	if e, ok := errors.AsType[*vault.ReconnectError](err); !ok || e.Reason != vault.ReasonLostReply {
		t.Errorf("the second machine: %v", err)
	}
	goOn()
	if r := <-stalled; r.err != nil || r.token.Reveal() != "access-1-1" {
		t.Errorf("the stalled machine has %q, %v", r.token.Reveal(), r.err)
	}
	if got := d.token(other).Reveal(); got != "access-1-1" || d.only(other).Status != vault.Alive {
		t.Errorf("the second machine has %q now", got)
	}
	if d.provider.Requests() != 1 {
		t.Errorf("%d requests", d.provider.Requests())
	}
}

// testStalledHolderOtherAtWork: the late pair waits for the end of the renewal
// that began meanwhile, and gives way to it.
func testStalledHolderOtherAtWork(t *testing.T, store Store) {
	d := newDesk(t, store)
	d.provider.Forgives = true
	v, other := d.machine(nil), d.machine(nil)
	d.save(v, func(n *vault.NewGrant) { n.Terms.Renewal.Grace = time.Hour })
	d.clock.Advance(expired)
	arrived := []chan struct{}{make(chan struct{}), make(chan struct{})}
	goOn := []chan struct{}{make(chan struct{}), make(chan struct{})}
	d.provider.After = func(_ context.Context, request int) error {
		close(arrived[request-1])
		<-goOn[request-1]
		return nil
	}
	first := d.inBackground(v)
	<-arrived[0]
	d.clock.Advance(time.Minute)
	second := d.inBackground(other)
	<-arrived[1]
	close(goOn[0])
	select {
	case r := <-first:
		t.Errorf("the late machine did not wait: %q, %v", r.token.Reveal(), r.err)
	case <-time.After(50 * time.Millisecond): // nothing to wait for: it must not happen
	}
	close(goOn[1])
	for _, done := range []<-chan result{second, first} {
		if r := <-done; r.err != nil || r.token.Reveal() != "access-1-2" {
			t.Errorf("a machine has %q, %v", r.token.Reveal(), r.err)
		}
	}
}

// testStalledBeforeSending: a lease that was lost before the request is sent is
// noticed, and nothing is sent.
func testStalledBeforeSending(t *testing.T, store Store) {
	d := newDesk(t, store)
	other := d.machine(nil)
	stalling, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	v := d.machine(func(o *vault.Options) {
		audit := o.Audit
		o.Audit = func(ctx context.Context, e vault.Event) error {
			if e.Action == vault.ActionRenew {
				once.Do(func() { close(stalling); <-goOn })
			}
			return audit(ctx, e)
		}
	})
	d.save(v, nil)
	d.clock.Advance(expired)
	stalled := d.inBackground(v)
	<-stalling
	d.clock.Advance(time.Minute)
	if got := d.token(other).Reveal(); got != "access-1-1" {
		t.Errorf("the second machine has %q", got)
	}
	close(goOn)
	if r := <-stalled; r.err != nil || r.token.Reveal() != "access-1-1" || d.provider.Requests() != 1 {
		t.Errorf("the stalled machine has %q, %v, with %d requests", r.token.Reveal(), r.err, d.provider.Requests())
	}
}

// testFalseInvalidGrant: somebody else has rotated the token; the refusal of
// the old one says nothing about the grant.
func testFalseInvalidGrant(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	d.save(v, nil)
	d.clock.Advance(expired)
	d.provider.Before = func(_ context.Context, request int) error {
		if request > 1 {
			return nil
		}
		// While the request is under way its lease ends, and the person
		// consents again: the old refresh token is dead.
		d.clock.Advance(time.Minute)
		d.provider.End()
		d.save(other, nil)
		return nil
	}
	token, err := v.Token(t.Context(), adaLovelace, server, "", "test")
	if err != nil || token.Reveal() != "access-2-0" || d.provider.Invalid() != 1 {
		t.Errorf("Token = %q, %v, after %d invalid_grant", token.Reveal(), err, d.provider.Invalid())
	}
	if g := d.only(v); g.Status != vault.Alive {
		t.Errorf("the grant is %s", g.Status)
	}
}

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

// testDeletedMeanwhile: what is deleted while it is renewed stays deleted, and
// the new token is revoked.
func testDeletedMeanwhile(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	d.save(v, nil)
	d.clock.Advance(expired)
	arrived, goOn := d.provider.stall(1)
	renewing := d.inBackground(v)
	<-arrived
	if err := other.Delete(t.Context(), adaLovelace, server, ""); err != nil {
		t.Fatal(err)
	}
	goOn()
	if r := <-renewing; !errors.Is(r.err, vault.ErrNotFound) {
		t.Errorf("the renewal gave %q, %v", r.token.Reveal(), r.err)
	}
	if grants, err := v.Grants(t.Context(), adaLovelace, ""); len(grants) != 0 || err != nil {
		t.Errorf("it came back: %+v, %v", grants, err)
	}
	d.sweep(other)
	revoked := d.provider.Revoked()
	slices.Sort(revoked)
	if want := []string{"access-1-0", "access-1-1", "refresh-1-0", "refresh-1-1"}; !slices.Equal(revoked, want) {
		t.Errorf("revoked are %q, want %q", revoked, want)
	}
	if d.provider.Takes("access-1-1") {
		t.Error("the new token works")
	}
}

func testErasedMeanwhile(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	d.save(v, nil)
	d.clock.Advance(expired)
	arrived, goOn := d.provider.stall(1)
	renewing := d.inBackground(v)
	<-arrived
	if err := other.Erase(t.Context(), adaLovelace); err != nil {
		t.Fatal(err)
	}
	goOn()
	if r := <-renewing; !errors.Is(r.err, vault.ErrNotFound) {
		t.Errorf("the renewal gave %q, %v", r.token.Reveal(), r.err)
	}
	d.sweep(other)
	if d.provider.Takes("access-1-1") || len(d.provider.Revoked()) != 4 {
		t.Errorf("revoked are %q", d.provider.Revoked())
	}
	for _, kind := range []vault.Kind{vault.KindGrant, vault.KindFlow, vault.KindRevocation} {
		if rows := read(t, d.open(), adaLovelace.Key(), vault.Query{Kind: kind}); len(rows) != 0 {
			t.Errorf("%d rows of kind %s are left", len(rows), kind)
		}
	}
}

// testConsentMeanwhile: a new consent wins over a renewal of the old one.
func testConsentMeanwhile(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	d.save(v, nil)
	d.clock.Advance(expired)
	arrived, goOn := d.provider.stall(1)
	renewing := d.inBackground(v)
	<-arrived
	d.save(other, nil)
	goOn()
	if r := <-renewing; r.err != nil || r.token.Reveal() != "access-2-0" {
		t.Errorf("the renewal gave %q, %v", r.token.Reveal(), r.err)
	}
	if got := d.token(other).Reveal(); got != "access-2-0" {
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

// testRenewalClient: the registration that the terms name goes with the request.
func testRenewalClient(t *testing.T, store Store) {
	d := newDesk(t, store)
	asked := &asking{Provider: d.provider}
	v := d.machine(func(o *vault.Options) { o.Endpoint = asked })
	d.save(v, func(n *vault.NewGrant) {
		n.Terms.Client = vault.ClientRef{Tenant: "acme", Issuer: n.Terms.Issuer}
		n.Terms.Resource, n.Terms.Params = "https://mcp.example/", map[string]string{"audience": "a"}
		n.Terms.Renewal.Rotation = vault.RotationAlways
	})
	d.clock.Advance(expired)
	if _, err := v.Token(t.Context(), adaLovelace, server, "", "test"); !errors.Is(err, vault.ErrNotFound) || !strings.Contains(err.Error(), "https://as.example") {
		t.Errorf("without the registration: %v", err)
	}
	if err := v.SetClient(t.Context(), "acme", vault.Client{Issuer: "https://as.example", ID: "id", Secret: vault.NewSecret("s"), Method: "client_secret_post"}); err != nil {
		t.Fatal(err)
	}
	d.token(v)
	r := asked.last
	if r.Client.ID != "id" || r.Client.Secret.Reveal() != "s" || r.Client.Method != "client_secret_post" || r.Refresh.Reveal() != "refresh-1-0" ||
		r.Terms.Resource != "https://mcp.example/" || r.Terms.Params["audience"] != "a" || r.Provider != server || !slices.Equal(r.Scopes, []string{"read", "write"}) {
		t.Errorf("the request was %+v", r)
	}
}

type asking struct {
	*Provider
	last vault.RefreshRequest
}

func (a *asking) Refresh(ctx context.Context, r vault.RefreshRequest) (vault.Tokens, error) {
	a.last = r
	return a.Provider.Refresh(ctx, r)
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
