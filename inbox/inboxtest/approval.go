package inboxtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
)

var approvalTests = map[string]func(*kit){
	"every field":                 approvalFields,
	"filters":                     approvalFilters,
	"assigned":                    approvalAssigned,
	"allowed":                     approvalAllowed,
	"denied":                      approvalDenied,
	"denied by policy":            deniedByPolicy,
	"other people":                approvalOthers,
	"two deciders":                approvalRace,
	"same key":                    approvalKey,
	"expires":                     approvalExpires,
	"expires soon":                approvalWillExpire,
	"expired meets a decision":    approvalTooLate,
	"stopped":                     approvalStopped,
	"on resume":                   approvalResume,
	"on resume, past a deadline":  approvalDeadline,
	"denied on resume":            deniedOnResume,
	"held":                        approvalHeld,
	"always":                      approvalAlways,
	"conversation":                approvalConversation,
	"revoked before the mark":     approvalRevokedAtMark,
	"revoked before a delivery":   approvalRevokedAtDelivery,
	"not offered":                 approvalNotOffered,
	"another approver":            anotherApprover,
	"a group":                     approvalGroup,
	"assignee is told later":      toldLater,
	"retention":                   approvalRetention,
	"what nobody can ask":         approvalInvalid,
	"a page of assigned ones":     assignedPages,
	"run again is a call anew":    approvalRunAgain,
	"allowed once for all rounds": approvalRounds,
}

// ask is what a policy says.
func ask() *inbox.Ask {
	return &inbox.Ask{
		Fingerprint: "f1", Description: "Books a flight", Rule: "models ask", Reason: "A model wants to book.",
		Offer: []inbox.Scope{inbox.ForConversation, inbox.Always},
	}
}

// approving composes a call that waits for an approval.
func (k *kit) approving(a *inbox.Ask) (*inbox.Call, *inbox.Approval) {
	k.t.Helper()
	c := k.under(a)
	if c.State != inbox.Approving {
		k.t.Fatalf("composed as %s (%s)", c.State, c.Reason)
	}
	got, err := k.in.Approval(k.ctx, inbox.Approver{Principal: k.ann}, c.Approval)
	k.must("Approval", err)
	return c, got
}

func (k *kit) under(a *inbox.Ask) *inbox.Call {
	k.t.Helper()
	c, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{
		Conversation: "v_trip", Actor: inbox.Model, Server: "flights", Method: "tools/call", Name: "book",
		Arguments: json.RawMessage(`{"to": "Oslo"}`), Ask: a,
	})
	k.must("Compose", err)
	return c
}

func (k *kit) decide(who inbox.Principal, id inbox.ApprovalID, d inbox.Decision, groups ...string) *inbox.Approval {
	k.t.Helper()
	a, err := k.in.Decide(k.ctx, inbox.Approver{Principal: who, Groups: groups}, id, d)
	k.must("Decide", err)
	return a
}

func (k *kit) approval(id inbox.ApprovalID, want inbox.ApprovalState) *inbox.Approval {
	k.t.Helper()
	a, err := k.in.Approval(k.ctx, inbox.Approver{Principal: k.ann}, id)
	k.must("Approval", err)
	if a.State != want {
		k.t.Errorf("approval is %s, want %s", a.State, want)
	}
	return a
}

