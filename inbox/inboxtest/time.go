package inboxtest

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

var timeTests = map[string]func(*kit){
	"a question expires":        questionExpires,
	"all questions expire":      allExpire,
	"the server's deadline":     deadline,
	"deadline before the mark":  deadlineBeforeMark,
	"deadline in other states":  deadlineElsewhere,
	"expiry against answer":     expiryAgainstAnswer,
	"expired while blocked":     expiredWhileBlocked,
	"taken back after its time": takenBackAfterTime,
	"when to look again":        whenToLook,
	"will expire":               willExpire,
	"many are due":              manyAreDue,
}

const week = 7 * 24 * time.Hour

func questionExpires(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"), seat("b", "B?"))
	k.accept(questions[0])
	k.clock.advance(week - time.Microsecond)
	k.sweep()
	k.asked(questions[1].ID, inbox.Open)
	k.clock.advance(time.Microsecond)
	k.sweep()
	if q := k.asked(questions[1].ID, inbox.Expired); q.ClosedBy != inbox.ByExpiry || q.Answer != nil || q.Closed.IsZero() {
		k.t.Errorf("expired: %+v", q)
	}
	k.state(c.ID, inbox.Ready) // one was answered, so the call goes on
	answers, err := k.in.Answers(k.ctx, k.again(c.ID))
	if string(answers["b"]) != `{"action":"cancel"}` || err != nil {
		k.t.Errorf("on the wire: %s, %v; want a cancel", answers["b"], err)
	}
}

func allExpire(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"), seat("b", "B?"))
	k.clock.advance(week)
	k.sweep()
	if c = k.state(c.ID, inbox.CallExpired); c.Reason != inbox.ReasonUnanswered || c.Sends != 1 {
		k.t.Errorf("expired: %+v", c)
	}
	for _, q := range questions {
		k.asked(q.ID, inbox.Expired)
	}
	if next := k.sweep(); !next.IsZero() {
		k.t.Errorf("something is due at %v", next)
	}
}

// parkUntil parks a call whose server gave a time.
func (k *kit) parkUntil(at time.Time, questions ...inbox.NewQuestion) (*inbox.Call, []*inbox.Question) {
	k.t.Helper()
	claim, _ := k.sent(inbox.Modern)
	c, err := k.in.Park(k.ctx, claim, inbox.Asked{RequestState: "s", ExpiresAt: at, Questions: questions})
	k.must("Park", err)
	return c, k.round(c)
}

func deadline(k *kit) {
	at := k.clock.Now().Add(10 * time.Minute)
	c, questions := k.parkUntil(at, seat("a", "A?"), seat("b", "B?"))
	if !c.ExpiresAt.Equal(micro(at)) || !c.Deadline.Equal(micro(at)) || !questions[0].ExpiresAt.Equal(micro(at)) {
		k.t.Errorf("parked: %+v", c)
	}
	k.accept(questions[0])
	k.clock.advance(10 * time.Minute)
	k.sweep()
	if c = k.state(c.ID, inbox.CallExpired); c.Reason != inbox.ReasonDeadline {
		k.t.Errorf("expired: %s", c.Reason)
	}
	if q := k.asked(questions[0].ID, inbox.Accepted); string(q.Answer.Content) != `{"seat":"12A"}` {
		k.t.Error("the answer is not kept for Run again")
	}
	k.asked(questions[1].ID, inbox.Expired)
}

func deadlineBeforeMark(k *kit) {
	c, questions := k.parkUntil(k.clock.Now().Add(time.Minute), seat("a", "A?"))
	k.accept(questions[0])
	claim, _, err := k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	k.clock.advance(time.Minute)
	_, err = k.in.Mark(k.ctx, claim, inbox.Binding{})
	k.is("Mark after the deadline", err, inbox.ErrExpired)
	if c = k.state(c.ID, inbox.CallExpired); c.Sends != 1 {
		k.t.Errorf("sends: %d", c.Sends)
	}

	c, questions = k.parkUntil(k.clock.Now().Add(time.Minute), seat("a", "A?"))
	k.accept(questions[0])
	k.clock.advance(time.Minute)
	_, _, err = k.in.ClaimNext(k.ctx, nil) // before any sweep
	k.is("ClaimNext after the deadline", err, inbox.ErrNothing)
	k.state(c.ID, inbox.CallExpired)

	// Once sent the server decides.
	c, questions = k.parkUntil(k.clock.Now().Add(time.Minute), seat("a", "A?"))
	k.accept(questions[0])
	claim = k.again(c.ID)
	k.clock.advance(time.Hour)
	_, err = k.in.Renew(k.ctx, claim)
	k.must("Renew", err)
	k.sweep()
	k.state(c.ID, inbox.Sent)
	// The next round has its own time.
	_, c, _ = k.park(claim, seat("b", "B?"))
	if !c.Deadline.IsZero() {
		k.t.Errorf("the deadline of an earlier round: %v", c.Deadline)
	}
}

func deadlineElsewhere(k *kit) {
	at := func() time.Time { return k.clock.Now().Add(time.Minute) }
	ready, questions := k.parkUntil(at(), seat("a", "A?"))
	k.accept(questions[0])
	blockedCall, _ := k.parkUntil(at(), seat("b", "B?"))
	if n, err := k.in.BlockWaiting(k.ctx, "flights", inbox.ReasonServerChanged, ""); n != 1 || err != nil {
		k.t.Fatalf("BlockWaiting = %d, %v", n, err)
	}
	if c := k.state(blockedCall.ID, inbox.Blocked); !c.ExpiresAt.Equal(c.Deadline) {
		k.t.Errorf("blocked until %v, the deadline is %v", c.ExpiresAt, c.Deadline)
	}
	k.clock.advance(time.Minute)
	k.sweep()
	k.state(ready.ID, inbox.CallExpired)
	if c := k.state(blockedCall.ID, inbox.CallExpired); c.Reason != inbox.ReasonDeadline {
		k.t.Errorf("expired: %s", c.Reason)
	}
	past, _ := k.parkUntil(k.clock.Now().Add(-time.Hour), seat("c", "C?")) // it has passed already
	k.sweep()
	k.state(past.ID, inbox.CallExpired)
}

