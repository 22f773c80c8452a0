package inboxtest

import (
	"github.com/parley-mcp/parley/inbox"
)

func approvalAlways(k *kit) {
	_, a := k.approving(ask())
	always := k.decide(k.ann, a.ID, inbox.Decision{Allow: true, Scope: inbox.Always})
	if !always.Standing || always.Scope != inbox.Always {
		k.t.Errorf("always: %+v", always)
	}
	if c := k.under(ask()); c.State != inbox.Ready || c.Approval != a.ID {
		k.t.Errorf("covered: %+v", c)
	}
	for name, change := range map[string]func(*inbox.Ask){
		"changed":        func(a *inbox.Ask) { a.Fingerprint = "f2" },
		"unknown":        func(a *inbox.Ask) { a.Fingerprint = "" },
		"not offered":    func(a *inbox.Ask) { a.Offer = nil },
		"assigned":       func(a *inbox.Ask) { a.Assignee.Principal = k.bob },
		"to her herself": func(a *inbox.Ask) { a.Assignee.Principal = k.ann },
		"to a group":     func(a *inbox.Ask) { a.Assignee.Group, a.NotAsker = "admins", true },
	} {
		other := ask()
		change(other)
		if c := k.under(other); c.State != inbox.Approving {
			k.t.Errorf("%s: %s", name, c.State)
		}
	}
	for _, n := range []inbox.NewCall{{Server: "trains", Name: "book"}, {Server: "flights", Name: "cancel"}} {
		n.Method, n.Ask = "tools/call", ask()
		if c, err := k.in.Compose(k.ctx, k.ann, n); err != nil || c.State != inbox.Approving {
			k.t.Errorf("another tool: %+v, %v", c, err)
		}
	}
	bobs, err := k.in.Compose(k.ctx, k.bob, inbox.NewCall{Server: "flights", Method: "tools/call", Name: "book", Ask: ask()})
	if err != nil || bobs.State != inbox.Approving {
		k.t.Errorf("another person: %+v, %v", bobs, err)
	}
	query := inbox.StandingQuery{Server: "flights", Tool: "book", Fingerprint: "f1"}
	if got, err := k.in.StandingFor(k.ctx, k.ann, query); err != nil || got.ID != a.ID {
		k.t.Errorf("StandingFor = %+v, %v", got, err)
	}
	list, err := k.in.Approvals(k.ctx, k.ann, inbox.ApprovalFilter{Standing: true})
	if len(list) != 1 || err != nil || list[0].ID != a.ID {
		k.t.Errorf("Approvals that stand: %+v, %v", list, err)
	}
	// A call that was covered and not sent is asked about again once it is revoked.
	covered := k.under(ask())
	claim, _, err := k.in.Claim(k.ctx, k.ann, covered.ID)
	k.must("Claim", err)
	for range 2 {
		got, err := k.in.Revoke(k.ctx, k.ann, a.ID)
		k.must("Revoke", err)
		if got.Standing || got.State != inbox.ApprovalAllowed || got.Version != always.Version+1 {
			k.t.Errorf("revoked: %+v", got)
		}
	}
	if got, err := k.in.Ask(k.ctx, claim, *ask()); err != nil || got.State != inbox.Approving {
		k.t.Errorf("Ask after it was revoked = %+v, %v", got, err)
	}
	_, err = k.in.StandingFor(k.ctx, k.ann, query)
	k.is("StandingFor", err, inbox.ErrNotFound)
}

func approvalConversation(k *kit) {
	_, a := k.approving(ask())
	k.decide(k.ann, a.ID, inbox.Decision{Allow: true, Scope: inbox.ForConversation})
	if c := k.under(ask()); c.State != inbox.Ready {
		k.t.Errorf("in the same conversation: %s", c.State)
	}
	only := ask()
	only.Offer = []inbox.Scope{inbox.Always}
	if c := k.under(only); c.State != inbox.Approving {
		k.t.Errorf("where conversations are not offered any more: %s", c.State)
	}
	for _, conversation := range []string{"v_other", ""} {
		c, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Conversation: conversation, Server: "flights", Method: "tools/call", Name: "book", Ask: ask()})
		if err != nil || c.State != inbox.Approving {
			k.t.Errorf("in conversation %q: %+v, %v", conversation, c, err)
		}
		if conversation != "" {
			continue
		}
		_, err = k.in.Decide(k.ctx, inbox.Approver{Principal: k.ann}, c.Approval, inbox.Decision{Allow: true, Scope: inbox.ForConversation})
		k.is("for a conversation that there is none of", err, inbox.ErrInvalid)
	}
}

