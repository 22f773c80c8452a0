package inboxtest

import (
	"fmt"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

var serverTests = map[string]func(*kit){
	"servers of calls":          servers,
	"counts of everybody":       tally,
	"a trace":                   trace,
	"stop all of a server":      stopServer,
	"refused questions":         refusedQuestions,
	"refusals of many servers":  manyRefusals,
	"refusals are events":       refusalEvents,
	"limits are observed":       observedLimits,
	"refused by the policy":     refusedByPolicy,
	"a note on a question":      questionNote,
	"unreachable":               unreachable,
	"unreachable for too long":  unreachableTooLong,
	"unreachable at a deadline": unreachableDeadline,
	"time that is a person's":   unreachableLater,
	"time for a sign-in":        signInWanted,
}

func servers(k *kit) {
	k.update("p", func(tx inbox.Tx) error {
		for i, c := range []struct {
			server string
			state  inbox.CallState
		}{
			{"b", inbox.Waiting}, {"b", inbox.Waiting}, {"a", inbox.Blocked}, {"c", inbox.Done}, {"d", inbox.Ready}, {"", inbox.Waiting}, {"B", inbox.Waiting},
		} {
			err := tx.PutCall(&inbox.CallRow{ID: inbox.CallID(fmt.Sprint("c_", i)), Server: c.server, State: c.state, Created: tx.Now(), Updated: tx.Now()})
			if err != nil {
				return err
			}
		}
		return nil
	})
	k.update("q", func(tx inbox.Tx) error {
		return tx.PutCall(&inbox.CallRow{ID: "c_q", Server: "e", State: inbox.Waiting, Created: tx.Now(), Updated: tx.Now()})
	})
	for want, states := range map[string][]inbox.CallState{
		`["" "B" "a" "b" "e"]`: {inbox.Waiting, inbox.Blocked},
		`["d"]`:                {inbox.Ready},
		`[]`:                   {inbox.Uncertain},
	} {
		got, err := k.store.Servers(k.ctx, states)
		if text := fmt.Sprintf("%q", got); text != want || err != nil {
			k.t.Errorf("%v: %s, %v; want %s", states, text, err, want)
		}
	}
	if got, err := k.store.Servers(k.ctx, nil); len(got) != 0 || err != nil {
		k.t.Errorf("in no state: %q, %v", got, err)
	}
	if got, err := k.in.Servers(k.ctx); len(got) != 6 || err != nil {
		k.t.Errorf("Servers = %q, %v", got, err)
	}
}

// tally counts beside rows of other people, servers and states.
func tally(k *kit) {
	if got, err := k.in.Tally(k.ctx, []string{"flights"}); err != nil || got.Questions != 0 || got.Calls["flights"][inbox.Waiting] != 0 {
		k.t.Errorf("of nothing: %+v, %v", got, err)
	}
	k.compose()
	_, _, questions := k.waiting(seat("a", "A?"), seat("b", "B?"))
	k.waiting(seat("a", "A?"))
	_, err := k.in.Answer(k.ctx, k.ann, questions[0].ID, inbox.Answer{Action: inbox.Decline})
	k.must("Answer", err)
	k.finished()
	_, err = k.in.Compose(k.ctx, k.bob, inbox.NewCall{Server: "flights", Method: "m"})
	k.must("Compose", err)
	_, err = k.in.Compose(k.ctx, k.bob, inbox.NewCall{Server: "trains", Method: "m"})
	k.must("Compose", err)

	got, err := k.in.Tally(k.ctx, []string{"flights", "ships"})
	k.must("Tally", err)
	if got.Questions != 2 {
		k.t.Errorf("%d questions are open, want 2", got.Questions)
	}
	for state, want := range map[inbox.CallState]int{inbox.Ready: 2, inbox.Waiting: 2, inbox.Sent: 0, inbox.Uncertain: 0} {
		if n := got.Calls["flights"][state]; n != want {
			k.t.Errorf("%d calls are %s, want %d", n, state, want)
		}
	}
	if len(got.Calls) != 2 || got.Calls["ships"][inbox.Ready] != 0 {
		k.t.Errorf("other servers: %v", got.Calls)
	}
	if n, err := k.store.CountCalls(k.ctx, "flights", inbox.Waiting, 1); n != 1 || err != nil {
		k.t.Errorf("CountCalls up to 1 = %d, %v", n, err)
	}
	if n, err := k.store.CountQuestions(k.ctx, 1); n != 1 || err != nil {
		k.t.Errorf("CountQuestions up to 1 = %d, %v", n, err)
	}
	if n, err := k.store.CountCalls(k.ctx, "fl\x00ights", inbox.Waiting, 1); n != 0 || err != nil {
		k.t.Errorf("CountCalls of a server that cannot be = %d, %v", n, err)
	}
	k.must("Ping", k.in.Ping(k.ctx))
}

func stopServer(k *kit) {
	ready := k.compose()
	_, waiting, questions := k.waiting(seat("a", "A?"))
	_, sent := k.sent(inbox.Modern)
	done, _ := k.finished()
	other, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "trains", Method: "m"})
	k.must("Compose", err)
	bobs, err := k.in.Compose(k.ctx, k.bob, inbox.NewCall{Server: "flights", Method: "m"})
	k.must("Compose", err)
	for _, want := range []int{3, 0} {
		if n, err := k.in.StopServer(k.ctx, k.ann, "flights"); n != want || err != nil {
			k.t.Errorf("StopServer = %d, %v; want %d", n, err, want)
		}
	}
	k.state(ready.ID, inbox.Stopped)
	k.state(waiting.ID, inbox.Stopped)
	k.asked(questions[0].ID, inbox.Withdrawn)
	if got := k.state(sent.ID, inbox.Sent); !got.StopWanted {
		k.t.Error("what was sent goes on")
	}
	k.state(done.ID, inbox.Done)
	k.state(other.ID, inbox.Ready)
	if got, err := k.in.Call(k.ctx, k.bob, bobs.ID); err != nil || got.State != inbox.Ready {
		k.t.Errorf("another person's call: %+v, %v", got, err)
	}
	_, err = k.in.StopServer(k.ctx, k.ann, "")
	k.is("StopServer of none", err, inbox.ErrInvalid)
}

