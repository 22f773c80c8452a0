package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Errors of those who decide.
var (
	// ErrNotDecider: somebody else decides this approval of the person's own call.
	ErrNotDecider = errors.New("inbox: somebody else decides this")
	// ErrDecided: the approval is closed. See [DecidedError].
	ErrDecided = errors.New("inbox: the approval is closed")
	// ErrRevoked: what allowed the call was revoked before it, or an answer of it, left.
	ErrRevoked = errors.New("inbox: the approval was revoked")
)

// DecidedError says how the approval was closed.
type DecidedError struct {
	Approval ApprovalID
	State    ApprovalState
	At       time.Time
	Via      string // of the decision, if there was one
}

func (e *DecidedError) Error() string { return "inbox: the approval is closed: " + string(e.State) }

// Is makes it match [ErrDecided].
func (e *DecidedError) Is(target error) bool { return target == ErrDecided }

// ApprovalFilter selects approvals; zero fields do not select.
type ApprovalFilter struct {
	Call         CallID
	Conversation string
	States       []ApprovalState
	Standing     bool  // only those that cover calls to come
	Before       int64 // the Seq of the last approval of the page before
	Limit        int   // default 100, at most 500
}

// Approvals lists those of the person's own calls, whoever decides, newest
// first, in pages like [Inbox.Calls].
func (in *Inbox) Approvals(ctx context.Context, p Principal, f ApprovalFilter) ([]*Approval, error) {
	list := []*Approval{}
	var faults []string
	err := in.view(ctx, p.Key(), func(w *work) error {
		list, faults = list[:0], nil
		rows, err := w.tx.Approvals(ApprovalQuery{
			Call: f.Call, Conversation: f.Conversation, States: f.States, Stands: f.Standing,
			Before: f.Before, Limit: pageSize(f.Limit),
		})
		if err != nil {
			return err
		}
		for _, row := range rows {
			a, err := w.adoptApproval(row)
			if err != nil {
				return err
			}
			list = append(list, &a.Approval)
			if a.fault != nil {
				faults = append(faults, string(a.ID))
			}
		}
		return nil
	})
	in.report(faults)
	return list, err
}

// AssignedFilter pages through [Inbox.Assigned].
type AssignedFilter struct {
	After     ApprovalID // the last approval of the page before
	AfterTime time.Time  // and its Created
	Limit     int        // default 100, at most 500
}

// Assigned lists the open approvals of other people's calls that the approver
// decides, in the order of (Created, ID).
func (in *Inbox) Assigned(ctx context.Context, who Approver, f AssignedFilter) ([]*Approval, error) {
	if err := who.check(); err != nil {
		return nil, err
	}
	limit := pageSize(f.Limit)
	list := []*Approval{}
	var faults []string
	defer func() { in.report(faults) }()
	for after := (Ref{Approval: f.After, Due: f.AfterTime}); ; {
		refs, err := in.store.Assigned(ctx, AssignedQuery{Assignees: who.keys(), Open: true, After: after.Approval, AfterTime: after.Due, Limit: limit})
		if err != nil {
			return nil, err
		}
		for _, ref := range refs {
			after = ref
			if ref.Principal == who.Principal.Key() {
				continue // it is in Approvals
			}
			a, err := in.readApproval(ctx, ref.Principal, ref.Approval)
			switch {
			case errors.Is(err, ErrNotFound):
				continue
			case errors.Is(err, ErrUnreadable):
				faults = append(faults, string(ref.Approval))
			case err != nil:
				return nil, err
			}
			if a.State == ApprovalOpen && a.MayDecide(who) {
				list = append(list, a)
			}
			if len(list) == limit {
				return list, nil
			}
		}
		if len(refs) < limit {
			return list, nil
		}
	}
}

