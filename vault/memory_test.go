package vault_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/parley-mcp/parley/vault"
	"github.com/parley-mcp/parley/vault/vaulttest"
)

var (
	memories sync.Map
	places   atomic.Int64
)

// memory gives the suite stores in memory, by an address.
var memory = vaulttest.Store{
	New: func(*testing.T) string {
		address := fmt.Sprint(places.Add(1))
		memories.Store(address, vault.NewMemory(nil))
		return address
	},
	Open: func(t *testing.T, address string) vault.Store {
		t.Helper()
		store, ok := memories.Load(address)
		if !ok {
			t.Fatalf("no place %s", address)
		}
		return store.(*vault.Memory)
	},
}

func TestMemory(t *testing.T) {
	t.Parallel()
	vaulttest.TestStore(t, memory)
}
