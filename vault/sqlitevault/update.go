package sqlitevault

import (
	"context"
	"database/sql"
	"time"

	"github.com/parley-mcp/parley/vault"
)

// Update implements [vault.Store]. It takes SQLite's lock for writing first, so
// all write transactions run one after another.
func (s *Store) Update(ctx context.Context, principal string, f func(vault.Tx) error) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return ErrStoreClosed
	}
	if err := s.check(ctx); err != nil { // both may have been ready
		return err
	}
	return s.explain(ctx, s.transact(ctx, principal, f))
}

// transact runs its statements without the caller's context: one that is
// interrupted would end the transaction behind SQLite's back, and the outcome of
// an interrupted commit is not known. The context is asked in between.
func (s *Store) transact(ctx context.Context, principal string, f func(vault.Tx) error) error {
	own := context.WithoutCancel(ctx)
	if _, err := s.conn.ExecContext(own, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	open := true
	defer func() {
		if open { // also when f panics
			_, _ = s.conn.ExecContext(own, `ROLLBACK`) // fails if SQLite has done it already
		}
	}()
	if err := f(&tx{store: s, caller: ctx, ctx: own, principal: principal, now: s.clock()}); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := s.conn.ExecContext(own, `COMMIT`); err != nil {
		return err
	}
	open = false
	return nil
}

// tx implements [vault.Tx].
type tx struct {
	store     *Store
	caller    context.Context // asked between statements
	ctx       context.Context // of the statements
	principal string
	now       time.Time
}

func (t *tx) Now() time.Time { return t.now }

func (t *tx) Rows(q vault.Query) ([]*vault.Row, error) {
	if err := t.caller.Err(); err != nil {
		return nil, err
	}
	query, args := rowsQuery(t.principal, q)
	return queryRows(t.ctx, t.store.writes, query, args, q.Limit)
}

const putQuery = `INSERT INTO vault_rows (principal, ` + columns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (principal, kind, id) DO UPDATE SET
		provider = excluded.provider, name = excluded.name, status = excluded.status, version = excluded.version,
		key = excluded.key, due = excluded.due, created = excluded.created, updated = excluded.updated,
		detail = excluded.detail, content = excluded.content
	WHERE principal = excluded.principal`

func (t *tx) Put(row *vault.Row) error {
	return t.exec(putQuery, t.principal, string(row.Kind), row.ID, row.Provider, row.Name, row.Status, row.Version, int64(row.Key),
		toMicros(row.Due), toMicros(row.Created), toMicros(row.Updated), blob(row.Detail), blob(row.Content))
}

const deleteQuery = `DELETE FROM vault_rows WHERE principal = ? AND kind = ? AND id = ?`

func (t *tx) Delete(kind vault.Kind, id string) error {
	return t.exec(deleteQuery, t.principal, string(kind), id)
}

func (t *tx) exec(query string, args ...any) error {
	if err := t.caller.Err(); err != nil {
		return err
	}
	stmt, err := t.store.writes.get(t.ctx, query) //nolint:sqlclosecheck // kept
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(t.ctx, args...)
	return err
}

// blob is never NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// toMicros is a time as it is stored; nil is none.
func toMicros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func toTime(micros sql.NullInt64) time.Time {
	if !micros.Valid {
		return time.Time{}
	}
	return time.UnixMicro(micros.Int64).UTC()
}
