package inbox

import (
	"sync"
	"time"
)

// ownLeases are leases of this inbox's own claims that its sweep has found run out. The
// claim may be alive nevertheless: after a machine slept, or its clock went forward, the
// sweep and the renewal wake together, and the store's time is past every lease. Only
// where nobody renews it for a whole lease more, of time in which this process ran, is
// the claim one that nobody here knows of, such as one whose commit was not confirmed.
type ownLeases struct {
	mu  sync.Mutex
	met map[CallID]ownLease
}

type ownLease struct {
	fence int64
	until time.Time // a renewal has another
	seen  time.Time // of the clock that does not jump
}

// left reports whether the lease is left alone for now.
func (o *ownLeases) left(c *callRecord, lease time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	before, ok := o.met[c.ID]
	if ok && before.fence == c.Fence && before.until.Equal(c.LeaseUntil) {
		return time.Since(before.seen) < lease
	}
	keep(&o.met, c.ID, ownLease{c.Fence, c.LeaseUntil, time.Now()})
	return true
}

// next returns how long it is until a lease that was left alone may be ended; zero: there is
// none. It forgets those that a sweep would have ended by now: they were renewed, or are gone.
func (o *ownLeases) next(lease time.Duration) (wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, one := range o.met {
		switch left := lease - time.Since(one.seen); {
		case left <= -lease:
			delete(o.met, id)
		case left > 0 && (wait == 0 || left < wait):
			wait = left
		}
	}
	return wait
}
