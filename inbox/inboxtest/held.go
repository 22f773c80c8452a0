package inboxtest

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

var heldTests = map[string]func(*kit){
	"from end to end":           heldEndToEnd,
	"answers one by one":        heldOneByOne,
	"expiry is a cancel":        heldExpiry,
	"taken back":                heldTakenBack,
	"withdrawn by the server":   heldWithdrawn,
	"keeps asking":              heldKeepsAsking,
	"run again after delivery":  heldRunAgain,
	"asked by an error":         askedByError,
	"await, from another place": awaitAnswer,
	"await, cancelled":          awaitCancelled,
	"someone else's question":   heldForeign,
}

func heldEndToEnd(k *kit) {
	claim, c, questions := k.held(seat("", "Which seat?"))
	q := questions[0]
	if !q.Held || q.Round != 1 || !q.ExpiresAt.Equal(q.Created.Add(time.Hour)) {
		k.t.Errorf("held question: %+v", q)
	}
	if c = k.state(c.ID, inbox.Sent); !c.Held || c.Era != inbox.Legacy {
		k.t.Errorf("held call: %+v", c)
	}
	_, err := k.in.Deliver(k.ctx, claim, q.ID, nil)
	k.is("Deliver of an open question", err, inbox.ErrOpen)
	k.accept(q)
	got, err := k.in.AwaitAnswer(k.ctx, claim, q.ID)
	if err != nil || got.State != inbox.Accepted || got.Delivery != inbox.Undelivered {
		k.t.Errorf("AwaitAnswer = %+v, %v", got, err)
	}
	k.is("Delivered without a mark", k.in.Delivered(k.ctx, claim, q.ID), inbox.ErrState)
	a, err := k.in.Deliver(k.ctx, claim, q.ID, nil)
	if err != nil || a.Action != inbox.Accept || string(a.Content) != `{"seat":"12A"}` {
		k.t.Errorf("Deliver = %+v, %v", a, err)
	}
	_, err = k.in.Deliver(k.ctx, claim, q.ID, nil)
	k.is("Deliver twice", err, inbox.ErrState)
	if got := k.asked(q.ID, inbox.Accepted); got.Delivery != inbox.Marked {
		k.t.Errorf("delivery: %q", got.Delivery)
	}
	if c = k.state(c.ID, inbox.Sent); c.Held || c.Delivered != 1 {
		k.t.Errorf("after the delivery: %+v", c)
	}
	for range 2 {
		k.must("Delivered", k.in.Delivered(k.ctx, claim, q.ID))
	}
	if got := k.asked(q.ID, inbox.Accepted); got.Delivery != inbox.Delivered {
		k.t.Errorf("delivery: %q", got.Delivery)
	}
	_, err = k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Done, Result: json.RawMessage(`{}`)})
	k.must("Finish", err)
}

func heldOneByOne(k *kit) {
	claim, c, questions := k.held(seat("", "A?"), seat("", "B?"))
	k.accept(questions[1])
	_, err := k.in.Deliver(k.ctx, claim, questions[1].ID, nil)
	k.must("Deliver of the second while the first is open", err)
	if c = k.state(c.ID, inbox.Sent); !c.Held || c.Delivered != 1 {
		k.t.Errorf("with one open: %+v", c)
	}
	k.decline(questions[0])
	a, err := k.in.Deliver(k.ctx, claim, questions[0].ID, nil)
	if err != nil || a.Action != inbox.Decline || a.Content != nil {
		k.t.Errorf("Deliver = %+v, %v", a, err)
	}
	if c = k.state(c.ID, inbox.Sent); c.Held || c.Delivered != 2 {
		k.t.Errorf("with none open: %+v", c)
	}
}

func heldExpiry(k *kit) {
	claim, c, questions := k.held(seat("", "A?"))
	k.clock.advance(time.Hour - time.Microsecond)
	_, err := k.in.Renew(k.ctx, claim)
	k.must("Renew", err)
	k.sweep()
	k.asked(questions[0].ID, inbox.Open)
	k.clock.advance(time.Microsecond)
	// Its time has passed for the machine that waits even if nobody swept.
	_, err = k.in.AwaitAnswer(k.ctx, claim, questions[0].ID)
	k.must("AwaitAnswer", err)
	k.sweep()
	k.asked(questions[0].ID, inbox.Expired)
	k.state(c.ID, inbox.Sent)
	a, err := k.in.Deliver(k.ctx, claim, questions[0].ID, nil)
	if err != nil || a.Action != inbox.Cancel || a.Content != nil {
		k.t.Errorf("Deliver = %+v, %v; want a cancel", a, err)
	}
	k.asked(questions[0].ID, inbox.Expired) // in the record it stays what it was

	// The server's own time, and a delivery before any sweep.
	n := seat("", "B?")
	n.ExpiresAt = k.clock.Now().Add(time.Minute)
	q, err := k.in.Hold(k.ctx, claim, n)
	k.must("Hold", err)
	k.clock.advance(time.Minute)
	a, err = k.in.Deliver(k.ctx, claim, q.ID, nil)
	if err != nil || a.Action != inbox.Cancel {
		k.t.Errorf("Deliver = %+v, %v; want a cancel", a, err)
	}
	k.asked(q.ID, inbox.Expired)
}

