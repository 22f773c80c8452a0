package vaulttest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/vault"
)

func testVault(t *testing.T, store Store) {
	t.Parallel()
	run(t, store, map[string]func(*testing.T, Store){
		"grants":            testGrants,
		"static keys":       testStaticKeys,
		"strangers":         testStrangers,
		"moved blobs":       testMovedBlobs,
		"nothing readable":  testNothingReadable,
		"audit":             testAudit,
		"flows":             testFlows,
		"flow once":         testFlowOnce,
		"finished":          testFinished,
		"clients":           testClients,
		"clients at once":   testClientsAtOnce,
		"other account":     testOtherAccount,
		"undecided":         testUndecided,
		"erase":             testErase,
		"revocation":        testRevocation,
		"revocation at end": testRevocationGivesUp,
		"revoke":            testRevoke,
		"wanted scopes":     testWanted,
		"wanted at once":    testWantedAtOnce,
	})
}

func testGrants(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	saved := d.save(v, func(n *vault.NewGrant) {
		n.Account = vault.Account{ID: "17", Name: "ada@example.com"}
		n.Scopes = []string{"read"}
	})
	if saved.Status != vault.Alive || saved.Label != vault.DefaultLabel || saved.Account.Name != "ada@example.com" || !saved.Renewable || !slices.Equal(saved.Missing, []string{"write"}) {
		t.Errorf("Save returned %+v", saved)
	}
	d.save(v, func(n *vault.NewGrant) { n.Label = "work" })
	d.save(other, func(n *vault.NewGrant) { n.Provider = "github" })
	for _, machine := range []*vault.Vault{v, other} {
		grants, err := machine.Grants(t.Context(), adaLovelace, "")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, g := range grants {
			got = append(got, g.Provider+" "+g.Label)
		}
		if want := []string{"github default", server + " default", server + " work"}; !slices.Equal(got, want) {
			t.Errorf("Grants = %q, want %q", got, want)
		}
		if diff := cmp.Diff(saved, grants[1]); diff != "" {
			t.Errorf("(-saved +listed)\n%s", diff)
		}
		if grants, err := machine.Grants(t.Context(), adaLovelace, "github"); len(grants) != 1 || err != nil {
			t.Errorf("Grants of one provider: %d, %v", len(grants), err)
		}
	}
	first := d.token(other)
	if first.Reveal() != "access-1-0" || first.Type() != "Bearer" || first.Grant() != saved.ID || !slices.Equal(first.Scopes(), []string{"read"}) || first.Header().Reveal() != "Bearer access-1-0" {
		t.Errorf("Token = %q, %q, %q, %q", first.Reveal(), first.Type(), first.Grant(), first.Scopes())
	}
	work, err := v.Token(t.Context(), adaLovelace, server, "work", "test")
	if err != nil || work.Reveal() != "access-2-0" {
		t.Errorf("the token under a label is %q, %v", work.Reveal(), err)
	}
	// The same account consents again: one grant, with the new tokens.
	again := d.save(v, func(n *vault.NewGrant) { n.Account = vault.Account{ID: "17", Name: "new name"} })
	if again.ID != saved.ID || again.Account.Name != "new name" {
		t.Errorf("the second consent gave %+v", again)
	}
	if got := d.token(v).Reveal(); got != "access-4-0" {
		t.Errorf("after the second consent the token is %q", got)
	}
	if err := other.Delete(t.Context(), adaLovelace, server, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Token(t.Context(), adaLovelace, server, "", "test"); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("a deleted grant gives %v", err)
	}
	if err := v.Delete(t.Context(), adaLovelace, server, ""); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("Delete of what is gone: %v", err)
	}
	if grants, err := v.Grants(t.Context(), adaLovelace, ""); len(grants) != 2 || err != nil {
		t.Errorf("%d grants are left, %v", len(grants), err)
	}
}

