package inboxtest

import (
	"github.com/parley-mcp/parley/inbox"
)

// keyedTests send what a person asked for once more, with the same key, after the state
// that let it through has come back: what was asked for once is done once.
var keyedTests = map[string]func(*kit){
	"run again":            keyedRunAgain,
	"run again while":      keyedRunAgainWhile,
	"resolve":              keyedResolve,
	"resolve, held":        keyedResolveHeld,
	"decline rest":         keyedDeclineRest,
	"where it was done":    keyedSurface,
	"a model's call again": keyedActor,
}

// done ends a call that is ready.
func (k *kit) done(id inbox.CallID) {
	k.t.Helper()
	_, err := k.in.Finish(k.ctx, k.again(id), inbox.Outcome{State: inbox.Done})
	k.must("Finish", err)
}

// entries are those of the trail of a call that are of the kind.
func (k *kit) entries(id inbox.CallID, kind inbox.AuditKind) []*inbox.AuditEntry {
	k.t.Helper()
	list, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Call: id, Kinds: []inbox.AuditKind{kind}})
	k.must("Audit", err)
	return list
}

// calls counts what the person has.
func (k *kit) calls(want int) {
	k.t.Helper()
	list, err := k.in.Calls(k.ctx, k.ann, inbox.CallFilter{})
	k.must("Calls", err)
	if len(list) != want {
		k.t.Errorf("there are %d calls, want %d", len(list), want)
	}
}

func keyedRunAgain(k *kit) {
	old := k.compose()
	k.done(old.ID)
	first, err := k.in.RunAgain(k.ctx, k.ann, old.ID, "k1")
	k.must("RunAgain", err)
	k.done(first.ID)
	second, err := k.in.RunAgain(k.ctx, k.ann, old.ID, "k1")
	if err != nil || second.ID != first.ID || second.State != inbox.Done {
		k.t.Errorf("the same key after the end: %+v, %v; want call %s", second, err, first.ID)
	}
	k.calls(2)
	_, err = k.in.RunAgain(k.ctx, k.ann, first.ID, "k1")
	k.is("the same key for another call", err, inbox.ErrKeyReused)
	third, err := k.in.RunAgain(k.ctx, k.ann, old.ID, "k2")
	if err != nil || third.ID == first.ID {
		k.t.Errorf("another key after the end: %+v, %v", third, err)
	}
	k.calls(3)
}

// keyedRunAgainWhile: the key stands for the call that it was answered with, also if an
// earlier press had made it.
func keyedRunAgainWhile(k *kit) {
	old := k.compose()
	k.done(old.ID)
	first, err := k.in.RunAgain(k.ctx, k.ann, old.ID, "")
	k.must("RunAgain", err)
	for range 2 {
		got, err := k.in.RunAgain(k.ctx, k.ann, old.ID, "k1")
		if err != nil || got.ID != first.ID {
			k.t.Errorf("RunAgain = %+v, %v; want call %s", got, err, first.ID)
		}
		if !got.State.Ended() {
			k.done(first.ID)
		}
	}
	k.calls(2)
}

func keyedResolve(k *kit) {
	claim, c := k.sent(inbox.Modern)
	_, err := k.in.Uncertain(k.ctx, claim, "")
	k.must("Uncertain", err)
	_, err = k.in.Resolve(k.ctx, k.ann, c.ID, inbox.SendAgain, "k1")
	k.must("Resolve", err)
	// It may have happened twice by now. Nobody has decided on a third time.
	_, err = k.in.Uncertain(k.ctx, k.again(c.ID), "")
	k.must("Uncertain", err)
	got, err := k.in.Resolve(k.ctx, k.ann, c.ID, inbox.SendAgain, "k1")
	if err != nil || got.State != inbox.Uncertain {
		k.t.Errorf("the same key: %+v, %v", got, err)
	}
	_, err = k.in.Resolve(k.ctx, k.ann, c.ID, inbox.GiveUp, "k1")
	k.is("the same key for another decision", err, inbox.ErrKeyReused)
	_, err = k.in.Resolve(k.ctx, k.ann, c.ID, inbox.GiveUp, "k2")
	k.must("Resolve", err)
	k.state(c.ID, inbox.Failed)
	for key, want := range map[string]error{"k2": nil, "k3": inbox.ErrState} {
		_, err := k.in.Resolve(k.ctx, k.ann, c.ID, inbox.GiveUp, key)
		k.is("Resolve of an ended call with "+key, err, want)
	}
}

