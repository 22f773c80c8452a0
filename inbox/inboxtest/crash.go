package inboxtest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
)

var crashTests = map[string]func(*kit){
	"everything is there again": reopened,
	"leases end":                leasesEnd,
	"the eighth death":          eighthDeath,
	"recover":                   recovered,
	"recover: only its own":     recoverOnlyOwn,
	"interrupted, run again":    interruptedRunAgain,
	"a fenced machine's reply":  fencedReply,
	"a machine that slept":      ownLeases,
}

// reopened looks at everything through a handle that is opened after the
// first one was left as a crash leaves it.
func reopened(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"), visit("b", "https://air.example"))
	k.accept(questions[0])
	after := k.on(k.handle(), "two")
	got, err := after.Call(k.ctx, k.ann, c.ID)
	k.must("Call", err)
	want, err := k.in.Call(k.ctx, k.ann, c.ID)
	k.must("Call", err)
	if diff := cmp.Diff(want, got); diff != "" {
		k.t.Errorf("call (-before +after):\n%s", diff)
	}
	for _, q := range questions {
		got, err := after.Question(k.ctx, k.ann, q.ID)
		k.must("Question", err)
		want, err := k.in.Question(k.ctx, k.ann, q.ID)
		k.must("Question", err)
		if diff := cmp.Diff(want, got); diff != "" {
			k.t.Errorf("question (-before +after):\n%s", diff)
		}
	}
	last, err := k.in.LastEvent(k.ctx, k.ann)
	k.must("LastEvent", err)
	if got, err := after.LastEvent(k.ctx, k.ann); got != last || err != nil {
		k.t.Errorf("LastEvent = %d, %v; want %d", got, err, last)
	}
	// It goes on there, to the end.
	k.must("Close", k.store.Close())
	k.in = after
	_, err = k.in.DeclineRest(k.ctx, k.ann, c.ID, inbox.Answer{Via: "chat"})
	k.must("DeclineRest", err)
	claim := k.again(c.ID)
	_, err = k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Done})
	k.must("Finish", err)
}

// crashed are calls in each state that a dead machine can leave behind, and
// what becomes of them.
func crashed(k *kit) map[inbox.CallID]inbox.CallState {
	_, claimed := k.claim()
	_, sent := k.sent(inbox.Modern)
	_, called := k.sent(inbox.Legacy)
	_, held, questions := k.held(seat("", "A?"), seat("", "B?"))
	k.accept(questions[0]) // answered, and not delivered
	deliveredClaim, delivered, more := k.held(seat("", "C?"), seat("", "D?"))
	k.accept(more[0])
	_, err := k.in.Deliver(k.ctx, deliveredClaim, more[0].ID, nil)
	k.must("Deliver", err)
	_, stopped := k.sent(inbox.Modern)
	_, err = k.in.Stop(k.ctx, k.ann, stopped.ID)
	k.must("Stop", err)
	_, waiting, _ := k.waiting(seat("a", "E?"))
	ready := k.compose()
	return map[inbox.CallID]inbox.CallState{
		claimed.ID: inbox.Ready, sent.ID: inbox.Uncertain, called.ID: inbox.Uncertain,
		held.ID: inbox.Interrupted, delivered.ID: inbox.Uncertain, stopped.ID: inbox.Uncertain,
		waiting.ID: inbox.Waiting, ready.ID: inbox.Ready,
	}
}

func (k *kit) checkCrashed(want map[inbox.CallID]inbox.CallState) {
	k.t.Helper()
	for id, state := range want {
		c := k.state(id, state)
		if c.Owner != "" || !c.LeaseUntil.IsZero() || c.Held {
			k.t.Errorf("%s still has a lease: %+v", state, c)
		}
		questions, err := k.in.Questions(k.ctx, k.ann, inbox.QuestionFilter{Call: id})
		k.must("Questions", err)
		for _, q := range questions {
			if !q.State.Closed() && state != inbox.Waiting {
				k.t.Errorf("a question of a call that is %s is %s", state, q.State)
			}
		}
	}
}

