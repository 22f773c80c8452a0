package pgstore_test

import (
	"errors"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/store/pgstore"
)

// TestUpgrade brings the tables of the first version, with what is in them, up
// to date, and plays a program of that version beside it.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	dsn := servicetest.Postgres(t)
	if err := put(t, mustOpen(t, dsn, nil), "p", "c_1"); err != nil {
		t.Fatal(err)
	}
	conn := servicetest.Conn(t, dsn)
	execute(t, conn, `DROP TABLE inbox_approvals, inbox_audit`)
	execute(t, conn, `ALTER TABLE inbox_principals DROP COLUMN disabled`)
	execute(t, conn, `DELETE FROM inbox_schema WHERE version > 1`)

	from, to, err := pgstore.Migrate(t.Context(), dsn, nil)
	if from != 1 || to < 3 || err != nil {
		t.Fatalf("Migrate = %d, %d, %v", from, to, err)
	}
	store := mustOpen(t, dsn, nil)
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
	err = store.View(t.Context(), "p", func(tx inbox.Tx) error {
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
