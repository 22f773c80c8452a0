package inbox_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// key names a state by what the rules can see of it: two that have the same
// key have the same future. Numbers that only grow, texts for people and the
// ids of rows are left out, and which of the two answerers or machines it was;
// times count as how far away they are.
func (e *explorer) key(p *point) string {
	var b strings.Builder
	c := p.seen.call
	times := []time.Time{c.LeaseUntil, c.NotBefore, c.Deadline, c.ExpiresAt, p.ghost.until}
	fmt.Fprintf(&b, "%s %s held=%t round=%t deaths=%d resends=%d delivered=%t sends=%t before=%t stop=%t state=%t\n",
		c.State, c.Era, c.Held, c.Round > 0, c.Deaths, c.Resends, c.Delivered > 0, c.RoundSends > 0, c.MarkedBefore, c.StopWanted, c.RequestState != "")
	for _, q := range p.seen.questions {
		_, left := p.ghost.left[q.ID]
		fmt.Fprintf(&b, "%s %s %s now=%t by=%s delivery=%s left=%t completed=%t\n", q.State, q.Key, q.URL, q.Round == c.Round, q.ClosedBy, q.Delivery, left, !q.Completed.IsZero())
		times = append(times, q.ExpiresAt)
	}
	for _, a := range p.seen.approvals {
		fmt.Fprintf(&b, "%s mine=%t answered=%d\n", a.State, a.ID == c.Approval, len(a.Answered))
		times = append(times, a.ExpiresAt)
	}
	fmt.Fprintf(&b, "disabled=%t stands=%t under=%t ", p.seen.disabled, p.seen.stands, p.standing != "" && c.Approval == p.standing)
	var machines []string // one is like the other
	for i, m := range p.machines {
		machines = append(machines, fmt.Sprintf("%s asked=%t current=%t mine=%t", m.stage, m.asked, m.claim != nil && inbox.Fence(m.claim) == c.Fence, strings.HasPrefix(c.Owner, fmt.Sprint("m", i, "/"))))
	}
	slices.Sort(machines)
	b.WriteString(strings.Join(machines, "; "))
	fmt.Fprintf(&b, "open=%d asked=%d agains=%d\n", p.ghost.open, p.ghost.asked, p.ghost.agains)
	var far []time.Time // their order is what counts
	for _, t := range times {
		if t.Sub(p.now) > 10*time.Minute {
			far = append(far, t)
		}
	}
	slices.SortFunc(far, time.Time.Compare)
	far = slices.CompactFunc(far, time.Time.Equal)
	for _, t := range times {
		switch i := slices.IndexFunc(far, t.Equal); {
		case t.IsZero():
			b.WriteString("never ")
		case i >= 0:
			fmt.Fprintf(&b, "far%d ", i)
		default:
			fmt.Fprintf(&b, "%v ", max(0, t.Sub(p.now)))
		}
	}
	return b.String()
}

