package inboxtest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
)

// told is the trail of a call, oldest first: what happened, what it led to, why, and who
// did it.
func (k *kit) told(id inbox.CallID, since time.Time) (list []string) {
	k.t.Helper()
	entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Call: id})
	k.must("Audit", err)
	before := micro(since)
	for _, e := range slices.Backward(entries) {
		who := e.Principal.Subject
		if e.Machine != "" {
			who = "machine " + e.Machine
		}
		if e.By != (inbox.Principal{}) {
			who = e.By.Subject
		}
		if e.At.Before(before) || e.At.After(k.clock.Now()) || e.Principal != k.ann || e.Machine != "" && e.By != (inbox.Principal{}) {
			k.t.Errorf("neither when, nor whose, nor by whom: %+v", e)
		}
		before = e.At
		list = append(list, strings.Join(slices.DeleteFunc([]string{string(e.Kind), e.State, e.Reason, "by " + who}, func(part string) bool { return part == "" }), " "))
	}
	return list
}

// An ending brings a call to an end of its own, of one of its questions, or of its approval.
type ending struct {
	name string
	run  func(*kit) inbox.CallID
	want []string // what the trail tells after the call was composed
}

// auditEnds: for every end of the machines the trail tells who, when, what and why.
func auditEnds(k *kit) {
	states := map[string]bool{}
	for _, end := range slices.Concat(callEndings, uncertainEndings, questionEndings, approvalEndings) {
		k.clock.advance(2 * time.Minute) // of new questions
		since := k.clock.Now()
		id := end.run(k)
		if diff := cmp.Diff(append([]string{"composed by ann"}, end.want...), k.told(id, since)); diff != "" {
			k.t.Errorf("%s (-want +got):\n%s", end.name, diff)
		}
		c, err := k.in.Call(k.ctx, k.ann, id)
		k.must("Call", err)
		states["call "+string(c.State)] = true
		questions, err := k.in.Questions(k.ctx, k.ann, inbox.QuestionFilter{Call: id})
		k.must("Questions", err)
		for _, q := range questions {
			states["question "+string(q.State)] = true
		}
		if c.Approval != "" {
			a, err := k.in.Approval(k.ctx, inbox.Approver{Principal: k.ann}, c.Approval)
			k.must("Approval", err)
			states["approval "+string(a.State)] = true
		}
	}
	for _, s := range []inbox.CallState{inbox.Done, inbox.Failed, inbox.Denied, inbox.Stopped, inbox.CallExpired, inbox.Interrupted, inbox.Lapsed, inbox.Uncertain} {
		k.wantEnd(states, "call", string(s))
	}
	for _, s := range []inbox.QuestionState{inbox.Accepted, inbox.Declined, inbox.Cancelled, inbox.Expired, inbox.Withdrawn} {
		k.wantEnd(states, "question", string(s))
	}
	for _, s := range []inbox.ApprovalState{inbox.ApprovalAllowed, inbox.ApprovalDenied, inbox.ApprovalExpired, inbox.ApprovalWithdrawn} {
		k.wantEnd(states, "approval", string(s))
	}
}

func (k *kit) wantEnd(states map[string]bool, of, state string) {
	k.t.Helper()
	if !states[of+" "+state] {
		k.t.Errorf("no %s ended %s", of, state)
	}
}

// finish ends a sent call.
func (k *kit) finish(claim *inbox.Claim, state inbox.CallState, reason string) inbox.CallID {
	k.t.Helper()
	_, err := k.in.Finish(k.ctx, claim, inbox.Outcome{State: state, Reason: reason})
	k.must("Finish", err)
	return claim.Call
}

// sweepElsewhere lets another machine, two, look for what is due.
func (k *kit) sweepElsewhere() {
	k.t.Helper()
	_, err := k.machine("two").Sweep(k.ctx)
	k.must("Sweep", err)
}