func approvalAllowed(k *kit) {
	c, a := k.approving(ask())
	now := micro(k.clock.Now())
	want := &inbox.Approval{
		ID: a.ID, Seq: a.Seq, Call: c.ID, Principal: k.ann, Conversation: "v_trip", Server: "flights", Actor: inbox.Model,
		Method: "tools/call", Tool: "book", Arguments: json.RawMessage(`{"to": "Oslo"}`), Description: "Books a flight", Fingerprint: "f1",
		Rule: "models ask", Reason: "A model wants to book.", Offer: []inbox.Scope{inbox.ForConversation, inbox.Always},
		State: inbox.ApprovalOpen, Version: 1, Created: now, ExpiresAt: now.Add(24 * time.Hour),
	}
	if diff := cmp.Diff(want, a); diff != "" {
		k.t.Errorf("approval (-want +got):\n%s", diff)
	}
	if !c.ExpiresAt.Equal(a.ExpiresAt) || c.Detail != "A model wants to book." {
		k.t.Errorf("approving: %+v", c)
	}
	_, _, err := k.in.Claim(k.ctx, k.ann, c.ID)
	k.is("Claim of what was not allowed", err, inbox.ErrState)
	k.clock.advance(time.Minute)
	got := k.decide(k.ann, a.ID, inbox.Decision{Allow: true, Via: "inbox", Assurance: "signed-in page"})
	want.State, want.Scope, want.DecidedBy, want.Via, want.Assurance = inbox.ApprovalAllowed, inbox.Once, k.ann, "inbox", "signed-in page"
	want.Version, want.Closed = 2, micro(k.clock.Now())
	if diff := cmp.Diff(want, got); diff != "" {
		k.t.Errorf("allowed (-want +got):\n%s", diff)
	}
	k.state(c.ID, inbox.Ready)
	claim, _, err := k.in.ClaimNext(k.ctx, nil)
	k.must("ClaimNext", err)
	// The policy is asked again before the send, and this is what it asks for.
	if c, err := k.in.Ask(k.ctx, claim, *ask()); err != nil || c.State != inbox.Claimed {
		k.t.Errorf("Ask = %+v, %v", c, err)
	}
	events, err := k.in.Events(k.ctx, k.ann, 0, 0)
	k.must("Events", err)
	var kinds []inbox.EventKind
	for _, e := range events {
		if kinds = append(kinds, e.Kind); e.Kind == inbox.ApprovalEvent && e.ID != string(a.ID) {
			k.t.Errorf("an event of %s", e.ID)
		}
	}
	if n := len(slices.DeleteFunc(kinds, func(e inbox.EventKind) bool { return e != inbox.ApprovalEvent })); n != 2 {
		k.t.Errorf("%d events of an approval that was asked and decided", n)
	}
}

func approvalDenied(k *kit) {
	c, a := k.approving(ask())
	if got := k.decide(k.ann, a.ID, inbox.Decision{Scope: inbox.Always}); got.State != inbox.ApprovalDenied || got.Scope != "" || got.Standing {
		k.t.Errorf("denied: %+v", got)
	}
	if got := k.state(c.ID, inbox.Denied); got.Reason != inbox.ReasonNotAllowed || got.Detail != "You did not allow it. Nothing was sent." || got.Ended.IsZero() {
		k.t.Errorf("denied: %+v", got)
	}
	_, err := k.in.Decide(k.ctx, inbox.Approver{Principal: k.ann}, a.ID, inbox.Decision{Allow: true})
	var decided *inbox.DecidedError
	if !errors.As(err, &decided) || decided.State != inbox.ApprovalDenied || decided.Approval != a.ID {
		k.t.Errorf("Decide again: %v", err)
	}
	k.state(c.ID, inbox.Denied)
}

func deniedByPolicy(k *kit) {
	c, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{
		Server: "flights", Method: "tools/call", Name: "book", Deny: &inbox.Denial{Rule: "no flights", Reason: "Nobody books here."},
	})
	k.must("Compose", err)
	if c.State != inbox.Denied || c.Reason != inbox.ReasonDenied || c.Rule != "no flights" || c.Detail != "Nobody books here. Nothing was sent." {
		k.t.Errorf("denied: %+v", c)
	}
	if got := k.state(c.ID, inbox.Denied); got.Rule != "no flights" {
		k.t.Errorf("the rule is %q", got.Rule)
	}
	_, _, err = k.in.ClaimNext(k.ctx, nil)
	k.is("ClaimNext", err, inbox.ErrNothing)
}

func approvalRace(k *kit) {
	c, a := k.approving(ask())
	const n = 8
	results := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		in := k.on(k.store, fmt.Sprint("m", i))
		wg.Go(func() {
			_, results[i] = in.Decide(k.ctx, inbox.Approver{Principal: k.ann}, a.ID, inbox.Decision{Allow: i%2 == 0})
		})
	}
	wg.Wait()
	winner := -1
	for i, err := range results {
		switch {
		case err == nil && winner >= 0:
			k.t.Error("two decisions won")
		case err == nil:
			winner = i
		default:
			k.is("the other decision", err, inbox.ErrDecided)
		}
	}
	if winner < 0 {
		k.t.Fatal("nobody won")
	}
	want := map[bool]inbox.CallState{true: inbox.Ready, false: inbox.Denied}[winner%2 == 0]
	if got := k.state(c.ID, want); got.Version != 2 {
		k.t.Errorf("version %d", got.Version)
	}
}

