package inboxtest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

var completedTests = map[string]func(*kit){
	"parked":           completedParked,
	"of nothing":       completedOfNothing,
	"once":             completedOnce,
	"after the person": completedAfterThePerson,
	"round":            completedRound,
	"held":             completedHeld,
	"expired":          completedExpired,
	"disabled":         completedDisabled,
}

const flightsEndpoint = "https://flights.example/mcp"

// page is a url question of the legacy era: its key is its id.
func page(id, address string) inbox.NewQuestion {
	return inbox.NewQuestion{Key: id, Params: json.RawMessage(fmt.Sprintf(
		`{"mode": "url", "message": "Sign in to the airline", "url": %q, "elicitationId": %q}`, address, id))}
}

// pages parks a legacy call for them.
func (k *kit) pages(questions ...inbox.NewQuestion) (*inbox.Call, []*inbox.Question) {
	k.t.Helper()
	claim, _ := k.sent(inbox.Legacy)
	_, c, list := k.park(claim, questions...)
	return c, list
}

func (k *kit) complete(want int, said inbox.Completion) {
	k.t.Helper()
	k.completeFor(k.ann, want, said)
}

func (k *kit) completeFor(p inbox.Principal, want int, said inbox.Completion) {
	k.t.Helper()
	got, err := k.in.Complete(k.ctx, p, said)
	k.must("Complete", err)
	if got != want {
		k.t.Errorf("Complete(%+v) = %d questions, want %d", said, got, want)
	}
}

func said(id string, calls ...inbox.CallID) inbox.Completion {
	return inbox.Completion{Server: "flights", Endpoint: flightsEndpoint, ElicitationID: id, Calls: calls}
}

// The server's word closes the question and lets the call go on; nobody has answered.
func completedParked(k *kit) {
	for _, opened := range []bool{true, false} {
		id := fmt.Sprint("e", opened)
		c, questions := k.pages(page(id, "https://air.example/1"))
		if opened {
			_, err := k.in.Open(k.ctx, k.ann, questions[0].ID, sum("https://air.example/1"))
			k.must("Open", err)
		}
		k.complete(1, said(id))
		q := k.asked(questions[0].ID, inbox.Accepted)
		if q.Answer != nil || q.ClosedBy != inbox.ByServer || !q.Completed.Equal(micro(k.clock.Now())) {
			k.t.Errorf("completed: %+v", q)
		}
		now := k.state(c.ID, inbox.Ready)
		if now.CanTakeBack(q) {
			k.t.Error("what the server said can be taken back")
		}
		_, err := k.in.Answer(k.ctx, k.ann, q.ID, inbox.Answer{Action: inbox.Decline})
		k.is("Answer after it", err, inbox.ErrClosed)
		claim := k.again(c.ID)
		if answers, err := k.in.Answers(k.ctx, claim); err != nil || string(answers[id]) != `{"action":"accept"}` {
			k.t.Errorf("Answers = %s, %v", answers, err)
		}
		entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Call: c.ID, Kinds: []inbox.AuditKind{inbox.AuditCompleted, inbox.AuditClosed, inbox.AuditAnswered}})
		if err != nil || len(entries) != 2 || entries[0].Kind != inbox.AuditClosed || entries[0].State != "accepted" || entries[0].Reason != "server" ||
			entries[1].Kind != inbox.AuditCompleted || entries[1].Question != q.ID || entries[1].Machine == "" {
			k.t.Errorf("audit: %+v, %v", entries, err)
		}
	}
}

