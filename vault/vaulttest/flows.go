package vaulttest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/vault"
)

func testFlows(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	flow := vault.Flow{Name: "authorize", Provider: server, Label: "work", Issuer: "https://as.example", Verifier: vault.NewSecret("v"), Nonce: vault.NewSecret("n"), Data: json.RawMessage(`{"a":1}`)}
	begin := func(f vault.Flow) vault.Secret {
		t.Helper()
		state, err := v.Begin(t.Context(), adaLovelace, f)
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	state := begin(flow)
	if raw, err := base64.RawURLEncoding.DecodeString(state.Reveal()); err != nil || len(raw) != 32 {
		t.Errorf("a state of %d bytes, %v", len(raw), err)
	}
	if state.Equal(begin(flow)) {
		t.Error("two flows have one state")
	}
	for name, state := range map[string]vault.Secret{"authorize": vault.NewSecret(state.Reveal() + "x"), "": state, "logout": state, "Authorize": state, "decision": state} {
		if _, err := v.Take(t.Context(), adaLovelace, name, state, "test"); !errors.Is(err, vault.ErrNotFound) {
			t.Errorf("Take(%q, %.6s…): %v", name, state.Reveal(), err)
		}
	}
	got, err := other.Take(t.Context(), adaLovelace, "authorize", state, "test")
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != flow.Name || got.Provider != flow.Provider || got.Label != flow.Label || got.Issuer != flow.Issuer || string(got.Data) != `{"a":1}` ||
		!got.Verifier.Equal(flow.Verifier) || !got.Nonce.Equal(flow.Nonce) || got.Began.IsZero() || got.TTL != 10*time.Minute {
		t.Errorf("Take = %+v", got)
	}
	if _, err := v.Take(t.Context(), adaLovelace, "authorize", state, "test"); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("a flow was taken twice: %v", err)
	}
	late := begin(flow)
	d.clock.Advance(10*time.Minute + time.Second)
	if _, err := v.Take(t.Context(), adaLovelace, "authorize", late, "test"); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("a flow was taken late: %v", err)
	}
	d.sweep(v)
	if rows := read(t, d.open(), adaLovelace.Key(), vault.Query{Kind: vault.KindFlow}); len(rows) != 0 {
		t.Errorf("%d flows stay for ever", len(rows))
	}
	for name, bad := range map[string]vault.Flow{
		"no name": {}, "long": {Name: "n", TTL: time.Hour + 1}, "negative": {Name: "n", TTL: -1}, "no JSON": {Name: "n", Data: json.RawMessage("{")},
		"much": {Name: "n", Data: json.RawMessage(`"` + strings.Repeat("x", 64<<10) + `"`)}, "control": {Name: "n", Label: "a\x00b"},
	} {
		if _, err := v.Begin(t.Context(), adaLovelace, bad); !errors.Is(err, vault.ErrInvalid) {
			t.Errorf("Begin(%s): %v", name, err)
		}
	}
	var limit error
	begun := 0
	for ; begun < 200 && limit == nil; begun++ {
		_, limit = v.Begin(t.Context(), adaLovelace, vault.Flow{Name: "n", TTL: time.Hour}) // none ends meanwhile
	}
	if !errors.Is(limit, vault.ErrLimit) || begun != 101 {
		t.Errorf("after %d flows: %v", begun, limit)
	}
	d.clock.Advance(time.Hour + time.Second)
	begin(flow) // what has ended makes room
}

