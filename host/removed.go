package host

import (
	"context"
	"slices"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// Machines may have different servers files, for a moment or for good, and none
// knows what the others have. So a machine without a server says so once, when it
// starts, and blocks what waits for the server; a machine that has it lets all that
// go on as soon as it hears of it. After its start the first one blocks only what
// nobody has claimed for a while.
const (
	// fileTime is the time between two looks at whose servers the calls are. Only
	// another machine with another servers file brings news.
	fileTime = 5 * time.Minute
	// unclaimedTime is how long a call of a server that this machine does not have is
	// left to others: longer than any that has it needs to look, unless it is busy.
	unclaimedTime = time.Minute
)

// squaring squares the calls with the servers file until ctx ends, apart from
// claiming. back says that calls may be blocked of servers that this machine has.
func (h *Host) squaring(ctx context.Context, back <-chan struct{}) {
	// What an earlier life of this machine found closed may be open now.
	h.unblock(ctx, inbox.ReasonUnreachable, inbox.ReasonServerRemoved, inbox.ReasonServerChanged, inbox.ReasonSignIn)
	started := false
	for {
		timer := time.NewTimer(h.squareServers(ctx, &started))
		for due := false; !due; {
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
				due = true
			case <-back:
				h.unblock(ctx, inbox.ReasonServerRemoved)
				select { // whoever blocks them has more
				case <-ctx.Done():
				case <-time.After(h.options.Poll / 5):
				}
			}
		}
	}
}

// unblock lets go on what is blocked for one of these reasons, of all servers that
// this machine has.
func (h *Host) unblock(ctx context.Context, reasons ...string) {
	for _, id := range h.order {
		if _, err := h.inbox.Unblock(ctx, id, reasons...); err != nil {
			h.fault(ctx, "unblock", err)
		}
	}
}

// squareServers blocks the calls of servers that are not in the servers file, so that
// people learn at once that their answers have nowhere to go, and lets go on what
// belongs to servers that are back. The first takes all calls that wait or are ready, and
// sets started once each server had its turn, whatever failed: a row that never succeeds
// must not have it take all of them again and again, while others let them go on. Others
// take only what nobody claims. It says when to look again.
func (h *Host) squareServers(ctx context.Context, started *bool) (wait time.Duration) {
	list, err := h.inbox.Servers(ctx)
	if err != nil {
		h.fault(ctx, "servers of open calls", err)
		return h.options.Poll
	}
	well := true
	failed := func(err error) {
		if err != nil {
			h.fault(ctx, "calls of a server that was removed, or is back", err)
			well = false
		}
	}
	for _, id := range list {
		if slices.Contains(h.order, id) {
			_, err := h.inbox.Unblock(ctx, id, inbox.ReasonServerRemoved)
			failed(err)
			continue
		}
		age, detail := unclaimedTime, explain(inbox.ReasonServerRemoved, id, "")
		if !*started {
			age = 0
			_, err := h.inbox.BlockWaiting(ctx, id, inbox.ReasonServerRemoved, detail)
			failed(err)
		}
		_, err := h.inbox.BlockReady(ctx, id, age, inbox.ReasonServerRemoved, detail)
		failed(err)
	}
	*started = *started || ctx.Err() == nil
	if !well {
		return h.options.Poll
	}
	return fileTime
}

// fault logs trouble of the store in housekeeping, which tries again by itself.
func (h *Host) fault(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		h.log.Warn("host: the store failed", "what", what, "err", err)
	}
}
