package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
)

// Limits of one server in the servers file, below those of the inbox.
func TestServerLimits(t *testing.T) {
	t.Parallel()
	tools := map[string]hosttest.Tool{
		"two": func(x *hosttest.Exchange) { x.Asks("{"+request("a", askName)+","+request("b", askSize)+"}", "s") },
		"one": func(x *hosttest.Exchange) { x.Asks("{"+request("a", askName)+"}", "s") },
		"again": func(x *hosttest.Exchange) {
			x.Asks("{"+request("a", strings.Replace(askName, "Who", "Who"+strconv.Itoa(x.N), 1))+"}", "s")
		},
	}
	for name, test := range map[string]struct {
		limits host.Limits
		tool   string
		why    string
	}{
		"open":    {host.Limits{OpenQuestions: 1}, "two", inbox.ReasonTooManyQuestions},
		"minute":  {host.Limits{QuestionsPerMinute: 1}, "two", inbox.ReasonTooManyQuestions},
		"rounds":  {host.Limits{Rounds: 2}, "again", inbox.ReasonTooManyRounds},
		"enough":  {host.Limits{OpenQuestions: 2, QuestionsPerMinute: 2, Rounds: 1}, "two", ""},
		"default": {host.Limits{}, "two", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := web(t, "shop", &hosttest.Script{Tools: tools})
			s.Limits = test.limits
			r := newRig(t, nil, nil, s)
			call := r.start("shop", test.tool, "")
			for range test.limits.Rounds {
				if test.tool != "again" {
					break
				}
				r.step(call.ID, host.Asked)
				r.answer(r.one(call.ID), inbox.Accept, `{"name":"Ada"}`)
			}
			if test.why == "" {
				r.step(call.ID, host.Asked)
				return
			}
			if end := r.step(call.ID, ""); end.State != inbox.Failed || end.Reason != test.why {
				t.Errorf("ended %s, %s; want failed, %s", end.State, end.Reason, test.why)
			}
		})
	}
}

func TestServerLimitsHeld(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", legacy("2025-11-25"))
	s.Limits.Rounds = 1
	r := newRig(t, nil, nil, s)
	call := r.start("shop", "twice", "")
	r.step(call.ID, host.Held)
	r.answer(r.one(call.ID), inbox.Decline, "")
	if end := r.end(call.ID); end.State != inbox.Failed || end.Reason != inbox.ReasonTooManyRounds {
		t.Errorf("ended %s, %s", end.State, end.Reason)
	}
}

// A held question that is too large is refused, and its person sees that.
func TestTooLargeHeld(t *testing.T) {
	t.Parallel()
	script := legacy("2025-11-25")
	large := `{"mode":"form","message":"` + strings.Repeat("x", 1<<20) + `","requestedSchema":{"type":"object","properties":{}}}`
	script.Tools = map[string]hosttest.Tool{"ask": func(x *hosttest.Exchange) { x.Text(say(read(x.Elicit(large)))) }}
	s, _ := web(t, "shop", script)
	r := newRig(t, nil, nil, s)
	end := r.step(r.start("shop", "ask", "").ID, "")
	if got := text(t, end); got != `error -32000 {"reason":"too_large"}` {
		t.Errorf("the server was told %s", got)
	}
	refused, err := r.in.Refusals(t.Context(), ada)
	if err != nil || len(refused) != 1 || refused[0].Server != "shop" || refused[0].Count != 1 {
		t.Errorf("refused: %+v, %v", refused, err)
	}
}

// Machines that ask for one person at the same moment share the limits of the
// servers file: one question is shown, and the others are counted as refused.
func TestServerLimitsOfSeveralMachines(t *testing.T) {
	t.Parallel()
	eachBackend(t, func(t *testing.T, b *backend) {
		const machines, each = 3, 4
		var arrived sync.WaitGroup
		arrived.Add(machines * each)
		together := func(*hosttest.Exchange) { arrived.Done(); arrived.Wait() }
		modern, _ := web(t, "modern", &hosttest.Script{Tools: map[string]hosttest.Tool{"ask": func(x *hosttest.Exchange) {
			together(x)
			x.Asks("{"+request("a", strings.Replace(askName, "Who", "Who"+string(x.Arguments[5:6]), 1))+"}", "s")
		}}})
		modern.Limits.OpenQuestions = 1
		var calls []*inbox.Call
		var rigs []*rig
		for range machines {
			r := newRig(t, b, nil, modern)
			rigs = append(rigs, r)
		}
		for i := range machines * each {
			calls = append(calls, rigs[0].start("modern", "ask", `{"n":`+strconv.Itoa(i)+`}`))
		}
		for _, r := range rigs {
			r.run()
		}
		asked, failed := 0, 0
		for _, c := range calls {
			switch c := rigs[0].stops(c.ID); {
			case c.State == inbox.Waiting:
				asked++
			case c.State == inbox.Failed && c.Reason == inbox.ReasonTooManyQuestions:
				failed++
			default:
				t.Errorf("a call is %s, %s", c.State, c.Reason)
			}
		}
		if asked != 1 {
			t.Errorf("%d questions are open, want 1", asked)
		}
		list, err := rigs[0].in.Refusals(t.Context(), ada)
		if err != nil || len(list) != 1 || list[0].Server != "modern" || list[0].Count != failed {
			t.Errorf("refused: %+v, %v; want %d of modern", list, err, failed)
		}
	})
}

// stops waits until the call waits for a person or has ended.
func (r *rig) stops(id inbox.CallID) *inbox.Call {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	for since := int64(-1); ; {
		c, err := r.in.Wait(ctx, ada, id, since)
		if err != nil {
			r.t.Fatal(err)
		}
		if since = c.Version; c.State == inbox.Waiting || c.State.Ended() {
			return c
		}
	}
}

// What a server asks in a list that is too long counts as refused too.
func TestTooManyPages(t *testing.T) {
	t.Parallel()
	list := strings.TrimSuffix(strings.Repeat(`{"mode":"url","message":"Go","url":"https://pay.example/"},`, 300), ",")
	s, _ := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{"pay": func(x *hosttest.Exchange) {
		x.Error(-32042, "go there", `{"elicitations":[`+list+`]}`)
	}}})
	r := newRig(t, nil, nil, s)
	if end := r.step(r.start("shop", "pay", "").ID, ""); end.Reason != inbox.ReasonTooManyQuestions {
		t.Errorf("ended %s, %s", end.State, end.Reason)
	}
	refused, err := r.in.Refusals(t.Context(), ada)
	if err != nil || len(refused) != 1 || refused[0].Count != 300 {
		t.Errorf("refused: %+v, %v", refused, err)
	}
}

// Arguments at the bound reach the server; beyond it the call is refused, and
// does not wait for a server that could never get it.
func TestArgumentsNesting(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{"echo": func(x *hosttest.Exchange) { x.Text("ok") }}})
	r := newRig(t, nil, nil, s)
	nested := func(levels int) string {
		return `{"a":` + strings.Repeat("[", levels-1) + `"[{"` + strings.Repeat("]", levels-1) + `}`
	}
	stop, err := r.Step(t.Context(), ada, r.start("shop", "echo", nested(400)).ID)
	if err != nil || stop.Call.State != inbox.Done {
		t.Fatalf("400 levels: %+v, %v", stop, err)
	}
	_, err = r.Start(t.Context(), ada, host.NewCall{Conversation: "v_1", Server: "shop", Name: "echo", Arguments: json.RawMessage(nested(401))})
	if !errors.Is(err, host.ErrInvalid) {
		t.Errorf("401 levels: %v, want ErrInvalid", err)
	}
}
