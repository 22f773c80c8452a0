package sqlitestore_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/inbox/inboxtest"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	t.Parallel()
	inboxtest.TestStore(t, func(t *testing.T, now func() time.Time) func() inbox.Store {
		path := filepath.Join(t.TempDir(), "inbox.db")
		return func() inbox.Store {
			store, err := sqlitestore.Open(path, &sqlitestore.Options{Now: now})
			if err != nil {
				t.Fatalf("Open: %v", err)
			}
			return store
		}
	})
}
