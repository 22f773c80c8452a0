package host_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
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
				if _, err := second.in.Resolve(t.Context(), ada, call.ID, test.how); err != nil {
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
