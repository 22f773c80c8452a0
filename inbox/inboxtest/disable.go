package inboxtest

import (
	"time"

	"github.com/parley-mcp/parley/inbox"
)

var disableTests = map[string]func(*kit){
	"what waits ends":           disableWaiting,
	"what was sent comes back":  disableSent,
	"held":                      disableHeld,
	"is refused":                disableRefused,
	"one who decides":           disableApprover,
	"enabled again":             enableAgain,
	"many calls":                disableMany,
	"a machine that died in it": disableDied,
	"a stranger":                disableStranger,
	"the flag":                  disableFlag,
}

func (k *kit) disable() {
	k.t.Helper()
	k.must("Disable", k.in.Disable(k.ctx, k.ann))
}

func disableFlag(k *kit) {
	read := func(p string) (disabled bool) {
		k.t.Helper()
		k.view(p, func(tx inbox.Tx) (err error) {
			disabled, err = tx.Disabled()
			return err
		})
		return disabled
	}
	k.update("p", func(tx inbox.Tx) error {
		if err := tx.SetDisabled(true); err != nil {
			return err
		}
		disabled, err := tx.Disabled() // a transaction reads what it wrote
		if !disabled {
			k.t.Error("not in the transaction")
		}
		return err
	})
	if !read("p") || read("q") {
		k.t.Error("it is not where it was stored, or elsewhere too")
	}
	k.is("Update", k.store.Update(k.ctx, "p", func(tx inbox.Tx) error {
		if err := tx.SetDisabled(false); err != nil {
			return err
		}
		return errTest
	}), errTest)
	if !read("p") {
		k.t.Error("a transaction that failed has enabled")
	}
	k.update("p", func(tx inbox.Tx) error { return tx.SetDisabled(false) })
	if read("p") {
		k.t.Error("still disabled")
	}
	k.update("p", func(tx inbox.Tx) error { return tx.SetDisabled(true) })
	k.update("p", func(tx inbox.Tx) error { return tx.Erase(&inbox.AuditRow{At: tx.Now()}) })
	if !read("p") {
		k.t.Error("an erasure has enabled")
	}
	k.update("p", func(tx inbox.Tx) error { return tx.SetDisabled(false) })
	k.update("p", func(tx inbox.Tx) error { return tx.Erase(&inbox.AuditRow{At: tx.Now()}) })
	if read("p") {
		k.t.Error("an erasure has disabled")
	}
}

func disableWaiting(k *kit) {
	ready := k.compose()
	claim, claimed := k.claim()
	_, waiting, questions := k.waiting(seat("a", "A?"), seat("b", "B?"))
	k.accept(questions[0])
	blockedClaim, blocked := k.claim()
	_, err := k.in.Block(k.ctx, blockedClaim, inbox.ReasonSignIn, "")
	k.must("Block", err)
	approving, a := k.approving(ask())
	done, _ := k.finished()
	k.disable()
	for _, c := range []*inbox.Call{ready, claimed, waiting, blocked, approving} {
		got := k.state(c.ID, inbox.Denied)
		if got.Reason != inbox.ReasonDisabled || got.Owner != "" || got.Ended.IsZero() {
			k.t.Errorf("%s: %+v", c.State, got)
		}
	}
	k.state(done.ID, inbox.Done)
	k.approval(a.ID, inbox.ApprovalWithdrawn)
	k.asked(questions[0].ID, inbox.Accepted)
	if q := k.asked(questions[1].ID, inbox.Withdrawn); q.ClosedBy != inbox.ByPolicy {
		k.t.Errorf("closed by %s", q.ClosedBy)
	}
	_, err = k.in.Mark(k.ctx, claim, inbox.Binding{})
	k.is("Mark", err, inbox.ErrFenced)
	entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Kinds: []inbox.AuditKind{inbox.AuditDisabled, inbox.AuditDenied}})
	if err != nil || len(entries) != 6 || entries[5].Kind != inbox.AuditDisabled || entries[0].Reason != inbox.ReasonDisabled {
		k.t.Errorf("audit: %+v, %v", entries, err)
	}
}

