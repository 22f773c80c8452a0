package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/store/pgstore"
)

func put(t *testing.T, store *pgstore.Store, principal, id string) error {
	t.Helper()
	return store.Update(t.Context(), principal, func(tx inbox.Tx) error {
		seq, err := tx.Append(inbox.CallEvent, id)
		if err != nil {
			return err
		}
		return tx.PutCall(&inbox.CallRow{ID: inbox.CallID(id), Seq: seq, State: inbox.Ready, Created: tx.Now(), Updated: tx.Now()})
	})
}

func execute(t *testing.T, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	dsn := servicetest.Postgres(t)
	from, to, err := pgstore.Migrate(t.Context(), dsn, nil)
	if from != 0 || to < 1 || err != nil {
		t.Fatalf("Migrate = %d, %d, %v", from, to, err)
	}
	if again, same, err := pgstore.Migrate(t.Context(), dsn, nil); again != to || same != to || err != nil {
		t.Errorf("Migrate again = %d, %d, %v; want %d", again, same, err, to)
	}
	if err := put(t, mustOpen(t, dsn, nil), "p", "c_1"); err != nil {
		t.Error(err)
	}
}

// TestOpenAtOnce starts many machines on an empty database at the same time.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	dsn := servicetest.Postgres(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			store, err := pgstore.Open(t.Context(), dsn, &pgstore.Options{Connections: 2})
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			defer store.Close()
			if err := put(t, store, "p", fmt.Sprint("c_", i)); err != nil {
				t.Errorf("Update: %v", err)
			}
		})
	}
	wg.Wait()
	err := mustOpen(t, dsn, nil).View(t.Context(), "p", func(tx inbox.Tx) error {
		if first, last, err := tx.EventBounds(); first != 1 || last != 8 || err != nil {
			t.Errorf("EventBounds = %d, %d, %v; want 1, 8", first, last, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestNewerTables plays the next version, which expands the tables while this
// one runs, and the one after it, which contracts them.
func TestNewerTables(t *testing.T) {
	t.Parallel()
	dsn := servicetest.Postgres(t)
	running := mustOpen(t, dsn, nil)
	if err := put(t, running, "p", "c_1"); err != nil {
		t.Fatal(err)
	}
	conn := servicetest.Conn(t, dsn)
	execute(t, conn, `ALTER TABLE inbox_calls ADD COLUMN mood text NOT NULL DEFAULT 'calm'`)
	execute(t, conn, `UPDATE inbox_calls SET mood = 'merry'`)
	execute(t, conn, `INSERT INTO inbox_schema (version, oldest) VALUES (90, 1)`)

	for name, store := range map[string]*pgstore.Store{"one that runs": running, "one that starts": mustOpen(t, dsn, nil)} {
		if err := put(t, store, "p", "c_1"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var mood string
	if err := conn.QueryRow(t.Context(), `SELECT mood FROM inbox_calls`).Scan(&mood); err != nil || mood != "merry" {
		t.Errorf("what a newer version wrote is %q, %v", mood, err)
	}
	if from, to, err := pgstore.Migrate(t.Context(), dsn, nil); from != 90 || to != 90 || err != nil {
		t.Errorf("Migrate = %d, %d, %v; want nothing to be done", from, to, err)
	}

	execute(t, conn, `INSERT INTO inbox_schema (version, oldest) VALUES (91, 90)`)
	store, err := pgstore.Open(t.Context(), dsn, nil)
	if err == nil {
		store.Close()
		t.Fatal("tables that this program cannot use were opened")
	}
	if !strings.Contains(err.Error(), "91") || !strings.Contains(err.Error(), "newer program") {
		t.Errorf("the error does not say what to do: %v", err)
	}
	if _, _, err := pgstore.Migrate(t.Context(), dsn, nil); err == nil {
		t.Error("Migrate of tables that this program cannot use reports success")
	}
}

// TestRights opens tables as a user who may use and not change them.
func TestRights(t *testing.T) {
	t.Parallel()
	dsn := servicetest.Postgres(t)
	conn := servicetest.Conn(t, dsn)
	role := servicetest.Name()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	schema := config.RuntimeParams["search_path"]
	execute(t, conn, `CREATE ROLE `+role+` LOGIN`)
	t.Cleanup(func() {
		conn := servicetest.Conn(t, dsn)
		for _, s := range []string{`DROP OWNED BY ` + role, `DROP ROLE ` + role} {
			if _, err := conn.Exec(context.Background(), s); err != nil {
				t.Errorf("%s: %v", s, err)
			}
		}
	})
	user := strings.Replace(dsn, "//postgres@", "//"+role+"@", 1)
	if _, err := pgstore.Open(t.Context(), user, nil); !isDenied(err) {
		t.Fatalf("making tables without the right to: %v", err)
	}
	if _, _, err := pgstore.Migrate(t.Context(), dsn, nil); err != nil {
		t.Fatal(err)
	}
	execute(t, conn, `GRANT USAGE ON SCHEMA `+schema+` TO `+role)
	execute(t, conn, `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA `+schema+` TO `+role)
	if err := put(t, mustOpen(t, user, nil), "p", "c_1"); err != nil {
		t.Errorf("Update: %v", err)
	}
}

func isDenied(err error) bool { return isCode(err, "42501") }

func isCode(err error, code string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == code
}

// TestSchema: the option, the connection string, and names that want quotes.
func TestSchema(t *testing.T) {
	t.Parallel()
	dsn := servicetest.Postgres(t)
	own := mustOpen(t, dsn, nil)
	if err := put(t, own, "p", "c_1"); err != nil {
		t.Fatal(err)
	}
	odd := `Odd "name"; ` + servicetest.Name()
	other := mustOpen(t, dsn, &pgstore.Options{Schema: odd})
	t.Cleanup(func() { dropSchema(t, dsn, odd) })
	if other.Schema() != odd {
		t.Errorf("Schema = %q", other.Schema())
	}
	if err := put(t, other, "p", "c_1"); err != nil { // the same id, and another row
		t.Errorf("Update: %v", err)
	}
	for _, path := range []string{"a,b", `"a"`, "$user", "a b", "a;b"} {
		if store, err := pgstore.Open(t.Context(), "postgres://postgres@127.0.0.1/postgres?search_path="+strings.NewReplacer(" ", "%20", ";", "%3B", `"`, "%22").Replace(path), nil); err == nil {
			store.Close()
			t.Errorf("search_path %q was taken", path)
		}
	}
}
