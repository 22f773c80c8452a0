package inbox

import (
	"context"
	"errors"
)

// ErrDisabled: the person may not compose, answer or decide any more.
var ErrDisabled = errors.New("inbox: the person is disabled")

// Disable takes a person's access away. Their calls that wait, are ready,
// claimed, blocked or wait for an approval end denied, and so do held ones of
// which no answer was delivered. What has been sent goes on to what the wire
// says: a reply that ends it counts, and one that asks, or would have it sent
// again, ends it denied. Composing, answering, deciding and sending again are
// refused with [ErrDisabled]. Reading and stopping are not: a surface refuses
// the sign-in.
//
// It is a flag of the person that holds until [Inbox.Enable], for calls of
// before and after; disabling again goes on where a machine that died stopped.
func (in *Inbox) Disable(ctx context.Context, p Principal) error {
	if err := p.check(); err != nil {
		return err
	}
	if err := in.setDisabled(ctx, p, true); err != nil {
		return err
	}
	open := []CallState{Approving, Ready, Claimed, Sent, Waiting, Blocked}
	return in.pages(ctx, p, CallQuery{States: open}, func(w *work, c *callRecord) error { return w.cutOff(c) })
}

// Enable gives the access back. What has ended stays so.
func (in *Inbox) Enable(ctx context.Context, p Principal) error {
	if err := p.check(); err != nil {
		return err
	}
	return in.setDisabled(ctx, p, false)
}

// Disabled reports whether the person is disabled.
func (in *Inbox) Disabled(ctx context.Context, p Principal) (disabled bool, err error) {
	err = in.view(ctx, p.Key(), func(w *work) (err error) {
		disabled, err = w.tx.Disabled()
		return err
	})
	return disabled, err
}

func (in *Inbox) setDisabled(ctx context.Context, p Principal, disabled bool) error {
	kind := AuditEnabled
	if disabled {
		kind = AuditDisabled
	}
	return in.update(ctx, p.Key(), func(w *work) error {
		before, err := w.tx.Disabled()
		if err != nil || before == disabled {
			return err
		}
		if err := w.tx.SetDisabled(disabled); err != nil {
			return err
		}
		return w.audit(AuditEntry{Kind: kind})
	})
}

// enabled returns ErrDisabled for a person who is disabled.
func (w *work) enabled() error {
	disabled, err := w.tx.Disabled()
	if err == nil && disabled {
		err = ErrDisabled
	}
	return err
}

// cutOff ends a call of a disabled person, or leaves it to the wire.
func (w *work) cutOff(c *callRecord) error {
	switch {
	case c.State.Ended(), c.State == Uncertain:
		return nil
	case c.State != Sent, c.Held && c.Delivered == 0:
		return w.moveCall(c, Denied, ReasonDisabled, disabledSentence+c.unsent())
	}
	return w.withdrawOpen(c, ByPolicy)
}

const disabledSentence = "This person may not use it any more. "

// pages runs f on all of a person's calls that the query selects, a hundred in
// each transaction, newest first.
func (in *Inbox) pages(ctx context.Context, p Principal, q CallQuery, f func(*work, *callRecord) error) error {
	const page = 100
	q.Brief, q.Limit = true, page
	for {
		n := 0
		err := in.update(ctx, p.Key(), func(w *work) error {
			rows, err := w.tx.Calls(q)
			if err != nil {
				return err
			}
			n = len(rows)
			for _, row := range rows {
				c, err := w.anyCall(row.ID)
				if err != nil {
					return err
				}
				if err := f(w, c); err != nil {
					return err
				}
			}
			if n > 0 {
				q.Before = rows[n-1].Seq
			}
			return nil
		})
		if err != nil || n < page {
			return err
		}
	}
}
