package inboxtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

var machineTests = map[string]func(*kit){
	"claims":                  claims,
	"fencing":                 fencing,
	"binding":                 binding,
	"nothing ran":             nothingRan,
	"state without questions": stateOnly,
	"uncertain: send again":   uncertainSendAgain,
	"uncertain: other ends":   uncertainOtherEnds,
	"resend":                  resend,
	"late reply":              lateReply,
	"blocked and unblocked":   blocked,
	"server removed":          serverRemoved,
	"ends":                    ends,
	"same question again":     sameQuestionAgain,
}

func claims(k *kit) {
	_, _, err := k.in.ClaimNext(k.ctx, nil)
	k.is("ClaimNext of nothing", err, inbox.ErrNothing)
	first := k.compose()
	k.clock.advance(time.Second)
	second := k.compose()
	_, _, err = k.in.ClaimNext(k.ctx, []string{"trains"})
	k.is("ClaimNext for another server", err, inbox.ErrNothing)
	claim, c, err := k.in.ClaimNext(k.ctx, nil)
	k.must("ClaimNext", err)
	if c.ID != first.ID || c.State != inbox.Claimed || !c.LeaseUntil.Equal(micro(k.clock.Now()).Add(30*time.Second)) {
		k.t.Errorf("claimed %+v, want the one that has waited longest", c)
	}
	_, _, err = k.in.Claim(k.ctx, k.ann, first.ID)
	k.is("Claim of a claimed call", err, inbox.ErrState)
	_, c, err = k.in.ClaimNext(k.ctx, nil)
	if err != nil || c.ID != second.ID {
		k.t.Errorf("ClaimNext = %v, %v; want the second", c, err)
	}
	k.must("Release", k.in.Release(k.ctx, claim))
	k.state(first.ID, inbox.Ready)
	k.is("Release again", k.in.Release(k.ctx, claim), inbox.ErrFenced)

	// Renewing is nothing that a person sees.
	claim, c, err = k.in.ClaimNext(k.ctx, nil)
	k.must("ClaimNext", err)
	last, err := k.in.LastEvent(k.ctx, k.ann)
	k.must("LastEvent", err)
	k.clock.advance(20 * time.Second)
	renewed, err := k.in.Renew(k.ctx, claim)
	k.must("Renew", err)
	if renewed.Version != c.Version || !renewed.LeaseUntil.Equal(micro(k.clock.Now()).Add(30*time.Second)) {
		k.t.Errorf("renewed: %+v", renewed)
	}
	if now, err := k.in.LastEvent(k.ctx, k.ann); now != last || err != nil {
		k.t.Errorf("renewing made event %d, %v", now, err)
	}
	k.clock.advance(20 * time.Second)
	k.sweep()
	k.state(c.ID, inbox.Claimed)
}

// fencing lets a machine that was thought dead come back, in every operation.
func fencing(k *kit) {
	two := k.on(k.handle(), "two")
	fenced(k, two)
	fenced(k, k.in) // a machine is fenced from its own earlier claim too

	// A lease whose time has passed still holds while nobody has acted on it.
	claim, c := k.sent(inbox.Modern)
	k.clock.advance(time.Hour)
	_, err := k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Done})
	k.must("Finish after the lease", err)
	k.sweep()
	k.state(c.ID, inbox.Done)
}

