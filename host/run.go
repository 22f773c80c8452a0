package host

import (
	"context"
	"errors"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// Run does what a machine does for everybody: it claims calls that are ready,
// sweeps what time has made due, and tries servers again that could not be
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
	// What an earlier life of this machine found closed may be open now.
	for _, id := range h.order {
		if _, err := h.inbox.Unblock(ctx, id, inbox.ReasonUnreachable, inbox.ReasonServerRemoved, inbox.ReasonServerChanged, inbox.ReasonSignIn); err != nil {
			h.log.Warn("host: unblock", "server", id, "err", err)
		}
	}
	square := h.squareServers(ctx, time.Now())
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
			if !hint.Ready {
				continue
			}
			h.claimAll(ctx)
		case <-h.freed:
			h.claimAll(ctx)
		case <-timer.C:
			h.claimAll(ctx)
			timer.Reset(h.housekeeping(ctx))
			if now := time.Now(); !now.Before(square) {
				square = h.squareServers(ctx, now)
			}
		}
	}
}

// Running reports whether [Host.Run] works: it was called, and the host is not stopping.
func (h *Host) Running() bool { return h.runs.Load() && h.closed() == nil }

// claimAll takes all calls that are ready, up to the number in flight that is allowed.
func (h *Host) claimAll(ctx context.Context) {
	for ctx.Err() == nil && h.free() {
		claim, call, err := h.inbox.ClaimNext(ctx, nil)
		if err != nil {
			if !errors.Is(err, inbox.ErrNothing) && ctx.Err() == nil {
				h.log.Warn("host: claim", "err", err)
			}
			return
		}
		if !h.begin(claim, call) {
			return
		}
	}
}

// free reports whether another call may be taken.
func (h *Host) free() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.running) < h.options.Concurrency
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
	if !next.IsZero() {
		wait = min(wait, max(time.Until(next), 10*time.Millisecond))
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
		if err != nil {
			p.await()
			return
		}
		if _, err := h.inbox.UnblockFor(h.open, p.principal, p.server.ID, inbox.ReasonUnreachable); err != nil {
			h.log.Warn("host: unblock", "server", p.server.ID, "err", err)
			p.await() // the store failed: what is blocked still is
		}
	}()
}
