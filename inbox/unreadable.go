package inbox

import (
	"errors"
	"reflect"
	"time"
)

// ErrUnreadable: what is stored in the row cannot be read: it is damaged, or sealed
// with a key that is not here ([ErrSealed]). The error names the row, and nothing of
// what is in it.
//
// One such row is no reason to keep a person from the others. Lists have it with its
// id, its state and Unreadable, and without what was sealed; [Inbox.Call],
// [Inbox.Question] and [Inbox.Approval] return the same beside the error. What only
// moves states works on it: it can be stopped, expires, is given up, revoked and
// removed. What needs the content is refused with this error. Its seal stays as it is
// until its content is removed, since a key may come back.
var ErrUnreadable = errors.New("inbox: the row cannot be read")

// An unreadableError is why one row cannot be read.
type unreadableError struct {
	row string // its kind and id
	why error
}

func (e *unreadableError) Error() string        { return "inbox: " + e.row + ": " + e.why.Error() }
func (e *unreadableError) Unwrap() error        { return e.why }
func (e *unreadableError) Is(target error) bool { return target == ErrUnreadable }

var (
	errDamaged = errors.New("its row is damaged")
	errContent = errors.New("its content is damaged")
)

// contentGone stands where a sentence was that is sealed.
const contentGone = "What is stored of it cannot be read."

// open opens what is sealed in a row. The fault is what is wrong with this one; the
// error is one of the keys, and concerns all rows.
func (w *work) open(purpose, kind, id string, sealed []byte, content any) (plain []byte, within members, fault, err error) {
	plain, err = w.in.keys.Open(purpose, []string{w.key, id}, sealed)
	if errors.Is(err, ErrSealed) {
		return nil, nil, &unreadableError{kind + " " + id, err}, nil
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if within, err = w.decode(plain, content); err != nil {
		reflect.ValueOf(content).Elem().SetZero() // what was read before the damage
		return nil, nil, &unreadableError{kind + " " + id, errContent}, nil
	}
	return plain, within, nil, nil
}

// readable turns the fault of a row into an error, for what needs its content.
func readable[T interface{ unread() error }](record T, err error) (T, error) {
	if err == nil {
		if err = record.unread(); err != nil {
			var none T
			return none, err
		}
	}
	return record, err
}

func (c *callRecord) unread() error     { return c.fault }
func (q *questionRecord) unread() error { return q.fault }
func (a *approvalRecord) unread() error { return a.fault }

// dueOf puts the time at which a sweep comes, which stands in a column, in the place of
// those that went with a call's detail: it ends when it would have.
func (c *callRecord) dueOf(due time.Time) {
	switch c.State {
	case Claimed, Sent:
		c.LeaseUntil = due
	case Waiting:
		c.Deadline = due
	default:
		c.ExpiresAt = due
	}
}

// report logs once for each look which rows of it cannot be read.
func (in *Inbox) report(faults []string) {
	const most = 20 // ids in one line
	if len(faults) > 0 {
		in.log.Warn("inbox: rows cannot be read", "count", len(faults), "rows", faults[:min(len(faults), most)])
	}
}
