package inboxtest

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// A sweep does on it what time has made due, and is not called for it again and again.
func unreadableSwept(k *kit) {
	for how := range damages {
		sent, claimed, good := k.compose(), k.compose(), k.compose()
		k.again(sent.ID)
		k.again(good.ID)
		_, _, err := k.in.Claim(k.ctx, k.ann, claimed.ID)
		k.must("Claim", err)
		claim, away := k.claim()
		_, err = k.in.Block(k.ctx, claim, inbox.ReasonUnreachable, "")
		k.must("Block", err)
		_, waits, questions := k.waiting(seat("a", "A?"))
		asks, a := k.approving(ask())
		k.spoil(how, sent.ID, claimed.ID, away.ID, waits.ID, questions[0].ID, asks.ID, a.ID)
		k.clock.advance(time.Minute)
		k.sweepElsewhere()
		k.state(good.ID, inbox.Uncertain)
		for id, want := range map[inbox.CallID]inbox.CallState{sent.ID: inbox.Uncertain, claimed.ID: inbox.Ready} {
			if state := k.stateOf(id); state != want {
				k.t.Errorf("%s: %s, want %s", how, state, want)
			}
		}
		k.clock.advance(2 * week)
		k.sweep()
		for _, id := range []inbox.CallID{away.ID, waits.ID, asks.ID} {
			if state := k.stateOf(id); state != inbox.CallExpired {
				k.t.Errorf("%s: after two weeks %s", how, state)
			}
		}
		if next := k.sweep(); !next.IsZero() {
			k.t.Errorf("%s: something is due at %v", how, next)
		}
		k.stop(claimed.ID)
	}
}

func unreadableRecovered(k *kit) {
	bad, good := k.compose(), k.compose()
	k.again(bad.ID)
	k.again(good.ID)
	k.spoil("content", bad.ID)
	if n, err := k.machine("one").Recover(k.ctx); n != 2 || err != nil {
		k.t.Errorf("Recover = %d, %v", n, err)
	}
	k.state(good.ID, inbox.Uncertain)
	if state := k.stateOf(bad.ID); state != inbox.Uncertain {
		k.t.Errorf("the other is %s", state)
	}
}

// Nothing is sent of what cannot be read, nor with a part of its answers; and no other
// call waits for it.
func unreadableNotSent(k *kit) {
	for how := range damages {
		k.clock.advance(time.Minute) // a server asks ten questions a minute
		bad := k.compose()
		_, part, questions := k.waiting(seat("a", "A?"), seat("b", "B?"))
		_, earlier, first := k.waiting(seat("a", "A?"))
		k.accept(first[0])
		_, _, second := k.park(k.again(earlier.ID), seat("c", "C?"))
		k.accept(questions[0])
		k.accept(questions[1])
		k.spoil(how, bad.ID, questions[1].ID, first[0].ID)
		next := k.compose()
		for _, id := range []inbox.CallID{bad.ID, part.ID} {
			_, _, err := k.in.Claim(k.ctx, k.ann, id)
			k.is("Claim, "+how, err, inbox.ErrUnreadable)
		}
		for range 2 {
			claim, c, err := k.in.ClaimNext(k.ctx, nil)
			if err == nil {
				if c.ID != next.ID {
					k.t.Errorf("claimed %s", c.ID)
				}
				_, err = k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Failed})
				k.must("Finish", err)
				continue
			}
			k.is("ClaimNext", err, inbox.ErrNothing)
		}
		k.state(next.ID, inbox.Failed)
		// A question of an earlier round, whose answer has left, is in nobody's way; if
		// its round is not known any more it might be of this one.
		k.accept(second[0])
		_, _, err := k.in.Claim(k.ctx, k.ann, earlier.ID)
		if lost := how == "detail" || how == "both"; lost {
			k.is("Claim, "+how, err, inbox.ErrUnreadable)
		} else {
			k.must("Claim, "+how, err)
		}
		for _, id := range []inbox.CallID{bad.ID, part.ID, earlier.ID} {
			k.stop(id)
		}
	}
}