// fenced lets another claim, by the given machine, come in between.
func fenced(k *kit, two *inbox.Inbox) {
	k.t.Helper()
	claim, c := k.sent(inbox.Modern)
	k.clock.advance(31 * time.Second)
	k.sweepElsewhere()
	k.state(c.ID, inbox.Uncertain)
	_, err := two.Resolve(k.ctx, k.ann, c.ID, inbox.SendAgain, "")
	k.must("Resolve", err)
	latest, _, err := two.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	before := k.state(c.ID, inbox.Claimed)
	for op, run := range map[string]func() error{
		"Renew":   func() error { _, err := k.in.Renew(k.ctx, claim); return err },
		"Release": func() error { return k.in.Release(k.ctx, claim) },
		"Mark":    func() error { _, err := k.in.Mark(k.ctx, claim, inbox.Binding{}); return err },
		"Park": func() error {
			_, err := k.in.Park(k.ctx, claim, inbox.Asked{Questions: []inbox.NewQuestion{seat("a", "A?")}})
			return err
		},
		"Again":      func() error { _, err := k.in.Again(k.ctx, claim, "s", 0); return err },
		"NothingRan": func() error { _, err := k.in.NothingRan(k.ctx, claim, "r"); return err },
		"Hold":       func() error { _, err := k.in.Hold(k.ctx, claim, seat("", "A?")); return err },
		"Finish": func() error {
			_, err := k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Done})
			return err
		},
		"Block":     func() error { _, err := k.in.Block(k.ctx, claim, "r", ""); return err },
		"Uncertain": func() error { _, err := k.in.Uncertain(k.ctx, claim, ""); return err },
		"Resend":    func() error { _, err := k.in.Resend(k.ctx, claim, 0, 0); return err },
		"LateReply": func() error {
			_, err := k.in.LateReply(k.ctx, claim, inbox.Reply{Outcome: &inbox.Outcome{State: inbox.Done}})
			return err
		},
		"AwaitStop": func() error { return k.in.AwaitStop(k.ctx, claim) },
		"AwaitAnswer": func() error {
			_, err := k.in.AwaitAnswer(k.ctx, claim, "q_x")
			return err
		},
		"Deliver":   func() error { _, err := k.in.Deliver(k.ctx, claim, "q_x", nil); return err },
		"Delivered": func() error { return k.in.Delivered(k.ctx, claim, "q_x") },
		"Withdraw":  func() error { return k.in.Withdraw(k.ctx, claim, "q_x", "") },
	} {
		k.is(op, run(), inbox.ErrFenced)
	}
	if after := k.state(c.ID, inbox.Claimed); after.Version != before.Version {
		k.t.Errorf("a lost claim changed the call to version %d", after.Version)
	}
	_, err = two.Mark(k.ctx, latest, inbox.Binding{})
	k.must("Mark with the latest claim", err)
}

func binding(k *kit) {
	c, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "s", Method: "tools/call", Endpoint: "old"})
	k.must("Compose", err)
	claim, _, err := k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	_, err = k.in.Mark(k.ctx, claim, inbox.Binding{Era: "future"})
	k.is("Mark with an unknown era", err, inbox.ErrInvalid)
	b := inbox.Binding{Era: inbox.Modern, Endpoint: "e", Fingerprint: "f"}
	c, err = k.in.Mark(k.ctx, claim, b)
	k.must("Mark", err)
	if c.Era != b.Era || c.Endpoint != b.Endpoint || c.Fingerprint != b.Fingerprint {
		k.t.Errorf("bound: %+v", c)
	}
	_, _, questions := k.park(claim, seat("a", "A?"))
	k.accept(questions[0])
	claim, _, err = k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	for _, other := range []inbox.Binding{{Era: inbox.Legacy}, {Endpoint: "x"}, {Fingerprint: "x"}} {
		_, err := k.in.Mark(k.ctx, claim, other)
		k.is(fmt.Sprintf("Mark of a paused round with %+v", other), err, inbox.ErrInvalid)
	}
	if c := k.state(c.ID, inbox.Claimed); c.Sends != 1 {
		k.t.Errorf("a refused mark counts: %d", c.Sends)
	}
	_, err = k.in.Mark(k.ctx, claim, b)
	k.must("Mark with the same binding", err)
}

func nothingRan(k *kit) {
	claim, _ := k.sent(inbox.Modern)
	c, err := k.in.NothingRan(k.ctx, claim, "session_gone")
	k.must("NothingRan", err)
	if c.State != inbox.Ready || c.MarkedBefore || c.Reason != "session_gone" || c.Owner != "" {
		k.t.Errorf("after proof: %+v", c)
	}
	claim = k.again(c.ID)
	_, err = k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Done})
	k.must("Finish", err)

	claim, _, _ = k.held(seat("", "A?")) // it has called back, so something ran
	_, err = k.in.NothingRan(k.ctx, claim, "")
	k.is("NothingRan of a held call", err, inbox.ErrState)
	_, err = k.in.Block(k.ctx, claim, inbox.ReasonSignIn, "")
	k.is("Block of a held call", err, inbox.ErrState)
}

