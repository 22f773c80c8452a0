package vaulttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/vault"
)

// testRevoke: the grant is gone before anybody is asked, whoever calls learns what came
// of the first try, and what failed is tried again by any machine.
func testRevoke(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	var tried []string
	var fail error
	d.provider.Revoking = func(token string) error {
		if _, err := v.Token(t.Context(), adaLovelace, server, "", "test"); !errors.Is(err, vault.ErrNotFound) {
			t.Errorf("while it is revoked the grant gives %v", err)
		}
		d.sweep(other) // does not send the same once more
		tried = append(tried, token)
		return fail
	}
	sweep := func(tokens ...string) {
		t.Helper()
		tried = nil
		d.clock.Advance(10 * time.Minute)
		d.sweep(other)
		if !slices.Equal(tried, tokens) {
			t.Errorf("afterwards %q were tried, want %q", tried, tokens)
		}
	}
	for i, test := range []struct {
		name  string
		fail  error
		terms func(*vault.NewGrant)
		want  vault.Revoked
		now   []string
		later []string
	}{
		{"taken", nil, nil, vault.RevokedDone, []string{"refresh-%d-0", "access-%d-0"}, nil},
		{"away", &vault.EndpointError{Class: vault.Unavailable, Status: 503}, nil, vault.RevokedLater, []string{"refresh-%d-0"}, []string{"refresh-%d-0", "access-%d-0"}},
		{"never", &vault.EndpointError{Class: vault.Refused, Status: 400, Code: "unsupported_token_type"}, nil, vault.RevokedNot, []string{"refresh-%d-0", "access-%d-0"}, nil},
		{"not offered", nil, func(n *vault.NewGrant) { n.Terms.RevocationEndpoint = "" }, vault.RevokedNot, nil, nil},
	} {
		numbered := func(tokens []string) (list []string) {
			for _, token := range tokens {
				list = append(list, fmt.Sprintf(token, i+1))
			}
			return list
		}
		d.save(v, test.terms)
		tried, fail = nil, test.fail
		if got, err := v.Revoke(t.Context(), adaLovelace, server, ""); got != test.want || err != nil {
			t.Errorf("%s: Revoke = %q, %v, want %q", test.name, got, err, test.want)
		}
		if !slices.Equal(tried, numbered(test.now)) {
			t.Errorf("%s: tried are %q", test.name, tried)
		}
		fail = nil
		sweep(numbered(test.later)...)
	}

	// Whoever gives up waiting leaves nothing behind but the rest of the work.
	d.save(v, nil)
	ctx, cancel := context.WithCancel(t.Context())
	d.provider.Revoking = func(token string) error {
		cancel()
		return &vault.EndpointError{Class: vault.Lost}
	}
	if got, err := v.Revoke(ctx, adaLovelace, server, ""); got != vault.RevokedLater || err != nil {
		t.Errorf("given up: %q, %v", got, err)
	}
	d.provider.Revoking = func(token string) error { tried = append(tried, token); return nil }
	sweep("refresh-5-0", "access-5-0")

	// An audit that fails keeps nothing that a person wants gone, and nothing is sent.
	d.save(v, nil)
	refused := errors.New("the audit is away")
	d.setRefuse(refused)
	tried = nil
	if got, err := v.Revoke(t.Context(), adaLovelace, server, ""); got != vault.RevokedLater || !errors.Is(err, refused) || len(tried) != 0 {
		t.Errorf("without an audit: %q, %v, tried %q", got, err, tried)
	}
	d.setRefuse(nil)
	if grants, err := v.Grants(t.Context(), adaLovelace, ""); len(grants) != 0 || err != nil {
		t.Errorf("%d grants are left, %v", len(grants), err)
	}
	if _, err := v.Revoke(t.Context(), bobBabbage, server, ""); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("of nothing: %v", err)
	}
}

