package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

const (
	// maxProcesses is how many programs of one server run for one person.
	maxProcesses = 4
	// idleTime is how long a connection without calls is kept.
	idleTime = 10 * time.Minute
	// Back-off between attempts to reach a server that is down.
	firstBackoff = time.Second
	lastBackoff  = time.Minute
)

// A pool holds the connections of one principal to one server.
//
// HTTP is one session for all calls. A modern program is one process for all
// calls too: it never asks back, and its paused work often lives in that
// process alone. A legacy program says in no way which call a question belongs
// to, so each call gets a process of its own, up to maxProcesses; past that
// calls share.
type pool struct {
	host      *Host
	server    *Server
	principal inbox.Principal

	turn chan struct{} // holds one token: the right to connect

	mu       sync.Mutex
	list     []*connection
	failures int
	notTill  time.Time         // no attempt before, unless a person waits for it
	last     error             // of the last attempt
	titles   map[string]string // of tools, as last listed
	waiting  bool              // calls were blocked as unreachable
}

func (h *Host) newPool(s *Server, p inbox.Principal) *pool {
	pl := &pool{host: h, server: s, principal: p, turn: make(chan struct{}, 1)}
	pl.turn <- struct{}{}
	return pl
}

// acquire returns a connection for one call, which counts until release. id
// may be empty, for housekeeping: then any connection will do. eager ignores
// the back-off.
func (p *pool) acquire(ctx context.Context, id inbox.CallID, eager bool) (*connection, error) {
	if c := p.pick(id, false); c != nil {
		return c, nil
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.host.stopping:
		return nil, ErrClosed
	case <-p.turn:
	}
	defer func() { p.turn <- struct{}{} }()
	if c := p.pick(id, false); c != nil { // someone else connected meanwhile
		return c, nil
	}
	p.mu.Lock()
	full := len(p.list) >= maxProcesses
	wait, last := time.Until(p.notTill), p.last
	p.mu.Unlock()
	if full {
		if c := p.pick(id, true); c != nil {
			return c, nil
		}
	}
	if wait > 0 && !eager && last != nil {
		return nil, last
	}
	c, err := p.connect(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			p.failed(err)
		}
		return nil, err
	}
	p.failures, p.last, p.notTill = 0, nil, time.Time{}
	p.list = append(p.list, c)
	p.take(c)
	return c, nil
}

// failed counts a failed attempt; p.mu is held.
func (p *pool) failed(err error) {
	p.last = err
	if errors.As(err, new(*signInError)) {
		return // it answers well; what is missing is the person's to do
	}
	backoff := min(firstBackoff<<min(p.failures, 10), lastBackoff)
	p.notTill = time.Now().Add(backoff)
	p.failures++
}

func (p *pool) connect(ctx context.Context) (*connection, error) {
	era := p.host.era(p.server.ID)
	c, err := p.host.connect(ctx, p.server, p.principal, era)
	pinned := era == inbox.Legacy || era == inbox.Modern && (p.server.Kind() == Stdio || errors.Is(err, errSilent))
	if err != nil && pinned && ctx.Err() == nil && !errors.As(err, new(*signInError)) {
		// It may have been changed since; ask again what it speaks.
		p.host.learnEra(p.server.ID, "")
		era = ""
		c, err = p.host.connect(ctx, p.server, p.principal, era)
	}
	switch { // one more process
	case ctx.Err() != nil:
	case errors.Is(err, errSlow):
		c, err = p.host.connect(ctx, p.server, p.principal, inbox.Modern)
	case errors.Is(err, errMute) && era == "":
		c, err = p.host.connect(ctx, p.server, p.principal, inbox.Legacy)
	}
	if err != nil {
		return nil, err
	}
	if !c.guessed() {
		p.host.learnEra(p.server.ID, c.era)
	}
	return c, nil
}

