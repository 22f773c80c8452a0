package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	api "github.com/parley-mcp/parley/serve"
)

// wholeTrail is what a torture's call leaves that asks twice and is done.
func wholeTrail() (trail []*inbox.AuditEntry, asked map[string]string) {
	machine := func(e inbox.AuditEntry) inbox.AuditEntry { e.Machine = "m1"; return e }
	person := func(e inbox.AuditEntry) inbox.AuditEntry {
		e.Via, e.Assurance, e.Remote = "chat", "signed-in page", "127.0.0.1"
		return e
	}
	at := time.Date(2026, 7, 28, 9, 0, 0, 0, time.UTC)
	for i, e := range []inbox.AuditEntry{
		person(inbox.AuditEntry{Kind: inbox.AuditComposed, Tool: "book_flight", Digest: "d"}),
		machine(inbox.AuditEntry{Kind: inbox.AuditAsked, Question: "q_1", Round: 1, Digest: "d"}),
		person(inbox.AuditEntry{Kind: inbox.AuditAnswered, Question: "q_1", Round: 1, State: "accepted", Digest: "d"}),
		machine(inbox.AuditEntry{Kind: inbox.AuditDelivered, Round: 1, Count: 1}),
		machine(inbox.AuditEntry{Kind: inbox.AuditAsked, Question: "q_2", Round: 2, Digest: "d"}),
		person(inbox.AuditEntry{Kind: inbox.AuditAnswered, Question: "q_2", Round: 2, State: "declined"}),
		machine(inbox.AuditEntry{Kind: inbox.AuditDelivered, Round: 2, Count: 1}),
		machine(inbox.AuditEntry{Kind: inbox.AuditFinished, State: "done", Digest: "d"}),
	} {
		e.ID, e.At, e.Call, e.Principal = int64(i+1), at.Add(time.Duration(i)*time.Second), "c_1", api.LocalPrincipal
		trail = append(trail, &e)
	}
	return trail, map[string]string{"q_1": "accepted", "q_2": "declined"}
}