func approvalNotOffered(k *kit) {
	for name, change := range map[string]func(*inbox.Ask){
		"nothing is":       func(a *inbox.Ask) { a.Offer = nil },
		"nothing to bind":  func(a *inbox.Ask) { a.Fingerprint = "" },
		"decided by other": func(a *inbox.Ask) { a.Assignee.Principal = k.ann },
	} {
		a := ask()
		change(a)
		_, got := k.approving(a)
		if len(got.Offer) > 0 {
			k.t.Errorf("%s: offers %v", name, got.Offer)
		}
		_, err := k.in.Decide(k.ctx, inbox.Approver{Principal: k.ann}, got.ID, inbox.Decision{Allow: true, Scope: inbox.Always})
		k.is(name, err, inbox.ErrInvalid)
		k.approval(got.ID, inbox.ApprovalOpen)
		k.decide(k.ann, got.ID, inbox.Decision{Allow: true})
	}
}

func approvalRetention(k *kit) {
	_, once := k.approving(ask())
	_, always := k.approving(ask())
	k.decide(k.ann, once.ID, inbox.Decision{})
	k.decide(k.ann, always.ID, inbox.Decision{Allow: true, Scope: inbox.Always})
	claim, _, err := k.in.Claim(k.ctx, k.ann, always.Call)
	k.must("Claim", err)
	_, err = k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Failed})
	k.must("Finish", err)
	k.clock.advance(month)
	k.sweep()
	if got := k.approval(once.ID, inbox.ApprovalDenied); !got.Removed || got.Arguments != nil || got.Description != "" || got.Fingerprint != "" || got.Tool != "book" {
		k.t.Errorf("what is left: %+v", got)
	}
	if got := k.approval(always.ID, inbox.ApprovalAllowed); !got.Removed || got.Arguments != nil || !got.Standing || got.Description == "" {
		k.t.Errorf("what is left of one that stands: %+v", got)
	}
	if c := k.under(ask()); c.State != inbox.Ready {
		k.t.Errorf("it still stands, and the call is %s", c.State)
	}
	_, err = k.in.Revoke(k.ctx, k.ann, always.ID)
	k.must("Revoke", err)
	if got := k.approval(always.ID, inbox.ApprovalAllowed); got.Description != "" || got.Fingerprint != "" {
		k.t.Errorf("what is left after it was revoked: %+v", got)
	}
}

// stands gives an approval that covers what ask asks for, and a call that it covers.
func (k *kit) stands(scope inbox.Scope) (*inbox.Approval, *inbox.Call) {
	k.t.Helper()
	_, a := k.approving(ask())
	k.decide(k.ann, a.ID, inbox.Decision{Allow: true, Scope: scope})
	c := k.under(ask())
	if c.State != inbox.Ready || c.Approval != a.ID {
		k.t.Fatalf("covered: %+v", c)
	}
	return a, c
}

// permit claims a call, and its policy asks: it may go on.
func (k *kit) permit(id inbox.CallID) *inbox.Claim {
	k.t.Helper()
	claim, _, err := k.in.Claim(k.ctx, k.ann, id)
	k.must("Claim", err)
	if c, err := k.in.Ask(k.ctx, claim, *ask()); err != nil || c.State != inbox.Claimed {
		k.t.Fatalf("Ask = %+v, %v", c, err)
	}
	return claim
}