func stateOnly(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"))
	k.accept(questions[0])
	claim := k.again(c.ID)
	later := k.clock.Now().Add(time.Minute)
	c, err := k.in.Again(k.ctx, claim, "s2", time.Minute)
	k.must("Again", err)
	if c.State != inbox.Ready || c.RequestState != "s2" || !c.NotBefore.Equal(micro(later)) {
		k.t.Errorf("again: %+v", c)
	}
	_, _, err = k.in.ClaimNext(k.ctx, nil)
	k.is("ClaimNext too early", err, inbox.ErrNothing)
	_, _, err = k.in.Claim(k.ctx, k.ann, c.ID)
	k.is("Claim too early", err, inbox.ErrState)
	if e, ok := errors.AsType[*inbox.StateError](err); !ok || e.Wait != time.Minute {
		k.t.Errorf("Claim too early: %#v, want a wait of a minute", err)
	}
	if next := k.sweep(); !next.Equal(micro(later)) {
		k.t.Errorf("Sweep says to look again at %v, want %v", next, micro(later))
	}
	k.clock.advance(time.Minute)
	claim, c, err = k.in.ClaimNext(k.ctx, nil)
	k.must("ClaimNext", err)
	if !c.NotBefore.IsZero() {
		k.t.Errorf("NotBefore of a claimed call: %v", c.NotBefore)
	}
	// The answers were taken with the send that gave the new state.
	if answers, err := k.in.Answers(k.ctx, claim); len(answers) != 0 || err != nil {
		k.t.Errorf("Answers = %s, %v; want none", answers, err)
	}
}

func uncertainSendAgain(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"))
	k.accept(questions[0])
	claim := k.again(c.ID)
	c, err := k.in.Uncertain(k.ctx, claim, "The connection broke.")
	k.must("Uncertain", err)
	if c.State != inbox.Uncertain || c.MarkedBefore || c.Owner != "" || !c.ExpiresAt.IsZero() {
		k.t.Errorf("uncertain: %+v", c)
	}
	k.clock.advance(365 * 24 * time.Hour) // it never ends by itself
	if next := k.sweep(); !next.IsZero() {
		k.t.Errorf("something is due at %v", next)
	}
	_, err = k.in.Resolve(k.ctx, k.ann, c.ID, "hope", "")
	k.is("Resolve in another way", err, inbox.ErrInvalid)
	again, err := k.in.Resolve(k.ctx, k.ann, c.ID, inbox.SendAgain, "")
	k.must("Resolve", err)
	if again.ID != c.ID || again.State != inbox.Ready || !again.MarkedBefore || again.IdempotencyKey != c.IdempotencyKey {
		k.t.Errorf("send again: %+v", again)
	}
	claim = k.again(c.ID)
	answers, err := k.in.Answers(k.ctx, claim)
	if string(answers["a"]) != `{"action":"accept","content":{"seat":"12A"}}` || err != nil {
		k.t.Errorf("the same answers go again: %s, %v", answers, err)
	}
	lapsed, err := k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Lapsed, IsError: true})
	k.must("Finish", err)
	if !lapsed.MarkedBefore {
		k.t.Error("a lapsed call that was sent before must keep its warning")
	}
	_, err = k.in.Resolve(k.ctx, k.ann, c.ID, inbox.SendAgain, "")
	k.is("Resolve of an ended call", err, inbox.ErrState)

	// A new round starts without the warning.
	claim, c = k.sent(inbox.Modern)
	_, err = k.in.Uncertain(k.ctx, claim, "")
	k.must("Uncertain", err)
	_, err = k.in.Resolve(k.ctx, k.ann, c.ID, inbox.SendAgain, "")
	k.must("Resolve", err)
	_, c, _ = k.park(k.again(c.ID), seat("b", "B?"))
	if c.MarkedBefore {
		k.t.Error("a new round was never marked")
	}
}

func uncertainOtherEnds(k *kit) {
	for how, want := range map[inbox.Resolution]inbox.CallState{inbox.ItHappened: inbox.Done, inbox.GiveUp: inbox.Failed} {
		claim, c := k.sent(inbox.Modern)
		_, err := k.in.Uncertain(k.ctx, claim, "")
		k.must("Uncertain", err)
		c, err = k.in.Resolve(k.ctx, k.ann, c.ID, how, "")
		k.must("Resolve", err)
		if c.State != want || c.Ended.IsZero() || c.Reason != map[inbox.Resolution]string{inbox.ItHappened: inbox.ReasonItHappened, inbox.GiveUp: inbox.ReasonGaveUp}[how] {
			k.t.Errorf("%s: %+v", how, c)
		}
	}
}

func resend(k *kit) {
	claim, c := k.sent(inbox.Modern)
	_, err := k.in.Resend(k.ctx, claim, 0, 0)
	k.is("Resend of a sent call", err, inbox.ErrState)
	for i := range 3 {
		_, err := k.in.Uncertain(k.ctx, claim, "")
		k.must("Uncertain", err)
		later := k.clock.Now().Add(time.Duration(i) * time.Second)
		got, err := k.in.Resend(k.ctx, claim, time.Duration(i)*time.Second, 0)
		k.must("Resend", err)
		if got.State != inbox.Ready || !got.MarkedBefore || i > 0 && !got.NotBefore.Equal(micro(later)) {
			k.t.Errorf("resend: %+v", got)
		}
		k.clock.advance(time.Duration(i) * time.Second)
		claim = k.again(c.ID)
	}
	_, err = k.in.Uncertain(k.ctx, claim, "")
	k.must("Uncertain", err)
	_, err = k.in.Resend(k.ctx, claim, 0, 0)
	k.is("the fourth Resend", err, inbox.ErrLimit)
	k.state(c.ID, inbox.Uncertain)
}