// testWanted: what a provider wants beyond a consent is known to every machine, for its
// person alone, until it is granted.
func testWanted(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	want := func(v *vault.Vault, scopes ...string) {
		t.Helper()
		got, err := v.Wanted(t.Context(), adaLovelace, server, "")
		if err != nil || !slices.Equal(got[server], scopes) || len(got) > 1 {
			t.Errorf("wanted are %q, %v; want %q", got, err, scopes)
		}
	}
	add := func(scopes ...string) {
		t.Helper()
		if err := v.Want(t.Context(), adaLovelace, server, "", scopes); err != nil {
			t.Fatal(err)
		}
	}
	want(v)
	add("write", "admin")
	add("admin", "delete")
	want(v, "write", "admin", "delete")
	want(other, "write", "admin", "delete")
	for name, p := range strangers {
		if got, err := other.Wanted(t.Context(), p, "", ""); len(got) != 0 || err != nil {
			t.Errorf("%s sees %q, %v", name, got, err)
		}
	}
	for _, q := range []struct{ provider, label string }{{"github", ""}, {server, "work"}} {
		if got, err := other.Wanted(t.Context(), adaLovelace, q.provider, q.label); len(got) != 0 || err != nil {
			t.Errorf("elsewhere: %q, %v", got, err)
		}
	}
	if err := v.Want(t.Context(), adaLovelace, "github", "", []string{"repo"}); err != nil {
		t.Fatal(err)
	}
	if got, err := other.Wanted(t.Context(), adaLovelace, "", ""); len(got) != 2 || err != nil {
		t.Errorf("of all providers: %q, %v", got, err)
	}

	// A consent takes off what it grants, and nothing else.
	d.save(other, func(n *vault.NewGrant) { n.Label = "work"; n.Scopes = []string{"write", "admin", "delete"} })
	want(v, "write", "admin", "delete")
	d.save(other, func(n *vault.NewGrant) { n.Scopes = []string{"read", "write"} })
	want(v, "admin", "delete")
	d.save(v, func(n *vault.NewGrant) { n.Scopes = []string{"read", "write", "delete"} })
	want(other, "admin")
	d.save(v, func(n *vault.NewGrant) { n.Scopes = []string{"admin"} })
	want(other)

	// So does another account, and whoever signs out or is erased wants nothing.
	add("admin")
	n := d.provider.Consent()
	n.Account.ID, n.Scopes = "2", []string{"admin"}
	_, err := v.Save(t.Context(), adaLovelace, n)
	asked, ok := errors.AsType[*vault.OtherAccountError](err)
	if !ok {
		t.Fatal(err)
	}
	want(v, "admin")
	if _, err := v.Decide(t.Context(), adaLovelace, asked.Decision, vault.Replace, ""); err != nil {
		t.Fatal(err)
	}
	want(v)
	add("delete")
	if err := other.Delete(t.Context(), adaLovelace, server, ""); err != nil {
		t.Fatal(err)
	}
	want(v)
	add("delete")
	if err := other.Erase(t.Context(), adaLovelace); err != nil {
		t.Fatal(err)
	}
	if rows := read(t, d.open(), adaLovelace.Key(), vault.Query{Kind: vault.KindWanted}); len(rows) != 0 {
		t.Errorf("%d rows are left of who was erased", len(rows))
	}

	// Bounds, and texts that no store takes.
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprint("scope-", i))
	}
	add(many...)
	want(other, many[:256]...)
	for _, bad := range []string{"a\x00b", "\xff", string(make([]byte, 3000))} {
		if err := v.Want(t.Context(), adaLovelace, server, "", []string{bad}); !errors.Is(err, vault.ErrInvalid) {
			t.Errorf("a scope of %.20q: %v", bad, err)
		}
	}
	if err := v.Want(t.Context(), adaLovelace, "", "", []string{"x"}); !errors.Is(err, vault.ErrInvalid) {
		t.Errorf("of nobody: %v", err)
	}

	// A row that was changed by who can write to the database asks for nothing.
	raw := d.open()
	err = raw.Update(t.Context(), adaLovelace.Key(), func(tx vault.Tx) error {
		rows, err := tx.Rows(vault.Query{Kind: vault.KindWanted, Provider: server, Limit: 1})
		if err != nil || len(rows) != 1 {
			return errors.Join(err, errors.New("no row"))
		}
		rows[0].Provider = "github"
		return tx.Put(rows[0])
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := v.Wanted(t.Context(), adaLovelace, "github", ""); len(got) != 0 || err != nil {
		t.Errorf("a moved row says %q, %v", got, err)
	}
}

// testWantedAtOnce: machines that learn something at the same moment keep all of it, in
// one row.
func testWantedAtOnce(t *testing.T, store Store) {
	d := newDesk(t, store)
	machines := []*vault.Vault{d.machine(nil), d.machine(nil)}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			if err := machines[i%2].Want(t.Context(), adaLovelace, server, "", []string{fmt.Sprint("scope-", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	got, err := machines[0].Wanted(t.Context(), adaLovelace, server, "")
	if err != nil || len(got[server]) != 8 {
		t.Errorf("%q, %v", got, err)
	}
	if rows := read(t, d.open(), adaLovelace.Key(), vault.Query{Kind: vault.KindWanted}); len(rows) != 1 {
		t.Errorf("%d rows", len(rows))
	}
}
