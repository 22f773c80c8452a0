package host

import (
	"context"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

const (
	// maxCompletions is how many completions per minute a connection is listened
	// to. Each may be a look into the store, and a server can send any number.
	maxCompletions = 60
	// maxElicitationID is above any id that names something (bytes).
	maxElicitationID = 4 << 10
	// listenTime is how long a connection without calls is kept for a server that
	// may still say that a page was finished: as long as a held question is open.
	listenTime = time.Hour
)

// completions is what a connection keeps of the completions that its server
// told; connection.mu guards it.
type completions struct {
	since time.Time // the minute that is counted
	count int
	until time.Time // the server may still tell one
}

// completed takes notifications/elicitation/complete. It is called while a
// message is being read, so it only notes what is known at that moment:
// a page is known once the error that named it was read, though it may still be
// on its way into the store. What is known by then and not finished counts; all
// else the inbox ignores (MCP 2025-11-25 elicitation, "Completion
// Notifications for URL Mode Elicitation" C1). No other revision has it.
func (c *connection) completed(id string) {
	if !c.legacy.Load() || id == "" || len(id) > maxElicitationID {
		return
	}
	parking, inFlight, ok := c.listen(time.Now())
	if !ok || !c.host.enter() {
		return
	}
	go func() {
		defer c.host.group.Done()
		for _, p := range parking {
			select {
			case <-p.done:
			case <-c.host.open.Done():
				return
			}
		}
		c.complete(inbox.Completion{Server: c.server.ID, Endpoint: c.server.Endpoint(), ElicitationID: id, Calls: inFlight})
	}()
}

// listen counts a completion and says what it may be about: calls whose reply
// was read and is being recorded, and calls in flight. It reports false if the
// server tells too many.
func (c *connection) listen(now time.Time) (parking []*carriage, inFlight []inbox.CallID, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.told.since) >= time.Minute {
		c.told.since, c.told.count = now, 0
	}
	if c.told.count++; c.told.count > maxCompletions {
		return nil, nil, false
	}
	for s := range c.settling {
		parking = append(parking, s)
	}
	for x, s := range c.sends {
		select {
		case <-x.Replied():
			parking = append(parking, s)
		default:
			inFlight = append(inFlight, s.claim.Call)
		}
	}
	return parking, inFlight, true
}

// complete records a completion. A store that fails is tried again for a
// while; after that the person's own word has to do.
func (c *connection) complete(said inbox.Completion) {
	ctx, cancel := context.WithTimeout(c.host.open, c.host.leaseTime())
	defer cancel()
	for {
		n, err := c.host.inbox.Complete(ctx, c.principal, said)
		if err == nil {
			c.host.log.Debug("host: a page was completed", "server", c.server.ID, "questions", n)
			return
		}
		if saysNo(err) || !pause(ctx, storePause) {
			c.host.log.Warn("host: a completion was lost", "server", c.server.ID, "err", err)
			return
		}
	}
}

// settle frames the recording of a reply.
func (c *connection) settle(s *carriage) (settled func()) {
	c.mu.Lock()
	c.settling[s] = true
	c.mu.Unlock()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.settling, s)
	}
}

// listenFor keeps the connection a while for the completions of what was asked on it.
func (c *connection) listenFor(now time.Time) {
	if c.era != inbox.Legacy {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told.until = now.Add(listenTime)
}
