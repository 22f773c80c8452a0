package host_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/store/memstore"
)

// ahead is a backend whose clock can be put forward, and the clock.
func ahead() (*backend, *atomic.Int64) {
	by := new(atomic.Int64)
	o := &memstore.Options{Now: func() time.Time { return time.Now().Add(time.Duration(by.Load())) }}
	mem := memstore.New(o)
	return &backend{ring: seal.NewRing(), clock: by, open: func(*testing.T) inbox.Store { return mem.Reopen(o) }}, by
}

// standing is a backend whose clock stands still but for what it is put forward, and the clock.
func standing() (*backend, *atomic.Int64) { return standingFrom(time.Now()) }

func standingFrom(now time.Time) (*backend, *atomic.Int64) {
	by := new(atomic.Int64)
	o := &memstore.Options{Now: func() time.Time { return now.Add(time.Duration(by.Load())) }}
	mem := memstore.New(o)
	return &backend{ring: seal.NewRing(), open: func(*testing.T) inbox.Store { return mem.Reopen(o) }}, by
}

// patient is a context for what takes moments: if it hangs, the test fails.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// state is the state of a call that may be none.
func state(c *inbox.Call) string {
	if c == nil {
		return "no call"
	}
	return string(c.State)
}

// Auto needs no Run: what only time brings about, it does not wait for in vain.
func TestAutoWithoutRun(t *testing.T) {
	t.Parallel()
	t.Run("nobody answers", func(t *testing.T) {
		t.Parallel()
		ctx := patient(t)
		b, clock := ahead()
		s, _ := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{
			"tool": func(x *hosttest.Exchange) { x.Asks("{"+request("q", askName)+"}", "s") },
		}})
		r := newRig(t, b, &rigOptions{inbox: inbox.Options{QuestionTime: time.Hour}}, s)
		stops := 0
		end, err := r.Auto(ctx, ada, r.start("shop", "tool", "").ID, func(context.Context, *host.Stop) error {
			stops++
			clock.Store(int64(2 * time.Hour))
			return nil
		})
		if err != nil || end.State != inbox.CallExpired || stops != 1 {
			t.Errorf("%s after %d stops, %v; want an expired call after one", state(end), stops, err)
		}
	})

	t.Run("its machine has died", func(t *testing.T) {
		t.Parallel()
		ctx := patient(t)
		b, clock := ahead()
		s, _ := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("ok") }}})
		dying := newRig(t, b, nil, s)
		call := dying.start("shop", "tool", "")
		if _, _, err := dying.in.Claim(ctx, ada, call.ID); err != nil {
			t.Fatal(err)
		}
		dying.kill()
		r := newRig(t, b, nil, s)
		clock.Store(int64(time.Hour)) // past the lease
		if end, err := r.Auto(ctx, ada, call.ID, nil); err != nil || end.State != inbox.Done {
			t.Errorf("%s, %v; want done", state(end), err)
		}
	})

	t.Run("its server is away for a while", func(t *testing.T) {
		t.Parallel()
		ctx := patient(t)
		r, down := newTroubled(t, rigOptions{}, func(any) error { return nil })
		down.Store(true)
		var blocked bool
		end, err := r.Auto(ctx, ada, r.only().ID, func(ctx context.Context, stop *host.Stop) error {
			switch stop.Why {
			case host.Blocked:
				blocked = true
				down.Store(false)
			case host.Asked:
				r.answer(r.one(stop.Call.ID), inbox.Accept, `{"name":"Ada"}`)
			}
			return ctx.Err()
		})
		if err != nil || end.State != inbox.Done || !blocked {
			t.Errorf("%s, %v, blocked: %t; want done after a block", state(end), err, blocked)
		}
	})
}
