package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/storebench"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	storebench.Must(tb, err)
}

func BenchmarkCycle(b *testing.B) {
	store, err := sqlitestore.Open(filepath.Join(b.TempDir(), "inbox.db"), nil)
	must(b, err)
	defer store.Close()
	storebench.Cycle(b, store, floor(b))
}

// floor returns what writes rows of one person on the same driver, with the
// same settings, into the same tables.
func floor(b *testing.B) func(*storebench.Transaction) {
	path := filepath.Join(b.TempDir(), "floor.db")
	empty, err := sqlitestore.Open(path, nil) // makes the tables
	must(b, err)
	must(b, empty.Close())
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)&_pragma=synchronous(full)&_pragma=foreign_keys(1)")
	must(b, err)
	b.Cleanup(func() { db.Close() })
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	must(b, err)
	b.Cleanup(func() { conn.Close() })
	statement := func(query string) func(...any) {
		stmt, err := conn.PrepareContext(ctx, query)
		must(b, err)
		return func(args ...any) {
			_, err := stmt.ExecContext(ctx, args...)
			must(b, err)
		}
	}
	statement(`INSERT INTO inbox_principals (id, key) VALUES (1, 'ann')`)()
	begin, commit := statement(`BEGIN IMMEDIATE`), statement(`COMMIT`)
	call := statement(`INSERT INTO inbox_calls VALUES (?, 1, ?, '', 's', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET state = excluded.state, version = excluded.version, owner = excluded.owner, due = excluded.due,
			updated = excluded.updated, detail = excluded.detail, content = excluded.content`)
	question := statement(`INSERT INTO inbox_questions VALUES (?, 1, ?, ?, '', 's', ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET state = excluded.state, version = excluded.version, due = excluded.due,
			closed = excluded.closed, detail = excluded.detail, content = excluded.content`)
	event := statement(`INSERT INTO inbox_events VALUES (1, ?, ?, ?)`)
	audit := statement(`INSERT INTO inbox_audit (principal, at, kind, call, detail) VALUES (1, ?, ?, ?, ?)`)
	seq := statement(`UPDATE inbox_principals SET last_event = ? WHERE id = 1`)
	last := 0
	moment := func(t time.Time) any {
		if t.IsZero() {
			return nil
		}
		return t.UnixMicro()
	}
	return func(t *storebench.Transaction) {
		begin()
		for _, e := range t.Events {
			last++
			event(last, e.Kind, e.ID)
		}
		for _, row := range t.Audit {
			audit(row.At.UnixMicro(), row.Kind, row.Call, row.Detail)
		}
		for _, row := range t.Calls {
			call(row.ID, row.Seq, row.State, row.Version, row.Owner, moment(row.Due), moment(row.NotBefore),
				moment(row.Created), moment(row.Updated), moment(row.Ended), row.Detail, row.Content)
		}
		for _, row := range t.Questions {
			question(row.ID, row.Call, row.Seq, row.State, row.Version, moment(row.Due),
				moment(row.Created), moment(row.Closed), row.Detail, row.Content)
		}
		seq(last)
		commit()
	}
}

func BenchmarkAnswerToResume(b *testing.B) {
	storebench.AnswerToResume(b, func(open int) inbox.Store { return filled(b, open) })
}

// filled returns a store with so many waiting calls, with an open question each,
// of a hundred people. Their ids lie as far apart as random ones. Nobody opens
// their seals.
func filled(b testing.TB, open int) *sqlitestore.Store {
	path := filepath.Join(b.TempDir(), "inbox.db")
	store, err := sqlitestore.Open(path, nil) // makes the tables
	must(b, err)
	must(b, store.Close())
	db, err := sql.Open("sqlite", path+"?_pragma=synchronous(off)&_pragma=cache_size(-1500000)")
	must(b, err)
	run := func(query string, args ...any) {
		_, err := db.ExecContext(b.Context(), query, args...)
		must(b, err)
	}
	const to = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) `
	run(to+`INSERT INTO inbox_principals (id, key, last_event) SELECT i, 'i||p' || i, ?2 FROM n`, 100, 2*open/100)
	const id = `printf('_%08x', (i * 2654435761) & 4294967295)`
	now := time.Now()
	run(to+`INSERT INTO inbox_calls SELECT 'c' || `+id+`, 1 + i % 100, 2 * (i / 100) + 1, '', 's', 'waiting', 1, '', NULL, NULL,
		?2, ?2, NULL, x'7b7d', zeroblob(300) FROM n`, open, now.UnixMicro())
	run(to+`INSERT INTO inbox_questions SELECT 'q' || `+id+`, 1 + i % 100, 'c' || `+id+`, 2 * (i / 100) + 2, '', 's', 'open', 1,
		?2 + (1 + i % 100) * 3600000000, ?2, NULL, x'7b7d', zeroblob(500) FROM n`, open, now.UnixMicro())
	must(b, db.Close())
	file, err := os.OpenFile(path, os.O_RDWR, 0) // what was written meanwhile is not to be waited for later
	must(b, err)
	must(b, errors.Join(file.Sync(), file.Close()))
	store, err = sqlitestore.Open(path, nil)
	must(b, err)
	b.Cleanup(func() { must(b, store.Close()) })
	return store
}

func TestParkedTakesNoGoroutine(t *testing.T) { // beside no other test
	storebench.ParkedTakesNoGoroutine(t, mustOpen(t, filepath.Join(t.TempDir(), "inbox.db")))
}
