package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

// TestBackup does what docs/operations.md says, in both ways, and reads the copy.
func TestBackup(t *testing.T) {
	t.Parallel()
	for name, backup := range map[string]func(t *testing.T, from, to string, stop func()){
		"stopped": func(t *testing.T, from, to string, stop func()) {
			stop()
			copyFile(t, filepath.Join(from, storeFile), filepath.Join(to, storeFile))
		},
		"running": func(t *testing.T, from, to string, stop func()) {
			db, err := sql.Open("sqlite", filepath.Join(from, storeFile))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.ExecContext(t.Context(), "VACUUM INTO ?", filepath.Join(to, storeFile)); err != nil {
				t.Fatal(err)
			}
			stop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := t.TempDir(), t.TempDir()
			in, closeStore := openData(t, from)
			call, err := in.Compose(t.Context(), serve.LocalPrincipal, inbox.NewCall{
				Conversation: "v_1", Actor: inbox.Person, Server: "travel", Method: "tools/call", Name: "book_flight", Arguments: []byte(`{"to":"Tokyo"}`),
			})
			if err != nil {
				t.Fatal(err)
			}
			backup(t, from, to, closeStore)
			copyFile(t, filepath.Join(from, keysFile), filepath.Join(to, keysFile))

			in, closeStore = openData(t, to)
			defer closeStore()
			got, err := in.Call(t.Context(), serve.LocalPrincipal, call.ID)
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Arguments) != `{"to":"Tokyo"}` || got.State != inbox.Ready {
				t.Errorf("the copy holds %s, %s", got.State, got.Arguments)
			}
		})
	}
}

// TestBackupWithoutKeys: the store alone is worth nothing.
func TestBackupWithoutKeys(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	in, closeStore := openData(t, from)
	call, err := in.Compose(t.Context(), serve.LocalPrincipal, inbox.NewCall{
		Conversation: "v_1", Actor: inbox.Person, Server: "travel", Method: "tools/call", Name: "book_flight",
	})
	if err != nil {
		t.Fatal(err)
	}
	closeStore()
	copyFile(t, filepath.Join(from, storeFile), filepath.Join(to, storeFile))
	in, closeStore = openData(t, to)
	defer closeStore()
	if got, err := in.Call(t.Context(), serve.LocalPrincipal, call.ID); err == nil {
		t.Errorf("read without its keys: %+v", got)
	}
}

// openData opens the store and the keys of a data directory, as runHost does.
func openData(t *testing.T, dir string) (*inbox.Inbox, func()) {
	t.Helper()
	keys, err := inbox.OpenKeys(filepath.Join(dir, keysFile))
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlitestore.Open(filepath.Join(dir, storeFile), nil)
	if err != nil {
		t.Fatal(err)
	}
	return inbox.New(store, keys, nil), func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
