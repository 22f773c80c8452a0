package inbox

import (
	"context"
	"errors"
	"time"
)

// Ask is what a host does when its policy asks before a send: before the mark
// of a claimed call, the first as every later one, and before an answer to a
// held question is delivered. The state of the returned call says how it goes on:
//
//   - as it was: somebody has allowed exactly this. It is the call's own
//     approval, given for the same fingerprint by who has to decide now, or a
//     standing one, where the policy offers that scope;
//   - approving: an approval is open, and the claim is over. Answers that were
//     given stay; the approval names their questions;
//   - denied, or uncertain after a delivery: the call was held. There is no way to wait on an
//     open connection for a decision that may take a day, so a policy that asks
//     anew there counts as one that denies, with the reason needs_approval.
func (in *Inbox) Ask(ctx context.Context, claim *Claim, ask Ask) (*Call, error) {
	if err := ask.check(); err != nil {
		return nil, err
	}
	return in.with(ctx, claim, "ask", claimedOrSent, func(w *work, c *callRecord) error {
		fits, err := w.permitted(c, &ask)
		if err != nil || fits {
			return err
		}
		if c.State == Sent {
			return w.deny(c, ReasonNeedsApproval, "It needed an approval before it could go on.")
		}
		if w.passed(c.Deadline) {
			return w.expireCall(c)
		}
		return w.ask(c, &ask)
	})
}

// Deny is what a host does when its policy forbids what it is about to send:
// a claimed call ends denied, and so does a held one of which no answer was
// delivered; what was answered is not sent. After a delivery the call has run in
// part: it becomes uncertain, and the answer stays where it is. So does a claimed call
// of which an earlier send may have happened.
func (in *Inbox) Deny(ctx context.Context, claim *Claim, d Denial) (*Call, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	return in.with(ctx, claim, "deny", claimedOrSent, func(w *work, c *callRecord) error {
		c.Rule = d.Rule
		return w.deny(c, ReasonDenied, d.sentence())
	})
}

func (d *Denial) sentence() string {
	if d.Reason == "" {
		return "The rules of this host do not allow it."
	}
	return d.Reason
}

func (w *work) deny(c *callRecord, reason, sentence string) error {
	switch {
	case c.State == Sent && !c.asked():
		return &StateError{Call: c.ID, State: c.State, Op: "deny"}
	case c.State == Sent && c.Delivered > 0:
		return w.moveCall(c, Uncertain, reason, sentence+" What was answered before may have taken effect.")
	}
	if c.State == Claimed {
		return w.giveUp(c, Denied, reason, sentence)
	}
	return w.moveCall(c, Denied, reason, sentence+" "+c.unsent())
}

// ask opens an approval and lets the call wait for it.
func (w *work) ask(c *callRecord, ask *Ask) error {
	if err := w.enabled(); errors.Is(err, ErrDisabled) {
		return w.cutOff(c)
	} else if err != nil {
		return err
	}
	a := &approvalRecord{Approval: Approval{
		ID: ApprovalID(randomID("a_")), Call: c.ID, Principal: w.principal, Conversation: c.Conversation, Server: c.Server,
		Actor: c.Actor, Method: c.Method, Tool: c.Name, Arguments: c.Arguments, Description: ask.Description,
		Fingerprint: ask.Fingerprint, Rule: ask.Rule, Reason: ask.Reason, Assignee: ask.Assignee, NotAsker: ask.NotAsker,
		Offer: ask.offers(c.Conversation), State: ApprovalOpen, Created: w.now,
	}}
	if ask.Tool != nil {
		known, err := w.toolsSeen(c.Server)
		if err != nil {
			return err
		}
		now := seenNow(ask.Tool)
		a.Changed, a.tool = known.change(ask.Tool), &now
	}
	if c.Round > 0 {
		questions, err := w.round(c)
		if err != nil {
			return err
		}
		for _, q := range questions {
			if q.Answer != nil {
				a.Answered = append(a.Answered, AnsweredQuestion{Question: q.ID, Message: clip(q.Message)})
			}
		}
	}
	wait := ask.Time
	orTime(&wait, w.in.options.ApprovalTime)
	a.ExpiresAt = sooner(w.now.Add(wait).UTC().Truncate(time.Microsecond), c.Deadline)
	a.remind = w.remindAt(a.ExpiresAt)
	keep(&w.approvals, a.ID, a)
	w.touchApproval(a)
	c.Approval = a.ID
	if err := w.audit(w.auditApproval(AuditApprovalAsked, a)); err != nil {
		return err
	}
	if err := w.moveCall(c, Approving, "", ask.Reason); err != nil {
		return err
	}
	c.ExpiresAt = a.ExpiresAt
	return nil
}

