package vault

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a [Store] that ends with the process: for tests, and for programs
// whose credentials may. Several vaults may share one.
type Memory struct {
	now func() time.Time

	mu   sync.Mutex
	last time.Time // Now never goes back
	rows map[string]map[rowID]*Row
}

type rowID struct {
	kind Kind
	id   string
}

// NewMemory makes an empty store with this clock; nil is [time.Now].
func NewMemory(now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	return &Memory{now: now, rows: map[string]map[rowID]*Row{}}
}

// Close implements [Store]. The rows stay as long as the store is referred to.
func (m *Memory) Close() error { return nil }

func (m *Memory) clock() time.Time {
	if now := micros(m.now()); now.After(m.last) {
		m.last = now
	}
	return m.last
}

// micros is the time as stores keep it.
func micros(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// Update implements [Store].
func (m *Memory) Update(ctx context.Context, principal string, f func(Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	tx := &memoryTx{now: m.clock(), rows: maps.Clone(m.rows[principal])}
	if tx.rows == nil {
		tx.rows = map[rowID]*Row{}
	}
	if err := f(tx); err != nil {
		return err
	}
	if len(tx.rows) == 0 {
		delete(m.rows, principal)
	} else {
		m.rows[principal] = tx.rows
	}
	return nil
}

// Rows implements [Store].
func (m *Memory) Rows(ctx context.Context, principal string, query Query) ([]*Row, time.Time, error) {
	if err := ctx.Err(); err != nil {
		return nil, time.Time{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return selectRows(m.rows[principal], query), m.clock(), nil
}

// memoryTx changes a copy of the principal's map. Rows in it are never changed
// in place.
type memoryTx struct {
	now  time.Time
	rows map[rowID]*Row
}

func (t *memoryTx) Now() time.Time { return t.now }

func (t *memoryTx) Rows(query Query) ([]*Row, error) { return selectRows(t.rows, query), nil }

func (t *memoryTx) Put(row *Row) error {
	row = clone(row)
	row.Due, row.Created, row.Updated = micros(row.Due), micros(row.Created), micros(row.Updated)
	t.rows[rowID{row.Kind, row.ID}] = row
	return nil
}

func (t *memoryTx) Delete(kind Kind, id string) error {
	delete(t.rows, rowID{kind, id})
	return nil
}

func clone(row *Row) *Row {
	c := *row
	c.Detail, c.Content = bytes.Clone(row.Detail), bytes.Clone(row.Content)
	return &c
}

func selectRows(rows map[rowID]*Row, q Query) []*Row {
	if q.ID != "" { // as by an index
		row, ok := rows[rowID{q.Kind, q.ID}]
		if !ok || !q.selects(row) || q.Limit < 1 {
			return nil
		}
		return []*Row{clone(row)}
	}
	var found []*Row
	for _, row := range rows {
		if q.selects(row) {
			found = append(found, row)
		}
	}
	slices.SortFunc(found, func(a, b *Row) int { return strings.Compare(a.ID, b.ID) })
	found = found[:min(len(found), max(q.Limit, 0))]
	for i, row := range found {
		found[i] = clone(row)
	}
	return found
}

func (q Query) selects(row *Row) bool {
	return row.Kind == q.Kind && (q.ID == "" || row.ID == q.ID) && (q.Provider == "" || row.Provider == q.Provider) &&
		(q.Name == "" || row.Name == q.Name) && row.ID > q.After
}

// Due implements [Store].
func (m *Memory) Due(ctx context.Context, kind Kind, after Ref, limit int) ([]Ref, error) {
	order := func(a, b Ref) int {
		return cmp.Or(a.Due.Compare(b.Due), strings.Compare(a.Principal, b.Principal), strings.Compare(a.ID, b.ID))
	}
	return m.refs(ctx, limit, order, after, func(row *Row, now time.Time) bool {
		return row.Kind == kind && !row.Due.IsZero() && !row.Due.After(now)
	})
}

// Stale implements [Store].
func (m *Memory) Stale(ctx context.Context, key uint32, after Ref, limit int) ([]Ref, error) {
	order := func(a, b Ref) int {
		return cmp.Or(strings.Compare(a.Principal, b.Principal), strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.ID, b.ID))
	}
	return m.refs(ctx, limit, order, after, func(row *Row, _ time.Time) bool { return row.Key != 0 && row.Key != key })
}

func (m *Memory) refs(ctx context.Context, limit int, order func(a, b Ref) int, after Ref, selects func(*Row, time.Time) bool) ([]Ref, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock()
	var refs []Ref
	for principal, rows := range m.rows {
		for _, row := range rows {
			ref := Ref{Principal: principal, Kind: row.Kind, ID: row.ID, Due: row.Due}
			if selects(row, now) && (after == (Ref{}) || order(ref, after) > 0) {
				refs = append(refs, ref)
			}
		}
	}
	slices.SortFunc(refs, order)
	return refs[:min(len(refs), max(limit, 0))], nil
}

// Counts implements [Store].
func (m *Memory) Counts(ctx context.Context, after Count, limit int) ([]Count, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[Count]int64{}
	for _, rows := range m.rows {
		for _, row := range rows {
			found[Count{Kind: row.Kind, Provider: row.Provider, Status: row.Status, Key: row.Key}]++
		}
	}
	order := func(a, b Count) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Provider, b.Provider),
			strings.Compare(a.Status, b.Status), cmp.Compare(a.Key, b.Key))
	}
	after.N = 0
	var counts []Count
	for c, n := range found {
		if after == (Count{}) || order(c, after) > 0 {
			c.N = n
			counts = append(counts, c)
		}
	}
	slices.SortFunc(counts, order)
	return counts[:min(len(counts), max(limit, 0))], nil
}

var _ Store = (*Memory)(nil)