// judge holds a step against the rules.
func (e *explorer) judge(from, to *point, err error) {
	fault := func(format string, args ...any) {
		e.t.Helper()
		e.t.Errorf("%s, after %s", fmt.Sprintf(format, args...), to.way())
	}
	if err != nil && !slices.ContainsFunc([]error{
		inbox.ErrClosed, inbox.ErrOpen, inbox.ErrNotOpened, inbox.ErrTooLate, inbox.ErrState, inbox.ErrFenced,
		inbox.ErrStopped, inbox.ErrExpired, inbox.ErrNothing, inbox.ErrLimit, inbox.ErrDecided, inbox.ErrDisabled,
	}, func(allowed error) bool { return errors.Is(err, allowed) }) {
		fault("%v", err)
		return
	}
	old, c := from.seen.call, to.seen.call
	versions := c.Version + to.seen.other
	for n, q := range to.seen.questions {
		versions += q.Version
		var before *inbox.Question
		if n < len(from.seen.questions) {
			before = from.seen.questions[n]
		}
		e.judgeQuestion(to, before, q, fault)
		if before != nil && old.State.Ended() && !reflect.DeepEqual(before, q) {
			fault("a question of an ended call changed")
		}
	}
	for n, a := range to.seen.approvals {
		versions += a.Version
		var before *inbox.Approval
		if n < len(from.seen.approvals) {
			before = from.seen.approvals[n]
		}
		e.judgeApproval(to, before, a, fault)
	}
	quietly := *old
	quietly.LeaseUntil = c.LeaseUntil
	switch changed := !reflect.DeepEqual(&quietly, c); {
	case changed && old.State.Ended():
		fault("an ended call changed")
	case changed && (c.Version <= old.Version || c.Version > old.Version+int64(*to.commits)), !changed && c.Version != old.Version:
		// One for each transaction that changed it; only a sweep has several.
		fault("version %d became %d in %d transactions (changed: %t)", old.Version, c.Version, *to.commits, changed)
	case versions != to.seen.events:
		fault("%d changes made %d events", versions, to.seen.events)
	case c.Fence != to.ghost.claims:
		fault("%d claims were given and the fence is %d", to.ghost.claims, c.Fence)
	case c.Sends != to.ghost.marks:
		fault("%d marks were committed and %d are counted", to.ghost.marks, c.Sends)
	case old.State != inbox.Sent && c.State == inbox.Sent && !strings.HasSuffix(to.op, "marks"):
		fault("sent without a mark")
	case to.ghost.open > 0 && slices.Contains([]inbox.CallState{inbox.Ready, inbox.Claimed, inbox.Waiting, inbox.Blocked}, c.State):
		fault("%s, and what was sent may have run", c.State)
	case !c.State.Ended() && !to.seen.until.Equal(to.ghost.until):
		fault("it may be sent again by itself until %v, and the store says %v", to.ghost.until, to.seen.until)
	case old.State != c.State && c.State == inbox.Uncertain && (c.Detail == "" && old.State != inbox.Sent || old.State != inbox.Sent && !old.MarkedBefore):
		fault("uncertain (%s, %q), and it was not sent before", c.Reason, c.Detail)
	case old.State == inbox.Claimed && old.MarkedBefore && c.State == inbox.Denied && c.Reason != inbox.ReasonDisabled:
		fault("%s (%s) by a rule, and an earlier send may have happened", c.State, c.Reason)
	case old.State != c.State && old.MarkedBefore && (c.State == inbox.CallExpired || c.State == inbox.Failed && c.Reason == inbox.ReasonDeadClaims):
		fault("%s (%s) by itself, and an earlier send may have happened", c.State, c.Reason)
	case to.seen.disabled && slices.Contains([]inbox.CallState{inbox.Approving, inbox.Ready, inbox.Claimed, inbox.Waiting, inbox.Blocked}, c.State):
		fault("%s, and its person is disabled", c.State)
	case errors.Is(err, inbox.ErrDisabled) && !from.seen.disabled:
		fault("refused to one who is not disabled")
	case from.seen.disabled && err == nil && slices.ContainsFunc([]string{"accept", "decline", "cancel", "allow", "deny", "open", "take back", "send_again"}, func(op string) bool { return strings.HasPrefix(to.op, op) }):
		fault("a disabled person did it")
	case old.State != c.State && to.ghost.open > 0 && (c.State == inbox.CallExpired || (c.State == inbox.Stopped || c.State == inbox.Denied) && !old.Held):
		fault("%s, and what was sent may have run", c.State)
	}
	if old.State != c.State {
		if !allowed(inbox.CallArrows(), string(old.State), string(c.State)) {
			fault("the call went from %s to %s", old.State, c.State)
		}
		e.reached[reach{"call", string(old.State), string(c.State)}] = true
	}
	if !to.written() {
		return
	}
	events, err := to.in[1].Events(e.t.Context(), e.ann, from.seen.events, 500)
	if err != nil || int64(len(events)) != to.seen.events-from.seen.events {
		fault("events %d to %d are %d (%v)", from.seen.events, to.seen.events, len(events), err)
	}
	for i, event := range events {
		if event.Seq != from.seen.events+int64(i)+1 {
			fault("event %d is missing", from.seen.events+int64(i)+1)
		}
	}
}

