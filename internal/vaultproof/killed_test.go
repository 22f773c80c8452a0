package vaultproof_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/internal/fakeprovider"
	"github.com/parley-mcp/parley/vault"
	"github.com/parley-mcp/parley/vault/vaulttest"
)

// TestKilled kills a process with SIGKILL between the server's reply to its
// refresh and the commit of the new pair, at random points, and lets another
// machine go on. Where the server forgives, no grant is lost. Where it does not,
// the grants that were cut before the commit want a new consent: the old refresh
// token is not tried again, nobody loops, and the consent mends it.
func TestKilled(t *testing.T) {
	t.Parallel()
	kills := points(t, 10)
	for _, driver := range drivers {
		for name, forgives := range map[string]bool{"grace": true, "no grace": false} {
			t.Run(driver+", "+name, func(t *testing.T) {
				t.Parallel()
				killed(t, driver, forgives, kills)
			})
		}
	}
}

func killed(t *testing.T, driver string, forgives bool, kills int) {
	began := time.Now()
	var onReply atomic.Pointer[func()] // what to do when a reply has left
	options := fakeprovider.Options{RevokeFamily: true, Answered: func(*http.Request) {
		if f := onReply.Load(); f != nil {
			(*f)()
		}
	}}
	if forgives {
		options.Grace = fakeprovider.UntilUse
	}
	d := newDesk(t, driver, options)
	if forgives {
		d.renewal.Grace = vault.GraceUntilUse
	}
	label := func(i int) string { return fmt.Sprint("account ", i) }

	// How long it takes from the reply to the token, which is given out after the
	// commit: of machines that live.
	var takes []time.Duration
	for i := range 5 {
		d.consent(t, d.vault, label(-1-i))
		p := start(t, d.machine)
		replied := make(chan time.Time, 1)
		f := func() { replied <- time.Now() }
		onReply.Store(&f)
		if err := p.send(job{Label: label(-1 - i), Callers: 1}); err != nil {
			t.Fatal(err)
		}
		var r result
		if err := p.out.Decode(&r); err != nil || len(r.Tokens) != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		takes = append(takes, time.Since(<-replied))
		p.end()
	}
	slices.Sort(takes) // the longest of them measure the machine's other work
	window := 3 * takes[len(takes)/2] / 2

	seed := rand.Uint64()
	t.Logf("from the reply to the token: %v; seed %d", takes, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range kills {
		d.consent(t, d.vault, label(i))
		p := start(t, d.machine)
		pause := time.Duration(random.Float64() * float64(window))
		if i%5 == 0 {
			pause = 0 // at once: certainly before the commit
		}
		dead := make(chan error, 1)
		f := func() {
			// A pause of some microseconds is shorter than what timers can do.
			for end := time.Now().Add(pause); time.Now().Before(end); {
			}
			dead <- p.cmd.Process.Kill()
		}
		onReply.Store(&f)
		if err := p.send(job{Label: label(i), Callers: 1}); err != nil {
			t.Fatal(err)
		}
		if err := <-dead; err != nil {
			t.Fatal(err)
		}
		p.end()
		if p.cmd.ProcessState.Exited() {
			t.Fatalf("kill %d: the process ended by itself: %v", i, p.cmd.ProcessState)
		}
	}
	onReply.Store(nil)

	// The leases of the dead end, and another machine is asked.
	clock := &vaulttest.Clock{}
	clock.Advance(10 * time.Minute)
	v := d.on(t, clock.Wrap(d.store))
	count := map[string]int{}
	for i := range kills {
		what := d.survive(t, v, label(i), forgives)
		count[what]++
	}
	t.Logf("%v", count)
	if kills > 0 && count[repeated]+count[reconnect] == 0 {
		t.Error("no kill came before the commit: the test does not see what it looks for")
	}
	if n := d.provider.Counts().Reused; n != 0 {
		t.Errorf("%d refresh tokens were used twice", n)
	}
	if !t.Failed() {
		report(t, "killed", fmt.Sprintf("| %s | %s | %t | %d | %d | %d | %d | %d | %d | %.0f s |", today(), driver, forgives, kills,
			count[stored], count[repeated], count[reconnect], d.provider.Counts().Reused, count[lost], time.Since(began).Seconds()))
	}
}

// What became of a grant whose machine was killed.
const (
	stored    = "stored"             // the new pair was committed before the kill
	repeated  = "repeated"           // it was not, and the server forgave
	reconnect = "reconnect"          // it was not, and a new consent was needed
	lost      = "lost, or in a loop" // never
)

// survive asks another machine for the token and finds out what had happened.
func (d *desk) survive(t *testing.T, v *vault.Vault, label string, forgives bool) string {
	t.Helper()
	requests := func() int { return d.provider.Counts().Refresh }
	before := requests()
	token, err := v.Token(t.Context(), ada, server, label, "proof")
	sent := requests() - before
	switch {
	case err == nil && sent <= 1:
		if _, ok := d.provider.Valid(token.Reveal()); !ok {
			t.Errorf("%s: the server does not take the token", label)
			return lost
		}
		// The refresh token that is stored is the one that the server knows.
		if _, err := v.Renew(t.Context(), ada, token, "proof"); err != nil {
			t.Errorf("%s: the next renewal: %v", label, err)
			return lost
		}
		if sent == 0 {
			return stored
		}
		if !forgives {
			t.Errorf("%s: the old refresh token was used again", label)
			return lost
		}
		return repeated
	case errors.Is(err, vault.ErrReconnect) && !forgives && sent == 0:
		for range 20 {
			if _, err := v.Token(t.Context(), ada, server, label, "proof"); !errors.Is(err, vault.ErrReconnect) {
				t.Errorf("%s: then %v", label, err)
			}
		}
		if n := requests() - before; n != 0 {
			t.Errorf("%s: %d requests for a grant that is lost", label, n)
			return lost
		}
		d.consent(t, v, label)
		if _, err = v.Token(t.Context(), ada, server, label, "proof"); err != nil {
			t.Errorf("%s: after a new consent: %v", label, err)
			return lost
		}
		return reconnect
	}
	t.Errorf("%s: %v after %d requests", label, err, sent)
	return lost
}
