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
	case out.Reply != nil:
		return c.replied(conn, *out.Reply)

	case c.call.State != inbox.Sent:
		// The mark was refused, or the SDK gave up before it: nothing is recorded as sent.
		return c.unsent(conn, err)

	case !out.Left:
		// Proof: no byte of the request left.
		return c.nothingLeft(conn)

	case wantsSignIn(out.Status, out.Challenge):
		return c.unauthorized(conn, out.Status, out.Challenge)

	case out.Status == http.StatusNotFound && out.Session && !c.tries.session:
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
	case errors.Is(cause, ErrClosed):
		reason = inbox.ReasonLostOwner
	}
	c.uncertain(conn, x, reason)
	return sentStop
}

// unsent handles a send that ended before its mark.
func (c *carriage) unsent(conn *connection, err error) sent {
	switch {
	case lost(err), c.ctx.Err() != nil, c.doubt: // in doubt: the store is in trouble, not the server
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
	c.host.log.Info("host: nothing could be sent", "server", c.server.ID, "err", err)
}

// replied records a JSON-RPC response, which is an outcome whatever it says.
func (c *carriage) replied(conn *connection, reply wiretap.Reply) sent {
	v := c.judge(conn, reply)
	switch v.judgement {
	case outcomeList:
		// MCP 2026-07-28: the parameters that belong into headers were not
		// known. Nothing ran; list the tools and send once more.
		c.tries.listed = true
		if err := conn.ready(c.ctx, time.Now()); err == nil {
			c.nothingRan()
			return sentAgain
		}
		v = judgeError(reply.Error, false, true)
	case outcomeAsks:
		if show, word := c.showsAll(c.ctx, v.questions); !show {
			if word == "" { // the work is cut short, and nobody allowed it
				word = "they could not be asked"
			}
			v = verdict{judgement: outcomeFailed, reason: ReasonRefused, word: word}
			break
		}
		c.park(conn, v)
		return sentStop
	case outcomeLater:
		wait := min(500*time.Millisecond<<min(max(c.call.Sends-1, 0), 10), 10*time.Second)
		c.host.record("again", c.claim, func(ctx context.Context) error {
			_, err := c.host.inbox.Again(ctx, c.claim, v.requestState, time.Now().Add(max(wait, v.wait)))
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

func (c *carriage) judge(conn *connection, reply wiretap.Reply) verdict {
	if reply.Error != nil {
		return judgeError(reply.Error, c.call.RequestState != "", c.tries.listed)
	}
	return judgeResult(reply.Result, c.call.Method, conn.era)
}

// outcome words a final verdict.
func (c *carriage) outcome(v verdict) inbox.Outcome {
	o := inbox.Outcome{State: inbox.Failed, Reason: v.reason, Result: v.result, IsError: v.isError}
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
		}
		return err
	}, inbox.Reply{Asked: &asked})
}

func (v *verdict) asked() inbox.Asked {
	return inbox.Asked{RequestState: v.requestState, ExpiresAt: v.expiresAt, Questions: v.questions}
}

// keepFor remembers that this process may hold the paused work of a call.
func (c *connection) keepFor(id inbox.CallID) {
	if c.process == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parked[id] = true
}

// uncertain records that no reply came, and nothing proves that nothing ran. It is sent again by itself only
// where that is safe; a reply that still comes is taken.
func (c *carriage) uncertain(conn *connection, x *wiretap.Exchange, reason string) {
	recorded := false
	c.host.record("uncertain", c.claim, func(ctx context.Context) error {
		_, err := c.host.inbox.Uncertain(ctx, c.claim, explain(reason, c.name(), ""))
		recorded = err == nil
		return err
	})
	if !recorded {
		return
	}
	if !errors.Is(context.Cause(c.ctx), errStopped) && c.repeatable(conn) {
		c.host.record("resend", c.claim, func(ctx context.Context) error {
			wait := time.Second << min(c.call.Resends, 4)
			_, err := c.host.inbox.Resend(ctx, c.claim, time.Now().Add(wait))
			return err
		})
		return
	}
	if conn.process != nil && conn.alive() {
		c.host.group.Go(func() {
			c.awaitLate(conn, x)
		})
	}
}

// repeatable reports whether sending twice does no harm: the server is trusted
// and says so of its tool, or it keeps a record of idempotency keys.
func (c *carriage) repeatable(conn *connection) bool {
	if retention := conn.retention(); retention > 0 && time.Since(c.call.Created) < retention {
		return true
	}
	if !c.server.Trusted {
		return false
	}
	if c.call.Method != "tools/call" {
		return true // prompts/get and resources/read only read
	}
	t := conn.tool(c.call.Name)
	return t != nil && (t.ReadOnly || t.Idempotent)
}
