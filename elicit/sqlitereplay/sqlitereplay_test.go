package sqlitereplay_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/replaytest"
	"github.com/parley-mcp/parley/elicit/sqlitereplay"
	"github.com/parley-mcp/parley/internal/servicetest"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

var store = replaytest.Store{
	New: func(t testing.TB) string { return filepath.Join(t.TempDir(), "a?b %41#.db") },
	Open: func(t testing.TB, path string) elicit.ReplayGuard {
		guard, err := sqlitereplay.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := guard.Close(); err != nil {
				t.Error(err)
			}
		})
		return guard
	},
	Count: func(t testing.TB, path string) (n int) {
		db := direct(t, path)
		if err := db.QueryRow(`SELECT count(*) FROM elicit_records`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	},
}

// direct opens the file past the guard.
func direct(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestGuard(t *testing.T) {
	replaytest.Child(t, store)
	t.Parallel()
	replaytest.Run(t, store)
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	file := func(text string) func(t *testing.T) string {
		return func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "records.db")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	tests := map[string]func(t *testing.T) string{
		"no directory": func(t *testing.T) string { return filepath.Join(t.TempDir(), "none", "records.db") },
		"a directory":  func(t *testing.T) string { return t.TempDir() },
		"a text":       file("dear diary"),
		"damaged":      file("SQLite format 3\x00" + strings.Repeat("x", 4096)),
		"newer": func(t *testing.T) string {
			path := store.New(t)
			guard, err := sqlitereplay.Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := guard.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := direct(t, path).Exec(`INSERT INTO elicit_schema (version) VALUES (99)`); err != nil {
				t.Fatal(err)
			}
			return path
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := prepare(t)
			guard, err := sqlitereplay.Open(path, nil)
			if err == nil {
				guard.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), path) {
				t.Errorf("the error does not name the file: %v", err)
			}
		})
	}
}

func TestMode(t *testing.T) {
	t.Parallel()
	path := store.New(t)
	store.Open(t, path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %04o, want 0600", info.Mode().Perm())
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	guard, err := sqlitereplay.Open(filepath.Join(dir, "records.db"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()

	server, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1"}, nil), &elicit.Options{
		Audience: "bank",
		KeysFile: filepath.Join(dir, "keys.json"), // what is kept is sealed with them
		Replay:   guard,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	elicit.AddTool(server, &mcp.Tool{Name: "pay"}, func(ctx context.Context, call *elicit.Call, in struct{}) (string, error) {
		return "paid", nil // once for each idempotency key, whatever clients send
	})
	fmt.Println("ready")
	// Output: ready
}
