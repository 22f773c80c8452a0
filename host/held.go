package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/plain"
	"github.com/parley-mcp/parley/internal/wiretap"
	"github.com/parley-mcp/parley/policy"
)

// elicit handles elicitation/create of a legacy server: the question is held
// on its open connection until a person answers. It returns only a placeholder;
// the exact answer is left with the wiretap.
func (c *connection) elicit(ctx context.Context, req *mcp.ElicitRequest) (mcp.Result, error) {
	if c.era == inbox.Modern {
		return nil, refuse(refuseModern)
	}
	q := c.tap.Question(req.Params.Meta)
	if q == nil {
		return nil, refuse(refuseGone)
	}
	if _, what := checkElicitation(q.Params); what != "" {
		return nil, refuseWith(refuseUnshowable, what)
	}
	var before *carriage
	for {
		in, note, why := c.askedIn(q)
		if in == nil || in == before {
			return nil, refuseWith(refuseNoCall, why)
		}
		result, err := in.hold(ctx, q, note)
		if err == nil || q.Exact || ctx.Err() != nil || in.flying() {
			return result, err
		}
		// The call ended, and the question with it; on a shared pipe it may
		// have been another call's all along.
		before = in
	}
}

// flying reports whether the carriage's request is still in flight.
func (c *carriage) flying() bool {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	for _, other := range c.conn.sends {
		if other == c {
			return true
		}
	}
	return false
}

// askedIn finds the call that a question belongs to. On HTTP the response on
// which it came says so; on the standalone stream only a single open call can
// be meant. On a pipe that several calls share the oldest one gets the card:
// the answer goes to the question's own id in any case, and note tells the person.
func (c *connection) askedIn(q *wiretap.Question) (in *carriage, note, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var open []*carriage
	for _, x := range q.Exchanges {
		if carriage := c.sends[x]; carriage != nil {
			open = append(open, carriage)
		}
	}
	switch {
	case len(open) == 0:
		return nil, "", "the call that the question belongs to is not open"
	case len(open) > 1 && c.process == nil:
		return nil, "", "the question came outside any response, and more than one call is open"
	}
	return open[0], duringOneOf(open), ""
}

// duringOneOf is the sentence on the card of a question that may belong to any
// of several calls; empty if there is only one.
func duringOneOf(open []*carriage) string {
	if len(open) < 2 {
		return ""
	}
	const named = 5
	list := make([]string, 0, named+1)
	for _, c := range open[:min(len(open), named)] {
		list = append(list, plain.Line(c.call.Name, 60))
	}
	if more := len(open) - named; more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s asked this during one of these calls: %s.", open[0].name(), strings.Join(list, ", "))
}

// hold keeps the question until it is closed and hands over the answer.
func (c *carriage) hold(ctx context.Context, q *wiretap.Question, note string) (mcp.Result, error) {
	c.askedBack.Store(true)
	// Waiting for a person never counts against the call's time.
	c.watch.pause()
	defer c.watch.resume()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })()
	defer context.AfterFunc(c.host.open, func() { cancel(ErrClosed) })()
	defer q.AfterWithdrawn(func() { cancel(wiretap.ErrWithdrawn) })()

	if show, word := c.showsAll(ctx, []inbox.NewQuestion{{Params: q.Params}}); !show && word == "" {
		return nil, c.refuse(ctx, q, "", context.Cause(ctx))
	} else if !show {
		return nil, refuseWith(refuseShow, word)
	}
	held, err := c.store(ctx, q, note)
	if err != nil {
		return nil, c.refuse(ctx, q, "", err)
	}
	for {
		if err := c.awaitAnswer(ctx, held); err != nil {
			if !lost(err) && pause(ctx, storePause) {
				continue // the store failed for a moment; the person still thinks
			}
			return nil, c.refuse(ctx, q, held, err)
		}
		if err := ctx.Err(); err != nil {
			return nil, c.refuse(ctx, q, held, err)
		}
		switch c.permitted(ctx, c.conn, policy.Deliver) {
		case notNow:
			// The inbox has ended the call, or left it uncertain; the answer stays here.
			c.ending.Store(true)
			c.overAfter(q)
			return nil, refuse(refuseDenied)
		case noAnswer:
			return nil, c.refuse(ctx, q, held, ctx.Err())
		}
		answer, err := c.deliver(ctx, held)
		if errors.Is(err, inbox.ErrOpen) {
			continue // taken back in between
		}
		if err != nil {
			return nil, c.refuse(ctx, q, held, err)
		}
		q.Answer(elicitResult(*answer), nil)
		c.noteDelivery(q, held)
		return &mcp.ElicitResult{Action: string(inbox.Cancel)}, nil
	}
}

// store puts a question into the inbox. While the store fails it tries again:
// the server waits for its answer as long as it takes.
func (c *carriage) store(ctx context.Context, q *wiretap.Question, note string) (inbox.QuestionID, error) {
	for doubt := false; ; doubt = true {
		var held *inbox.Question
		var err error
		if doubt { // an earlier try may be stored
			held, err = c.stored(ctx, q.Params)
		}
		if err == nil && held == nil {
			held, err = c.host.inbox.Hold(ctx, c.claim, inbox.NewQuestion{Params: q.Params, Note: note, ExpiresAt: elicitationExpiry(q.Params)})
		}
		if err == nil {
			c.keepHeld(held.ID)
			return held.ID, nil
		}
		if saysNo(err) || !pause(ctx, storePause) {
			return "", err
		}
	}
}

// awaitAnswer waits until the question is closed. It sees that the call is
// stopped, or the claim lost, and whoever looks for that rests.
func (c *carriage) awaitAnswer(ctx context.Context, id inbox.QuestionID) error {
	c.stops.rest()
	defer c.stops.resume()
	_, err := c.host.inbox.AwaitAnswer(ctx, c.claim, id)
	return err
}

