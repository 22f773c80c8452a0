package inboxtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
)

var retentionTests = map[string]func(*kit){
	"ended calls in pages":         endedCalls,
	"content goes after a month":   contentGoes,
	"content that is needed stays": contentStays,
	"a shorter retention":          shorterRetention,
	"erase":                        erase,
	"erase what is on the wire":    eraseOnTheWire,
	"erase what nobody can read":   eraseUnreadable,
}

func endedCalls(k *kit) {
	now := micro(k.clock.Now())
	var want []inbox.Ref
	for i := range 8 {
		principal, id := fmt.Sprint("p", i%2), inbox.CallID(fmt.Sprint("c_", i))
		ended := now.Add(time.Duration(i/2-3) * time.Hour) // pairs share a time: -3 to 0
		k.update(principal, func(tx inbox.Tx) error {
			return tx.PutCall(&inbox.CallRow{ID: id, State: inbox.Done, Ended: ended, Created: now, Updated: now})
		})
		if i < 6 {
			want = append(want, inbox.Ref{Principal: principal, Call: id, Due: ended})
		}
	}
	k.update("p0", func(tx inbox.Tx) error {
		return tx.PutCall(&inbox.CallRow{ID: "c_goes_on", State: inbox.Ready, Created: now, Updated: now})
	})
	var got []inbox.Ref
	for after := (inbox.Ref{}); ; {
		page, err := k.store.Ended(k.ctx, time.Hour, after, 4)
		k.must("Ended", err)
		got = append(got, page...)
		if len(page) < 4 {
			break
		}
		after = page[3]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		k.t.Errorf("Ended in pages (-want +got):\n%s", diff)
	}
}

const month = 30 * 24 * time.Hour

// finished is a call with an answered question and a result.
func (k *kit) finished() (*inbox.Call, *inbox.Question) {
	k.t.Helper()
	_, c, questions := k.waiting(seat("a", "A secret?"))
	k.accept(questions[0])
	c, err := k.in.Finish(k.ctx, k.again(c.ID), inbox.Outcome{
		State: inbox.Done, Detail: "Booked.", Result: json.RawMessage(`{"seat":"12A"}`),
	})
	k.must("Finish", err)
	return c, k.asked(questions[0].ID, inbox.Accepted)
}

func contentGoes(k *kit) {
	c, q := k.finished()
	k.clock.advance(month - time.Microsecond)
	k.sweep()
	if got := k.state(c.ID, inbox.Done); !cmp.Equal(c, got) {
		k.t.Errorf("changed too early (-ended +now):\n%s", cmp.Diff(c, got))
	}
	last, err := k.in.LastEvent(k.ctx, k.ann)
	k.must("LastEvent", err)
	k.clock.advance(time.Microsecond)
	k.sweep()

	// The record stays, and nothing but the record.
	want := *c
	want.Removed, want.Detail = true, "What it contained is no longer kept."
	want.Endpoint, want.Fingerprint, want.IdempotencyKey, want.RequestState = "", "", "", ""
	want.Arguments, want.Result = nil, nil
	if diff := cmp.Diff(&want, k.state(c.ID, inbox.Done)); diff != "" {
		k.t.Errorf("call (-want +got):\n%s", diff)
	}
	wantQ := *q
	wantQ.Removed, wantQ.Note = true, "What was asked and answered is no longer kept."
	wantQ.Key, wantQ.Digest, wantQ.Message, wantQ.Params = "", "", "", nil
	answer := *q.Answer
	answer.Content, wantQ.Answer = nil, &answer
	if diff := cmp.Diff(&wantQ, k.asked(q.ID, inbox.Accepted)); diff != "" {
		k.t.Errorf("question (-want +got):\n%s", diff)
	}
	if got, err := k.in.LastEvent(k.ctx, k.ann); got != last || err != nil {
		k.t.Errorf("removing made events: %d to %d, %v", last, got, err)
	}
	// Not even in the columns.
	k.view(k.ann.Key(), func(tx inbox.Tx) error {
		row, err := tx.Call(c.ID)
		if err != nil {
			return err
		}
		question, err := tx.Question(q.ID)
		if err != nil {
			return err
		}
		if !row.Ended.IsZero() || len(row.Content) > 256 || len(question.Content) > 256 {
			k.t.Errorf("what is left: ended %v, %d and %d bytes", row.Ended, len(row.Content), len(question.Content))
		}
		return nil
	})
	if refs, err := k.store.Ended(k.ctx, 0, inbox.Ref{}, 10); len(refs) != 0 || err != nil {
		k.t.Errorf("to be removed again: %v, %v", refs, err)
	}
	// It cannot be run again, and a call that replaced it goes on without it.
	_, err = k.in.RunAgain(k.ctx, k.ann, c.ID, "")
	k.is("RunAgain", err, inbox.ErrState)
}