func refusedQuestions(k *kit) {
	if list, err := k.in.Refusals(k.ctx, k.ann); len(list) != 0 || err != nil {
		k.t.Errorf("at first: %+v, %v", list, err)
	}
	k.must("ClearRefusals", k.in.ClearRefusals(k.ctx, k.ann, "flights"))
	claim, c := k.sent(inbox.Legacy)
	for i := range 10 { // a minute's worth
		_, err := k.in.Hold(k.ctx, claim, seat("", fmt.Sprint(i, "?")))
		k.must("Hold", err)
	}
	version := k.state(c.ID, inbox.Sent).Version
	since := micro(k.clock.Now())
	for range 2 {
		_, err := k.in.Hold(k.ctx, claim, seat("", "One more?"))
		k.is("Hold", err, inbox.ErrLimit)
		if got := k.state(c.ID, inbox.Sent); got.Version != version {
			k.t.Errorf("version %d, want %d: nothing happened to the call", got.Version, version)
		}
		k.clock.advance(time.Second)
	}
	modern, _ := k.sent(inbox.Modern)
	failed, err := k.in.Park(k.ctx, modern, inbox.Asked{Questions: []inbox.NewQuestion{seat("a", "A?"), seat("b", "B?")}})
	if err != nil || failed.State != inbox.Failed || failed.Reason != inbox.ReasonTooManyQuestions {
		k.t.Errorf("Park = %+v, %v", failed, err)
	}
	last := micro(k.clock.Now())
	k.clock.advance(time.Second)
	k.must("Refused", k.in.Refused(k.ctx, k.ann, "trains", 3))
	want := fmt.Sprint([]inbox.Refusal{
		{Server: "trains", Count: 3, Since: micro(k.clock.Now()), Last: micro(k.clock.Now())},
		{Server: "flights", Count: 4, Since: since, Last: last},
	})
	if list, err := k.in.Refusals(k.ctx, k.ann); fmt.Sprint(list) != want || err != nil {
		k.t.Errorf("refused: %v, %v; want %v", list, err, want)
	}
	if list, err := k.in.Refusals(k.ctx, k.bob); len(list) != 0 || err != nil {
		k.t.Errorf("another person's: %+v, %v", list, err)
	}
	k.must("ClearRefusals", k.in.ClearRefusals(k.ctx, k.ann, "flights"))
	if list, err := k.in.Refusals(k.ctx, k.ann); len(list) != 1 || err != nil || list[0].Server != "trains" {
		k.t.Errorf("after one was cleared: %+v, %v", list, err)
	}
	k.must("ClearRefusals", k.in.ClearRefusals(k.ctx, k.ann, ""))
	if list, err := k.in.Refusals(k.ctx, k.ann); len(list) != 0 || err != nil {
		k.t.Errorf("after all were cleared: %+v, %v", list, err)
	}
	k.must("Refused", k.in.Refused(k.ctx, k.ann, "trains", 1))
	k.clock.advance(month)
	if list, err := k.in.Refusals(k.ctx, k.ann); len(list) != 0 || err != nil {
		k.t.Errorf("after a month: %+v, %v", list, err)
	}
	for _, n := range []int{0, -1} {
		k.is("Refused", k.in.Refused(k.ctx, k.ann, "trains", n), inbox.ErrInvalid)
	}
	k.is("Refused", k.in.Refused(k.ctx, k.ann, "", 1), inbox.ErrInvalid)
}

