package host_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/store/memstore"
)

// clocks are by how much a store's clock is ahead of a machine's: the store's alone counts.
var clocks = map[string]time.Duration{"the same clock": 0, "behind": 10 * time.Minute, "ahead": -10 * time.Minute}

// eachClock runs f on machines whose clock is the store's, and ten minutes before and
// after it.
func eachClock(t *testing.T, f func(t *testing.T, b *backend)) {
	t.Helper()
	for name, off := range clocks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &memstore.Options{Now: func() time.Time { return time.Now().Add(off) }}
			rows := memstore.New(o)
			f(t, &backend{ring: seal.NewRing(), open: func(*testing.T) inbox.Store { return rows.Reopen(o) }})
		})
	}
}

// What is sent again after a while is sent after that while, by a machine that runs
// and by one that steps.
func TestBackOffByTheStoresClock(t *testing.T) {
	t.Parallel()
	eachClock(t, func(t *testing.T, b *backend) {
		sent := make(chan time.Time, 4)
		s, _ := web(t, "shop", &hosttest.Script{
			Listed: func(int) string {
				return `[{"name":"later","inputSchema":{"type":"object"}},{"name":"breaks","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]`
			},
			Tools: map[string]hosttest.Tool{
				"later": func(x *hosttest.Exchange) { // request state and no questions: in half a second
					if sent <- time.Now(); x.State == nil {
						x.Result(`{"resultType":"input_required","requestState":"s"}`)
						return
					}
					x.Text("ok")
				},
				"breaks": func(x *hosttest.Exchange) { // no reply: in a second
					if sent <- time.Now(); x.N%2 == 0 {
						x.Die()
					}
					x.Text("ok")
				},
			},
		})
		s.Trusted = true
		for _, runs := range []bool{false, true} {
			r := newRig(t, b, &rigOptions{host: host.Options{Poll: time.Second}}, s)
			if runs {
				r.run()
			}
			for tool, least := range map[string]time.Duration{"later": 500 * time.Millisecond, "breaks": time.Second} {
				call := r.start("shop", tool, "")
				if runs {
					r.until(call.ID, inbox.Done)
				} else {
					r.end(call.ID)
				}
				first, second := <-sent, <-sent
				if d := second.Sub(first); d < least || d > least+5*time.Second {
					t.Errorf("%s, run: %t: sent again after %v, want %v", tool, runs, d, least)
				}
			}
		}
	})
}

// A lease that is renewed is nobody else's.
func TestLeaseByTheStoresClock(t *testing.T) {
	t.Parallel()
	for name, off := range clocks {
		t.Run(name, func(t *testing.T) { t.Parallel(); leaseByTheStoresClock(t, time.Now().Add(off)) })
	}
}

// leaseByTheStoresClock puts the clock forward by less than a lease, again when that was
// seen: however slow the machine is, no renewal comes too late.
func leaseByTheStoresClock(t *testing.T, now time.Time) {
	t.Helper()
	const lease, step = 1500 * time.Millisecond, time.Second
	b, clock := standingFrom(now)
	working, finish := make(chan struct{}), make(chan struct{})
	s, wire := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{
		"work": func(x *hosttest.Exchange) { close(working); <-finish; x.Text("done") },
	}})
	options := func() *rigOptions { return &rigOptions{inbox: inbox.Options{Lease: lease}} }
	first, second := newRig(t, b, options(), s), newRig(t, b, options(), s)
	first.run()
	call := first.start("shop", "work", "")
	<-working
	second.run()
	last := first.until(call.ID, inbox.Sent).LeaseUntil
	for range 5 { // more than three leases
		clock.Add(int64(step))
		last = renewed(t, second, call.ID, last)
	}
	close(finish)
	second.until(call.ID, inbox.Done)
	if n := len(wire.Calls()); n != 1 {
		t.Errorf("%d sends", n)
	}
}

// renewed waits until the lease of a call that was sent ends later than at the time.
func renewed(t *testing.T, r *rig, id inbox.CallID, than time.Time) time.Time {
	t.Helper()
	ctx, tick := patient(t), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for {
		c, err := r.in.Call(ctx, ada, id)
		if err != nil || c.State != inbox.Sent {
			t.Fatalf("in the midst: %+v, %v", c, err)
		}
		if c.LeaseUntil.After(than) {
			return c.LeaseUntil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the lease ends at %v still", than)
		}
	}
}

