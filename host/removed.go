package host

import (
	"context"
	"slices"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// fileTime is the time between two looks at whose servers the calls are that
// wait. Only another machine with another servers file brings news.
const fileTime = 5 * time.Minute

// squareServers blocks what waits for an answer to a server that is not in the
// servers file, so that people learn at once that their answers have nowhere to
// go, and lets go on what belongs to servers that are back. It says when to look
// again.
func (h *Host) squareServers(ctx context.Context, now time.Time) (next time.Time) {
	list, err := h.inbox.Servers(ctx)
	if err != nil {
		h.fault(ctx, "servers of open calls", err)
		return now.Add(h.options.Poll)
	}
	next = now.Add(fileTime)
	for _, id := range list {
		if slices.Contains(h.order, id) {
			_, err = h.inbox.Unblock(ctx, id, inbox.ReasonServerRemoved)
		} else {
			_, err = h.inbox.BlockWaiting(ctx, id, inbox.ReasonServerRemoved, explain(inbox.ReasonServerRemoved, id, ""))
		}
		if err != nil {
			h.fault(ctx, "calls of a server that was removed, or is back", err)
			next = now.Add(h.options.Poll)
		}
	}
	return next
}

// fault logs trouble of the store in housekeeping, which tries again by itself.
func (h *Host) fault(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		h.log.Warn("host: the store failed", "what", what, "err", err)
	}
}