func heldTakenBack(k *kit) {
	claim, _, questions := k.held(seat("", "A?"))
	q := questions[0]
	k.accept(q)
	_, err := k.in.TakeBack(k.ctx, k.ann, q.ID)
	k.must("TakeBack before the mark", err)
	_, err = k.in.Deliver(k.ctx, claim, q.ID, nil)
	k.is("Deliver after it", err, inbox.ErrOpen)
	k.decline(q)
	_, err = k.in.Deliver(k.ctx, claim, q.ID, nil)
	k.must("Deliver", err)
	_, err = k.in.TakeBack(k.ctx, k.ann, q.ID)
	k.is("TakeBack after the mark", err, inbox.ErrTooLate)
}

func heldWithdrawn(k *kit) {
	claim, c, questions := k.held(seat("", "A?"), seat("", "B?"))
	k.accept(questions[1])
	k.must("Withdraw", k.in.Withdraw(k.ctx, claim, questions[0].ID, "The server no longer asks."))
	got := k.asked(questions[0].ID, inbox.Withdrawn)
	if got.ClosedBy != inbox.ByServer || got.Note != "The server no longer asks." {
		k.t.Errorf("withdrawn: %+v", got)
	}
	_, err := k.in.Deliver(k.ctx, claim, questions[0].ID, nil)
	k.is("Deliver of a withdrawn question", err, inbox.ErrClosed)
	// Withdrawn after the answer: it stays in the record and goes nowhere.
	k.must("Withdraw", k.in.Withdraw(k.ctx, claim, questions[1].ID, ""))
	if got := k.asked(questions[1].ID, inbox.Accepted); got.Delivery != inbox.Dropped {
		k.t.Errorf("dropped: %+v", got)
	}
	_, err = k.in.Deliver(k.ctx, claim, questions[1].ID, nil)
	k.is("Deliver of a dropped answer", err, inbox.ErrClosed)
	_, err = k.in.TakeBack(k.ctx, k.ann, questions[1].ID)
	k.is("TakeBack of a dropped answer", err, inbox.ErrTooLate)
	if c = k.state(c.ID, inbox.Sent); c.Held || c.Delivered != 0 {
		k.t.Errorf("with nothing asked: %+v", c)
	}
}

func heldKeepsAsking(k *kit) {
	claim, c, questions := k.held(seat("", "A?"))
	k.decline(questions[0])
	_, err := k.in.Deliver(k.ctx, claim, questions[0].ID, nil)
	k.must("Deliver", err)
	q, err := k.in.Hold(k.ctx, claim, seat("", "A?"))
	k.must("Hold", err)
	k.answer(q, inbox.Answer{Action: inbox.Cancel})
	_, err = k.in.Deliver(k.ctx, claim, q.ID, nil)
	k.must("Deliver", err)
	_, err = k.in.Hold(k.ctx, claim, seat("", "A?"))
	e := &inbox.LimitError{}
	if !errors.As(err, &e) || e.Reason != inbox.ReasonKeepsAsking {
		k.t.Errorf("the third time: %v", err)
	}
	if c = k.state(c.ID, inbox.Failed); c.Reason != inbox.ReasonKeepsAsking {
		k.t.Errorf("failed: %s", c.Reason)
	}
}

func heldRunAgain(k *kit) {
	claim, c, questions := k.held(seat("", "A?"), seat("", "B?"))
	k.accept(questions[0])
	_, err := k.in.Deliver(k.ctx, claim, questions[0].ID, nil)
	k.must("Deliver", err)
	_, err = k.in.Uncertain(k.ctx, claim, "")
	k.must("Uncertain", err)
	if got := k.asked(questions[1].ID, inbox.Withdrawn); got.ClosedBy != inbox.ByHostStopped {
		k.t.Errorf("the open question was closed by %s", got.ClosedBy)
	}
	_, err = k.in.Resend(k.ctx, claim, 0, 0)
	k.is("Resend after a delivery", err, inbox.ErrState)
	again, err := k.in.Resolve(k.ctx, k.ann, c.ID, inbox.SendAgain, "")
	k.must("Resolve", err)
	old := k.state(c.ID, inbox.Failed)
	if again.ID == c.ID || again.Replaces != c.ID || again.State != inbox.Ready || again.IdempotencyKey == c.IdempotencyKey ||
		old.ReplacedBy != again.ID || old.Reason != inbox.ReasonRunAgain {
		k.t.Errorf("send again means run again: %+v\nold: %+v", again, old)
	}
	claim = k.again(again.ID)
	q, err := k.in.Hold(k.ctx, claim, seat("", "A?"))
	k.must("Hold", err)
	if string(q.Suggested) != `{"seat":"12A"}` || q.State != inbox.Open {
		k.t.Errorf("the answer of before is filled in, not sent: %+v", q)
	}
}

