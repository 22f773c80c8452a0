package host_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/policy"
	"github.com/parley-mcp/parley/store/memstore"
)

// A machine that could not reach the store for longer than its lease gets the
// reply to what it had sent. It counts while nobody has decided anything.
func TestReplyAfterTheLease(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		how   inbox.Resolution
		state inbox.CallState
		text  string
		sends int
	}{
		"nothing decided": {"", inbox.Done, "late", 1},
		"it happened":     {inbox.ItHappened, inbox.Done, "", 1},
		"given up":        {inbox.GiveUp, inbox.Failed, "", 1},
		"sent again":      {inbox.SendAgain, inbox.Done, "again", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			working, reply := make(chan struct{}), make(chan struct{})
			var sends atomic.Int32
			s, _ := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) {
				if sends.Add(1) > 1 {
					x.Text("again")
					return
				}
				close(working)
				<-reply
				x.Text("late")
			}}})
			rows := memstore.New(nil)
			away := &failing{Store: rows.Reopen(nil)}
			ring := seal.NewRing()
			options := func() *rigOptions { return &rigOptions{inbox: inbox.Options{Lease: 200 * time.Millisecond}} }
			first := newRig(t, &backend{ring: ring, open: func(*testing.T) inbox.Store { return away }}, options(), s)
			first.run()
			call := first.start("shop", "tool", "")
			<-working
			away.down.Store(true)
			second := newRig(t, &backend{ring: ring, open: func(*testing.T) inbox.Store { return rows.Reopen(nil) }}, options(), s)
			second.run()
			second.until(call.ID, inbox.Uncertain)
			if test.how != "" {
				if _, err := second.in.Resolve(t.Context(), ada, call.ID, test.how, ""); err != nil {
					t.Fatal(err)
				}
				second.until(call.ID, test.state)
			}
			close(reply)
			away.down.Store(false)
			if test.how == "" {
				second.until(call.ID, test.state)
			}
			if err := first.Close(); err != nil { // it has done all that it was at
				t.Fatal(err)
			}
			got, err := second.in.Call(t.Context(), ada, call.ID)
			if err != nil || got.State != test.state || int(sends.Load()) != test.sends {
				t.Fatalf("the call: %+v, %v; %d sends", got, err, sends.Load())
			}
			if test.text != "" && text(t, got) != test.text || test.text == "" && len(got.Result) > 0 {
				t.Errorf("result %s, want %q", got.Result, test.text)
			}
		})
	}
}

// Questions of a late reply are asked, and the call goes on.
func TestQuestionsAfterTheLease(t *testing.T) {
	t.Parallel()
	working, reply := make(chan struct{}), make(chan struct{})
	s, wire := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) {
		if x.State != nil {
			x.Text("ok")
			return
		}
		close(working)
		<-reply
		x.Asks("{"+request("name", askName)+"}", "s")
	}}})
	rows := memstore.New(nil)
	away := &failing{Store: rows.Reopen(nil)}
	ring := seal.NewRing()
	options := func() *rigOptions { return &rigOptions{inbox: inbox.Options{Lease: 200 * time.Millisecond}} }
	first := newRig(t, &backend{ring: ring, open: func(*testing.T) inbox.Store { return away }}, options(), s)
	first.run()
	call := first.start("shop", "tool", "")
	<-working
	away.down.Store(true)
	second := newRig(t, &backend{ring: ring, open: func(*testing.T) inbox.Store { return rows.Reopen(nil) }}, options(), s)
	second.run()
	second.until(call.ID, inbox.Uncertain)
	close(reply)
	away.down.Store(false)
	second.until(call.ID, inbox.Waiting)
	second.answer(second.one(call.ID), inbox.Accept, `{"name":"Ada"}`)
	if got := text(t, second.until(call.ID, inbox.Done)); got != "ok" || len(wire.Calls()) != 2 {
		t.Errorf("got %s after %d sends", got, len(wire.Calls()))
	}
}

func init() {
	begun, done := make(chan struct{}), make(chan struct{}) // in the program
	late := func(x *hosttest.Exchange) {
		close(begun)
		<-x.Context.Done() // given up by the client
		<-done             // still at work
	}
	programs["tardy"] = &hosttest.Script{
		// For so long that a send could be repeated for a second, and so never: the pause before it takes as long.
		Capabilities: `{"tools":{},"extensions":{"io.github.parley-mcp/idempotency":{"retention":"61s"}}}`,
		Tools: map[string]hosttest.Tool{
			"asks": func(x *hosttest.Exchange) {
				switch {
				case x.State == nil:
					late(x)
					x.Asks("{"+request("q", askName)+"}", pid())
				case *x.State == pid():
					x.Text("same process")
				default:
					x.Error(-32602, "unknown state", `{"reason":"invalid_request_state"}`)
				}
			},
			"unsure": func(x *hosttest.Exchange) {
				late(x)
				x.Error(-32000, "who knows", `{"reason":"outcome_unknown"}`)
			},
			"slow":   func(x *hosttest.Exchange) { late(x); x.Text("late") },
			"begun":  func(x *hosttest.Exchange) { <-begun; x.Text("ok") },
			"finish": func(x *hosttest.Exchange) { close(done); x.Text("ok") },
		},
	}
}

