package inboxtest

import (
	"strings"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// doubtTests are of calls that were sent without a reply, are to be sent again and are not:
// they may have happened, and nothing but a person ends them.
var doubtTests = map[string]func(*kit){
	"blocked for too long":         doubtBlocked,
	"blocked, its content is gone": doubtUnreadable,
	"past the server's deadline":   doubtDeadline,
	"nobody decides":               doubtNotDecided,
	"claimed by the dead":          doubtDeadClaims,
	"a rule forbids it":            doubtDenied,
	"somebody else forbids it":     doubtNotAllowed,
}

// doubtWays are who has a call sent again that brought no reply.
var doubtWays = map[string]func(*kit, *inbox.Claim){
	"by itself": func(k *kit, claim *inbox.Claim) {
		_, err := k.in.Resend(k.ctx, claim, 0, 0)
		k.must("Resend", err)
	},
	"by a person": func(k *kit, claim *inbox.Claim) {
		_, err := k.in.Resolve(k.ctx, k.ann, claim.Call, inbox.SendAgain, "")
		k.must("Resolve", err)
	},
}

// eachDoubt runs f with calls that are ready to be sent again, in the round of the claim.
func (k *kit) eachDoubt(sent func() *inbox.Claim, f func(id inbox.CallID)) {
	for _, again := range doubtWays {
		claim := sent()
		_, err := k.in.Uncertain(k.ctx, claim, "")
		k.must("Uncertain", err)
		again(k, claim)
		f(claim.Call)
	}
}

func (k *kit) firstSend() *inbox.Claim {
	claim, _ := k.sent(inbox.Modern)
	return claim
}

// doubtful checks that the call waits for its person, who sends it again with the same key
// and has all the time and tries of a new one.
func (k *kit) doubtful(id inbox.CallID, reason string) {
	k.t.Helper()
	c := k.state(id, inbox.Uncertain)
	if c.Reason != reason || !strings.HasSuffix(c.Detail, "the earlier send may have happened.") || !c.MarkedBefore || c.Owner != "" || !c.ExpiresAt.IsZero() || !c.NotBefore.IsZero() {
		k.t.Errorf("uncertain: %+v", c)
	}
	entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Call: id, Limit: 1, Kinds: []inbox.AuditKind{inbox.AuditUncertain}})
	k.must("Audit", err)
	if len(entries) != 1 || entries[0].Reason != reason || (entries[0].Machine == "") != (reason == inbox.ReasonNotAllowed) {
		k.t.Errorf("the trail says %+v", entries)
	}
	again, err := k.in.Resolve(k.ctx, k.ann, id, inbox.SendAgain, "")
	k.must("Resolve", err)
	if again.State != inbox.Ready || again.IdempotencyKey != c.IdempotencyKey || again.Deaths != 0 || again.Rule != "" {
		k.t.Errorf("sent again: %+v", again)
	}
	if reason == inbox.ReasonDeadline {
		_, _, err = k.in.Claim(k.ctx, k.ann, id)
		k.is("Claim past the deadline", err, inbox.ErrState)
		k.state(id, inbox.Uncertain)
		return
	}
	claim, _, err := k.in.Claim(k.ctx, k.ann, id)
	k.must("Claim", err)
	blocked, err := k.in.Block(k.ctx, claim, inbox.ReasonUnreachable, "")
	k.must("Block", err)
	if want := micro(k.clock.Now().Add(week)); !blocked.ExpiresAt.Equal(want) || !blocked.NotBefore.Equal(micro(k.clock.Now().Add(5*time.Second))) {
		k.t.Errorf("blocked again until %v, tried again at %v; want %v and in 5 s", blocked.ExpiresAt, blocked.NotBefore, want)
	}
	k.clock.advance(5 * time.Second)
	k.sweep()
	_, err = k.in.Finish(k.ctx, k.again(id), inbox.Outcome{State: inbox.Done})
	k.must("Finish", err)
}

func doubtBlocked(k *kit) {
	for _, reason := range []string{inbox.ReasonUnreachable, inbox.ReasonSignIn, inbox.ReasonServerRemoved} {
		k.eachDoubt(k.firstSend, func(id inbox.CallID) {
			claim, _, err := k.in.Claim(k.ctx, k.ann, id)
			k.must("Claim", err)
			_, err = k.in.Block(k.ctx, claim, reason, "")
			k.must("Block", err)
			k.clock.advance(week)
			k.sweep()
			k.doubtful(id, inbox.ReasonBlockedTooLong)
		})
	}
}

// What cannot be read at the moment may have happened as well.
func doubtUnreadable(k *kit) {
	k.eachDoubt(k.firstSend, func(id inbox.CallID) {
		claim, _, err := k.in.Claim(k.ctx, k.ann, id)
		k.must("Claim", err)
		_, err = k.in.Block(k.ctx, claim, inbox.ReasonUnreachable, "")
		k.must("Block", err)
		other := inbox.New(k.store, inbox.NewKeys(), &inbox.Options{Owner: "two"})
		k.clock.advance(week)
		_, err = other.Sweep(k.ctx)
		k.must("Sweep", err)
		k.state(id, inbox.Uncertain)
		got, err := other.Resolve(k.ctx, k.ann, id, inbox.GiveUp, "")
		if err != nil || got.State != inbox.Failed {
			k.t.Errorf("Resolve = %+v, %v", got, err)
		}
	})
}

