package host

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/wiretap"
)

// newToken names one send for progress notifications. It tells a server nothing.
func newToken() string { return rand.Text() }

// settle judges a send by what is known of the wire, and records it. The
// error of the SDK is looked at only where nothing was marked: its classes say
// "rejected" also when the tool ran.
func (c *carriage) settle(conn *connection, x *wiretap.Exchange, out wiretap.Outcome, err error) sent {
	switch {
	case out.Reply != nil && !c.turnedAway(conn, out):
		return c.replied(conn, *out.Reply)

	case c.call.State != inbox.Sent:
		// The mark was refused, or the SDK gave up before it: nothing is recorded as sent.
		return c.unsent(conn, err)

	case !out.Left:
		// Proof: no byte of the request left.
		return c.nothingLeft(conn)

	case wantsSignIn(out.Status, out.Challenge):
		return c.unauthorized(conn, out.Status, out.Challenge)

	case out.Status == http.StatusNotFound && out.Session && !c.tries.session && !c.askedBack.Load():
		// MCP 2025-11-25 basic/transports, "Session Management": 404 means that
		// the session is gone, and the client begins a new one. Once.
		c.tries.session = true
		c.nothingRan()
		return sentDrop
	}
	cause := context.Cause(c.ctx)
	reason := ReasonNoReply
	switch {
	case errors.Is(cause, errTimeout):
		reason = ReasonTimeout
	case errors.Is(cause, errTooLong):
		reason = ReasonTooLong
	case errors.Is(cause, ErrClosed):
		reason = inbox.ReasonLostOwner
	case errors.As(out.Fault, new(*wiretap.LimitError)):
		reason = ReasonTooMuch
	case errors.Is(out.Fault, wiretap.ErrMalformed):
		reason = ReasonNoMessage
	}
	c.uncertain(conn, x, reason)
	return sentStop
}

// turnedAway reports whether a reply is the server's refusal for want of a sign-in, which
// some write as a JSON-RPC error too, with the request's id. Error -32042 says what is to
// be done first, and a server that has called back ran something.
func (c *carriage) turnedAway(conn *connection, out wiretap.Outcome) bool {
	if out.Reply.Error == nil || !wantsSignIn(out.Status, out.Challenge) || c.askedBack.Load() {
		return false
	}
	e, err := wiretap.ParseError(out.Reply.Error)
	return err != nil || e.Code != codeURLsNeeded || conn.era != inbox.Legacy
}

// unsent handles a send that ended before its mark.
func (c *carriage) unsent(conn *connection, err error) sent {
	switch {
	case lost(err), errors.Is(err, inbox.ErrUnreadable), c.ctx.Err() != nil, c.doubt: // in doubt: the store is in trouble, not the server
		c.giveBack()
		return sentStop
	case errors.Is(err, wiretap.ErrVetoed) && errors.Is(err, inbox.ErrInvalid):
		c.block(inbox.ReasonServerChanged, "") // the inbox's own look at the binding
		return sentStop
	}
	c.tries.empty++
	if c.tries.empty >= maxEmpty {
		c.unreachable(conn, err)
		return sentStop
	}
	c.giveBack()
	return sentDrop
}

// nothingLeft handles a marked send of which no byte left.
func (c *carriage) nothingLeft(conn *connection) sent {
	if c.ctx.Err() != nil {
		c.nothingRan()
		return sentStop
	}
	c.tries.empty++
	if c.tries.empty >= maxEmpty {
		c.unreachable(conn, nil)
		return sentStop
	}
	c.nothingRan()
	return sentDrop
}

func (c *carriage) nothingRan() {
	c.host.record("nothing ran", c.claim, func(ctx context.Context) error {
		_, err := c.host.inbox.NothingRan(ctx, c.claim, "")
		return err
	})
}

func (c *carriage) unreachable(conn *connection, err error) {
	p := c.host.pool(c.server, c.claim.Principal)
	p.mu.Lock()
	p.failed(&UnreachableError{Server: c.server.ID, Why: "nothing could be sent to it"})
	p.mu.Unlock()
	c.block(inbox.ReasonUnreachable, "nothing could be sent to it")
	p.await()
	p.drop(conn)
	c.host.log.Info("host: nothing could be sent", "server", c.server.ID, "why", reason(err))
}

