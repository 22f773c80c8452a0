package pgstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/parley-mcp/parley/inbox"
)

// tx implements [inbox.Tx].
type tx struct {
	store *Store
	ctx   context.Context
	conn  *pgx.Conn
	now   time.Time
	write bool
	open  bool

	principal int64 // 0: no row
	last      int64 // event
	disabled  bool

	ahead  ahead
	missed bool // a view that is over was asked for more than it has

	pending  *pgx.Batch // writes that were not sent yet
	appended []inbox.Event
	audited  []*inbox.AuditRow
}

// maxPending bounds the writes that are collected.
const maxPending = 256

func (t *tx) Now() time.Time { return t.now }

// storable reports whether PostgreSQL has such texts.
func storable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// texts refuses what PostgreSQL would refuse, without the value in the error.
func texts(list ...string) error {
	for _, text := range list {
		if !storable(text) {
			return fmt.Errorf("pgstore: %w: a text has a zero byte or is not UTF-8", inbox.ErrInvalid)
		}
	}
	return nil
}

// exec puts a write behind those that are pending.
func (t *tx) exec(query string, args ...any) error {
	if !t.write {
		return errReadOnly
	}
	if err := t.ctx.Err(); err != nil {
		return err
	}
	t.pending.Queue(query, args...)
	return t.bound()
}

// bound sends what is pending if it is too much to keep.
func (t *tx) bound() error {
	if t.pending.Len()+len(t.appended)+len(t.audited) < maxPending {
		return nil
	}
	return t.conn.SendBatch(t.ctx, t.writes()).Close()
}

// writes returns what is pending, as one batch to send.
func (t *tx) writes() *pgx.Batch {
	t.queueEvents()
	t.queueAudit()
	batch := t.pending
	t.pending = &pgx.Batch{}
	return batch
}

// queueEvents puts the events that were appended behind what is pending, as
// one statement for all.
func (t *tx) queueEvents() {
	if len(t.appended) == 0 {
		return
	}
	seqs := make([]int64, len(t.appended))
	kinds := make([]string, len(t.appended))
	ids := make([]string, len(t.appended))
	for i, e := range t.appended {
		seqs[i], kinds[i], ids[i] = e.Seq, string(e.Kind), e.ID
	}
	t.appended = nil
	t.pending.Queue(`WITH added AS (INSERT INTO `+t.store.tables.events+` (principal, seq, kind, id)
			SELECT $1, e.seq, e.kind, e.id FROM unnest($2::bigint[], $3::text[], $4::text[]) AS e (seq, kind, id))
		UPDATE `+t.store.tables.principals+` SET last_event = $5 WHERE id = $1`,
		t.principal, seqs, kinds, ids, t.last)
}

// rows sends what is pending and the query, and runs scan on every row of its answer.
func (t *tx) rows(query string, args []any, scan func(pgx.Rows) error) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	if !t.open {
		t.missed = true
		return errMissed
	}
	batch := t.writes()
	batch.Queue(query, args...).Query(func(rows pgx.Rows) error {
		return each(rows, func() error { return scan(rows) })
	})
	return t.conn.SendBatch(t.ctx, batch).Close()
}

// row is rows for an answer of at most one row; ErrNotFound if it has none.
func (t *tx) row(query string, args []any, into ...any) error {
	found := false
	err := t.rows(query, args, func(rows pgx.Rows) error {
		found = true
		return rows.Scan(into...)
	})
	if err == nil && !found {
		return inbox.ErrNotFound
	}
	return err
}

// column scans a time, and moment is one as an argument: to the microsecond,
// in UTC, and the zero time as NULL.
type column struct{ to *time.Time }

func (c column) ScanTimestamptz(v pgtype.Timestamptz) error {
	*c.to = time.Time{}
	if v.Valid {
		*c.to = v.Time.UTC()
	}
	return nil
}

func moment(t time.Time) pgtype.Timestamptz {
	if t.IsZero() {
		return pgtype.Timestamptz{}
	}
	return always(t)
}

// always is a time that is never NULL.
func always(t time.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: time.UnixMicro(t.UnixMicro()).UTC(), Valid: true}
}

// blob is never NULL, and the store's own: the write is sent later.
func blob(b []byte) []byte { return append([]byte{}, b...) }

const callColumns = `id, seq, conversation, server, state, version, owner, due, not_before, created, updated, ended, detail, content`

// briefColumns does not fetch a large content from where it is stored apart.
var briefColumns = strings.TrimSuffix(callColumns, `content`) + `NULL::bytea`