var callEndings = []ending{
	{"done", func(k *kit) inbox.CallID {
		_, c, questions := k.waiting(seat("a", "done?"))
		k.accept(questions[0])
		return k.finish(k.again(c.ID), inbox.Done, "")
	}, []string{"asked by machine one", "answered accepted by ann", "delivered by machine one", "finished done by machine one"}},
	{"failed", func(k *kit) inbox.CallID {
		claim, _ := k.sent(inbox.Modern)
		return k.finish(claim, inbox.Failed, "said_no")
	}, []string{"finished failed said_no by machine one"}},
	{"failed before it was sent", func(k *kit) inbox.CallID {
		claim, _ := k.claim()
		return k.finish(claim, inbox.Failed, "too_large")
	}, []string{"finished failed too_large by machine one"}},
	{"lapsed", func(k *kit) inbox.CallID {
		_, c, questions := k.waiting(seat("a", "lapsed?"))
		k.decline(questions[0])
		return k.finish(k.again(c.ID), inbox.Lapsed, "invalid_request_state")
	}, []string{"asked by machine one", "answered declined by ann", "delivered by machine one", "finished lapsed invalid_request_state by machine one"}},
	{"interrupted", func(k *kit) inbox.CallID {
		_, c, _ := k.held(seat("", "interrupted?"))
		k.clock.advance(time.Minute)
		k.sweepElsewhere()
		return c.ID
	}, []string{"asked by machine one", "closed withdrawn host_stopped by machine two", "finished interrupted host_stopped by machine two"}},
	{"stopped", func(k *kit) inbox.CallID {
		_, c, _ := k.waiting(seat("a", "stopped?"))
		return k.stop(c.ID).ID
	}, []string{"asked by machine one", "closed withdrawn stop by ann", "stopped stopped stopped by ann"}},
	{"stopped while it is sent", func(k *kit) inbox.CallID {
		claim, c := k.sent(inbox.Modern)
		k.stop(c.ID)
		_, err := k.in.NothingRan(k.ctx, claim, "no_session")
		k.must("NothingRan", err)
		return c.ID
	}, []string{"stopped sent by ann", "stopped stopped stopped by machine one"}},
	{"denied at once", func(k *kit) inbox.CallID {
		c, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "flights", Method: "tools/call", Name: "book", Deny: &inbox.Denial{Rule: "never"}})
		k.must("Compose", err)
		return c.ID
	}, []string{"denied denied denied_by_policy by machine one"}},
	{"denied before it is sent", func(k *kit) inbox.CallID {
		claim, c := k.claim()
		_, err := k.in.Deny(k.ctx, claim, inbox.Denial{Rule: "never"})
		k.must("Deny", err)
		return c.ID
	}, []string{"denied denied denied_by_policy by machine one"}},
	{"denied to one who is disabled", func(k *kit) inbox.CallID {
		_, c, _ := k.waiting(seat("a", "disabled?"))
		operator := inbox.WithSource(k.ctx, inbox.Source{By: k.bob})
		k.must("Disable", k.in.Disable(operator, k.ann))
		k.must("Enable", k.in.Enable(operator, k.ann))
		return c.ID
	}, []string{"asked by machine one", "closed withdrawn policy by bob", "denied denied disabled by bob"}},
	{"expired", func(k *kit) inbox.CallID {
		c, _ := k.parkUntil(k.clock.Now().Add(time.Minute), seat("a", "expired?"))
		k.clock.advance(time.Minute)
		k.sweepElsewhere()
		return c.ID
	}, []string{"asked by machine one", "closed expired expiry by machine two", "finished expired deadline by machine two"}},
	{"expired when the person comes", func(k *kit) inbox.CallID {
		c, questions := k.parkUntil(k.clock.Now().Add(time.Minute), seat("a", "late?"))
		k.clock.advance(time.Minute)
		_, err := k.in.Answer(k.ctx, k.ann, questions[0].ID, inbox.Answer{Action: inbox.Decline})
		k.is("Answer", err, inbox.ErrClosed)
		return c.ID
	}, []string{"asked by machine one", "closed expired expiry by machine one", "finished expired deadline by machine one"}},
}

