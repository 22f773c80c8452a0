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
	}
	if questions == 0 {
		x.t.Error("no question was looked at")
	}
	x.t.Logf("%d audit entries tell of %d calls and %d questions", entries, len(x.ids), questions)
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

// trailFaults are what a trail does not say, or says wrongly.
func trailFaults(state inbox.CallState, asked map[string]string, trail []*inbox.AuditEntry) (list []string) {
	fault := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if trail[0].Kind != inbox.AuditComposed || trail[0].Digest == "" || trail[0].Tool == "" {
		fault("it does not begin with who composed what")
	}
	last := map[inbox.QuestionID]*inbox.AuditEntry{}
	answered := map[inbox.QuestionID]bool{}
	var end *inbox.AuditEntry
	for i, e := range trail {
		if e.At.IsZero() || e.Principal.Subject != "operator" {
			fault("%s says neither when nor whose", e.Kind)
		}
		if i > 0 && e.At.Before(trail[i-1].At) {
			fault("%s comes before %s", e.Kind, trail[i-1].Kind)
		}
		if end != nil && inbox.CallState(end.State).Ended() {
			fault("%s comes after the end", e.Kind)
		}
		switch e.Kind {
		case inbox.AuditAsked:
			last[e.Question] = e
			if e.Machine == "" || e.Digest == "" {
				fault("asked by no machine, or nothing")
			}
		case inbox.AuditAnswered:
			if answered[e.Question] || last[e.Question] == nil {
				fault("an answer to what was not asked, or a second one")
			}
			answered[e.Question], last[e.Question] = true, e
			// The person did: their session says how well they are known.
			if e.Machine != "" || e.Assurance == "" || e.Remote == "" || e.State == "accepted" && e.Digest == "" {
				fault("an answer without who, from where, or what")
			}
		case inbox.AuditTakenBack:
			answered[e.Question], last[e.Question] = false, e
		case inbox.AuditClosed:
			last[e.Question] = e
			if e.State == "" || e.Reason == "" {
				fault("a question was closed by nobody")
			}
		case inbox.AuditDelivered:
			if e.Machine == "" {
				fault("delivered by no machine")
			}
		case inbox.AuditUncertain, inbox.AuditFinished, inbox.AuditDenied, inbox.AuditStopped:
			end = e
		}
	}
	switch {
	case state.Ended() || state == inbox.Uncertain:
		if end == nil || end.State != string(state) {
			fault("it does not tell how the call ended")
		} else if end.Machine == "" && end.State == string(inbox.Done) {
			fault("no machine has seen the result")
		} else if end.State == string(inbox.Done) && end.Digest == "" {
			fault("it does not tell what came back")
		}
	case end != nil && inbox.CallState(end.State).Ended():
		fault("it tells of an end, and there is none")
	}
	for id, state := range asked {
		e, open := last[inbox.QuestionID(id)], state == string(inbox.Open) || state == string(inbox.Opened)
		switch {
		case e == nil:
			fault("question %s was not asked", id)
		case !open && e.State != state:
			fault("question %s is %s, the trail ends with %s %s", id, state, e.Kind, e.State)
		case open && e.Kind != inbox.AuditAsked && e.Kind != inbox.AuditTakenBack:
			fault("question %s is open, the trail ends with %s", id, e.Kind)
		}
	}
	return list
}

// told is a trail for people.
func told(trail []*inbox.AuditEntry) string {
	var text strings.Builder
	for _, e := range trail {
		fmt.Fprintf(&text, "  %d %s %s %s %s %s\n", e.ID, e.At.Format("15:04:05.000000"), e.Kind, e.State, e.Reason, e.Machine)
	}
	return text.String()
}
