package memstore_test

import (
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/inbox/inboxtest"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/store/memstore"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	t.Parallel()
	inboxtest.TestStore(t, func(t *testing.T, now func() time.Time) func() inbox.Store {
		store := memstore.New(&memstore.Options{Now: now})
		return func() inbox.Store { return store.Reopen(&memstore.Options{Now: now}) }
	})
}