func approvalKey(k *kit) {
	c, a := k.approving(ask())
	d := inbox.Decision{Allow: true, Key: "k1"}
	first := k.decide(k.ann, a.ID, d)
	if again := k.decide(k.ann, a.ID, d); again.Version != first.Version || again.State != inbox.ApprovalAllowed {
		k.t.Errorf("again: %+v", again)
	}
	_, err := k.in.Decide(k.ctx, inbox.Approver{Principal: k.ann}, a.ID, inbox.Decision{Key: "k1"})
	k.is("the same key for something else", err, inbox.ErrKeyReused)
	k.state(c.ID, inbox.Ready)
}

func approvalExpires(k *kit) {
	short := ask()
	short.Time = time.Hour
	c, a := k.approving(short)
	notice := a.ExpiresAt.Add(-15 * time.Minute) // it is told that it will expire
	if next := k.sweep(); !next.Equal(notice) {
		k.t.Errorf("the next sweep is planned for %v, want %v", next, notice)
	}
	k.clock.advance(time.Hour)
	k.sweep()
	if got := k.state(c.ID, inbox.CallExpired); got.Reason != inbox.ReasonNotDecided {
		k.t.Errorf("expired: %s", got.Reason)
	}
	if got := k.approval(a.ID, inbox.ApprovalExpired); got.DecidedBy != (inbox.Principal{}) {
		k.t.Errorf("time decided: %+v", got)
	}
}

// An approval that nobody has decided is told of before it expires: once, and no other
// one, and its assignee gets no event by it.
func approvalWillExpire(k *kit) {
	a := ask()
	a.Assignee.Principal = k.bob
	_, done := k.approving(a)
	k.decide(k.bob, done.ID, inbox.Decision{Allow: true})
	c, open := k.approving(a)
	before, err := k.in.LastEvent(k.ctx, k.bob)
	k.must("LastEvent", err)
	count := func() (n int) {
		entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Kinds: []inbox.AuditKind{inbox.AuditApprovalExpiring}})
		k.must("Audit", err)
		for _, e := range entries {
			if e.Approval != open.ID || e.Call != c.ID || e.Server != "flights" || e.Tool != "book" || e.State != "open" || e.Machine == "" {
				k.t.Errorf("told %+v", e)
			}
		}
		return len(entries)
	}
	k.sweep()
	if n := count(); n != 0 {
		k.t.Errorf("told %d times at the beginning", n)
	}
	k.clock.advance(18 * time.Hour)
	for range 2 {
		if next := k.sweep(); !next.Equal(open.ExpiresAt) {
			k.t.Errorf("next: %v, want %v", next, open.ExpiresAt)
		}
	}
	if n := count(); n != 1 {
		k.t.Errorf("told %d times", n)
	}
	if got := k.approval(open.ID, inbox.ApprovalOpen); got.Version != open.Version {
		k.t.Error("the approval has changed")
	}
	if last, err := k.in.LastEvent(k.ctx, k.bob); last != before || err != nil {
		k.t.Errorf("the assignee's last event is %d, was %d, %v", last, before, err)
	}
	k.clock.advance(6 * time.Hour)
	k.sweep()
	k.approval(open.ID, inbox.ApprovalExpired)
	if n := count(); n != 1 {
		k.t.Errorf("told %d times at the end", n)
	}
}

func approvalTooLate(k *kit) {
	c, a := k.approving(ask())
	k.clock.advance(24 * time.Hour)
	_, err := k.in.Decide(k.ctx, inbox.Approver{Principal: k.ann}, a.ID, inbox.Decision{Allow: true})
	var decided *inbox.DecidedError
	if !errors.As(err, &decided) || decided.State != inbox.ApprovalExpired {
		k.t.Errorf("Decide: %v", err)
	}
	k.state(c.ID, inbox.CallExpired)
}

func approvalStopped(k *kit) {
	c, a := k.approving(ask())
	if got := k.stop(c.ID); got.State != inbox.Stopped {
		k.t.Errorf("stopped: %+v", got)
	}
	k.approval(a.ID, inbox.ApprovalWithdrawn)
	_, err := k.in.Decide(k.ctx, inbox.Approver{Principal: k.ann}, a.ID, inbox.Decision{Allow: true})
	k.is("Decide after the stop", err, inbox.ErrDecided)
	k.state(c.ID, inbox.Stopped)
}