func leasesEnd(k *kit) {
	want := crashed(k)
	k.clock.advance(30*time.Second - time.Microsecond)
	two := k.on(k.handle(), "two")
	_, err := two.Sweep(k.ctx)
	k.must("Sweep", err)
	for id, state := range want {
		if c, err := k.in.Call(k.ctx, k.ann, id); err != nil || state == inbox.Uncertain && c.State == state {
			k.t.Errorf("a lease ended too early: %+v, %v", c, err)
		}
	}
	k.clock.advance(time.Microsecond)
	_, err = two.Sweep(k.ctx)
	k.must("Sweep", err)
	k.checkCrashed(want)
}

func eighthDeath(k *kit) {
	c := k.compose()
	for death := 1; death <= 8; death++ {
		_, _, err := k.in.Claim(k.ctx, k.ann, c.ID)
		k.must("Claim", err)
		k.clock.advance(time.Minute)
		k.sweepElsewhere()
		if death < 8 {
			if got := k.state(c.ID, inbox.Ready); got.Deaths != death {
				k.t.Errorf("deaths = %d, want %d", got.Deaths, death)
			}
		}
	}
	if got := k.state(c.ID, inbox.Failed); got.Reason != inbox.ReasonDeadClaims {
		k.t.Errorf("failed: %s", got.Reason)
	}

	// A claim that lived to the mark starts the count anew.
	c = k.compose()
	for range 7 {
		_, _, err := k.in.Claim(k.ctx, k.ann, c.ID)
		k.must("Claim", err)
		k.clock.advance(time.Minute)
		k.sweepElsewhere()
	}
	if got, err := k.in.NothingRan(k.ctx, k.again(c.ID), ""); err != nil || got.Deaths != 0 {
		k.t.Errorf("after a mark: %+v, %v", got, err)
	}
}

// recovered is the same machine again: it need not wait for its own leases.
func recovered(k *kit) {
	want := crashed(k)
	after := k.on(k.handle(), "one")
	n, err := after.Recover(k.ctx)
	if n != 6 || err != nil {
		k.t.Errorf("Recover = %d, %v; want 6", n, err)
	}
	k.in = after
	k.checkCrashed(want)
	if n, err := after.Recover(k.ctx); n != 0 || err != nil {
		k.t.Errorf("Recover again = %d, %v", n, err)
	}
}

func recoverOnlyOwn(k *kit) {
	claim, mine := k.claim()
	k.in = k.on(k.store, "one2")
	_, similar := k.claim()
	k.in = k.on(k.store, "other")
	_, other := k.claim()
	k.in = k.on(k.store, "one")
	own, this := k.claim()
	if n, err := k.in.Recover(k.ctx); n != 1 || err != nil {
		k.t.Errorf("Recover = %d, %v; want 1", n, err)
	}
	k.state(mine.ID, inbox.Ready)
	k.state(similar.ID, inbox.Claimed)
	k.state(other.ID, inbox.Claimed)
	k.state(this.ID, inbox.Claimed)
	_, err := k.in.Mark(k.ctx, own, inbox.Binding{})
	k.must("Mark of a call of this life", err)
	_, err = k.in.Mark(k.ctx, claim, inbox.Binding{})
	k.is("Mark of a call of an earlier life", err, inbox.ErrFenced)
}

func interruptedRunAgain(k *kit) {
	_, c, questions := k.held(seat("", "A?"), seat("", "B?"))
	k.accept(questions[0])
	k.in = k.on(k.store, "one")
	_, err := k.in.Recover(k.ctx)
	k.must("Recover", err)
	if c = k.state(c.ID, inbox.Interrupted); c.Reason != inbox.ReasonHostStopped {
		k.t.Errorf("interrupted: %s", c.Reason)
	}
	if q := k.asked(questions[1].ID, inbox.Withdrawn); q.ClosedBy != inbox.ByHostStopped {
		k.t.Errorf("closed by %s", q.ClosedBy)
	}
	again, err := k.in.RunAgain(k.ctx, k.ann, c.ID, "")
	k.must("RunAgain", err)
	q, err := k.in.Hold(k.ctx, k.again(again.ID), seat("", "A?"))
	k.must("Hold", err)
	if string(q.Suggested) != `{"seat":"12A"}` {
		k.t.Errorf("suggested %s", q.Suggested)
	}
	// A machine that goes away in order says so itself.
	claim, _, _ := k.held(seat("", "C?"))
	got, err := k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Interrupted, Reason: inbox.ReasonHostStopped})
	if err != nil || got.State != inbox.Interrupted {
		k.t.Errorf("Finish = %+v, %v", got, err)
	}
}