func manyRefusals(k *kit) {
	for i := range 105 {
		k.must("Refused", k.in.Refused(k.ctx, k.ann, fmt.Sprintf("s%03d", i), 1))
		k.clock.advance(time.Second)
	}
	list, err := k.in.Refusals(k.ctx, k.ann)
	if err != nil || len(list) != 100 || list[0].Server != "s104" || list[99].Server != "s005" {
		k.t.Errorf("%d servers, %v", len(list), err)
	}
}

func questionNote(k *kit) {
	n := seat("", "A?")
	n.Note = "It was asked during one of these calls."
	claim, _, questions := k.held(n)
	if questions[0].Note != n.Note {
		k.t.Errorf("note: %q", questions[0].Note)
	}
	k.decline(questions[0])
	again, err := k.in.Hold(k.ctx, claim, n)
	if err != nil || again.Note != n.Note+" The server asks this again; you said no before." {
		k.t.Errorf("asked again: %+v, %v", again, err)
	}
	u := visit("u", "https://air.example/1")
	u.Note = "By the host."
	modern, _, questions := k.waiting(u)
	_, err = k.in.Open(k.ctx, k.ann, questions[0].ID, sum("https://air.example/1"))
	k.must("Open", err)
	k.answer(questions[0], inbox.Answer{Action: inbox.Accept})
	_, _, questions = k.park(k.again(modern.Call), u)
	if questions[0].Note != "By the host. The server says that it is not finished yet." {
		k.t.Errorf("the same card: %q", questions[0].Note)
	}
	n.Note = "\xff"
	_, err = k.in.Hold(k.ctx, claim, n)
	k.is("a note that is no text", err, inbox.ErrInvalid)
}

// unreachable: any machine tries again, also if the one that blocked it is gone.
func unreachable(k *kit) {
	claim, c := k.claim()
	two := k.on(k.handle(), "two")
	for _, seconds := range []int{5, 10, 20, 40, 80, 160, 320, 640, 900, 900} {
		wait := time.Duration(seconds) * time.Second
		got, err := k.in.Block(k.ctx, claim, inbox.ReasonUnreachable, "")
		k.must("Block", err)
		if want := micro(k.clock.Now()).Add(wait); !got.NotBefore.Equal(want) {
			k.t.Errorf("tried again at %v, want %v", got.NotBefore, want)
		}
		next, err := two.Sweep(k.ctx)
		if err != nil || next != wait {
			k.t.Errorf("Sweep = %v, %v; want %v", next, err, wait)
		}
		k.state(c.ID, inbox.Blocked)
		k.clock.advance(wait)
		_, err = two.Sweep(k.ctx)
		k.must("Sweep", err)
		k.state(c.ID, inbox.Ready)
		claim, _, err = k.in.Claim(k.ctx, k.ann, c.ID)
		k.must("Claim", err)
	}
	// Once it was sent the waiting begins anew.
	_, err := k.in.Mark(k.ctx, claim, inbox.Binding{})
	k.must("Mark", err)
	got, err := k.in.Block(k.ctx, claim, inbox.ReasonUnreachable, "")
	k.must("Block", err)
	if want := micro(k.clock.Now()).Add(5 * time.Second); !got.NotBefore.Equal(want) {
		k.t.Errorf("tried again at %v, want %v", got.NotBefore, want)
	}
	// What waits for something else is not tried.
	claim, other := k.claim()
	got, err = k.in.Block(k.ctx, claim, inbox.ReasonSignIn, "")
	if err != nil || !got.NotBefore.IsZero() {
		k.t.Errorf("Block = %+v, %v", got, err)
	}
	k.clock.advance(time.Hour)
	k.sweep()
	k.state(other.ID, inbox.Blocked)
}

