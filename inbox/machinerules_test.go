package inbox_test

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/parley-mcp/parley/inbox"
)

// only says which steps may follow an arrow; for an arrow that is not in it
// any step may.
var only = map[[2]string][]string{
	{"sent", "ready"}:        {"nothing ran", "again"}, // never a sweep, a crash or a person
	{"uncertain", "ready"}:   {"resolve", "resend"},
	{"claimed", "uncertain"}: {"mark", "mark 2", "ask", "deny", "sweep", "crash"},
	{"claimed", "sent"}:      {"mark", "mark 2"},
	{"ready", "claimed"}:     {"claim", "claim next"},
	{"ready", "waiting"}:     {"take back"},
	{"uncertain", "done"}:    {"resolve", "late reply"},
	{"uncertain", "failed"}:  {"resolve", "late reply"},
	{"uncertain", "waiting"}: {"late reply"},
	{"uncertain", "stopped"}: {"late reply"},
	{"sent", "done"}:         {"finish"},
	{"sent", "lapsed"}:       {"finish"},
	{"sent", "waiting"}:      {"park"},
	{"waiting", "stopped"}:   {"stop"},
	{"approving", "ready"}:   {"decide"},
	{"approving", "denied"}:  {"decide", "disable"},
	{"claimed", "approving"}: {"ask"},
	{"open", "allowed"}:      {"decide"},
	{"open", "denied"}:       {"decide"},
	{"sent", "interrupted"}:  {"finish", "sweep", "crash"},
	{"accepted", "opened"}:   {"park", "late reply"},
	{"declined", "open"}:     {"take back"},
	{"cancelled", "open"}:    {"take back"},
	{"open", "accepted"}:     {"answer", "answer 2", "answer 3", "complete"},
	{"opened", "accepted"}:   {"answer", "answer 2", "answer 3", "complete"},
	{"open", "opened"}:       {"answer", "answer 2", "answer 3"},
}

func allowed(arrows []inbox.Arrow, from, to string) bool {
	return slices.ContainsFunc(arrows, func(a inbox.Arrow) bool { return a.From == from && a.To == to })
}

func (m *machine) arrow(t *rapid.T, kind string, arrows []inbox.Arrow, from, to string) {
	if from == to {
		return
	}
	if !allowed(arrows, from, to) {
		t.Fatalf("%s moved a %s from %s to %s: no arrow", m.op, kind, from, to)
	}
	if steps := only[[2]string{from, to}]; steps != nil && !slices.Contains(steps, m.op) {
		t.Fatalf("%s moved a %s from %s to %s", m.op, kind, from, to)
	}
	m.reached[kind][[2]string{from, to}] = true
}

