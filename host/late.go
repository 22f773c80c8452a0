package host

import (
	"context"
	"errors"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/wiretap"
)

// lateTime is how long a reply is still taken after its call was given up.
const lateTime = time.Hour

// lose ends the work on a call whose claim was lost: to another machine, or
// because the store could not be reached for a whole lease. Where the request
// has left, its reply is worth having as long as nobody has decided anything:
// the others can only call it uncertain, and the true reply ends that
// ([inbox.Inbox.LateReply]). A call that asked back has lost its questions, so
// its connection is closed at once.
func (c *carriage) lose() {
	defer c.cancel(errLost)
	if !c.marked.Load() {
		return
	}
	for !c.askedBack.Load() {
		call, err := c.host.inbox.Call(c.ctx, c.claim.Principal, c.claim.Call)
		switch {
		case errors.Is(err, inbox.ErrNotFound): // erased
			return
		case call != nil && (call.Fence != c.fence || call.State != inbox.Sent && call.State != inbox.Uncertain):
			return
		case !pause(c.ctx, storePause):
			return
		}
	}
}

// take records a reply. now is for as long as the call is this machine's; if
// others have judged it meanwhile, the reply still counts while it is uncertain
// and nothing was sent since. A store that is out of reach is waited for: what
// the server said is not to be had again.
func (c *carriage) take(what string, now func(context.Context) error, late inbox.Reply) {
	f := func(ctx context.Context) error {
		err := now(ctx)
		if errors.Is(err, inbox.ErrFenced) {
			err = c.lateReply(ctx, late)
		}
		return err
	}
	err := c.host.try(what, c.claim, f)
	for until := time.Now().Add(lateTime); err != nil && !saysNo(err) && time.Now().Before(until) && pause(c.host.open, storePause); {
		ctx, cancel := context.WithTimeout(c.host.open, c.host.leaseTime())
		err = f(ctx)
		cancel()
	}
}

// lateReply records a reply to a call that was given up. A process that asks may
// hold the paused work until the call has ended.
func (c *carriage) lateReply(ctx context.Context, r inbox.Reply) error {
	if r.Asked != nil {
		c.conn.keepFor(c.claim.Call) // before anybody can answer
	}
	call, err := c.onceUncertain(ctx, ReasonNoReply, func() (*inbox.Call, error) { return c.host.inbox.LateReply(ctx, c.claim, r) })
	if err == nil && call.State == inbox.Waiting {
		c.conn.listenFor(time.Now())
	}
	return err
}

// onceUncertain does what applies to an uncertain call alone. One that was given up while the
// store was out of reach may still be sent there, and this machine's: it is uncertain first.
func (c *carriage) onceUncertain(ctx context.Context, reason string, f func() (*inbox.Call, error)) (*inbox.Call, error) {
	call, err := f()
	if !errors.Is(err, inbox.ErrState) {
		return call, err
	}
	switch _, e := c.host.inbox.Uncertain(ctx, c.claim, explain(reason, c.name(), "")); {
	case e == nil:
		return f()
	case !saysNo(e):
		return nil, e
	}
	return nil, err
}

// awaitLate takes a reply that comes after its call was given up, and reports whether
// it asks. Only a pipe can bring one: on HTTP the response ended with the wait for it.
func (c *carriage) awaitLate(conn *connection, x *wiretap.Exchange) (asks bool) {
	timer := time.NewTimer(lateTime)
	defer timer.Stop()
	select {
	case <-x.Replied():
	case <-conn.gone:
		return false
	case <-c.host.stopping:
		return false
	case <-timer.C:
		return false
	}
	v := c.judge(conn, *x.Outcome().Reply)
	if v.judgement == outcomeAsks {
		// The work on the call is over, and its context with it.
		if not := c.showsAll(c.host.open, v.questions); not != nil {
			if not.word == "" { // the host stops, and nobody allowed them
				return false
			}
			v = v.notShown(not)
		}
	}
	var reply inbox.Reply
	switch v.judgement {
	case outcomeDone, outcomeFailed:
		o := c.outcome(v)
		reply.Outcome = &o
	case outcomeAsks:
		a := v.asked()
		reply.Asked = &a
	default:
		return false // it says nothing that would end the uncertainty
	}
	c.take("late reply", func(ctx context.Context) error { return c.lateReply(ctx, reply) }, reply)
	return reply.Asked != nil
}