// A call that is run again asks, though the one before cannot be read.
func unreadableRunAgain(k *kit) {
	for how := range damages {
		_, old, questions := k.waiting(seat("a", "A?"))
		k.accept(questions[0])
		k.stop(old.ID)
		c, err := k.in.RunAgain(k.ctx, k.ann, old.ID, "")
		k.must("RunAgain", err)
		k.spoil(how, old.ID, questions[0].ID)
		claim, _, err := k.in.Claim(k.ctx, k.ann, c.ID)
		k.must("Claim", err)
		_, err = k.in.Mark(k.ctx, claim, inbox.Binding{Era: inbox.Modern})
		k.must("Mark", err)
		_, _, list := k.park(claim, seat("a", "A?"))
		if len(list) != 1 || list[0].Suggested != nil {
			k.t.Errorf("%s: asked %+v", how, list)
		}
		_, err = k.in.RunAgain(k.ctx, k.ann, old.ID, "")
		if k.is("RunAgain of what cannot be read", err, inbox.ErrUnreadable); err == nil {
			k.t.Error(how)
		}
	}
}

// Of an uncertain call a person says what they know; it is not sent again.
func unreadableResolved(k *kit) {
	for how := range damages {
		for res, want := range map[inbox.Resolution]inbox.CallState{inbox.GiveUp: inbox.Failed, inbox.ItHappened: inbox.Done} {
			_, c := k.sent(inbox.Modern)
			k.clock.advance(time.Minute)
			k.sweepElsewhere()
			k.spoil(how, c.ID)
			_, err := k.in.Resolve(k.ctx, k.ann, c.ID, inbox.SendAgain, "")
			k.is("to send it again", err, inbox.ErrUnreadable)
			got, err := k.in.Resolve(k.ctx, k.ann, c.ID, res, "")
			if k.must("Resolve, "+how, err); got.State != want {
				k.t.Errorf("%s, %s: %s", how, res, got.State)
			}
		}
	}
}

// What stands and cannot be read allows nothing, keeps no call from being asked about,
// and can be revoked.
func unreadableStanding(k *kit) {
	_, older := k.approving(ask())
	_, newer := k.approving(ask())
	for _, a := range []*inbox.Approval{older, newer} {
		k.decide(k.ann, a.ID, inbox.Decision{Allow: true, Scope: inbox.Always})
	}
	if c := k.under(ask()); c.State != inbox.Ready || c.Approval != newer.ID {
		k.t.Errorf("covered: %s under %s", c.State, c.Approval)
	}
	k.spoil("content", newer.ID)
	if c := k.under(ask()); c.State != inbox.Ready || c.Approval != older.ID {
		k.t.Errorf("by the one that can be read: %s under %s", c.State, c.Approval)
	}
	k.spoil("detail", older.ID)
	if c := k.under(ask()); c.State != inbox.Approving {
		k.t.Errorf("covered by what cannot be read: %s", c.State)
	}
	for _, a := range []*inbox.Approval{older, newer} {
		_, err := k.in.Revoke(k.ctx, k.ann, a.ID)
		k.must("Revoke", err)
	}
	list, err := k.in.Approvals(k.ctx, k.ann, inbox.ApprovalFilter{Standing: true})
	if k.must("Approvals", err); len(list) > 0 {
		k.t.Errorf("revoked, and standing: %+v", list)
	}
	// The call's own one.
	asks, own := k.approving(ask())
	k.decide(k.ann, own.ID, inbox.Decision{Allow: true})
	k.spoil("content", own.ID)
	claim, _, err := k.in.Claim(k.ctx, k.ann, asks.ID)
	k.must("Claim", err)
	if c, err := k.in.Ask(k.ctx, claim, *ask()); err != nil || c.State != inbox.Approving || c.Approval == own.ID {
		k.t.Errorf("Ask = %+v, %v", c, err)
	}
}