// stored finds a question of the call with these params that nobody waits for;
// the person may have answered it meanwhile.
func (c *carriage) stored(ctx context.Context, params json.RawMessage) (*inbox.Question, error) {
	list, err := c.host.inbox.Questions(ctx, c.claim.Principal, inbox.QuestionFilter{Call: c.claim.Call})
	if err != nil {
		return nil, err
	}
	c.heldMu.Lock()
	defer c.heldMu.Unlock()
	for _, q := range list {
		if q.Held && q.State != inbox.Withdrawn && q.Delivery == inbox.Undelivered && !slices.Contains(c.heldIDs, q.ID) && bytes.Equal(q.Params, params) {
			return q, nil
		}
	}
	return nil, nil
}

func (c *carriage) keepHeld(id inbox.QuestionID) {
	c.heldMu.Lock()
	defer c.heldMu.Unlock()
	c.heldIDs = append(c.heldIDs, id)
}

// deliver commits that the answer may leave. While the store fails it tries
// again: the person has answered, and no byte of the answer left.
func (c *carriage) deliver(ctx context.Context, id inbox.QuestionID) (*inbox.Answer, error) {
	for doubt := false; ; doubt = true {
		answer, err := c.host.inbox.Deliver(ctx, c.claim, id)
		switch {
		case err == nil:
			return answer, nil
		case doubt && errors.Is(err, inbox.ErrState):
			// The mark of an earlier try is stored: nobody else delivers for this claim.
			var q *inbox.Question
			if q, err = c.host.inbox.Question(ctx, c.claim.Principal, id); err == nil {
				return given(q), nil
			}
		}
		if saysNo(err) || !pause(ctx, storePause) {
			return nil, err
		}
	}
}

// given is the answer to a closed question as the server gets it: cancel, if it
// expired.
func given(q *inbox.Question) *inbox.Answer {
	if q.Answer != nil {
		return q.Answer
	}
	return &inbox.Answer{Action: inbox.Cancel}
}

// noteDelivery records that the answer was written, once it was. The delivery
// mark is committed already.
func (c *carriage) noteDelivery(q *wiretap.Question, id inbox.QuestionID) {
	c.host.group.Go(func() {
		<-q.Done() // comes with the end of the connection at the latest
		if q.Delivery().Accepted {
			c.host.record("delivered", c.claim, func(ctx context.Context) error {
				return c.host.inbox.Delivered(ctx, c.claim, id)
			})
		}
	})
}

// refuse words the error that the server gets in place of an answer. It is
// never a made-up cancel: only a person, or an expiry that they were shown,
// produces one.
func (c *carriage) refuse(ctx context.Context, q *wiretap.Question, id inbox.QuestionID, err error) error {
	cause := context.Cause(ctx)
	var limit *inbox.LimitError
	switch {
	case errors.Is(cause, wiretap.ErrWithdrawn), withdrawn(q):
		if id != "" {
			c.host.record("withdraw", c.claim, func(ctx context.Context) error {
				return c.host.inbox.Withdraw(ctx, c.claim, id, fmt.Sprintf("%s took this question back.", c.name()))
			})
		}
		return refuse(refuseWithdrawn)
	case errors.Is(cause, ErrClosed):
		c.interrupt(q)
		return refuse(refuseLeaving)
	case errors.Is(err, inbox.ErrStopped), errors.Is(cause, errStopped):
		return refuse(refuseStopped)
	case errors.As(err, &limit):
		if limit.Reason == inbox.ReasonKeepsAsking || limit.Reason == inbox.ReasonTooManyRounds {
			c.giveUp(q, limit.Reason)
		}
		return refuse(refusal(limit.Reason))
	case errors.Is(err, inbox.ErrInvalid):
		return refuse(refuseUnreadable)
	}
	return refuse(refuseClosed)
}

// withdrawn reports whether the server took the question back.
func withdrawn(q *wiretap.Question) bool {
	select {
	case <-q.Withdrawn():
		return true
	default:
		return false
	}
}

// interrupt ends a held call because this machine is going away. If an answer
// was delivered already, the call goes on until its reply or the end of the grace.
func (c *carriage) interrupt(q *wiretap.Question) {
	ended := false
	c.ending.Store(true)
	c.host.record("interrupt", c.claim, func(ctx context.Context) error {
		_, err := c.host.inbox.Finish(ctx, c.claim, inbox.Outcome{
			State: inbox.Interrupted, Reason: inbox.ReasonHostStopped,
			Detail: explain(inbox.ReasonHostStopped, c.name(), ""),
		})
		ended = err == nil
		return err
	})
	if ended {
		c.overAfter(q)
	} else {
		c.ending.Store(false)
	}
}

// giveUp ends a call whose server asks beyond all bounds.
func (c *carriage) giveUp(q *wiretap.Question, reason string) {
	c.ending.Store(true)
	c.finish(inbox.Outcome{State: inbox.Failed, Reason: reason, Detail: explain(reason, c.name(), "")})
	c.overAfter(q)
}

// overAfter closes the call's stream once the server has its error.
func (c *carriage) overAfter(q *wiretap.Question) {
	c.host.group.Go(func() {
		<-q.Done()
		c.cancel(errOver)
	})
}

// elicitationExpiry reads the expiresAt of a legacy question; zero if it has none.
func elicitationExpiry(params json.RawMessage) (t time.Time) {
	var p struct {
		Meta json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(params, &p) != nil || len(p.Meta) == 0 {
		return t
	}
	return wiretap.ExpiresAt(p.Meta)
}