func (m *machine) check(t *rapid.T) {
	in := m.machines[0]
	calls, err := in.Calls(m.ctx, m.ann, inbox.CallFilter{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	questions, err := in.Questions(m.ctx, m.ann, inbox.QuestionFilter{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	changes := int64(0)
	for _, c := range calls {
		changes += m.checkCall(t, c)
	}
	approvals, err := in.Approvals(m.ctx, m.ann, inbox.ApprovalFilter{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range approvals {
		changes += m.checkApproval(t, a)
	}
	open, round := map[inbox.CallID]int{}, map[inbox.CallID]int{}
	for _, q := range questions {
		changes += m.checkQuestion(t, q)
		if !q.State.Closed() {
			open[q.Call]++
			if q.Round == m.calls[q.Call].Round {
				round[q.Call]++
			}
		}
	}
	for id, c := range m.calls {
		switch c.State {
		case inbox.Waiting:
			if round[id] == 0 {
				t.Fatalf("%s: a call waits and nothing of its round is open", m.op)
			}
		case inbox.Blocked, inbox.Sent:
		default:
			if open[id] > 0 {
				t.Fatalf("%s: a call is %s and %d questions are open", m.op, c.State, open[id])
			}
		}
		if c.State == inbox.Sent && !c.Held && open[id] > 0 {
			t.Fatalf("%s: questions are open on a call that is not held", m.op)
		}
	}
	events, err := in.Events(m.ctx, m.ann, m.events, 500)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if m.events = e.Seq; e.Kind != inbox.RefusalEvent { // which is of no row
			changes--
		}
	}
	if changes != 0 {
		t.Fatalf("%s changed %d rows more than it made events", m.op, changes)
	}
}

// lease are the fields that change without a new version.
var lease = cmpopts.IgnoreFields(inbox.Call{}, "LeaseUntil")

func (m *machine) checkCall(t *rapid.T, c *inbox.Call) (changes int64) {
	old := m.calls[c.ID]
	m.calls[c.ID] = c
	switch {
	case (c.Owner != "") != (c.State == inbox.Claimed || c.State == inbox.Sent):
		t.Fatalf("%s: %s with the owner %q", m.op, c.State, c.Owner)
	case c.Held && c.State != inbox.Sent:
		t.Fatalf("%s: held while %s", m.op, c.State)
	case c.State.Ended() != !c.Ended.IsZero():
		t.Fatalf("%s: %s ended at %v", m.op, c.State, c.Ended)
	case !c.NotBefore.IsZero() && c.State != inbox.Ready && (c.State != inbox.Blocked || c.Reason != inbox.ReasonUnreachable):
		t.Fatalf("%s: not before %v while %s", m.op, c.NotBefore, c.State)
	}
	if old == nil {
		begins := c.State == inbox.Ready || m.op == "compose under a policy" && (c.State == inbox.Approving || c.State == inbox.Denied)
		if !begins || c.Version != 1 || c.Sends != 0 {
			t.Fatalf("%s made %+v", m.op, c)
		}
		return 1
	}
	if c.Removed && !old.Removed {
		kept := cmpopts.IgnoreFields(inbox.Call{}, "Removed", "Detail", "Endpoint", "Fingerprint", "Arguments", "RequestState", "Result", "IdempotencyKey")
		if m.op != "sweep" || !old.State.Ended() || m.now.Sub(old.Ended) < 30*24*time.Hour || !cmp.Equal(old, c, kept) {
			t.Fatalf("%s removed the content of a call that ended at %v:\n%s", m.op, old.Ended, cmp.Diff(old, c, kept))
		}
		return 0
	}
	m.arrow(t, "call", inbox.CallArrows(), string(old.State), string(c.State))
	if cmp.Equal(old, c, lease) {
		return 0
	}
	if c.Version != old.Version+1 {
		t.Fatalf("%s went from version %d to %d:\n%s", m.op, old.Version, c.Version, cmp.Diff(old, c))
	}
	if old.State.Ended() && !cmp.Equal(old, c, lease, cmpopts.IgnoreFields(inbox.Call{}, "ReplacedBy", "Version", "Updated")) {
		t.Fatalf("%s changed an ended call:\n%s", m.op, cmp.Diff(old, c))
	}
	if c.Sends != old.Sends {
		// The only way to the wire, and never twice without a decision or proof:
		// the arrows back to ready are bound to steps above, and this is the rest.
		if c.Sends != old.Sends+1 || old.State != inbox.Claimed || c.State != inbox.Sent || old.StopWanted {
			t.Fatalf("%s sent a call that was %s (sends %d to %d)", m.op, old.State, old.Sends, c.Sends)
		}
	}
	if c.Round != old.Round || m.op == "resolve" {
		delete(m.until, c.ID)
	}
	until := m.until[c.ID]
	late := !until.IsZero() && !m.now.Before(until)
	if c.Sends != old.Sends && late {
		t.Fatalf("%s sent a call again by itself at %v, which may be sent so until %v", m.op, m.now, until)
	}
	if old.State != c.State {
		m.checkDoubt(t, old, c, late)
	}
	if old.MarkedBefore && !c.MarkedBefore && c.Round == old.Round {
		t.Fatalf("%s forgot that the round was sent before", m.op)
	}
	if old.State == inbox.Uncertain && c.State == inbox.Ready && !c.MarkedBefore {
		t.Fatalf("%s made an uncertain call ready without the warning", m.op)
	}
	if c.IdempotencyKey != old.IdempotencyKey {
		t.Fatalf("%s changed the idempotency key", m.op)
	}
	if c.Fence < old.Fence || c.Fence > old.Fence && c.State != inbox.Claimed {
		t.Fatalf("%s moved the fence from %d to %d", m.op, old.Fence, c.Fence)
	}
	return 1
}

// checkDoubt: what may have happened does not end by time, by dead claims or by a rule, but
// is uncertain again; and nothing else is, before it was sent.
func (m *machine) checkDoubt(t *rapid.T, old, c *inbox.Call, late bool) {
	if old.MarkedBefore && (c.State == inbox.CallExpired || c.Reason == inbox.ReasonDeadClaims && c.State == inbox.Failed) {
		t.Fatalf("%s ended a call that may have happened: %s (%s)", m.op, c.State, c.Reason)
	}
	if old.MarkedBefore && old.State == inbox.Claimed && c.State == inbox.Denied && c.Reason != inbox.ReasonDisabled {
		t.Fatalf("%s ended a call that may have happened: %s (%s)", m.op, c.State, c.Reason)
	}
	if c.State != inbox.Uncertain || old.State == inbox.Sent {
		return
	}
	why := map[inbox.CallState][]string{
		inbox.Ready:     {inbox.ReasonDeadline},
		inbox.Approving: {inbox.ReasonDeadline, inbox.ReasonNotDecided},
		inbox.Claimed:   {inbox.ReasonDeadline, inbox.ReasonDeadClaims, inbox.ReasonTooLateToResend, inbox.ReasonDenied},
		inbox.Blocked:   {inbox.ReasonDeadline, inbox.ReasonBlockedTooLong},
	}
	if !old.MarkedBefore || !slices.Contains(why[old.State], c.Reason) || c.Reason == inbox.ReasonTooLateToResend && !late {
		t.Fatalf("%s made a call that was %s uncertain (%s), at %v; sent before: %t", m.op, old.State, c.Reason, m.now, old.MarkedBefore)
	}
}

func (m *machine) checkQuestion(t *rapid.T, q *inbox.Question) (changes int64) {
	old := m.questions[q.ID]
	m.questions[q.ID] = q
	c := m.calls[q.Call]
	switch {
	case q.State == inbox.Accepted && q.ClosedBy == inbox.ByServer: // nobody answered; the server says that it is done
		if q.Answer != nil || q.Mode != inbox.URL || q.Held || q.Completed.IsZero() {
			t.Fatalf("%s: completed: %+v", m.op, q)
		}
	case (q.Answer != nil) != (q.State == inbox.Accepted || q.State == inbox.Declined || q.State == inbox.Cancelled):
		t.Fatalf("%s: %s with the answer %+v", m.op, q.State, q.Answer)
	case q.Answer != nil && !q.Removed && (q.Answer.Content != nil) != (q.State == inbox.Accepted && q.Mode == inbox.Form):
		t.Fatalf("%s: %s in %s mode with content %s", m.op, q.State, q.Mode, q.Answer.Content)
	case q.State.Closed() != (q.ClosedBy != "") || q.State.Closed() != !q.Closed.IsZero():
		t.Fatalf("%s: %s, closed by %q at %v", m.op, q.State, q.ClosedBy, q.Closed)
	case q.State == inbox.Opened && q.Mode != inbox.URL:
		t.Fatalf("%s: a form is opened", m.op)
	}
	if q.Removed {
		if !c.Removed || len(q.Params) > 0 || q.Answer != nil && q.Answer.Content != nil {
			t.Fatalf("%s removed the content of a question by half: %+v", m.op, q)
		}
		return 0
	}
	if final := m.final[q.ID]; final != nil && !cmp.Equal(final, q.Answer) {
		again := q.Mode == inbox.URL && q.Asked > old.Asked && (m.op == "park" || m.op == "late reply")
		if !again {
			t.Fatalf("%s changed an answer that had left:\n%s", m.op, cmp.Diff(final, q.Answer))
		}
		delete(m.final, q.ID)
	}
	left := q.Delivery == inbox.Marked || q.Delivery == inbox.Delivered || !q.Held && q.Round == c.Round && c.RoundSends > 0
	if q.Answer != nil && left {
		m.final[q.ID] = q.Answer
	}
	if old == nil {
		if q.State != inbox.Open || q.Version != 1 {
			t.Fatalf("%s made %+v", m.op, q)
		}
		return 1
	}
	m.arrow(t, "question", inbox.QuestionArrows(), string(old.State), string(q.State))
	if cmp.Equal(old, q) {
		return 0
	}
	if q.Version != old.Version+1 {
		t.Fatalf("%s went from version %d to %d:\n%s", m.op, old.Version, q.Version, cmp.Diff(old, q))
	}
	if !q.Completed.Equal(old.Completed) && (m.op != "complete" || !old.Completed.IsZero()) {
		t.Fatalf("%s made a question completed at %v, before: %v", m.op, q.Completed, old.Completed)
	}
	if c.State == inbox.Claimed && !cmp.Equal(old.Answer, q.Answer) {
		t.Fatalf("%s changed an answer of a claimed round", m.op)
	}
	return 1
}
