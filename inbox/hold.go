package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Hold records a question that a legacy server asks on the open connection of
// a sent call. A LimitError is answered to the server as an error with its
// reason; with keeps_asking the call has also ended failed.
func (in *Inbox) Hold(ctx context.Context, claim *Claim, n NewQuestion) (*Question, error) {
	var q *questionRecord
	var refused error
	_, err := in.with(withAhead(ctx, newQuestions), claim, "hold", onlySent, func(w *work, c *callRecord) (err error) {
		refused = nil
		if c.Era == Modern {
			return fmt.Errorf("%w: a modern server asks with a result", ErrInvalid)
		}
		if c.StopWanted || errors.Is(w.enabled(), ErrDisabled) {
			return ErrStopped
		}
		if q, err = w.newQuestion(c, n); err != nil {
			return err
		}
		if q == nil {
			refused = &LimitError{Reason: ReasonTooLarge, Limit: maxParams}
			return w.refused(c.Server, 1, ReasonTooLarge)
		}
		if limit := lower(in.options.Rounds, claim.Limits.Rounds); c.rounds >= limit {
			refused = &LimitError{Reason: ReasonTooManyRounds, Limit: limit} // its host ends the call
			w.observe(refusedEntry(c.Server, ReasonTooManyRounds, 1))
			return nil
		}
		before, err := w.asked(c.ID)
		if err != nil {
			return err
		}
		declined, earlier := history(before, &q.Question)
		if declined >= 2 {
			refused = &LimitError{Reason: ReasonKeepsAsking, Limit: 2}
			return w.moveCall(c, Failed, ReasonKeepsAsking, "The server keeps asking what was declined before.")
		}
		over, err := w.overLimit(c, 1, claim.Limits)
		if err != nil {
			return err
		}
		if over != nil {
			refused = &over.LimitError
			return w.refused(c.Server, 1, over.kind)
		}
		if err := w.suggest(c, q, earlier); err != nil {
			return err
		}
		c.Era = Legacy
		c.Round++ // each held question is answered alone
		c.rounds++
		q.Round, q.Held = c.Round, true
		expires := w.now.Add(in.options.HeldTime)
		if !n.ExpiresAt.IsZero() {
			expires = n.ExpiresAt.UTC().Truncate(time.Microsecond)
		}
		w.expiresAt(q, expires)
		c.Held = true
		w.touch(c)
		return w.addQuestion(q)
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return nil, err
	}
	return q.copy(), nil
}

// AwaitAnswer waits until the held question is closed, in whatever way, or its
// time has passed: [Inbox.Deliver] says what to send. It does not extend the
// lease: that goes on beside it.
func (in *Inbox) AwaitAnswer(ctx context.Context, claim *Claim, id QuestionID) (*Question, error) {
	var closed *Question // nil while it waits: what was read is not kept for days
	key := claim.Principal.Key()
	err := in.await(ctx, key, claim.Call, func() (bool, error) {
		err := in.view(withAhead(ctx, Ahead{Question: id, Of: claim.Call, Call: true}), key, func(w *work) error {
			if _, err := w.claimed(claim); err != nil {
				return err
			}
			q, err := w.heldQuestion(claim, id)
			if err != nil {
				return err
			}
			if q.State.Closed() || w.passed(q.ExpiresAt) {
				closed = q.copy()
			}
			return nil
		})
		return closed != nil, err
	})
	if err != nil {
		return nil, err
	}
	return closed, nil
}

// AwaitStop waits until the person wants the call stopped: it returns nil if
// the machine should close the connection, ErrStopped if the call is stopped
// already, ErrFenced if the claim was lost. The call need not be readable.
func (in *Inbox) AwaitStop(ctx context.Context, claim *Claim) error {
	key := claim.Principal.Key()
	return in.await(ctx, key, claim.Call, func() (wanted bool, err error) {
		err = in.view(withAhead(ctx, Ahead{Of: claim.Call, Call: true}), key, func(w *work) error {
			c, err := w.anyCall(claim.Call)
			// Of one whose readable part is damaged the fence is lost with it, and the owner is not.
			if errors.Is(err, ErrNotFound) || err == nil && !c.lost && c.Fence != claim.fence {
				return ErrFenced
			}
			if err == nil {
				err, wanted = c.heldBy(claim), c.StopWanted
			}
			return err
		})
		return wanted, err
	})
}

func (w *work) heldQuestion(claim *Claim, id QuestionID) (*questionRecord, error) {
	q, err := w.question(id)
	if err != nil {
		return nil, err
	}
	if q.Call != claim.Call {
		return nil, ErrNotFound
	}
	return q, nil
}

// Deliver commits that the answer to a held question may leave, and returns
// it: it is called before the first byte. An expired question is answered with
// cancel. ErrOpen says that the answer was taken back, so await it again;
// ErrClosed that the question was withdrawn and nothing is delivered.
//
// allowed is what the policy said just before; nil: none was asked. If what somebody
// had allowed was revoked meanwhile, the call ends as with [Inbox.Ask], and nothing is
// delivered: [ErrRevoked].
func (in *Inbox) Deliver(ctx context.Context, claim *Claim, id QuestionID, allowed *Allowed) (*Answer, error) {
	if err := allowed.check(); err != nil {
		return nil, err
	}
	var q *questionRecord
	var refused error // committed beside it
	_, err := in.with(withAhead(ctx, Ahead{Question: id, Questions: true}), claim, "deliver", onlySent, func(w *work, c *callRecord) (err error) {
		refused = nil
		if c.StopWanted || errors.Is(w.enabled(), ErrDisabled) {
			return ErrStopped
		}
		if q, err = w.heldQuestion(claim, id); err != nil {
			return err
		}
		if !q.State.Closed() && w.passed(q.ExpiresAt) {
			if err := w.closeQuestion(q, Expired, ByExpiry); err != nil {
				return err
			}
		}
		switch {
		case !q.State.Closed():
			return ErrOpen
		case q.State == Withdrawn, q.Delivery == Dropped:
			return q.closed()
		case q.Delivery != Undelivered:
			return &StateError{Call: c.ID, State: c.State, Op: "to deliver an answer twice"}
		}
		by, fits, err := w.allowed(c, allowed)
		if err != nil {
			return err
		}
		if !fits {
			refused = fmt.Errorf("%w: %w", ErrFenced, ErrRevoked)
			return w.deny(c, ReasonNeedsApproval, "It needed an approval before it could go on.")
		}
		if allowed != nil {
			c.told = by
		}
		q.Delivery = Marked
		w.touchQuestion(q)
		c.Delivered++
		w.touch(c)
		e := w.auditQuestion(AuditDelivered, q)
		e.State, e.Count, e.Digest = string(q.State), 1, w.digest(string(q.ID), q.outcome().Content)
		e.Rule, e.Approval = by.rule, by.approval
		if err := w.audit(e); err != nil {
			return err
		}
		return w.holdings(c)
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return nil, err
	}
	return q.outcome(), nil
}

// Delivered records that the answer was written.
func (in *Inbox) Delivered(ctx context.Context, claim *Claim, id QuestionID) error {
	_, err := in.with(withAhead(ctx, Ahead{Question: id}), claim, "delivered", onlySent, func(w *work, c *callRecord) error {
		q, err := w.heldQuestion(claim, id)
		if err != nil {
			return err
		}
		switch q.Delivery {
		case Delivered:
			return nil
		case Marked:
			q.Delivery = Delivered
			w.touchQuestion(q)
			return nil
		}
		return &StateError{Call: c.ID, State: c.State, Op: "delivered without a mark"}
	})
	return err
}

// Withdraw records that the server cancelled its question. An answer that was
// given and not yet marked is dropped; the note says why, in one plain sentence. The
// question need not be readable.
func (in *Inbox) Withdraw(ctx context.Context, claim *Claim, id QuestionID, note string) error {
	if err := checkText("note", note); err != nil {
		return err
	}
	_, err := in.with(withAhead(ctx, Ahead{Question: id, Questions: true}), claim, "withdraw", onlySent, func(w *work, c *callRecord) error {
		q, err := w.anyQuestion(id)
		if err == nil && q.Call != claim.Call {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		switch {
		case !q.State.Closed():
			if err := w.closeQuestion(q, Withdrawn, ByServer); err != nil {
				return err
			}
		case q.State != Withdrawn && q.Delivery == Undelivered:
			q.Delivery = Dropped
			w.touchQuestion(q)
		default:
			return nil // too late to matter
		}
		if note != "" {
			q.Note = note
		}
		return w.holdings(c)
	})
	return err
}

// drop gives up the answers to held questions whose connection is gone with
// the call going on: they are never delivered.
func (w *work) drop(c *callRecord) error {
	questions, err := w.asked(c.ID)
	if err != nil {
		return err
	}
	for _, q := range questions {
		if q.Held && q.State.Closed() && q.State != Withdrawn && q.Delivery == Undelivered {
			q.Delivery = Dropped
			w.touchQuestion(q)
		}
	}
	return nil
}

// holdings sets Held: whether the server still waits for an answer.
func (w *work) holdings(c *callRecord) error {
	questions, err := w.asked(c.ID)
	if err != nil {
		return err
	}
	held := false // only called while the call is sent
	for _, q := range questions {
		if q.Held && q.State != Withdrawn && q.Delivery == Undelivered {
			held = true
		}
	}
	if held != c.Held {
		c.Held = held
		w.touch(c)
	}
	return nil
}