var uncertainEndings = []ending{
	{"uncertain", func(k *kit) inbox.CallID { return k.uncertain().Call }, []string{"uncertain uncertain no_reply by machine one"}},
	{"uncertain since its machine is gone", func(k *kit) inbox.CallID {
		_, c := k.sent(inbox.Modern)
		k.clock.advance(time.Minute)
		k.sweepElsewhere()
		return c.ID
	}, []string{"uncertain uncertain lost_owner by machine two"}},
	{"uncertain since it was denied in between", func(k *kit) inbox.CallID {
		claim, c, questions := k.held(seat("", "in between?"))
		k.accept(questions[0])
		_, err := k.in.Deliver(k.ctx, claim, questions[0].ID, nil)
		k.must("Deliver", err)
		_, err = k.in.Deny(k.ctx, claim, inbox.Denial{Rule: "never"})
		k.must("Deny", err)
		return c.ID
	}, []string{"asked by machine one", "answered accepted by ann", "delivered accepted by machine one", "uncertain uncertain denied_by_policy by machine one"}},
	{"too late to be sent again by itself", func(k *kit) inbox.CallID {
		claim := k.uncertain()
		_, err := k.in.Resend(k.ctx, claim, 0, time.Minute)
		k.must("Resend", err)
		k.clock.advance(time.Minute)
		claim, _, err = k.in.Claim(k.ctx, k.ann, claim.Call)
		k.must("Claim", err)
		_, err = k.in.Mark(k.ctx, claim, inbox.Binding{})
		k.is("Mark", err, inbox.ErrFenced)
		return claim.Call
	}, []string{"uncertain uncertain no_reply by machine one", "uncertain uncertain too_late_to_resend by machine one"}},
	{"sent again", func(k *kit) inbox.CallID {
		id := k.resolve(k.uncertain().Call, inbox.SendAgain)
		return k.finish(k.again(id), inbox.Done, "")
	}, []string{"uncertain uncertain no_reply by machine one", "resolved send_again by ann", "finished done by machine one"}},
	{"sent again from the top", func(k *kit) inbox.CallID {
		claim, c, questions := k.held(seat("", "from the top?"))
		k.accept(questions[0])
		_, err := k.in.Deliver(k.ctx, claim, questions[0].ID, nil)
		k.must("Deliver", err)
		_, err = k.in.Uncertain(k.ctx, claim, "")
		k.must("Uncertain", err)
		k.resolve(c.ID, inbox.SendAgain)
		return c.ID
	}, []string{"asked by machine one", "answered accepted by ann", "delivered accepted by machine one",
		"uncertain uncertain no_reply by machine one", "resolved send_again by ann", "finished failed run_again by ann"}},
	{"it happened", func(k *kit) inbox.CallID { return k.resolve(k.uncertain().Call, inbox.ItHappened) },
		[]string{"uncertain uncertain no_reply by machine one", "resolved it_happened by ann", "finished done it_happened by ann"}},
	{"given up", func(k *kit) inbox.CallID { return k.resolve(k.uncertain().Call, inbox.GiveUp) },
		[]string{"uncertain uncertain no_reply by machine one", "resolved give_up by ann", "finished failed gave_up by ann"}},
	{"a late reply", func(k *kit) inbox.CallID {
		claim := k.uncertain()
		_, err := k.in.LateReply(k.ctx, claim, inbox.Reply{Outcome: &inbox.Outcome{State: inbox.Done}})
		k.must("LateReply", err)
		return claim.Call
	}, []string{"uncertain uncertain no_reply by machine one", "finished done by machine one"}},
}

// uncertain sends a call and waits in vain.
func (k *kit) uncertain() *inbox.Claim {
	k.t.Helper()
	claim, _ := k.sent(inbox.Modern)
	_, err := k.in.Uncertain(k.ctx, claim, "")
	k.must("Uncertain", err)
	return claim
}

func (k *kit) resolve(id inbox.CallID, how inbox.Resolution) inbox.CallID {
	k.t.Helper()
	_, err := k.in.Resolve(k.ctx, k.ann, id, how, "")
	k.must("Resolve", err)
	return id
}

