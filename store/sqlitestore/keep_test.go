package sqlitestore_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/internal/sqlitefile"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

// Who keeps the tables opens those of its own version, beside the program that writes
// them, and leaves all others as they are.
func TestKeepTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, err := fs.Glob(os.DirFS("."), "migrations/*.sql")
	if err != nil || len(files) < 3 {
		t.Fatalf("migrations %q, %v", files, err)
	}
	keep := func(name string) error {
		store, err := sqlitestore.Open(filepath.Join(dir, name), &sqlitestore.Options{KeepTables: true})
		if err != nil {
			return err
		}
		_, err = store.Audit(t.Context(), 0, 9)
		return errors.Join(err, store.Close())
	}

	host := mustOpen(t, filepath.Join(dir, "same.db"))
	if err := put(t.Context(), host, "c_1"); err != nil {
		t.Fatal(err)
	}
	if err := keep("same.db"); err != nil {
		t.Errorf("tables of this version, beside their writer: %v", err)
	}

	makeVersion(t, filepath.Join(dir, "older.db"), files[:len(files)-1])
	newer := mustOpen(t, filepath.Join(dir, "newer.db"))
	if err := newer.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, filepath.Join(dir, "newer.db"), fmt.Sprintf(`INSERT INTO inbox_schema (version) VALUES (%d)`, len(files)+1))
	execute(t, filepath.Join(dir, "foreign.db"), `CREATE TABLE notes (text TEXT)`)
	for name, want := range map[string]string{
		"older.db":   fmt.Sprintf("the database has version %d and this program reads version %d", len(files)-1, len(files)),
		"newer.db":   fmt.Sprintf("the database has version %d and this program reads version %d", len(files)+1, len(files)),
		"foreign.db": "the database has no such tables",
	} {
		before, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		err = keep(name)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
		if errors.Is(err, sqlitefile.ErrOtherVersion) != (name != "foreign.db") {
			t.Errorf("%s: error %v is of another kind", name, err)
		}
		if after, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(after) != string(before) {
			t.Errorf("%s was changed, %v", name, err)
		}
	}

	if err := keep("none.db"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "none.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
}