// fencedReply: a machine that was cut off comes back with the true reply.
func fencedReply(k *kit) {
	two := k.on(k.handle(), "two")
	cutOff := func() (*inbox.Claim, *inbox.Call) {
		claim, c := k.sent(inbox.Modern)
		k.clock.advance(time.Minute)
		_, err := two.Sweep(k.ctx)
		k.must("Sweep", err)
		if got := k.state(c.ID, inbox.Uncertain); got.Reason != inbox.ReasonLostOwner {
			k.t.Errorf("uncertain: %s", got.Reason)
		}
		_, err = k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Done})
		k.is("Finish with a claim that ended", err, inbox.ErrFenced)
		return claim, c
	}
	done := inbox.Reply{Outcome: &inbox.Outcome{State: inbox.Done}}
	claim, c := cutOff()
	_, err := k.in.LateReply(k.ctx, claim, done)
	k.must("LateReply", err)
	k.state(c.ID, inbox.Done)

	claim, c = cutOff()
	_, err = k.in.LateReply(k.ctx, claim, inbox.Reply{Asked: &inbox.Asked{RequestState: "s", Questions: []inbox.NewQuestion{seat("a", "A?")}}})
	k.must("LateReply that asks", err)
	k.accept(k.round(k.state(c.ID, inbox.Waiting))[0])
	k.state(c.ID, inbox.Ready)

	// Another machine has it: the reply is that to a send before the last.
	claim, c = cutOff()
	_, err = k.in.Resolve(k.ctx, k.ann, c.ID, inbox.SendAgain, "")
	k.must("Resolve", err)
	_, err = k.in.LateReply(k.ctx, claim, done)
	k.is("LateReply after the decision to send again", err, inbox.ErrState)
	_, _, err = two.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	_, err = k.in.LateReply(k.ctx, claim, done)
	k.is("LateReply after another claim", err, inbox.ErrFenced)
	k.state(c.ID, inbox.Claimed)
}

// ownLeases: a machine that slept, or whose clock went forward, does not take its own
// calls for dead before they could be renewed. Whatever nobody renews ends nevertheless.
func ownLeases(k *kit) {
	const lease = 100 * time.Millisecond
	k.in = inbox.New(k.store, k.keys, &inbox.Options{Owner: "one", Lease: lease})
	heldClaim, held, questions := k.held(seat("", "A?"))
	sentClaim, sent := k.sent(inbox.Modern)
	_, claimed := k.claim() // its commit was not confirmed, say: nobody knows of it
	for i := range 3 {
		k.clock.advance(10 * time.Minute)
		k.sweep()
		if i == 0 {
			k.state(claimed.ID, inbox.Claimed)
		}
		for _, claim := range []*inbox.Claim{heldClaim, sentClaim} {
			_, err := k.in.Renew(k.ctx, claim)
			k.must("Renew", err)
		}
	}
	k.state(held.ID, inbox.Sent)
	k.state(sent.ID, inbox.Sent)
	for k.stateOf(claimed.ID) == inbox.Claimed {
		wait, err := k.in.Sweep(k.ctx)
		k.must("Sweep", err)
		select {
		case <-k.ctx.Done():
			k.t.Fatal("the claim that nobody renews has not ended")
		case <-time.After(wait): // as who sweeps does
		}
	}
	k.state(claimed.ID, inbox.Ready)
	k.accept(questions[0])
	_, err := k.in.Deliver(k.ctx, heldClaim, questions[0].ID, nil)
	k.must("Deliver", err)

	// To any other machine its lease has ended, and to a later life of this one.
	k.clock.advance(10 * time.Minute)
	k.in = k.on(k.store, "one")
	k.sweep()
	k.state(sent.ID, inbox.Uncertain)
}
