package inbox

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Sweep does what time has made due: it expires questions and calls, ends
// leases that nobody renewed, and removes the content of calls that ended
// longer than Options.Retention ago, and old audit entries. Any machine may run it at any time. It
// returns when the next row becomes due, or a call that waits becomes ready;
// zero if nothing is planned (retention is not: look every few minutes anyway).
// A row that fails does not keep it from the others.
func (in *Inbox) Sweep(ctx context.Context) (next time.Time, err error) {
	faults := errors.Join(
		batches(ctx, func(after Ref, limit int) ([]Ref, error) { return in.store.Due(ctx, after, limit) },
			func(ref Ref) error { return in.sweep(ctx, ref) }),
		in.removeOld(ctx), in.trimAudit(ctx))
	next, err = in.store.NextDue(ctx)
	return next, errors.Join(faults, err)
}

func (in *Inbox) sweep(ctx context.Context, ref Ref) error {
	if ref.Approval != "" {
		return in.tell(ctx, ref.Principal, ref.Approval)
	}
	return in.update(ctx, ref.Principal, func(w *work) error {
		w.machine = true
		if ref.Question != "" {
			q, err := w.question(ref.Question)
			if err != nil {
				return err
			}
			c, err := w.call(q.Call)
			if err != nil {
				return err
			}
			if err := w.remindDue(q); err != nil {
				return err
			}
			return w.expireDue(c, q)
		}
		c, err := w.call(ref.Call)
		if err != nil || !w.passed(c.due()) {
			return err
		}
		switch c.State {
		case Claimed, Sent:
			return w.endLease(c)
		case Blocked:
			if !w.passed(c.ExpiresAt) {
				return w.unblock(c) // its server is tried again
			}
			return w.expireCall(c)
		case Ready, Waiting, Approving:
			return w.expireCall(c)
		}
		return nil
	})
}

// endLease decides what becomes of a call whose owner is gone.
func (w *work) endLease(c *callRecord) error {
	switch {
	case c.State == Claimed:
		c.Deaths++
		if c.Deaths >= maxDeaths {
			return w.moveCall(c, Failed, ReasonDeadClaims, "Whatever tried to send it died, eight times. "+c.unsent())
		}
		return w.moveCall(c, Ready, "", "")
	case c.Held && c.Delivered == 0:
		return w.moveCall(c, Interrupted, ReasonHostStopped, "Its connection was lost while you were asked. No answer was delivered; your answers are kept.")
	}
	return w.lose(c, ReasonLostOwner, "Whatever had sent it is gone. It may have happened.")
}

// Recover ends at once the leases of earlier lives of this machine: those
// whose owner is Options.Owner with another incarnation. Without it they end
// by themselves after Options.Lease.
//
// It is sound only while the caller holds an exclusive lock that every process
// with this Options.Owner takes before it opens an inbox, such as the lock of
// the data directory: then no earlier life can still be sending.
func (in *Inbox) Recover(ctx context.Context) (int, error) {
	const batch = 100
	var faults []error
	n := 0
	for after := CallID(""); ; {
		refs, err := in.store.Owned(ctx, in.machine, after, batch)
		if err != nil {
			return n, errors.Join(append(faults, err)...)
		}
		for _, ref := range refs {
			ended := false
			err := in.update(ctx, ref.Principal, func(w *work) error {
				ended, w.machine = false, true
				c, err := w.call(ref.Call)
				if err != nil || c.Owner == in.owner || !strings.HasPrefix(c.Owner, in.machine) {
					return err
				}
				ended = true
				return w.endLease(c)
			})
			if err != nil {
				faults = append(faults, err)
			} else if ended {
				n++
			}
			after = ref.Call
		}
		if len(refs) < batch {
			return n, errors.Join(faults...)
		}
		if err := ctx.Err(); err != nil {
			return n, errors.Join(append(faults, err)...)
		}
	}
}