// Who decides can deny, though neither the call nor the approval can be read.
func unreadableDecided(k *kit) {
	for how := range damages {
		for i := range 2 {
			c, a := k.approving(ask())
			k.spoil(how, []any{c.ID, a.ID}[i])
			_, err := k.in.Decide(k.ctx, inbox.Approver{Principal: k.ann}, a.ID, inbox.Decision{Allow: true})
			k.is("to allow it", err, inbox.ErrUnreadable)
			_, err = k.in.Decide(k.ctx, inbox.Approver{Principal: k.ann}, a.ID, inbox.Decision{})
			k.must("to deny it, "+how, err)
			if state := k.stateOf(c.ID); state != inbox.Denied {
				k.t.Errorf("%s: %s", how, state)
			}
		}
	}
}

// A machine without the key overwrites nothing: where the key is, all is there.
func unreadableKey(k *kit) {
	without := inbox.New(k.store, inbox.NewKeys(), nil)
	_, c, questions := k.waiting(seat("a", "A?"))
	asks, a := k.approving(ask())
	for _, id := range []inbox.CallID{c.ID, asks.ID} {
		got, err := without.Stop(k.ctx, k.ann, id)
		if k.must("Stop", err); got.State != inbox.Stopped || !got.Unreadable {
			k.t.Errorf("stopped: %+v", got)
		}
	}
	if got := k.state(c.ID, inbox.Stopped); got.Unreadable || len(got.Arguments) == 0 || got.RequestState == "" {
		k.t.Errorf("call: %+v", got)
	}
	if got := k.asked(questions[0].ID, inbox.Withdrawn); got.Unreadable || got.Message != "A?" {
		k.t.Errorf("question: %+v", got)
	}
	if got := k.approval(a.ID, inbox.ApprovalWithdrawn); got.Unreadable || len(got.Arguments) == 0 {
		k.t.Errorf("approval: %+v", got)
	}
}

// Retention takes what cannot be read: no row names a key that is gone any more.
func unreadableRetention(k *kit) {
	var ids []inbox.CallID
	for how := range damages {
		_, c, questions := k.waiting(seat("a", "A?"))
		k.stop(c.ID)
		asks, a := k.approving(ask())
		k.stop(asks.ID)
		k.spoil(how, c.ID, questions[0].ID, asks.ID, a.ID)
		ids = append(ids, c.ID, asks.ID)
	}
	good, _ := k.finished()
	k.clock.advance(31 * 24 * time.Hour)
	k.sweep()
	for _, id := range append(ids, good.ID) {
		c, err := k.in.Call(k.ctx, k.ann, id)
		if c == nil || !c.Removed || len(c.Arguments) > 0 {
			k.t.Errorf("after its retention: %+v, %v", c, err)
		}
		k.view(k.ann.Key(), func(tx inbox.Tx) error {
			row, err := tx.Call(id)
			if err == nil {
				_, err = k.keys.Open("inbox call", []string{k.ann.Key(), string(id)}, row.Content)
			}
			return err
		})
	}
	seals, err := k.in.SealedRows(k.ctx)
	if k.must("SealedRows", err); len(seals) != 1 || seals[0].Key != k.keys.Primary() {
		k.t.Errorf("sealed rows: %+v", seals)
	}
}

// What is remembered of refused questions and seen tools begins anew.
func unreadableMemories(k *kit) {
	k.update(k.ann.Key(), func(tx inbox.Tx) error {
		return tx.Remember("refused questions", []byte("damaged"), k.clock.Now().Add(time.Hour))
	})
	if list, err := k.in.Refusals(k.ctx, k.ann); len(list) != 0 || err != nil {
		k.t.Errorf("refusals: %+v, %v", list, err)
	}
	k.must("Refused", k.in.Refused(k.ctx, k.ann, "trains", 1))
	if list, err := k.in.Refusals(k.ctx, k.ann); len(list) != 1 || err != nil {
		k.t.Errorf("refusals: %+v, %v", list, err)
	}
}

