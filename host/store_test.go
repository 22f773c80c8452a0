package host_test

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

func init() {
	backends["sqlite"] = func(t *testing.T) *backend {
		path := filepath.Join(t.TempDir(), "parley.db")
		clock := new(atomic.Int64)
		now := func() time.Time { return time.Now().Add(time.Duration(clock.Load())) }
		return &backend{ring: seal.NewRing(), clock: clock, open: func(t *testing.T) inbox.Store {
			s, err := sqlitestore.Open(path, &sqlitestore.Options{Now: now})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		}}
	}
}
