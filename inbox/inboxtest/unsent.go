package inboxtest

import (
	"strings"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

var unsentTests = map[string]func(*kit){
	"what is said when it ends":     unsent,
	"what is said while it is held": unsentHeld,
	"disabled while it is at work":  unsentDisabled,
}

// says stops a call and looks at what its person is told.
func (k *kit) says(name string, c *inbox.Call, want string) {
	k.t.Helper()
	if got := k.stop(c.ID); got.State != inbox.Stopped || got.Detail != "You stopped it. "+want {
		k.t.Errorf("%s: %s, %q, want %q", name, got.State, got.Detail, want)
	}
}

// second is a call whose first round was answered and sent.
func (k *kit) second() *inbox.Claim {
	k.t.Helper()
	_, c, questions := k.waiting(seat("a", "A?"))
	k.accept(questions[0])
	return k.again(c.ID)
}

// resent is a call whose first send brought no reply, and which was sent again.
func (k *kit) resent(era inbox.Era) *inbox.Claim {
	k.t.Helper()
	claim, c := k.sent(era)
	_, err := k.in.Uncertain(k.ctx, claim, "")
	k.must("Uncertain", err)
	_, err = k.in.Resend(k.ctx, claim, 0, 0)
	k.must("Resend", err)
	return k.again(c.ID)
}

// unsent: a call that ends says what certainly was not sent, or did nothing, and no more.
func unsent(k *kit) {
	did := func(c *inbox.Call, err error) *inbox.Call {
		k.t.Helper()
		k.must("the step before", err)
		return c
	}
	first := func() *inbox.Claim { claim, _ := k.sent(inbox.Modern); return claim }
	waiting := func(claim *inbox.Claim) *inbox.Call { _, c, _ := k.park(claim, seat("b", "B?")); return c }
	stateOnly := func(claim *inbox.Claim) *inbox.Call { return did(k.in.Again(k.ctx, claim, "s", 0)) }
	refused := func(claim *inbox.Claim) *inbox.Call { return did(k.in.Block(k.ctx, claim, inbox.ReasonSignIn, "")) }
	nothingRan := func(claim *inbox.Claim) *inbox.Call { return did(k.in.NothingRan(k.ctx, claim, "")) }

	k.says("never sent", k.compose(), "Nothing was sent.")
	k.says("it asks", waiting(first()), "No answer was sent.")
	k.says("it asks again", waiting(k.second()), "Nothing more was sent.")
	k.says("at work", stateOnly(first()), "Nothing more was sent.")
	k.says("at work after a round", stateOnly(k.second()), "Nothing more was sent.")
	k.says("it asks after work", waiting(k.again(stateOnly(first()).ID)), "Nothing more was sent.")
	k.says("refused", refused(first()), "Nothing ran.")
	k.says("nothing ran", nothingRan(first()), "Nothing ran.")
	k.says("refused after a round", refused(k.second()), "Nothing more ran.")
	k.says("refused after no reply", refused(k.resent(inbox.Modern)), "Nothing more ran; the earlier send may have happened.")
	k.says("it asks after no reply", waiting(k.resent(inbox.Modern)), "No answer was sent.")

	wanted := first()
	k.stop(wanted.Call)
	if got := nothingRan(wanted); got.State != inbox.Stopped || got.Detail != "You stopped it. Nothing ran." {
		k.t.Errorf("stopped on the way: %+v", got)
	}
	c := waiting(k.second())
	k.clock.advance(week)
	k.sweep()
	if got := k.state(c.ID, inbox.CallExpired); got.Detail != "Nobody answered in time. Nothing more was sent." {
		k.t.Errorf("expired: %q", got.Detail)
	}
	c = waiting(k.second())
	k.accept(k.round(c)[0])
	claim, _, err := k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	if got := did(k.in.Deny(k.ctx, claim, inbox.Denial{Reason: "No."})); got.Detail != "No. Nothing more was sent." {
		k.t.Errorf("denied: %q", got.Detail)
	}
}

func unsentHeld(k *kit) {
	const kept, earlier = "; your answers are kept.", " An earlier send may have happened."
	first := func() *inbox.Claim { claim, _ := k.sent(inbox.Legacy); return claim }
	again := func() *inbox.Claim { return k.resent(inbox.Legacy) }
	pages := func() *inbox.Claim { // it had an answer before it named a page
		claim, _, questions := k.held(seat("", "first?"))
		k.accept(questions[0])
		_, err := k.in.Deliver(k.ctx, claim, questions[0].ID, nil)
		k.must("Deliver", err)
		_, c, visits := k.park(claim, visit("u", "https://air.example"))
		_, err = k.in.Open(k.ctx, k.ann, visits[0].ID, sum("https://air.example"))
		k.must("Open", err)
		k.answer(visits[0], inbox.Answer{Action: inbox.Accept})
		return k.again(c.ID)
	}
	for name, test := range map[string]struct {
		sent func() *inbox.Claim
		none string
		more string
	}{
		"sent once":      {first, "No answer was delivered", ""},
		"sent again":     {again, "No answer was delivered", earlier},
		"after its page": {pages, "Nothing more was delivered", ""},
	} {
		for way, end := range map[string]func(*inbox.Claim) (*inbox.Call, error){
			"You stopped it. " + test.none + "." + test.more: func(claim *inbox.Claim) (*inbox.Call, error) {
				return k.in.Stop(k.ctx, k.ann, claim.Call)
			},
			"No. " + test.none + "." + test.more: func(claim *inbox.Claim) (*inbox.Call, error) {
				return k.in.Deny(k.ctx, claim, inbox.Denial{Reason: "No."})
			},
			"Its connection was lost while you were asked. " + test.none + kept + test.more: func(claim *inbox.Claim) (*inbox.Call, error) {
				k.clock.advance(time.Minute)
				k.sweepElsewhere()
				return k.in.Call(k.ctx, k.ann, claim.Call)
			},
		} {
			k.clock.advance(time.Minute) // a server may ask so often in each
			claim := test.sent()
			_, err := k.in.Hold(k.ctx, claim, seat("", "A?"))
			k.must("Hold", err)
			if got, err := end(claim); err != nil || !got.State.Ended() || got.Detail != way {
				k.t.Errorf("%s: %+v, %v; want %q", name, got, err, way)
			}
		}
	}
}

// unsentDisabled: a person who is disabled while the server is at work has sent what they have sent.
func unsentDisabled(k *kit) {
	for want, reply := range map[string]func(*inbox.Claim) (*inbox.Call, error){
		"Nothing more was sent.": func(claim *inbox.Claim) (*inbox.Call, error) { return k.in.Again(k.ctx, claim, "s", 0) },
		"Nothing more ran.":      func(claim *inbox.Claim) (*inbox.Call, error) { return k.in.NothingRan(k.ctx, claim, "") },
	} {
		claim := k.second()
		k.disable()
		got, err := reply(claim)
		if err != nil || got.State != inbox.Denied || got.Reason != inbox.ReasonDisabled || !strings.HasSuffix(got.Detail, "any more. "+want) {
			k.t.Errorf("%+v, %v; want %q", got, err, want)
		}
		k.must("Enable", k.in.Enable(k.ctx, k.ann))
	}
}
