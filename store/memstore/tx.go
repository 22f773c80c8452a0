package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// tx reads base and, in an update, what the transaction itself has added.
type tx struct {
	ctx       context.Context
	principal string
	db        *database
	base      *rows
	added     *rows // nil in a view
	audit     []*inbox.AuditRow
	disabled  bool
	erased    *inbox.AuditRow
	now       time.Time

	first, last int64 // of the events, with the changes of this transaction
}

func (t *tx) commit(db *database) {
	if t.erased != nil {
		delete(db.principals, t.principal)
		if t.disabled {
			db.principals[t.principal] = newRows()
			db.principals[t.principal].disabled = true
		}
		db.audit = slices.DeleteFunc(slices.Clone(db.audit), func(r *inbox.AuditRow) bool { return r.Principal == t.principal })
		db.append("", t.erased)
		return
	}
	for _, row := range t.audit {
		db.append(t.principal, row)
	}
	rows := db.principals[t.principal]
	if rows == nil {
		rows = newRows()
		db.principals[t.principal] = rows
	}
	maps.Copy(rows.calls, t.added.calls)
	maps.Copy(rows.questions, t.added.questions)
	maps.Copy(rows.approvals, t.added.approvals)
	maps.Copy(rows.keys, t.added.keys)
	if len(t.added.keys) > 0 {
		for key, m := range rows.keys {
			if !t.now.Before(m.expires) {
				delete(rows.keys, key)
			}
		}
	}
	rows.events = append(rows.events, t.added.events...)
	rows.events = rows.events[len(rows.events)-int(t.last+1-t.first):]
	rows.last, rows.disabled = t.last, t.disabled
}

// events are those that are kept, in order.
func (t *tx) events() []inbox.Event {
	all := t.base.events
	if t.added != nil {
		all = append(slices.Clip(all), t.added.events...)
	}
	return all[len(all)-int(t.last+1-t.first):]
}

func (t *tx) Now() time.Time { return t.now }

func (t *tx) writable() error {
	if t.added == nil {
		return errReadOnly
	}
	return t.ctx.Err()
}

func copyCall(row *inbox.CallRow) *inbox.CallRow {
	c := *row
	c.Detail, c.Content = slices.Clone(c.Detail), slices.Clone(c.Content)
	for _, t := range []*time.Time{&c.Due, &c.NotBefore, &c.Created, &c.Updated, &c.Ended} {
		*t = stored(*t)
	}
	return &c
}

func copyQuestion(row *inbox.QuestionRow) *inbox.QuestionRow {
	q := *row
	q.Detail, q.Content = slices.Clone(q.Detail), slices.Clone(q.Content)
	for _, t := range []*time.Time{&q.Due, &q.Created, &q.Closed} {
		*t = stored(*t)
	}
	return &q
}

func (t *tx) Call(id inbox.CallID) (*inbox.CallRow, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	if t.added != nil {
		if row := t.added.calls[id]; row != nil {
			return copyCall(row), nil
		}
	}
	if row := t.base.calls[id]; row != nil {
		return copyCall(row), nil
	}
	return nil, inbox.ErrNotFound
}

func (t *tx) PutCall(row *inbox.CallRow) error {
	if err := t.writable(); err != nil {
		return err
	}
	t.added.calls[row.ID] = copyCall(row)
	return nil
}

func (t *tx) Question(id inbox.QuestionID) (*inbox.QuestionRow, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	if t.added != nil {
		if row := t.added.questions[id]; row != nil {
			return copyQuestion(row), nil
		}
	}
	if row := t.base.questions[id]; row != nil {
		return copyQuestion(row), nil
	}
	return nil, inbox.ErrNotFound
}

func (t *tx) PutQuestion(row *inbox.QuestionRow) error {
	if err := t.writable(); err != nil {
		return err
	}
	t.added.questions[row.ID] = copyQuestion(row)
	return nil
}

// both runs f on each row as the transaction sees it.
func both[K comparable, V any](base, added map[K]*V, f func(*V)) {
	for id, row := range base {
		if _, changed := added[id]; !changed {
			f(row)
		}
	}
	for _, row := range added {
		f(row)
	}
}

func (t *tx) addedCalls() map[inbox.CallID]*inbox.CallRow {
	if t.added == nil {
		return nil
	}
	return t.added.calls
}

