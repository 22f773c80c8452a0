package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/parley-mcp/parley/inbox"
	api "github.com/parley-mcp/parley/serve"
)

// trails lets parley audit print the audit log of a torture's store and holds it against how each call
// and each question ended: for every end the trail says who, when and what, in an
// order that can be. Numbers rise, so a reader that went on from the last one it saw
// has missed nothing.
func (x *torture) trails(ctx context.Context) {
	x.t.Helper()
	args := append([]string{"audit", "--json"}, x.place()...)
	out, err := exec.Command(binary, args...).Output()
	if err != nil {
		x.t.Errorf("parley audit: %v", err)
		return
	}
	trails := map[string][]*inbox.AuditEntry{}
	latest := map[string]int64{} // entry of each machine
	entries, before := 0, int64(0)
	for line := range bytes.Lines(out) {
		e := &inbox.AuditEntry{}
		if err := json.Unmarshal(line, e); err != nil {
			x.t.Errorf("an entry: %v", err)
			return
		}
		if e.ID <= before {
			x.t.Errorf("entry %d comes after %d", e.ID, before)
		}
		before = e.ID
		entries++
		if e.Machine != "" && x.common != nil { // one on a file keeps its name in its next life
			latest[e.Machine] = e.ID
		}
		trails[string(e.Call)] = append(trails[string(e.Call)], e)
	}
	questions := 0
	for i, id := range x.ids {
		trail := trails[id]
		if len(trail) == 0 {
			x.t.Errorf("call %d has no trail", i)
			continue
		}
		var row struct {
			State     string
			Questions []string
		}
		asked := map[string]string{}
		ok := x.again(ctx, "/v1/calls/"+id, &row)
		for _, q := range row.Questions {
			var one struct{ State string }
			ok = ok && x.again(ctx, "/v1/questions/"+q, &one)
			asked[q] = one.State
		}
		if !ok {
			x.t.Errorf("call %d cannot be read any more", i)
			return
		}
		questions += len(asked)
		for _, fault := range trailFaults(inbox.CallState(row.State), asked, trail) {
			x.t.Errorf("the trail of call %d (%s): %s\n%s", i, row.State, fault, told(trail))
		}
		if owner, lost := lostBy(trail); lost != nil && latest[owner] > lost.ID {
			x.t.Errorf("call %d lost its owner, machine %s, which lives: entry %d is its\n%s", i, owner, latest[owner], told(trail))
		}
	}
	if questions == 0 {
		x.t.Error("no question was looked at")
	}
	x.t.Logf("%d audit entries tell of %d calls and %d questions", entries, len(x.ids), questions)
}

// lostBy is the machine that marked a call's last request, and the entry by which
// the call became uncertain since that machine had lost it; nil if it did not. The
// first request of a call leaves no entry with its mark.
func lostBy(trail []*inbox.AuditEntry) (owner string, lost *inbox.AuditEntry) {
	for _, e := range trail {
		switch {
		case e.Kind == inbox.AuditDelivered:
			owner = e.Machine
		case e.Kind == inbox.AuditUncertain && e.Reason == inbox.ReasonLostOwner:
			lost = e
		}
	}
	if owner == "" {
		return "", nil
	}
	return owner, lost
}

// again reads from any machine, until one answers.
func (x *torture) again(ctx context.Context, path string, to any) bool {
	for !x.try(ctx, "GET", path, "", "", to) {
		if !pause(ctx) {
			return false
		}
	}
	return true
}

// place is where the machines keep what they know, in flags.
func (x *torture) place() []string {
	args := x.machines[0].args
	if i := slices.Index(args, "--store"); i >= 0 {
		return args[i : i+2]
	}
	return []string{"--data", x.machines[0].data}
}

// trailFaults are what a trail does not say, or says wrongly, of a call that is in state
// now and of its questions, with theirs.
func trailFaults(state inbox.CallState, asked map[string]string, trail []*inbox.AuditEntry) []string {
	if len(trail) == 0 {
		return []string{"there is none"}
	}
	j := &trailJudge{last: map[inbox.QuestionID]*inbox.AuditEntry{}, round: map[inbox.QuestionID]int{}, kept: map[inbox.QuestionID]bool{}}
	if trail[0].Kind != inbox.AuditComposed || trail[0].Digest == "" || trail[0].Tool == "" {
		j.faultf("it does not begin with who composed what")
	}
	for i, e := range trail {
		j.who(e)
		if i > 0 {
			j.after(trail[i-1], e)
		}
		if e.Question != "" {
			j.question(e)
		} else {
			j.call(e)
		}
	}
	j.ended(state)
	j.closed(asked)
	return j.list
}

// A trailJudge has read a trail up to some entry.
type trailJudge struct {
	last  map[inbox.QuestionID]*inbox.AuditEntry // that changed the question
	round map[inbox.QuestionID]int               // in which it was asked last
	kept  map[inbox.QuestionID]bool              // answered, and not delivered
	end   *inbox.AuditEntry
	list  []string
}

func (j *trailJudge) faultf(format string, args ...any) {
	j.list = append(j.list, fmt.Sprintf(format, args...))
}

// who: all of a torture is of one person, and nobody else does anything. What people do
// has no machine, and what machines do has one.
func (j *trailJudge) who(e *inbox.AuditEntry) {
	if e.At.IsZero() || e.Principal != api.LocalPrincipal || e.By != (inbox.Principal{}) {
		j.faultf("%s says neither when nor whose", e.Kind)
	}
	switch e.Kind {
	case inbox.AuditComposed, inbox.AuditShown, inbox.AuditOpened, inbox.AuditAnswered, inbox.AuditTakenBack, inbox.AuditResolved:
		if e.Machine != "" {
			j.faultf("%s by a machine", e.Kind)
		}
	case inbox.AuditAsked, inbox.AuditAllowed, inbox.AuditDelivered, inbox.AuditBlocked, inbox.AuditUncertain:
		if e.Machine == "" {
			j.faultf("%s by no machine", e.Kind)
		}
	}
}

