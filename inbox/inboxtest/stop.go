package inboxtest

import "github.com/parley-mcp/parley/inbox"

var stopTests = map[string]func(*kit){
	"before the mark":          stopBefore,
	"after the mark":           stopAfter,
	"held, nothing delivered":  stopHeld,
	"held, after a delivery":   stopDelivered,
	"ended and uncertain":      stopEnded,
	"while a machine waits":    stopWaits,
	"sent again, then stopped": stopSecond,
}

func (k *kit) stop(id inbox.CallID) *inbox.Call {
	k.t.Helper()
	c, err := k.in.Stop(k.ctx, k.ann, id)
	k.must("Stop", err)
	return c
}

func stopBefore(k *kit) {
	ready := k.compose()
	claim, claimed := k.claim()
	_, waiting, questions := k.waiting(seat("a", "A?"), seat("b", "B?"))
	k.accept(questions[0])
	blockedClaim, blocked := k.claim()
	_, err := k.in.Block(k.ctx, blockedClaim, inbox.ReasonSignIn, "")
	k.must("Block", err)
	for _, c := range []*inbox.Call{ready, claimed, waiting, blocked} {
		got := k.stop(c.ID)
		if got.State != inbox.Stopped || got.Reason != inbox.ReasonStopped || got.Ended.IsZero() || got.Owner != "" || got.StopWanted {
			k.t.Errorf("stopped while %s: %+v", c.State, got)
		}
		if again := k.stop(c.ID); again.Version != got.Version {
			k.t.Errorf("stopping again made version %d", again.Version)
		}
	}
	_, err = k.in.Mark(k.ctx, claim, inbox.Binding{})
	k.is("Mark after the stop", err, inbox.ErrStopped)
	k.is("Release after the stop", k.in.Release(k.ctx, claim), inbox.ErrStopped)
	k.asked(questions[0].ID, inbox.Accepted) // what was answered stays answered
	if q := k.asked(questions[1].ID, inbox.Withdrawn); q.ClosedBy != inbox.ByStop {
		k.t.Errorf("closed by %s", q.ClosedBy)
	}
}

func stopAfter(k *kit) {
	for name, reply := range map[string]struct {
		run   func(*inbox.Claim) (*inbox.Call, error)
		state inbox.CallState
	}{
		"a result": {func(c *inbox.Claim) (*inbox.Call, error) {
			return k.in.Finish(k.ctx, c, inbox.Outcome{State: inbox.Done})
		}, inbox.Done},
		"questions": {func(c *inbox.Claim) (*inbox.Call, error) {
			return k.in.Park(k.ctx, c, inbox.Asked{Questions: []inbox.NewQuestion{seat("a", "A?")}})
		}, inbox.Stopped},
		"state only": {func(c *inbox.Claim) (*inbox.Call, error) { return k.in.Again(k.ctx, c, "s", 0) }, inbox.Stopped},
		"proof":      {func(c *inbox.Claim) (*inbox.Call, error) { return k.in.NothingRan(k.ctx, c, "") }, inbox.Stopped},
		"sign-in":    {func(c *inbox.Claim) (*inbox.Call, error) { return k.in.Block(k.ctx, c, inbox.ReasonSignIn, "") }, inbox.Stopped},
		"an end by the machine": {func(c *inbox.Claim) (*inbox.Call, error) {
			return k.in.Finish(k.ctx, c, inbox.Outcome{State: inbox.Stopped, Reason: inbox.ReasonStopped})
		}, inbox.Stopped},
		"nothing": {func(c *inbox.Claim) (*inbox.Call, error) { return k.in.Uncertain(k.ctx, c, "") }, inbox.Uncertain},
	} {
		claim, c := k.sent(inbox.Modern)
		wanted := k.stop(c.ID)
		if wanted.State != inbox.Sent || !wanted.StopWanted || wanted.Version != c.Version+1 {
			k.t.Errorf("stopped after the mark: %+v", wanted)
		}
		if again := k.stop(c.ID); again.Version != wanted.Version {
			k.t.Errorf("stopping again made version %d", again.Version)
		}
		k.must("AwaitStop", k.in.AwaitStop(k.ctx, claim))
		renewed, err := k.in.Renew(k.ctx, claim)
		if err != nil || !renewed.StopWanted {
			k.t.Errorf("Renew = %+v, %v; want the wish in it", renewed, err)
		}
		got, err := reply.run(claim)
		k.must(name, err)
		if got.State != reply.state {
			k.t.Errorf("%s after the stop: %s, want %s", name, got.State, reply.state)
		}
		if got.State == inbox.Uncertain {
			if got.Reason != inbox.ReasonStopped || got.Detail == "" {
				k.t.Errorf("stopped, may have happened: %+v", got)
			}
			_, err := k.in.Resend(k.ctx, claim, 0, 0)
			k.is("Resend of what was stopped", err, inbox.ErrState)
			late, err := k.in.LateReply(k.ctx, claim, inbox.Reply{Asked: &inbox.Asked{Questions: []inbox.NewQuestion{seat("a", "A?")}}})
			if err != nil || late.State != inbox.Stopped {
				k.t.Errorf("a late reply that asks: %+v, %v", late, err)
			}
		}
	}
}

