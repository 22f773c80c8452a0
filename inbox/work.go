package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// work is one transaction of an inbox. It keeps the rows that it read, so that
// a row which changes several times in a transaction is stored once, with one
// new version and one event.
type work struct {
	in        *Inbox
	tx        Tx
	key       string
	principal Principal
	now       time.Time
	writes    bool
	source    Source
	machine   bool // it is no person's doing

	calls     map[CallID]*callRecord
	questions map[QuestionID]*questionRecord
	stored    map[CallID][]*QuestionRow // those that the store has of a call, once they were read
	approvals map[ApprovalID]*approvalRecord
	touched   []any // *callRecord, *questionRecord or *approvalRecord, in the order of their first change
	hints     []Hint
	observed  []AuditEntry // for Options.Observe, after the commit
	tells     []ApprovalID // of which somebody else is told after the commit
}

func (in *Inbox) work(tx Tx, key string, p Principal) *work {
	return &work{in: in, tx: tx, key: key, principal: p, now: tx.Now()}
}

// keep makes the map with its first entry: most transactions read a row or two.
func keep[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// update runs f in one write transaction and sends the hints after the commit.
func (in *Inbox) update(ctx context.Context, key string, f func(*work) error) error {
	p, err := ParsePrincipal(key)
	if err != nil {
		return err
	}
	var w *work
	err = in.store.Update(ctx, key, func(tx Tx) error {
		w = in.work(tx, key, p)
		w.writes, w.source = true, sourceOf(ctx)
		if err := f(w); err != nil {
			return err
		}
		return w.flush()
	})
	if err != nil {
		return err
	}
	// The change is committed: who waits for it should hear of it even if
	// this caller has gone.
	ctx = context.WithoutCancel(ctx)
	for _, hint := range together(w.hints) {
		if err := in.notifier.Notify(ctx, hint); err != nil {
			in.log.Warn("inbox: hint not sent", "call", hint.Call, "err", err)
		}
	}
	for i := range w.observed {
		in.options.Observe(&w.observed[i])
	}
	for _, id := range w.tells {
		if err := in.tell(ctx, key, id); err != nil { // Sweep will
			in.log.Warn("inbox: an assignee was not told", "approval", id, "err", err)
		}
	}
	return nil
}

// view runs f on a snapshot.
func (in *Inbox) view(ctx context.Context, key string, f func(*work) error) error {
	p, err := ParsePrincipal(key)
	if err != nil {
		return err
	}
	return in.store.View(ctx, key, func(tx Tx) error { return f(in.work(tx, key, p)) })
}

func (w *work) call(id CallID) (*callRecord, error) { return readable(w.anyCall(id)) }

func (w *work) anyCall(id CallID) (*callRecord, error) {
	if c := w.calls[id]; c != nil {
		return c, nil
	}
	row, err := w.tx.Call(id)
	if err != nil {
		return nil, err
	}
	c, err := w.openCall(row)
	if err != nil {
		return nil, err
	}
	keep(&w.calls, id, c)
	return c, nil
}

// question is call for a question.
func (w *work) question(id QuestionID) (*questionRecord, error) { return readable(w.anyQuestion(id)) }

func (w *work) anyQuestion(id QuestionID) (*questionRecord, error) {
	if q := w.questions[id]; q != nil {
		return q, nil
	}
	row, err := w.tx.Question(id)
	if err != nil {
		return nil, err
	}
	return w.adopt(row)
}

func (w *work) adopt(row *QuestionRow) (*questionRecord, error) {
	if q := w.questions[row.ID]; q != nil {
		return q, nil
	}
	q, err := w.openQuestion(row)
	if err != nil {
		return nil, err
	}
	keep(&w.questions, row.ID, q)
	return q, nil
}

// asked returns all questions of a call, oldest first, with the changes of
// this transaction, also those that cannot be read.
func (w *work) asked(id CallID) ([]*questionRecord, error) {
	return w.askedIf(id, func(*questionRecord) bool { return true }, func(*QuestionRow) bool { return true })
}

// round returns the questions of the call's present round, and those whose round
// nobody knows any more.
func (w *work) round(c *callRecord) ([]*questionRecord, error) {
	return w.askedIf(c.ID, func(q *questionRecord) bool { return q.Round == c.Round || q.lost }, func(row *QuestionRow) bool {
		// The seals of earlier rounds need not be opened.
		var detail struct {
			Round int  `json:"round"`
			Lost  bool `json:"lost"`
		}
		return json.Unmarshal(row.Detail, &detail) != nil || detail.Round == c.Round || detail.Lost
	})
}

// askedIf returns those questions of a call for which want holds; may tells of
// a row whose seal is closed whether it could.
func (w *work) askedIf(id CallID, want func(*questionRecord) bool, may func(*QuestionRow) bool) ([]*questionRecord, error) {
	rows, known := w.stored[id]
	if !known {
		var err error
		if rows, err = w.tx.Questions(QuestionQuery{Call: id}); err != nil {
			return nil, err
		}
		slices.Reverse(rows)
		keep(&w.stored, id, rows)
	}
	var list []*questionRecord
	for _, row := range rows {
		if w.questions[row.ID] == nil && !may(row) {
			continue
		}
		q, err := w.adopt(row)
		if err != nil {
			return nil, err
		}
		if want(q) {
			list = append(list, q)
		}
	}
	for _, record := range w.touched { // those added in this transaction
		if q, ok := record.(*questionRecord); ok && q.Call == id && q.Seq == 0 && want(q) {
			list = append(list, q)
		}
	}
	return list, nil
}

func (w *work) touch(c *callRecord) {
	if c.dirty == clean {
		w.touched = append(w.touched, c)
	}
	c.dirty = seen
}

// touchQuietly stores the call without a new version: a lease is nothing that
// a person sees.
func (w *work) touchQuietly(c *callRecord) {
	if c.dirty == clean {
		w.touched = append(w.touched, c)
		c.dirty = quiet
	}
}

func (w *work) touchQuestion(q *questionRecord) {
	if q.dirty == clean {
		w.touched = append(w.touched, q)
	}
	q.dirty = seen
}

// touchQuestionQuietly stores the question without a new version.
func (w *work) touchQuestionQuietly(q *questionRecord) {
	if q.dirty == clean {
		w.touched = append(w.touched, q)
		q.dirty = quiet
	}
}

// moveCall changes the state of a call and what goes with the new state:
// leases end, open questions of an ended call are withdrawn, times are set anew.
func (w *work) moveCall(c *callRecord, to CallState, reason, detail string) error {
	switch to {
	case Approving, Ready, Claimed, Waiting, Blocked: // a disabled person's call goes on to none of them
		if err := w.enabled(); errors.Is(err, ErrDisabled) {
			to, reason, detail = Denied, ReasonDisabled, disabledSentence+c.unsent()
		} else if err != nil {
			return err
		}
	}
	if err := follow(callArrows, c.State, to); err != nil {
		return fmt.Errorf("%w (call %s)", err, c.ID)
	}
	from := c.State
	c.State, c.Reason, c.Detail = to, reason, detail
	w.touch(c)
	if from == Approving {
		if err := w.endApproval(c); err != nil {
			return err
		}
	}
	if to != Claimed && to != Sent {
		c.Owner, c.LeaseUntil = "", time.Time{}
	}
	c.NotBefore = time.Time{} // of the state before: whoever sets one does it after
	if !c.stillTried(from, to) {
		c.tryAnew()
	}
	switch to {
	case Ready, Claimed, Sent:
		c.ExpiresAt = c.Deadline
	case Waiting:
		c.ExpiresAt = c.Deadline
		if c.ExpiresAt.IsZero() {
			questions, err := w.round(c)
			if err != nil {
				return err
			}
			for _, q := range questions {
				c.ExpiresAt = later(c.ExpiresAt, q.ExpiresAt)
			}
		}
	case Blocked:
		c.ExpiresAt = sooner(w.now.Add(w.in.options.BlockedTime), c.Deadline)
		e := w.auditCall(AuditBlocked, c)
		e.State, e.Reason, e.Round = string(c.State), c.Reason, c.Round
		if err := w.audit(e); err != nil {
			return err
		}
	default:
		c.ExpiresAt = time.Time{}
	}
	if to.Ended() {
		c.Ended = w.now
	}
	if !to.Ended() && to != Uncertain {
		return nil
	}
	c.Held = false
	if err := w.closeRest(c); err != nil {
		return err
	}
	if to == Uncertain {
		if err := w.drop(c); err != nil {
			return err
		}
	}
	return w.auditEnd(c)
}

// endApproval closes the approval that a call waited for, if nobody decided it.
func (w *work) endApproval(c *callRecord) error {
	ids := []ApprovalID{c.Approval}
	if c.lost { // which one it was is lost too
		rows, err := w.tx.Approvals(ApprovalQuery{Call: c.ID, States: []ApprovalState{ApprovalOpen}})
		if err != nil {
			return err
		}
		ids = nil
		for _, row := range rows {
			ids = append(ids, row.ID)
		}
	}
	to := ApprovalWithdrawn
	if c.State == CallExpired || c.State == Uncertain { // nobody decided in time
		to = ApprovalExpired
	}
	for _, id := range ids {
		a, err := w.anyApproval(id)
		if err != nil {
			return err
		}
		if a.State.Closed() {
			continue
		}
		if err := w.closeApproval(a, to); err != nil {
			return err
		}
	}
	return nil
}

// closeRest closes the open questions of a call that ended or lost its connection.
func (w *work) closeRest(c *callRecord) error {
	questions, err := w.asked(c.ID)
	if err != nil {
		return err
	}
	for _, q := range questions {
		if q.State.Closed() {
			continue
		}
		to, by := Withdrawn, ByCallEnd
		switch {
		case c.State == Stopped:
			by = ByStop
		case c.State == CallExpired:
			to, by = Expired, ByExpiry
		case c.State == Denied:
			by = ByPolicy
		case c.State == Interrupted, c.State == Uncertain:
			by = ByHostStopped
		}
		if err := w.closeQuestion(q, to, by); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) moveQuestion(q *questionRecord, to QuestionState) error {
	if err := follow(questionArrows, q.State, to); err != nil {
		return fmt.Errorf("%w (question %s)", err, q.ID)
	}
	q.State = to
	w.touchQuestion(q)
	return nil
}

func (w *work) closeQuestion(q *questionRecord, to QuestionState, by Closer) error {
	if err := w.moveQuestion(q, to); err != nil {
		return err
	}
	q.ClosedBy, q.Closed = by, w.now
	if by == ByPerson {
		return nil // an answer has an entry of its own
	}
	e := w.auditQuestion(AuditClosed, q)
	e.State, e.Reason = string(to), string(by)
	return w.audit(e)
}

// reopen makes a closed question answerable again.
func (w *work) reopen(q *questionRecord, to QuestionState) error {
	if err := w.moveQuestion(q, to); err != nil {
		return err
	}
	q.Answer, q.ClosedBy, q.Closed = nil, "", time.Time{}
	return nil
}

// settle moves a waiting call on if its round is complete, and not before
// (MCP 2026-07-28 mrtr, "Client Requirements" C1).
func (w *work) settle(c *callRecord) error {
	if c.State != Waiting {
		return nil // held: each answer goes alone; blocked: settled when unblocked
	}
	open, expired, err := w.tally(c)
	switch {
	case err != nil:
		return err
	case open > 0:
		return nil
	case expired:
		return w.moveCall(c, CallExpired, ReasonUnanswered, "Nobody answered in time. "+c.unsent())
	}
	return w.moveCall(c, Ready, "", "")
}

// tally counts the open questions of the round and says whether all expired.
func (w *work) tally(c *callRecord) (open int, expired bool, err error) {
	questions, err := w.round(c)
	if err != nil {
		return 0, false, err
	}
	expired = len(questions) > 0
	for _, q := range questions {
		if !q.State.Closed() {
			open++
		}
		if q.State != Expired {
			expired = false
		}
	}
	return open, expired, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// sooner returns the earlier of two times; the zero time is none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// passed reports whether the time is set and has come.
func (w *work) passed(t time.Time) bool { return !t.IsZero() && !w.now.Before(t) }