// replied records a JSON-RPC response, which is an outcome whatever it says. A server
// that has called back ran something, whatever it says.
func (c *carriage) replied(conn *connection, reply wiretap.Reply) sent {
	v := c.judge(conn, reply)
	switch v.judgement {
	case outcomeList:
		// MCP 2026-07-28: the parameters that belong into headers were not
		// known. Nothing ran; list the tools and send once more.
		c.tries.listed = true
		if !c.askedBack.Load() && conn.ready(c.ctx, time.Now()) == nil {
			c.nothingRan()
			return sentAgain
		}
		v = judgeError(reply.Error, conn.era, false, true)
	case outcomeRevision:
		// Another build answers there, which does not know the revision of this
		// session: nothing ran. A new session tells what it speaks; a parked call
		// goes on only if that is the same era.
		if conn.process == nil && !c.tries.session && !c.askedBack.Load() {
			c.tries.session = true
			c.nothingRan()
			return sentDrop
		}
		v.judgement = outcomeFailed
	case outcomeAsks:
		ctx, cancel := c.aLeaseOn() // the reply has come, also if the send was given up just then
		not := c.showsAll(ctx, v.questions)
		cancel()
		if not != nil {
			v = v.notShown(not)
			break
		}
		c.park(conn, v)
		return sentStop
	case outcomeLater:
		wait := min(500*time.Millisecond<<min(max(c.call.Sends-1, 0), 10), 10*time.Second)
		c.host.record("again", c.claim, func(ctx context.Context) error {
			_, err := c.host.inbox.Again(ctx, c.claim, v.requestState, max(wait, v.wait))
			return err
		})
		return sentStop
	case outcomeUnknown:
		c.host.record("uncertain", c.claim, func(ctx context.Context) error {
			_, err := c.host.inbox.Uncertain(ctx, c.claim, explain(v.reason, c.name(), v.word))
			return err
		})
		return sentStop
	}
	if v.refused > 0 {
		c.host.record("refused", c.claim, func(ctx context.Context) error {
			return c.host.inbox.Refused(ctx, c.claim.Principal, c.server.ID, v.refused)
		})
	}
	o := c.outcome(v)
	c.take("finish", func(ctx context.Context) error { return c.end(ctx, o) }, inbox.Reply{Outcome: &o})
	return sentStop
}

// aLeaseOn is for what the carriage still does once its work was given up. It ends a lease
// after that: no longer does a call keep its place in flight for what does not come about.
func (c *carriage) aLeaseOn() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(c.host.base)
	stop := context.AfterFunc(c.ctx, func() {
		pause(ctx, c.lease)
		cancel()
	})
	return ctx, func() {
		stop()
		cancel()
	}
}

// notShown is the end of a call whose questions the policy does not let through.
func (v *verdict) notShown(not *unshown) verdict {
	end := verdict{judgement: outcomeFailed, reason: ReasonRefused, word: not.word}
	if not.word == "" { // the work is cut short, and nobody allowed it
		end.word = "they could not be asked"
	} else {
		end.unshown = not.refused(len(v.questions))
	}
	return end
}

func (c *carriage) judge(conn *connection, reply wiretap.Reply) verdict {
	v := c.meaning(conn, reply)
	if what := c.host.modes.lackAny(v.questions); what != "" {
		result, isError := reply.Result, reply.Error != nil
		if isError {
			result = reply.Error
		}
		return verdict{judgement: outcomeFailed, reason: ReasonBadQuestion, word: what, result: result, isError: isError}
	}
	return v
}

// meaning is what the reply means on a host that shows everything.
func (c *carriage) meaning(conn *connection, reply wiretap.Reply) verdict {
	if reply.Error != nil {
		return judgeError(reply.Error, conn.era, c.call.RequestState != "" || c.call.EmptyState, c.tries.listed)
	}
	return judgeResult(reply.Result, c.call.Method, conn.era)
}

// outcome words a final verdict.
func (c *carriage) outcome(v verdict) inbox.Outcome {
	o := inbox.Outcome{State: inbox.Failed, Reason: v.reason, Result: v.result, IsError: v.isError, Refused: v.unshown}
	switch v.judgement {
	case outcomeDone:
		o.State = inbox.Done
	case outcomeLapsed:
		o.State = inbox.Lapsed
		if c.call.MarkedBefore {
			// "Nothing ran" may not be said: an earlier send of this round was uncertain.
			o.Reason = ReasonLapsedUncertain
		}
	}
	if o.Reason != "" {
		o.Detail = explain(o.Reason, c.name(), v.word)
	}
	return o
}

