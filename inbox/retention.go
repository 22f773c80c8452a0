package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// remove deletes the content of an ended call: arguments, result, request
// state, and of its questions what was asked and answered. What stays is the
// record: who called which tool of which server, when, and how it ended. The
// row is written quietly: that something is old is no news.
func (w *work) remove(c *callRecord) error {
	questions, err := w.asked(c.ID)
	if err != nil {
		return err
	}
	for _, q := range questions {
		q.Removed, q.within = true, nil
		q.Key, q.Digest, q.Message, q.Params, q.URL, q.Suggested = "", "", "", nil, "", nil
		q.Note = "What was asked and answered is no longer kept."
		if q.Answer != nil {
			q.Answer.Content = nil
		}
		q.fault, q.Unreadable, q.plain = nil, q.lost, nil // a seal that does not open goes with the rest
		if q.dirty == clean {
			w.touched = append(w.touched, q)
			q.dirty = quiet
		}
	}
	approvals, err := w.tx.Approvals(ApprovalQuery{Call: c.ID})
	if err != nil {
		return err
	}
	for _, row := range approvals {
		a, err := w.adoptApproval(row)
		if err != nil {
			return err
		}
		w.removeApproval(a)
	}
	c.Removed, c.within = true, nil
	c.fault, c.Unreadable, c.plain = nil, c.lost, nil
	c.Endpoint, c.Fingerprint, c.Arguments, c.RequestState, c.Result, c.IdempotencyKey = "", "", nil, "", nil, ""
	c.EmptyState = false
	c.Detail = "What it contained is no longer kept."
	w.touchQuietly(c)
	return nil
}

// removeApproval deletes what was to be sent. Which tool a standing approval is
// about stays, until it is revoked.
func (w *work) removeApproval(a *approvalRecord) {
	a.Removed = true
	a.Arguments, a.Answered, a.Changed, a.tool = nil, nil, nil, nil
	if a.fault != nil {
		a.fault, a.Unreadable, a.plain = nil, a.lost, nil
		a.standing, a.Standing = "", false // it allows nothing any more
	}
	if !a.Standing {
		a.within = nil
		a.Description, a.Fingerprint, a.Reason = "", "", "What was to be sent is no longer kept."
	}
	w.touchApprovalQuietly(a)
}

// removeOld removes the content of the calls whose retention has passed.
func (in *Inbox) removeOld(ctx context.Context) error {
	return batches(ctx, func(after Ref, limit int) ([]Ref, error) {
		return in.store.Ended(ctx, in.options.Retention, after, limit)
	}, func(ref Ref) error {
		return in.update(ctx, ref.Principal, func(w *work) error {
			c, err := w.anyCall(ref.Call)
			if err != nil || c.Removed || !c.State.Ended() {
				return err
			}
			return w.remove(c)
		})
	})
}

// batches runs f on every row that list has. A row that fails does not keep it
// from the others.
func batches(ctx context.Context, list func(after Ref, limit int) ([]Ref, error), f func(Ref) error) error {
	const batch = 100
	var faults []error
	for after := (Ref{}); ; {
		refs, err := list(after, batch)
		if err != nil {
			return errors.Join(append(faults, err)...)
		}
		for _, ref := range refs {
			if err := f(ref); err != nil && !errors.Is(err, ErrNotFound) {
				faults = append(faults, err)
			}
			after = ref
		}
		if len(refs) < batch {
			return errors.Join(faults...)
		}
		if err := ctx.Err(); err != nil {
			return errors.Join(append(faults, err)...)
		}
	}
}

// Erase removes everything that is stored of a person: calls, questions,
// answers, approvals, events, keys, the audit entries about them, and that they
// were ever here. Calls that have not ended are gone too: whatever machine has
// one loses its claim, sends nothing more of it, closes its connection, and its
// late reply is dropped; what a server has received it has received. Rows that
// cannot be read are removed as well. One audit entry takes the place of all: that
// somebody was erased, when and by whom, with a digest of their key. A person who
// comes back begins anew: tokens and sign-ins of before have ended ([Inbox.TokenEnded]),
// for which a digest and the time are kept for [ErasedTime]. One who is disabled
// stays so, and for that alone their key stays too, until [Inbox.Enable] and another Erase.
//
// Approvals of other people's calls that they had to decide name nobody any
// more, and expire in their time. If Erase fails, do it again. It needs no keys but
// for those digests: with other keys than the store's, tokens are not ended.
func (in *Inbox) Erase(ctx context.Context, p Principal) error {
	if err := p.check(); err != nil {
		return err
	}
	// Before, so that no crash leaves a token of somebody who was erased; and after,
	// for those that were issued meanwhile.
	if err := in.endTokens(ctx, p); err != nil {
		return err
	}
	err := in.update(ctx, p.Key(), func(w *work) error {
		w.hints = append(w.hints, Hint{Principal: w.key}) // whoever waits for one of them looks
		w.source.Remote, w.source.UserAgent = "", ""      // they may be the person's own
		last, err := w.auditRow(AuditEntry{Kind: AuditErased, Digest: w.in.keys.Digest(AuditPurpose, nil, []byte(w.key))})
		if err != nil {
			return err
		}
		return w.tx.Erase(last)
	})
	if err != nil {
		return err
	}
	if err := in.endTokens(ctx, p); err != nil {
		return err
	}
	return batches(ctx, func(after Ref, limit int) ([]Ref, error) {
		return in.store.Assigned(ctx, AssignedQuery{Assignees: []string{p.Key()}, After: after.Approval, AfterTime: after.Due, Limit: limit})
	}, func(ref Ref) error {
		return in.update(ctx, ref.Principal, func(w *work) error { return w.forgetApprover(ref.Approval, p.Key()) })
	})
}

// erased stands where a person stood who was erased. Nobody signs in as it.
var erased = Principal{Issuer: "urn:parley:erased", Subject: "erased"}

// forgetApprover takes a person out of the approval of another one's call. It
// works on the row: the content is not needed.
func (w *work) forgetApprover(id ApprovalID, key string) error {
	row, err := w.tx.Approval(id)
	if err != nil {
		return err
	}
	var detail approvalDetail
	if err := json.Unmarshal(row.Detail, &detail); err != nil {
		detail = approvalDetail{Actor: Model, Lost: true} // they may be named in it
	}
	more, err := strangers(row.Detail, detail)
	if err != nil {
		more = nil
	}
	if detail.DecidedBy == key {
		detail.DecidedBy = erased.Key()
	}
	detail.Shown = nil // it has keys of those who saw it
	row.Assignee, row.Due = erased.Key(), time.Time{}
	if row.Detail, err = more.with(detail); err != nil {
		return err
	}
	return w.tx.PutApproval(row)
}
