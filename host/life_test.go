package host_test

import (
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
)

// A machine that dies, at each place where that matters, and another that
// takes over on the same store.
func TestMachineDies(t *testing.T) {
	t.Parallel()
	eachBackend(t, func(t *testing.T, b *backend) {
		gate := make(chan struct{})
		t.Cleanup(func() { close(gate) })
		tools := map[string]hosttest.Tool{
			"park": func(x *hosttest.Exchange) {
				if x.State == nil {
					x.Asks("{"+request("q", askName)+"}", "s")
				} else {
					x.Text("went on")
				}
			},
			"hang": func(x *hosttest.Exchange) {
				select {
				case <-gate:
				case <-x.Context.Done():
				}
			},
		}
		modern, _ := web(t, "modern", &hosttest.Script{Tools: tools})
		old, _ := web(t, "legacy", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
			"ask":   legacyTools["ask"],
			"twice": legacyTools["twice"],
		}})
		short := func() *rigOptions { return &rigOptions{inbox: inbox.Options{Lease: 10 * time.Second}} }

		dying := newRig(t, b, short(), modern, old)
		dying.run()
		parked := dying.start("modern", "park", "")
		hanging := dying.start("modern", "hang", "")
		held := dying.start("legacy", "ask", "")
		delivered := dying.start("legacy", "twice", "")
		dying.until(parked.ID, inbox.Waiting)
		dying.until(hanging.ID, inbox.Sent)
		dying.openN(held.ID, 1)
		q := dying.next(delivered.ID)
		dying.answer(q, inbox.Accept, `{"name":"Ada"}`)
		dying.settled(q)
		dying.openN(delivered.ID, 1)
		dying.kill()
		b.clock.Add(int64(time.Minute)) // its leases are over

		r := newRig(t, b, short(), modern, old)
		r.run()
		if got := r.end(held.ID); got.State != inbox.Interrupted || got.Reason != inbox.ReasonHostStopped {
			t.Errorf("held: %s, %s", got.State, got.Reason)
		}
		r.until(hanging.ID, inbox.Uncertain)
		got := r.until(delivered.ID, inbox.Uncertain)
		if len(r.open(delivered.ID)) != 0 || got.Held {
			t.Error("an answer can still be given to a connection that is gone")
		}
		r.answer(r.one(parked.ID), inbox.Accept, `{"name":"Ada"}`)
		if got := r.until(parked.ID, inbox.Done); text(t, got) != "went on" {
			t.Errorf("parked: %s", got.Result)
		}

		// Sending again after a delivery means from the top, with the answer filled in.
		again, err := r.in.Resolve(t.Context(), ada, delivered.ID, inbox.SendAgain, "")
		if err != nil {
			t.Fatal(err)
		}
		if q := r.next(again.ID); string(q.Suggested) != `{"name":"Ada"}` {
			t.Errorf("suggested %s", q.Suggested)
		}
		if _, err := r.in.Stop(t.Context(), ada, again.ID); err != nil {
			t.Fatal(err)
		}
		r.until(again.ID, inbox.Stopped)
	})
}

// A machine that is stopped in order: parked work is left, held work ends and
// its server is told, what is in flight gets its grace.
func TestMachineStops(t *testing.T) {
	t.Parallel()
	eachBackend(t, func(t *testing.T, b *backend) {
		told := make(chan string, 1)
		begun, finish := make(chan struct{}), make(chan struct{})
		old, _ := web(t, "legacy", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
			"ask": func(x *hosttest.Exchange) { told <- say(read(x.Elicit(askName))); x.Text("late") },
		}})
		modern, _ := web(t, "modern", &hosttest.Script{Tools: map[string]hosttest.Tool{
			"park": func(x *hosttest.Exchange) { x.Asks("{"+request("q", askName)+"}", "s") },
			"hang": func(x *hosttest.Exchange) { <-x.Context.Done() },
			"slow": func(x *hosttest.Exchange) { close(begun); <-finish; x.Text("made it") },
		}})
		r := newRig(t, b, &rigOptions{host: host.Options{Grace: 10 * time.Second}}, old, modern)
		stop := r.run()
		held, parked := r.start("legacy", "ask", ""), r.start("modern", "park", "")
		slow, hanging := r.start("modern", "slow", ""), r.start("modern", "hang", "")
		r.next(held.ID)
		r.next(parked.ID)
		<-begun
		r.until(hanging.ID, inbox.Sent)
		go func() {
			if got, want := <-told, `error -32000 {"reason":"host_stopped"}`; got != want {
				t.Errorf("the server got %s, want %s", got, want)
			}
			close(finish)
		}()
		stop()

		r = newRig(t, b, nil, old, modern)
		for id, want := range map[inbox.CallID]inbox.CallState{
			held.ID: inbox.Interrupted, parked.ID: inbox.Waiting, slow.ID: inbox.Done, hanging.ID: inbox.Uncertain,
		} {
			if c, err := r.in.Call(t.Context(), ada, id); err != nil || c.State != want {
				t.Errorf("%s: %s (%s), want %s (%v)", c.Name, c.State, c.Detail, want, err)
			}
		}
	})
}

