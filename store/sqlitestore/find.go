package sqlitestore

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// Ready implements [inbox.Store].
func (s *Store) Ready(ctx context.Context, servers []string, limit int) ([]inbox.Ref, error) {
	f := &filter{}
	f.add(`c.state = 'ready' AND (c.not_before IS NULL OR c.not_before <= ?)`, s.clock().UnixMicro())
	in(f, `c.server`, servers)
	return s.refs(ctx, `SELECT p.key, c.id, '', '', NULL FROM inbox_calls c JOIN inbox_principals p ON p.id = c.principal
		WHERE `+strings.Join(f.where, ` AND `)+` ORDER BY c.updated, c.id LIMIT ?`, append(f.args, limit)...)
}

// Due implements [inbox.Store].
func (s *Store) Due(ctx context.Context, after inbox.Ref, limit int) ([]inbox.Ref, error) {
	from := int64(-1 << 63)
	if after.ID() != "" {
		from = after.Due.UnixMicro()
	}
	return s.refs(ctx, `SELECT key, call, question, approval, due FROM (
			SELECT p.key, c.id AS call, '' AS question, '' AS approval, c.due, c.id FROM inbox_calls c JOIN inbox_principals p ON p.id = c.principal
			WHERE c.due <= ?1 AND (c.due, c.id) > (?2, ?3)
			UNION ALL
			SELECT p.key, q.call, q.id, '', q.due, q.id FROM inbox_questions q JOIN inbox_principals p ON p.id = q.principal
			WHERE q.due <= ?1 AND (q.due, q.id) > (?2, ?3)
			UNION ALL
			SELECT p.key, a.call, '', a.id, a.due, a.id FROM inbox_approvals a JOIN inbox_principals p ON p.id = a.principal
			WHERE a.due <= ?1 AND (a.due, a.id) > (?2, ?3)
		) ORDER BY due, id LIMIT ?4`, s.clock().UnixMicro(), from, after.ID(), limit)
}

// NextDue implements [inbox.Store].
func (s *Store) NextDue(ctx context.Context) (next time.Time, err error) {
	err = s.read(ctx, func(t *tx) error {
		return t.row(`SELECT min(at) FROM (
			SELECT min(due) AS at FROM inbox_calls WHERE due > ?1
			UNION ALL SELECT min(not_before) FROM inbox_calls WHERE state = 'ready' AND not_before > ?1
			UNION ALL SELECT min(due) FROM inbox_questions WHERE due > ?1
			UNION ALL SELECT min(due) FROM inbox_approvals WHERE due > ?1)`,
			[]any{t.now.UnixMicro()}, column{&next})
	})
	return next, err
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