// pick finds a connection that can take one more call and counts it.
func (p *pool) pick(id inbox.CallID, share bool) *connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prune()
	var best *connection
	for _, c := range p.list {
		c.mu.Lock()
		calls, mine := c.calls, c.parked[id]
		c.mu.Unlock()
		free := share || id == "" || p.server.Kind() == HTTP || c.era == inbox.Modern || calls == 0
		switch {
		case mine:
			p.take(c)
			return c
		case free && (best == nil || calls < best.load()):
			best = c
		}
	}
	if best != nil {
		p.take(best)
	}
	return best
}

func (c *connection) load() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

func (p *pool) take(c *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	c.lastUsed = time.Now()
}

// prune forgets connections that have ended; p.mu is held.
func (p *pool) prune() {
	kept := p.list[:0]
	for _, c := range p.list {
		if c.alive() {
			kept = append(kept, c)
		} else {
			c.mu.Lock()
			p.last = c.ended()
			c.mu.Unlock()
		}
	}
	clear(p.list[len(kept):])
	p.list = kept
}

// ended says why a connection ended; c.mu is held.
func (c *connection) ended() error {
	if c.web != nil {
		if refusal := c.web.wanted(); refusal != nil { // the SDK ends a session with it
			return refusal
		}
	}
	e := &UnreachableError{Server: c.server.ID, Why: "it closed the connection"}
	if c.process != nil {
		e.Why = "its program ended"
		e.Stderr = lastLines(c.process.Stderr(), c.server)
	}
	return e
}

// learn keeps the titles of the tools, also for when no connection is open.
func (p *pool) learn(tools []*Tool) {
	titles := make(map[string]string, len(tools))
	for _, t := range tools {
		if t.Title != "" {
			titles[t.Name] = t.Title
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.titles = titles
}

// release gives a connection back. One spare process is kept, not four.
func (p *pool) release(c *connection) {
	p.mu.Lock()
	c.mu.Lock()
	c.calls--
	c.lastUsed = time.Now()
	last := c.retired && c.calls == 0
	spare := c.calls == 0 && len(c.parked) == 0 && p.server.Kind() == Stdio && c.era == inbox.Legacy
	c.mu.Unlock()
	if spare {
		spare = false
		for _, other := range p.list {
			if other != c && other.load() == 0 {
				spare = true
			}
		}
	}
	p.mu.Unlock()
	if spare || last {
		p.drop(c)
	}
}

// drop closes a connection that is not to be used again, once no call is in
// flight on it: other calls of the session may be well.
func (p *pool) drop(c *connection) {
	p.mu.Lock()
	for i, other := range p.list {
		if other == c {
			p.list = append(p.list[:i], p.list[i+1:]...)
			break
		}
	}
	p.mu.Unlock()
	c.mu.Lock()
	c.retired = true
	busy := c.calls > 0
	c.mu.Unlock()
	if busy {
		return
	}
	p.host.group.Go(c.close)
}

// sweep closes what was idle for long. A process that may hold paused work of
// a call that still waits is kept.
func (p *pool) sweep(ctx context.Context, now time.Time) {
	p.mu.Lock()
	p.prune()
	var idle []*connection
	for _, c := range p.list {
		c.mu.Lock()
		if c.calls == 0 && now.Sub(c.lastUsed) > idleTime && !now.Before(c.told.until) {
			idle = append(idle, c)
		}
		c.mu.Unlock()
	}
	p.mu.Unlock()
	for _, c := range idle {
		c.mu.Lock()
		parked := make([]inbox.CallID, 0, len(c.parked))
		for id := range c.parked {
			parked = append(parked, id)
		}
		c.mu.Unlock()
		waits := false
		for _, id := range parked {
			call, err := p.host.inbox.Call(ctx, p.principal, id)
			if err == nil && call.State.Ended() {
				c.mu.Lock()
				delete(c.parked, id)
				c.mu.Unlock()
				continue
			}
			waits = true
		}
		if !waits && c.load() == 0 {
			p.drop(c)
		}
	}
}

// snapshot is the pool's part of a status.
func (p *pool) snapshot() (open *connection, last error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prune()
	if len(p.list) > 0 {
		return p.list[0], nil
	}
	return nil, p.last
}

// await has the server tried again for calls that are blocked as unreachable. It
// comes after the block is written: a try in between would find nothing to unblock.
func (p *pool) await() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = true
}