func contentStays(k *kit) {
	claim, _ := k.sent(inbox.Modern)
	uncertain, err := k.in.Uncertain(k.ctx, claim, "")
	k.must("Uncertain", err)
	c, _ := k.finished()
	_, interrupted, questions := k.held(seat("", "A?"))
	k.accept(questions[0])
	k.in = k.on(k.store, "one")
	_, err = k.in.Recover(k.ctx)
	k.must("Recover", err)
	again, err := k.in.RunAgain(k.ctx, k.ann, interrupted.ID, "")
	k.must("RunAgain", err)
	k.clock.advance(10 * month)
	k.sweep()
	if got := k.state(uncertain.ID, inbox.Uncertain); string(got.Arguments) != string(uncertain.Arguments) || got.Removed {
		k.t.Errorf("an uncertain call waits for its person: %+v", got)
	}
	if got := k.state(again.ID, inbox.Ready); got.Name != "book" || got.Removed {
		k.t.Errorf("a call that waits for its machine: %+v", got)
	}
	if got := k.state(c.ID, inbox.Done); !got.Removed {
		k.t.Errorf("an old call is still there: %+v", got)
	}
	// What it replaces is gone: nothing is suggested, and it goes on.
	q, err := k.in.Hold(k.ctx, k.again(again.ID), seat("", "A?"))
	k.must("Hold", err)
	if q.Suggested != nil {
		k.t.Errorf("suggested %s", q.Suggested)
	}
	// The person decides at last, and a month later that is over too.
	_, err = k.in.Resolve(k.ctx, k.ann, uncertain.ID, inbox.GiveUp, "")
	k.must("Resolve", err)
	k.clock.advance(month)
	k.sweep()
	if got := k.state(uncertain.ID, inbox.Failed); !got.Removed || got.Arguments != nil {
		k.t.Errorf("given up a month ago: %+v", got)
	}
}

// shorterRetention counts for calls that ended before it was set.
func shorterRetention(k *kit) {
	c, _ := k.finished()
	k.clock.advance(2 * time.Hour)
	k.sweep()
	if k.state(c.ID, inbox.Done).Removed {
		k.t.Error("removed after two hours")
	}
	k.in = inbox.New(k.store, k.keys, &inbox.Options{Retention: time.Hour})
	k.sweep()
	if !k.state(c.ID, inbox.Done).Removed {
		k.t.Error("kept for longer than an hour")
	}
}

