package vaulttest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-mcp/parley/vault"
)

// Clock lets the time of stores pass without waiting for it. All handles that
// it wraps are on one place.
type Clock struct {
	mu    sync.Mutex
	ahead time.Duration
	due   map[vault.Ref]time.Time // Ref without Due
}

// Advance lets d pass.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

func (c *Clock) shift(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Add(c.ahead)
}

// Wrap returns the store with this clock's time.
func (c *Clock) Wrap(store vault.Store) vault.Store { return &clocked{Store: store, clock: c} }

type clocked struct {
	vault.Store
	clock *Clock
}

func (s *clocked) Update(ctx context.Context, principal string, f func(vault.Tx) error) error {
	return s.Store.Update(ctx, principal, func(tx vault.Tx) error {
		return f(&clockedTx{Tx: tx, now: s.clock.shift(tx.Now()), clock: s.clock, principal: principal})
	})
}

func (s *clocked) Rows(ctx context.Context, principal string, q vault.Query) ([]*vault.Row, time.Time, error) {
	rows, now, err := s.Store.Rows(ctx, principal, q)
	return rows, s.clock.shift(now), err
}

// Due cannot be asked of the store, whose clock it goes by. What was put while
// this clock ran is known here.
func (s *clocked) Due(ctx context.Context, kind vault.Kind, after vault.Ref, limit int) ([]vault.Ref, error) {
	_, now, err := s.Rows(ctx, "nobody", vault.Query{Kind: kind, Limit: 1})
	if err != nil {
		return nil, err
	}
	order := func(a, b vault.Ref) int {
		return cmp.Or(a.Due.Compare(b.Due), strings.Compare(a.Principal, b.Principal), strings.Compare(a.ID, b.ID))
	}
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	var refs []vault.Ref
	for ref, due := range s.clock.due {
		ref.Due = due
		if ref.Kind == kind && !due.After(now) && (after == (vault.Ref{}) || order(ref, after) > 0) {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, order)
	return refs[:min(len(refs), limit)], nil
}

type clockedTx struct {
	vault.Tx
	now       time.Time
	clock     *Clock
	principal string
}

func (t *clockedTx) Now() time.Time { return t.now }

func (t *clockedTx) Put(row *vault.Row) error {
	t.note(row.Kind, row.ID, row.Due)
	return t.Tx.Put(row)
}

func (t *clockedTx) Delete(kind vault.Kind, id string) error {
	t.note(kind, id, time.Time{})
	return t.Tx.Delete(kind, id)
}

// note remembers what has a time. A transaction that is rolled back leaves a
// note too many, which finds a row that is not due, or none.
func (t *clockedTx) note(kind vault.Kind, id string, due time.Time) {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	if t.clock.due == nil {
		t.clock.due = map[vault.Ref]time.Time{}
	}
	ref := vault.Ref{Principal: t.principal, Kind: kind, ID: id}
	if due.IsZero() {
		delete(t.clock.due, ref)
		return
	}
	t.clock.due[ref] = due
}