var questionEndings = []ending{
	{"each answer", func(k *kit) inbox.CallID {
		_, c, questions := k.waiting(seat("a", "1?"), seat("b", "2?"), seat("c", "3?"))
		for i, action := range []inbox.Action{inbox.Accept, inbox.Decline, inbox.Cancel} {
			a := inbox.Answer{Action: action}
			if action == inbox.Accept {
				a.Content = []byte(`{"seat":"12A"}`)
			}
			k.answer(questions[i], a)
		}
		return c.ID
	}, []string{"asked by machine one", "asked by machine one", "asked by machine one",
		"answered accepted by ann", "answered declined by ann", "answered cancelled by ann"}},
	{"one expires", func(k *kit) inbox.CallID {
		_, c, questions := k.waiting(seat("a", "kept?"), seat("b", "let go?"))
		k.accept(questions[0])
		k.clock.advance(week)
		k.sweepElsewhere()
		return c.ID
	}, []string{"asked by machine one", "asked by machine one", "answered accepted by ann", "closed expired expiry by machine two"}},
	{"one has expired when the person comes", func(k *kit) inbox.CallID {
		_, c, questions := k.waiting(seat("a", "in time?"), seat("b", "too late?"))
		k.accept(questions[0])
		k.clock.advance(week)
		_, err := k.in.Answer(k.ctx, k.ann, questions[1].ID, inbox.Answer{Action: inbox.Decline})
		k.is("Answer", err, inbox.ErrClosed)
		return c.ID
	}, []string{"asked by machine one", "asked by machine one", "answered accepted by ann", "closed expired expiry by machine one"}},
	{"withdrawn by the server", func(k *kit) inbox.CallID {
		claim, c, questions := k.held(seat("", "withdrawn?"))
		k.must("Withdraw", k.in.Withdraw(k.ctx, claim, questions[0].ID, ""))
		return c.ID
	}, []string{"asked by machine one", "closed withdrawn server by machine one"}},
	{"withdrawn with its call", func(k *kit) inbox.CallID {
		claim, _, _ := k.held(seat("", "no more?"))
		return k.finish(claim, inbox.Done, "")
	}, []string{"asked by machine one", "closed withdrawn call_ended by machine one", "finished done by machine one"}},
	{"completed by the server", func(k *kit) inbox.CallID {
		c, _ := k.pages(page("done", "https://air.example/1"))
		k.complete(1, said("done"))
		return c.ID
	}, []string{"asked by machine one", "completed by machine one", "closed accepted server by machine one"}},
}

var approvalEndings = []ending{
	{"allowed", func(k *kit) inbox.CallID {
		c, a := k.approving(ask())
		k.decide(k.ann, a.ID, inbox.Decision{Allow: true})
		return c.ID
	}, []string{"approval_asked open by machine one", "approval_decided allowed by ann"}},
	{"allowed by another", func(k *kit) inbox.CallID {
		c, a := k.approving(k.bobs())
		k.decide(k.bob, a.ID, inbox.Decision{Allow: true})
		return c.ID
	}, []string{"approval_asked open by machine one", "approval_decided allowed by bob"}},
	{"denied", func(k *kit) inbox.CallID {
		c, a := k.approving(ask())
		k.decide(k.ann, a.ID, inbox.Decision{})
		return c.ID
	}, []string{"approval_asked open by machine one", "approval_decided denied by ann", "denied denied not_allowed by ann"}},
	{"denied by another", func(k *kit) inbox.CallID {
		c, a := k.approving(k.bobs())
		k.decide(k.bob, a.ID, inbox.Decision{})
		return c.ID
	}, []string{"approval_asked open by machine one", "approval_decided denied by bob", "denied denied not_allowed by bob"}},
	{"expired", func(k *kit) inbox.CallID {
		c, _ := k.approving(ask())
		k.clock.advance(week)
		k.sweepElsewhere()
		return c.ID
	}, []string{"approval_asked open by machine one", "approval_closed expired by machine two", "finished expired not_decided by machine two"}},
	{"expired when somebody comes", func(k *kit) inbox.CallID {
		c, a := k.approving(k.bobs())
		k.clock.advance(week)
		_, err := k.in.Decide(k.ctx, inbox.Approver{Principal: k.bob}, a.ID, inbox.Decision{Allow: true})
		if decided, ok := errors.AsType[*inbox.DecidedError](err); !ok || decided.State != inbox.ApprovalExpired {
			k.t.Errorf("Decide: %v", err)
		}
		return c.ID
	}, []string{"approval_asked open by machine one", "approval_closed expired by machine one", "finished expired not_decided by machine one"}},
	{"withdrawn", func(k *kit) inbox.CallID {
		c, _ := k.approving(ask())
		return k.stop(c.ID).ID
	}, []string{"approval_asked open by machine one", "approval_closed withdrawn by ann", "stopped stopped stopped by ann"}},
}

// bobs is what another person has to allow.
func (k *kit) bobs() *inbox.Ask {
	a := ask()
	a.Assignee, a.NotAsker = inbox.Assignee{Principal: k.bob}, true
	return a
}
