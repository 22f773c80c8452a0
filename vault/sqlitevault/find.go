package sqlitevault

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/parley-mcp/parley/vault"
)

const columns = `kind, id, provider, name, status, version, key, due, created, updated, detail, content`

// conditions are those of the fields that a query may set.
var conditions = [...]string{` AND id = ?`, ` AND provider = ?`, ` AND name = ?`, ` AND id > ?`}

// rowsQueries has a query for each set of conditions, so that each has the index
// that fits it and none is put together at each read.
var rowsQueries = func() (all [1 << len(conditions)]string) {
	for set := range all {
		var query strings.Builder
		query.WriteString(`SELECT ` + columns + ` FROM vault_rows WHERE principal = ? AND kind = ?`)
		for i, condition := range conditions {
			if set&(1<<i) != 0 {
				query.WriteString(condition)
			}
		}
		all[set] = query.String() + ` ORDER BY id LIMIT ?`
	}
	return all
}()

func rowsQuery(principal string, q vault.Query) (query string, args []any) {
	args = append(make([]any, 0, 7), principal, string(q.Kind))
	set := 0
	for i, value := range [len(conditions)]string{q.ID, q.Provider, q.Name, q.After} {
		if value != "" {
			set |= 1 << i
			args = append(args, value)
		}
	}
	return rowsQueries[set], append(args, max(q.Limit, 0))
}

// Rows implements [vault.Store].
func (s *Store) Rows(ctx context.Context, principal string, q vault.Query) ([]*vault.Row, time.Time, error) {
	if err := s.check(ctx); err != nil {
		return nil, time.Time{}, err
	}
	query, args := rowsQuery(principal, q)
	rows, err := queryRows(ctx, s.reads, query, args, q.Limit)
	if err != nil {
		return nil, time.Time{}, s.explain(ctx, err)
	}
	return rows, s.clock(), nil
}

func queryRows(ctx context.Context, statements *statements, query string, args []any, limit int) (list []*vault.Row, err error) {
	err = scan(ctx, statements, query, args, limit, func(rows *sql.Rows) error {
		// Plain types: for others database/sql goes the slow way of reflection.
		row := &vault.Row{}
		var kind string
		var key int64
		var due, created, updated sql.NullInt64
		if err := rows.Scan(&kind, &row.ID, &row.Provider, &row.Name, &row.Status, &row.Version, &key,
			&due, &created, &updated, &row.Detail, &row.Content); err != nil {
			return err
		}
		row.Kind, row.Key = vault.Kind(kind), uint32(key)
		row.Due, row.Created, row.Updated = toTime(due), toTime(created), toTime(updated)
		list = append(list, row)
		return nil
	})
	return list, err
}

// scan runs one on every row of the answer, which has at most limit: after the
// last of them SQLite is not asked whether there is another.
func scan(ctx context.Context, statements *statements, query string, args []any, limit int, one func(*sql.Rows) error) error {
	stmt, err := statements.get(ctx, query) //nolint:sqlclosecheck // kept
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for n := 0; n < limit && rows.Next(); n++ {
		if err := one(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// The queries of sweeps are the only ones that cross principals.
const (
	dueQuery = `SELECT principal, kind, id, due FROM vault_rows
		WHERE kind = ?1 AND due <= ?2 AND due >= ?3 AND (due, principal, id) > (?3, ?4, ?5)
		ORDER BY due, principal, id LIMIT ?6`
	staleQuery = `SELECT principal, kind, id, due FROM vault_rows
		WHERE key <> 0 AND key <> ? AND (principal, kind, id) > (?, ?, ?) ORDER BY principal, kind, id LIMIT ?`
	countsQuery = `SELECT kind, provider, status, key, count(*) FROM vault_rows
		WHERE (kind, provider, status, key) > (?, ?, ?, ?) GROUP BY kind, provider, status, key
		ORDER BY kind, provider, status, key LIMIT ?`
)

// Due implements [vault.Store].
func (s *Store) Due(ctx context.Context, kind vault.Kind, after vault.Ref, limit int) ([]vault.Ref, error) {
	from := int64(math.MinInt64)
	if after != (vault.Ref{}) {
		from = after.Due.UnixMicro()
	}
	return s.refs(ctx, limit, dueQuery, string(kind), s.clock().UnixMicro(), from, after.Principal, after.ID, max(limit, 0))
}

// Stale implements [vault.Store].
func (s *Store) Stale(ctx context.Context, key uint32, after vault.Ref, limit int) ([]vault.Ref, error) {
	return s.refs(ctx, limit, staleQuery, int64(key), after.Principal, string(after.Kind), after.ID, max(limit, 0))
}

func (s *Store) refs(ctx context.Context, limit int, query string, args ...any) (refs []vault.Ref, err error) {
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	err = scan(ctx, s.reads, query, args, limit, func(rows *sql.Rows) error {
		var ref vault.Ref
		var due sql.NullInt64
		err := rows.Scan(&ref.Principal, &ref.Kind, &ref.ID, &due)
		ref.Due = toTime(due)
		refs = append(refs, ref)
		return err
	})
	return refs, s.explain(ctx, err)
}

// Counts implements [vault.Store].
func (s *Store) Counts(ctx context.Context, after vault.Count, limit int) (counts []vault.Count, err error) {
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	key := int64(after.Key)
	if after == (vault.Count{}) {
		key = -1
	}
	args := []any{string(after.Kind), after.Provider, after.Status, key, max(limit, 0)}
	err = scan(ctx, s.reads, countsQuery, args, limit, func(rows *sql.Rows) error {
		var c vault.Count
		err := rows.Scan(&c.Kind, &c.Provider, &c.Status, &c.Key, &c.N)
		counts = append(counts, c)
		return err
	})
	return counts, s.explain(ctx, err)
}

// statements keeps what was prepared: compiling a statement costs more than
// running it.
type statements struct {
	prepare func(ctx context.Context, query string) (*sql.Stmt, error)
	mu      sync.RWMutex
	known   map[string]*sql.Stmt
}

func newStatements(prepare func(context.Context, string) (*sql.Stmt, error)) *statements {
	return &statements{prepare: prepare, known: map[string]*sql.Stmt{}}
}

func (s *statements) get(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.RLock()
	stmt := s.known[query]
	s.mu.RUnlock()
	if stmt != nil {
		return stmt, nil
	}
	// Not under the lock: preparing waits for a connection, and who has it may
	// wait for the lock.
	stmt, err := s.prepare(context.WithoutCancel(ctx), query)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.known[query]; first != nil { // of two at once
		return first, stmt.Close() //nolint:sqlclosecheck // the other one stays
	}
	s.known[query] = stmt
	return stmt, nil
}

func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, stmt := range s.known {
		errs = append(errs, stmt.Close())
	}
	clear(s.known)
	return errors.Join(errs...)
}
