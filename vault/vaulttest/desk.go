package vaulttest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/vault"
)

// desk is one place with machines on it.
type desk struct {
	t        *testing.T
	store    Store
	address  string
	clock    *Clock
	keys     *vault.Keys
	provider *Provider

	mu     sync.Mutex
	events []vault.Event
	refuse error // what the audit answers
}

func newDesk(t *testing.T, store Store) *desk {
	t.Helper()
	return &desk{t: t, store: store, address: store.New(t), clock: &Clock{}, keys: vault.NewKeys(), provider: &Provider{Rotates: true}}
}

// open opens a handle on the place, with the desk's clock.
func (d *desk) open() vault.Store {
	d.t.Helper()
	return d.clock.Wrap(d.store.Open(d.t, d.address))
}

// machine starts a machine.
func (d *desk) machine(change func(*vault.Options)) *vault.Vault {
	d.t.Helper()
	return d.machineOn(d.open(), change)
}

func (d *desk) machineOn(store vault.Store, change func(*vault.Options)) *vault.Vault {
	d.t.Helper()
	options := vault.Options{Endpoint: d.provider, Audit: d.audit, CommitFor: 10 * time.Second}
	if change != nil {
		change(&options)
	}
	v, err := vault.New(store, d.keys, &options)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = v.Close() })
	return v
}

func (d *desk) audit(_ context.Context, e vault.Event) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
	return d.refuse
}

func (d *desk) setRefuse(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refuse = err
}

// audited counts the events of the action.
func (d *desk) audited(action vault.Action) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, e := range d.events {
		if e.Action == action {
			n++
		}
	}
	return n
}

var (
	adaLovelace = vault.Principal{Issuer: "https://id.example", Tenant: "acme", Subject: "ada"}
	bobBabbage  = vault.Principal{Issuer: "https://id.example", Tenant: "acme", Subject: "bob"}
	// strangers are near to Ada without being her.
	strangers = map[string]vault.Principal{
		"another person":  bobBabbage,
		"another tenant":  {Issuer: "https://id.example", Tenant: "acme2", Subject: "ada"},
		"no tenant":       {Issuer: "https://id.example", Subject: "ada"},
		"another issuer":  {Issuer: "https://id.example/", Tenant: "acme", Subject: "ada"},
		"another case":    {Issuer: "https://id.example", Tenant: "acme", Subject: "Ada"},
		"moved boundary":  {Issuer: "https://id.example|acme", Subject: "ada"},
		"fields swapped":  {Issuer: "https://id.example", Tenant: "ada", Subject: "acme"},
		"a pattern":       {Issuer: "https://id.example", Tenant: "acme", Subject: "%"},
		"joined together": {Issuer: "https://id.example", Tenant: "acme|ada", Subject: "ada"},
	}
)

const server = "https://mcp.example/"

// save stores a fresh consent of Ada's, as changed.
func (d *desk) save(v *vault.Vault, change func(*vault.NewGrant)) vault.Grant {
	d.t.Helper()
	n := d.provider.Consent()
	if change != nil {
		change(&n)
	}
	g, err := v.Save(d.t.Context(), adaLovelace, n)
	if err != nil {
		d.t.Fatalf("Save: %v", err)
	}
	return g
}

// token reads Ada's token and fails the test if there is none.
func (d *desk) token(v *vault.Vault) vault.Token {
	d.t.Helper()
	token, err := v.Token(d.t.Context(), adaLovelace, server, "", "test")
	if err != nil {
		d.t.Fatalf("Token: %v", err)
	}
	return token
}

// only returns Ada's one grant.
func (d *desk) only(v *vault.Vault) vault.Grant {
	d.t.Helper()
	grants, err := v.Grants(d.t.Context(), adaLovelace, "")
	if err != nil {
		d.t.Fatalf("Grants: %v", err)
	}
	if len(grants) != 1 {
		d.t.Fatalf("there are %d grants, want 1: %+v", len(grants), grants)
	}
	return grants[0]
}

// sweep sweeps once.
func (d *desk) sweep(v *vault.Vault) {
	d.t.Helper()
	if err := v.Sweep(d.t.Context()); err != nil {
		d.t.Errorf("Sweep: %v", err)
	}
}
