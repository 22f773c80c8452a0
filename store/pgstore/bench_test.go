package pgstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/internal/storebench"
	"github.com/parley-mcp/parley/store/pgstore"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	storebench.Must(tb, err)
}

func BenchmarkCycle(b *testing.B) {
	store, err := pgstore.Open(b.Context(), servicetest.Postgres(b), nil)
	must(b, err)
	defer store.Close()
	storebench.Cycle(b, store, floor(b))
}

// floor returns what writes rows of one person on the same driver into the same
// tables: two round trips a transaction, as the row of the person is locked
// before the rest is sent.
func floor(b *testing.B) func(*storebench.Transaction) {
	dsn := servicetest.Postgres(b)
	empty, err := pgstore.Open(b.Context(), dsn, nil) // makes the tables
	must(b, err)
	must(b, empty.Close())
	ctx := context.Background()
	conn := servicetest.Conn(b, dsn)
	_, err = conn.Exec(ctx, `INSERT INTO inbox_principals (key) VALUES ('ann')`)
	must(b, err)
	last := int64(0)
	moment := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return func(t *storebench.Transaction) {
		batch := &pgx.Batch{}
		batch.Queue(`BEGIN`)
		batch.Queue(`SELECT id FROM inbox_principals WHERE key = 'ann' FOR UPDATE`)
		must(b, conn.SendBatch(ctx, batch).Close())
		batch = &pgx.Batch{}
		for _, e := range t.Events {
			last++
			batch.Queue(`INSERT INTO inbox_events VALUES (1, $1, $2, $3)`, last, string(e.Kind), e.ID)
		}
		for _, row := range t.Audit {
			batch.Queue(`INSERT INTO inbox_audit (principal, at, kind, call, detail) VALUES (1, $1, $2, $3, $4)`,
				row.At, string(row.Kind), string(row.Call), row.Detail)
		}
		for _, row := range t.Calls {
			batch.Queue(`INSERT INTO inbox_calls VALUES ($1, 1, $2, '', 's', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
				ON CONFLICT (id) DO UPDATE SET state = excluded.state, version = excluded.version, owner = excluded.owner, due = excluded.due,
					updated = excluded.updated, detail = excluded.detail, content = excluded.content`,
				string(row.ID), row.Seq, string(row.State), row.Version, row.Owner, moment(row.Due), moment(row.NotBefore),
				row.Created, row.Updated, moment(row.Ended), row.Detail, row.Content)
		}
		for _, row := range t.Questions {
			batch.Queue(`INSERT INTO inbox_questions VALUES ($1, 1, $2, $3, '', 's', $4, $5, $6, $7, $8, $9, $10)
				ON CONFLICT (id) DO UPDATE SET state = excluded.state, version = excluded.version, due = excluded.due,
					closed = excluded.closed, detail = excluded.detail, content = excluded.content`,
				string(row.ID), string(row.Call), row.Seq, string(row.State), row.Version, moment(row.Due),
				row.Created, moment(row.Closed), row.Detail, row.Content)
		}
		batch.Queue(`UPDATE inbox_principals SET last_event = $1 WHERE id = 1`, last)
		batch.Queue(`COMMIT`)
		must(b, conn.SendBatch(ctx, batch).Close())
	}
}

func BenchmarkAnswerToResume(b *testing.B) {
	storebench.AnswerToResume(b, func(open int) inbox.Store { return filled(b, open) })
}

// filled returns a store with so many waiting calls, with an open question each,
// of a hundred people. Their ids lie as far apart as random ones. Nobody opens
// their seals.
func filled(b testing.TB, open int) *pgstore.Store {
	dsn := servicetest.Postgres(b)
	store, err := pgstore.Open(b.Context(), dsn, nil)
	must(b, err)
	conn := servicetest.Conn(b, dsn)
	run := func(query string, args ...any) {
		_, err := conn.Exec(b.Context(), query, args...)
		must(b, err)
	}
	run(`INSERT INTO inbox_principals (key, last_event) SELECT 'i||p' || i, $1::bigint FROM generate_series(1, 100) i`, 2*open/100)
	const each = ` FROM generate_series(1, $1::int) i JOIN inbox_principals p ON p.key = 'i||p' || (1 + i % 100)`
	run(`INSERT INTO inbox_calls SELECT 'c_' || md5(i::text), p.id, 2 * (i / 100) + 1, '', 's', 'waiting', 1, '', NULL, NULL,
		now(), now(), NULL, '{}', decode(repeat('5a', 300), 'hex')`+each, open)
	run(`INSERT INTO inbox_questions SELECT 'q_' || md5(i::text), p.id, 'c_' || md5(i::text), 2 * (i / 100) + 2, '', 's', 'open', 1,
		now() + (1 + i % 100) * interval '1 hour', now(), NULL, '{}', decode(repeat('5a', 500), 'hex')`+each, open)
	run(`VACUUM ANALYZE inbox_calls, inbox_questions, inbox_principals`) // as the database does by itself some time later
	run(`CHECKPOINT`)
	b.Cleanup(func() { must(b, store.Close()) })
	return store
}

func TestParkedTakesNoGoroutine(t *testing.T) { // beside no other test
	storebench.ParkedTakesNoGoroutine(t, mustOpen(t, servicetest.Postgres(t), nil))
}
