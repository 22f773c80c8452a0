package vaulttest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/vault"
)

func testRotation(t *testing.T, store Store) {
	t.Parallel()
	run(t, store, map[string]func(*testing.T, Store){
		"online":     testRotateOnline,
		"cut":        testRotateCut,
		"foreign":    testForeignKey,
		"machines":   testMachines,
		"unreadable": testRotateUnreadable,
	})
}

// keyFile makes the desk's keys those of a file.
func (d *desk) keyFile() (path string) {
	d.t.Helper()
	path = filepath.Join(d.t.TempDir(), "keys.json")
	d.keys = d.readKeys(path)
	return path
}

func (d *desk) readKeys(path string) *vault.Keys {
	d.t.Helper()
	keys, err := vault.OpenKeys(path)
	if err != nil {
		d.t.Fatal(err)
	}
	return keys
}

// fill stores rows of every kind that is sealed.
func (d *desk) fill(v *vault.Vault, n int) {
	d.t.Helper()
	for i := range n {
		p := vault.Principal{Issuer: "i", Tenant: fmt.Sprint(i % 3), Subject: fmt.Sprint(i)}
		if _, err := v.Save(d.t.Context(), p, d.provider.Consent()); err != nil {
			d.t.Fatal(err)
		}
		if _, err := v.Begin(d.t.Context(), p, vault.Flow{Name: "authorize", Verifier: vault.NewSecret("v")}); err != nil {
			d.t.Fatal(err)
		}
	}
	if err := v.SetClient(d.t.Context(), "acme", vault.Client{Issuer: "i", ID: "id", Secret: vault.NewSecret("s")}); err != nil {
		d.t.Fatal(err)
	}
	d.save(v, nil)
	if err := v.Delete(d.t.Context(), adaLovelace, server, ""); err != nil { // leaves a revocation
		d.t.Fatal(err)
	}
	d.save(v, nil)
}

func onKey(t *testing.T, v *vault.Vault, key uint32) int64 {
	t.Helper()
	r, err := v.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range r.Keys {
		if k.ID == key {
			return k.Rows
		}
	}
	return 0
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// testRotateOnline goes through a rotation while other machines read, renew and
// save all the time: no read fails at any moment.
func testRotateOnline(t *testing.T, store Store) {
	d := newDesk(t, store)
	path := d.keyFile()
	running, runningKeys := d.machine(nil), d.keys
	old := d.keys.Primary()
	d.fill(running, 10)
	const sealed = 2*10 + 3
	if n := onKey(t, running, old); n != sealed {
		t.Fatalf("%d rows are on the old key, want %d", n, sealed)
	}

	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			token, err := running.Token(t.Context(), adaLovelace, server, "", "test")
			if err != nil {
				t.Errorf("Token in the middle of a rotation: %v", err)
				return
			}
			if i%10 == 9 {
				if _, err := running.Renew(t.Context(), adaLovelace, token, "test"); err != nil && !errors.Is(err, vault.ErrRejected) {
					t.Errorf("Renew in the middle of a rotation: %v", err)
					return
				}
			}
		}
	})

	fresh, err := seal.AddKey(path, nil)
	must(t, err)
	must(t, runningKeys.Reload()) // the running machine has it before it is promoted
	must(t, seal.PromoteKey(path, nil, fresh))
	d.keys = d.readKeys(path)
	operator := d.machine(nil)
	done, err := operator.Reseal(t.Context(), nil)
	must(t, err)
	if done.Unreadable != 0 || done.Done < sealed-1 {
		t.Errorf("Reseal = %+v", done)
	}
	// The running machine still seals with the old key; it learns, and what it
	// made meanwhile is sealed anew.
	close(stop)
	wait.Wait()
	late := vault.Principal{Issuer: "i", Subject: "late"}
	if _, err := running.Save(t.Context(), late, d.provider.Consent()); err != nil {
		t.Fatal(err)
	}
	if n := onKey(t, operator, old); n < 1 {
		t.Error("the running machine has the new key as its primary already: the test proves nothing")
	}
	done, err = operator.Reseal(t.Context(), nil)
	must(t, err)
	if n := onKey(t, operator, old); n != 0 || done.Done < 1 {
		t.Errorf("%d rows are left on the old key, after %+v", n, done)
	}
	must(t, seal.DisableKey(path, nil, old))
	d.keys = d.readKeys(path)
	last := d.machine(nil)
	must(t, last.Check(t.Context()))
	if got := d.token(last).Reveal(); got == "" {
		t.Error("no token")
	}
	if _, err := last.Client(t.Context(), "acme", "i", "", "test"); err != nil {
		t.Errorf("the registration: %v", err)
	}
	d.sweep(last)
	if len(d.provider.Revoked()) == 0 {
		t.Error("what was to be revoked does not open any more")
	}
}