// MCP 2025-11-25 elicitation, "Completion Notifications for URL Mode Elicitation"
// C1: what is not known is ignored, and whatever is not this server's, this
// endpoint's and this person's is not known.
func completedOfNothing(k *kit) {
	c, questions := k.pages(page("e1", "https://air.example/1"), seat("form", "A?"))
	before := k.state(c.ID, inbox.Waiting)
	last, err := k.in.LastEvent(k.ctx, k.ann)
	k.must("LastEvent", err)
	for _, id := range []string{"", "e2", "e", "e1 ", "form", string(questions[0].ID), string(c.ID)} {
		k.complete(0, said(id))
	}
	other := said("e1")
	other.Server = "hotels"
	k.complete(0, other)
	other = said("e1")
	other.Endpoint = "https://flights.example/other"
	k.complete(0, other)
	k.completeFor(k.bob, 0, said("e1"))
	k.complete(0, said("e1", c.ID))                        // it came before the call had asked
	_, err = k.in.Complete(k.ctx, k.bob, said("e1", c.ID)) // another person's call is not there
	k.is("Complete with a stranger's call", err, nil)

	_, modern, _ := k.waiting(page("m1", "https://air.example/2"))
	k.complete(0, said("m1"))
	k.state(modern.ID, inbox.Waiting)

	if got := k.state(c.ID, inbox.Waiting); got.Version != before.Version {
		k.t.Errorf("the call went from version %d to %d", before.Version, got.Version)
	}
	k.asked(questions[0].ID, inbox.Open)
	events, err := k.in.Events(k.ctx, k.ann, last, 100)
	k.must("Events", err)
	for _, e := range events {
		if e.ID == string(c.ID) || e.ID == string(questions[0].ID) {
			k.t.Errorf("a completion of nothing made the event %+v", e)
		}
	}
}

// A second word for the same id, and one for the same question that was asked
// again, are nothing: a server cannot have its call sent again and again.
func completedOnce(k *kit) {
	c, questions := k.pages(page("e1", "https://air.example/1"))
	k.complete(1, said("e1"))
	version := k.state(c.ID, inbox.Ready).Version
	k.complete(0, said("e1"))
	if got := k.state(c.ID, inbox.Ready).Version; got != version {
		k.t.Errorf("the second time changed the call: version %d to %d", version, got)
	}
	for _, key := range []string{"e1", "e1#2"} {
		claim := k.again(c.ID)
		k.complete(0, said("e1", c.ID)) // it was finished before this round
		_, _, again := k.park(claim, page(key, "https://air.example/1"))
		if again[0].ID != questions[0].ID || again[0].State != inbox.Opened {
			k.t.Fatalf("asked again: %+v", again[0])
		}
		k.complete(0, said(key))
		k.state(c.ID, inbox.Waiting)
		k.answer(again[0], inbox.Answer{Action: inbox.Accept}) // the person's word still counts
		k.state(c.ID, inbox.Ready)
	}
}

// The person was faster, whatever they said.
func completedAfterThePerson(k *kit) {
	c, questions := k.pages(page("e1", "https://air.example/1"))
	_, err := k.in.Open(k.ctx, k.ann, questions[0].ID, sum("https://air.example/1"))
	k.must("Open", err)
	k.answer(questions[0], inbox.Answer{Action: inbox.Accept})
	k.complete(0, said("e1"))
	if q := k.asked(questions[0].ID, inbox.Accepted); q.ClosedBy != inbox.ByPerson || q.Answer == nil || !q.Completed.IsZero() {
		k.t.Errorf("answered, then completed: %+v", q)
	}
	_, err = k.in.TakeBack(k.ctx, k.ann, questions[0].ID) // it is open again, and unfinished
	k.must("TakeBack", err)
	k.complete(1, said("e1"))
	k.state(c.ID, inbox.Ready)

	c, questions = k.pages(page("e2", "https://air.example/2"))
	k.decline(questions[0])
	k.complete(0, said("e2"))
	k.asked(questions[0].ID, inbox.Declined)
	_, err = k.in.Stop(k.ctx, k.ann, c.ID)
	k.must("Stop", err)
	k.complete(0, said("e2"))
	k.state(c.ID, inbox.Stopped)
}