// A held question ends after its time, and not before.
func TestHeldQuestionByTheStoresClock(t *testing.T) {
	t.Parallel()
	eachClock(t, func(t *testing.T, b *backend) {
		const held = 700 * time.Millisecond
		s, _ := web(t, "shop", legacy("2025-11-25"))
		r := newRig(t, b, &rigOptions{inbox: inbox.Options{HeldTime: held}}, s)
		r.run()
		began := time.Now()
		call := r.start("shop", "ask", "")
		if got := text(t, r.until(call.ID, inbox.Done)); got != `{"action":"cancel"}` {
			t.Errorf("the server got %s", got)
		}
		if d := time.Since(began); d < held || d > held+10*time.Second {
			t.Errorf("it was held for %v, want %v", d, held)
		}
	})
}

// losing is a server that knows what it was sent for the retention, whose first
// reply to each call is lost.
func losing(t *testing.T, retention string) (*host.Server, *hosttest.Server) {
	t.Helper()
	s, wire := web(t, "shop", &hosttest.Script{
		Capabilities: `{"tools":{},"extensions":{"io.github.parley-mcp/idempotency":{"retention":"` + retention + `"}}}`,
		Tools: map[string]hosttest.Tool{"pay": func(x *hosttest.Exchange) {
			if x.N == 0 {
				x.Die()
			}
			x.Text("paid")
		}},
	})
	s.SendTimeout = time.Minute
	return s, wire
}

// How long a server keeps its record counts from when the call was composed, which the
// store knows; what is left of it must do for the flight of a request.
func TestRetentionByTheStoresClock(t *testing.T) {
	t.Parallel()
	eachClock(t, func(t *testing.T, b *backend) {
		for retention, want := range map[string]int{"8m": 2, "90s": 2, "60s": 1} {
			s, wire := losing(t, retention)
			r := newRig(t, b, nil, s)
			call := r.start("shop", "pay", "")
			if want == 1 {
				r.step(call.ID, host.Uncertain)
			} else if got := text(t, r.end(call.ID)); got != "paid" {
				t.Errorf("got %s", got)
			}
			if n := len(wire.Calls()); n != want {
				t.Errorf("%s: %d sends, want %d", retention, n, want)
			}
		}
	})
}

// A call that is to be sent again by itself, and waits until its server may have
// forgotten it, is not: a person decides.
func TestSentAgainTooLate(t *testing.T) {
	t.Parallel()
	b, clock := standing()
	s, wire := losing(t, "2h")
	r := newRig(t, b, nil, s)
	r.run()
	call := r.start("shop", "pay", "")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var err error
	for now := call; now.Resends == 0; {
		if now, err = r.in.Wait(ctx, ada, call.ID, now.Version); err != nil {
			t.Fatal(err)
		}
	}
	clock.Store(int64(2*time.Hour - time.Minute)) // while nobody could reach the server, or all machines were off
	got := r.until(call.ID, inbox.Uncertain)
	if got.Reason != inbox.ReasonTooLateToResend || got.Sends != 1 {
		t.Errorf("in the end: %+v", got)
	}
	if n := len(wire.Calls()); n != 1 {
		t.Errorf("%d sends, want 1", n)
	}
	if text := host.Explain(got, "Shop"); !strings.HasPrefix(text, "Shop gave no reply, ") || !strings.HasSuffix(text, "it may happen twice.") {
		t.Errorf("the person is told %q", text)
	}
	if _, err := r.in.Resolve(ctx, ada, call.ID, inbox.SendAgain, ""); err != nil {
		t.Fatal(err)
	}
	if got := text(t, r.until(call.ID, inbox.Done)); got != "paid" || len(wire.Calls()) != 2 {
		t.Errorf("got %s after %d sends", got, len(wire.Calls()))
	}
}

