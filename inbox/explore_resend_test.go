package inbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// resend is a machine that sends again by itself: for ever, or for as long as the
// server of the scene knows what it was sent.
func (e *explorer) resend(in *inbox.Inbox, w *world, claim *inbox.Claim) (*inbox.Call, error) {
	got, err := in.Resend(e.t.Context(), claim, 0, e.scene.known)
	if err != nil {
		return nil, err
	}
	w.ghost.open, w.ghost.until = 0, time.Time{}
	if e.scene.known > 0 {
		w.ghost.until = got.Created.Add(e.scene.known)
	}
	return got, nil
}

// tooLate holds a mark, which may have been refused with err, against the time until
// which the call may be sent again by itself.
func (e *explorer) tooLate(in *inbox.Inbox, w *world, err error) error {
	late := !w.ghost.until.IsZero() && !w.now.Before(w.ghost.until)
	if err == nil {
		if late {
			return errors.New("sent again by itself, and the server may have forgotten the send before")
		}
		return nil
	}
	if w.seen.call.State == inbox.Uncertain { // another machine's doing
		return err
	}
	c, broken := in.Call(e.t.Context(), e.ann, w.call)
	if broken != nil {
		return broken
	}
	if c.State != inbox.Uncertain {
		return err
	}
	if expired := w.passed(w.seen.call.Deadline) && c.Reason == inbox.ReasonDeadline; !expired && (!late || c.Reason != inbox.ReasonTooLateToResend) {
		return fmt.Errorf("a mark made it uncertain (%s), and it was not too late: %v", c.Reason, !late)
	}
	return err
}

// passed reports whether the time is set and has come.
func (w *world) passed(t time.Time) bool { return !t.IsZero() && !w.now.Before(t) }

// doubt takes back what was decided of a send without a reply, if the step has made the
// call uncertain again: the send may have run, as it may before it was to be repeated.
func (p *point) doubt(from *point) {
	if old := from.seen.call.State; p.seen.call.State == inbox.Uncertain && old != inbox.Uncertain && old != inbox.Sent {
		p.ghost.open, p.ghost.until = 1, time.Time{}
	}
}

// resendUntil is what the row has and the call does not show.
func (e *explorer) resendUntil(w *world) (until time.Time) {
	err := w.store.View(e.t.Context(), e.ann.Key(), func(tx inbox.Tx) error {
		row, err := tx.Call(w.call)
		if err != nil {
			return err
		}
		var detail struct {
			ResendUntil int64 `json:"resend_until"`
		}
		if err := json.Unmarshal(row.Detail, &detail); err == nil && detail.ResendUntil != 0 {
			until = time.UnixMicro(detail.ResendUntil).UTC()
		}
		return err
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return until
}
