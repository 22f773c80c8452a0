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

// slow is a store on which each write for one person waits for a turn.
type slow struct {
	inbox.Store
	principal string
	turns     chan struct{} // each lets one write pass; closed: all
	waiting   chan struct{} // has room for one: a write waits
}

func (s *slow) Update(ctx context.Context, principal string, f func(inbox.Tx) error) error {
	if principal == s.principal {
		select {
		case s.waiting <- struct{}{}:
		default:
		}
		select {
		case <-s.turns:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.Store.Update(ctx, principal, f)
}

// due is a machine on a slow store with the given number of bob's calls, whose
// questions nobody has answered in time.
func due(t *testing.T, calls int) (*rig, *slow, []inbox.CallID) {
	t.Helper()
	var ahead atomic.Int64
	mem := memstore.New(&memstore.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	store := &slow{Store: mem, principal: bob.Key(), turns: make(chan struct{}), waiting: make(chan struct{}, 1)}
	b := &backend{ring: seal.NewRing(), open: func(*testing.T) inbox.Store { return mem }}
	s, _ := web(t, "shop", &hosttest.Script{Tools: map[string]hosttest.Tool{
		"asks": func(x *hosttest.Exchange) { x.Asks("{"+request("a", askName)+"}", "s") },
		"ok":   func(x *hosttest.Exchange) { x.Text("ok") },
	}})
	r := newRig(t, b, &rigOptions{inbox: inbox.Options{QuestionTime: time.Hour}}, s)
	var ids []inbox.CallID
	for range calls {
		c, err := r.Start(t.Context(), bob, host.NewCall{Conversation: "v_1", Server: "shop", Name: "asks"})
		if err != nil {
			t.Fatal(err)
		}
		if stop, err := r.Step(t.Context(), bob, c.ID); err != nil || stop.Why != host.Asked {
			t.Fatalf("%+v, %v", stop, err)
		}
		ids = append(ids, c.ID)
	}
	r.Close()
	ahead.Store(int64(2 * time.Hour))
	b.open = func(*testing.T) inbox.Store { return store }
	return newRig(t, b, nil, s), store, ids
}

// A call that becomes ready while very much is swept is claimed meanwhile.
func TestClaimsWhileItSweeps(t *testing.T) {
	t.Parallel()
	r, store, bobs := due(t, 20)
	r.run()
	for range 3 {
		store.turns <- struct{}{}
	}
	<-store.waiting // the sweep has begun, and waits
	call := r.start("shop", "ok", "")
	r.until(call.ID, inbox.Done)

	open := 0
	for _, id := range bobs {
		c, err := r.in.Call(t.Context(), bob, id)
		if err != nil {
			t.Fatal(err)
		}
		if c.State == inbox.Waiting {
			open++
		}
	}
	if open == 0 {
		t.Error("the sweep was over before")
	}
	close(store.turns)
	for _, id := range bobs {
		for since := int64(-1); ; {
			c, err := r.in.Wait(t.Context(), bob, id, since)
			if err != nil {
				t.Fatal(err)
			}
			if since = c.Version; c.State == inbox.CallExpired {
				break
			}
		}
	}
}

// A host that is closed in the middle of a sweep ends it with Run.
func TestEndsWhileItSweeps(t *testing.T) {
	t.Parallel()
	r, store, _ := due(t, 3)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(context.WithoutCancel(t.Context())) }()
	<-store.waiting
	r.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	select {
	case store.turns <- struct{}{}:
		t.Error("the sweep goes on after Run")
	default:
	}
}
