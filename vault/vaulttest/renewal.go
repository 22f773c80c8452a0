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
		"refresh token alone":    testRefreshTokenAlone,
		"refused long ago":       testRefusedLongAgo,
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

// testMargin has some time between what is fresh and what is due, since stores are slow
// now and then.
func testMargin(t *testing.T, store Store) {
	tests := map[string]struct {
		lifetime, margin time.Duration
		fresh, due       time.Duration // after which it is not, and is, renewed
	}{
		"default":               {time.Hour, 0, 58 * time.Minute, 59*time.Minute + time.Second},
		"of the grant":          {time.Hour, 10 * time.Minute, 49 * time.Minute, 50*time.Minute + time.Second},
		"never early":           {time.Hour, -1, time.Hour - 30*time.Second, time.Hour + time.Second},
		"at most a quarter":     {2 * time.Minute, 0, 65 * time.Second, 91 * time.Second},
		"none, it has no end":   {0, 0, 1000 * time.Hour, 0},
		"lifetime by the terms": {-1, 0, 28 * time.Minute, 29*time.Minute + time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, store)
			v := d.machine(func(o *vault.Options) { o.Patience = time.Minute }) // the old token is valid still
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

// testRefreshTokenAlone: a grant without an access token gets one when it is used.
func testRefreshTokenAlone(t *testing.T, store Store) {
	d := newDesk(t, store)
	v := d.machine(nil)
	d.save(v, func(n *vault.NewGrant) { n.Access, n.Lifetime = vault.Secret{}, 0 })
	if got := d.token(v).Reveal(); got != "access-1-1" {
		t.Errorf("the token is %q", got)
	}
	if got := d.token(v).Reveal(); got != "access-1-1" || d.provider.Requests() != 1 {
		t.Errorf("then it is %q, with %d requests", got, d.provider.Requests())
	}
}

// testRefusedLongAgo: who comes with a token of long ago gets neither it nor
// the one after it, which has ended too.
func testRefusedLongAgo(t *testing.T, store Store) {
	d := newDesk(t, store)
	v := d.machine(nil)
	d.save(v, nil)
	refused := d.token(v)
	d.clock.Advance(expired)
	d.token(v)
	d.clock.Advance(expired)
	if got, err := v.Renew(t.Context(), adaLovelace, refused, "test"); err != nil || got.Reveal() != "access-1-2" {
		t.Errorf("Renew = %q, %v", got.Reveal(), err)
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