// askedByError is -32042 of a legacy server: the call is parked with url
// questions and starts from the top afterwards.
func askedByError(k *kit) {
	claim, _, questions := k.held(seat("", "A?"))
	k.accept(questions[0])
	_, err := k.in.Deliver(k.ctx, claim, questions[0].ID, nil)
	k.must("Deliver", err)
	late, err := k.in.Hold(k.ctx, claim, seat("", "C?"))
	k.must("Hold", err)
	k.accept(late) // and never delivered
	q, err := k.in.Hold(k.ctx, claim, seat("", "B?"))
	k.must("Hold", err)
	_, c, parked := k.park(claim, visit("e1", "https://air.example"))
	if c.Held || len(parked) != 1 {
		k.t.Errorf("parked: %+v, %v", c, parked)
	}
	k.asked(q.ID, inbox.Withdrawn)
	_, err = k.in.Open(k.ctx, k.ann, parked[0].ID, sum("https://air.example"))
	k.must("Open", err)
	k.answer(parked[0], inbox.Answer{Action: inbox.Accept})
	claim = k.again(c.ID)
	if c = k.state(c.ID, inbox.Sent); c.Held || c.Delivered != 0 {
		k.t.Errorf("a new send holds nothing yet: %+v", c)
	}
	q, err = k.in.Hold(k.ctx, claim, seat("", "A?"))
	k.must("Hold", err)
	if string(q.Suggested) != `{"seat":"12A"}` {
		k.t.Errorf("suggested %s", q.Suggested)
	}
	if got := k.asked(late.ID, inbox.Accepted); got.Delivery != inbox.Dropped {
		k.t.Errorf("an answer whose connection is gone: %q", got.Delivery)
	}
	_, err = k.in.TakeBack(k.ctx, k.ann, late.ID)
	k.is("TakeBack of an answer of an earlier send", err, inbox.ErrTooLate)
	k.decline(q)
	_, err = k.in.Deliver(k.ctx, claim, q.ID, nil)
	k.must("Deliver", err)
	if c = k.state(c.ID, inbox.Sent); c.Held {
		k.t.Error("held for an answer of an earlier send")
	}
}

func awaitAnswer(k *kit) {
	claim, _, questions := k.held(seat("", "A?"))
	type result struct {
		q   *inbox.Question
		err error
	}
	results := make(chan result)
	go func() {
		q, err := k.in.AwaitAnswer(k.ctx, claim, questions[0].ID)
		results <- result{q, err}
	}()
	_, err := k.on(k.handle(), "two").Answer(k.ctx, k.ann, questions[0].ID, inbox.Answer{Action: inbox.Decline})
	k.must("Answer", err)
	if r := <-results; r.err != nil || r.q.State != inbox.Declined {
		k.t.Errorf("AwaitAnswer = %+v, %v", r.q, r.err)
	}
}

func awaitCancelled(k *kit) {
	claim, c, questions := k.held(seat("", "A?"))
	ctx, cancel := context.WithCancel(k.ctx)
	results := make(chan error)
	go func() { _, err := k.in.AwaitAnswer(ctx, claim, questions[0].ID); results <- err }()
	go func() { results <- k.in.AwaitStop(ctx, claim) }()
	go func() { _, err := k.in.Wait(ctx, k.ann, c.ID, 99); results <- err }()
	cancel()
	for range 3 {
		k.is("waiting", <-results, context.Canceled)
	}
}

func heldForeign(k *kit) {
	_, _, questions := k.held(seat("", "A?"))
	other, _ := k.sent(inbox.Legacy)
	_, err := k.in.AwaitAnswer(k.ctx, other, questions[0].ID)
	k.is("AwaitAnswer with another call's claim", err, inbox.ErrNotFound)
	_, err = k.in.Deliver(k.ctx, other, questions[0].ID, nil)
	k.is("Deliver with another call's claim", err, inbox.ErrNotFound)
	k.is("Delivered with another call's claim", k.in.Delivered(k.ctx, other, questions[0].ID), inbox.ErrNotFound)
	k.is("Withdraw with another call's claim", k.in.Withdraw(k.ctx, other, questions[0].ID, ""), inbox.ErrNotFound)
}