func approvalResume(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"), seat("b", "B?"))
	k.accept(questions[0])
	k.decline(questions[1])
	claim, _, err := k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	got, err := k.in.Ask(k.ctx, claim, *ask())
	if err != nil || got.State != inbox.Approving || got.Owner != "" {
		k.t.Fatalf("Ask = %+v, %v", got, err)
	}
	_, err = k.in.Mark(k.ctx, claim, inbox.Binding{})
	k.is("Mark", err, inbox.ErrFenced)
	a := k.approval(got.Approval, inbox.ApprovalOpen)
	want := []inbox.AnsweredQuestion{{Question: questions[0].ID, Message: "A?"}, {Question: questions[1].ID, Message: "B?"}}
	if !cmp.Equal(a.Answered, want) {
		k.t.Errorf("answered: %+v", a.Answered)
	}
	k.asked(questions[0].ID, inbox.Accepted)
	_, err = k.in.TakeBack(k.ctx, k.ann, questions[0].ID)
	k.is("TakeBack while an approval names the answer", err, inbox.ErrTooLate)
	k.decide(k.ann, a.ID, inbox.Decision{Allow: true})
	claim, _, err = k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	if got, err := k.in.Ask(k.ctx, claim, *ask()); err != nil || got.State != inbox.Claimed {
		k.t.Errorf("Ask after it was allowed = %+v, %v", got, err)
	}
	answers, err := k.in.Answers(k.ctx, claim)
	if err != nil || string(answers["a"]) != `{"action":"accept","content":{"seat":"12A"}}` {
		k.t.Errorf("answers: %s, %v", answers, err)
	}
	// The tool has changed meanwhile: what was allowed is something else.
	changed := ask()
	changed.Fingerprint = "f2"
	if got, err := k.in.Ask(k.ctx, claim, *changed); err != nil || got.State != inbox.Approving || got.Approval == a.ID {
		k.t.Errorf("Ask for a changed tool = %+v, %v", got, err)
	}
}

func approvalDeadline(k *kit) {
	claim, c := k.sent(inbox.Modern)
	_, err := k.in.Park(k.ctx, claim, inbox.Asked{Questions: []inbox.NewQuestion{seat("a", "A?")}, ExpiresAt: k.clock.Now().Add(time.Hour)})
	k.must("Park", err)
	k.accept(k.round(k.state(c.ID, inbox.Waiting))[0])
	claim, _, err = k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	got, err := k.in.Ask(k.ctx, claim, *ask())
	k.must("Ask", err)
	if a := k.approval(got.Approval, inbox.ApprovalOpen); !a.ExpiresAt.Equal(got.Deadline) {
		k.t.Errorf("the approval expires at %v, the server's deadline is %v", a.ExpiresAt, got.Deadline)
	}
	k.clock.advance(time.Hour)
	k.sweep()
	if got := k.state(c.ID, inbox.CallExpired); got.Reason != inbox.ReasonDeadline {
		k.t.Errorf("expired: %s", got.Reason)
	}
	k.approval(got.Approval, inbox.ApprovalExpired)
}

func deniedOnResume(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"))
	k.accept(questions[0])
	claim, _, err := k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	got, err := k.in.Deny(k.ctx, claim, inbox.Denial{Rule: "r"})
	if err != nil || got.State != inbox.Denied || got.Reason != inbox.ReasonDenied || got.Rule != "r" ||
		got.Detail != "The rules of this host do not allow it. No answer was sent." {
		k.t.Errorf("Deny = %+v, %v", got, err)
	}
	k.asked(questions[0].ID, inbox.Accepted) // what was answered stays on the record
	if sends := k.state(c.ID, inbox.Denied).Sends; sends != 1 {
		k.t.Errorf("%d sends", sends)
	}
	sent, _ := k.sent(inbox.Modern)
	_, err = k.in.Deny(k.ctx, sent, inbox.Denial{})
	k.is("Deny of what was sent and is not held", err, inbox.ErrState)
	_, err = k.in.Ask(k.ctx, sent, *ask())
	k.is("Ask of what was sent and is not held", err, inbox.ErrState)
}