func testStaticKeys(t *testing.T, store Store) {
	d := newDesk(t, store)
	v := d.machine(nil)
	_, err := v.Save(t.Context(), adaLovelace, vault.NewGrant{Provider: "weather", Secrets: map[string]vault.Secret{
		"api_key": vault.NewSecret("k-1"), "secret": vault.NewSecret("s-1"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"api_key": "k-1", "secret": "s-1"} {
		got, err := v.Secret(t.Context(), adaLovelace, "weather", "", name, "test")
		if err != nil || got.Reveal() != want {
			t.Errorf("Secret(%q) = %q, %v", name, got.Reveal(), err)
		}
	}
	for _, name := range []string{"", "access", "record", "API_KEY", "secret:api_key"} {
		if got, err := v.Secret(t.Context(), adaLovelace, "weather", "", name, "test"); !errors.Is(err, vault.ErrNotFound) {
			t.Errorf("Secret(%q) = %q, %v", name, got.Reveal(), err)
		}
	}
	if _, err := v.Token(t.Context(), adaLovelace, "weather", "", "test"); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("a static key gave a token: %v", err)
	}
	if got := d.only(v); !slices.Equal(got.Secrets, []string{"api_key", "secret"}) || got.Renewable || !got.Expires.IsZero() {
		t.Errorf("it shows as %+v", got)
	}
}

// testStrangers: to everybody else a person's rows are not there.
func testStrangers(t *testing.T, store Store) {
	d := newDesk(t, store)
	v := d.machine(nil)
	g := d.save(v, func(n *vault.NewGrant) {
		n.Secrets = map[string]vault.Secret{"key": vault.NewSecret("k")}
		n.Account = vault.Account{ID: "1"}
	})
	token := d.token(v)
	state, err := v.Begin(t.Context(), adaLovelace, vault.Flow{Name: "authorize", Provider: server})
	if err != nil {
		t.Fatal(err)
	}
	n := d.provider.Consent()
	n.Account.ID = "2"
	_, err = v.Save(t.Context(), adaLovelace, n)
	other, ok := errors.AsType[*vault.OtherAccountError](err)
	if !ok {
		t.Fatalf("another account: %v", err)
	}
	for name, p := range strangers {
		calls := map[string]error{}
		_, calls["Token"] = v.Token(t.Context(), p, server, "", "test")
		_, calls["Renew"] = v.Renew(t.Context(), p, token, "test")
		_, calls["Secret"] = v.Secret(t.Context(), p, server, "", "key", "test")
		_, calls["Take"] = v.Take(t.Context(), p, "authorize", state, "test")
		_, calls["Decide"] = v.Decide(t.Context(), p, other.Decision, vault.Replace, "")
		calls["Delete"] = v.Delete(t.Context(), p, server, "")
		for call, err := range calls {
			if !errors.Is(err, vault.ErrNotFound) || err.Error() != vault.ErrNotFound.Error() {
				t.Errorf("%s: %s gave %v", name, call, err)
			}
		}
		if grants, err := v.Grants(t.Context(), p, ""); len(grants) != 0 || err != nil {
			t.Errorf("%s sees %d grants, %v", name, len(grants), err)
		}
		if err := v.Erase(t.Context(), p); err != nil {
			t.Errorf("%s: Erase: %v", name, err)
		}
	}
	for _, p := range []vault.Principal{{}, {Issuer: "i"}, {Subject: "s"}, {Issuer: "urn:parley:vault", Subject: "clients"}, {Issuer: "i", Subject: strings.Repeat("s", 2000)}, {Issuer: "\xff", Subject: "s"}} {
		if _, err := v.Save(t.Context(), p, d.provider.Consent()); !errors.Is(err, vault.ErrInvalid) {
			t.Errorf("%v is a principal: %v", p, err)
		}
		if _, err := v.Token(t.Context(), p, server, "", "test"); !errors.Is(err, vault.ErrInvalid) {
			t.Errorf("%v is a principal: %v", p, err)
		}
	}
	// Ada's is all there.
	if got := d.only(v); got.ID != g.ID || got.Status != vault.Alive {
		t.Errorf("after all that the grant is %+v", got)
	}
	if _, err := v.Take(t.Context(), adaLovelace, "authorize", state, "test"); err != nil {
		t.Errorf("after strangers tried it the flow is gone: %v", err)
	}
	if _, err := v.Decide(t.Context(), adaLovelace, other.Decision, vault.Discard, ""); err != nil {
		t.Errorf("after strangers tried it the decision is gone: %v", err)
	}
	if len(d.provider.Revoked()) != 0 {
		t.Errorf("strangers made the vault revoke %q", d.provider.Revoked())
	}
}

// testAudit: what is not audited does not happen.
func testAudit(t *testing.T, store Store) {
	d := newDesk(t, store)
	v := d.machine(nil)
	d.save(v, func(n *vault.NewGrant) { n.Secrets = map[string]vault.Secret{"key": vault.NewSecret("k")} })
	token := d.token(v)
	state, err := v.Begin(t.Context(), adaLovelace, vault.Flow{Name: "authorize"})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.SetClient(t.Context(), "", vault.Client{Issuer: "i", ID: "id"}); err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	d.setRefuse(full)
	calls := map[string]error{}
	_, calls["Token"] = v.Token(t.Context(), adaLovelace, server, "", "test")
	_, calls["Renew"] = v.Renew(t.Context(), adaLovelace, token, "test")
	_, calls["Secret"] = v.Secret(t.Context(), adaLovelace, server, "", "key", "test")
	_, calls["Client"] = v.Client(t.Context(), "", "i", "", "test")
	_, calls["Take"] = v.Take(t.Context(), adaLovelace, "authorize", state, "test")
	_, calls["Save"] = v.Save(t.Context(), adaLovelace, d.provider.Consent())
	_, calls["Begin"] = v.Begin(t.Context(), adaLovelace, vault.Flow{Name: "authorize"})
	for call, err := range calls {
		if !errors.Is(err, vault.ErrNotAudited) || !errors.Is(err, full) {
			t.Errorf("%s without audit: %v", call, err)
		}
	}
	if n := d.provider.Requests(); n != 0 {
		t.Errorf("%d refresh requests were sent unaudited", n)
	}
	d.setRefuse(nil)
	if _, err := v.Take(t.Context(), adaLovelace, "authorize", state, "test"); err != nil {
		t.Errorf("an audit that failed used the flow up: %v", err)
	}
	if _, err := v.Renew(t.Context(), adaLovelace, token, "test"); err != nil {
		t.Errorf("after the audit came back: %v", err)
	}
	// A person who wants it gone gets it gone.
	d.setRefuse(full)
	if err := v.Delete(t.Context(), adaLovelace, server, ""); !errors.Is(err, vault.ErrNotAudited) {
		t.Errorf("Delete: %v", err)
	}
	if err := v.Sweep(t.Context()); !errors.Is(err, vault.ErrNotAudited) || len(d.provider.Revoked()) != 0 {
		t.Errorf("unaudited, tokens were revoked: %q, %v", d.provider.Revoked(), err)
	}
	d.setRefuse(nil)
	if grants, err := v.Grants(t.Context(), adaLovelace, ""); len(grants) != 0 || err != nil {
		t.Errorf("a grant is there after an unaudited Delete: %v, %v", grants, err)
	}
	for _, e := range d.events {
		if e.Action == vault.ActionRead && e.Kind == vault.KindGrant && (e.Principal != adaLovelace || e.Provider != server || e.Label != vault.DefaultLabel || e.Purpose != "test" || len(e.Fields) != 1 || e.ID == "") {
			t.Errorf("an event is %+v", e)
		}
		if e.Kind == vault.KindClient && e.Principal != (vault.Principal{}) {
			t.Errorf("a registration belongs to %v", e.Principal)
		}
	}
}