// approvalRevokedAtMark: what is revoked after the policy was asked does not let the
// call leave.
func approvalRevokedAtMark(k *kit) {
	for _, scope := range []inbox.Scope{inbox.Always, inbox.ForConversation} {
		a, c := k.stands(scope)
		claim := k.permit(c.ID)
		_, err := k.in.Revoke(k.ctx, k.ann, a.ID)
		k.must("Revoke", err)
		_, err = k.in.Mark(k.ctx, claim, inbox.Binding{Era: inbox.Modern, Allowed: &inbox.Allowed{Ask: ask()}})
		k.is("Mark", err, inbox.ErrRevoked)
		k.is("Mark", err, inbox.ErrFenced)
		got := k.state(c.ID, inbox.Approving)
		if got.Approval == a.ID || got.Sends != 0 {
			k.t.Errorf("after the mark was refused: %+v", got)
		}
		_, err = k.in.Mark(k.ctx, claim, inbox.Binding{Era: inbox.Modern})
		k.is("Mark with the old claim", err, inbox.ErrFenced)
		// Allowed anew, it goes.
		k.decide(k.ann, got.Approval, inbox.Decision{Allow: true})
		got, err = k.in.Mark(k.ctx, k.permit(c.ID), inbox.Binding{Era: inbox.Modern, Allowed: &inbox.Allowed{Ask: ask()}})
		if err != nil || got.State != inbox.Sent {
			k.t.Errorf("Mark = %+v, %v", got, err)
		}
	}
	// Another one that stands will do, and a policy that asks no more needs none.
	a, c := k.stands(inbox.Always)
	other, bare := k.permit(c.ID), k.permit(k.under(ask()).ID)
	_, again := k.approving(&inbox.Ask{Fingerprint: "f1", Rule: "again", Offer: []inbox.Scope{inbox.ForConversation}})
	k.decide(k.ann, again.ID, inbox.Decision{Allow: true, Scope: inbox.ForConversation})
	_, err := k.in.Revoke(k.ctx, k.ann, a.ID)
	k.must("Revoke", err)
	got, err := k.in.Mark(k.ctx, other, inbox.Binding{Era: inbox.Modern, Allowed: &inbox.Allowed{Ask: ask()}})
	if err != nil || got.State != inbox.Sent || got.Approval != again.ID {
		k.t.Errorf("Mark under another one = %+v, %v", got, err)
	}
	_, err = k.in.Revoke(k.ctx, k.ann, again.ID)
	k.must("Revoke", err)
	_, err = k.in.Mark(k.ctx, bare, inbox.Binding{Era: inbox.Modern})
	k.must("Mark of what is allowed without asking", err)
	_, err = k.in.Mark(k.ctx, bare, inbox.Binding{Allowed: &inbox.Allowed{Ask: &inbox.Ask{Rule: "\xff"}}})
	k.is("Mark with words that no approval holds", err, inbox.ErrInvalid)
}

// approvalRevokedAtDelivery: the same for an answer on an open connection.
func approvalRevokedAtDelivery(k *kit) {
	for delivered, end := range []inbox.CallState{inbox.Denied, inbox.Uncertain} {
		a, c := k.stands(inbox.Always)
		claim := k.permit(c.ID)
		_, err := k.in.Mark(k.ctx, claim, inbox.Binding{Era: inbox.Legacy, Allowed: &inbox.Allowed{Ask: ask()}})
		k.must("Mark", err)
		var last *inbox.Question
		for i := range delivered + 1 {
			last, err = k.in.Hold(k.ctx, claim, seat("", string(rune('A'+i))))
			k.must("Hold", err)
			k.accept(last)
			if i < delivered {
				_, err = k.in.Deliver(k.ctx, claim, last.ID, &inbox.Allowed{Ask: ask()})
				k.must("Deliver", err)
			}
		}
		if got, err := k.in.Ask(k.ctx, claim, *ask()); err != nil || got.State != inbox.Sent {
			k.t.Fatalf("Ask = %+v, %v", got, err)
		}
		_, err = k.in.Revoke(k.ctx, k.ann, a.ID)
		k.must("Revoke", err)
		_, err = k.in.Deliver(k.ctx, claim, last.ID, &inbox.Allowed{Ask: ask()})
		k.is("Deliver", err, inbox.ErrRevoked)
		k.is("Deliver", err, inbox.ErrFenced)
		if got := k.state(c.ID, end); got.Reason != inbox.ReasonNeedsApproval || got.Delivered != delivered {
			k.t.Errorf("after %d deliveries: %+v", delivered, got)
		}
		if q := k.asked(last.ID, inbox.Accepted); q.Delivery == inbox.Marked || q.Delivery == inbox.Delivered {
			k.t.Errorf("the answer is %q", q.Delivery)
		}
	}
}
