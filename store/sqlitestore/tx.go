package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// tx implements [inbox.Tx].
type tx struct {
	caller     context.Context // ends the transaction between statements
	ctx        context.Context // of the statements
	statements *statements
	now        time.Time
	write      bool

	principal int64
	last      int64 // event
	stored    int64 // the last event that the principal's row knows of
	disabled  bool
}

var errReadOnly = errors.New("sqlitestore: writing in a view")

// nobody is the key of a transaction that is on no principal's rows. No
// principal has it.
const nobody = ""

// begin finds the principal's row; an update makes it if there is none.
func (t *tx) begin(key string) error {
	if key == nobody {
		return nil
	}
	err := t.row(`SELECT id, last_event, disabled FROM inbox_principals WHERE key = ?`, []any{key}, &t.principal, &t.last, &t.disabled)
	if errors.Is(err, sql.ErrNoRows) {
		t.principal, t.last = 0, 0 // no row has the id 0
		if !t.write {
			return nil
		}
		return t.row(`INSERT INTO inbox_principals (key) VALUES (?) RETURNING id`, []any{key}, &t.principal)
	}
	t.stored = t.last
	return err
}

// end stores the number of the last event.
func (t *tx) end() error {
	if t.last == t.stored {
		return nil
	}
	return t.exec(`UPDATE inbox_principals SET last_event = ? WHERE id = ?`, t.last, t.principal)
}

func (t *tx) Now() time.Time { return t.now }

func (t *tx) stmt(query string) (*sql.Stmt, error) {
	if err := t.caller.Err(); err != nil {
		return nil, err
	}
	return t.statements.get(t.ctx, query)
}

func (t *tx) row(query string, args []any, into ...any) error {
	stmt, err := t.stmt(query)
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(t.ctx, args...).Scan(into...)
}

func (t *tx) exec(query string, args ...any) error {
	_, err := t.change(query, args...)
	return err
}

