package host

import (
	"context"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// WorkOn is closed once this machine's work on the call is over; nil: there is none.
func (h *Host) WorkOn(id inbox.CallID) <-chan struct{} {
	if c := h.carriage(id); c != nil {
		return c.done
	}
	return nil
}

// GivenUp is closed once this machine has given up its work on the call, which it has some.
func (h *Host) GivenUp(id inbox.CallID) <-chan struct{} { return h.carriage(id).ctx.Done() }

// TimeOut ends the time that the call's send has, now: this machine is at it.
func (h *Host) TimeOut(id inbox.CallID) { h.carriage(id).cancel(errTimeout) }

// CloseIdle closes the connections that were idle for long at that time, as [Host.Run] does.
func (h *Host) CloseIdle(ctx context.Context, now time.Time) {
	for _, p := range h.allPools() {
		p.sweep(ctx, now)
	}
}