// Allowed is by what a policy lets something of a call leave. The trail tells it.
type Allowed struct {
	Rule string // the name of the rule that allows it; of one that asks, see Ask

	// Ask is what a rule that asks wants allowed, as [Inbox.Ask] was told just before.
	// What allowed it is looked at again with the mark.
	Ask *Ask
}

func (a *Allowed) check() error {
	if a == nil {
		return nil
	}
	if a.Ask != nil {
		return a.Ask.check()
	}
	return checkText("the rule", a.Rule)
}

// authority is by what something of a call leaves: a rule of the policy and, if that
// one asks, the approval that was given for it.
type authority struct {
	rule     string
	approval ApprovalID
}

// allowed returns by what something of the call leaves now; fits says whether anything
// does. Nil: no policy was asked.
func (w *work) allowed(c *callRecord, a *Allowed) (by authority, fits bool, err error) {
	switch {
	case a == nil:
		return authority{}, true, nil
	case a.Ask == nil:
		return authority{rule: a.Rule}, true, nil
	}
	fits, err = w.permitted(c, a.Ask)
	return authority{a.Ask.Rule, c.Approval}, fits, err
}

// tellMark tells that a call was marked to leave, where there is something to tell: that
// answers of a round go with it, or that something else allows it than before.
func (w *work) tellMark(c *callRecord, a *Allowed, by authority) error {
	kind := AuditDelivered
	switch {
	case c.asks > 0 && c.Era != Legacy: // the legacy era has no place for answers in a request
	case a != nil && by != c.told:
		kind = AuditAllowed
	default:
		return nil
	}
	e := w.auditCall(kind, c)
	e.Round, e.Rule, e.Approval = c.Round, by.rule, by.approval
	if kind == AuditDelivered {
		e.Count = c.asks
	}
	if a != nil {
		c.told = by
	}
	return w.audit(e)
}

// permitted reports whether somebody has allowed what the policy asks for.
func (w *work) permitted(c *callRecord, ask *Ask) (bool, error) {
	if c.Approval != "" {
		a, err := w.approval(c.Approval)
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUnreadable) { // neither allows anything
			return false, err
		}
		if err == nil && a.Call == c.ID && a.State == ApprovalAllowed && a.Fingerprint == ask.Fingerprint &&
			a.Assignee == ask.Assignee && (!ask.NotAsker || a.DecidedBy != w.principal) {
			return true, nil
		}
	}
	a, err := w.standing(c.Server, c.Name, ask.Fingerprint, c.Conversation, ask.offers(c.Conversation))
	if err != nil || a == nil {
		return false, err
	}
	if c.Approval != a.ID {
		c.Approval = a.ID
		w.touch(c)
	}
	return true, nil
}

// standing returns the newest approval that stands for the tool, in one of the
// scopes; nil if there is none.
func (w *work) standing(server, tool, fingerprint, conversation string, scopes []Scope) (*approvalRecord, error) {
	var keys []string
	for _, s := range scopes {
		switch {
		case fingerprint == "":
		case s == Always:
			keys = append(keys, standingKey(server, tool, fingerprint, ""))
		case conversation != "":
			keys = append(keys, standingKey(server, tool, fingerprint, conversation))
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	for query := (ApprovalQuery{Standing: keys, Limit: 1}); ; {
		rows, err := w.tx.Approvals(query)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		a, err := w.adoptApproval(rows[0])
		if err != nil || a.fault == nil {
			return a, err
		}
		query.Before = a.Seq // what cannot be read allows nothing; an older one may
	}
}