func disableSent(k *kit) {
	asks := inbox.Asked{Questions: []inbox.NewQuestion{seat("a", "A?")}}
	for name, reply := range map[string]struct {
		run   func(*inbox.Claim) (*inbox.Call, error)
		state inbox.CallState
	}{
		"a result": {func(c *inbox.Claim) (*inbox.Call, error) {
			return k.in.Finish(k.ctx, c, inbox.Outcome{State: inbox.Done})
		}, inbox.Done},
		"questions": {func(c *inbox.Claim) (*inbox.Call, error) { return k.in.Park(k.ctx, c, asks) }, inbox.Denied},
		"state only": {func(c *inbox.Claim) (*inbox.Call, error) {
			return k.in.Again(k.ctx, c, "s", time.Hour)
		}, inbox.Denied},
		"proof":   {func(c *inbox.Claim) (*inbox.Call, error) { return k.in.NothingRan(k.ctx, c, "") }, inbox.Denied},
		"sign-in": {func(c *inbox.Claim) (*inbox.Call, error) { return k.in.Block(k.ctx, c, inbox.ReasonSignIn, "") }, inbox.Denied},
		"nothing": {func(c *inbox.Claim) (*inbox.Call, error) { return k.in.Uncertain(k.ctx, c, "") }, inbox.Uncertain},
	} {
		claim, c := k.sent(inbox.Modern)
		k.disable()
		k.state(c.ID, inbox.Sent)
		_, err := k.in.Renew(k.ctx, claim)
		k.must("Renew", err)
		got, err := reply.run(claim)
		k.must(name, err)
		if got.State != reply.state {
			k.t.Errorf("%s: %s, want %s", name, got.State, reply.state)
		}
		if got.State == inbox.Uncertain {
			_, err := k.in.Resend(k.ctx, claim, 0, 0)
			k.is("Resend", err, inbox.ErrDisabled)
			_, err = k.in.Resolve(k.ctx, k.ann, c.ID, inbox.SendAgain, "")
			k.is("Resolve", err, inbox.ErrDisabled)
			if late, err := k.in.LateReply(k.ctx, claim, inbox.Reply{Asked: &asks}); err != nil || late.State != inbox.Denied {
				k.t.Errorf("a late reply that asks: %+v, %v", late, err)
			}
		}
		if got.State == inbox.Denied && (got.Reason != inbox.ReasonDisabled || !got.NotBefore.IsZero()) {
			k.t.Errorf("%s: %+v", name, got)
		}
		k.must("Enable", k.in.Enable(k.ctx, k.ann))
	}
	// An operator can still close what nobody knows the end of.
	claim, c := k.sent(inbox.Modern)
	_, err := k.in.Uncertain(k.ctx, claim, "")
	k.must("Uncertain", err)
	k.disable()
	_, err = k.in.Resolve(k.ctx, k.ann, c.ID, inbox.GiveUp, "")
	k.must("Resolve", err)
}

func disableHeld(k *kit) {
	claim, c, questions := k.held(seat("", "A?"))
	k.accept(questions[0])
	k.disable()
	if got := k.state(c.ID, inbox.Denied); got.Held {
		k.t.Errorf("held: %+v", got)
	}
	_, err := k.in.Deliver(k.ctx, claim, questions[0].ID, nil)
	k.is("Deliver", err, inbox.ErrFenced)
	k.must("Enable", k.in.Enable(k.ctx, k.ann))

	claim, c, questions = k.held(seat("", "A?"), seat("", "B?"), seat("", "C?"))
	k.accept(questions[0])
	_, err = k.in.Deliver(k.ctx, claim, questions[0].ID, nil)
	k.must("Deliver", err)
	k.accept(questions[1])
	k.disable()
	k.state(c.ID, inbox.Sent)
	k.asked(questions[2].ID, inbox.Withdrawn)
	_, err = k.in.Deliver(k.ctx, claim, questions[1].ID, nil)
	k.is("Deliver of what was answered before", err, inbox.ErrStopped)
	_, err = k.in.Hold(k.ctx, claim, seat("", "D?"))
	k.is("Hold", err, inbox.ErrStopped)
	_, err = k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Done})
	k.must("Finish", err)
}

