package sqlitestore_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/parley-mcp/parley/inbox"
)

// TestUpgrade brings a file of the first version, with what is in it, up to
// date, and plays a program of that version beside it.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inbox.db")
	store := mustOpen(t, path)
	if err := put(t.Context(), store, "c_1"); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, path, `DROP TABLE inbox_approvals; DROP TABLE inbox_audit;
		ALTER TABLE inbox_principals DROP COLUMN disabled;
		DELETE FROM inbox_schema WHERE version > 1`)

	store = mustOpen(t, path)
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
