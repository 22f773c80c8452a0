package inboxtest

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

var unreadableTests = map[string]func(*kit){
	"lists":            unreadableLists,
	"one row":          unreadableOne,
	"assigned":         unreadableAssigned,
	"stopped":          unreadableStopped,
	"stop heard":       unreadableStopHeard,
	"withdrawn":        unreadableWithdrawn,
	"a server stopped": unreadableServer,
	"disabled":         unreadableDisabled,
	"unblocked":        unreadableUnblocked,
	"completed":        unreadableCompleted,
	"swept":            unreadableSwept,
	"swept elsewhere":  unreadableSweptElsewhere,
	"recovered":        unreadableRecovered,
	"not sent":         unreadableNotSent,
	"run again":        unreadableRunAgain,
	"resolved":         unreadableResolved,
	"standing":         unreadableStanding,
	"key comes back":   unreadableKey,
	"decided":          unreadableDecided,
	"retention":        unreadableRetention,
	"memories":         unreadableMemories,
	"audit":            unreadableAudit,
	"approver erased":  unreadableApprover,
}

// damages are the ways in which a row cannot be read. The row is that of a call, a
// question or an approval.
var damages = map[string]func(detail, content *[]byte){
	"content":   func(_, content *[]byte) { *content = []byte("damaged") },
	"emptied":   func(_, content *[]byte) { *content = nil },
	"other key": func(_, content *[]byte) { *content = inbox.NewKeys().Seal("inbox call", nil, []byte("{}")) },
	"detail":    func(detail, _ *[]byte) { *detail = []byte(`["damaged"]`) },
	"both":      func(detail, content *[]byte) { *detail, *content = []byte("{"), []byte("damaged") },
}

// spoil damages rows: ids of Ann's calls, questions and approvals.
func (k *kit) spoil(how string, ids ...any) {
	k.t.Helper()
	k.update(k.ann.Key(), func(tx inbox.Tx) error {
		for _, id := range ids {
			switch id := id.(type) {
			case inbox.CallID:
				row, err := tx.Call(id)
				if err != nil {
					return err
				}
				damages[how](&row.Detail, &row.Content)
				if err := tx.PutCall(row); err != nil {
					return err
				}
			case inbox.QuestionID:
				row, err := tx.Question(id)
				if err != nil {
					return err
				}
				damages[how](&row.Detail, &row.Content)
				if err := tx.PutQuestion(row); err != nil {
					return err
				}
			case inbox.ApprovalID:
				row, err := tx.Approval(id)
				if err != nil {
					return err
				}
				damages[how](&row.Detail, &row.Content)
				if err := tx.PutApproval(row); err != nil {
					return err
				}
			default:
				return fmt.Errorf("no row: %v", id)
			}
		}
		return nil
	})
}

// stateOf is the state of a call, readable or not.
func (k *kit) stateOf(id inbox.CallID) (state inbox.CallState) {
	k.t.Helper()
	k.view(k.ann.Key(), func(tx inbox.Tx) error {
		row, err := tx.Call(id)
		if err == nil {
			state = row.State
		}
		return err
	})
	return state
}

