package sqlitevault_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/vault"
	"github.com/parley-mcp/parley/vault/sqlitevault"
	"github.com/parley-mcp/parley/vault/vaulttest"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

var store = vaulttest.Store{
	New:  func(t *testing.T) string { return filepath.Join(t.TempDir(), "a?b %41#.db") },
	Open: func(t *testing.T, path string) vault.Store { return open(t, path) },
}

func open(t testing.TB, path string) *sqlitevault.Store {
	t.Helper()
	s, err := sqlitevault.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	vaulttest.TestStore(t, store)
}

// direct opens the file past the store.
func direct(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	file := func(text string) func(t *testing.T) string {
		return func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "vault.db")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	tests := map[string]func(t *testing.T) string{
		"no directory": func(t *testing.T) string { return filepath.Join(t.TempDir(), "none", "vault.db") },
		"a directory":  func(t *testing.T) string { return t.TempDir() },
		"a text":       file("dear diary"),
		"damaged":      file("SQLite format 3\x00" + strings.Repeat("x", 4096)),
		"newer": func(t *testing.T) string {
			path := store.New(t)
			s, err := sqlitevault.Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := direct(t, path).Exec(`INSERT INTO vault_schema (version) VALUES (99)`); err != nil {
				t.Fatal(err)
			}
			return path
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := prepare(t)
			s, err := sqlitevault.Open(path, nil)
			if err == nil {
				s.Close()
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
	open(t, path)
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
	store, err := sqlitevault.Open(filepath.Join(dir, "parley.db"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	v, err := vault.New(store, vault.NewKeys(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer v.Close()

	ada := vault.Principal{Issuer: "https://id.example", Subject: "ada"}
	_, err = v.Token(context.Background(), ada, "https://mcp.example/", "", "an example")
	fmt.Println(err)
	// Output: vault: not found
}