func tardyProgram(t *testing.T, id string) *host.Server {
	t.Helper()
	s := program(t, id, "tardy")
	s.SendTimeout = time.Minute // timeOut ends it before
	return s
}

func tardy(t *testing.T, o *host.Options) *rig {
	t.Helper()
	if o == nil {
		o = &host.Options{}
	}
	return newRig(t, nil, &rigOptions{host: *o}, tardyProgram(t, "shop"))
}

// givenUp runs the host, which gives up a call while the program is at work on it.
func (r *rig) givenUp(tool string) *inbox.Call {
	r.t.Helper()
	r.run()
	call := r.start("shop", tool, "")
	r.timeOut(call)
	return r.until(call.ID, inbox.Uncertain)
}

// timeOut has the time of a call's send end while the program is at work on it.
func (r *rig) timeOut(call *inbox.Call) {
	r.t.Helper()
	r.end(r.start(call.Server, "begun", "").ID)
	r.TimeOut(call.ID)
}

// A program's late reply is taken also where it was to be sent again by itself and the
// inbox refused that.
func TestLateReplyAfterNoResend(t *testing.T) {
	t.Parallel()
	r := tardy(t, nil)
	call := r.givenUp("slow")
	r.start("shop", "finish", "")
	if got := r.until(call.ID, inbox.Done); text(t, got) != "late" || got.Sends != 1 || got.Resends != 0 {
		t.Errorf("ended %+v", got)
	}
}

// That the call is uncertain is stored, and the machine is told that it is not: what follows
// from it does.
func TestUncertainInDoubt(t *testing.T) {
	t.Parallel()
	pipe := tardyProgram(t, "pipe")
	type hope struct{ tool, late, text string } // late: the call with which the reply comes
	again, _ := web(t, "again", &hosttest.Script{Tools: map[string]hosttest.Tool{"result": func(x *hosttest.Exchange) {
		if x.N == 0 {
			x.Die()
			return
		}
		x.Text("sent again")
	}}, Capabilities: `{"tools":{},"extensions":{"io.github.parley-mcp/idempotency":{"retention":"1h"}}}`})
	for s, want := range map[*host.Server]hope{pipe: {"slow", "finish", "late"}, again: {"result", "", "sent again"}} {
		t.Run(s.ID, func(t *testing.T) {
			t.Parallel()
			lost := make(chan struct{})
			var once atomic.Bool
			store := &doubtful{Store: memstore.New(nil), lose: func(calls []*inbox.CallRow, _ []*inbox.QuestionRow) bool {
				first := len(calls) > 0 && calls[0].State == inbox.Uncertain && once.CompareAndSwap(false, true)
				if first {
					close(lost)
				}
				return first
			}}
			r := newRig(t, &backend{ring: seal.NewRing(), open: func(*testing.T) inbox.Store { return store }}, nil, s)
			r.run()
			call := r.start(s.ID, want.tool, "")
			if s == pipe {
				r.timeOut(call)
			}
			<-lost
			if want.late != "" {
				r.start(s.ID, want.late, "")
			}
			if got := r.until(call.ID, inbox.Done); text(t, got) != want.text {
				t.Errorf("got %s", got.Result)
			}
		})
	}
}

// goneFrom is a store that is out of reach from the first mark on, until away.down says otherwise.
func goneFrom(rows inbox.Store) (store inbox.Store, away *failing) {
	away = &failing{Store: rows}
	var gone atomic.Bool
	return &doubtful{Store: away, lose: func(calls []*inbox.CallRow, _ []*inbox.QuestionRow) bool {
		if len(calls) > 0 && calls[0].State == inbox.Sent && gone.CompareAndSwap(false, true) {
			away.down.Store(true)
		}
		return false
	}}, away
}

