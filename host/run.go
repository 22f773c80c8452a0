package host

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// Run does what a machine does for everybody: it claims calls of its servers that are
// ready, sweeps what time has made due, and tries servers again that could not be
// reached. It returns when ctx ends, after the host was closed as [Host.Close]
// does. Any number of machines may run on one store.
func (h *Host) Run(ctx context.Context) error {
	h.runs.Store(true)
	defer func() { _ = h.Close() }() // it has no error of its own
	hints, err := h.inbox.SubscribeAll(ctx)
	if err != nil {
		hints = nil // polling alone must do
	}
	h.renewClients(ctx)
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() { h.sweeping(ctx) })
	back := make(chan struct{}, 1)
	beside.Go(func() { h.squaring(ctx, back) })
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.stopping:
			return nil
		case hint, ok := <-hints:
			if !ok {
				hints = nil
				continue
			}
			if hint.Removed || hint.Call == "" { // of no call: hints were lost
				select {
				case back <- struct{}{}:
				default:
				}
			}
			if hint.Ready {
				h.claimAll(ctx)
			}
		case <-h.freed:
			h.claimAll(ctx)
		case <-timer.C:
			h.claimAll(ctx)
			timer.Reset(h.options.Poll)
		}
	}
}

// Running reports whether [Host.Run] works: it was called, and the host is not stopping.
func (h *Host) Running() bool { return h.runs.Load() && h.closed() == nil }

// claimAll takes all calls that are ready, of the servers that this machine has, up to the number in flight that is allowed.
func (h *Host) claimAll(ctx context.Context) {
	if len(h.order) == 0 {
		return // for the inbox, no servers are all
	}
	for ctx.Err() == nil && h.free() {
		claim, call, err := h.inbox.ClaimNext(ctx, h.order)
		if err != nil {
			if ctx.Err() == nil {
				h.notClaimed(err)
			}
			return
		}
		if !h.begin(claim, call) {
			return
		}
	}
}

// passedOverTime is the time between two lines of the log on calls that were passed over:
// every look meets a store without room.
const passedOverTime = time.Minute

// notClaimed logs why there was nothing to claim, if that is more than that nothing is
// ready: calls that cannot be read, or a store that refuses all of them.
func (h *Host) notClaimed(err error) {
	if !errors.Is(err, inbox.ErrNothing) {
		h.log.Warn("host: claim", "err", err)
		return
	}
	var faults []error
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // the list, not what is in it
		for _, one := range joined.Unwrap() {
			if !errors.Is(one, inbox.ErrNothing) {
				faults = append(faults, one)
			}
		}
	}
	if len(faults) == 0 {
		return
	}
	h.mu.Lock()
	due := h.told.IsZero() || time.Since(h.told) >= passedOverTime
	if due {
		h.told = time.Now()
	}
	h.mu.Unlock()
	if due {
		h.log.Warn("host: calls that are ready could not be claimed and were passed over", "calls", len(faults), "err", faults[0])
	}
}

// free reports whether another call may be taken. One that is held takes no
// place while its person thinks: slow people would keep everybody's calls waiting.
func (h *Host) free() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.running)-h.resting < h.options.Concurrency
}

// sweeping does the housekeeping until ctx ends, one at a time. It is apart from
// claiming: thousands of rows may be due at once, of a batch that expires or after
// a machine was down, and nobody's answer waits for them.
func (h *Host) sweeping(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		h.signalFree() // what is due may be a call that may now be sent
		select {
		case <-ctx.Done():
			return
		case <-time.After(rand.N(h.options.Poll/20 + 1)): //nolint:gosec // all machines wait for the same moment: the first one does what is due
		}
		timer.Reset(h.housekeeping(ctx))
	}
}

// signalFree has [Host.Run] look for calls to take.
func (h *Host) signalFree() {
	select {
	case h.freed <- struct{}{}:
	default:
	}
}

// rest says that the call waits for a person; it may for several questions at
// once. Each rest that succeeds needs its wake.
func (c *carriage) rest() error {
	h := c.host
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.thinking == 0 && h.running[c.claim.Call] == c {
		if h.resting >= h.options.Held {
			return &inbox.LimitError{Reason: inbox.ReasonTooManyQuestions, Limit: h.options.Held}
		}
		h.resting++
	}
	c.thinking++
	h.signalFree()
	return nil
}

func (c *carriage) wake() {
	h := c.host
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.thinking--; c.thinking == 0 && h.running[c.claim.Call] == c {
		h.resting--
	}
}

// forget takes a carriage that is over out of those that run.
func (c *carriage) forget() {
	h := c.host
	h.mu.Lock()
	if h.running[c.claim.Call] == c {
		delete(h.running, c.claim.Call)
		if c.thinking > 0 {
			h.resting--
		}
	}
	h.mu.Unlock()
	h.signalFree()
}

// housekeeping sweeps and says when to look again.
func (h *Host) housekeeping(ctx context.Context) time.Duration {
	next, err := h.inbox.Sweep(ctx)
	if err != nil && ctx.Err() == nil {
		h.log.Warn("host: sweep", "err", err)
	}
	now := time.Now()
	for _, p := range h.allPools() {
		p.sweep(ctx, now)
		h.retry(p, now)
	}
	wait := h.options.Poll
	if next > 0 {
		wait = min(wait, max(next, 10*time.Millisecond))
	}
	return wait
}

// keepHouse does the housekeeping where [Host.Run] does not, and says when to look again.
// Of many that wait one does it for all, once in its time.
func (h *Host) keepHouse(ctx context.Context) time.Duration {
	if !h.keeping.TryLock() {
		return h.options.Poll
	}
	defer h.keeping.Unlock()
	if wait := time.Until(h.keepNext); wait > 0 {
		return wait
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.open, cancel)() // Close waits for it
	wait := h.housekeeping(ctx)
	if ctx.Err() == nil {
		h.keepNext = time.Now().Add(wait)
	}
	return wait
}

// retry tries a server again that calls wait for, and lets them go on.
func (h *Host) retry(p *pool, now time.Time) {
	p.mu.Lock()
	due := p.waiting && !now.Before(p.notTill)
	if due {
		p.waiting = false
	}
	p.mu.Unlock()
	if !due {
		return
	}
	if !h.enter() {
		return
	}
	go func() {
		defer h.group.Done()
		c, err := p.acquire(h.open, "", false)
		if err == nil {
			err = c.ready(h.open, time.Time{})
			p.release(c)
		}
		if err != nil && !errors.As(err, new(*signInError)) {
			if h.awaited(p) {
				p.await()
			}
			return
		}
		// It answers. What waits for it goes on, if only to say that it wants a sign-in.
		if _, err := h.inbox.UnblockFor(h.open, p.principal, p.server.ID, inbox.ReasonUnreachable); err != nil {
			h.log.Warn("host: unblock", "server", p.server.ID, "err", err)
			p.await() // the store failed: what is blocked still is
		}
	}()
}

// awaited reports whether calls wait for the pool's server to be reached. If the store
// does not say, some may.
func (h *Host) awaited(p *pool) bool {
	const page = 500 // more than that are not all stopped at once
	list, err := h.inbox.Calls(h.open, p.principal, inbox.CallFilter{
		Server: p.server.ID, States: []inbox.CallState{inbox.Blocked}, Limit: page, Brief: true,
	})
	return err != nil || len(list) == page || slices.ContainsFunc(list, func(c *inbox.Call) bool {
		return c.Reason == inbox.ReasonUnreachable
	})
}
