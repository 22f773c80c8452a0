package e2e_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/travel"
)

// A hurt is a kill of one process: from the signal until it was dead, and until
// the next one was up.
type hurt struct {
	server         bool // of the calls; else a machine
	from, dead, to time.Time
}

// gap is how long the sender's kernel, the wire and a busy processor may take to
// show that a process is dead, and how long after a reply its outcome may not be
// in the store.
const gap = 2 * time.Second

// caused reports whether a kill explains that nobody knows what became of a
// call: its last request was on the wire to a server that was killed or down, or
// the machine that sent it was killed before it had written the outcome down.
// What an earlier request met is no excuse: the call was sent again since.
func caused(flights []flight, hurts []hurt) bool {
	if len(flights) == 0 {
		return false
	}
	last := flights[len(flights)-1]
	for _, h := range hurts {
		switch {
		case h.server:
			if last.broken && !h.from.After(last.to) && !h.to.Add(gap).Before(last.from) {
				return true
			}
		case !last.left.IsZero() && !last.left.Before(h.from) && !last.left.After(h.dead.Add(gap)) && !last.left.After(last.to.Add(gap)):
			return true
		}
	}
	return false
}

// TestCaused: the judge of the torture excuses what a kill explains, and nothing else.
func TestCaused(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 7, 28, 9, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	machine := hurt{from: at(10), dead: at(10.1), to: at(12)}
	server := hurt{server: true, from: at(10), dead: at(10.1), to: at(12)}
	for name, test := range map[string]struct {
		flights []flight
		hurts   []hurt
		want    bool
	}{
		"machine dies under way":           {[]flight{{from: at(9.9), to: at(10.5), left: at(10.05)}}, []hurt{machine}, true},
		"machine dies after the reply":     {[]flight{{from: at(8), to: at(9.5), left: at(10.05)}}, []hurt{machine}, true},
		"server dies under way":            {[]flight{{from: at(9.9), to: at(10.05), broken: true}}, []hurt{server}, true},
		"server is down":                   {[]flight{{from: at(11), to: at(11), broken: true}}, []hurt{server}, true},
		"among others":                     {[]flight{{from: at(1), to: at(2)}, {from: at(11), to: at(11), broken: true}}, []hurt{machine, server}, true},
		"nothing on the wire":              {nil, []hurt{machine, server}, false},
		"nothing killed":                   {[]flight{{from: at(9.9), to: at(10.05), broken: true}}, nil, false},
		"another machine dies":             {[]flight{{from: at(9.9), to: at(10.5)}}, []hurt{machine}, false},
		"connection ended before":          {[]flight{{from: at(9), to: at(9.5), left: at(9.5)}}, []hurt{machine}, false},
		"connection ended later":           {[]flight{{from: at(9.9), to: at(10.5), left: at(14)}}, []hurt{machine}, false},
		"long after the reply":             {[]flight{{from: at(1), to: at(2), left: at(10.05)}}, []hurt{machine}, false},
		"a machine breaks no server":       {[]flight{{from: at(9.9), to: at(10.05), broken: true}}, []hurt{machine}, false},
		"a server ends no sender":          {[]flight{{from: at(9.9), to: at(10.5), left: at(10.05)}}, []hurt{server}, false},
		"reply came though server died":    {[]flight{{from: at(9.9), to: at(10.05)}}, []hurt{server}, false},
		"broken after the server was back": {[]flight{{from: at(15), to: at(16), broken: true}}, []hurt{server}, false},
		"an earlier request":               {[]flight{{from: at(9.9), to: at(10.5), left: at(10.05)}, {from: at(20), to: at(21)}}, []hurt{machine}, false},
	} {
		if got := caused(test.flights, test.hurts); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// judge compares what the machines say with what the server did.
func (x *torture) judge(ends map[int]end, took time.Duration) {
	entries, err := travel.ReadLog(filepath.Join(x.desk.dir, "bookings.jsonl"))
	if err != nil {
		x.t.Fatal(err)
	}
	executed, keys := map[string]int{}, map[string]int{}
	for _, e := range entries {
		executed[e.From]++
		if keys[e.Call]++; keys[e.Call] > 1 {
			x.t.Errorf("the idempotency key of %s was executed %d times", e.From, keys[e.Call])
		}
	}
	var done, uncertain, unseen, lost, twice, ghosts, machines int
	for _, h := range x.hurts {
		if !h.server {
			machines++
		}
	}
	for i := range x.calls {
		n := executed["City "+strconv.Itoa(i)]
		if n > 1 {
			twice++
			x.t.Errorf("call %d (%s) was executed %d times", i, ends[i].state, n)
		}
		switch {
		case ends[i].state == "done":
			done++
			if n == 0 {
				ghosts++
				x.t.Errorf("call %d is done and was never executed", i)
			}
		case ends[i].state == "uncertain":
			uncertain++
			switch {
			case caused(x.wire.flown(i), x.hurts):
			case ends[i].reason == inbox.ReasonLostOwner:
				// Its machine was killed between the mark and the first byte; trails
				// sees that it did nothing any more.
				unseen++
			default:
				x.t.Errorf("call %d is uncertain (%s), and no kill explains it: sent %+v", i, ends[i].reason, x.wire.flown(i))
			}
		default:
			lost++
		}
	}
	if unseen > machines {
		x.t.Errorf("%d calls were marked and never sent, with %d kills of machines: %+v", unseen, machines, x.hurts)
	}
	x.t.Logf("%d uncertain calls were marked and never sent", unseen)
	line := fmt.Sprintf("| %s | %d | %s | %d | %d | %d | %d | %d | %d | %d | %d | %v |",
		time.Now().UTC().Format(time.DateOnly), x.calls, strings.TrimSpace(fmt.Sprint(len(x.machines), " ", x.note)), x.kills, x.wire.hits, x.restarts, x.cuts,
		done, uncertain, lost, twice+ghosts, took.Round(time.Second))
	x.t.Log(line)
	if path := os.Getenv(tortureReport); path != "" && !x.t.Failed() {
		if err := appendLine(path, line); err != nil {
			x.t.Error(err)
		}
	}
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, line+"\n")
	return errors.Join(err, f.Close())
}
