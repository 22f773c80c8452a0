package inboxtest

import (
	"context"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
)

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
	subscribed, unsubscribe := context.WithCancel(k.ctx)
	defer unsubscribe()
	hints, err := k.in.SubscribeApprover(subscribed, bob)
	k.must("SubscribeApprover", err)
	k.decide(k.bob, open.ID, inbox.Decision{Allow: true}, "admins")
	select {
	case h := <-hints:
		if h.Call != open.Call {
			k.t.Errorf("hint %+v", h)
		}
	case <-k.ctx.Done():
		k.t.Error("the group has no hint")
	}
	unsubscribe()
	for range hints { // it ends, so nothing is left of the subscriptions
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
	if notice := open.ExpiresAt.Add(-6 * time.Hour); !next.Equal(notice) {
		k.t.Errorf("the next sweep is planned for %v, want the notice of the expiry, %v", next, notice)
	}
	if got := k.approval(open.ID, inbox.ApprovalOpen); got.Version != open.Version {
		k.t.Errorf("telling made version %d", got.Version)
	}
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
