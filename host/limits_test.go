package host_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

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
