package host

import (
	"errors"
	"sync"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// keepClaim renews the lease until the carriage is over, and cancels the
// carriage if the claim is lost or the person wants the call stopped.
func (c *carriage) keepClaim() {
	defer c.renewing()()
	c.awaitStop()
	<-c.ctx.Done()
}

func (c *carriage) awaitStop() {
	for {
		err := c.host.inbox.AwaitStop(c.ctx, c.claim)
		switch {
		case c.ending.Load():
			return
		case err == nil, errors.Is(err, inbox.ErrStopped):
			c.cancel(errStopped)
			return
		case lost(err):
			c.lose()
			return
		case !pause(c.ctx, storePause):
			return
		}
	}
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
			c.lose()
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