// testFlowOnce: of many who come with one state at once, one gets the flow.
func testFlowOnce(t *testing.T, store Store) {
	d := newDesk(t, store)
	machines := []*vault.Vault{d.machine(nil), d.machine(nil)}
	state, err := machines[0].Begin(t.Context(), adaLovelace, vault.Flow{Name: "authorize"})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	var taken atomic.Int64
	for i := range 50 {
		wait.Go(func() {
			_, err := machines[i%2].Take(t.Context(), adaLovelace, "authorize", state, "test")
			if err == nil {
				taken.Add(1)
			} else if !errors.Is(err, vault.ErrNotFound) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if taken.Load() != 1 {
		t.Errorf("%d of 50 got it", taken.Load())
	}
}

// testFinished: who comes once more with the state of a flow finds the grant that it
// brought, for as long as that is what there is.
func testFinished(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	state := vault.NewSecret("state")
	finished := func(p vault.Principal, state vault.Secret) bool {
		t.Helper()
		g, err := other.Finished(t.Context(), p, state)
		if err != nil && !errors.Is(err, vault.ErrNotFound) || err == nil && (g.Provider != server || g.Status != vault.Alive) {
			t.Errorf("Finished: %+v, %v", g, err)
		}
		return err == nil
	}
	if finished(adaLovelace, state) {
		t.Error("finished before it was")
	}
	d.save(v, func(n *vault.NewGrant) { n.Flow = state })
	d.save(v, func(n *vault.NewGrant) { n.Label = "of no flow" })
	d.clock.Advance(2 * time.Hour)
	d.token(v) // it was renewed
	if !finished(adaLovelace, state) || finished(adaLovelace, vault.NewSecret("another")) || finished(adaLovelace, vault.Secret{}) {
		t.Error("a flow is found by something else than its state")
	}
	if finished(bobBabbage, state) {
		t.Error("somebody else finds it")
	}
	d.save(v, func(n *vault.NewGrant) { n.Flow = vault.NewSecret("again") })
	if finished(adaLovelace, state) || !finished(adaLovelace, vault.NewSecret("again")) {
		t.Error("the flow of another consent counts")
	}
	if err := v.Delete(t.Context(), adaLovelace, server, ""); err != nil {
		t.Fatal(err)
	}
	if finished(adaLovelace, vault.NewSecret("again")) {
		t.Error("it is finished after it was deleted")
	}
}

func testClients(t *testing.T, store Store) {
	d := newDesk(t, store)
	v, other := d.machine(nil), d.machine(nil)
	c := vault.Client{
		Issuer: "https://as.example", Name: "default", ID: "id", Secret: vault.NewSecret("s"), Method: "client_secret_basic", PrivateKey: vault.NewSecret("k"),
		SecretExpires: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), RedirectURIs: []string{"https://p.example/cb"},
		RegistrationURI: "https://as.example/r/1", RegistrationToken: vault.NewSecret("rt"),
	}
	if _, added, err := v.AddClient(t.Context(), "acme", c); err != nil || !added {
		t.Fatalf("AddClient: %v, %v", added, err)
	}
	second := c
	second.ID = "id-2"
	if got, added, err := other.AddClient(t.Context(), "acme", second); err != nil || added || got.ID != "id" || got.Secret.Reveal() != "s" {
		t.Errorf("the second AddClient: %q, %v, %v", got.ID, added, err)
	}
	got, err := other.Client(t.Context(), "acme", c.Issuer, "", "test")
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != c.ID || !got.Secret.Equal(c.Secret) || !got.PrivateKey.Equal(c.PrivateKey) || !got.RegistrationToken.Equal(c.RegistrationToken) ||
		got.Method != c.Method || !got.SecretExpires.Equal(c.SecretExpires) || !slices.Equal(got.RedirectURIs, c.RedirectURIs) || got.RegistrationURI != c.RegistrationURI || got.Issuer != c.Issuer || got.Name != c.Name {
		t.Errorf("Client = %+v", got)
	}
	for _, miss := range [][3]string{{"", c.Issuer, ""}, {"acme2", c.Issuer, ""}, {"acme", c.Issuer + "/", ""}, {"acme", c.Issuer, "b"}} {
		if _, err := v.Client(t.Context(), miss[0], miss[1], miss[2], "test"); !errors.Is(err, vault.ErrNotFound) {
			t.Errorf("Client(%q): %v", miss, err)
		}
		if err := v.DeleteClient(t.Context(), miss[0], miss[1], miss[2]); !errors.Is(err, vault.ErrNotFound) {
			t.Errorf("DeleteClient(%q): %v", miss, err)
		}
	}
	if err := v.SetClient(t.Context(), "acme", second); err != nil {
		t.Fatal(err)
	}
	if got, err := v.Client(t.Context(), "acme", c.Issuer, "", "test"); err != nil || got.ID != "id-2" {
		t.Errorf("after SetClient: %q, %v", got.ID, err)
	}
	if err := v.DeleteClient(t.Context(), "acme", c.Issuer, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Client(t.Context(), "acme", c.Issuer, "", "test"); !errors.Is(err, vault.ErrNotFound) {
		t.Errorf("after DeleteClient: %v", err)
	}
}

// testClientsAtOnce: machines that register at the same time end with one registration.
func testClientsAtOnce(t *testing.T, store Store) {
	d := newDesk(t, store)
	machines := []*vault.Vault{d.machine(nil), d.machine(nil)}
	var wait sync.WaitGroup
	var added atomic.Int64
	stored := make([]string, 10)
	for i := range stored {
		wait.Go(func() {
			c, first, err := machines[i%2].AddClient(t.Context(), "", vault.Client{Issuer: "i", ID: fmt.Sprint(i)})
			if err != nil {
				t.Error(err)
			}
			if first {
				added.Add(1)
			}
			stored[i] = c.ID
		})
	}
	wait.Wait()
	if added.Load() != 1 || len(slices.Compact(stored)) != 1 {
		t.Errorf("%d were added; the callers have %q", added.Load(), stored)
	}
}
