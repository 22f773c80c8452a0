package vaulttest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/parley-mcp/parley/vault"
)

func testOtherAccount(t *testing.T, store Store) {
	tests := map[string]struct {
		old, next string
		choice    vault.Choice
		label     string
		tokens    map[string]string // by label, afterwards
		revoked   []string
	}{
		"replace":      {"1", "2", vault.Replace, "", map[string]string{"": "access-2-0"}, []string{"refresh-1-0", "access-1-0"}},
		"keep both":    {"1", "2", vault.KeepBoth, "two", map[string]string{"": "access-1-0", "two": "access-2-0"}, nil},
		"discard":      {"1", "2", vault.Discard, "", map[string]string{"": "access-1-0"}, []string{"refresh-2-0", "access-2-0"}},
		"not told":     {"1", "", vault.Discard, "", map[string]string{"": "access-1-0"}, []string{"refresh-2-0", "access-2-0"}},
		"told at last": {"", "2", vault.Replace, "", map[string]string{"": "access-2-0"}, []string{"refresh-1-0", "access-1-0"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, store)
			v, other := d.machine(nil), d.machine(nil)
			d.save(v, func(n *vault.NewGrant) { n.Account.ID = test.old })
			n := d.provider.Consent()
			n.Account.ID = test.next
			n.Flow = vault.NewSecret("state")
			_, err := v.Save(t.Context(), adaLovelace, n)
			asked, ok := errors.AsType[*vault.OtherAccountError](err)
			if !ok || !errors.Is(err, vault.ErrOtherAccount) || asked.Old.ID != test.old || asked.New.ID != test.next {
				t.Fatalf("Save as another account: %v", err)
			}
			if got := d.token(v).Reveal(); got != "access-1-0" {
				t.Errorf("before the decision the token is %q", got)
			}
			for _, bad := range []struct {
				choice vault.Choice
				label  string
			}{{"", ""}, {vault.KeepBoth, ""}, {vault.KeepBoth, "default"}} {
				if _, err := other.Decide(t.Context(), adaLovelace, asked.Decision, bad.choice, bad.label); !errors.Is(err, vault.ErrInvalid) {
					t.Errorf("Decide(%q, %q): %v", bad.choice, bad.label, err)
				}
			}
			if _, err := v.Take(t.Context(), adaLovelace, "decision", asked.Decision, "test"); !errors.Is(err, vault.ErrNotFound) {
				t.Errorf("a decision was taken as a flow: %v", err)
			}
			g, err := other.Decide(t.Context(), adaLovelace, asked.Decision, test.choice, test.label)
			if err != nil {
				t.Fatal(err)
			}
			if test.choice != vault.Discard && g.Account.ID != test.next {
				t.Errorf("Decide returned %+v", g)
			}
			for label, want := range test.tokens {
				token, err := v.Token(t.Context(), adaLovelace, server, label, "test")
				if err != nil || token.Reveal() != want {
					t.Errorf("under %q the token is %q, %v; want %q", label, token.Reveal(), err, want)
				}
			}
			if _, err := v.Decide(t.Context(), adaLovelace, asked.Decision, test.choice, test.label); !errors.Is(err, vault.ErrNotFound) {
				t.Errorf("it was decided twice: %v", err)
			}
			for _, state := range []vault.Secret{n.Flow, asked.Decision} {
				got, err := v.Finished(t.Context(), adaLovelace, state)
				if test.choice == vault.Discard && !errors.Is(err, vault.ErrNotFound) || test.choice != vault.Discard && (err != nil || got.ID != g.ID) {
					t.Errorf("Finished: %+v, %v", got, err)
				}
			}
			d.sweep(v)
			if got := d.provider.Revoked(); !slices.Equal(got, test.revoked) {
				t.Errorf("revoked are %q, want %q", got, test.revoked)
			}
		})
	}
}

// testUndecided: nobody decided, so the new account's tokens are not kept.
func testUndecided(t *testing.T, store Store) {
	d := newDesk(t, store)
	v := d.machine(nil)
	d.save(v, func(n *vault.NewGrant) { n.Account.ID = "1" })
	n := d.provider.Consent()
	n.Account.ID = "2"
	_, err := v.Save(t.Context(), adaLovelace, n)
	asked, ok := errors.AsType[*vault.OtherAccountError](err)
	if !ok {
		t.Fatal(err)
	}
	d.clock.Advance(10*time.Minute + time.Second)
	if _, err := v.Decide(t.Context(), adaLovelace, asked.Decision, vault.Replace, ""); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("decided late: %v", err)
	}
	d.sweep(v)
	if got, want := d.provider.Revoked(), []string{"refresh-2-0", "access-2-0"}; !slices.Equal(got, want) {
		t.Errorf("revoked are %q, want %q", got, want)
	}
	if got := d.token(v).Reveal(); got != "access-1-0" {
		t.Errorf("the token is %q", got)
	}
	if d.audited(vault.ActionExpired) != 1 {
		t.Error("it was not audited")
	}
}

