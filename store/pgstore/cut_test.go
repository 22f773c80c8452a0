//go:build proof && linux

package pgstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
)

// cutLease is short: each test waits for one.
const cutLease = 2 * time.Second

// A cable is one machine's way to the database, and its inbox behind it.
type cable struct {
	*servicetest.Place
	in *inbox.Inbox
}

// cables makes two machines on one database, each with a cable of its own.
func cables(t *testing.T) (a, b *cable) {
	t.Helper()
	network := servicetest.NewNetwork(t)
	server := servicetest.NewOwnPostgres(t, network.Hub)
	keys := inbox.NewKeys()
	machine := func() *cable {
		place := network.Host()
		addr := place.Forward(t, "127.0.0.1:0", server.Address()).String()
		store := mustOpen(t, server.DSN(addr, "cut"), nil)
		return &cable{Place: place, in: inbox.New(store, keys, &inbox.Options{Lease: cutLease, Poll: 50 * time.Millisecond})}
	}
	return machine(), machine()
}

var cutPerson = inbox.Principal{Issuer: "i", Subject: "ann"}

// claimed composes a call and claims it.
func (c *cable) claimed(t *testing.T) *inbox.Claim {
	t.Helper()
	call, err := c.in.Compose(t.Context(), cutPerson, inbox.NewCall{Server: "s", Method: "tools/call", Arguments: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	claim, _, err := c.in.Claim(t.Context(), cutPerson, call.ID)
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

func (c *cable) mark(t *testing.T, claim *inbox.Claim) {
	t.Helper()
	if _, err := c.in.Mark(t.Context(), claim, inbox.Binding{Era: inbox.Modern}); err != nil {
		t.Fatal(err)
	}
}

// cut takes the cable out and sees that nothing comes through.
func (c *cable) cut(t *testing.T, claim *inbox.Claim) {
	t.Helper()
	c.Cut(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if call, err := c.in.Call(ctx, cutPerson, claim.Call); err == nil {
		t.Fatalf("through a cable that is out came: %s", call.State)
	}
}

// heal puts it back and waits until the machine reaches the database again.
func (c *cable) heal(t *testing.T, claim *inbox.Claim) {
	t.Helper()
	c.Heal(t)
	for began := time.Now(); ; <-time.After(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := c.in.Call(ctx, cutPerson, claim.Call)
		cancel()
		if err == nil {
			return
		}
		if time.Since(began) > 30*time.Second {
			t.Fatalf("through a cable that was put back: %v", err)
		}
	}
}

// sweeps until the lease is over and the call is in the state.
func (c *cable) sweeps(t *testing.T, claim *inbox.Claim, state inbox.CallState) {
	t.Helper()
	began := time.Now()
	for {
		if _, err := c.in.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		call, err := c.in.Call(t.Context(), cutPerson, claim.Call)
		if err != nil {
			t.Fatal(err)
		}
		if call.State == state {
			return
		}
		if time.Since(began) > 10*cutLease {
			t.Fatalf("the call is %s, want %s", call.State, state)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func (c *cable) is(t *testing.T, claim *inbox.Claim, state inbox.CallState, result string) {
	t.Helper()
	call, err := c.in.Call(t.Context(), cutPerson, claim.Call)
	if err != nil || call.State != state || string(call.Result) != result {
		t.Errorf("the call: %+v, %v; want %s with %q", call, err, state, result)
	}
}

func done(result string) inbox.Outcome {
	return inbox.Outcome{State: inbox.Done, Result: json.RawMessage(result)}
}

// Between claim and mark: after the lease another machine sends it, and the one
// that was cut off can neither mark nor renew nor give back what it had.
func TestCutBeforeTheMark(t *testing.T) {
	t.Parallel()
	a, b := cables(t)
	stale := a.claimed(t)
	a.cut(t, stale)
	if _, _, err := b.in.Claim(t.Context(), cutPerson, stale.Call); !errors.Is(err, inbox.ErrState) {
		t.Errorf("a claim within the lease: %v, want ErrState", err)
	}
	b.sweeps(t, stale, inbox.Ready)
	claim, _, err := b.in.Claim(t.Context(), cutPerson, stale.Call)
	if err != nil {
		t.Fatal(err)
	}
	a.heal(t, stale)
	refused(t, a, stale)
	b.mark(t, claim)
	refused(t, a, stale)
	if _, _, err := a.in.Claim(t.Context(), cutPerson, stale.Call); !errors.Is(err, inbox.ErrState) {
		t.Errorf("a second claim: %v, want ErrState", err)
	}
	if _, err := b.in.Finish(t.Context(), claim, done(`"b"`)); err != nil {
		t.Fatal(err)
	}
	refused(t, a, stale)
	a.is(t, stale, inbox.Done, `"b"`)
}

// refused: nothing of a claim that was lost is taken.
func refused(t *testing.T, a *cable, stale *inbox.Claim) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, mark := a.in.Mark(ctx, stale, inbox.Binding{Era: inbox.Modern})
	_, renew := a.in.Renew(ctx, stale)
	_, finish := a.in.Finish(ctx, stale, done(`"a"`))
	for what, err := range map[string]error{"mark": mark, "renew": renew, "finish": finish, "release": a.in.Release(ctx, stale)} {
		if !errors.Is(err, inbox.ErrFenced) {
			t.Errorf("%s with a claim that was lost: %v, want ErrFenced", what, err)
		}
	}
}

// After the mark: it is uncertain to the others once the lease is over, and the
// true reply of the one that was cut off is taken while it is.
func TestCutAfterTheMark(t *testing.T) {
	t.Parallel()
	a, b := cables(t)
	outcome := done(`"a"`)
	reply := inbox.Reply{Outcome: &outcome}
	for name, test := range map[string]struct {
		meanwhile func(t *testing.T, stale *inbox.Claim)
		want      error
		state     inbox.CallState
		result    string
	}{
		"still uncertain": {func(*testing.T, *inbox.Claim) {}, nil, inbox.Done, `"a"`},
		"to be sent again": {func(t *testing.T, stale *inbox.Claim) {
			resolve(t, b, stale, inbox.SendAgain)
		}, inbox.ErrState, inbox.Ready, ``},
		"sent again": {func(t *testing.T, stale *inbox.Claim) {
			resolve(t, b, stale, inbox.SendAgain)
			claim, _, err := b.in.Claim(t.Context(), cutPerson, stale.Call)
			if err != nil {
				t.Fatal(err)
			}
			b.mark(t, claim)
		}, inbox.ErrFenced, inbox.Sent, ``},
		"it happened": {func(t *testing.T, stale *inbox.Claim) {
			resolve(t, b, stale, inbox.ItHappened)
		}, inbox.ErrState, inbox.Done, ``},
		"sent again, uncertain again": {func(t *testing.T, stale *inbox.Claim) {
			resolve(t, b, stale, inbox.SendAgain)
			claim, _, err := b.in.Claim(t.Context(), cutPerson, stale.Call)
			if err != nil {
				t.Fatal(err)
			}
			b.mark(t, claim)
			if _, err := b.in.Uncertain(t.Context(), claim, "no reply"); err != nil {
				t.Fatal(err)
			}
		}, inbox.ErrFenced, inbox.Uncertain, ``},
		"given up": {func(t *testing.T, stale *inbox.Claim) {
			resolve(t, b, stale, inbox.GiveUp)
		}, inbox.ErrState, inbox.Failed, ``},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: they share the cable
			stale := a.claimed(t)
			a.mark(t, stale)
			a.cut(t, stale)
			b.sweeps(t, stale, inbox.Uncertain)
			test.meanwhile(t, stale)
			a.heal(t, stale)
			refused(t, a, stale)
			if _, err := a.in.LateReply(t.Context(), stale, reply); !errors.Is(err, test.want) {
				t.Errorf("the late reply: %v, want %v", err, test.want)
			}
			b.is(t, stale, test.state, test.result)
			if _, err := a.in.LateReply(t.Context(), stale, reply); err == nil {
				t.Error("a second late reply was taken")
			}
		})
	}
}

func resolve(t *testing.T, c *cable, claim *inbox.Claim, how inbox.Resolution) {
	t.Helper()
	if _, err := c.in.Resolve(t.Context(), cutPerson, claim.Call, how, ""); err != nil {
		t.Fatal(err)
	}
}
