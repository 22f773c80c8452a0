package vaulttest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/vault"
)

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