// judgeApproval: nobody allows or denies but who was told so, nothing expires
// before its time, a closed one stays as it is, and no call goes on past an open one.
func (e *explorer) judgeApproval(to *point, old, a *inbox.Approval, fault func(string, ...any)) {
	c := to.seen.call
	allowed, told := to.ghost.told[a.ID]
	switch {
	case told != (a.State == inbox.ApprovalAllowed || a.State == inbox.ApprovalDenied), told && allowed != (a.State == inbox.ApprovalAllowed):
		fault("an approval is %s; told: %t %t", a.State, told, allowed)
	case (a.State == inbox.ApprovalOpen) != (c.State == inbox.Approving && c.Approval == a.ID):
		fault("an approval is %s while its call is %s", a.State, c.State)
	case a.State == inbox.ApprovalExpired && to.now.Before(a.ExpiresAt):
		fault("an approval expired before its time")
	}
	if old == nil || old.State == a.State {
		if old != nil && !reflect.DeepEqual(old, a) {
			fault("an approval changed and stayed %s", a.State)
		}
		return
	}
	if !slices.ContainsFunc(inbox.ApprovalArrows(), func(r inbox.Arrow) bool { return r.From == string(old.State) && r.To == string(a.State) }) {
		fault("an approval went from %s to %s", old.State, a.State)
	}
	e.reached[reach{"approval", string(old.State), string(a.State)}] = true
}

func (e *explorer) judgeQuestion(to *point, old, q *inbox.Question, fault func(string, ...any)) {
	c := to.seen.call
	again := old != nil && q.Asked > old.Asked // url: the same card once more
	if again {
		delete(to.ghost.winner, q.ID)
		delete(to.ghost.left, q.ID)
	}
	// One winner: what is stored is what its giver was told that it counts, and
	// nobody else is given an answer.
	won, ok := to.ghost.winner[q.ID]
	switch {
	case ok != (q.Answer != nil):
		fault("a question has the answer %+v; told: %t", q.Answer, ok)
	case ok && (q.Answer.Action != won.Action || q.Answer.Via != won.Via || string(q.Answer.Content) != string(won.Content)):
		fault("the answer is %+v; told: %+v", q.Answer, won)
	}
	if old == nil {
		return
	}
	if old.State != q.State {
		if !allowed(inbox.QuestionArrows(), string(old.State), string(q.State)) {
			fault("a question went from %s to %s", old.State, q.State)
		}
		e.reached[reach{"question", string(old.State), string(q.State)}] = true
		if q.State == inbox.Accepted && q.ClosedBy == inbox.ByServer {
			e.reached[reach{"completion", string(old.State), string(q.State)}] = true
			if old.Asked > 1 && !old.Completed.IsZero() {
				fault("a server completed a question twice")
			}
		}
	}
	// Nobody declines or cancels but a person; nothing expires before its time.
	switch {
	case old.State == q.State:
	case q.State == inbox.Accepted && !strings.HasPrefix(to.op, "accept") && !strings.HasPrefix(to.op, "completes"):
		fault("%s made a question %s", to.op, q.State)
	case q.State == inbox.Declined && !strings.HasPrefix(to.op, "decline"), q.State == inbox.Cancelled && !strings.HasPrefix(to.op, "cancel"):
		fault("%s made a question %s", to.op, q.State)
	case q.State == inbox.Expired && to.now.Before(old.ExpiresAt) && c.State != inbox.CallExpired:
		fault("a question expired before its time")
	}
	// What has left stays as it was.
	if _, left := to.ghost.left[q.ID]; left && !again && !reflect.DeepEqual(old.Answer, q.Answer) && to.op != "" {
		if _, before := to.from.ghost.left[q.ID]; before {
			fault("an answer changed after it had left")
		}
	}
}
