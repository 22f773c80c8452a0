package host

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/memstore"
)

// A machine sweeps when the store has something due, and not before, however far its
// own clock is from the store's.
func TestSweepsByTheStoresClock(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"the same clock": 0, "behind": 10 * time.Minute, "ahead": -10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Now().Add(off) // it stands still
			in := inbox.New(memstore.New(&memstore.Options{Now: func() time.Time { return now }}), inbox.NewKeys(), &inbox.Options{Lease: 20 * time.Second})
			h, err := New(in, nil, &Options{Poll: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { h.Close() })
			if wait := h.housekeeping(t.Context()); wait != time.Minute {
				t.Errorf("with nothing due it looks again after %v, want a poll", wait)
			}
			c, err := in.Compose(t.Context(), inbox.Principal{Issuer: "test", Subject: "ada"}, inbox.NewCall{Server: "s", Method: "tools/call"})
			if err == nil {
				_, _, err = in.Claim(t.Context(), c.Principal, c.ID)
			}
			if err != nil {
				t.Fatal(err)
			}
			if wait := h.housekeeping(t.Context()); wait != 20*time.Second {
				t.Errorf("it looks again after %v, want the lease, 20s", wait)
			}
		})
	}
}

// sweeps counts the looks at what is due.
type sweeps struct {
	inbox.Store
	n atomic.Int32
}

func (s *sweeps) Due(ctx context.Context, after inbox.Ref, limit int) ([]inbox.Ref, error) {
	s.n.Add(1)
	return s.Store.Due(ctx, after, limit)
}

// Of many that wait where Run does not work, one does the housekeeping for all, and none
// once the host is closed.
func TestOneKeepsHouse(t *testing.T) {
	t.Parallel()
	store := &sweeps{Store: memstore.New(nil)}
	h, err := New(inbox.New(store, inbox.NewKeys(), nil), nil, &Options{Poll: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	for range 5 {
		if wait := h.keepHouse(t.Context()); wait > time.Hour || wait < 59*time.Minute {
			t.Errorf("it looks again after %v, want a poll", wait)
		}
	}
	if n := store.n.Load(); n != 1 {
		t.Errorf("%d sweeps, want 1", n)
	}
	h.keepNext = time.Time{}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = h.await(ctx, inbox.Principal{Issuer: "test", Subject: "ada"}, &inbox.Call{ID: "c_1"})
	if n := store.n.Load(); n != 1 {
		t.Errorf("%d sweeps after the end, want 1", n)
	}
}
