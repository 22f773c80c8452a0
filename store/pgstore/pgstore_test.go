package pgstore_test

import (
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/inbox/inboxtest"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/store/pgstore"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	t.Parallel()
	inboxtest.TestStore(t, func(t *testing.T, now func() time.Time) func() inbox.Store {
		dsn := servicetest.Postgres(t)
		return func() inbox.Store { return mustOpen(t, dsn, &pgstore.Options{Now: now, Connections: 6}) }
	})
}

func mustOpen(t *testing.T, dsn string, options *pgstore.Options) *pgstore.Store {
	t.Helper()
	store, err := pgstore.Open(t.Context(), dsn, options)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}