// TestTrailFaults: the judge of the torture's trails finds each kind of break, and
// nothing in what may be.
func TestTrailFaults(t *testing.T) {
	t.Parallel()
	type trail = []*inbox.AuditEntry
	with := func(i int, change func(*inbox.AuditEntry)) func(trail) trail {
		return func(l trail) trail { change(l[i]); return l }
	}
	without := func(i int) func(trail) trail {
		return func(l trail) trail { return slices.Delete(l, i, i+1) }
	}
	// moved lets an entry come at another place, with the time of that place.
	moved := func(from, to int) func(trail) trail {
		return func(l trail) trail {
			var times []time.Time
			for _, e := range l {
				times = append(times, e.At)
			}
			e := l[from]
			l = slices.Insert(slices.Delete(l, from, from+1), to, e)
			for i, e := range l {
				e.At = times[i]
			}
			return l
		}
	}
	more := func(e inbox.AuditEntry) func(trail) trail {
		return func(l trail) trail {
			e.At, e.Principal, e.Machine = l[len(l)-1].At, api.LocalPrincipal, "m2"
			return append(l, &e)
		}
	}
	// instead replaces the end.
	instead := func(list ...inbox.AuditEntry) func(trail) trail {
		return func(l trail) trail {
			last := *l[len(l)-1]
			l = l[:len(l)-1]
			for _, e := range list {
				e.At, e.Principal = last.At, last.Principal
				l = append(l, &e)
			}
			return l
		}
	}
	bob := inbox.Principal{Issuer: "https://id.example", Subject: "bob"}
	for name, test := range map[string]struct {
		change func(trail) trail
		state  inbox.CallState // default: done
		second string          // state of the second question; default: declined
		want   string          // a part of a fault; empty: there is none
	}{
		"whole":      {change: func(l trail) trail { return l }},
		"sent again": {change: func(l trail) trail { again := *l[6]; return slices.Insert(l, 7, &again) }},
		"uncertain, then resumed": {change: func(l trail) trail {
			e := *l[6]
			e.Kind, e.State = inbox.AuditUncertain, "uncertain"
			return slices.Insert(l, 7, &e)
		}},
		"uncertain": {change: instead(inbox.AuditEntry{Kind: inbox.AuditUncertain, State: "uncertain", Machine: "m1"}), state: inbox.Uncertain},
		"stopped, and done": {change: func(l trail) trail {
			e := *l[0]
			e.Kind, e.State, e.At = inbox.AuditStopped, "sent", l[6].At
			return slices.Insert(l, 7, &e)
		}},

		"none":                        {change: func(trail) trail { return nil }, want: "there is none"},
		"no composed":                 {change: without(0), want: "does not begin"},
		"no first asked":              {change: without(1), want: "not asked"},
		"no second asked":             {change: without(4), want: "an answer to what was not asked"},
		"nothing of a question":       {change: func(l trail) trail { return slices.Delete(l, 4, 7) }, want: "question q_2 was not asked"},
		"no answered":                 {change: without(2), want: "delivered without an answer"},
		"no last answered":            {change: without(5), want: "delivered without an answer"},
		"no delivered":                {change: without(3), want: "q_1 was never delivered, and the server goes on"},
		"no last delivered":           {change: without(6), want: "q_2 was never delivered"},
		"no finished":                 {change: without(7), want: "does not tell how the call ended"},
		"composed twice":              {change: func(l trail) trail { e := *l[0]; return slices.Insert(l, 1, &e) }, want: "composed twice"},
		"an end of an open call":      {change: func(l trail) trail { return l }, state: inbox.Waiting, want: "there is none"},
		"another's":                   {change: with(2, func(e *inbox.AuditEntry) { e.Principal = bob }), want: "nor whose"},
		"a subject of another issuer": {change: with(2, func(e *inbox.AuditEntry) { e.Principal.Issuer = bob.Issuer }), want: "nor whose"},
		"by another":                  {change: with(2, func(e *inbox.AuditEntry) { e.By = bob }), want: "nor whose"},
		"no time":                     {change: with(3, func(e *inbox.AuditEntry) { e.At = time.Time{} }), want: "neither when"},
		"answered by a machine":       {change: with(2, func(e *inbox.AuditEntry) { e.Machine = "m1" }), want: "answered by a machine"},
		"asked by nobody":             {change: with(1, func(e *inbox.AuditEntry) { e.Machine = "" }), want: "asked by no machine"},
		"delivered by nobody":         {change: with(3, func(e *inbox.AuditEntry) { e.Machine = "" }), want: "delivered by no machine"},
		"done by nobody":              {change: with(7, func(e *inbox.AuditEntry) { e.Machine = "" }), want: "no machine has seen"},
		"nothing asked":               {change: with(1, func(e *inbox.AuditEntry) { e.Digest = "" }), want: "nothing was asked"},
		"nothing answered":            {change: with(2, func(e *inbox.AuditEntry) { e.Digest = "" }), want: "or what"},
		"answered from nowhere":       {change: with(5, func(e *inbox.AuditEntry) { e.Remote = "" }), want: "from where"},
		"no result":                   {change: with(7, func(e *inbox.AuditEntry) { e.Digest = "" }), want: "what came back"},
		"times":                       {change: with(4, func(e *inbox.AuditEntry) { e.At = e.At.Add(-time.Hour) }), want: "asked comes before delivered"},
		"answered before asked":       {change: moved(2, 1), want: "not asked"},
		"delivered before answered":   {change: moved(3, 2), want: "delivered without an answer"},
		"asked before delivered":      {change: moved(4, 3), want: "never delivered"},
		"end before delivered":        {change: moved(7, 6), want: "delivered comes after the end"},
		"answered twice":              {change: func(l trail) trail { e := *l[2]; return slices.Insert(l, 3, &e) }, want: "a second one"},
		"closed twice": {change: func(l trail) trail {
			e := *l[2]
			e.Kind, e.State, e.Reason = inbox.AuditClosed, "withdrawn", "server"
			return slices.Insert(l, 3, &e)
		}, want: "or is closed"},
		"closed by nobody": {change: func(l trail) trail {
			l[5].Kind, l[5].State, l[5].Machine = inbox.AuditClosed, "declined", "m1"
			return l
		}, want: "closed by nobody"},
		"taken back unanswered": {change: func(l trail) trail { e := *l[2]; e.Kind = inbox.AuditTakenBack; return slices.Insert(l, 2, &e) }, want: "taken back"},
		"too many delivered":    {change: with(3, func(e *inbox.AuditEntry) { e.Count = 2 }), want: "2 answers were delivered to the 1"},
		"a round of nothing":    {change: with(3, func(e *inbox.AuditEntry) { e.Round = 7 }), want: "of round 7"},
		"held, unanswered": {change: func(l trail) trail {
			l[3].Question = "q_1"
			return slices.Delete(l, 2, 3)
		}, want: "delivered without an answer"},
		"another answer":        {change: with(2, func(e *inbox.AuditEntry) { e.State = "declined" }), want: "q_1 is accepted, the trail ends with answered declined"},
		"another's question":    {change: with(1, func(e *inbox.AuditEntry) { e.Question = "q_9" }), want: "q_9 is not of this call"},
		"two ends":              {change: more(inbox.AuditEntry{Kind: inbox.AuditFinished, State: "done", Digest: "d"}), want: "finished comes after the end"},
		"uncertain after it":    {change: more(inbox.AuditEntry{Kind: inbox.AuditUncertain, State: "uncertain"}), want: "uncertain comes after the end"},
		"uncertain twice":       {change: instead(inbox.AuditEntry{Kind: inbox.AuditUncertain, State: "uncertain", Machine: "m1"}, inbox.AuditEntry{Kind: inbox.AuditUncertain, State: "uncertain", Machine: "m1"}), state: inbox.Uncertain, want: "uncertain twice"},
		"another end":           {change: with(7, func(e *inbox.AuditEntry) { e.State = "failed" }), want: "how the call ended"},
		"an end of another one": {change: func(l trail) trail { return l }, state: inbox.Failed, want: "how the call ended"},
		"open, and answered":    {change: func(l trail) trail { return l[:6] }, state: inbox.Waiting, second: "open", want: "q_2 is open, the trail ends with answered"},
		"waiting":               {change: func(l trail) trail { return l[:5] }, state: inbox.Waiting, second: "open"},
		"an end that is none":   {change: with(7, func(e *inbox.AuditEntry) { e.Kind = inbox.AuditStopped }), want: "stopped with the state done"},
		"uncertain, undelivered": {change: func(l trail) trail {
			return instead(inbox.AuditEntry{Kind: inbox.AuditUncertain, State: "uncertain", Machine: "m1"})(slices.Delete(l, 6, 7))
		}, state: inbox.Uncertain, want: "q_2 was never delivered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, asked := wholeTrail()
			if test.second != "" {
				asked["q_2"] = test.second
			}
			if test.state == "" {
				test.state = inbox.Done
			}
			faults := trailFaults(test.state, asked, test.change(list))
			found := slices.ContainsFunc(faults, func(fault string) bool { return strings.Contains(fault, test.want) })
			if test.want == "" && len(faults) > 0 || test.want != "" && !found {
				t.Errorf("faults %q, want %q", faults, test.want)
			}
		})
	}
}