func approvalHeld(k *kit) {
	claim, c, questions := k.held(seat("", "A?"), seat("", "B?"))
	k.accept(questions[0])
	got, err := k.in.Ask(k.ctx, claim, *ask())
	if err != nil || got.State != inbox.Denied || got.Reason != inbox.ReasonNeedsApproval || got.Held {
		k.t.Errorf("Ask of a held call = %+v, %v", got, err)
	}
	k.asked(questions[0].ID, inbox.Accepted)
	if q := k.asked(questions[1].ID, inbox.Withdrawn); q.ClosedBy != inbox.ByPolicy {
		k.t.Errorf("closed by %s", q.ClosedBy)
	}
	_, err = k.in.Deliver(k.ctx, claim, questions[0].ID, nil)
	k.is("Deliver", err, inbox.ErrFenced)
	k.state(c.ID, inbox.Denied)

	claim, c, questions = k.held(seat("", "A?"), seat("", "B?"))
	k.accept(questions[0])
	_, err = k.in.Deliver(k.ctx, claim, questions[0].ID, nil)
	k.must("Deliver", err)
	k.accept(questions[1])
	got, err = k.in.Deny(k.ctx, claim, inbox.Denial{Rule: "r"})
	if err != nil || got.State != inbox.Uncertain || got.Reason != inbox.ReasonDenied {
		k.t.Errorf("Deny after a delivery = %+v, %v", got, err)
	}
	if q := k.asked(questions[1].ID, inbox.Accepted); q.Delivery != inbox.Dropped {
		k.t.Errorf("the answer is %q", q.Delivery)
	}
	k.state(c.ID, inbox.Uncertain)

	// What was allowed when it was composed covers the answers that go out later.
	c, a := k.approving(ask())
	k.decide(k.ann, a.ID, inbox.Decision{Allow: true})
	claim, _, err = k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	_, err = k.in.Mark(k.ctx, claim, inbox.Binding{Era: inbox.Legacy})
	k.must("Mark", err)
	q, err := k.in.Hold(k.ctx, claim, seat("", "A?"))
	k.must("Hold", err)
	k.accept(q)
	if got, err := k.in.Ask(k.ctx, claim, *ask()); err != nil || got.State != inbox.Sent || !got.Held {
		k.t.Errorf("Ask of a held call that was allowed = %+v, %v", got, err)
	}
	_, err = k.in.Deliver(k.ctx, claim, q.ID, nil)
	k.must("Deliver", err)
}

func approvalInvalid(k *kit) {
	for name, change := range map[string]func(*inbox.Ask){
		"nobody else":      func(a *inbox.Ask) { a.NotAsker = true },
		"two assignees":    func(a *inbox.Ask) { a.Assignee = inbox.Assignee{Principal: k.bob, Group: "g"} },
		"half a principal": func(a *inbox.Ask) { a.Assignee.Principal.Tenant = "t" },
		"no text":          func(a *inbox.Ask) { a.Rule = "\xff" },
		"too long":         func(a *inbox.Ask) { a.Description = string(make([]byte, 5<<10)) },
		"unknown scope":    func(a *inbox.Ask) { a.Offer = []inbox.Scope{"forever"} },
	} {
		a := ask()
		change(a)
		_, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "s", Method: "m", Ask: a})
		k.is(name, err, inbox.ErrInvalid)
		claim, _ := k.claim()
		_, err = k.in.Ask(k.ctx, claim, *a)
		k.is(name, err, inbox.ErrInvalid)
	}
	_, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "s", Method: "m", Ask: ask(), Deny: &inbox.Denial{}})
	k.is("both", err, inbox.ErrInvalid)
	_, err = k.in.Assigned(k.ctx, inbox.Approver{}, inbox.AssignedFilter{})
	k.is("nobody looks", err, inbox.ErrInvalid)
	_, err = k.in.Assigned(k.ctx, inbox.Approver{Principal: k.bob, Groups: make([]string, 5000)}, inbox.AssignedFilter{})
	k.is("in all groups of the world", err, inbox.ErrInvalid)
}

func approvalRunAgain(k *kit) {
	c, a := k.approving(ask())
	k.decide(k.ann, a.ID, inbox.Decision{})
	again, err := k.in.RunAgain(k.ctx, k.ann, c.ID, "")
	k.must("RunAgain", err)
	claim, _, err := k.in.Claim(k.ctx, k.ann, again.ID)
	k.must("Claim", err)
	if got, err := k.in.Ask(k.ctx, claim, *ask()); err != nil || got.State != inbox.Approving || got.Approval == a.ID {
		k.t.Errorf("Ask = %+v, %v", got, err)
	}
}

func approvalRounds(k *kit) {
	c, a := k.approving(ask())
	k.decide(k.ann, a.ID, inbox.Decision{Allow: true})
	for range 3 {
		claim, _, err := k.in.Claim(k.ctx, k.ann, c.ID)
		k.must("Claim", err)
		if got, err := k.in.Ask(k.ctx, claim, *ask()); err != nil || got.State != inbox.Claimed {
			k.t.Fatalf("Ask = %+v, %v", got, err)
		}
		_, err = k.in.Mark(k.ctx, claim, inbox.Binding{Era: inbox.Modern})
		k.must("Mark", err)
		_, _, questions := k.park(claim, seat("a", "A?"))
		k.accept(questions[0])
	}
}
