package pgstore_test

import (
	"errors"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/store/pgstore"
)

// TestFull: a database without room is an error that says so, whenever it
// shows, and nothing is half stored. The server itself reports it, with the code
// of a full disk.
func TestFull(t *testing.T) {
	t.Parallel()
	for name, trigger := range map[string]string{
		"with the row": `CREATE TRIGGER room BEFORE INSERT ON inbox_questions FOR EACH ROW EXECUTE FUNCTION no_room()`,
		"with the commit": `CREATE CONSTRAINT TRIGGER room AFTER INSERT ON inbox_questions DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION no_room()`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := servicetest.Postgres(t)
			store := mustOpen(t, dsn, nil)
			conn := servicetest.Conn(t, dsn)
			execute(t, conn, `CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$`)
			execute(t, conn, trigger)
			write := func(read bool) error {
				return store.Update(t.Context(), "p", func(tx inbox.Tx) error {
					err := errors.Join(
						tx.PutCall(&inbox.CallRow{ID: "c", Created: tx.Now(), Updated: tx.Now()}),
						tx.PutQuestion(&inbox.QuestionRow{ID: "q", Call: "c", Created: tx.Now()}))
					if read && err == nil { // sends what was put
						_, err = tx.Calls(inbox.CallQuery{})
					}
					return err
				})
			}
			for _, read := range []bool{false, true} {
				if err := write(read); !errors.Is(err, inbox.ErrStoreFull) || !isCode(err, "53100") {
					t.Errorf("Update (with a read: %t): %v", read, err)
				}
			}
			err := store.View(t.Context(), "p", func(tx inbox.Tx) error {
				if _, err := tx.Call("c"); !errors.Is(err, inbox.ErrNotFound) {
					t.Errorf("a part of it is stored: %v", err)
				}
				return nil
			})
			if err != nil {
				t.Errorf("View: %v", err)
			}
			execute(t, conn, `DROP TRIGGER room ON inbox_questions`)
			if err := write(true); err != nil {
				t.Errorf("Update once there is room: %v", err)
			}
		})
	}
}

// TestNotFull: what passes by itself is no reason to make room.
func TestNotFull(t *testing.T) {
	t.Parallel()
	dsn := servicetest.Postgres(t)
	store := mustOpen(t, dsn, &pgstore.Options{Connections: 2})
	conn := servicetest.Conn(t, dsn)
	execute(t, conn, `CREATE FUNCTION no_memory() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE EXCEPTION 'out of memory' USING ERRCODE = 'out_of_memory'; END $$`)
	execute(t, conn, `CREATE TRIGGER memory BEFORE INSERT ON inbox_calls FOR EACH ROW EXECUTE FUNCTION no_memory()`)
	if err := put(t, store, "p", "c_1"); !isCode(err, "53200") || errors.Is(err, inbox.ErrStoreFull) {
		t.Errorf("Update: %v", err)
	}
}
