package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// keepClaim renews the lease, and cancels the carriage if the claim is lost or
// the person wants the call stopped. The returned func cancels the carriage too,
// and waits for what goes on.
func (c *carriage) keepClaim() (end func()) {
	stop := c.renewing()
	c.stops.begin(c.ctx, c.awaitStop)
	return func() {
		c.cancel(errOver)
		c.stops.end()
		stop()
	}
}

// awaitStop waits for the wish to stop the call, or the loss of the claim, until ctx ends.
func (c *carriage) awaitStop(ctx context.Context) {
	for {
		err := c.host.inbox.AwaitStop(ctx, c.claim)
		switch {
		case c.ending.Load():
			return
		case err == nil, errors.Is(err, inbox.ErrStopped):
			c.cancel(errStopped)
			return
		case lost(err):
			c.loseUnlessEnding()
			return
		case !pause(ctx, storePause):
			return
		}
	}
}

// loseUnlessEnding closes the call's stream, since the claim is lost; not if it
// was this machine that ended the call.
func (c *carriage) loseUnlessEnding() {
	c.deciding.Lock()
	ending := c.ending.Load()
	c.deciding.Unlock()
	if !ending {
		c.lose()
	}
}

// A lookout is one goroutine that looks for something, but for the time in which
// somebody else would see it: a held call may take days, and there may be
// thousands. It is safe for concurrent use.
type lookout struct {
	ctx  context.Context
	look func(context.Context) // until its context ends

	mu      sync.Mutex
	resting int
	over    bool
	cancel  context.CancelFunc // of the look that goes on; nil: none
	group   sync.WaitGroup
}

func (l *lookout) begin(ctx context.Context, look func(context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ctx, l.look = ctx, look
	l.start()
}

// start looks, from now on; l.mu is held.
func (l *lookout) start() {
	if l.over || l.resting > 0 {
		return
	}
	ctx, cancel := context.WithCancel(l.ctx)
	l.cancel = cancel
	l.group.Go(func() {
		defer cancel()
		l.look(ctx)
	})
}

// rest ends the looking until resume; each rest needs its resume. What came
// meanwhile is seen then.
func (l *lookout) rest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.resting++; l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
}

func (l *lookout) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.resting--; l.resting == 0 {
		l.start()
	}
}

// end ends the looking for good, and waits for it.
func (l *lookout) end() {
	l.mu.Lock()
	if l.over = true; l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
	l.mu.Unlock()
	l.group.Wait()
}

// renewing renews the lease every third of it. In between a timer waits and no
// goroutine: a held call may take days. The returned func ends it, and waits for
// a renewal that goes on.
func (c *carriage) renewing() (stop func()) {
	var mu sync.Mutex // held during a renewal
	over := false
	good := time.Now()
	mu.Lock()
	defer mu.Unlock()
	var timer *time.Timer
	timer = time.AfterFunc(c.lease/3, func() {
		mu.Lock()
		defer mu.Unlock()
		if over || c.ctx.Err() != nil {
			return
		}
		_, err := c.host.inbox.Renew(c.ctx, c.claim)
		switch {
		case err == nil:
			good = time.Now()
		case c.ending.Load():
			return
		case lost(err):
			c.loseUnlessEnding()
			return
		case time.Since(good) > c.lease:
			c.host.log.Warn("host: the lease could not be renewed", "call", c.claim.Call, "err", err)
			c.lose()
			return
		}
		timer.Reset(c.lease / 3)
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		over = true
	}
}