func disableRefused(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"), visit("u", "https://air.example/1"), seat("b", "B?"))
	k.accept(questions[0])
	done, _ := k.finished()
	k.update(k.ann.Key(), func(tx inbox.Tx) error { return tx.SetDisabled(true) }) // and the calls are not reached yet
	for name, op := range map[string]func() error{
		"Compose": func() error {
			_, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "s", Method: "m"})
			return err
		},
		"Answer": func() error {
			_, err := k.in.Answer(k.ctx, k.ann, questions[2].ID, inbox.Answer{Action: inbox.Decline})
			return err
		},
		"Open": func() error {
			_, err := k.in.Open(k.ctx, k.ann, questions[1].ID, sum("https://air.example/1"))
			return err
		},
		"TakeBack":    func() error { _, err := k.in.TakeBack(k.ctx, k.ann, questions[0].ID); return err },
		"DeclineRest": func() error { _, err := k.in.DeclineRest(k.ctx, k.ann, c.ID, inbox.Answer{}); return err },
		"RunAgain":    func() error { _, err := k.in.RunAgain(k.ctx, k.ann, done.ID, ""); return err },
	} {
		k.is(name, op(), inbox.ErrDisabled)
	}
	if got := k.state(c.ID, inbox.Waiting); got.Version != c.Version {
		k.t.Errorf("a refused operation made version %d", got.Version)
	}
	// Whatever would let it go on ends it.
	k.clock.advance(7 * 24 * time.Hour)
	k.sweep()
	if got := k.state(c.ID, inbox.Denied); got.Reason != inbox.ReasonDisabled {
		k.t.Errorf("when the rest expired: %+v", got)
	}
}

func disableApprover(k *kit) {
	a := ask()
	a.Assignee.Principal = k.bob
	_, open := k.approving(a)
	k.must("Disable", k.in.Disable(k.ctx, k.bob))
	_, err := k.in.Decide(k.ctx, inbox.Approver{Principal: k.bob}, open.ID, inbox.Decision{Allow: true})
	k.is("Decide", err, inbox.ErrDisabled)
	k.approval(open.ID, inbox.ApprovalOpen)
}

func enableAgain(k *kit) {
	c := k.compose()
	k.disable()
	k.disable()
	if disabled, err := k.in.Disabled(k.ctx, k.ann); !disabled || err != nil {
		k.t.Errorf("Disabled = %t, %v", disabled, err)
	}
	k.must("Enable", k.in.Enable(k.ctx, k.ann))
	k.must("Enable", k.in.Enable(k.ctx, k.ann))
	if disabled, err := k.in.Disabled(k.ctx, k.ann); disabled || err != nil {
		k.t.Errorf("Disabled = %t, %v", disabled, err)
	}
	k.state(c.ID, inbox.Denied)
	k.state(k.compose().ID, inbox.Ready)
	entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Kinds: []inbox.AuditKind{inbox.AuditDisabled, inbox.AuditEnabled}})
	if err != nil || len(entries) != 2 {
		k.t.Errorf("audit: %+v, %v", entries, err)
	}
}

func disableMany(k *kit) {
	const n = 230 // more than go into two transactions
	for range n {
		k.compose()
	}
	k.disable()
	for before, left := int64(0), n; left > 0; {
		page, err := k.in.Calls(k.ctx, k.ann, inbox.CallFilter{Before: before, Limit: 100, Brief: true})
		k.must("Calls", err)
		if len(page) == 0 {
			k.t.Fatalf("%d calls are missing", left)
		}
		for _, c := range page {
			if c.State != inbox.Denied {
				k.t.Fatalf("call %d is %s", c.Seq, c.State)
			}
		}
		before, left = page[len(page)-1].Seq, left-len(page)
	}
}

// disableDied: the flag is there and the calls are not done.
func disableDied(k *kit) {
	ready := k.compose()
	claim, claimed := k.claim()
	k.update(k.ann.Key(), func(tx inbox.Tx) error { return tx.SetDisabled(true) })
	_, _, err := k.in.Claim(k.ctx, k.ann, ready.ID)
	k.is("Claim", err, inbox.ErrState)
	k.state(ready.ID, inbox.Denied)
	_, err = k.in.Mark(k.ctx, claim, inbox.Binding{})
	k.is("Mark", err, inbox.ErrFenced)
	k.is("Mark", err, inbox.ErrDisabled)
	k.state(claimed.ID, inbox.Denied)
	k.update(k.ann.Key(), func(tx inbox.Tx) error { return tx.SetDisabled(false) })
	_, waiting, _ := k.waiting(seat("a", "A?"))
	k.update(k.ann.Key(), func(tx inbox.Tx) error { return tx.SetDisabled(true) })
	k.disable() // goes on
	k.state(waiting.ID, inbox.Denied)
}

func disableStranger(k *kit) {
	k.disable() // before the first visit
	_, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "s", Method: "m"})
	k.is("Compose", err, inbox.ErrDisabled)
	_, err = k.in.Compose(k.ctx, k.bob, inbox.NewCall{Server: "s", Method: "m"})
	k.must("Compose by another", err)
	k.is("Disable of nobody", k.in.Disable(k.ctx, inbox.Principal{}), inbox.ErrInvalid)
	k.is("Enable of nobody", k.in.Enable(k.ctx, inbox.Principal{}), inbox.ErrInvalid)
}