// A round goes on when all of it is closed, by whomever.
func completedRound(k *kit) {
	c, questions := k.pages(page("e1", "https://air.example/1"), page("e2", "https://air.example/2"))
	k.complete(1, said("e2"))
	k.state(c.ID, inbox.Waiting)
	_, err := k.in.Open(k.ctx, k.ann, questions[0].ID, sum("https://air.example/1"))
	k.must("Open", err)
	k.answer(questions[0], inbox.Answer{Action: inbox.Accept})
	k.state(c.ID, inbox.Ready)

	// Two calls that wait for the same page go on together.
	one, _ := k.pages(page("shared", "https://air.example/3"))
	two, _ := k.pages(page("shared", "https://air.example/3"))
	k.complete(2, said("shared"))
	k.state(one.ID, inbox.Ready)
	k.state(two.ID, inbox.Ready)
}

// On an open connection the answer is the person's. What the server says is kept
// beside it, if it came on that connection.
func completedHeld(k *kit) {
	claim, c, questions := k.held(page("", "https://air.example/1"))
	_, err := k.in.Complete(k.ctx, k.ann, said(""))
	k.must("Complete", err)
	held := inbox.NewQuestion{Params: page("h1", "https://air.example/2").Params}
	q, err := k.in.Hold(k.ctx, claim, held)
	k.must("Hold", err)
	k.complete(0, said("h1")) // another connection
	other := said("h1", c.ID)
	other.Server = "hotels"
	k.complete(0, other)
	k.complete(1, said("h1", c.ID))
	k.complete(0, said("h1", c.ID))
	if got := k.asked(q.ID, inbox.Open); got.Completed.IsZero() || got.ClosedBy != "" {
		k.t.Errorf("completed while it is open: %+v", got)
	}

	// The usual order: accepted, delivered, done.
	_, err = k.in.Open(k.ctx, k.ann, questions[0].ID, sum("https://air.example/1"))
	k.must("Open", err)
	k.answer(questions[0], inbox.Answer{Action: inbox.Accept})
	third, err := k.in.Hold(k.ctx, claim, inbox.NewQuestion{Params: page("h3", "https://air.example/3").Params})
	k.must("Hold", err)
	_, err = k.in.Open(k.ctx, k.ann, third.ID, sum("https://air.example/3"))
	k.must("Open", err)
	k.answer(third, inbox.Answer{Action: inbox.Accept})
	_, err = k.in.Deliver(k.ctx, claim, third.ID, nil)
	k.must("Deliver", err)
	k.complete(1, said("h3", c.ID))
	if got := k.asked(third.ID, inbox.Accepted); got.Completed.IsZero() || got.ClosedBy != inbox.ByPerson || got.Delivery != inbox.Marked {
		k.t.Errorf("completed after its answer left: %+v", got)
	}
	k.state(c.ID, inbox.Sent)
	k.complete(0, said("h3", c.ID))

	// Taken back by the server, before or after the answer: it is over.
	for i, answered := range []bool{false, true} {
		id := fmt.Sprint("w", i)
		q, err := k.in.Hold(k.ctx, claim, inbox.NewQuestion{Params: page(id, "https://air.example/"+id).Params})
		k.must("Hold", err)
		if answered {
			_, err = k.in.Open(k.ctx, k.ann, q.ID, sum(q.URL))
			k.must("Open", err)
			k.answer(q, inbox.Answer{Action: inbox.Accept})
		}
		k.must("Withdraw", k.in.Withdraw(k.ctx, claim, q.ID, ""))
		k.complete(0, said(id, c.ID))
	}

	// The connection was lost after an answer had left: nobody knows, and the server's word ends nothing.
	_, err = k.in.Uncertain(k.ctx, claim, "")
	k.must("Uncertain", err)
	k.complete(0, said("h1", c.ID))
}

func completedExpired(k *kit) {
	c, questions := k.pages(page("e1", "https://air.example/1"))
	k.clock.advance(8 * 24 * time.Hour) // no sweep has seen it
	k.complete(0, said("e1"))
	k.asked(questions[0].ID, inbox.Expired)
	k.state(c.ID, inbox.CallExpired)
}

func completedDisabled(k *kit) {
	c, _ := k.pages(page("e1", "https://air.example/1"))
	k.must("Disable", k.in.Disable(k.ctx, k.ann))
	k.complete(0, said("e1"))
	k.state(c.ID, inbox.Denied)
}