func (c *carriage) park(conn *connection, v verdict) {
	asked := v.asked()
	c.take("park", func(ctx context.Context) error {
		call, err := c.host.inbox.Park(ctx, c.claim, asked)
		if errors.Is(err, inbox.ErrInvalid) { // a question that the inbox cannot read after all
			_, err = c.host.inbox.Finish(ctx, c.claim, inbox.Outcome{
				State: inbox.Failed, Reason: ReasonBadQuestion, Detail: explain(ReasonBadQuestion, c.name(), "it cannot be read"),
			})
			return err
		}
		if err == nil && call.State == inbox.Waiting {
			conn.keepFor(call.ID)
			conn.listenFor(time.Now())
		}
		return err
	}, inbox.Reply{Asked: &asked})
}

func (v *verdict) asked() inbox.Asked {
	return inbox.Asked{RequestState: v.requestState, EmptyState: v.emptyState, ExpiresAt: v.expiresAt, Questions: v.questions}
}

// keepFor remembers that this process may hold the paused work of a call, or still be
// at work on it. It reports whether that is new.
func (c *connection) keepFor(id inbox.CallID) bool {
	if c.process == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.parked[id]
	c.parked[id] = true
	return !before
}

func (c *connection) letGo(id inbox.CallID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.parked, id)
}

// uncertain records that no reply came, and nothing proves that nothing ran. It is sent again by itself only
// where that is safe; a reply that still comes is taken.
func (c *carriage) uncertain(conn *connection, x *wiretap.Exchange, reason string) {
	if conn.process == nil && conn.era == inbox.Legacy {
		// A server that was restarted need not say that it has forgotten the session:
		// some run calls in one that they do not know, and refuse the answers. Calls
		// that are in flight keep it.
		c.host.pool(c.server, c.claim.Principal).drop(conn)
	}
	err := c.host.try("uncertain", c.claim, func(ctx context.Context) error {
		_, err := c.host.inbox.Uncertain(ctx, c.claim, explain(reason, c.name(), ""))
		return err
	})
	if err != nil && !c.mayBeUncertain(err) {
		return
	}
	if safe, within := c.repeatable(conn); safe && !errors.Is(context.Cause(c.ctx), errStopped) && (err == nil || c.host.open.Err() == nil) {
		again := false
		c.host.record("resend", c.claim, func(ctx context.Context) error {
			_, err := c.onceUncertain(ctx, reason, func() (*inbox.Call, error) {
				return c.host.inbox.Resend(ctx, c.claim, time.Second<<min(c.call.Resends, 4), within)
			})
			again = err == nil
			return err
		})
		if again {
			return
		}
	}
	if conn.process != nil && conn.alive() {
		kept := conn.keepFor(c.claim.Call) // before the call gives the connection back: it may count as idle then
		c.host.group.Go(func() {
			if asks := c.awaitLate(conn, x); kept && !asks {
				conn.letGo(c.claim.Call)
			}
		})
	}
}

// mayBeUncertain reports whether the call is uncertain although that could not be recorded: the
// word of a first try was lost, or another machine has judged it while the store was out of reach,
// as it will if the store still is.
func (c *carriage) mayBeUncertain(err error) bool {
	if !saysNo(err) {
		return true
	}
	if !errors.Is(err, inbox.ErrFenced) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.host.leaseTime())
	defer cancel()
	call, err := c.host.inbox.Call(ctx, c.claim.Principal, c.claim.Call)
	if err != nil {
		return !saysNo(err)
	}
	return call.State == inbox.Uncertain && call.Fence == c.fence
}

// repeatable reports whether sending twice does no harm: the server is trusted
// and says so of its tool, or it keeps a record of idempotency keys. within is for how
// long after the call was composed, by the store's clock; zero: for ever.
//
// A server counts from the first sending, which was no earlier, and looks for its record
// when it reads the request. A request that was marked is read at once, or within the
// time-out of a send, after which it is given up: so much of the server's time is left for it.
func (c *carriage) repeatable(conn *connection) (safe bool, within time.Duration) {
	if c.harmless(conn) {
		return true, 0
	}
	within = conn.retention() - c.server.sendTimeout()
	return within > 0, within
}

// within is what repeatable says as the mark wants it: what made a call safe to send again
// may have gone while it waited.
func (c *carriage) within(conn *connection) time.Duration {
	safe, within := c.repeatable(conn)
	if !safe {
		return -1
	}
	return within
}

// harmless reports whether the server is trusted and says of its tool that running it
// twice does no harm.
func (c *carriage) harmless(conn *connection) bool {
	if !c.server.Trusted {
		return false
	}
	if c.call.Method != "tools/call" {
		return true // prompts/get and resources/read only read
	}
	t := conn.tool(c.call.Name)
	return t != nil && (t.ReadOnly || t.Idempotent)
}