// Whoever reads the log reads on behind a row that is damaged.
func unreadableAudit(k *kit) {
	c := k.compose()
	k.update(k.ann.Key(), func(tx inbox.Tx) error {
		return tx.AppendAudit(&inbox.AuditRow{At: tx.Now(), Kind: inbox.AuditAsked, Call: c.ID, Detail: []byte(`["damaged"]`)})
	})
	k.compose()
	own, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{})
	k.must("Audit", err)
	all, err := k.in.AuditAll(k.ctx, 0, 100)
	k.must("AuditAll", err)
	slices.Reverse(own)
	for name, list := range map[string][]*inbox.AuditEntry{"Audit": own, "AuditAll": all} {
		if len(list) != 3 {
			k.t.Errorf("%s: %d entries", name, len(list))
			continue
		}
		for i, e := range list {
			if e.Unreadable != (i == 1) || e.Principal != k.ann {
				k.t.Errorf("%s: %+v", name, e)
			}
		}
		if e := list[1]; e.Kind != inbox.AuditAsked || e.Call != c.ID || e.At.IsZero() || e.ID == 0 {
			k.t.Errorf("%s: the damaged one is %+v", name, e)
		}
	}
	b, err := json.Marshal(all[0])
	if k.must("Marshal", err); bytes.Contains(b, []byte("unreadable")) {
		k.t.Errorf("a good entry: %s", b)
	}
}

// Somebody can be erased who had to decide what nobody can read.
func unreadableApprover(k *kit) {
	var ids []inbox.ApprovalID
	for how := range damages {
		_, a := k.approving(k.bobs())
		k.spoil(how, a.ID)
		ids = append(ids, a.ID)
	}
	k.must("Erase", k.in.Erase(k.ctx, k.bob))
	k.view(k.ann.Key(), func(tx inbox.Tx) error {
		for _, id := range ids {
			row, err := tx.Approval(id)
			if err != nil {
				return err
			}
			if row.Assignee == k.bob.Key() || bytes.Contains(row.Detail, []byte("bob")) {
				k.t.Errorf("it names him: %+v", row)
			}
		}
		return nil
	})
}

// A machine that lacks a key leaves the next try of a call whose server could not be
// reached to those that have it.
func unreadableSweptElsewhere(k *kit) {
	claim, c := k.claim()
	_, err := k.in.Block(k.ctx, claim, inbox.ReasonUnreachable, "")
	k.must("Block", err)
	lacks := inbox.New(k.handle(), inbox.NewKeys(), nil)
	k.clock.advance(5 * time.Second)
	next, err := lacks.Sweep(k.ctx)
	if err != nil || next != 15*time.Minute {
		k.t.Errorf("Sweep = %v, %v; want the next try in 15 minutes", next, err)
	}
	k.state(c.ID, inbox.Blocked)
	k.clock.advance(15 * time.Minute)
	k.sweep()
	k.state(c.ID, inbox.Ready)
}

// The machine that works on a call hears that it is to be stopped, whatever can be read of it.
func unreadableStopHeard(k *kit) {
	for how := range damages {
		claimed, c := k.claim()
		k.spoil(how, c.ID)
		k.stop(c.ID)
		k.is("AwaitStop of a claimed call, "+how, k.in.AwaitStop(k.ctx, claimed), inbox.ErrStopped)

		sent, c := k.sent(inbox.Modern)
		k.spoil(how, c.ID)
		k.stop(c.ID)
		k.must("AwaitStop of a sent call, "+how, k.in.AwaitStop(k.ctx, sent))
		k.clock.advance(time.Minute)
		k.sweepElsewhere()
		k.is("AwaitStop of a call that was given up, "+how, k.in.AwaitStop(k.ctx, sent), inbox.ErrFenced)
	}
}

// A held question that cannot be read is withdrawn: its call goes on without it.
func unreadableWithdrawn(k *kit) {
	for how := range damages {
		k.clock.advance(time.Minute) // a server asks ten questions a minute
		claim, c, questions := k.held(seat("", "A?"))
		k.spoil(how, questions[0].ID)
		k.must("Withdraw, "+how, k.in.Withdraw(k.ctx, claim, questions[0].ID, ""))
		if got := k.state(c.ID, inbox.Sent); got.Held {
			k.t.Errorf("%s: still held", how)
		}
		k.finish(claim, inbox.Done, "")
	}
}
