package pgstore

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-mcp/parley/inbox"
)

// filter puts a WHERE together from the conditions that are set.
type filter struct {
	where   []string
	args    []any
	nothing bool // nothing in the database can match
}

// add adds a condition with one argument, which it may name (as ?) several times.
func (f *filter) add(condition string, arg any) {
	f.args = append(f.args, arg)
	f.where = append(f.where, strings.ReplaceAll(condition, `?`, `$`+strconv.Itoa(len(f.args))))
}

func (f *filter) text(column, value string) {
	switch {
	case value == "":
	case !storable(value):
		f.nothing = true
	default:
		f.add(column+` = ?`, value)
	}
}

// long is text for a column of which the index has the beginning.
func (f *filter) long(column, value string) {
	switch {
	case value == "":
	case !storable(value):
		f.nothing = true
	default:
		f.add(`left(`+column+`, 64) = left(?, 64) AND `+column+` = ?`, value)
	}
}

func in[S ~string](f *filter, column string, values []S) {
	if len(values) == 0 {
		return
	}
	list := make([]string, 0, len(values))
	for _, v := range values {
		if storable(string(v)) {
			list = append(list, string(v))
		}
	}
	f.nothing = f.nothing || len(list) == 0
	f.add(column+` = ANY (?::text[])`, list)
}

func (f *filter) conditions() string { return ` WHERE ` + strings.Join(f.where, ` AND `) }

// newest finishes the query of a page.
func (f *filter) newest(before int64, limit int) string {
	if before != 0 {
		f.add(`seq < ?`, before)
	}
	query := f.conditions() + ` ORDER BY seq DESC`
	if limit > 0 {
		f.args = append(f.args, limit)
		query += ` LIMIT $` + strconv.Itoa(len(f.args))
	}
	return query
}

// clock is the time for a statement of its own: $1, where now() stands for NULL.
func (s *Store) clock() pgtype.Timestamptz {
	if s.now == nil {
		return pgtype.Timestamptz{}
	}
	return always(s.now())
}

const atNow = `coalesce($1::timestamptz, now())`

func (s *Store) callsAndPrincipals() string {
	return ` FROM ` + s.tables.calls + ` c JOIN ` + s.tables.principals + ` p ON p.id = c.principal `
}

// Ready implements [inbox.Store].
func (s *Store) Ready(ctx context.Context, servers []string, after inbox.Ref, limit int) ([]inbox.Ref, error) {
	if err := texts(after.ID()); err != nil {
		return nil, err
	}
	f := &filter{args: []any{s.clock()}}
	in(f, `c.server`, servers)
	if f.nothing {
		return nil, s.check(ctx)
	}
	f.where = append(f.where, `c.state = 'ready'`, `(c.not_before IS NULL OR c.not_before <= `+atNow+`)`)
	if after.ID() != "" {
		n := len(f.args)
		f.where = append(f.where, `(c.updated, c.id) > ($`+strconv.Itoa(n+1)+`, $`+strconv.Itoa(n+2)+`)`)
		f.args = append(f.args, always(after.Due), after.ID())
	}
	f.args = append(f.args, limit)
	return s.refs(ctx, `SELECT p.key, c.id, '', '', c.updated`+s.callsAndPrincipals()+`
		WHERE `+strings.Join(f.where, ` AND `)+` ORDER BY c.updated, c.id LIMIT $`+strconv.Itoa(len(f.args)), f.args...)
}

// Due implements [inbox.Store].
func (s *Store) Due(ctx context.Context, after inbox.Ref, limit int) ([]inbox.Ref, error) {
	from := pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
	if after.ID() != "" {
		from = always(after.Due)
	}
	if err := texts(after.ID()); err != nil {
		return nil, err
	}
	of := func(alias string) string {
		return ` JOIN ` + s.tables.principals + ` p ON p.id = ` + alias + `.principal
			WHERE ` + alias + `.due <= ` + atNow + ` AND (` + alias + `.due, ` + alias + `.id) > ($2, $3)
			ORDER BY ` + alias + `.due, ` + alias + `.id LIMIT $4`
	}
	return s.refs(ctx, `SELECT key, call, question, approval, due FROM (
			(SELECT p.key, c.id AS call, '' AS question, '' AS approval, c.due, c.id FROM `+s.tables.calls+` c`+of(`c`)+`)
			UNION ALL
			(SELECT p.key, q.call, q.id, '', q.due, q.id FROM `+s.tables.questions+` q`+of(`q`)+`)
			UNION ALL
			(SELECT p.key, a.call, '', a.id, a.due, a.id FROM `+s.tables.approvals+` a`+of(`a`)+`)
		) AS due_rows ORDER BY due, id LIMIT $4`, s.clock(), from, after.ID(), limit)
}

