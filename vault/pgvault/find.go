package pgvault

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/parley-mcp/parley/vault"
)

// Rows implements [vault.Store]. If there is no row it takes a second statement
// to learn the time.
func (s *Store) Rows(ctx context.Context, principal string, q vault.Query) (list []*vault.Row, now time.Time, err error) {
	query, args := s.sql.rows(principal, q)
	err = s.read(ctx, query, args, func(rows pgx.Rows) error {
		list, now, err = scanRows(rows)
		return err
	})
	if err == nil && len(list) == 0 {
		err = s.read(ctx, clock, nil, func(rows pgx.Rows) error {
			var at pgtype.Timestamptz
			for rows.Next() {
				if err := rows.Scan(&at); err != nil {
					return err
				}
			}
			now = utc(at)
			return nil
		})
	}
	return list, now, err
}

// scanRows reads rows and the time of the first.
func scanRows(rows pgx.Rows) (list []*vault.Row, now time.Time, err error) {
	for rows.Next() {
		row := &vault.Row{}
		var at, due, created, updated pgtype.Timestamptz
		var kind string
		var key int64
		if err := rows.Scan(&at, &kind, &row.ID, &row.Provider, &row.Name, &row.Status, &row.Version, &key,
			&due, &created, &updated, &row.Detail, &row.Content); err != nil {
			return nil, time.Time{}, err
		}
		row.Kind, row.Key = vault.Kind(kind), uint32(key)
		row.Due, row.Created, row.Updated = utc(due), utc(created), utc(updated)
		if list = append(list, row); len(list) == 1 {
			now = utc(at)
		}
	}
	return list, now, nil
}

// utc is the stored time; the zero time if there is none.
func utc(t pgtype.Timestamptz) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return t.Time.UTC()
}

// stamp is a time as it is stored; nil is none.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Truncate(time.Microsecond)
}

// read runs a query outside of transactions. It is read again if the connection
// was lost before an answer came.
func (s *Store) read(ctx context.Context, query string, args []any, scan func(pgx.Rows) error) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	return s.retry(ctx, func() (again bool, err error) {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return false, err
		}
		defer conn.Release()
		rows, err := conn.Query(ctx, query, args...)
		if err == nil {
			err = scan(rows)
			rows.Close()
			if err == nil {
				err = rows.Err()
			}
		}
		return err != nil && conn.Conn().IsClosed() && ctx.Err() == nil, err
	})
}

// Due implements [vault.Store].
func (s *Store) Due(ctx context.Context, kind vault.Kind, after vault.Ref, limit int) ([]vault.Ref, error) {
	from := pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
	if after != (vault.Ref{}) {
		from = pgtype.Timestamptz{Time: after.Due, Valid: true}
	}
	return s.refs(ctx, s.sql.due, string(kind), from, after.Principal, after.ID, max(limit, 0))
}

// Stale implements [vault.Store].
func (s *Store) Stale(ctx context.Context, key uint32, after vault.Ref, limit int) ([]vault.Ref, error) {
	return s.refs(ctx, s.sql.stale, int64(key), after.Principal, string(after.Kind), after.ID, max(limit, 0))
}

func (s *Store) refs(ctx context.Context, query string, args ...any) (refs []vault.Ref, err error) {
	err = s.read(ctx, query, args, func(rows pgx.Rows) error {
		refs = nil
		for rows.Next() {
			var ref vault.Ref
			var due pgtype.Timestamptz
			if err := rows.Scan(&ref.Principal, &ref.Kind, &ref.ID, &due); err != nil {
				return err
			}
			ref.Due = utc(due)
			refs = append(refs, ref)
		}
		return nil
	})
	return refs, err
}

// Counts implements [vault.Store].
func (s *Store) Counts(ctx context.Context, after vault.Count, limit int) (counts []vault.Count, err error) {
	key := int64(after.Key)
	if after == (vault.Count{}) {
		key = -1
	}
	args := []any{string(after.Kind), after.Provider, after.Status, key, max(limit, 0)}
	err = s.read(ctx, s.sql.counts, args, func(rows pgx.Rows) error {
		counts = nil
		for rows.Next() {
			var c vault.Count
			if err := rows.Scan(&c.Kind, &c.Provider, &c.Status, &c.Key, &c.N); err != nil {
				return err
			}
			counts = append(counts, c)
		}
		return nil
	})
	return counts, err
}