func TestPersonStops(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	s, _ := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{
		"hang": func(x *hosttest.Exchange) { close(begun); <-x.Context.Done() },
		"park": func(x *hosttest.Exchange) { x.Asks("{"+request("q", askName)+"}", "s") },
	}})
	gone := make(chan struct{})
	old, _ := web(t, "legacy", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"ask": func(x *hosttest.Exchange) { x.Elicit(askName); <-x.Context.Done(); close(gone) },
	}})
	r := newRig(t, nil, nil, s, old)
	r.run()

	hanging := r.start("shop", "hang", "")
	<-begun
	if _, err := r.in.Stop(t.Context(), ada, hanging.ID); err != nil {
		t.Fatal(err)
	}
	got := r.until(hanging.ID, inbox.Uncertain)
	if got.Reason != inbox.ReasonStopped {
		t.Errorf("reason %s, want stopped: it may have happened", got.Reason)
	}

	held := r.start("legacy", "ask", "")
	r.next(held.ID)
	if _, err := r.in.Stop(t.Context(), ada, held.ID); err != nil {
		t.Fatal(err)
	}
	r.until(held.ID, inbox.Stopped)
	<-gone // the stream is closed, so the server knows

	parked := r.start("shop", "park", "")
	r.next(parked.ID)
	if _, err := r.in.Stop(t.Context(), ada, parked.ID); err != nil {
		t.Fatal(err)
	}
	r.until(parked.ID, inbox.Stopped)
}

// An expiry that the person was shown counts as cancel on the wire.
func TestHeldQuestionExpires(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", legacy("2025-11-25"))
	r := newRig(t, nil, &rigOptions{inbox: inbox.Options{HeldTime: 200 * time.Millisecond}}, s)
	r.run()
	call := r.start("shop", "ask", "")
	if got := text(t, r.end(call.ID)); got != `{"action":"cancel"}` {
		t.Errorf("the server got %s", got)
	}
}

// Persons do not share connections, calls or anything else.
func TestPersonsAreApart(t *testing.T) {
	t.Parallel()
	sessions := make(chan string, 8)
	s, _ := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"who": func(x *hosttest.Exchange) { sessions <- x.Header.Get("Mcp-Session-Id"); x.Text("ok") },
	}})
	r := newRig(t, nil, nil, s)
	bob := inbox.Principal{Issuer: "test", Subject: "bob"}
	mine := r.start("shop", "who", "")
	theirs, err := r.Start(t.Context(), bob, host.NewCall{Server: "shop", Name: "who"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Step(t.Context(), bob, mine.ID); err == nil {
		t.Error("bob stepped ada's call")
	}
	if _, err := r.Step(t.Context(), bob, theirs.ID); err != nil {
		t.Fatal(err)
	}
	r.step(mine.ID, "")
	if a, b := <-sessions, <-sessions; a == b {
		t.Errorf("both calls ran in session %s", a)
	}
}

// After a call without a reply the session may be one that the server has
// forgotten: the next call gets one of its own, and one in flight keeps it.
func TestSessionAfterALostCall(t *testing.T) {
	t.Parallel()
	s, wire := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"ask":  legacyTools["ask"],
		"die":  func(x *hosttest.Exchange) { x.Die() },
		"done": legacyTools["done"],
	}})
	r := newRig(t, nil, nil, s)
	held := r.start("shop", "ask", "")
	r.step(held.ID, host.Held)
	r.step(r.start("shop", "die", "").ID, host.Uncertain)
	r.end(r.start("shop", "done", "").ID)
	r.answer(r.one(held.ID), inbox.Accept, `{"n":1}`)
	if got := text(t, r.end(held.ID)); got != `{"action":"accept","content":{"n":1}}` {
		t.Errorf("the call in flight got %s", got)
	}
	sessions := map[string]string{}
	for _, c := range wire.Calls() {
		sessions[c.Name] = c.Header.Get("Mcp-Session-Id")
	}
	if sessions["ask"] != sessions["die"] || sessions["done"] == sessions["die"] {
		t.Errorf("sessions by tool: %v, want another one for the last", sessions)
	}
}

// A call that was sent again, since its first send brought no reply, and asks: whoever ends
// it while its person thinks does not keep the first send from them.
func TestInterruptedAfterNoReply(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{"ask": func(x *hosttest.Exchange) {
		if x.N == 0 {
			x.Die()
		}
		legacyTools["ask"](x)
	}}})
	r := newRig(t, nil, nil, s)
	stop := r.run()
	call := r.start("shop", "ask", "")
	r.until(call.ID, inbox.Uncertain)
	if _, err := r.in.Resolve(patient(t), ada, call.ID, inbox.SendAgain, ""); err != nil {
		t.Fatal(err)
	}
	r.openN(call.ID, 1)
	stop()
	const earlier = " An earlier send may have happened."
	if got := r.until(call.ID, inbox.Interrupted); got.Reason != inbox.ReasonHostStopped || !strings.HasSuffix(got.Detail, "your answers are kept for another run."+earlier) {
		t.Errorf("interrupted: %s, %q", got.Reason, got.Detail)
	}
}
