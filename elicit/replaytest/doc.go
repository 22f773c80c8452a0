// Package replaytest is the suite that every [elicit.ReplayGuard] passes: what
// its methods promise, and that with it a real server runs nothing twice,
// whatever clients repeat, fork or roll back, and wherever the process dies.
//
// The test of a guard whose records are in a file:
//
//	func TestGuard(t *testing.T) {
//		store := replaytest.Store{
//			New:   func(t testing.TB) string { return filepath.Join(t.TempDir(), "records.db") },
//			Open:  open,  // opens a guard on the file, and closes it with t.Cleanup
//			Count: count, // counts the rows in it
//		}
//		replaytest.Child(t, store)
//		t.Parallel()
//		replaytest.Run(t, store)
//	}
package replaytest

import (
	"testing"

	"github.com/parley-mcp/parley/elicit"
)

// Store is the kind of guard under test.
type Store struct {
	// New makes an empty place for records and returns its address.
	New func(t testing.TB) (address string)

	// Open opens a guard at the address, for the length of the test. It is
	// called several times, also in several processes if the guard is durable.
	Open func(t testing.TB, address string) elicit.ReplayGuard

	// Count returns how many records are stored at the address.
	Count func(t testing.TB, address string) int
}

// open opens a guard in a place of its own.
func (s Store) open(t testing.TB) elicit.ReplayGuard {
	t.Helper()
	return s.Open(t, s.New(t))
}

// Run runs the suite. A durable guard's test function calls [Child] first: the
// suite starts the test binary again and kills it.
func Run(t *testing.T, store Store) {
	run := func(name string, test func(*testing.T, Store)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, store)
		})
	}
	run("Take", testTake)
	run("Lease", testLease)
	run("Keep", testKeep)
	run("Fence", testFence)
	run("Outcomes", testOutcomes)
	run("Cancelled", testCancelled)
	run("Race", testRace)
	run("Forgetting", testForgetting)
	run("Model", testModel)

	run("Replay", testReplay)
	run("Fork", testFork)
	run("RollBack", testRollBack)
	run("IdempotencyKey", testIdempotencyKey)
	run("Running", testRunning)
	run("Storm", testStorm)
	if store.open(t).Durable() {
		run("Restart", testRestart)
		run("Killed", testKilled)
	}
}