func lateReply(k *kit) {
	done := inbox.Reply{Outcome: &inbox.Outcome{State: inbox.Done, Result: json.RawMessage(`{"late":true}`)}}
	lose := func() (*inbox.Claim, *inbox.Call) {
		claim, _ := k.sent(inbox.Modern)
		c, err := k.in.Uncertain(k.ctx, claim, "")
		k.must("Uncertain", err)
		return claim, c
	}
	claim, _ := lose()
	for _, bad := range []inbox.Reply{{}, {Outcome: done.Outcome, Asked: &inbox.Asked{}}, {Outcome: &inbox.Outcome{State: inbox.Lapsed}}} {
		_, err := k.in.LateReply(k.ctx, claim, bad)
		k.is("LateReply", err, inbox.ErrInvalid)
	}
	c, err := k.in.LateReply(k.ctx, claim, done)
	k.must("LateReply", err)
	if c.State != inbox.Done || string(c.Result) != `{"late":true}` {
		k.t.Errorf("late: %+v", c)
	}
	_, err = k.in.LateReply(k.ctx, claim, done)
	k.is("LateReply twice", err, inbox.ErrState)

	claim, _ = lose()
	c, err = k.in.LateReply(k.ctx, claim, inbox.Reply{Asked: &inbox.Asked{RequestState: "s", Questions: []inbox.NewQuestion{seat("a", "A?")}}})
	k.must("LateReply that asks", err)
	if c.State != inbox.Waiting || len(k.round(c)) != 1 {
		k.t.Errorf("late questions: %+v", c)
	}

	claim, c = lose()
	_, err = k.in.Resolve(k.ctx, k.ann, c.ID, inbox.SendAgain, "")
	k.must("Resolve", err)
	_, err = k.in.LateReply(k.ctx, claim, done)
	k.is("LateReply after the decision to send again", err, inbox.ErrState)
	again := k.again(c.ID)
	_, err = k.in.Uncertain(k.ctx, again, "")
	k.must("Uncertain", err)
	_, err = k.in.LateReply(k.ctx, claim, done)
	k.is("LateReply to a send before the last", err, inbox.ErrFenced)
}

func blocked(k *kit) {
	claim, _ := k.claim()
	c, err := k.in.Block(k.ctx, claim, inbox.ReasonSignIn, "Sign in to flights.")
	k.must("Block", err)
	if c.State != inbox.Blocked || c.Reason != inbox.ReasonSignIn || c.Detail != "Sign in to flights." || !c.ExpiresAt.Equal(c.Updated.Add(7*24*time.Hour)) {
		k.t.Errorf("blocked: %+v", c)
	}
	if n, err := k.in.Unblock(k.ctx, "trains"); n != 0 || err != nil {
		k.t.Errorf("Unblock of another server = %d, %v", n, err)
	}
	if n, err := k.in.Unblock(k.ctx, "flights", inbox.ReasonUnreachable); n != 0 || err != nil {
		k.t.Errorf("Unblock of another reason = %d, %v", n, err)
	}
	if n, err := k.in.UnblockFor(k.ctx, k.bob, "flights"); n != 0 || err != nil {
		k.t.Errorf("UnblockFor of another person = %d, %v", n, err)
	}
	if n, err := k.in.UnblockFor(k.ctx, k.ann, "flights", inbox.ReasonSignIn); n != 1 || err != nil {
		k.t.Errorf("UnblockFor = %d, %v", n, err)
	}
	c = k.state(c.ID, inbox.Ready)
	if c.Reason != "" || c.Detail != "" || !c.ExpiresAt.IsZero() {
		k.t.Errorf("unblocked: %+v", c)
	}
	claim = k.again(c.ID)
	_, err = k.in.Block(k.ctx, claim, inbox.ReasonSignIn, "")
	k.must("Block of a sent call", err)
	k.clock.advance(7*24*time.Hour - time.Microsecond)
	k.sweep()
	k.state(c.ID, inbox.Blocked)
	k.clock.advance(time.Microsecond)
	k.sweep()
	if c = k.state(c.ID, inbox.CallExpired); c.Reason != inbox.ReasonBlockedTooLong {
		k.t.Errorf("expired: %s", c.Reason)
	}
}