// expiryAgainstAnswer: the time of the store decides, not who comes first.
func expiryAgainstAnswer(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"), seat("b", "B?"))
	k.clock.advance(week - time.Microsecond)
	k.accept(questions[0])
	k.clock.advance(time.Microsecond)
	_, err := k.in.Answer(k.ctx, k.ann, questions[1].ID, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"seat":"1A"}`)})
	k.is("Answer at its expiry", err, inbox.ErrClosed)
	if e := (*inbox.ClosedError)(nil); !errors.As(err, &e) || e.By != inbox.ByExpiry {
		k.t.Errorf("told %v", err)
	}
	k.asked(questions[1].ID, inbox.Expired) // without a sweep
	k.state(c.ID, inbox.Ready)

	_, c, questions = k.waiting(visit("u", "https://air.example"))
	k.clock.advance(week)
	_, err = k.in.Open(k.ctx, k.ann, questions[0].ID, sum("https://air.example"))
	k.is("Open at its expiry", err, inbox.ErrClosed)
	k.state(c.ID, inbox.CallExpired)

	_, c, _ = k.waiting(seat("a", "A?"))
	k.clock.advance(week)
	list, err := k.in.DeclineRest(k.ctx, k.ann, c.ID, inbox.Answer{Via: "chat"})
	if len(list) != 0 || err != nil {
		k.t.Errorf("DeclineRest at the expiry = %v, %v", list, err)
	}
	k.state(c.ID, inbox.CallExpired)
}

func expiredWhileBlocked(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"))
	k.clock.advance(3 * 24 * time.Hour)
	_, err := k.in.BlockWaiting(k.ctx, "flights", inbox.ReasonServerRemoved, "")
	k.must("BlockWaiting", err)
	k.clock.advance(4 * 24 * time.Hour)
	k.sweep()
	k.asked(questions[0].ID, inbox.Expired)
	k.state(c.ID, inbox.Blocked)
	_, err = k.in.Unblock(k.ctx, "flights")
	k.must("Unblock", err)
	if c = k.state(c.ID, inbox.CallExpired); c.Reason != inbox.ReasonUnanswered {
		k.t.Errorf("expired: %s", c.Reason)
	}
}

func takenBackAfterTime(k *kit) {
	_, _, questions := k.waiting(seat("a", "A?"))
	k.accept(questions[0])
	k.clock.advance(week)
	_, err := k.in.TakeBack(k.ctx, k.ann, questions[0].ID)
	k.is("TakeBack after its time", err, inbox.ErrTooLate)
}

func whenToLook(k *kit) {
	start := micro(k.clock.Now())
	if next := k.sweep(); !next.IsZero() {
		k.t.Errorf("an empty inbox: %v", next)
	}
	k.waiting(seat("a", "A?"))
	notice := start.Add(week - 24*time.Hour) // it is told that the question will expire
	if next := k.sweep(); !next.Equal(notice) {
		k.t.Errorf("a question: %v, want %v", next, notice)
	}
	claim, _ := k.claim()
	if next := k.sweep(); !next.Equal(start.Add(30 * time.Second)) {
		k.t.Errorf("a lease: %v, want %v", next, start.Add(30*time.Second))
	}
	k.must("Release", k.in.Release(k.ctx, claim))
	if next := k.sweep(); !next.Equal(notice) {
		k.t.Errorf("after the release: %v, want %v", next, notice)
	}
}

// A question without an answer is told of before it expires: once, and no other one.
func willExpire(k *kit) {
	start := micro(k.clock.Now())
	_, call, questions := k.waiting(seat("a", "A?"), seat("b", "B?"))
	k.accept(questions[0])
	count := func() (n int) {
		entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Call: call.ID, Kinds: []inbox.AuditKind{inbox.AuditExpiring}})
		k.must("Audit", err)
		for _, e := range entries {
			if e.Question != questions[1].ID {
				k.t.Errorf("it is told of %s, which was answered", e.Question)
			}
		}
		return len(entries)
	}
	k.sweep()
	if n := count(); n != 0 {
		k.t.Errorf("told %d times at the beginning", n)
	}
	before := k.asked(questions[1].ID, inbox.Open).Version
	k.clock.advance(week - 24*time.Hour)
	for range 2 {
		if next := k.sweep(); !next.Equal(start.Add(week)) {
			k.t.Errorf("next: %v, want %v", next, start.Add(week))
		}
	}
	if n := count(); n != 1 {
		k.t.Errorf("told %d times", n)
	}
	if q := k.asked(questions[1].ID, inbox.Open); q.Version != before {
		k.t.Error("the question has changed")
	}
	k.clock.advance(24 * time.Hour)
	k.sweep()
	k.asked(questions[1].ID, inbox.Expired)
	if n := count(); n != 1 {
		k.t.Errorf("told %d times at the end", n)
	}
}

func manyAreDue(k *kit) {
	var ids []inbox.CallID
	for range 120 { // more than a sweep reads at once, all at one time
		c := k.compose()
		_, _, err := k.in.Claim(k.ctx, k.ann, c.ID)
		k.must("Claim", err)
		ids = append(ids, c.ID)
	}
	k.clock.advance(time.Minute)
	k.sweepElsewhere()
	for _, id := range ids {
		k.state(id, inbox.Ready)
	}
}
