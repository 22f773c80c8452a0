package elicit

import (
	"container/heap"
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrGuardFull is the answer of a [MemoryGuard] that holds as many records as
// it may. Then nothing new runs until records pass their time: forgetting one
// early would let its request run twice.
var ErrGuardFull = errors.New("elicit: the replay guard is full")

// MemoryGuardOptions of [NewMemoryGuard].
type MemoryGuardOptions struct {
	// Records bounds how many are held: 1 million by default. One takes about
	// half a kilobyte, and is kept a day longer than [Options.Lifetime].
	Records int

	// Outcomes bounds the bytes of all outcomes: 64 MiB by default. Over it the
	// oldest are dropped; their requests still do not run again.
	Outcomes int

	// Now is the guard's clock: time.Now by default.
	Now func() time.Time
}

// MemoryGuard is a [ReplayGuard] that ends with its process: for programs on
// stdio and for tests. A request that is sent again after a restart runs again,
// so the idempotency extension is not advertised.
type MemoryGuard struct {
	limit, bytesLimit int
	now               func() time.Time

	mu      sync.Mutex
	records map[string]*memoryRecord
	ends    byEnd
	fence   int64
	bytes   int
	kept    *list.List // of *memoryRecord with an outcome, oldest first
}

type memoryRecord struct {
	CallRecord
	lease, end time.Time
	index      int           // in ends
	outcome    *list.Element // in kept
}

// NewMemoryGuard makes an empty guard. Options may be nil.
func NewMemoryGuard(options *MemoryGuardOptions) *MemoryGuard {
	g := &MemoryGuard{limit: 1e6, bytesLimit: 64 << 20, now: time.Now, records: make(map[string]*memoryRecord), kept: list.New()}
	if options == nil {
		return g
	}
	if options.Records > 0 {
		g.limit = options.Records
	}
	if options.Outcomes > 0 {
		g.bytesLimit = options.Outcomes
	}
	if options.Now != nil {
		g.now = options.Now
	}
	return g
}

// Take implements [ReplayGuard]. The error is [ErrGuardFull] at the limit.
func (g *MemoryGuard) Take(ctx context.Context, record CallRecord, lease, keep time.Duration) (CallRecord, bool, error) {
	if err := ctx.Err(); err != nil {
		return CallRecord{}, false, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if old, ok := g.records[record.Key]; ok {
		if now.Before(old.end) {
			found := old.CallRecord
			if found.Status == RecordRunning && !now.Before(old.lease) {
				found.Status = RecordUnknown
			}
			return found, false, nil
		}
		g.drop(old)
	}
	// Two at a time: the guard shrinks whenever it is used.
	for range 2 {
		if len(g.ends) > 0 && !now.Before(g.ends[0].end) {
			g.drop(g.ends[0])
		}
	}
	if len(g.records) >= g.limit {
		return CallRecord{}, false, fmt.Errorf("%w: %d records", ErrGuardFull, len(g.records))
	}
	g.fence++
	record.Status, record.Outcome, record.Fence, record.Version = RecordRunning, nil, g.fence, 1
	made := &memoryRecord{CallRecord: record, lease: now.Add(lease), end: now.Add(max(keep, lease))}
	g.records[record.Key] = made
	heap.Push(&g.ends, made)
	return record, true, nil
}

// Renew implements [ReplayGuard].
func (g *MemoryGuard) Renew(ctx context.Context, key string, fence int64, lease time.Duration) error {
	return g.change(ctx, key, fence, func(r *memoryRecord, now time.Time) {
		r.lease = now.Add(lease)
		if r.end.Before(r.lease) {
			r.end = r.lease
			heap.Fix(&g.ends, r.index)
		}
	})
}

// Finish implements [ReplayGuard].
func (g *MemoryGuard) Finish(ctx context.Context, key string, fence int64, status RecordStatus, outcome []byte) error {
	return g.change(ctx, key, fence, func(r *memoryRecord, _ time.Time) {
		r.Status = status
		r.Version++
		if outcome == nil {
			return
		}
		r.Outcome = outcome
		r.outcome = g.kept.PushBack(r)
		g.bytes += len(outcome)
		for g.bytes > g.bytesLimit {
			oldest, _ := g.kept.Front().Value.(*memoryRecord) // nothing else is in there
			g.forgetOutcome(oldest)
		}
	})
}

// change changes a running record that the caller holds.
func (g *MemoryGuard) change(ctx context.Context, key string, fence int64, change func(*memoryRecord, time.Time)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r, ok := g.records[key]
	if !ok || r.Fence != fence || r.Status != RecordRunning {
		return ErrFenced
	}
	change(r, g.now())
	return nil
}

// Durable implements [ReplayGuard].
func (g *MemoryGuard) Durable() bool { return false }

func (g *MemoryGuard) drop(r *memoryRecord) {
	g.forgetOutcome(r)
	heap.Remove(&g.ends, r.index)
	delete(g.records, r.Key)
}

func (g *MemoryGuard) forgetOutcome(r *memoryRecord) {
	if r.outcome == nil {
		return
	}
	g.kept.Remove(r.outcome)
	g.bytes -= len(r.Outcome)
	r.outcome, r.Outcome = nil, nil
}

// byEnd is a heap of records, the first to be forgotten on top.
type byEnd []*memoryRecord

func (h *byEnd) Len() int           { return len(*h) }
func (h *byEnd) Less(i, j int) bool { return (*h)[i].end.Before((*h)[j].end) }
func (h *byEnd) Swap(i, j int) {
	list := *h
	list[i], list[j] = list[j], list[i]
	list[i].index, list[j].index = i, j
}

func (h *byEnd) Push(x any) {
	r, _ := x.(*memoryRecord) // nothing else is pushed
	r.index = len(*h)
	*h = append(*h, r)
}

func (h *byEnd) Pop() any {
	old := *h
	r := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return r
}

var _ ReplayGuard = (*MemoryGuard)(nil)
