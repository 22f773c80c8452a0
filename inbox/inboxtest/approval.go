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
	"expired meets a decision":    approvalTooLate,
	"stopped":                     approvalStopped,
	"on resume":                   approvalResume,
	"on resume, past a deadline":  approvalDeadline,
	"denied on resume":            deniedOnResume,
	"held":                        approvalHeld,
	"always":                      approvalAlways,
	"conversation":                approvalConversation,
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

func fullApproval(at time.Time) *inbox.ApprovalRow {
	return &inbox.ApprovalRow{
		ID: "a_1", Seq: 9, Call: "c_1", Conversation: "v_1", Server: "s", State: inbox.ApprovalOpen, Version: 2,
		Assignee: "i|t|bob", Standing: "d", Due: at.Add(time.Second), Created: at, Closed: at.Add(time.Hour), Detail: []byte(`{}`), Content: []byte{0, 255},
	}
}

func approvalFields(k *kit) {
	at := micro(k.clock.Now())
	row := fullApproval(at)
	for range 2 { // the second time replaces
		k.update("p", func(tx inbox.Tx) error { return tx.PutApproval(row) })
		for _, store := range []inbox.Store{k.store, k.handle()} {
			k.must("View", store.View(k.ctx, "p", func(tx inbox.Tx) error {
				got, err := tx.Approval("a_1")
				if err == nil {
					if diff := cmp.Diff(row, got); diff != "" {
						k.t.Errorf("approval (-want +got):\n%s", diff)
					}
				}
				return err
			}))
		}
		row = &inbox.ApprovalRow{
			ID: "a_1", Seq: 10, Call: "c_2", Conversation: "v_2", Server: "s2", State: inbox.ApprovalDenied, Version: 3,
			Created: at.Add(time.Second), Detail: []byte(`{"b":2}`), Content: []byte{3},
		}
	}
	// Another principal does not see it, and cannot write over it.
	k.update("q", func(tx inbox.Tx) error {
		_, err := tx.Approval("a_1")
		k.is("Approval of another principal", err, inbox.ErrNotFound)
		return tx.PutApproval(fullApproval(at))
	})
	k.view("p", func(tx inbox.Tx) error {
		got, err := tx.Approval("a_1")
		if err == nil && got.Seq != 10 {
			k.t.Errorf("another principal wrote %+v", got)
		}
		return err
	})
	if err := k.store.View(k.ctx, "p", func(tx inbox.Tx) error { return tx.PutApproval(row) }); err == nil {
		k.t.Error("a view wrote an approval")
	}
	k.update("p", func(tx inbox.Tx) error { return tx.Erase(&inbox.AuditRow{At: at}) })
	k.view("p", func(tx inbox.Tx) error {
		_, err := tx.Approval("a_1")
		k.is("Approval after Erase", err, inbox.ErrNotFound)
		return nil
	})
}

func approvalFilters(k *kit) {
	at := micro(k.clock.Now())
	k.update("p", func(tx inbox.Tx) error {
		for i := range int64(6) {
			row := &inbox.ApprovalRow{
				ID: inbox.ApprovalID(fmt.Sprintf("a_%d", 9-i)), Seq: 10 + i, Call: inbox.CallID(fmt.Sprint("c_", i%2)),
				Conversation: fmt.Sprint("v", i%3), State: inbox.ApprovalAllowed, Created: at,
			}
			if i == 5 {
				row.State = inbox.ApprovalOpen
			}
			if i < 3 {
				row.Standing = fmt.Sprint("d", i%2)
			}
			if err := tx.PutApproval(row); err != nil {
				return err
			}
		}
		return nil
	})
	for _, test := range []struct {
		q    inbox.ApprovalQuery
		want []int64
	}{
		{inbox.ApprovalQuery{}, []int64{15, 14, 13, 12, 11, 10}},
		{inbox.ApprovalQuery{Limit: 2}, []int64{15, 14}},
		{inbox.ApprovalQuery{Limit: 2, Before: 14}, []int64{13, 12}},
		{inbox.ApprovalQuery{Call: "c_1"}, []int64{15, 13, 11}},
		{inbox.ApprovalQuery{Conversation: "v1"}, []int64{14, 11}},
		{inbox.ApprovalQuery{States: []inbox.ApprovalState{inbox.ApprovalOpen, inbox.ApprovalDenied}}, []int64{15}},
		{inbox.ApprovalQuery{Standing: []string{"d0", "d9"}}, []int64{12, 10}},
		{inbox.ApprovalQuery{Standing: []string{""}}, nil},
		{inbox.ApprovalQuery{Stands: true}, []int64{12, 11, 10}},
		{inbox.ApprovalQuery{Stands: true, States: []inbox.ApprovalState{inbox.ApprovalOpen}}, nil},
	} {
		k.update("p", func(tx inbox.Tx) error {
			list, err := tx.Approvals(test.q)
			var got []int64
			for _, row := range list {
				got = append(got, row.Seq)
			}
			if !slices.Equal(got, test.want) {
				k.t.Errorf("%+v: %v, want %v", test.q, got, test.want)
			}
			return err
		})
	}
}