func stopHeld(k *kit) {
	claim, c, questions := k.held(seat("", "A?"), seat("", "B?"))
	k.accept(questions[0])
	if got := k.stop(c.ID); got.State != inbox.Stopped || got.Held {
		k.t.Errorf("stopped: %+v", got)
	}
	_, err := k.in.Deliver(k.ctx, claim, questions[0].ID, nil)
	k.is("Deliver after the stop", err, inbox.ErrStopped)
	_, err = k.in.AwaitAnswer(k.ctx, claim, questions[1].ID)
	k.is("AwaitAnswer after the stop", err, inbox.ErrStopped)
	k.asked(questions[0].ID, inbox.Accepted)
	k.asked(questions[1].ID, inbox.Withdrawn)
}

func stopDelivered(k *kit) {
	claim, c, questions := k.held(seat("", "A?"), seat("", "B?"), seat("", "C?"))
	k.accept(questions[0])
	_, err := k.in.Deliver(k.ctx, claim, questions[0].ID, nil)
	k.must("Deliver", err)
	k.accept(questions[1])
	if got := k.stop(c.ID); got.State != inbox.Sent || !got.StopWanted {
		k.t.Errorf("stopped after a delivery: %+v", got)
	}
	_, err = k.in.Deliver(k.ctx, claim, questions[1].ID, nil)
	k.is("Deliver after the stop", err, inbox.ErrStopped)
	_, err = k.in.TakeBack(k.ctx, k.ann, questions[1].ID)
	k.is("TakeBack after the stop", err, inbox.ErrTooLate)
	if q := k.asked(questions[2].ID, inbox.Withdrawn); q.ClosedBy != inbox.ByStop {
		k.t.Errorf("closed by %s", q.ClosedBy)
	}
	_, err = k.in.Hold(k.ctx, claim, seat("", "D?"))
	k.is("Hold after the stop", err, inbox.ErrStopped)
	_, err = k.in.Uncertain(k.ctx, claim, "")
	k.must("Uncertain", err)
	if got := k.state(c.ID, inbox.Uncertain); got.Reason != inbox.ReasonStopped {
		k.t.Errorf("uncertain: %s", got.Reason)
	}
}

func stopEnded(k *kit) {
	claim, c := k.sent(inbox.Modern)
	_, err := k.in.Uncertain(k.ctx, claim, "")
	k.must("Uncertain", err)
	_, err = k.in.Stop(k.ctx, k.ann, c.ID)
	k.is("Stop of an uncertain call", err, inbox.ErrState)
	_, err = k.in.Resolve(k.ctx, k.ann, c.ID, inbox.ItHappened, "")
	k.must("Resolve", err)
	_, err = k.in.Stop(k.ctx, k.ann, c.ID)
	k.is("Stop of a done call", err, inbox.ErrState)
	_, err = k.in.Stop(k.ctx, k.ann, "c_none")
	k.is("Stop of no call", err, inbox.ErrNotFound)
}

func stopWaits(k *kit) {
	claim, c := k.sent(inbox.Modern)
	results := make(chan error)
	go func() { results <- k.in.AwaitStop(k.ctx, claim) }()
	two := k.on(k.handle(), "two")
	_, err := two.Stop(k.ctx, k.ann, c.ID)
	k.must("Stop", err)
	k.must("AwaitStop", <-results)

	heldClaim, held, _ := k.held(seat("", "A?"))
	go func() { results <- k.in.AwaitStop(k.ctx, heldClaim) }()
	_, err = two.Stop(k.ctx, k.ann, held.ID)
	k.must("Stop", err)
	k.is("AwaitStop of a held call", <-results, inbox.ErrStopped)
}

// stopSecond stops a call that may have happened before: that is not forgotten.
func stopSecond(k *kit) {
	claim, c := k.sent(inbox.Modern)
	k.stop(c.ID)
	_, err := k.in.Uncertain(k.ctx, claim, "")
	k.must("Uncertain", err)
	again, err := k.in.Resolve(k.ctx, k.ann, c.ID, inbox.SendAgain, "")
	k.must("Resolve", err)
	if again.StopWanted {
		k.t.Error("send again takes the stop back")
	}
	if got := k.stop(c.ID); got.State != inbox.Stopped || !got.MarkedBefore {
		k.t.Errorf("stopped: %+v", got)
	}
}