func unreachableTooLong(k *kit) {
	claim, c := k.claim()
	begin := k.clock.Now()
	for {
		got, err := k.in.Block(k.ctx, claim, inbox.ReasonUnreachable, "")
		k.must("Block", err)
		if want := micro(begin.Add(7 * 24 * time.Hour)); !got.ExpiresAt.Equal(want) {
			k.t.Fatalf("it ends at %v, want %v", got.ExpiresAt, want)
		}
		k.clock.advance(15 * time.Minute)
		k.sweep()
		if k.clock.Now().Sub(begin) >= 7*24*time.Hour {
			break
		}
		claim, _, err = k.in.Claim(k.ctx, k.ann, c.ID)
		k.must("Claim", err)
		k.clock.advance(4 * time.Hour) // it takes long to fail
	}
	if got := k.state(c.ID, inbox.CallExpired); got.Reason != inbox.ReasonBlockedTooLong {
		k.t.Errorf("expired: %s", got.Reason)
	}
}

// unreachableLater: what a person takes does not count as time in which the server could
// not be used, nor does what it was blocked before that.
func unreachableLater(k *kit) {
	unblock := func(reason string) {
		_, err := k.in.Unblock(k.ctx, "flights", reason)
		k.must("Unblock", err)
	}
	long := func() { k.clock.advance(10 * 24 * time.Hour) }
	for name, way := range map[string]func() inbox.CallID{
		"questions": func() inbox.CallID {
			c, questions := k.parkUntil(k.clock.Now().Add(30*24*time.Hour), seat("a", "A?"))
			_, err := k.in.BlockWaiting(k.ctx, "flights", inbox.ReasonServerRemoved, "")
			k.must("BlockWaiting", err)
			unblock(inbox.ReasonServerRemoved)
			long()
			k.accept(questions[0])
			return c.ID
		},
		"taken back": func() inbox.CallID {
			c, questions := k.parkUntil(k.clock.Now().Add(30*24*time.Hour), seat("a", "A?"))
			k.accept(questions[0])
			_, err := k.in.Block(k.ctx, k.claimed(c.ID), inbox.ReasonServerRemoved, "")
			k.must("Block", err)
			_, err = k.in.TakeBack(k.ctx, k.ann, questions[0].ID)
			k.must("TakeBack", err)
			unblock(inbox.ReasonServerRemoved)
			long()
			k.accept(questions[0])
			return c.ID
		},
		"an approval": func() inbox.CallID {
			c := k.compose()
			_, err := k.in.Block(k.ctx, k.claimed(c.ID), inbox.ReasonServerRemoved, "")
			k.must("Block", err)
			unblock(inbox.ReasonServerRemoved)
			a := ask()
			a.Time = 30 * 24 * time.Hour
			got, err := k.in.Ask(k.ctx, k.claimed(c.ID), *a)
			k.must("Ask", err)
			long()
			_, err = k.in.Decide(k.ctx, inbox.Approver{Principal: k.ann}, got.Approval, inbox.Decision{Allow: true})
			k.must("Decide", err)
			return c.ID
		},
		"a sign-in": func() inbox.CallID {
			c := k.compose()
			_, err := k.in.Block(k.ctx, k.claimed(c.ID), inbox.ReasonSignIn, "")
			k.must("Block", err)
			k.clock.advance(week - time.Second)
			_, err = k.in.UnblockFor(k.ctx, k.ann, "flights", inbox.ReasonSignIn)
			k.must("UnblockFor", err)
			return c.ID
		},
		"by an older version": func() inbox.CallID { // it left the time in the row
			c, questions := k.parkUntil(k.clock.Now().Add(30*24*time.Hour), seat("a", "A?"))
			k.setDetail(c.ID, map[string]any{"blocks": 3, "blocked_at": k.clock.Now().UnixMicro()})
			long()
			k.accept(questions[0])
			return c.ID
		},
	} {
		id := way()
		got, err := k.in.Block(k.ctx, k.claimed(id), inbox.ReasonUnreachable, "")
		k.must("Block", err)
		now := k.clock.Now()
		if !got.ExpiresAt.Equal(micro(now.Add(week))) || !got.NotBefore.Equal(micro(now.Add(5*time.Second))) {
			k.t.Errorf("%s: blocked at %v until %v, tried again at %v", name, now, got.ExpiresAt, got.NotBefore)
		}
		k.stop(id)
	}
}