// A call that is to be sent again by itself, since that did no harm when its reply was
// lost, is not where nothing says so any more when its server is back: a person decides.
func TestSentAgainUnsafely(t *testing.T) {
	t.Parallel()
	const hint, plain = `[{"name":"tool","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}}]`, `[{"name":"tool","inputSchema":{"type":"object"}}]`
	const keeps, tools = `{"tools":{},"extensions":{"io.github.parley-mcp/idempotency":{"retention":"4h"}}}`, `{"tools":{}}`
	const forgets = `{"tools":{},"extensions":{"io.github.parley-mcp/idempotency":{"retention":"2h"}}}`
	type server struct {
		trusted      bool
		listed       string
		capabilities string
	}
	for name, test := range map[string]struct {
		before, after server
		sends         int
		state         inbox.CallState
	}{
		"as it was":                         {server{true, hint, tools}, server{true, hint, tools}, 2, inbox.Done},
		"not trusted any more":              {server{true, hint, tools}, server{false, hint, tools}, 1, inbox.Uncertain},
		"not idempotent any more":           {server{true, hint, tools}, server{true, plain, tools}, 1, inbox.Uncertain},
		"keeps no keys any more":            {server{false, plain, keeps}, server{false, plain, tools}, 1, inbox.Uncertain},
		"not trusted, keeps keys, too late": {server{true, hint, tools}, server{false, hint, forgets}, 1, inbox.Uncertain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, clock := standing()
			script := &hosttest.Script{Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) {
				if x.N == 0 {
					x.Die()
				}
				x.Text("ok")
			}}}
			s, wire := web(t, "shop", script)
			on := func(o server) (r *rig, stop func()) {
				script.Capabilities, script.Listed = o.capabilities, func(int) string { return o.listed }
				shop := *s
				shop.Trusted = o.trusted
				r = newRig(t, b, nil, &shop)
				return r, r.run()
			}
			r, stop := on(test.before)
			call := r.start("shop", "tool", "")
			for now := call; now.Resends == 0; {
				var err error
				if now, err = r.in.Wait(patient(t), ada, call.ID, now.Version); err != nil {
					t.Fatal(err)
				}
			}
			stop() // the pause that comes before the second send is not over: the clock stands
			r.Close()
			clock.Store(int64(3 * time.Hour))
			r, _ = on(test.after)
			got := r.until(call.ID, test.state)
			if n := len(wire.Calls()); n != test.sends {
				t.Errorf("%d sends, want %d", n, test.sends)
			}
			if got.State == inbox.Uncertain && got.Reason != inbox.ReasonTooLateToResend {
				t.Errorf("uncertain: %s, %q", got.Reason, got.Detail)
			}
		})
	}
}

// swept is a store that says when somebody has looked for what is due.
type swept struct {
	inbox.Store
	looks chan struct{}
}

func (s *swept) NextDue(ctx context.Context) (time.Duration, error) {
	defer func() {
		select {
		case s.looks <- struct{}{}:
		default:
		}
	}()
	return s.Store.NextDue(ctx)
}

// A machine that slept for ten minutes, or whose clock went forward, goes on with its own
// calls: whoever wakes first, the sweep does not take them for those of a dead machine.
func TestOwnCallsAfterASleep(t *testing.T) {
	t.Parallel()
	b, clock := ahead()
	looks := make(chan struct{})
	open := b.open
	b.open = func(t *testing.T) inbox.Store { return &swept{open(t), looks} }
	finish := make(chan struct{})
	working, wire := web(t, "working", &hosttest.Script{Tools: map[string]hosttest.Tool{
		"work": func(x *hosttest.Exchange) { <-finish; x.Text("done") },
	}})
	release := sync.OnceFunc(func() { close(finish) })
	t.Cleanup(release)
	asking, _ := web(t, "asking", legacy("2025-11-25"))
	r := newRig(t, b, nil, working, asking)
	r.run()
	work, ask := r.start("working", "work", ""), r.start("asking", "ask", "")
	r.until(work.ID, inbox.Sent)
	for c := ask; !c.Held; {
		var err error
		if c, err = r.in.Wait(patient(t), ada, ask.ID, c.Version); err != nil {
			t.Fatal(err)
		}
	}
	clock.Store(int64(10 * time.Minute))
	for range 3 { // the first may have begun before
		select {
		case <-looks:
		case <-patient(t).Done():
			t.Fatal("nobody sweeps")
		}
	}
	r.answer(r.one(ask.ID), inbox.Accept, `{"n":1,"b":"x","a":"y"}`)
	if got := text(t, r.until(ask.ID, inbox.Done)); !strings.Contains(got, `"accept"`) {
		t.Errorf("the server got %s", got)
	}
	release()
	r.until(work.ID, inbox.Done)
	if calls := wire.Calls(); len(calls) != 1 {
		t.Errorf("%d sends", len(calls))
	}
	for _, id := range []inbox.CallID{work.ID, ask.ID} {
		entries, err := r.in.Audit(t.Context(), ada, inbox.AuditFilter{Call: id, Kinds: []inbox.AuditKind{inbox.AuditUncertain}})
		if err != nil || len(entries) > 0 {
			t.Errorf("for a while it was uncertain: %+v, %v", entries, err)
		}
	}
}