// change is exec, and returns how many rows it changed.
func (t *tx) change(query string, args ...any) (int64, error) {
	if !t.write {
		return 0, errReadOnly
	}
	stmt, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// rows runs scan on every row of the answer.
func (t *tx) rows(query string, args []any, scan func(*sql.Rows) error) error {
	stmt, err := t.stmt(query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(t.ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

const callColumns = `id, seq, conversation, server, state, version, owner, due, not_before, created, updated, ended, detail, content`

// briefColumns does not touch the pages that a large content is on.
var briefColumns = strings.TrimSuffix(callColumns, `content`) + `NULL`

func scanCall(row *inbox.CallRow) []any {
	return []any{
		&row.ID, &row.Seq, &row.Conversation, &row.Server, &row.State, &row.Version, &row.Owner,
		column{&row.Due}, column{&row.NotBefore}, column{&row.Created}, column{&row.Updated}, column{&row.Ended},
		&row.Detail, &row.Content,
	}
}

func (t *tx) Call(id inbox.CallID) (*inbox.CallRow, error) {
	row := &inbox.CallRow{}
	err := t.row(`SELECT `+callColumns+` FROM inbox_calls WHERE id = ? AND principal = ?`, []any{id, t.principal}, scanCall(row)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, inbox.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return row, nil
}

// PutCall first writes what changes in the life of a call: SQLite writes the
// entry in every index of which a column is named, the same or not.
func (t *tx) PutCall(row *inbox.CallRow) error {
	if row.Version > 1 {
		n, err := t.change(`UPDATE inbox_calls SET
				state = ?, version = ?, owner = ?, due = ?, not_before = ?, updated = ?, ended = ?, detail = ?, content = ?
			WHERE id = ? AND principal = ? AND seq = ? AND conversation = ? AND server = ? AND created = ?`,
			row.State, row.Version, row.Owner, toMicros(row.Due), toMicros(row.NotBefore), toMicros(row.Updated), toMicros(row.Ended),
			blob(row.Detail), blob(row.Content),
			row.ID, t.principal, row.Seq, row.Conversation, row.Server, toMicros(row.Created))
		if n > 0 || err != nil {
			return err
		}
	}
	return t.exec(`INSERT INTO inbox_calls (principal, `+callColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET
			seq = excluded.seq, conversation = excluded.conversation, server = excluded.server, state = excluded.state,
			version = excluded.version, owner = excluded.owner, due = excluded.due, not_before = excluded.not_before,
			created = excluded.created, updated = excluded.updated, ended = excluded.ended,
			detail = excluded.detail, content = excluded.content
		WHERE principal = excluded.principal`,
		t.principal, row.ID, row.Seq, row.Conversation, row.Server, row.State, row.Version, row.Owner,
		toMicros(row.Due), toMicros(row.NotBefore), toMicros(row.Created), toMicros(row.Updated), toMicros(row.Ended),
		blob(row.Detail), blob(row.Content))
}

// blob is never NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// filter puts a WHERE together from the conditions that are set.
type filter struct {
	where []string
	args  []any
}

func (f *filter) add(condition string, args ...any) {
	f.where = append(f.where, condition)
	f.args = append(f.args, args...)
}

func (f *filter) text(columnName, value string) {
	if value != "" {
		f.add(columnName+` = ?`, value)
	}
}

// along is the table, read along an index where only is given. Left to itself SQLite, which
// does not know how few rows a call has, goes through all rows of the principal, since
// their index is in the order of the page.
func along(table, index, only string) string {
	if only == "" {
		return table
	}
	return table + ` INDEXED BY ` + index
}

func in[S ~string](f *filter, columnName string, values []S) {
	if len(values) == 0 {
		return
	}
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = string(v)
	}
	f.add(columnName+` IN (?`+strings.Repeat(`, ?`, len(values)-1)+`)`, args...)
}

func (f *filter) conditions() string { return ` WHERE ` + strings.Join(f.where, ` AND `) }

// newest finishes the query of a page.
func (f *filter) newest(before int64, limit int) string {
	if before != 0 {
		f.add(`seq < ?`, before)
	}
	query := f.conditions() + ` ORDER BY seq DESC`
	if limit > 0 {
		query += ` LIMIT ?`
		f.args = append(f.args, limit)
	}
	return query
}

func (t *tx) Calls(q inbox.CallQuery) ([]*inbox.CallRow, error) {
	f := &filter{}
	f.add(`principal = ?`, t.principal)
	f.text(`conversation`, q.Conversation)
	f.text(`server`, q.Server)
	in(f, `state`, q.States)
	var list []*inbox.CallRow
	columns := callColumns
	if q.Brief {
		columns = briefColumns
	}
	err := t.rows(`SELECT `+columns+` FROM inbox_calls`+f.newest(q.Before, q.Limit), f.args, func(rows *sql.Rows) error {
		row := &inbox.CallRow{}
		list = append(list, row)
		return rows.Scan(scanCall(row)...)
	})
	return list, err
}

const questionColumns = `id, call, seq, conversation, server, state, version, due, created, closed, detail, content`

func scanQuestion(row *inbox.QuestionRow) []any {
	return []any{
		&row.ID, &row.Call, &row.Seq, &row.Conversation, &row.Server, &row.State, &row.Version,
		column{&row.Due}, column{&row.Created}, column{&row.Closed}, &row.Detail, &row.Content,
	}
}

func (t *tx) Question(id inbox.QuestionID) (*inbox.QuestionRow, error) {
	row := &inbox.QuestionRow{}
	err := t.row(`SELECT `+questionColumns+` FROM inbox_questions WHERE id = ? AND principal = ?`, []any{id, t.principal}, scanQuestion(row)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, inbox.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return row, nil
}

func (t *tx) PutQuestion(row *inbox.QuestionRow) error {
	if row.Version > 1 { // as in PutCall
		n, err := t.change(`UPDATE inbox_questions SET state = ?, version = ?, due = ?, closed = ?, detail = ?, content = ?
			WHERE id = ? AND principal = ? AND call = ? AND seq = ? AND conversation = ? AND server = ? AND created = ?`,
			row.State, row.Version, toMicros(row.Due), toMicros(row.Closed), blob(row.Detail), blob(row.Content),
			row.ID, t.principal, row.Call, row.Seq, row.Conversation, row.Server, toMicros(row.Created))
		if n > 0 || err != nil {
			return err
		}
	}
	return t.exec(`INSERT INTO inbox_questions (principal, `+questionColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET
			call = excluded.call, seq = excluded.seq, conversation = excluded.conversation, server = excluded.server,
			state = excluded.state, version = excluded.version, due = excluded.due, created = excluded.created,
			closed = excluded.closed, detail = excluded.detail, content = excluded.content
		WHERE principal = excluded.principal`,
		t.principal, row.ID, row.Call, row.Seq, row.Conversation, row.Server, row.State, row.Version,
		toMicros(row.Due), toMicros(row.Created), toMicros(row.Closed), blob(row.Detail), blob(row.Content))
}

func (t *tx) Questions(q inbox.QuestionQuery) ([]*inbox.QuestionRow, error) {
	f := &filter{}
	f.add(`principal = ?`, t.principal)
	f.text(`call`, string(q.Call))
	f.text(`conversation`, q.Conversation)
	f.text(`server`, q.Server)
	in(f, `state`, q.States)
	var list []*inbox.QuestionRow
	err := t.rows(`SELECT `+questionColumns+` FROM `+along(`inbox_questions`, `inbox_questions_call`, string(q.Call))+f.newest(q.Before, q.Limit), f.args, func(rows *sql.Rows) error {
		row := &inbox.QuestionRow{}
		list = append(list, row)
		return rows.Scan(scanQuestion(row)...)
	})
	return list, err
}

func (t *tx) CountQuestions(server string, since time.Time) (open, recent int, err error) {
	err = t.row(`SELECT
		(SELECT count(*) FROM inbox_questions WHERE principal = ?1 AND server = ?2 AND state IN ('open', 'opened')),
		(SELECT count(*) FROM inbox_questions WHERE principal = ?1 AND server = ?2 AND created >= ?3)`,
		[]any{t.principal, server, since.UnixMicro()}, &open, &recent)
	return open, recent, err
}

func (t *tx) Remembered(key string) (value []byte, err error) {
	err = t.row(`SELECT value FROM inbox_keys WHERE principal = ? AND key = ? AND expires > ?`,
		[]any{t.principal, key, t.now.UnixMicro()}, &value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, inbox.ErrNotFound
	}
	return value, err
}

func (t *tx) Remember(key string, value []byte, expires time.Time) error {
	if err := t.exec(`DELETE FROM inbox_keys WHERE principal = ? AND expires <= ?`, t.principal, t.now.UnixMicro()); err != nil {
		return err
	}
	return t.exec(`INSERT INTO inbox_keys (principal, key, value, expires) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET value = excluded.value, expires = excluded.expires`,
		t.principal, key, blob(value), expires.UnixMicro())
}

func (t *tx) Append(kind inbox.EventKind, id string) (int64, error) {
	if err := t.exec(`INSERT INTO inbox_events (principal, seq, kind, id) VALUES (?, ?, ?, ?)`, t.principal, t.last+1, kind, id); err != nil {
		return 0, err
	}
	t.last++
	return t.last, nil
}

func (t *tx) Events(after int64, limit int) ([]inbox.Event, error) {
	var events []inbox.Event
	err := t.rows(`SELECT seq, kind, id FROM inbox_events WHERE principal = ? AND seq > ? ORDER BY seq LIMIT ?`,
		[]any{t.principal, after, limit}, func(rows *sql.Rows) error {
			var e inbox.Event
			err := rows.Scan(&e.Seq, &e.Kind, &e.ID)
			events = append(events, e)
			return err
		})
	return events, err
}

func (t *tx) EventBounds() (first, last int64, err error) {
	err = t.row(`SELECT coalesce(min(seq), ?) FROM inbox_events WHERE principal = ?`, []any{t.last + 1, t.principal}, &first)
	return first, t.last, err
}

func (t *tx) TrimEvents(first int64) error {
	return t.exec(`DELETE FROM inbox_events WHERE principal = ? AND seq < ?`, t.principal, first)
}

func (t *tx) Disabled() (bool, error) { return t.disabled, t.caller.Err() }

func (t *tx) SetDisabled(disabled bool) error {
	if err := t.exec(`UPDATE inbox_principals SET disabled = ? WHERE id = ?`, disabled, t.principal); err != nil {
		return err
	}
	t.disabled = disabled
	return nil
}

func (t *tx) Erase(last *inbox.AuditRow) error {
	for _, table := range []string{"inbox_events", "inbox_keys", "inbox_audit", "inbox_approvals", "inbox_questions", "inbox_calls"} {
		if err := t.exec(`DELETE FROM `+table+` WHERE principal = ?`, t.principal); err != nil {
			return err
		}
	}
	if err := t.exec(`DELETE FROM inbox_principals WHERE id = ? AND NOT disabled`, t.principal); err != nil {
		return err
	}
	if err := t.exec(`UPDATE inbox_principals SET last_event = 0 WHERE id = ?`, t.principal); err != nil {
		return err
	}
	return t.appendAudit(nil, last)
}

// View implements [inbox.Store]. SQLite takes the snapshot with the first statement.
func (s *Store) View(ctx context.Context, principal string, f func(inbox.Tx) error) error {
	return s.reader(ctx, func(r *session) error {
		// The driver reports a context that ends meanwhile also of a statement that has run.
		if err := r.statements.exec(context.WithoutCancel(ctx), `BEGIN`); err != nil {
			return errors.Join(err, r.close())
		}
		defer func() {
			if r.rollback() != nil { // it only read, but what comes next could not
				_ = r.close()
			}
		}()
		t := s.look(ctx, r)
		if err := t.begin(principal); err != nil {
			return err
		}
		return f(t)
	})
}

// read runs f, which runs one statement: that is a snapshot by itself.
func (s *Store) read(ctx context.Context, f func(*tx) error) error {
	return s.reader(ctx, func(r *session) error { return f(s.look(ctx, r)) })
}

func (s *Store) look(ctx context.Context, r *session) *tx {
	return &tx{caller: ctx, ctx: ctx, statements: r.statements, now: s.clock()}
}

// reader runs f on a connection that nobody else reads with.
func (s *Store) reader(ctx context.Context, f func(*session) error) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	select {
	case r := <-s.reading:
		defer func() { s.reading <- r }()
		err := r.connect(ctx, s.readers)
		if err == nil {
			err = f(r)
		}
		return s.wrap(s.closing(ctx, err))
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return ErrStoreClosed
	}
}

// closing puts the reason in the place of its consequences: database/sql and
// SQLite report an ended context or a closed handle in several ways.
func (s *Store) closing(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if reason := s.check(ctx); reason != nil && !errors.Is(err, reason) {
		return fmt.Errorf("%w (%v)", reason, err)
	}
	return err
}
