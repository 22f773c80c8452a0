package host_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/store/memstore"
)

// A call that waits for a person is blocked as soon as a machine runs without
// its server, and asks again as soon as one runs with it. The answer that was
// given before still counts.
func TestServerRemovedWhileAsked(t *testing.T) {
	t.Parallel()
	eachBackend(t, func(t *testing.T, b *backend) {
		s, wire := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{"two": func(x *hosttest.Exchange) {
			if x.State == nil {
				x.Asks("{"+request("a", askName)+","+request("b", askSize)+"}", "s")
				return
			}
			x.Text(string(x.Responses["a"]) + string(x.Responses["b"]))
		}}})
		other, _ := web(t, "other", &hosttest.Script{Tools: map[string]hosttest.Tool{"one": func(x *hosttest.Exchange) {
			x.Asks("{"+request("a", askName)+"}", "s")
		}}})
		r := newRig(t, b, nil, s, other)
		call, kept := r.start("shop", "two", ""), r.start("other", "one", "")
		stop := r.run()
		r.until(call.ID, inbox.Waiting)
		r.until(kept.ID, inbox.Waiting)
		questions := r.open(call.ID)
		r.answer(questions[0], inbox.Accept, `{"name":"Ada"}`)
		stop()

		r = newRig(t, b, nil, other)
		stop = r.run()
		got := r.until(call.ID, inbox.Blocked)
		if got.Reason != inbox.ReasonServerRemoved || !strings.Contains(got.Detail, "shop is no longer among the servers") {
			t.Errorf("blocked %s, %q", got.Reason, got.Detail)
		}
		if now, err := r.in.Call(t.Context(), ada, kept.ID); err != nil || now.State != inbox.Waiting {
			t.Errorf("a call of a server that stays: %+v, %v", now, err)
		}
		stop()

		r = newRig(t, b, nil, s, other)
		r.run()
		r.until(call.ID, inbox.Waiting)
		if n := len(wire.Calls()); n != 1 {
			t.Errorf("%d sends before everything was answered", n)
		}
		r.answer(questions[1], inbox.Decline, "")
		if got := text(t, r.end(call.ID)); got != `{"action":"accept","content":{"name":"Ada"}}{"action":"decline"}` {
			t.Errorf("the server got %s", got)
		}
	})
}

// forgetful is a store that at first cannot say whose calls are open.
type forgetful struct {
	inbox.Store
	asked atomic.Int32
}

func (f *forgetful) Servers(ctx context.Context, states []inbox.CallState) ([]string, error) {
	if f.asked.Add(1) <= 2 {
		return nil, errDown
	}
	return f.Store.Servers(ctx, states)
}

// A store that fails at the start of a machine does not leave the calls of a
// removed server waiting.
func TestServerRemovedInAnOutage(t *testing.T) {
	t.Parallel()
	store := &forgetful{Store: memstore.New(nil)}
	b := &backend{ring: seal.NewRing(), open: func(*testing.T) inbox.Store { return store }}
	s, _ := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{"one": func(x *hosttest.Exchange) {
		x.Asks("{"+request("a", askName)+"}", "s")
	}}})
	r := newRig(t, b, nil, s)
	call := r.start("shop", "one", "")
	r.step(call.ID, host.Asked)
	r.Close()
	r = newRig(t, b, nil)
	r.run()
	r.until(call.ID, inbox.Blocked)
	if n := store.asked.Load(); n != 3 {
		t.Errorf("the store was asked %d times, want 3", n)
	}
}
