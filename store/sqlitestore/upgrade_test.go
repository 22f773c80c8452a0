package sqlitestore_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/sqlitefile"
)

// TestUpgrade brings a file of each older version, with what programs of that
// version keep in it, up to date, and plays one of them beside it.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(os.DirFS("."), "migrations/*.sql")
	if err != nil || len(files) < 3 {
		t.Fatalf("migrations %q, %v", files, err)
	}
	for version := 1; version < len(files); version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "inbox.db")
			makeVersion(t, path, files[:version])
			checkUpgrade(t, path)
		})
	}
}

// makeVersion makes a file with the migrations of an older version, and a call.
func makeVersion(t *testing.T, path string, files []string) {
	t.Helper()
	older := fstest.MapFS{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		older[name] = &fstest.MapFile{Data: text}
	}
	// What this version writes of a call, in columns that the older one has.
	now := filepath.Join(t.TempDir(), "now.db")
	store := mustOpen(t, now)
	if err := put(t.Context(), store, "c_1"); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", sqlitefile.Source(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := sqlitefile.Connect(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := sqlitefile.Migrate(t.Context(), conn, "inbox_schema", older); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), `ATTACH ? AS now`, now); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"inbox_principals", "inbox_calls", "inbox_events"} {
		var columns string
		err := conn.QueryRowContext(t.Context(), `SELECT group_concat(name, ', ') FROM pragma_table_info(?, 'main')`, table).Scan(&columns)
		if err != nil || !strings.Contains(columns, ",") {
			t.Fatalf("columns of %s: %q, %v", table, columns, err)
		}
		if _, err := conn.ExecContext(t.Context(), fmt.Sprintf(`INSERT INTO %s (%s) SELECT %[2]s FROM now.%[1]s`, table, columns)); err != nil {
			t.Fatal(err)
		}
	}
}

func checkUpgrade(t *testing.T, path string) {
	store := mustOpen(t, path)
	fill := func(principal string) {
		t.Helper()
		err := store.Update(t.Context(), principal, func(tx inbox.Tx) error {
			return errors.Join(
				tx.PutApproval(&inbox.ApprovalRow{ID: inbox.ApprovalID("a_" + principal), Created: tx.Now()}),
				tx.AppendAudit(&inbox.AuditRow{At: tx.Now(), Kind: inbox.AuditComposed}))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	fill("p")
	err := store.View(t.Context(), "p", func(tx inbox.Tx) error {
		if disabled, err := tx.Disabled(); disabled || err != nil {
			t.Errorf("Disabled = %t, %v", disabled, err)
		}
		_, err := tx.Call("c_1")
		return err
	})
	if err != nil {
		t.Errorf("what was there before: %v", err)
	}

	// The first version makes people and erases them without a word of the rest.
	execute(t, path, `INSERT INTO inbox_principals (key) VALUES ('old')`)
	fill("old")
	execute(t, path, `PRAGMA foreign_keys = 1; DELETE FROM inbox_principals WHERE key = 'old'`)
	rows, err := store.Audit(t.Context(), 0, 9)
	if err != nil || len(rows) != 1 || rows[0].Principal != "p" {
		t.Errorf("what is left of who was erased: %+v, %v", rows, err)
	}
}
