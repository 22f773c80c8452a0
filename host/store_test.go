package host_test

import (
	"path/filepath"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

func init() {
	backends["sqlite"] = func(t *testing.T) *backend {
		path := filepath.Join(t.TempDir(), "parley.db")
		return &backend{ring: seal.NewRing(), open: func(t *testing.T) inbox.Store {
			s, err := sqlitestore.Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		}}
	}
}
