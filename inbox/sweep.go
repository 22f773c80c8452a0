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
// returns how long it is until the next row becomes due, or a call that waits becomes
// ready; zero if nothing is planned (retention is not: look every few minutes anyway).
// It is a wait and no time, since the caller's clock may be another one than the store's.
// A row that fails does not keep it from the others. A lease of this inbox's own is ended
// only if nobody has renewed it for a whole lease after it was found run out: a machine
// that slept, or whose clock went forward, still has its calls.
func (in *Inbox) Sweep(ctx context.Context) (wait time.Duration, err error) {
	faults := errors.Join(
		batches(ctx, func(after Ref, limit int) ([]Ref, error) { return in.store.Due(ctx, after, limit) },
			func(ref Ref) error { return in.sweep(ctx, ref) }),
		in.removeOld(ctx), in.trimAudit(ctx))
	wait, err = in.store.NextDue(ctx)
	if own := in.ownLeases.next(in.options.Lease); own > 0 && (wait == 0 || own < wait) {
		wait = own
	}
	return wait, errors.Join(faults, err)
}

func (in *Inbox) sweep(ctx context.Context, ref Ref) error {
	if ref.Approval != "" {
		return in.sweepApproval(ctx, ref)
	}
	return in.update(ctx, ref.Principal, func(w *work) error {
		w.machine = true
		if ref.Question != "" {
			q, err := w.anyQuestion(ref.Question)
			if err != nil {
				return err
			}
			c, err := w.anyCall(q.Call)
			if err != nil {
				return err
			}
			if err := w.remindDue(q); err != nil {
				return err
			}
			return w.expireDue(c, q)
		}
		c, err := w.anyCall(ref.Call)
		if err != nil || !w.passed(c.due()) {
			return err
		}
		switch c.State {
		case Claimed, Sent:
			if c.Owner == in.owner && in.ownLeases.left(c, in.options.Lease) {
				return nil
			}
			return w.endLease(c)
		case Blocked:
			switch {
			case w.passed(c.ExpiresAt):
				return w.expireCall(c)
			case c.fault == nil:
				return w.unblock(c) // its server is tried again
			}
			// What cannot be read cannot be sent. Another machine may have its key.
			c.NotBefore = w.now.Add(lastRetry)
			w.touchQuietly(c)
			return nil
		case Ready, Waiting, Approving:
			return w.expireCall(c)
		}
		return nil
	})
}

// sweepApproval tells what a machine that died has not told, and that an approval will
// expire soon.
func (in *Inbox) sweepApproval(ctx context.Context, ref Ref) error {
	var untold bool
	err := in.update(ctx, ref.Principal, func(w *work) error {
		w.machine = true
		a, err := w.anyApproval(ref.Approval)
		if err != nil {
			return err
		}
		untold = a.untold()
		w.touchApprovalQuietly(a) // whatever made it due, it is planned anew
		return w.remindApprovalDue(a)
	})
	if err != nil || !untold {
		return err
	}
	return in.tell(ctx, ref.Principal, ref.Approval)
}

// endLease decides what becomes of a call whose owner is gone.
func (w *work) endLease(c *callRecord) error {
	switch {
	case c.State == Claimed:
		c.Deaths++
		if c.Deaths >= maxDeaths {
			return w.giveUp(c, Failed, ReasonDeadClaims, "Whatever tried to send it died, eight times.")
		}
		return w.moveCall(c, Ready, "", "")
	case c.Held && c.Delivered == 0:
		return w.moveCall(c, Interrupted, ReasonHostStopped,
			"Its connection was lost while you were asked. "+c.undelivered()+"; your answers are kept."+c.doubt())
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
				c, err := w.anyCall(ref.Call)
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