func serverRemoved(k *kit) {
	_, one, questions := k.waiting(seat("a", "A?"), seat("b", "B?"))
	_, two, _ := k.waiting(seat("c", "C?"))
	ready := k.compose()
	if n, err := k.in.BlockWaiting(k.ctx, "flights", inbox.ReasonServerRemoved, "flights was removed."); n != 2 || err != nil {
		k.t.Errorf("BlockWaiting = %d, %v", n, err)
	}
	k.state(ready.ID, inbox.Ready)
	k.state(one.ID, inbox.Blocked)
	k.accept(questions[0]) // the questions can still be answered
	k.accept(questions[1])
	k.state(one.ID, inbox.Blocked)
	if n, err := k.in.Unblock(k.ctx, "flights", inbox.ReasonServerRemoved); n != 2 || err != nil {
		k.t.Errorf("Unblock = %d, %v", n, err)
	}
	k.state(one.ID, inbox.Ready)   // its round is complete
	k.state(two.ID, inbox.Waiting) // its question is open

	// What nobody claims is blocked once it is old enough.
	k.clock.advance(time.Minute)
	fresh := k.compose()
	if n, err := k.in.BlockReady(k.ctx, "flights", time.Minute, inbox.ReasonServerRemoved, "flights was removed."); n != 2 || err != nil {
		k.t.Errorf("BlockReady = %d, %v", n, err)
	}
	k.state(ready.ID, inbox.Blocked)
	k.state(one.ID, inbox.Blocked)
	k.state(two.ID, inbox.Waiting)
	k.state(fresh.ID, inbox.Ready)
	if n, err := k.in.BlockReady(k.ctx, "flights", 0, inbox.ReasonServerRemoved, "flights was removed."); n != 1 || err != nil {
		k.t.Errorf("BlockReady = %d, %v", n, err)
	}
	if n, err := k.in.Unblock(k.ctx, "flights", inbox.ReasonServerRemoved); n != 3 || err != nil {
		k.t.Errorf("Unblock = %d, %v", n, err)
	}
	k.state(one.ID, inbox.Ready)
}

func ends(k *kit) {
	claim, c := k.claim()
	for _, state := range []inbox.CallState{inbox.Done, inbox.Lapsed, inbox.Stopped, inbox.Interrupted, inbox.Waiting, inbox.Denied, ""} {
		_, err := k.in.Finish(k.ctx, claim, inbox.Outcome{State: state})
		k.is("Finish of a claimed call as "+string(state), err, inbox.ErrState)
	}
	_, err := k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Failed, Reason: "bad_arguments", Detail: "They do not fit."})
	k.must("Finish", err)
	if c = k.state(c.ID, inbox.Failed); c.Reason != "bad_arguments" || c.Detail != "They do not fit." {
		k.t.Errorf("failed: %+v", c)
	}
	claim, c = k.sent(inbox.Modern)
	for _, state := range []inbox.CallState{inbox.Stopped, inbox.Interrupted, inbox.Ready, inbox.CallExpired, inbox.Denied} {
		_, err := k.in.Finish(k.ctx, claim, inbox.Outcome{State: state})
		k.is("Finish of a sent call as "+string(state), err, inbox.ErrState)
	}
	_, err = k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Lapsed, IsError: true, Result: json.RawMessage(`{"code":-32602}`)})
	k.must("Finish", err)
	if c = k.state(c.ID, inbox.Lapsed); !c.IsError || string(c.Result) != `{"code":-32602}` {
		k.t.Errorf("lapsed: %+v", c)
	}
	_, err = k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Done})
	k.is("Finish twice", err, inbox.ErrFenced)
}

// sameQuestionAgain asks what was accepted before, spelled in another way.
func sameQuestionAgain(k *kit) {
	_, c, questions := k.waiting(inbox.NewQuestion{Key: "a", Params: json.RawMessage(
		`{"message":"A?","requestedSchema":{"type":"object","properties":{"n":{"type":"number","maximum":10}}},"_meta":{"t":1}}`)})
	k.answer(questions[0], inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"n":3}`)})
	_, _, questions = k.park(k.again(c.ID), inbox.NewQuestion{Key: "a#2", Params: json.RawMessage(
		`{ "_meta":{"t":2}, "requestedSchema":{"properties":{"n":{"maximum":1.0e1,"type":"number"}},"type":"object"}, "message":"A\u003f" }`)})
	if q := questions[0]; string(q.Suggested) != `{"n":3}` || q.Note == "" || q.State != inbox.Open {
		k.t.Errorf("the same question again: %+v", q)
	}
}
