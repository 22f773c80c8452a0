package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
)

// together are machines that hear each other.
func together() func() *rigOptions {
	n := inbox.NewLocal()
	return func() *rigOptions {
		return &rigOptions{inbox: inbox.Options{Notifier: n}, host: host.Options{Poll: 5 * time.Second}}
	}
}

// parked is a call that waits for a person, without a server. No machine hears of
// it before it waits.
func parked(t *testing.T, b *backend, server string) *inbox.Call {
	t.Helper()
	in := inbox.New(b.open(t), b.ring, nil)
	if _, err := in.Compose(t.Context(), ada, inbox.NewCall{Server: server, Method: "tools/call", Name: "n"}); err != nil {
		t.Fatal(err)
	}
	claim, _, err := in.ClaimNext(t.Context(), []string{server})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Mark(t.Context(), claim, inbox.Binding{Era: inbox.Modern}); err != nil {
		t.Fatal(err)
	}
	c, err := in.Park(t.Context(), claim, inbox.Asked{
		RequestState: "s", Questions: []inbox.NewQuestion{{Key: "a", Params: json.RawMessage(askName)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (r *rig) call(id inbox.CallID) *inbox.Call {
	r.t.Helper()
	c, err := r.in.Call(r.t.Context(), ada, id)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// Machines with different servers files move a call to blocked and back once, when the
// one starts that does not have its server, and then leave it alone.
func TestFilesDiffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, options := backends["memory"](t), together()
		has := newRig(t, b, options(), &host.Server{ID: "shop", URL: "http://127.0.0.1:1"})
		call := parked(t, b, "shop")
		has.run()
		synctest.Wait()
		lacks := newRig(t, b, options(), &host.Server{ID: "other", URL: "http://127.0.0.1:1"})
		lacks.run()
		time.Sleep(2 * time.Second) //nolint:forbidigo // synctest
		got := has.call(call.ID)
		if got.State != inbox.Waiting || got.Version != call.Version+2 {
			t.Errorf("two seconds after the other one's start it is %s, after %d changes; want waiting after 2", got.State, got.Version-call.Version)
		}
		later := parked(t, b, "shop")
		time.Sleep(time.Hour) //nolint:forbidigo // synctest
		if now := has.call(call.ID); now.State != inbox.Waiting || now.Version != got.Version {
			t.Errorf("in an hour it changed %d times, and is %s", now.Version-got.Version, now.State)
		}
		if now := has.call(later.ID); now.State != inbox.Waiting || now.Version != later.Version {
			t.Errorf("one that was asked later changed %d times, and is %s", now.Version-later.Version, now.State)
		}
	})
}

// What no machine claims is blocked, if it is of a server that is not in the file.
func TestNobodyHasTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, options := backends["memory"](t), together()
		r := newRig(t, b, options())
		compose := func() *inbox.Call {
			c, err := r.in.Compose(t.Context(), ada, inbox.NewCall{Server: "shop", Method: "tools/call", Name: "n"})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		check := func(when string, id inbox.CallID, want inbox.CallState) {
			t.Helper()
			c := r.call(id)
			if c.State != want {
				t.Errorf("%s: %s, want %s", when, c.State, want)
			}
			if want == inbox.Blocked && (c.Reason != inbox.ReasonServerRemoved || !strings.Contains(c.Detail, "shop is no longer among the servers")) {
				t.Errorf("%s: %s, %q", when, c.Reason, c.Detail)
			}
		}
		first := compose()
		r.run()
		synctest.Wait()
		check("at the start", first.ID, inbox.Blocked)
		second := compose()                        // such as one that was allowed
		time.Sleep(4*time.Minute + 30*time.Second) //nolint:forbidigo // synctest
		third := compose()
		check("before a look", second.ID, inbox.Ready)
		time.Sleep(time.Minute) //nolint:forbidigo // synctest
		check("after it", second.ID, inbox.Blocked)
		check("after it, too young", third.ID, inbox.Ready)
		time.Sleep(5 * time.Minute) //nolint:forbidigo // synctest
		check("after the next", third.ID, inbox.Blocked)
	})
}

// A machine leaves calls of servers that it does not have to others.
func TestClaimsItsOwnServers(t *testing.T) {
	t.Parallel()
	eachBackend(t, func(t *testing.T, b *backend) {
		options := together()
		ok := &hosttest.Script{Tools: map[string]hosttest.Tool{"ok": func(x *hosttest.Exchange) { x.Text("ok") }}}
		s, _ := web(t, "shop", ok)
		o, _ := web(t, "other", ok)
		has, lacks := newRig(t, b, options(), s), newRig(t, b, options(), o)
		earlier := lacks.start("other", "ok", "")
		lacks.run()
		lacks.until(earlier.ID, inbox.Done) // its start is over
		call := has.start("shop", "ok", "")
		own := lacks.start("other", "ok", "") // ready after the other
		lacks.until(own.ID, inbox.Done)
		if c := has.call(call.ID); c.State != inbox.Ready || c.Fence != 0 {
			t.Errorf("it is %s, claimed %d times", c.State, c.Fence)
		}
		has.run()
		has.until(call.ID, inbox.Done)
	})
}

// spoiled is a store that never takes what is written for bob.
type spoiled struct{ inbox.Store }

func (s spoiled) Update(ctx context.Context, principal string, f func(inbox.Tx) error) error {
	if principal == bob.Key() {
		return errDown
	}
	return s.Store.Update(ctx, principal, f)
}

// A row that fails each time does not have the machine without its server block all the
// others again and again, while another one lets them go on.
func TestFilesDifferWithABadRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, options := backends["memory"](t), together()
		has := newRig(t, b, options(), &host.Server{ID: "shop", URL: "http://127.0.0.1:1"})
		if _, err := has.in.Compose(t.Context(), bob, inbox.NewCall{Server: "shop", Method: "tools/call", Name: "n"}); err != nil {
			t.Fatal(err)
		}
		claim, _, err := has.in.ClaimNext(t.Context(), []string{"shop"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := has.in.Mark(t.Context(), claim, inbox.Binding{Era: inbox.Modern}); err != nil {
			t.Fatal(err)
		}
		asked := inbox.Asked{RequestState: "s", Questions: []inbox.NewQuestion{{Key: "a", Params: json.RawMessage(askName)}}}
		if _, err := has.in.Park(t.Context(), claim, asked); err != nil {
			t.Fatal(err)
		}
		call := parked(t, b, "shop")
		has.run()
		synctest.Wait()
		bad := &backend{ring: b.ring, open: func(t *testing.T) inbox.Store { return spoiled{b.open(t)} }}
		lacks := newRig(t, bad, options(), &host.Server{ID: "other", URL: "http://127.0.0.1:1"})
		lacks.run()
		time.Sleep(2 * time.Minute) //nolint:forbidigo // synctest
		if got := has.call(call.ID); got.State != inbox.Waiting || got.Version != call.Version+2 {
			t.Errorf("two minutes after the other one's start it is %s, after %d changes; want waiting after 2", got.State, got.Version-call.Version)
		}
	})
}

