package elicit_test

import (
	"crypto/rand"
	"sync"
	"testing"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/replaytest"
)

func TestMemoryGuard(t *testing.T) {
	t.Parallel()
	var guards sync.Map // by address: a place in memory is its guard
	open := func(_ testing.TB, address string) elicit.ReplayGuard {
		guard, _ := guards.LoadOrStore(address, elicit.NewMemoryGuard(nil))
		return guard.(*elicit.MemoryGuard)
	}
	replaytest.Run(t, replaytest.Store{
		New:   func(testing.TB) string { return rand.Text() },
		Open:  open,
		Count: func(t testing.TB, address string) int { return open(t, address).(*elicit.MemoryGuard).Len() },
	})
}
