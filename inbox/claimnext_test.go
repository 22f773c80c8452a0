package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/store/memstore"
)

// tallied counts transactions that write, and fails those of one person.
type tallied struct {
	inbox.Store
	updates atomic.Int32
	fails   string
	takes   time.Duration // each of them
}

var errNoRoom = errors.New("no room")

func (c *tallied) Update(ctx context.Context, principal string, f func(inbox.Tx) error) error {
	c.updates.Add(1)
	time.Sleep(c.takes) //nolint:forbidigo // synctest
	if principal == c.fails {
		return errNoRoom
	}
	return c.Store.Update(ctx, principal, f)
}

// older puts ready calls into the store that became so before all others.
func older(t *testing.T, s inbox.Store, p inbox.Principal, n int) {
	t.Helper()
	err := s.Update(t.Context(), p.Key(), func(tx inbox.Tx) error {
		at := tx.Now().Add(-time.Hour)
		for i := range n {
			row := &inbox.CallRow{ID: inbox.CallID(fmt.Sprint("c_bad_", i)), State: inbox.Ready, Version: 1, Created: at, Updated: at, Content: []byte("damaged")}
			if err := tx.PutCall(row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	ann = inbox.Principal{Issuer: "test", Subject: "ann"}
	ben = inbox.Principal{Issuer: "test", Subject: "ben"}
)

// Rows that cannot be read keep no call from being claimed, however many there
// are, and are not tried again for each.
func TestClaimNextPastUnreadableRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const bad = 1500
		store := &tallied{Store: memstore.New(nil)}
		older(t, store, ann, bad)
		in := inbox.New(store, seal.NewRing(), nil)
		var want []inbox.CallID
		for range 2 {
			c, err := in.Compose(t.Context(), ben, inbox.NewCall{Server: "s", Method: "tools/call", Name: "n"})
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, c.ID)
			time.Sleep(time.Second) //nolint:forbidigo // synctest: one is ready for longer
		}
		next := func(most int32) (*inbox.Call, error) {
			before := store.updates.Load()
			_, c, err := in.ClaimNext(t.Context(), nil)
			if n := store.updates.Load() - before; n > most {
				t.Errorf("%d transactions for a claim, want %d at most", n, most)
			}
			return c, err
		}
		for i, most := range []int32{bad + 1, 1} {
			if c, err := next(most); err != nil || c.ID != want[i] {
				t.Fatalf("claim %d: %v, %v", i, c, err)
			}
		}
		if _, err := next(0); !errors.Is(err, inbox.ErrNothing) {
			t.Errorf("the third: %v", err)
		}

		time.Sleep(time.Minute) //nolint:forbidigo // synctest
		before := store.updates.Load()
		if _, err := next(bad); !errors.Is(err, inbox.ErrNothing) || err.Error() == inbox.ErrNothing.Error() {
			t.Errorf("after a minute: %v", err)
		}
		if n := store.updates.Load() - before; n != bad {
			t.Errorf("%d were tried after a minute, want all", n)
		}
	})
}

// A store that fails does not have every ready call tried.
func TestClaimNextInTrouble(t *testing.T) {
	t.Parallel()
	mem := memstore.New(nil)
	older(t, mem, ann, 1500)
	store := &tallied{Store: mem, fails: ann.Key()}
	_, _, err := inbox.New(store, seal.NewRing(), nil).ClaimNext(t.Context(), nil)
	if !errors.Is(err, inbox.ErrNothing) || !errors.Is(err, errNoRoom) {
		t.Error(err)
	}
	if n := store.updates.Load(); n > 64 {
		t.Errorf("%d transactions", n)
	}
}

// So many rows that cannot be read that a look at them takes longer than they are left
// alone for: the next look goes past all of them.
func TestClaimNextPastVeryManyUnreadableRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const bad = 1500
		store := &tallied{Store: memstore.New(nil)}
		older(t, store, ann, bad)
		in := inbox.New(store, seal.NewRing(), nil)
		for range 2 {
			if _, err := in.Compose(t.Context(), ben, inbox.NewCall{Server: "s", Method: "tools/call", Name: "n"}); err != nil {
				t.Fatal(err)
			}
		}
		store.takes = 50 * time.Millisecond // 75 seconds for all
		for i, most := range []int32{bad + 1, 1} {
			before := store.updates.Load()
			if _, _, err := in.ClaimNext(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if n := store.updates.Load() - before; n > most {
				t.Errorf("%d transactions for claim %d, want %d at most", n, i, most)
			}
		}
	})
}

// lists is a store that also finds a call that is not there: it was erased meanwhile.
type lists struct{ inbox.Store }

func (l lists) Find(ctx context.Context, server string, state inbox.CallState, after inbox.CallID, limit int) ([]inbox.Ref, error) {
	refs, err := l.Store.Find(ctx, server, state, after, limit)
	if after == "" {
		refs = append(refs, inbox.Ref{Principal: ann.Key(), Call: "c_erased"})
	}
	return refs, err
}

func TestBlockErased(t *testing.T) {
	t.Parallel()
	in := inbox.New(lists{memstore.New(nil)}, seal.NewRing(), nil)
	for range 2 {
		if _, err := in.Compose(t.Context(), ben, inbox.NewCall{Server: "s", Method: "tools/call", Name: "n"}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := in.BlockReady(t.Context(), "s", 0, inbox.ReasonServerRemoved, ""); n != 2 || err != nil {
		t.Errorf("BlockReady = %d, %v", n, err)
	}
	if n, err := in.Unblock(t.Context(), "s"); n != 2 || err != nil {
		t.Errorf("Unblock = %d, %v", n, err)
	}
}