// testRotateCut ends a rotation after each of its transactions, and takes it up
// again.
func testRotateCut(t *testing.T, store Store) {
	d := newDesk(t, store)
	path := d.keyFile()
	v := d.machine(nil)
	old := d.keys.Primary()
	d.fill(v, 3)
	fresh, err := seal.AddKey(path, nil)
	must(t, err)
	must(t, seal.PromoteKey(path, nil, fresh))
	d.keys = d.readKeys(path)
	left := onKey(t, v, old)
	total := left
	for round := 0; left > 0; round++ {
		w := &world{at: 2, after: round%2 == 0} // the second transaction does not end well
		dying := d.machineOn(&crashingStore{d.open(), w}, nil)
		_, err := dying.Reseal(t.Context(), nil)
		if left > 1 && !errors.Is(err, errCrashed) {
			t.Fatalf("with %d rows to go: %v", left, err)
		}
		now := onKey(t, d.machine(nil), old)
		if now >= left || round > 20 {
			t.Fatalf("round %d: %d rows are left of %d", round, now, left)
		}
		left = now
	}
	must(t, seal.DisableKey(path, nil, old))
	d.keys = d.readKeys(path)
	d.token(d.machine(nil))
	if n := onKey(t, d.machine(nil), fresh); n != total {
		t.Errorf("%d rows of %d are on the new key", n, total)
	}
}

// testForeignKey: a machine whose keys are not enough finds out when it starts,
// and gives nothing out.
func testForeignKey(t *testing.T, store Store) {
	d := newDesk(t, store)
	v := d.machine(nil)
	must(t, v.Check(t.Context()))
	d.save(v, nil)
	must(t, v.Check(t.Context()))
	d.keys = vault.NewKeys()
	stranger := d.machine(nil)
	if err := stranger.Check(t.Context()); err == nil {
		t.Error("Check found nothing")
	}
	if token, err := stranger.Token(t.Context(), adaLovelace, server, "", "test"); !errors.Is(err, vault.ErrSealed) {
		t.Errorf("other keys gave %q, %v", token.Reveal(), err)
	}
	if d.only(stranger).Status != vault.Unreadable {
		t.Errorf("it shows as %+v", d.only(stranger))
	}
	// A consent there does not silently replace what cannot be read.
	if _, err := stranger.Save(t.Context(), adaLovelace, d.provider.Consent()); !errors.Is(err, vault.ErrOtherAccount) {
		t.Errorf("Save over what cannot be read: %v", err)
	}
}

// testMachines: who rotates sees which machine has which keys.
func testMachines(t *testing.T, store Store) {
	d := newDesk(t, store)
	path := d.keyFile()
	old := d.keys.Primary()
	other := filepath.Join(t.TempDir(), "keys.json") // the second machine's copy
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(other, text, 0o600))
	one := d.machine(func(o *vault.Options) { o.Machine = "one" })
	d.keys = d.readKeys(other)
	two := d.machine(func(o *vault.Options) { o.Machine = "two" })
	machines := func() string {
		t.Helper()
		r, err := one.Report(t.Context())
		must(t, err)
		var all []string
		for _, m := range r.Machines {
			all = append(all, fmt.Sprintf("%s seals with %d, has %v", m.Name, m.Primary, m.Keys))
		}
		return strings.Join(all, "; ")
	}
	check := func(want string) {
		t.Helper()
		if got := machines(); got != want {
			t.Errorf("the machines are %q, want %q", got, want)
		}
	}
	check("")
	d.sweep(one)
	d.sweep(two)
	check(fmt.Sprintf("one seals with %d, has [%d]; two seals with %[1]d, has [%[1]d]", old, old))
	fresh, err := seal.AddKey(path, nil)
	must(t, err)
	d.sweep(one)
	d.sweep(two)
	check(fmt.Sprintf("one seals with %d, has [%d %d]; two seals with %[1]d, has [%[1]d]", old, old, fresh))
	must(t, seal.PromoteKey(path, nil, fresh))
	text, err = os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(other, text, 0o600))
	must(t, seal.DisableKey(path, nil, old))
	d.sweep(one)
	d.sweep(two)
	check(fmt.Sprintf("one seals with %d, has [%[1]d]; two seals with %[1]d, has [%d %[1]d]", fresh, old))
	d.clock.Advance(3 * time.Minute)
	d.sweep(one)
	d.clock.Advance(3 * time.Minute) // two has not said anything for too long
	check(fmt.Sprintf("one seals with %d, has [%[1]d]", fresh))
	d.sweep(one)
	if rows := read(t, d.open(), "urn%3Aparley%3Avault||machines", vault.Query{Kind: vault.KindMachine}); len(rows) != 1 {
		t.Errorf("%d machines are stored", len(rows))
	}
}

// testRotateUnreadable: what no key opens is counted, and does not stop the rest.
func testRotateUnreadable(t *testing.T, store Store) {
	d := newDesk(t, store)
	path := d.keyFile()
	v := d.machine(nil)
	d.fill(v, 3)
	rows := read(t, d.open(), adaLovelace.Key(), vault.Query{Kind: vault.KindGrant})
	rows[0].Content[len(rows[0].Content)-1] ^= 1
	putRows(t, d.open(), adaLovelace.Key(), rows[0])
	old := d.keys.Primary()
	fresh, err := seal.AddKey(path, nil)
	must(t, err)
	must(t, seal.PromoteKey(path, nil, fresh))
	must(t, d.keys.Reload())
	done, err := v.Reseal(t.Context(), nil)
	must(t, err)
	if done.Unreadable != 1 || onKey(t, v, old) != 1 {
		t.Errorf("Reseal = %+v, with %d rows left", done, onKey(t, v, old))
	}
}