// What waits for a machine that has the server and is busy with it keeps its place.
func TestBusyMachineHasTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, options := backends["memory"](t), together()
		lacks := newRig(t, b, options(), &host.Server{ID: "other", URL: "http://127.0.0.1:1"})
		lacks.run()
		synctest.Wait()
		busy := inbox.New(b.open(t), b.ring, &inbox.Options{Lease: 24 * time.Hour})
		compose := func() *inbox.Call {
			c, err := busy.Compose(t.Context(), ada, inbox.NewCall{Server: "shop", Method: "tools/call", Name: "n"})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		compose()
		claim, _, err := busy.ClaimNext(t.Context(), []string{"shop"})
		if err != nil {
			t.Fatal(err)
		}
		waits := compose()
		check := func(what string, state inbox.CallState, changes int64) {
			t.Helper()
			time.Sleep(11 * time.Minute) //nolint:forbidigo // synctest
			if c := lacks.call(waits.ID); c.State != state || c.Version != waits.Version+changes {
				t.Errorf("%s: it is %s after %d changes, want %s after %d", what, c.State, c.Version-waits.Version, state, changes)
			}
		}
		check("one is claimed", inbox.Ready, 0)
		if _, err := busy.Mark(t.Context(), claim, inbox.Binding{Era: inbox.Modern}); err != nil {
			t.Fatal(err)
		}
		check("one is sent", inbox.Ready, 0)
		if _, err := busy.Finish(t.Context(), claim, inbox.Outcome{State: inbox.Done}); err != nil {
			t.Fatal(err)
		}
		check("nobody serves it", inbox.Blocked, 1)
	})
}