// signInWanted: a person has all the time for a sign-in, however long the server could not
// be used before, and no more of it by a machine that starts and tries the call again.
func signInWanted(k *kit) {
	block := func(claim *inbox.Claim, reason string) *inbox.Call {
		got, err := k.in.Block(k.ctx, claim, reason, "")
		k.must("Block", err)
		return got
	}
	for _, before := range []string{inbox.ReasonUnreachable, inbox.ReasonServerRemoved} {
		claim, c := k.claim()
		block(claim, before)
		k.clock.advance(week - time.Minute)
		_, err := k.in.Unblock(k.ctx, "flights")
		k.must("Unblock", err)
		ends := block(k.claimed(c.ID), inbox.ReasonSignIn).ExpiresAt
		if want := micro(k.clock.Now().Add(week)); !ends.Equal(want) {
			k.t.Errorf("%s, and a sign-in is wanted at last: until %v, want %v", before, ends, want)
		}
		for name, again := range map[string]func(*inbox.Claim) *inbox.Call{
			"there is no token": func(claim *inbox.Claim) *inbox.Call { return block(claim, inbox.ReasonSignIn) },
			"401": func(claim *inbox.Claim) *inbox.Call {
				_, err := k.in.Mark(k.ctx, claim, inbox.Binding{})
				k.must("Mark", err)
				return block(claim, inbox.ReasonSignIn)
			},
			"away for a moment": func(claim *inbox.Claim) *inbox.Call {
				block(claim, inbox.ReasonUnreachable)
				_, err := k.in.UnblockFor(k.ctx, k.ann, "flights", inbox.ReasonUnreachable)
				k.must("UnblockFor", err)
				return block(k.claimed(c.ID), inbox.ReasonSignIn)
			},
		} {
			k.clock.advance(24 * time.Hour)
			_, err := k.in.Unblock(k.ctx, "flights", inbox.ReasonSignIn)
			k.must("Unblock", err)
			if got := again(k.claimed(c.ID)); !got.ExpiresAt.Equal(ends) {
				k.t.Errorf("tried again, %s: until %v, want %v", name, got.ExpiresAt, ends)
			}
		}
		_, err = k.in.UnblockFor(k.ctx, k.ann, "flights", inbox.ReasonSignIn)
		k.must("UnblockFor", err)
		claim = k.claimed(c.ID)
		_, err = k.in.Mark(k.ctx, claim, inbox.Binding{})
		k.must("Mark", err)
		want := micro(k.clock.Now().Add(week))
		if got := block(claim, inbox.ReasonSignIn); !got.ExpiresAt.Equal(want) {
			k.t.Errorf("signed in, and that is not enough: until %v, want %v", got.ExpiresAt, want)
		}
		k.clock.advance(week)
		k.sweep()
		k.state(c.ID, inbox.CallExpired)
	}
}

// claimed claims a call of Ann's that is ready.
func (k *kit) claimed(id inbox.CallID) *inbox.Claim {
	k.t.Helper()
	claim, _, err := k.in.Claim(k.ctx, k.ann, id)
	k.must("Claim", err)
	return claim
}

func unreachableDeadline(k *kit) {
	claim, c := k.sent(inbox.Modern)
	_, err := k.in.Park(k.ctx, claim, inbox.Asked{Questions: []inbox.NewQuestion{seat("a", "A?")}, ExpiresAt: k.clock.Now().Add(90 * time.Second)})
	k.must("Park", err)
	k.accept(k.round(k.state(c.ID, inbox.Waiting))[0])
	claim, _, err = k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	_, err = k.in.Block(k.ctx, claim, inbox.ReasonUnreachable, "")
	k.must("Block", err)
	k.clock.advance(2 * time.Minute)
	k.sweep()
	if got := k.state(c.ID, inbox.CallExpired); got.Reason != inbox.ReasonDeadline {
		k.t.Errorf("expired: %s", got.Reason)
	}
}