func (in *Inbox) readApproval(ctx context.Context, key string, id ApprovalID) (*Approval, error) {
	var a *approvalRecord
	err := in.view(ctx, key, func(w *work) (err error) {
		a, err = w.anyApproval(id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &a.Approval, a.fault
}

// Approval returns one of the approver's own calls, or one that they decide, or
// could have decided. All others are ErrNotFound. One that cannot be read comes with
// [ErrUnreadable].
func (in *Inbox) Approval(ctx context.Context, who Approver, id ApprovalID) (*Approval, error) {
	key, err := in.locate(ctx, who, id)
	if err != nil {
		return nil, err
	}
	a, err := in.readApproval(ctx, key, id)
	if err != nil && !errors.Is(err, ErrUnreadable) {
		return nil, err
	}
	if a.Principal != who.Principal && !a.MayDecide(who) {
		return nil, ErrNotFound
	}
	return a, err
}

// locate finds whose call the approval belongs to. What is neither the
// approver's own nor assigned to them is not found: both stand in the query.
func (in *Inbox) locate(ctx context.Context, who Approver, id ApprovalID) (string, error) {
	if err := who.check(); err != nil {
		return "", err
	}
	own := who.Principal.Key()
	err := in.store.View(ctx, own, func(tx Tx) error {
		_, err := tx.Approval(id)
		return err
	})
	if err == nil || !errors.Is(err, ErrNotFound) {
		return own, err
	}
	refs, err := in.store.Assigned(ctx, AssignedQuery{Assignees: who.keys(), ID: id, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(refs) == 0 {
		return "", ErrNotFound
	}
	return refs[0].Principal, nil
}

// maxGroups bounds what one look-up asks a store for.
const maxGroups = 1000

func (a Approver) check() error {
	if err := a.Principal.check(); err != nil {
		return err
	}
	if len(a.Groups) > maxGroups {
		return fmt.Errorf("%w: more than %d groups", ErrInvalid, maxGroups)
	}
	return checkText("a group", a.Groups...)
}

// Decide allows or denies. Of two decisions one wins, and none after the
// approval has expired or its call has ended: the other gets a [DecidedError].
// The decision and what becomes of the call are one transaction, on the rows of
// the call's principal, whoever decides. Allowed calls are ready; denied ones
// have ended, or are uncertain: somebody else denied that one is sent again that may
// have happened.
func (in *Inbox) Decide(ctx context.Context, who Approver, id ApprovalID, d Decision) (*Approval, error) {
	if d.Allow && d.Scope == "" {
		d.Scope = Once
	}
	if !d.Allow {
		d.Scope = ""
	}
	if err := checkText("via or assurance", d.Via, d.Assurance); err != nil {
		return nil, err
	}
	owner, err := in.locate(ctx, who, id)
	if err != nil {
		return nil, err
	}
	// Of one who is being disabled meanwhile a decision counts as one before it.
	if disabled, err := in.Disabled(ctx, who.Principal); err != nil {
		return nil, err
	} else if disabled {
		return nil, ErrDisabled
	}
	var a *approvalRecord
	var refused error // committed beside it: the expiry that refuses the decision
	err = in.update(ctx, owner, func(w *work) error {
		refused = nil
		key, before, err := w.remembered("decide "+who.Principal.Key(), d.Key, string(id), strconv.FormatBool(d.Allow), string(d.Scope))
		if err != nil {
			return err
		}
		if a, err = w.anyApproval(id); err == nil && d.Allow { // to deny is possible in any case
			err = a.fault
		}
		if err != nil {
			return err
		}
		switch {
		case a.MayDecide(who):
		case a.Principal == who.Principal:
			return ErrNotDecider
		default:
			return ErrNotFound
		}
		if before != "" {
			return nil
		}
		c, err := w.anyCall(a.Call)
		if err == nil && d.Allow {
			err = c.fault
		}
		if err != nil {
			return err
		}
		if err := w.expireDue(c, nil); err != nil {
			return err
		}
		if a.State.Closed() {
			refused = &DecidedError{Approval: id, State: a.State, At: a.Closed, Via: a.Via}
			return nil
		}
		if err := w.decide(a, c, who.Principal, d); err != nil {
			return err
		}
		return w.remember(key, string(id))
	})
	if err = errors.Join(err, refused); err != nil {
		return nil, single(err)
	}
	return &a.Approval, nil
}

func (w *work) decide(a *approvalRecord, c *callRecord, by Principal, d Decision) error {
	a.DecidedBy, a.Via, a.Assurance = by, d.Via, d.Assurance
	w.source.By = by // what follows from it is theirs too
	if !d.Allow {
		if err := w.closeApproval(a, ApprovalDenied); err != nil {
			return err
		}
		if by != w.principal { // who knows nothing of an earlier send
			return w.giveUp(c, Denied, ReasonNotAllowed, "It was not allowed.")
		}
		return w.moveCall(c, Denied, ReasonNotAllowed, "You did not allow it. "+c.unsent())
	}
	a.Scope = d.Scope
	switch {
	case d.Scope == Once:
	case !slices.Contains(a.Offer, d.Scope):
		return fmt.Errorf("%w: this approval cannot be given for more than this call, or not for that much", ErrInvalid)
	case d.Scope == Always:
		a.standing = standingKey(a.Server, a.Tool, a.Fingerprint, "")
	default:
		a.standing = standingKey(a.Server, a.Tool, a.Fingerprint, a.Conversation)
	}
	a.Standing = a.standing != ""
	if a.tool != nil { // it was on the card
		if err := w.seeTools(a.Server, map[string]toolSeen{toolName(a.Tool): *a.tool}); err != nil {
			return err
		}
	}
	if err := w.closeApproval(a, ApprovalAllowed); err != nil {
		return err
	}
	c.told = authority{a.Rule, a.ID} // with the entry of the decision
	return w.moveCall(c, Ready, "", "")
}

// StandingQuery names a tool as [Ask] does.
type StandingQuery struct {
	Server       string
	Tool         string
	Fingerprint  string
	Conversation string // also one that was given for this conversation
}

// StandingFor returns the approval that stands for calls of the tool, or
// ErrNotFound. It is for explaining: [Inbox.Ask] and [Inbox.Compose] look
// themselves, in the transaction that goes on or not.
func (in *Inbox) StandingFor(ctx context.Context, p Principal, q StandingQuery) (*Approval, error) {
	var a *approvalRecord
	err := in.view(ctx, p.Key(), func(w *work) (err error) {
		if a, err = w.standing(q.Server, q.Tool, q.Fingerprint, q.Conversation, []Scope{ForConversation, Always}); err == nil && a == nil {
			err = ErrNotFound
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &a.Approval, nil
}

// Revoke ends what a standing approval covers: the calls to come, and those
// that have not been sent yet, up to their mark. The call that it was given for keeps
// it: stop that one. Revoking what does not stand changes nothing.
func (in *Inbox) Revoke(ctx context.Context, p Principal, id ApprovalID) (*Approval, error) {
	var a *approvalRecord
	err := in.update(ctx, p.Key(), func(w *work) (err error) {
		if a, err = w.anyApproval(id); err != nil || !a.Standing {
			return err
		}
		a.standing, a.Standing = "", false
		w.touchApproval(a)
		if err := w.audit(w.auditApproval(AuditApprovalRevoked, a)); err != nil {
			return err
		}
		c, err := w.anyCall(a.Call)
		if err != nil || !c.Removed {
			return err
		}
		w.removeApproval(a) // it was kept for what it covered
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &a.Approval, nil
}

// tell gives the assignee of an approval an event of its own: the principal's
// rows are another transaction, so a row that is not told yet is due, and
// [Inbox.Sweep] does what a machine that died here left undone. An event may
// come twice; it only says that there is something to look at.
func (in *Inbox) tell(ctx context.Context, owner string, id ApprovalID) error {
	a, err := in.readApproval(ctx, owner, id)
	if err != nil && !errors.Is(err, ErrUnreadable) { // it is told of that one too
		return err
	}
	if p := a.Assignee.Principal; p != (Principal{}) && p != a.Principal && p != erased {
		err := in.update(ctx, p.Key(), func(w *work) error {
			_, err := w.event(ApprovalEvent, string(id))
			w.hints = append(w.hints, Hint{Principal: w.key, Call: a.Call})
			return err
		})
		if err != nil {
			return err
		}
	}
	return in.update(ctx, owner, func(w *work) error {
		now, err := w.anyApproval(id)
		if err != nil {
			return err
		}
		now.told = max(now.told, a.Version)
		w.touchApprovalQuietly(now)
		return nil
	})
}
