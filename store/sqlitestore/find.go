package sqlitestore

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// Ready implements [inbox.Store].
func (s *Store) Ready(ctx context.Context, servers []string, after inbox.Ref, limit int) ([]inbox.Ref, error) {
	f := &filter{}
	f.add(`c.state = 'ready' AND (c.not_before IS NULL OR c.not_before <= ?)`, s.clock().UnixMicro())
	in(f, `+c.server`, servers) // with the sign SQLite does not collect them by server, to sort them all
	if after.ID() != "" {
		f.add(`(c.updated, c.id) > (?, ?)`, toMicros(after.Due), after.Call)
	}
	return s.refs(ctx, `SELECT p.key, c.id, '', '', c.updated FROM inbox_calls c JOIN inbox_principals p ON p.id = c.principal
		WHERE `+strings.Join(f.where, ` AND `)+` ORDER BY c.updated, c.id LIMIT ?`, append(f.args, limit)...)
}

// Due implements [inbox.Store].
func (s *Store) Due(ctx context.Context, after inbox.Ref, limit int) ([]inbox.Ref, error) {
	from := int64(-1 << 63)
	if after.ID() != "" {
		from = after.Due.UnixMicro()
	}
	// Each kind is cut to a page of its own before they are put in one order: SQLite
	// walks along an index then, and does not sort all that is due for every page.
	of := func(columns, table string) string {
		return `SELECT * FROM (SELECT p.key, ` + columns + `, r.due, r.id FROM ` + table + ` r JOIN inbox_principals p ON p.id = r.principal
			WHERE r.due <= ?1 AND (r.due, r.id) > (?2, ?3) ORDER BY r.due, r.id LIMIT ?4)`
	}
	return s.refs(ctx, `SELECT key, call, question, approval, due FROM (
			`+of(`r.id AS call, '' AS question, '' AS approval`, `inbox_calls`)+`
			UNION ALL
			`+of(`r.call, r.id, ''`, `inbox_questions`)+`
			UNION ALL
			`+of(`r.call, '', r.id`, `inbox_approvals`)+`
		) ORDER BY due, id LIMIT ?4`, s.clock().UnixMicro(), from, after.ID(), limit)
}

// NextDue implements [inbox.Store].
func (s *Store) NextDue(ctx context.Context) (wait time.Duration, err error) {
	err = s.read(ctx, func(t *tx) error {
		var next time.Time
		err := t.row(`SELECT min(at) FROM (
			SELECT min(due) AS at FROM inbox_calls WHERE due > ?1
			UNION ALL SELECT min(not_before) FROM inbox_calls WHERE state = 'ready' AND not_before > ?1
			UNION ALL SELECT min(due) FROM inbox_questions WHERE due > ?1
			UNION ALL SELECT min(due) FROM inbox_approvals WHERE due > ?1)`,
			[]any{t.now.UnixMicro()}, column{&next})
		if wait = 0; err == nil && !next.IsZero() {
			wait = next.Sub(t.now)
		}
		return err
	})
	return wait, err
}

// Ended implements [inbox.Store].
func (s *Store) Ended(ctx context.Context, age time.Duration, after inbox.Ref, limit int) ([]inbox.Ref, error) {
	from := int64(-1 << 63)
	if after.ID() != "" {
		from = after.Due.UnixMicro()
	}
	return s.refs(ctx, `SELECT p.key, c.id, '', '', c.ended FROM inbox_calls c JOIN inbox_principals p ON p.id = c.principal
		WHERE c.ended <= ?1 AND c.ended >= ?2 AND (c.ended, c.id) > (?2, ?3) ORDER BY c.ended, c.id LIMIT ?4`,
		s.clock().Add(-age).UnixMicro(), from, after.ID(), limit)
}

// Owned implements [inbox.Store].
func (s *Store) Owned(ctx context.Context, prefix string, after inbox.CallID, limit int) ([]inbox.Ref, error) {
	// substr and not LIKE: the prefix may contain % and _.
	return s.refs(ctx, `SELECT p.key, c.id, '', '', NULL FROM inbox_calls c JOIN inbox_principals p ON p.id = c.principal
		WHERE c.owner <> '' AND substr(c.owner, 1, length(?1)) = ?1 AND c.id > ?2 ORDER BY c.id LIMIT ?3`, prefix, after, limit)
}

// Find implements [inbox.Store].
func (s *Store) Find(ctx context.Context, server string, state inbox.CallState, after inbox.CallID, limit int) ([]inbox.Ref, error) {
	return s.refs(ctx, `SELECT p.key, c.id, '', '', NULL FROM inbox_calls c JOIN inbox_principals p ON p.id = c.principal
		WHERE c.server = ? AND c.state = ? AND c.id > ? ORDER BY c.id LIMIT ?`, server, state, after, limit)
}

// Servers implements [inbox.Store].
func (s *Store) Servers(ctx context.Context, states []inbox.CallState) (servers []string, err error) {
	if len(states) == 0 {
		return nil, s.check(ctx)
	}
	f := &filter{}
	in(f, `state`, states)
	err = s.read(ctx, func(t *tx) error {
		servers = nil
		return t.rows(`SELECT DISTINCT server FROM inbox_calls`+f.conditions()+` ORDER BY server`, f.args, func(rows *sql.Rows) error {
			var server string
			err := rows.Scan(&server)
			servers = append(servers, server)
			return err
		})
	})
	return servers, err
}

// CountCalls implements [inbox.Store].
func (s *Store) CountCalls(ctx context.Context, server string, state inbox.CallState, most int) (int, error) {
	return s.count(ctx, `SELECT count(*) FROM (SELECT 1 FROM inbox_calls WHERE server = ? AND state = ? LIMIT ?)`, server, state, most)
}

// CountQuestions implements [inbox.Store].
func (s *Store) CountQuestions(ctx context.Context, most int) (int, error) {
	return s.count(ctx, `SELECT count(*) FROM (SELECT 1 FROM inbox_questions WHERE state IN ('open', 'opened') LIMIT ?)`, most)
}

func (s *Store) count(ctx context.Context, query string, args ...any) (n int, err error) {
	err = s.read(ctx, func(t *tx) error { return t.row(query, args, &n) })
	return n, err
}

func (s *Store) refs(ctx context.Context, query string, args ...any) (refs []inbox.Ref, err error) {
	err = s.read(ctx, func(t *tx) error {
		refs = nil
		return t.rows(query, args, func(rows *sql.Rows) error {
			var ref inbox.Ref
			err := rows.Scan(&ref.Principal, &ref.Call, &ref.Question, &ref.Approval, column{&ref.Due})
			refs = append(refs, ref)
			return err
		})
	})
	return refs, err
}