func scanCall(row *inbox.CallRow) []any {
	return []any{
		&row.ID, &row.Seq, &row.Conversation, &row.Server, &row.State, &row.Version, &row.Owner,
		column{&row.Due}, column{&row.NotBefore}, column{&row.Created}, column{&row.Updated}, column{&row.Ended},
		&row.Detail, &row.Content,
	}
}

func (t *tx) Call(id inbox.CallID) (*inbox.CallRow, error) {
	if !storable(string(id)) {
		return nil, inbox.ErrNotFound
	}
	if row := t.ahead.takeCall(id); row != nil {
		return row, t.ctx.Err()
	}
	row := &inbox.CallRow{}
	err := t.row(`SELECT `+callColumns+` FROM `+t.store.tables.calls+` WHERE id = $1 AND principal = $2`,
		[]any{string(id), t.principal}, scanCall(row)...)
	if err != nil {
		return nil, err
	}
	return row, nil
}

func (t *tx) PutCall(row *inbox.CallRow) error {
	if err := texts(string(row.ID), row.Conversation, row.Server, string(row.State), row.Owner); err != nil {
		return err
	}
	t.ahead = ahead{}
	return t.exec(`INSERT INTO `+t.store.tables.calls+` AS old (principal, `+callColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
		ON CONFLICT (id) DO UPDATE SET
			seq = excluded.seq, conversation = excluded.conversation, server = excluded.server, state = excluded.state,
			version = excluded.version, owner = excluded.owner, due = excluded.due, not_before = excluded.not_before,
			created = excluded.created, updated = excluded.updated, ended = excluded.ended,
			detail = excluded.detail, content = excluded.content
		WHERE old.principal = excluded.principal`,
		t.principal, string(row.ID), row.Seq, row.Conversation, row.Server, string(row.State), row.Version, row.Owner,
		moment(row.Due), moment(row.NotBefore), always(row.Created), always(row.Updated), moment(row.Ended),
		blob(row.Detail), blob(row.Content))
}

func (t *tx) Calls(q inbox.CallQuery) ([]*inbox.CallRow, error) {
	f := &filter{}
	f.add(`principal = ?`, t.principal)
	f.long(`conversation`, q.Conversation)
	f.long(`server`, q.Server)
	in(f, `state`, q.States)
	query := f.newest(q.Before, q.Limit)
	if f.nothing {
		return nil, t.ctx.Err()
	}
	var list []*inbox.CallRow
	columns := callColumns
	if q.Brief {
		columns = briefColumns
	}
	err := t.rows(`SELECT `+columns+` FROM `+t.store.tables.calls+query, f.args, func(rows pgx.Rows) error {
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
	if !storable(string(id)) {
		return nil, inbox.ErrNotFound
	}
	if row := t.ahead.takeQuestion(id); row != nil {
		return row, t.ctx.Err()
	}
	row := &inbox.QuestionRow{}
	err := t.row(`SELECT `+questionColumns+` FROM `+t.store.tables.questions+` WHERE id = $1 AND principal = $2`,
		[]any{string(id), t.principal}, scanQuestion(row)...)
	if err != nil {
		return nil, err
	}
	return row, nil
}

func (t *tx) PutQuestion(row *inbox.QuestionRow) error {
	if err := texts(string(row.ID), string(row.Call), row.Conversation, row.Server, string(row.State)); err != nil {
		return err
	}
	t.ahead = ahead{}
	return t.exec(`INSERT INTO `+t.store.tables.questions+` AS old (principal, `+questionColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
		ON CONFLICT (id) DO UPDATE SET
			call = excluded.call, seq = excluded.seq, conversation = excluded.conversation, server = excluded.server,
			state = excluded.state, version = excluded.version, due = excluded.due, created = excluded.created,
			closed = excluded.closed, detail = excluded.detail, content = excluded.content
		WHERE old.principal = excluded.principal`,
		t.principal, string(row.ID), string(row.Call), row.Seq, row.Conversation, row.Server, string(row.State), row.Version,
		moment(row.Due), always(row.Created), moment(row.Closed), blob(row.Detail), blob(row.Content))
}

func (t *tx) Questions(q inbox.QuestionQuery) ([]*inbox.QuestionRow, error) {
	if list, ok := t.ahead.takeQuestions(q); ok {
		return list, t.ctx.Err()
	}
	f := &filter{}
	f.add(`principal = ?`, t.principal)
	f.text(`call`, string(q.Call))
	f.long(`conversation`, q.Conversation)
	f.long(`server`, q.Server)
	in(f, `state`, q.States)
	query := f.newest(q.Before, q.Limit)
	if f.nothing {
		return nil, t.ctx.Err()
	}
	var list []*inbox.QuestionRow
	err := t.rows(`SELECT `+questionColumns+` FROM `+t.store.tables.questions+query, f.args, func(rows pgx.Rows) error {
		row := &inbox.QuestionRow{}
		list = append(list, row)
		return rows.Scan(scanQuestion(row)...)
	})
	return list, err
}

func (t *tx) CountQuestions(server string, since time.Time) (open, recent int, err error) {
	if !storable(server) {
		return 0, 0, t.ctx.Err()
	}
	if open, recent, ok := t.ahead.takeCounts(server, since); ok {
		return open, recent, t.ctx.Err()
	}
	of := ` FROM ` + t.store.tables.questions + ` WHERE principal = $1 AND left(server, 64) = left($2, 64) AND server = $2 AND `
	err = t.row(`SELECT (SELECT count(*)`+of+`state IN ('open', 'opened')), (SELECT count(*)`+of+`created >= $3)`,
		[]any{t.principal, server, always(since)}, &open, &recent)
	return open, recent, err
}

// digest is how an idempotency key is kept: of one length, and of any bytes.
func digest(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

func (t *tx) Remembered(key string) (value []byte, err error) {
	err = t.row(`SELECT value FROM `+t.store.tables.keys+` WHERE principal = $1 AND key = $2 AND expires > $3`,
		[]any{t.principal, digest(key), always(t.now)}, &value)
	return value, err
}

func (t *tx) Remember(key string, value []byte, expires time.Time) error {
	return errors.Join(
		t.exec(`DELETE FROM `+t.store.tables.keys+` WHERE principal = $1 AND expires <= $2`, t.principal, always(t.now)),
		t.exec(`INSERT INTO `+t.store.tables.keys+` (principal, key, value, expires) VALUES ($1, $2, $3, $4)
			ON CONFLICT (principal, key) DO UPDATE SET value = excluded.value, expires = excluded.expires`,
			t.principal, digest(key), blob(value), always(expires)))
}

func (t *tx) Append(kind inbox.EventKind, id string) (int64, error) {
	if err := texts(string(kind), id); err != nil {
		return 0, err
	}
	if !t.write {
		return 0, errReadOnly
	}
	if err := t.ctx.Err(); err != nil {
		return 0, err
	}
	t.last++
	t.appended = append(t.appended, inbox.Event{Seq: t.last, Kind: kind, ID: id})
	return t.last, t.bound()
}

func (t *tx) Events(after int64, limit int) ([]inbox.Event, error) {
	var events []inbox.Event
	err := t.rows(`SELECT seq, kind, id FROM `+t.store.tables.events+` WHERE principal = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
		[]any{t.principal, after, limit}, func(rows pgx.Rows) error {
			var e inbox.Event
			err := rows.Scan(&e.Seq, &e.Kind, &e.ID)
			events = append(events, e)
			return err
		})
	return events, err
}

func (t *tx) EventBounds() (first, last int64, err error) {
	err = t.row(`SELECT coalesce(min(seq), $2) FROM `+t.store.tables.events+` WHERE principal = $1`,
		[]any{t.principal, t.last + 1}, &first)
	return first, t.last, err
}

func (t *tx) TrimEvents(first int64) error {
	t.queueEvents()
	return t.exec(`DELETE FROM `+t.store.tables.events+` WHERE principal = $1 AND seq < $2`, t.principal, first)
}

func (t *tx) Disabled() (bool, error) { return t.disabled, t.ctx.Err() }

func (t *tx) SetDisabled(disabled bool) error {
	if err := t.exec(`UPDATE `+t.store.tables.principals+` SET disabled = $2 WHERE id = $1`, t.principal, disabled); err != nil {
		return err
	}
	t.disabled = disabled
	return nil
}

func (t *tx) Erase(last *inbox.AuditRow) error {
	t.ahead = ahead{}
	t.queueEvents()
	t.queueAudit()
	tables := t.store.tables
	for _, table := range []string{tables.events, tables.keys, tables.audit, tables.approvals, tables.questions, tables.calls} {
		if err := t.exec(`DELETE FROM `+table+` WHERE principal = $1`, t.principal); err != nil {
			return err
		}
	}
	return errors.Join(
		t.exec(`DELETE FROM `+tables.principals+` WHERE id = $1 AND NOT disabled`, t.principal),
		t.exec(`UPDATE `+tables.principals+` SET last_event = 0 WHERE id = $1`, t.principal),
		t.exec(`INSERT INTO `+tables.audit+` (at, kind, call, detail) VALUES ($1, $2, $3, $4)`,
			always(last.At), string(last.Kind), string(last.Call), blob(last.Detail)))
}