// after: what cannot follow what came before.
func (j *trailJudge) after(before, e *inbox.AuditEntry) {
	if e.At.Before(before.At) {
		j.faultf("%s comes before %s", e.Kind, before.Kind)
	}
	if j.end != nil && inbox.CallState(j.end.State).Ended() {
		j.faultf("%s comes after the end", e.Kind)
	}
	if e.Kind == inbox.AuditComposed {
		j.faultf("it was composed twice")
	}
	if e.Kind == inbox.AuditUncertain && before.Kind == inbox.AuditUncertain {
		j.faultf("it became uncertain twice")
	}
}

// question reads an entry about one question.
func (j *trailJudge) question(e *inbox.AuditEntry) {
	id, last := e.Question, j.last[e.Question]
	open := last != nil && (last.Kind == inbox.AuditAsked || last.Kind == inbox.AuditTakenBack)
	switch e.Kind {
	case inbox.AuditAsked:
		if e.Digest == "" {
			j.faultf("nothing was asked")
		}
		for other := range j.kept {
			if j.round[other] < e.Round {
				j.faultf("the answer to %s was never delivered, and the server goes on asking", other)
			}
		}
		j.last[id], j.round[id] = e, e.Round
	case inbox.AuditAnswered:
		if !open {
			j.faultf("an answer to what was not asked, or a second one")
		}
		// The person did: their session says how well they are known.
		if e.Assurance == "" || e.Remote == "" || e.State == "accepted" && e.Digest == "" {
			j.faultf("an answer without who, from where, or what")
		}
		j.last[id], j.kept[id] = e, true
	case inbox.AuditTakenBack:
		if last == nil || last.Kind != inbox.AuditAnswered {
			j.faultf("what was not answered was taken back")
		}
		j.last[id] = e
		delete(j.kept, id)
	case inbox.AuditClosed:
		if !open {
			j.faultf("what was not asked, or is closed, was closed")
		}
		if e.State == "" || e.Reason == "" {
			j.faultf("a question was closed by nobody")
		}
		j.last[id] = e
	case inbox.AuditDelivered: // of a question that is held
		if last == nil || open {
			j.faultf("delivered without an answer")
		}
		delete(j.kept, id)
	}
}

// call reads an entry about the call.
func (j *trailJudge) call(e *inbox.AuditEntry) {
	switch e.Kind {
	case inbox.AuditDelivered: // the answers of a round
		n := 0
		for id, round := range j.round {
			if round != e.Round {
				continue
			}
			n++
			if kind := j.last[id].Kind; kind != inbox.AuditAnswered && kind != inbox.AuditClosed {
				j.faultf("delivered without an answer")
			}
			delete(j.kept, id)
		}
		if n == 0 || n != e.Count {
			j.faultf("%d answers were delivered to the %d questions of round %d", e.Count, n, e.Round)
		}
	case inbox.AuditUncertain, inbox.AuditFinished, inbox.AuditDenied, inbox.AuditStopped:
		kind := inbox.AuditFinished
		switch inbox.CallState(e.State) {
		case inbox.Uncertain:
			kind = inbox.AuditUncertain
		case inbox.Denied:
			kind = inbox.AuditDenied
		case inbox.Stopped, inbox.Sent: // wanted, and not yet
			kind = inbox.AuditStopped
		}
		if e.Kind != kind {
			j.faultf("%s with the state %s", e.Kind, e.State)
		}
		j.end = e
	}
}

// ended holds the trail against the state that the call is in.
func (j *trailJudge) ended(state inbox.CallState) {
	if !state.Ended() && state != inbox.Uncertain {
		if j.end != nil && inbox.CallState(j.end.State).Ended() {
			j.faultf("it tells of an end, and there is none")
		}
		return
	}
	switch end := j.end; {
	case end == nil || end.State != string(state):
		j.faultf("it does not tell how the call ended")
	case end.Machine == "" && state == inbox.Done:
		j.faultf("no machine has seen the result")
	case end.Digest == "" && state == inbox.Done:
		j.faultf("it does not tell what came back")
	}
	if state == inbox.Done || state == inbox.Uncertain { // it was sent, with all that was answered
		for id := range j.kept {
			j.faultf("the answer to %s was never delivered", id)
		}
	}
}

// closed holds the trail against the states that the call's questions are in.
func (j *trailJudge) closed(asked map[string]string) {
	for id, state := range asked {
		e, open := j.last[inbox.QuestionID(id)], state == string(inbox.Open) || state == string(inbox.Opened)
		switch {
		case e == nil:
			j.faultf("question %s was not asked", id)
		case !open && e.State != state:
			j.faultf("question %s is %s, the trail ends with %s %s", id, state, e.Kind, e.State)
		case open && e.Kind != inbox.AuditAsked && e.Kind != inbox.AuditTakenBack:
			j.faultf("question %s is open, the trail ends with %s", id, e.Kind)
		}
	}
	for id := range j.last {
		if _, ok := asked[string(id)]; !ok {
			j.faultf("question %s is not of this call", id)
		}
	}
}

// told is a trail for people.
func told(trail []*inbox.AuditEntry) string {
	var text strings.Builder
	for _, e := range trail {
		fmt.Fprintf(&text, "  %d %s %s %s %s %s\n", e.ID, e.At.Format("15:04:05.000000"), e.Kind, e.State, e.Reason, e.Machine)
	}
	return text.String()
}