// One row that cannot be read takes no other from a list: it is there, marked, with
// what its columns say. Each look logs it once, by its id alone.
func unreadableLists(k *kit) {
	for how := range damages {
		k.clock.advance(time.Minute) // a server asks ten questions a minute
		var log bytes.Buffer
		in := inbox.New(k.store, k.keys, &inbox.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		_, good, _ := k.waiting(seat("a", "The good one"))
		_, c, questions := k.waiting(seat("a", "The bad one"))
		_, approving, _ := k.waiting(seat("a", "Another"))
		asks, a := k.approving(ask())
		other, b := k.approving(ask())
		k.spoil(how, c.ID, questions[0].ID, a.ID)
		looks := 0
		look := func(what string, marked bool, err error) {
			k.t.Helper()
			k.must(what+", "+how, err)
			if !marked {
				k.t.Errorf("%s, %s: the row is not marked", what, how)
			}
			looks++
			if n := strings.Count(log.String(), "\n"); n != looks || strings.Contains(log.String(), "damaged\"") {
				k.t.Errorf("%s, %s: %d lines in the log after %d looks\n%s", what, how, n, looks, log.String())
			}
		}
		onlyCall := func(list []*inbox.Call) bool {
			for _, one := range list {
				if one.Unreadable != (one.ID == c.ID) || one.State != k.stateOf(one.ID) {
					return false
				}
			}
			return slices.ContainsFunc(list, func(one *inbox.Call) bool { return one.ID == good.ID && len(one.Arguments) > 0 }) &&
				slices.ContainsFunc(list, func(one *inbox.Call) bool { return one.ID == approving.ID })
		}
		onlyQuestion := func(list []*inbox.Question) bool {
			for _, one := range list {
				if one.Unreadable != (one.ID == questions[0].ID) || one.State != inbox.Open || one.Unreadable && (one.Message != "" || one.Note == "") {
					return false
				}
			}
			return len(list) >= 3
		}
		calls, err := in.Calls(k.ctx, k.ann, inbox.CallFilter{States: []inbox.CallState{inbox.Waiting}})
		look("Calls", onlyCall(calls), err)
		list, err := in.Questions(k.ctx, k.ann, inbox.QuestionFilter{States: []inbox.QuestionState{inbox.Open}})
		look("Questions", onlyQuestion(list), err)
		_, list, _, err = in.Conversation(k.ctx, k.ann, "v_trip")
		list = slices.DeleteFunc(list, func(q *inbox.Question) bool { return q.State.Closed() })
		look("Conversation", onlyQuestion(list), err)
		approvals, err := in.Approvals(k.ctx, k.ann, inbox.ApprovalFilter{States: []inbox.ApprovalState{inbox.ApprovalOpen}})
		look("Approvals", len(approvals) == 2 && approvals[0].ID == b.ID && !approvals[0].Unreadable && approvals[1].ID == a.ID && approvals[1].Unreadable, err)
		if !strings.Contains(log.String(), string(c.ID)) || !strings.Contains(log.String(), string(questions[0].ID)) || !strings.Contains(log.String(), string(a.ID)) {
			k.t.Errorf("the log does not name the rows:\n%s", log.String())
		}
		if how == "detail" || how == "both" { // a brief list reads nothing else
			calls, err := k.in.Calls(k.ctx, k.ann, inbox.CallFilter{Brief: true, States: []inbox.CallState{inbox.Waiting}})
			k.must("Calls, brief", err)
			for _, one := range calls {
				if one.Unreadable != (one.ID == c.ID) {
					k.t.Errorf("brief: %s is marked: %v", one.ID, one.Unreadable)
				}
			}
		}
		for _, id := range []inbox.CallID{c.ID, good.ID, approving.ID, asks.ID, other.ID} {
			k.stop(id) // and the next way
		}
	}
}

// Who asks for the row alone gets what there is, and an error that names it.
func unreadableOne(k *kit) {
	for how := range damages {
		_, c, questions := k.waiting(seat("a", "A?"))
		_, a := k.approving(ask())
		k.spoil(how, c.ID, questions[0].ID, a.ID)
		got, err := k.in.Call(k.ctx, k.ann, c.ID)
		k.is("Call", err, inbox.ErrUnreadable)
		if got == nil || !got.Unreadable || got.ID != c.ID || got.State != inbox.Waiting || len(got.Arguments) > 0 || !strings.Contains(err.Error(), string(c.ID)) {
			k.t.Errorf("%s: call %+v, %v", how, got, err)
		}
		got, err = k.in.Wait(k.ctx, k.ann, c.ID, c.Version-1)
		if k.is("Wait", err, inbox.ErrUnreadable); got == nil || got.Version != c.Version {
			k.t.Errorf("%s: waited for %+v", how, got)
		}
		q, err := k.in.Question(k.ctx, k.ann, questions[0].ID)
		if k.is("Question", err, inbox.ErrUnreadable); q == nil || !q.Unreadable || q.State != inbox.Open || len(q.Params) > 0 {
			k.t.Errorf("%s: question %+v, %v", how, q, err)
		}
		one, err := k.in.Approval(k.ctx, inbox.Approver{Principal: k.ann}, a.ID)
		if k.is("Approval", err, inbox.ErrUnreadable); one == nil || !one.Unreadable || one.State != inbox.ApprovalOpen || len(one.Arguments) > 0 {
			k.t.Errorf("%s: approval %+v, %v", how, one, err)
		}
		if _, err := k.in.Call(k.ctx, k.bob, c.ID); err == nil {
			k.t.Error("another person found it")
		}
		// What needs the content is refused, and changes nothing.
		_, err = k.in.Answer(k.ctx, k.ann, questions[0].ID, inbox.Answer{Action: inbox.Decline})
		k.is("Answer", err, inbox.ErrUnreadable)
		_, err = k.in.Decide(k.ctx, inbox.Approver{Principal: k.ann}, a.ID, inbox.Decision{Allow: true})
		k.is("Decide", err, inbox.ErrUnreadable)
		k.must("Shown", k.in.Shown(k.ctx, k.ann, questions[0].ID, "card"))
		k.must("ShownApproval", k.in.ShownApproval(k.ctx, inbox.Approver{Principal: k.ann}, a.ID, "card"))
		k.spoilt(how, c.ID, questions[0].ID, a.ID)
	}
}

// spoilt checks that rows are still what spoil made of them.
func (k *kit) spoilt(how string, call inbox.CallID, question inbox.QuestionID, approval inbox.ApprovalID) {
	k.t.Helper()
	k.view(k.ann.Key(), func(tx inbox.Tx) error {
		c, err := tx.Call(call)
		if err != nil {
			return err
		}
		q, err := tx.Question(question)
		if err != nil {
			return err
		}
		a, err := tx.Approval(approval)
		if err != nil {
			return err
		}
		for _, row := range []struct{ detail, content []byte }{{c.Detail, c.Content}, {q.Detail, q.Content}, {a.Detail, a.Content}} {
			detail, content := row.detail, row.content
			damages[how](&detail, &content)
			if how != "other key" && (!bytes.Equal(detail, row.detail) || !bytes.Equal(content, row.content)) {
				k.t.Errorf("%s: a row was written: %s, %x", how, row.detail, row.content)
			}
		}
		return nil
	})
}

// An approver's list has what is readable, whosever call the other one is of.
func unreadableAssigned(k *kit) {
	who := inbox.Approver{Principal: k.bob}
	for how := range damages {
		_, bad := k.approving(k.bobs())
		k.clock.advance(time.Second) // they are listed in the order of their times
		_, good := k.approving(k.bobs())
		k.spoil(how, bad.ID)
		list, err := k.in.Assigned(k.ctx, who, inbox.AssignedFilter{})
		k.must("Assigned, "+how, err)
		if len(list) != 2 || list[0].ID != bad.ID || !list[0].Unreadable || list[1].ID != good.ID || list[1].Unreadable {
			k.t.Errorf("%s: assigned %+v", how, list)
		}
		_, err = k.in.Decide(k.ctx, who, bad.ID, inbox.Decision{Allow: true})
		k.is("to allow it", err, inbox.ErrUnreadable)
		for _, id := range []inbox.ApprovalID{bad.ID, good.ID} {
			_, err := k.in.Decide(k.ctx, who, id, inbox.Decision{})
			k.must("to deny it, "+how, err)
		}
	}
}

// A person can end what nobody can read, in every state.
func unreadableStopped(k *kit) {
	for how := range damages {
		for name, begin := range map[string]func() (*inbox.Call, []any){
			"approving": func() (*inbox.Call, []any) { c, a := k.approving(ask()); return c, []any{c.ID, a.ID} },
			"ready":     func() (*inbox.Call, []any) { c := k.compose(); return c, []any{c.ID} },
			"claimed":   func() (*inbox.Call, []any) { _, c := k.claim(); return c, []any{c.ID} },
			"sent":      func() (*inbox.Call, []any) { _, c := k.sent(inbox.Modern); return c, []any{c.ID} },
			"waiting": func() (*inbox.Call, []any) {
				_, c, q := k.waiting(seat("a", "A?"), seat("b", "B?"))
				return c, []any{c.ID, q[1].ID}
			},
			"held": func() (*inbox.Call, []any) { _, c, q := k.held(seat("", "A?")); return c, []any{c.ID, q[0].ID} },
			"blocked": func() (*inbox.Call, []any) {
				claim, _ := k.claim()
				c, err := k.in.Block(k.ctx, claim, inbox.ReasonSignIn, "")
				k.must("Block", err)
				return c, []any{c.ID}
			},
		} {
			for i := range 3 { // the call, what belongs to it, both
				k.clock.advance(time.Minute) // a server asks ten questions a minute
				c, rows := begin()
				switch {
				case i == 0:
					rows = rows[:1]
				case i == 1:
					rows = rows[1:]
				}
				k.spoil(how, rows...)
				got, err := k.in.Stop(k.ctx, k.ann, c.ID)
				if err != nil {
					k.t.Fatalf("%s, %s: Stop: %v", name, how, err)
				}
				want := inbox.Stopped
				if name == "sent" || name == "held" && i != 1 && (how == "detail" || how == "both") { // that it is held is not known any more
					want = inbox.Sent
				}
				if got.State != want || want == inbox.Sent && !got.StopWanted {
					k.t.Errorf("%s, %s: stopped: %s (%s)", name, how, got.State, got.Reason)
				}
				if want == inbox.Sent { // its machine does not renew what it cannot read
					k.clock.advance(time.Minute)
					k.sweepElsewhere()
					if state := k.stateOf(c.ID); state != inbox.Uncertain {
						k.t.Errorf("%s, %s: then %s", name, how, state)
					}
				}
				list, err := k.in.Questions(k.ctx, k.ann, inbox.QuestionFilter{Call: c.ID, States: []inbox.QuestionState{inbox.Open, inbox.Opened}})
				if k.must("Questions", err); len(list) > 0 {
					k.t.Errorf("%s, %s: %d questions are open", name, how, len(list))
				}
				open, err := k.in.Approvals(k.ctx, k.ann, inbox.ApprovalFilter{Call: c.ID, States: []inbox.ApprovalState{inbox.ApprovalOpen}})
				if k.must("Approvals", err); len(open) > 0 {
					k.t.Errorf("%s, %s: an approval is open", name, how)
				}
			}
		}
	}
}

func unreadableServer(k *kit) {
	bad, good := k.compose(), k.compose()
	k.spoil("content", bad.ID)
	if n, err := k.in.StopServer(k.ctx, k.ann, "flights"); n != 2 || err != nil {
		k.t.Errorf("StopServer = %d, %v", n, err)
	}
	k.state(good.ID, inbox.Stopped)
	if state := k.stateOf(bad.ID); state != inbox.Stopped {
		k.t.Errorf("the other is %s", state)
	}
}

func unreadableDisabled(k *kit) {
	bad, good := k.compose(), k.compose()
	k.spoil("content", bad.ID)
	k.must("Disable", k.in.Disable(k.ctx, k.ann))
	k.state(good.ID, inbox.Denied)
	if state := k.stateOf(bad.ID); state != inbox.Denied {
		k.t.Errorf("the other is %s", state)
	}
}

// A sign-in lets go on what can be read; a question that cannot keeps only its own call.
func unreadableUnblocked(k *kit) {
	blocked := func() inbox.CallID {
		claim, c := k.claim()
		_, err := k.in.Block(k.ctx, claim, inbox.ReasonSignIn, "")
		k.must("Block", err)
		return c.ID
	}
	bad, good, worse, last := blocked(), blocked(), blocked(), blocked()
	k.spoil("content", bad)
	k.spoil("detail", worse)
	if n, err := k.in.Unblock(k.ctx, "flights", inbox.ReasonUnreachable); n != 0 || err != nil {
		k.t.Errorf("Unblock = %d, %v", n, err)
	}
	if n, err := k.in.UnblockFor(k.ctx, k.ann, "flights", inbox.ReasonSignIn); n != 2 || err != nil {
		k.t.Errorf("UnblockFor = %d, %v", n, err)
	}
	for id, want := range map[inbox.CallID]inbox.CallState{good: inbox.Ready, last: inbox.Ready, bad: inbox.Blocked, worse: inbox.Blocked} {
		if state := k.stateOf(id); state != want {
			k.t.Errorf("%s is %s, want %s", id, state, want)
		}
	}
	k.clock.advance(week)
	k.sweep()
	for _, id := range []inbox.CallID{bad, worse} {
		if state := k.stateOf(id); state != inbox.CallExpired {
			k.t.Errorf("after a week: %s", state)
		}
	}
}

func unreadableCompleted(k *kit) {
	for how := range damages {
		k.clock.advance(time.Minute) // a server asks ten questions a minute
		c, questions := k.pages(page("bad", "https://air.example/1"))
		bad, _ := k.pages(page("good", "https://air.example/2"))
		good, _ := k.pages(page("good", "https://air.example/2"))
		k.spoil(how, questions[0].ID, bad.ID)
		k.complete(1, said("good"))
		k.state(good.ID, inbox.Ready)
		for _, id := range []inbox.CallID{c.ID, bad.ID, good.ID} {
			k.stop(id)
		}
	}
}
