package pgstore_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/pgschema"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/store/pgstore"
)

// TestUpgrade brings the tables of each older version, with what programs of
// that version keep in them, up to date, and plays one of them beside it.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(os.DirFS("."), "migrations/*.sql")
	if err != nil || len(files) < 3 {
		t.Fatalf("migrations %q, %v", files, err)
	}
	for version := 1; version < len(files); version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			dsn := servicetest.Postgres(t)
			makeVersion(t, dsn, files[:version])
			from, to, err := pgstore.Migrate(t.Context(), dsn, nil)
			if from != version || to != len(files) || err != nil {
				t.Fatalf("Migrate = %d, %d, %v", from, to, err)
			}
			checkUpgrade(t, dsn)
		})
	}
}

// makeVersion makes the tables with the migrations of an older version, and a call.
func makeVersion(t *testing.T, dsn string, files []string) {
	t.Helper()
	older := fstest.MapFS{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		older[name] = &fstest.MapFile{Data: text}
	}
	if _, to, err := pgschema.Migrate(t.Context(), dsn, pgschema.Options{Table: "inbox_schema", Migrations: older}); err != nil || to != len(files) {
		t.Fatalf("Migrate to version %d = %d, %v", len(files), to, err)
	}
	// What this version writes of a call, in columns that the older one has.
	now := servicetest.Postgres(t)
	if err := put(t, mustOpen(t, now, nil), "p", "c_1"); err != nil {
		t.Fatal(err)
	}
	conn := servicetest.Conn(t, dsn)
	for _, table := range []string{"inbox_principals", "inbox_calls", "inbox_events"} {
		var columns string
		err := conn.QueryRow(t.Context(), `SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name = $1`, table).Scan(&columns)
		if err != nil || !strings.Contains(columns, ",") {
			t.Fatalf("columns of %s: %q, %v", table, columns, err)
		}
		execute(t, conn, fmt.Sprintf(`INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %[2]s FROM %s.%[1]s`, table, columns, schemaOf(t, now)))
		if table == "inbox_principals" { // as if the older program had counted
			execute(t, conn, `SELECT setval(pg_get_serial_sequence('inbox_principals', 'id'), max(id)) FROM inbox_principals`)
		}
	}
}

// schemaOf is the schema that a connection string names.
func schemaOf(t *testing.T, dsn string) string {
	t.Helper()
	at, err := url.Parse(dsn)
	if err != nil || at.Query().Get("search_path") == "" {
		t.Fatalf("%s names no schema (%v)", dsn, err)
	}
	return at.Query().Get("search_path")
}

func checkUpgrade(t *testing.T, dsn string) {
	store, conn := mustOpen(t, dsn, nil), servicetest.Conn(t, dsn)
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
	execute(t, conn, `INSERT INTO inbox_principals (key) VALUES ('old') ON CONFLICT DO NOTHING`)
	fill("old")
	for _, table := range []string{"inbox_events", "inbox_keys", "inbox_questions", "inbox_calls"} {
		execute(t, conn, `DELETE FROM `+table+` WHERE principal = (SELECT id FROM inbox_principals WHERE key = 'old')`)
	}
	execute(t, conn, `DELETE FROM inbox_principals WHERE key = 'old'`)
	rows, err := store.Audit(t.Context(), 0, 9)
	if err != nil || len(rows) != 1 || rows[0].Principal != "p" {
		t.Errorf("what is left of who was erased: %+v, %v", rows, err)
	}
}