// NextDue implements [inbox.Store].
func (s *Store) NextDue(ctx context.Context) (wait time.Duration, err error) {
	err = s.read(ctx, func(conn *pgxpool.Conn) error {
		var now, next time.Time
		err := conn.QueryRow(ctx, `SELECT `+atNow+`, min(at) FROM (
			SELECT min(due) AS at FROM `+s.tables.calls+` WHERE due > `+atNow+`
			UNION ALL SELECT min(not_before) FROM `+s.tables.calls+` WHERE state = 'ready' AND not_before > `+atNow+`
			UNION ALL SELECT min(due) FROM `+s.tables.questions+` WHERE due > `+atNow+`
			UNION ALL SELECT min(due) FROM `+s.tables.approvals+` WHERE due > `+atNow+`) AS next`, s.clock()).Scan(column{&now}, column{&next})
		if wait = 0; err == nil && !next.IsZero() {
			wait = next.Sub(now)
		}
		return err
	})
	return wait, err
}

// Ended implements [inbox.Store].
func (s *Store) Ended(ctx context.Context, age time.Duration, after inbox.Ref, limit int) ([]inbox.Ref, error) {
	from := pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
	if after.ID() != "" {
		from = always(after.Due)
	}
	if err := texts(after.ID()); err != nil {
		return nil, err
	}
	return s.refs(ctx, `SELECT p.key, c.id, '', '', c.ended`+s.callsAndPrincipals()+`
		WHERE c.ended <= `+atNow+` - $5 * interval '1 microsecond' AND (c.ended, c.id) > ($2, $3) ORDER BY c.ended, c.id LIMIT $4`,
		s.clock(), from, after.ID(), limit, age.Microseconds())
}

// Owned implements [inbox.Store].
func (s *Store) Owned(ctx context.Context, prefix string, after inbox.CallID, limit int) ([]inbox.Ref, error) {
	if !storable(prefix) {
		return nil, s.check(ctx)
	}
	if err := texts(string(after)); err != nil {
		return nil, err
	}
	return s.refs(ctx, `SELECT p.key, c.id, '', '', NULL::timestamptz`+s.callsAndPrincipals()+`
		WHERE c.owner <> '' AND starts_with(c.owner, $1) AND c.id > $2 ORDER BY c.id LIMIT $3`, prefix, string(after), limit)
}

// Find implements [inbox.Store].
func (s *Store) Find(ctx context.Context, server string, state inbox.CallState, after inbox.CallID, limit int) ([]inbox.Ref, error) {
	if !storable(server) || !storable(string(state)) {
		return nil, s.check(ctx)
	}
	if err := texts(string(after)); err != nil {
		return nil, err
	}
	return s.refs(ctx, `SELECT p.key, c.id, '', '', NULL::timestamptz`+s.callsAndPrincipals()+`
		WHERE left(c.server, 64) = left($1, 64) AND c.server = $1 AND c.state = $2 AND c.id > $3 ORDER BY c.id LIMIT $4`,
		server, string(state), string(after), limit)
}

// CountCalls implements [inbox.Store].
func (s *Store) CountCalls(ctx context.Context, server string, state inbox.CallState, most int) (int, error) {
	if !storable(server) || !storable(string(state)) {
		return 0, s.check(ctx)
	}
	return s.count(ctx, `SELECT count(*) FROM (SELECT 1 FROM `+s.tables.calls+`
		WHERE left(server, 64) = left($1, 64) AND server = $1 AND state = $2 LIMIT $3) AS counted`, server, string(state), most)
}

// CountQuestions implements [inbox.Store].
func (s *Store) CountQuestions(ctx context.Context, most int) (int, error) {
	return s.count(ctx, `SELECT count(*) FROM (SELECT 1 FROM `+s.tables.questions+` WHERE state IN ('open', 'opened') LIMIT $1) AS counted`, most)
}

func (s *Store) count(ctx context.Context, query string, args ...any) (n int, err error) {
	err = s.read(ctx, func(conn *pgxpool.Conn) error { return conn.QueryRow(ctx, query, args...).Scan(&n) })
	return n, err
}

// Servers implements [inbox.Store].
func (s *Store) Servers(ctx context.Context, states []inbox.CallState) (servers []string, err error) {
	f := &filter{}
	in(f, `state`, states)
	if f.nothing || len(states) == 0 {
		return nil, s.check(ctx)
	}
	err = s.read(ctx, func(conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, `SELECT DISTINCT server FROM `+s.tables.calls+f.conditions()+` ORDER BY server`, f.args...)
		if err != nil {
			return err
		}
		servers, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return servers, err
}