func approvalAssigned(k *kit) {
	at := micro(k.clock.Now())
	put := func(principal, id, assignee string, state inbox.ApprovalState, created, due time.Time) {
		k.update(principal, func(tx inbox.Tx) error {
			return tx.PutApproval(&inbox.ApprovalRow{ID: inbox.ApprovalID(id), Call: "c", State: state, Assignee: assignee, Created: created, Due: due})
		})
	}
	put("p", "a_1", "bob", inbox.ApprovalOpen, at.Add(time.Second), at.Add(time.Minute))
	put("q", "a_2", "bob", inbox.ApprovalOpen, at, time.Time{})
	put("p", "a_3", "group", inbox.ApprovalOpen, at.Add(2*time.Second), at)
	put("p", "a_4", "bob", inbox.ApprovalAllowed, at.Add(3*time.Second), time.Time{})
	put("q", "a_5", "", inbox.ApprovalOpen, at, time.Time{})
	find := func(q inbox.AssignedQuery) (ids []inbox.ApprovalID, last inbox.Ref) {
		refs, err := k.store.Assigned(k.ctx, q)
		k.must("Assigned", err)
		for _, ref := range refs {
			if ref.Call != "c" || ref.ID() != string(ref.Approval) {
				k.t.Errorf("found %+v", ref)
			}
			ids, last = append(ids, ref.Approval), ref
		}
		return ids, last
	}
	both := []string{"bob", "group"}
	for _, test := range []struct {
		q    inbox.AssignedQuery
		want []inbox.ApprovalID
	}{
		{inbox.AssignedQuery{Assignees: both, Limit: 9}, []inbox.ApprovalID{"a_2", "a_1", "a_3", "a_4"}},
		{inbox.AssignedQuery{Assignees: both, Open: true, Limit: 9}, []inbox.ApprovalID{"a_2", "a_1", "a_3"}},
		{inbox.AssignedQuery{Assignees: both, Open: true, Limit: 2}, []inbox.ApprovalID{"a_2", "a_1"}},
		{inbox.AssignedQuery{Assignees: both, After: "a_2", AfterTime: at, Limit: 9}, []inbox.ApprovalID{"a_1", "a_3", "a_4"}},
		{inbox.AssignedQuery{Assignees: both, ID: "a_4", Limit: 9}, []inbox.ApprovalID{"a_4"}},
		{inbox.AssignedQuery{Assignees: []string{"group"}, ID: "a_4", Limit: 9}, nil},
		{inbox.AssignedQuery{Assignees: []string{"", "carol"}, Limit: 9}, nil},
		{inbox.AssignedQuery{Limit: 9}, nil},
	} {
		if got, _ := find(test.q); !slices.Equal(got, test.want) {
			k.t.Errorf("%+v: %v, want %v", test.q, got, test.want)
		}
	}
	if _, ref := find(inbox.AssignedQuery{Assignees: both, ID: "a_2", Limit: 1}); ref.Principal != "q" || !ref.Due.Equal(at) {
		t := ref
		k.t.Errorf("found %+v", t)
	}
	due, err := k.store.Due(k.ctx, inbox.Ref{}, 9)
	if len(due) != 1 || err != nil || due[0].Approval != "a_3" || due[0].Principal != "p" {
		k.t.Errorf("Due = %+v, %v", due, err)
	}
	if next, err := k.store.NextDue(k.ctx); !next.Equal(at.Add(time.Minute)) || err != nil {
		k.t.Errorf("NextDue = %v, %v", next, err)
	}
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

func approvalOthers(k *kit) {
	_, a := k.approving(ask())
	for _, id := range []inbox.ApprovalID{a.ID, "a_none", ""} {
		for _, who := range []inbox.Approver{{Principal: k.bob}, {Principal: k.bob, Groups: []string{"", "admins", k.ann.Key()}}} {
			_, err := k.in.Approval(k.ctx, who, id)
			k.is("Approval by another", err, inbox.ErrNotFound)
			_, err = k.in.Decide(k.ctx, who, id, inbox.Decision{Allow: true})
			k.is("Decide by another", err, inbox.ErrNotFound)
			_, err = k.in.Revoke(k.ctx, who.Principal, id)
			k.is("Revoke by another", err, inbox.ErrNotFound)
			list, err := k.in.Assigned(k.ctx, who, inbox.AssignedFilter{})
			if len(list) != 0 || err != nil {
				k.t.Errorf("Assigned to another: %v, %v", list, err)
			}
		}
	}
	if list, err := k.in.Approvals(k.ctx, k.bob, inbox.ApprovalFilter{}); len(list) != 0 || err != nil {
		k.t.Errorf("Approvals of another: %v, %v", list, err)
	}
	k.approval(a.ID, inbox.ApprovalOpen)
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
	if next := k.sweep(); !next.Equal(a.ExpiresAt) {
		k.t.Errorf("the next sweep is planned for %v, want %v", next, a.ExpiresAt)
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
	_, err = k.in.Deliver(k.ctx, claim, questions[0].ID)
	k.is("Deliver", err, inbox.ErrFenced)
	k.state(c.ID, inbox.Denied)

	claim, c, questions = k.held(seat("", "A?"), seat("", "B?"))
	k.accept(questions[0])
	_, err = k.in.Deliver(k.ctx, claim, questions[0].ID)
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
	_, err = k.in.Deliver(k.ctx, claim, q.ID)
	k.must("Deliver", err)
}

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

func anotherApprover(k *kit) {
	a := ask()
	a.Assignee, a.NotAsker = inbox.Assignee{Principal: k.bob}, true
	c, open := k.approving(a)
	if !open.NotAsker || open.Assignee != a.Assignee {
		k.t.Errorf("assigned: %+v", open)
	}
	_, err := k.in.Decide(k.ctx, inbox.Approver{Principal: k.ann, Groups: []string{"admins"}}, open.ID, inbox.Decision{Allow: true})
	k.is("Decide by the asker", err, inbox.ErrNotDecider)
	bob := inbox.Approver{Principal: k.bob}
	list, err := k.in.Assigned(k.ctx, bob, inbox.AssignedFilter{})
	if len(list) != 1 || err != nil {
		k.t.Fatalf("Assigned: %+v, %v", list, err)
	}
	if diff := cmp.Diff(open, list[0]); diff != "" {
		k.t.Errorf("as the approver sees it (-asker +approver):\n%s", diff)
	}
	// The approver sees the card and nothing else of the asker's.
	_, err = k.in.Call(k.ctx, k.bob, c.ID)
	k.is("Call by the approver", err, inbox.ErrNotFound)
	if events, err := k.in.Events(k.ctx, k.bob, 0, 0); err != nil || len(events) != 1 || events[0].Kind != inbox.ApprovalEvent || events[0].ID != string(open.ID) {
		k.t.Errorf("the approver's events: %+v, %v", events, err)
	}
	got := k.decide(k.bob, open.ID, inbox.Decision{Allow: true, Via: "inbox", Key: "k"})
	if got.DecidedBy != k.bob || got.State != inbox.ApprovalAllowed {
		k.t.Errorf("decided: %+v", got)
	}
	if again := k.decide(k.bob, open.ID, inbox.Decision{Allow: true, Key: "k"}); again.Version != got.Version {
		k.t.Errorf("again: %+v", again)
	}
	if list, err := k.in.Assigned(k.ctx, bob, inbox.AssignedFilter{}); len(list) != 0 || err != nil {
		k.t.Errorf("Assigned after it: %+v, %v", list, err)
	}
	if got, err := k.in.Approval(k.ctx, bob, open.ID); err != nil || got.State != inbox.ApprovalAllowed {
		k.t.Errorf("the approver's own decision: %+v, %v", got, err)
	}
	if events, err := k.in.Events(k.ctx, k.bob, 0, 0); err != nil || len(events) != 2 {
		k.t.Errorf("the approver's events: %+v, %v", events, err)
	}
	claim, _, err := k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	// The same rule is met, and one that names somebody else is not.
	if got, err := k.in.Ask(k.ctx, claim, *a); err != nil || got.State != inbox.Claimed {
		k.t.Errorf("Ask = %+v, %v", got, err)
	}
	if got, err := k.in.Ask(k.ctx, claim, *ask()); err != nil || got.State != inbox.Approving {
		k.t.Errorf("Ask of the asker = %+v, %v", got, err)
	}

	_, open = k.approving(a)
	k.decide(k.bob, open.ID, inbox.Decision{})
	if got := k.state(open.Call, inbox.Denied); got.Detail != "It was not allowed. Nothing was sent." {
		k.t.Errorf("denied: %s", got.Detail)
	}
}

func approvalGroup(k *kit) {
	a := ask()
	a.Assignee, a.NotAsker = inbox.Assignee{Group: "admins"}, true
	_, open := k.approving(a)
	for name, who := range map[string]inbox.Approver{
		"no member":         {Principal: k.bob, Groups: []string{"admin", "admins|group", ""}},
		"of another tenant": {Principal: inbox.Principal{Issuer: k.bob.Issuer, Tenant: "south", Subject: "bob"}, Groups: []string{"admins"}},
		"of another issuer": {Principal: inbox.Principal{Issuer: "https://other.example", Tenant: "north", Subject: "bob"}, Groups: []string{"admins"}},
		"named like it":     {Principal: inbox.Principal{Issuer: k.bob.Issuer, Tenant: "north", Subject: "admins"}},
	} {
		_, err := k.in.Decide(k.ctx, who, open.ID, inbox.Decision{Allow: true})
		k.is(name, err, inbox.ErrNotFound)
	}
	_, err := k.in.Decide(k.ctx, inbox.Approver{Principal: k.ann, Groups: []string{"admins"}}, open.ID, inbox.Decision{Allow: true})
	k.is("the asker, who is a member", err, inbox.ErrNotDecider)
	bob := inbox.Approver{Principal: k.bob, Groups: []string{"pilots", "admins"}}
	if list, err := k.in.Assigned(k.ctx, bob, inbox.AssignedFilter{}); len(list) != 1 || err != nil || list[0].ID != open.ID {
		k.t.Errorf("Assigned: %+v, %v", list, err)
	}
	hints, err := k.in.SubscribeGroup(k.ctx, k.bob, "admins")
	k.must("SubscribeGroup", err)
	k.decide(k.bob, open.ID, inbox.Decision{Allow: true}, "admins")
	select {
	case h := <-hints:
		if h.Call != open.Call {
			k.t.Errorf("hint %+v", h)
		}
	case <-k.ctx.Done():
		k.t.Error("the group has no hint")
	}
	// Where the asker may decide too, membership is what counts.
	a.NotAsker = false
	_, open = k.approving(a)
	_, err = k.in.Decide(k.ctx, inbox.Approver{Principal: k.ann}, open.ID, inbox.Decision{Allow: true})
	k.is("the asker, who is no member", err, inbox.ErrNotDecider)
	if list, err := k.in.Assigned(k.ctx, inbox.Approver{Principal: k.ann, Groups: []string{"admins"}}, inbox.AssignedFilter{}); len(list) != 0 || err != nil {
		k.t.Errorf("one's own is no other's: %+v, %v", list, err)
	}
	k.decide(k.ann, open.ID, inbox.Decision{Allow: true}, "admins")
}

// toldLater: the machine dies between the asker's transaction and the event of
// the approver.
func toldLater(k *kit) {
	fails := &refusing{Store: k.store, principal: k.bob.Key()}
	healthy := k.in
	k.in = k.on(fails, "two")
	a := ask()
	a.Assignee.Principal = k.bob
	_, open := k.approving(a)
	if last, err := healthy.LastEvent(k.ctx, k.bob); last != 0 || err != nil {
		k.t.Fatalf("told in vain: %d, %v", last, err)
	}
	k.in = healthy
	next := k.sweep()
	if events, err := k.in.Events(k.ctx, k.bob, 0, 0); err != nil || len(events) != 1 || events[0].ID != string(open.ID) {
		k.t.Errorf("after the sweep: %+v, %v", events, err)
	}
	if !next.Equal(open.ExpiresAt) {
		k.t.Errorf("the next sweep is planned for %v, want the expiry, %v", next, open.ExpiresAt)
	}
	if got := k.approval(open.ID, inbox.ApprovalOpen); got.Version != open.Version {
		k.t.Errorf("telling made version %d", got.Version)
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

func assignedPages(k *kit) {
	a := ask()
	a.Assignee.Group = "admins"
	var want []inbox.ApprovalID
	for range 7 {
		_, open := k.approving(a)
		want = append(want, open.ID)
		k.clock.advance(time.Second)
	}
	k.decide(k.bob, want[2], inbox.Decision{}, "admins")
	want = slices.Delete(want, 2, 3)
	who := inbox.Approver{Principal: k.bob, Groups: []string{"admins"}}
	var got []inbox.ApprovalID
	for f := (inbox.AssignedFilter{Limit: 2}); ; {
		page, err := k.in.Assigned(k.ctx, who, f)
		k.must("Assigned", err)
		for _, a := range page {
			got = append(got, a.ID)
			f.After, f.AfterTime = a.ID, a.Created
		}
		if len(page) < 2 {
			break
		}
	}
	if !slices.Equal(got, want) {
		k.t.Errorf("pages: %v, want %v", got, want)
	}
}

func approvalRunAgain(k *kit) {
	c, a := k.approving(ask())
	k.decide(k.ann, a.ID, inbox.Decision{})
	again, err := k.in.RunAgain(k.ctx, k.ann, c.ID)
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