// The time of a send ends while the store is out of reach. The late reply of the call is
// taken, whether another machine has judged it or nobody has.
func TestLateReplyOfACallGivenUpInAnOutage(t *testing.T) {
	t.Parallel()
	for name, judged := range map[string]bool{"judged by another": true, "judged by nobody": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, ring := memstore.New(nil), seal.NewRing()
			away := &failing{Store: rows.Reopen(nil)}
			options := &rigOptions{inbox: inbox.Options{Lease: 200 * time.Millisecond}}
			r := newRig(t, &backend{ring: ring, open: func(*testing.T) inbox.Store { return away }}, options, tardyProgram(t, "shop"))
			call := r.start("shop", "slow", "")
			if err := r.Resume(t.Context(), ada, call.ID); err != nil {
				t.Fatal(err)
			}
			r.end(r.start("shop", "begun", "").ID)
			away.down.Store(true)
			over := r.WorkOn(call.ID)
			r.TimeOut(call.ID)
			<-over // it has given up
			other := inbox.New(rows.Reopen(nil), ring, &options.inbox)
			for state := inbox.Sent; judged && state != inbox.Uncertain; {
				if _, err := other.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
				now, err := other.Call(t.Context(), ada, call.ID)
				if err != nil {
					t.Fatal(err)
				}
				state = now.State
			}
			away.down.Store(false)
			if err := r.Resume(t.Context(), ada, r.start("shop", "finish", "").ID); err != nil {
				t.Fatal(err)
			}
			if got := text(t, r.until(call.ID, inbox.Done)); got != "late" {
				t.Errorf("got %s", got)
			}
		})
	}
}

// told is a log that tells a test what it says.
type told func(what string)

func (h told) Enabled(context.Context, slog.Level) bool { return true }
func (h told) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h told) WithGroup(string) slog.Handler            { return h }

func (h told) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		h(r.Message + " " + a.Value.String())
		return false
	})
	return nil
}

// Nor has anybody judged a call that is to be sent again by itself: it is.
func TestResendOfACallGivenUpInAnOutage(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", &hosttest.Script{
		Tools:        map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Die() }},
		Capabilities: `{"tools":{},"extensions":{"io.github.parley-mcp/idempotency":{"retention":"1h"}}}`,
	})
	store, away := goneFrom(memstore.New(nil))
	r := newRig(t, &backend{ring: seal.NewRing(), open: func(*testing.T) inbox.Store { return store }}, &rigOptions{
		inbox: inbox.Options{Lease: 2 * time.Second},
		host: host.Options{Log: slog.New(told(func(what string) {
			if what == "host: recording failed resend" {
				away.down.Store(false)
			}
		}))},
	}, s)
	call := r.start("shop", "tool", "")
	if err := r.Resume(t.Context(), ada, call.ID); err != nil {
		t.Fatal(err)
	}
	if done := r.WorkOn(call.ID); done != nil {
		<-done
	}
	if got, err := r.in.Call(t.Context(), ada, call.ID); err != nil || got.State != inbox.Ready || got.Resends != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// The questions of a late reply are for the policy to let through, as any.
func TestLateQuestionsAndThePolicy(t *testing.T) {
	t.Parallel()
	r := tardy(t, &host.Options{Policy: &changing{show: func(policy.Question) policy.Showing { return policy.Showing{Reason: "not here"} }}})
	call := r.givenUp("asks")
	r.start("shop", "finish", "")
	got := r.until(call.ID, inbox.Failed)
	if got.Reason != host.ReasonRefused || !strings.Contains(got.Detail, "not here") {
		t.Errorf("ended %s: %q", got.Reason, got.Detail)
	}
	if list, err := r.in.Questions(t.Context(), ada, inbox.QuestionFilter{Call: call.ID}); err != nil || len(list) != 0 {
		t.Errorf("%d questions were shown, %v", len(list), err)
	}
}

// The program that asked late holds the paused work: it is not idle.
func TestLateQuestionsKeepTheProgram(t *testing.T) {
	t.Parallel()
	r := tardy(t, nil)
	call := r.givenUp("asks")
	r.start("shop", "finish", "")
	r.until(call.ID, inbox.Waiting)
	r.CloseIdle(t.Context(), time.Now().Add(time.Hour))
	r.answer(r.one(call.ID), inbox.Accept, `{"name":"Ada"}`)
	if got := text(t, r.until(call.ID, inbox.Done)); got != "same process" {
		t.Errorf("got %s", got)
	}
}

// Nor is one that may still be at work on a call that was given up.
func TestLateWorkKeepsTheProgram(t *testing.T) {
	t.Parallel()
	r := tardy(t, nil)
	call := r.givenUp("slow")
	r.CloseIdle(t.Context(), time.Now().Add(30*time.Minute))
	r.start("shop", "finish", "")
	if got := text(t, r.until(call.ID, inbox.Done)); got != "late" {
		t.Errorf("got %s", got)
	}
}

// Once a late reply has come that decides nothing, the program is as idle as any.
func TestLateReplyThatSaysNothing(t *testing.T) {
	t.Parallel()
	r := tardy(t, nil)
	r.givenUp("unsure")
	r.start("shop", "finish", "")
	for end := time.Now().Add(30 * time.Second); r.Servers(ada)[0].State == host.Connected; {
		if time.Now().After(end) {
			t.Fatal("the program is kept for nothing")
		}
		r.CloseIdle(t.Context(), time.Now().Add(30*time.Minute))
	}
}