func keyedResolveHeld(k *kit) {
	claim, c, questions := k.held(seat("", "A?"))
	k.accept(questions[0])
	_, err := k.in.Deliver(k.ctx, claim, questions[0].ID, nil)
	k.must("Deliver", err)
	_, err = k.in.Uncertain(k.ctx, claim, "")
	k.must("Uncertain", err)
	first, err := k.in.Resolve(k.ctx, k.ann, c.ID, inbox.SendAgain, "k1")
	k.must("Resolve", err)
	k.done(first.ID)
	again, err := k.in.Resolve(k.ctx, k.ann, c.ID, inbox.SendAgain, "k1")
	if err != nil || again.ID != first.ID {
		k.t.Errorf("the same key: %+v, %v; want call %s", again, err, first.ID)
	}
	k.calls(2)
}

func keyedDeclineRest(k *kit) {
	rest := inbox.Answer{Via: "inbox", Assurance: "signed-in page", Key: "k1"}
	_, c, questions := k.waiting(seat("a", "A?"))
	list, err := k.in.DeclineRest(k.ctx, k.ann, c.ID, rest)
	k.must("DeclineRest", err)
	q := k.asked(questions[0].ID, inbox.Declined)
	if len(list) != 1 || q.Answer.Via != "inbox" || q.Answer.Assurance != "signed-in page" {
		k.t.Errorf("declined: %d, %+v", len(list), q.Answer)
	}
	_, _, next := k.park(k.again(c.ID), seat("b", "B?"))
	list, err = k.in.DeclineRest(k.ctx, k.ann, c.ID, rest)
	if len(list) != 0 || err != nil {
		k.t.Errorf("the same key: %d, %v", len(list), err)
	}
	k.asked(next[0].ID, inbox.Open)
	entries := k.entries(c.ID, inbox.AuditAnswered)
	if len(entries) != 1 || entries[0].Via != "inbox" || entries[0].Assurance != "signed-in page" {
		k.t.Errorf("the trail: %+v", entries)
	}
}

// keyedSurface: what runs again comes from where it was asked for, whatever the surface
// of the first call was.
func keyedSurface(k *kit) {
	old, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{
		Origin: inbox.Origin{Client: "agent/1", Surface: "chat"}, Server: "s", Method: "tools/call", Name: "book",
	})
	k.must("Compose", err)
	k.done(old.ID)
	c, err := k.in.RunAgain(inbox.WithSource(k.ctx, inbox.Source{Via: "inbox"}), k.ann, old.ID, "")
	k.must("RunAgain", err)
	if entries := k.entries(c.ID, inbox.AuditComposed); len(entries) != 1 || entries[0].Via != "inbox" || c.Origin != (inbox.Origin{Client: "agent/1", Surface: "inbox"}) {
		k.t.Errorf("%+v, %+v", c.Origin, entries)
	}
	k.done(c.ID)
	c, err = k.in.RunAgain(k.ctx, k.ann, c.ID, "")
	k.must("RunAgain", err)
	if c.Origin.Surface != "inbox" {
		k.t.Errorf("from nowhere in particular: %+v", c.Origin)
	}
}

func keyedActor(k *kit) {
	old, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Actor: inbox.Model, Server: "s", Method: "tools/call", Name: "book"})
	k.must("Compose", err)
	k.done(old.ID)
	c, err := k.in.RunAgain(k.ctx, k.ann, old.ID, "")
	if err != nil || c.Actor != inbox.Model {
		k.t.Errorf("RunAgain = %+v, %v", c, err)
	}
}