func doubtDeadline(k *kit) {
	answered := func() *inbox.Claim {
		c, questions := k.parkUntil(k.clock.Now().Add(time.Minute), seat("a", "A?"))
		k.accept(questions[0])
		return k.again(c.ID)
	}
	claim := func(id inbox.CallID) *inbox.Claim {
		claim, _, err := k.in.Claim(k.ctx, k.ann, id)
		k.must("Claim", err)
		return claim
	}
	block := func(id inbox.CallID, reason string) {
		_, err := k.in.Block(k.ctx, claim(id), reason, "")
		k.must("Block", err)
	}
	late := func() { k.clock.advance(time.Minute) }
	for _, met := range []func(inbox.CallID){
		func(inbox.CallID) { late(); k.sweep() },
		func(id inbox.CallID) {
			late()
			_, _, err := k.in.Claim(k.ctx, k.ann, id)
			k.is("Claim", err, inbox.ErrState)
		},
		func(inbox.CallID) {
			late()
			_, _, err := k.in.ClaimNext(k.ctx, nil)
			k.is("ClaimNext", err, inbox.ErrNothing)
		},
		func(id inbox.CallID) {
			mine := claim(id)
			late()
			_, err := k.in.Mark(k.ctx, mine, inbox.Binding{})
			k.is("Mark", err, inbox.ErrFenced)
		},
		func(id inbox.CallID) {
			mine := claim(id)
			late()
			got, err := k.in.Ask(k.ctx, mine, *ask())
			if err != nil || got.State != inbox.Uncertain {
				k.t.Errorf("Ask = %+v, %v", got, err)
			}
		},
		func(id inbox.CallID) { block(id, inbox.ReasonUnreachable); late(); k.sweep() },
		func(id inbox.CallID) {
			block(id, inbox.ReasonServerChanged)
			late()
			_, err := k.in.Unblock(k.ctx, "flights")
			k.must("Unblock", err)
		},
		func(id inbox.CallID) {
			got, err := k.in.Ask(k.ctx, claim(id), *ask())
			k.must("Ask", err)
			late()
			k.sweep()
			k.approval(got.Approval, inbox.ApprovalExpired)
		},
	} {
		k.eachDoubt(answered, func(id inbox.CallID) {
			met(id)
			k.doubtful(id, inbox.ReasonDeadline)
		})
	}
	// Of a round that was not sent nothing is in doubt.
	c, questions := k.parkUntil(k.clock.Now().Add(time.Minute), seat("a", "A?"))
	k.accept(questions[0])
	late()
	k.sweep()
	k.state(c.ID, inbox.CallExpired)
}

func doubtNotDecided(k *kit) {
	k.eachDoubt(k.firstSend, func(id inbox.CallID) {
		claim, _, err := k.in.Claim(k.ctx, k.ann, id)
		k.must("Claim", err)
		got, err := k.in.Ask(k.ctx, claim, *ask())
		k.must("Ask", err)
		k.clock.advance(24 * time.Hour)
		k.sweep()
		k.approval(got.Approval, inbox.ApprovalExpired)
		k.doubtful(id, inbox.ReasonNotDecided)
	})
}

func doubtDeadClaims(k *kit) {
	k.eachDoubt(k.firstSend, func(id inbox.CallID) {
		for range 8 {
			_, _, err := k.in.Claim(k.ctx, k.ann, id)
			k.must("Claim", err)
			k.clock.advance(time.Minute)
			k.sweepElsewhere()
		}
		k.doubtful(id, inbox.ReasonDeadClaims)
	})
}

func doubtDenied(k *kit) {
	k.eachDoubt(k.firstSend, func(id inbox.CallID) {
		got, err := k.in.Deny(k.ctx, k.claimed(id), inbox.Denial{Rule: "no flights"})
		k.must("Deny", err)
		if got.State != inbox.Uncertain || got.Rule != "no flights" || !strings.HasPrefix(got.Detail, "The rules of this host do not allow it. ") {
			k.t.Errorf("denied: %+v", got)
		}
		k.doubtful(id, inbox.ReasonDenied)
	})
	// Their person ends them, and the rule stands where it had a say.
	k.eachDoubt(k.firstSend, func(id inbox.CallID) {
		_, err := k.in.Deny(k.ctx, k.claimed(id), inbox.Denial{Rule: "no flights"})
		k.must("Deny", err)
		got, err := k.in.Resolve(k.ctx, k.ann, id, inbox.GiveUp, "")
		if err != nil || got.State != inbox.Failed || got.Rule != "" {
			k.t.Errorf("Resolve = %+v, %v", got, err)
		}
		entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Call: id, Kinds: []inbox.AuditKind{inbox.AuditUncertain, inbox.AuditFinished}, Limit: 2})
		k.must("Audit", err)
		if len(entries) != 2 || entries[0].Rule != "" || entries[1].Rule != "no flights" {
			k.t.Errorf("the trail says %+v", entries)
		}
	})
}

func doubtNotAllowed(k *kit) {
	for who, ends := range map[inbox.Principal]bool{k.ann: true, k.bob: false} {
		k.eachDoubt(k.firstSend, func(id inbox.CallID) {
			a := ask()
			if who != k.ann {
				a.Assignee.Principal = who
			}
			got, err := k.in.Ask(k.ctx, k.claimed(id), *a)
			k.must("Ask", err)
			k.decide(who, got.Approval, inbox.Decision{})
			k.approval(got.Approval, inbox.ApprovalDenied)
			if !ends {
				k.doubtful(id, inbox.ReasonNotAllowed)
				return
			}
			if c := k.state(id, inbox.Denied); c.Detail != "You did not allow it. Nothing more ran; the earlier send may have happened." {
				k.t.Errorf("denied: %+v", c)
			}
		})
	}
}