func (t *tx) addedQuestions() map[inbox.QuestionID]*inbox.QuestionRow {
	if t.added == nil {
		return nil
	}
	return t.added.questions
}

func (t *tx) Calls(q inbox.CallQuery) ([]*inbox.CallRow, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	var list []*inbox.CallRow
	both(t.base.calls, t.addedCalls(), func(c *inbox.CallRow) {
		if (q.Conversation == "" || c.Conversation == q.Conversation) &&
			(q.Server == "" || c.Server == q.Server) &&
			(len(q.States) == 0 || slices.Contains(q.States, c.State)) &&
			(q.Before == 0 || c.Seq < q.Before) {
			list = append(list, c)
		}
	})
	slices.SortFunc(list, func(a, b *inbox.CallRow) int { return cmp.Compare(b.Seq, a.Seq) })
	if q.Limit > 0 {
		list = list[:min(q.Limit, len(list))]
	}
	for i, c := range list {
		if q.Brief {
			brief := *c
			brief.Content = nil
			c = &brief
		}
		list[i] = copyCall(c)
	}
	return list, nil
}

func (t *tx) Questions(q inbox.QuestionQuery) ([]*inbox.QuestionRow, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	var list []*inbox.QuestionRow
	both(t.base.questions, t.addedQuestions(), func(r *inbox.QuestionRow) {
		if (q.Call == "" || r.Call == q.Call) &&
			(q.Conversation == "" || r.Conversation == q.Conversation) &&
			(q.Server == "" || r.Server == q.Server) &&
			(len(q.States) == 0 || slices.Contains(q.States, r.State)) &&
			(q.Before == 0 || r.Seq < q.Before) {
			list = append(list, r)
		}
	})
	slices.SortFunc(list, func(a, b *inbox.QuestionRow) int { return cmp.Compare(b.Seq, a.Seq) })
	if q.Limit > 0 {
		list = list[:min(q.Limit, len(list))]
	}
	for i, r := range list {
		list[i] = copyQuestion(r)
	}
	return list, nil
}

func (t *tx) CountQuestions(server string, since time.Time) (open, recent int, err error) {
	if err := t.ctx.Err(); err != nil {
		return 0, 0, err
	}
	since = stored(since)
	both(t.base.questions, t.addedQuestions(), func(q *inbox.QuestionRow) {
		if q.Server != server {
			return
		}
		if !q.State.Closed() {
			open++
		}
		if !q.Created.Before(since) {
			recent++
		}
	})
	return open, recent, nil
}

func (t *tx) Remembered(key string) ([]byte, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	m, ok := t.base.keys[key]
	if t.added != nil {
		if changed, is := t.added.keys[key]; is {
			m, ok = changed, true
		}
	}
	if !ok || !t.now.Before(m.expires) {
		return nil, inbox.ErrNotFound
	}
	return slices.Clone(m.value), nil
}

func (t *tx) Remember(key string, value []byte, expires time.Time) error {
	if err := t.writable(); err != nil {
		return err
	}
	t.added.keys[key] = remembered{slices.Clone(value), stored(expires)}
	return nil
}

func (t *tx) Append(kind inbox.EventKind, id string) (int64, error) {
	if err := t.writable(); err != nil {
		return 0, err
	}
	t.last++
	t.added.events = append(t.added.events, inbox.Event{Seq: t.last, Kind: kind, ID: id})
	return t.last, nil
}

func (t *tx) Events(after int64, limit int) ([]inbox.Event, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	events := t.events()
	skip := min(max(after+1-t.first, 0), int64(len(events)))
	events = events[skip:]
	return slices.Clone(events[:min(limit, len(events))]), nil
}

func (t *tx) EventBounds() (first, last int64, err error) {
	return t.first, t.last, t.ctx.Err()
}

func (t *tx) TrimEvents(first int64) error {
	if err := t.writable(); err != nil {
		return err
	}
	t.first = min(max(t.first, first), t.last+1)
	return nil
}

func (t *tx) Disabled() (bool, error) { return t.disabled, t.ctx.Err() }

func (t *tx) SetDisabled(disabled bool) error {
	if err := t.writable(); err != nil {
		return err
	}
	t.disabled = disabled
	return nil
}

func (t *tx) Erase(last *inbox.AuditRow) error {
	if err := t.writable(); err != nil {
		return err
	}
	t.erased = copyAudit(last)
	return nil
}
