package inboxtest

import (
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

var resendTests = map[string]func(*kit){
	"sent again for as long as it may be": resendWithin,
	"too late to be sent again":           resendTooLate,
	"sent again by a person":              resendDecided,
	"too late in the next round":          resendNextRound,
	"not safe any more":                   resendUnsafe,
	"too late, by an older version":       resendOlderVersion,
}

// lost sends a call, waits in vain and has it sent again by itself for a minute after it was composed.
func (k *kit) lost(after time.Duration) inbox.CallID {
	k.t.Helper()
	claim, c := k.sent(inbox.Modern)
	_, err := k.in.Uncertain(k.ctx, claim, "")
	k.must("Uncertain", err)
	_, err = k.in.Resend(k.ctx, claim, after, time.Minute)
	k.must("Resend", err)
	return c.ID
}

func resendWithin(k *kit) {
	id := k.lost(time.Second)
	k.clock.advance(time.Minute - time.Microsecond)
	claim := k.again(id)
	// On proof that nothing of this send ran the time goes on to count: the first one may have.
	_, err := k.in.NothingRan(k.ctx, claim, "")
	k.must("NothingRan", err)
	k.clock.advance(time.Microsecond)
	k.refusedMark(id)

	// What would come too late is not begun.
	for after, want := range map[time.Duration]error{
		20*time.Second - time.Microsecond: nil, 20 * time.Second: inbox.ErrLimit, time.Hour: inbox.ErrLimit,
	} {
		claim, c := k.sent(inbox.Modern)
		k.clock.advance(40 * time.Second)
		_, err := k.in.Uncertain(k.ctx, claim, "")
		k.must("Uncertain", err)
		_, err = k.in.Resend(k.ctx, claim, after, time.Minute)
		if !errors.Is(err, want) {
			k.t.Errorf("Resend after %v: %v, want %v", after, err, want)
		}
		if e, ok := errors.AsType[*inbox.LimitError](err); want != nil && (!ok || e.Reason != inbox.ReasonTooLateToResend || e.Limit != 60) {
			k.t.Errorf("Resend after %v: %#v", after, err)
		}
		if want != nil {
			if c := k.state(c.ID, inbox.Uncertain); c.Resends != 0 || c.Reason != inbox.ReasonNoReply {
				k.t.Errorf("after a Resend in vain: %+v", c)
			}
		}
	}
}

// refusedMark claims a call that it is too late to mark.
func (k *kit) refusedMark(id inbox.CallID) *inbox.Claim {
	k.t.Helper()
	claim, before, err := k.in.Claim(k.ctx, k.ann, id)
	k.must("Claim", err)
	_, err = k.in.Mark(k.ctx, claim, inbox.Binding{})
	k.is("Mark too late", err, inbox.ErrFenced)
	c := k.state(id, inbox.Uncertain)
	if c.Reason != inbox.ReasonTooLateToResend || c.Detail == "" || c.Sends != before.Sends || !c.MarkedBefore || c.Owner != "" || !c.ExpiresAt.IsZero() {
		k.t.Errorf("after the mark was refused: %+v", c)
	}
	return claim
}

// A call that waited, in whatever state, for longer than the server knows its key.
func resendTooLate(k *kit) {
	unreachable := func(id inbox.CallID) {
		claim, _, err := k.in.Claim(k.ctx, k.ann, id)
		k.must("Claim", err)
		_, err = k.in.Block(k.ctx, claim, inbox.ReasonUnreachable, "")
		k.must("Block", err)
		k.clock.advance(3 * 24 * time.Hour)
		k.sweep() // its server is tried again
	}
	for name, waits := range map[string]func(inbox.CallID){
		"ready":   func(inbox.CallID) { k.clock.advance(time.Minute) },
		"blocked": unreachable,
		"claimed by a machine that died": func(id inbox.CallID) {
			_, _, err := k.in.Claim(k.ctx, k.ann, id)
			k.must("Claim", err)
			k.clock.advance(time.Hour)
			k.sweepElsewhere()
		},
		"in another life of the store": func(inbox.CallID) {
			k.clock.advance(time.Hour)
			k.store = k.handle()
			k.in = k.machine("two")
		},
	} {
		id := k.lost(0)
		waits(id)
		claim := k.refusedMark(id)
		k.is(name+": Release afterwards", k.in.Release(k.ctx, claim), inbox.ErrFenced)

		// The person may still have it sent again, and then it is for as long as that takes.
		again, err := k.in.Resolve(k.ctx, k.ann, id, inbox.SendAgain, "")
		k.must("Resolve", err)
		if again.State != inbox.Ready {
			k.t.Errorf("%s: send again: %+v", name, again)
		}
		k.clock.advance(365 * 24 * time.Hour)
		_, err = k.in.Finish(k.ctx, k.again(id), inbox.Outcome{State: inbox.Done})
		k.must("Finish", err)
	}
}

// A person's decision has no such time.
func resendDecided(k *kit) {
	id := k.lost(0)
	_, err := k.in.Uncertain(k.ctx, k.again(id), "")
	k.must("Uncertain", err)
	_, err = k.in.Resolve(k.ctx, k.ann, id, inbox.SendAgain, "")
	k.must("Resolve", err)
	k.clock.advance(time.Hour)
	k.again(id)
}

// The time is of the send that brought no reply, and not of those of later rounds.
func resendNextRound(k *kit) {
	for name, next := range map[string]func(*inbox.Claim){
		"questions": func(claim *inbox.Claim) {
			_, _, questions := k.park(claim, seat("a", "A?"))
			k.accept(questions[0])
		},
		"state only": func(claim *inbox.Claim) {
			_, err := k.in.Again(k.ctx, claim, "s", 0)
			k.must("Again", err)
		},
	} {
		id := k.lost(0)
		next(k.again(id))
		k.clock.advance(time.Hour)
		claim, _, err := k.in.Claim(k.ctx, k.ann, id)
		k.must("Claim", err)
		if _, err := k.in.Mark(k.ctx, claim, inbox.Binding{}); err != nil {
			k.t.Errorf("%s: Mark in the next round: %v", name, err)
		}
	}
}

// What made it safe to send a call again by itself is judged again with the mark: after
// days the server may have changed, or what the operator says of it.
func resendUnsafe(k *kit) {
	for name, test := range map[string]struct {
		resend, mark time.Duration
		unsafe       bool
	}{
		"still":                 {0, 0, false},
		"not any more":          {0, -1, true},
		"for a while, not now":  {24 * time.Hour, -1, true},
		"for ever, now shorter": {0, time.Hour, true},
		"for a while, shorter":  {24 * time.Hour, time.Hour, true},
		"now for longer":        {24 * time.Hour, 0, false},
	} {
		claim, c := k.sent(inbox.Modern)
		_, err := k.in.Uncertain(k.ctx, claim, "")
		k.must("Uncertain", err)
		_, err = k.in.Resend(k.ctx, claim, 0, test.resend)
		k.must("Resend", err)
		k.clock.advance(time.Hour)
		claim, _, err = k.in.Claim(k.ctx, k.ann, c.ID)
		k.must("Claim", err)
		_, err = k.in.Mark(k.ctx, claim, inbox.Binding{Within: test.mark})
		if !test.unsafe {
			if err != nil {
				k.t.Errorf("%s: Mark: %v", name, err)
			}
			// That nothing of this send ran proves nothing of the first one.
			_, err = k.in.NothingRan(k.ctx, claim, "")
			k.must("NothingRan", err)
			claim, _, err = k.in.Claim(k.ctx, k.ann, c.ID)
			k.must("Claim", err)
			_, err = k.in.Mark(k.ctx, claim, inbox.Binding{Within: -1})
		}
		k.is(name+": Mark", err, inbox.ErrFenced)
		got := k.state(c.ID, inbox.Uncertain)
		if got.Reason != inbox.ReasonTooLateToResend || got.Detail == "" || !got.MarkedBefore {
			k.t.Errorf("%s: after the mark was refused: %+v", name, got)
		}
		// A person may have it sent again whatever the server says.
		_, err = k.in.Resolve(k.ctx, k.ann, c.ID, inbox.SendAgain, "")
		k.must("Resolve", err)
		claim, _, err = k.in.Claim(k.ctx, k.ann, c.ID)
		k.must("Claim", err)
		if _, err = k.in.Mark(k.ctx, claim, inbox.Binding{Within: -1}); err != nil {
			k.t.Errorf("%s: Mark of what a person decided: %v", name, err)
		}
	}
	// It is for no other call.
	c := k.compose()
	claim, _, err := k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	if _, err = k.in.Mark(k.ctx, claim, inbox.Binding{Within: -1}); err != nil {
		k.t.Errorf("the first mark: %v", err)
	}
}

// A version before the time was known leaves it in the row when it goes on to the next
// round. It counts for no send of that one.
func resendOlderVersion(k *kit) {
	id := k.lost(0)
	claim := k.again(id)
	left := k.detail(id)
	_, err := k.in.Again(k.ctx, claim, "s", 0)
	k.must("Again", err)
	set := map[string]any{}
	for _, name := range []string{"resending", "resend_until"} {
		if set[name] = left[name]; left[name] == nil {
			k.t.Errorf("the row has no %q", name)
		}
	}
	k.setDetail(id, set)
	k.clock.advance(time.Hour)
	for range 2 { // nor for its second send
		claim, _, err = k.in.Claim(k.ctx, k.ann, id)
		k.must("Claim", err)
		_, err = k.in.Mark(k.ctx, claim, inbox.Binding{Within: -1})
		k.must("Mark", err)
		_, err = k.in.NothingRan(k.ctx, claim, "")
		k.must("NothingRan", err)
	}
}

// setDetail puts members into the row of a call of Ann's.
func (k *kit) setDetail(id inbox.CallID, set map[string]any) {
	k.t.Helper()
	k.update(k.ann.Key(), func(tx inbox.Tx) error {
		row, err := tx.Call(id)
		if err != nil {
			return err
		}
		var detail map[string]any
		if err := json.Unmarshal(row.Detail, &detail); err != nil {
			return err
		}
		maps.Copy(detail, set)
		if row.Detail, err = json.Marshal(detail); err != nil {
			return err
		}
		return tx.PutCall(row)
	})
}

// detail is what the row of a call of Ann's has.
func (k *kit) detail(id inbox.CallID) (detail map[string]json.RawMessage) {
	k.t.Helper()
	err := k.store.View(k.ctx, k.ann.Key(), func(tx inbox.Tx) error {
		row, err := tx.Call(id)
		if err != nil {
			return err
		}
		return json.Unmarshal(row.Detail, &detail)
	})
	k.must("the row", err)
	return detail
}
