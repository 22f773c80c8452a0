// Package vaulttest is the one suite that every store of a vault passes, without
// exemptions: what a [vault.Store] promises by itself, and what a [vault.Vault]
// does on it, with several vaults on one place as several machines would be.
//
//	func TestStore(t *testing.T) {
//		vaulttest.TestStore(t, vaulttest.Store{New: newDatabase, Open: open})
//	}
//
// Time is not waited for: a [Clock] stands between the vaults and the store and
// lets the store's time pass. Authorization servers are played by a [Provider],
// which rotates refresh tokens, forgives within a grace, loses answers and
// stalls, on demand.
package vaulttest

import (
	"testing"

	"github.com/parley-mcp/parley/vault"
)

// Store is what the suite has to know about a store.
type Store struct {
	// New makes a place of its own for one test, such as a database, and
	// returns its address.
	New func(t *testing.T) (address string)
	// Open opens a handle on the place, and closes it when the test ends.
	Open func(t *testing.T, address string) vault.Store
}

// TestStore runs the whole suite.
func TestStore(t *testing.T, store Store) {
	t.Run("rows", func(t *testing.T) { testRows(t, store) })
	t.Run("vault", func(t *testing.T) { testVault(t, store) })
	t.Run("renewal", func(t *testing.T) { testRenewal(t, store) })
	t.Run("crash", func(t *testing.T) { testCrash(t, store) })
	t.Run("rotation", func(t *testing.T) { testRotation(t, store) })
}

// run runs each of the tests in parallel.
func run(t *testing.T, store Store, tests map[string]func(*testing.T, Store)) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, store)
		})
	}
}