func erase(k *kit) {
	done, q := k.finished()
	_, waiting, _ := k.waiting(seat("b", "B?"))
	_, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "flights", Method: "tools/call", Key: "k"})
	k.must("Compose", err)
	bobs, err := k.in.Compose(k.ctx, k.bob, inbox.NewCall{Server: "flights", Method: "tools/call", Key: "k"})
	k.must("Compose", err)
	k.is("Erase of nobody", k.in.Erase(k.ctx, inbox.Principal{}), inbox.ErrInvalid)

	k.must("Erase", k.in.Erase(k.ctx, k.ann))
	for _, id := range []inbox.CallID{done.ID, waiting.ID} {
		_, err := k.in.Call(k.ctx, k.ann, id)
		k.is("Call", err, inbox.ErrNotFound)
		_, err = k.in.Wait(k.ctx, k.ann, id, 1)
		k.is("Wait", err, inbox.ErrNotFound)
	}
	_, err = k.in.Question(k.ctx, k.ann, q.ID)
	k.is("Question", err, inbox.ErrNotFound)
	_, err = k.in.Events(k.ctx, k.ann, 5, 0)
	k.is("Events", err, inbox.ErrReset)
	if last, err := k.in.LastEvent(k.ctx, k.ann); last != 0 || err != nil {
		k.t.Errorf("LastEvent = %d, %v", last, err)
	}
	k.clock.advance(10 * month)
	k.sweep() // nothing is due of what is gone
	if got, err := k.in.Call(k.ctx, k.bob, bobs.ID); err != nil || got.State != inbox.Ready {
		k.t.Errorf("another person's call: %+v, %v", got, err)
	}
	k.must("Erase again", k.in.Erase(k.ctx, k.ann))
	// Who comes back begins anew, with the same key too.
	c, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "flights", Method: "tools/call", Key: "k"})
	k.must("Compose", err)
	if c.Seq != 1 {
		k.t.Errorf("the first event has the number %d", c.Seq)
	}
	// A transaction that fails erases nothing.
	no := errors.New("no")
	k.is("Update", k.store.Update(k.ctx, k.ann.Key(), func(tx inbox.Tx) error {
		return errors.Join(tx.Erase(&inbox.AuditRow{At: tx.Now()}), no)
	}), no)
	k.state(c.ID, inbox.Ready)
	if err := k.store.View(k.ctx, k.ann.Key(), func(tx inbox.Tx) error { return tx.Erase(&inbox.AuditRow{At: tx.Now()}) }); err == nil {
		k.t.Error("a view erased")
	}
	k.state(c.ID, inbox.Ready)
}

func eraseOnTheWire(k *kit) {
	claimed, _ := k.claim()
	sent, _ := k.sent(inbox.Modern)
	lost, _ := k.sent(inbox.Modern)
	_, err := k.in.Uncertain(k.ctx, lost, "")
	k.must("Uncertain", err)
	held, _, questions := k.held(seat("", "A?"))
	k.accept(questions[0])
	k.must("Erase", k.in.Erase(k.ctx, k.ann))

	_, err = k.in.Mark(k.ctx, claimed, inbox.Binding{})
	k.is("Mark", err, inbox.ErrFenced) // so it is not sent
	_, err = k.in.Renew(k.ctx, sent)
	k.is("Renew", err, inbox.ErrFenced)
	k.is("AwaitStop", k.in.AwaitStop(k.ctx, sent), inbox.ErrFenced)
	_, err = k.in.Finish(k.ctx, sent, inbox.Outcome{State: inbox.Done})
	k.is("Finish", err, inbox.ErrFenced)
	_, err = k.in.LateReply(k.ctx, lost, inbox.Reply{Outcome: &inbox.Outcome{State: inbox.Done}})
	k.is("LateReply", err, inbox.ErrFenced)
	_, err = k.in.AwaitAnswer(k.ctx, held, questions[0].ID)
	k.is("AwaitAnswer", err, inbox.ErrFenced)
	_, err = k.in.Deliver(k.ctx, held, questions[0].ID, nil)
	k.is("Deliver", err, inbox.ErrFenced)
	if calls, err := k.in.Calls(k.ctx, k.ann, inbox.CallFilter{}); len(calls) != 0 || err != nil {
		k.t.Errorf("a late machine brought back %d calls, %v", len(calls), err)
	}
}

// eraseUnreadable erases rows whose key is lost.
func eraseUnreadable(k *kit) {
	k.finished()
	k.in = inbox.New(k.store, inbox.NewKeys(), nil)
	if calls, err := k.in.Calls(k.ctx, k.ann, inbox.CallFilter{}); err != nil || len(calls) != 1 || !calls[0].Unreadable {
		k.t.Errorf("opened with another key: %+v, %v", calls, err)
	}
	k.must("Erase", k.in.Erase(k.ctx, k.ann))
	if calls, err := k.in.Calls(k.ctx, k.ann, inbox.CallFilter{}); len(calls) != 0 || err != nil {
		k.t.Errorf("%d calls, %v", len(calls), err)
	}
}
