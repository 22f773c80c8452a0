package host_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/store/memstore"
)

// failing is a store that can be out of reach for a while.
type failing struct {
	inbox.Store
	down atomic.Bool
	told atomic.Int32 // failures since
}

var errDown = errors.New("store out of reach")

func (f *failing) Update(ctx context.Context, p string, g func(inbox.Tx) error) error {
	if f.down.Load() {
		f.told.Add(1)
		return errDown
	}
	return f.Store.Update(ctx, p, g)
}

func (f *failing) View(ctx context.Context, p string, g func(inbox.Tx) error) error {
	if f.down.Load() {
		f.told.Add(1)
		return errDown
	}
	return f.Store.View(ctx, p, g)
}

// A store that fails for a moment costs neither an outcome nor a held question.
func TestStoreFailsForAMoment(t *testing.T) {
	t.Parallel()
	store := &failing{Store: memstore.New(nil)}
	b := &backend{ring: seal.NewRing(), open: func(*testing.T) inbox.Store { return store }}
	working, finish := make(chan struct{}), make(chan struct{})
	modern, wire := web(t, "modern", &hosttest.Script{Tools: map[string]hosttest.Tool{
		"work": func(x *hosttest.Exchange) { close(working); <-finish; x.Text("done") },
	}})
	old, _ := web(t, "legacy", legacy("2025-11-25"))
	r := newRig(t, b, nil, modern, old)
	r.run()
	held := r.start("legacy", "ask", "")
	q := r.next(held.ID)
	call := r.start("modern", "work", "")
	<-working

	store.down.Store(true)
	close(finish)
	// Until someone was told three times that the store is out of reach.
	for store.told.Load() < 3 {
		runtime.Gosched()
	}
	store.down.Store(false)

	if got := text(t, r.until(call.ID, inbox.Done)); got != "done" || len(wire.Calls()) != 1 {
		t.Errorf("got %s after %d sends", got, len(wire.Calls()))
	}
	r.answer(q, inbox.Accept, `{"n":1}`)
	if got := text(t, r.end(held.ID)); got != `{"action":"accept","content":{"n":1}}` {
		t.Errorf("the held call got %s", got)
	}
}