func testErase(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, raw := d.machine(nil), d.open()
	for i := range 5 {
		d.save(v, func(n *vault.NewGrant) { n.Label = fmt.Sprint(i); n.Account.ID = "1" })
	}
	n := d.provider.Consent()
	n.Label, n.Account.ID = "0", "2"
	if _, err := v.Save(t.Context(), adaLovelace, n); !errors.Is(err, vault.ErrOtherAccount) {
		t.Fatal(err)
	}
	if _, err := v.Begin(t.Context(), adaLovelace, vault.Flow{Name: "authorize"}); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Save(t.Context(), bobBabbage, d.provider.Consent()); err != nil {
		t.Fatal(err)
	}
	before := d.save(v, func(n *vault.NewGrant) { n.Label = "before" })
	if err := v.Delete(t.Context(), adaLovelace, before.Provider, before.Label); err != nil {
		t.Fatal(err)
	}
	if err := v.Erase(t.Context(), adaLovelace); err != nil {
		t.Fatal(err)
	}
	d.events = nil
	for _, kind := range []vault.Kind{vault.KindGrant, vault.KindFlow} {
		if rows := read(t, raw, adaLovelace.Key(), vault.Query{Kind: kind}); len(rows) != 0 {
			t.Errorf("%d rows of kind %s are left", len(rows), kind)
		}
	}
	d.sweep(v)
	if got := d.provider.Revoked(); len(got) != 14 {
		t.Errorf("%d tokens were revoked, want both of 6 grants and of an open decision: %q", len(got), got)
	}
	for _, e := range d.events { // which would bring back who was erased
		if e.Principal != (vault.Principal{}) {
			t.Errorf("after the erasure the audit is told of %+v", e)
		}
	}
	if d.audited(vault.ActionRevoke) != 7 {
		t.Errorf("%d revocations were audited", d.audited(vault.ActionRevoke))
	}
	if rows := read(t, raw, adaLovelace.Key(), vault.Query{Kind: vault.KindRevocation}); len(rows) != 0 {
		t.Errorf("%d revocations are left", len(rows))
	}
	if grants, err := v.Grants(t.Context(), bobBabbage, ""); len(grants) != 1 || err != nil {
		t.Errorf("Bob has %d grants, %v", len(grants), err)
	}
}

// testRevocation: local first, the refresh token before the access token, and
// again until the provider has taken it.
func testRevocation(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	var tries []string
	trouble := map[string]error{"refresh-1-0": &vault.EndpointError{Class: vault.Unavailable, Status: 503}}
	d.provider.Revoking = func(token string) error {
		tries = append(tries, token)
		return trouble[token]
	}
	d.save(v, nil)
	if err := v.Delete(t.Context(), adaLovelace, server, ""); err != nil {
		t.Fatal(err)
	}
	want := func(all ...string) {
		t.Helper()
		if !slices.Equal(tries, all) {
			t.Errorf("tried are %q, want %q", tries, all)
		}
		tries = nil
	}
	want() // before anybody is asked the grant is gone
	once := d.provider.Revoking
	d.provider.Revoking = func(token string) error {
		d.sweep(other) // while this try is under way
		return once(token)
	}
	d.sweep(v)
	d.provider.Revoking = once
	want("refresh-1-0")
	d.sweep(other)
	want() // in its cool-down
	d.clock.Advance(time.Minute + time.Second)
	d.sweep(other)
	want("refresh-1-0")
	// A panic of the endpoint, with the token in it, is a failure like others.
	trouble = nil
	d.provider.Revoking = func(token string) error {
		tries = append(tries, token)
		if token == "access-1-0" && len(tries) == 2 {
			panic(token)
		}
		return nil
	}
	d.clock.Advance(time.Hour)
	d.sweep(v)
	want("refresh-1-0", "access-1-0")
	d.clock.Advance(time.Hour)
	d.sweep(v)
	want("access-1-0")
	d.clock.Advance(24 * time.Hour)
	d.sweep(v)
	want()

	// What the server says it will never do is not asked again.
	d.save(v, nil)
	d.provider.Revoking = func(token string) error {
		tries = append(tries, token)
		return &vault.EndpointError{Class: vault.Refused, Status: 400, Code: "unsupported_token_type"}
	}
	if err := v.Delete(t.Context(), adaLovelace, server, ""); err != nil {
		t.Fatal(err)
	}
	d.sweep(v)
	want("refresh-2-0", "access-2-0")
	d.clock.Advance(24 * time.Hour)
	d.sweep(v)
	want()

	// Without an endpoint for it there is nothing to do.
	d.save(v, func(n *vault.NewGrant) { n.Terms.RevocationEndpoint = "" })
	if err := v.Delete(t.Context(), adaLovelace, server, ""); err != nil {
		t.Fatal(err)
	}
	d.sweep(v)
	want()
}

func testRevocationGivesUp(t *testing.T, store Store) {
	d := newDesk(t, store)
	v := d.machine(nil)
	tries := 0
	d.provider.Revoking = func(string) error { tries++; return errors.New("no") }
	d.save(v, nil)
	if err := v.Delete(t.Context(), adaLovelace, server, ""); err != nil {
		t.Fatal(err)
	}
	for range 24 * 8 {
		d.sweep(v)
		d.clock.Advance(time.Hour)
	}
	if tries < 20 || tries > 60 {
		t.Errorf("%d tries in 7 days", tries)
	}
	if n := d.audited(vault.ActionGaveUp); n != 1 {
		t.Errorf("%d audit events say that it was given up", n)
	}
	if rows := read(t, d.open(), adaLovelace.Key(), vault.Query{Kind: vault.KindRevocation}); len(rows) != 0 {
		t.Errorf("%d revocations stay for ever", len(rows))
	}
}
