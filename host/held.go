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
	"github.com/parley-mcp/parley/internal/aside"
	"github.com/parley-mcp/parley/internal/elicitation"
	"github.com/parley-mcp/parley/internal/plain"
	"github.com/parley-mcp/parley/internal/wiretap"
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
	p, what := checkElicitation(q.Params)
	if what == "" {
		what = c.host.modes.lacks(p.Mode)
	}
	if what != "" {
		return nil, refuseWith(refuseUnshowable, what)
	}
	open, why := c.askedIn(q, nil)
	if len(open) == 0 {
		return nil, refuseWith(refuseNoCall, why)
	}
	for over := []*carriage(nil); ; {
		result, err := open[0].hold(ctx, q, open)
		ended, ok := errors.AsType[*callOver](err)
		if !ok {
			return result, err
		}
		before := open[0]
		if before.denied(ctx) {
			return nil, refuse(refuseDenied) // it may be the question of what the rules have denied
		}
		over = append(over, before)
		open, why = c.askedIn(q, over)
		switch {
		case ctx.Err() != nil, len(open) == 0 && (q.Exact || before.flying()):
			return nil, ended.refusal
		case len(open) == 0:
			return nil, refuseWith(refuseNoCall, why)
		case before.ending.Load():
			before.cancel(errOver) // it was given up, and would wait until the server is told so
		}
	}
}

// A callOver is the refusal of a question whose call has ended, or is to end. On a shared
// pipe it may have been another call's all along, and goes on with that one.
type callOver struct{ refusal error }

func (e *callOver) Error() string { return e.refusal.Error() }

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

// askedIn finds the calls that a question may belong to, but for those that are over. On
// HTTP the response on which it came says which; on the standalone stream only a single
// open call can be meant. On a pipe that several calls share the first, which is the
// oldest, gets the card: the answer goes to the question's own id in any case. But none of
// them may have an answer by the rules alone of another, nor have its time run out.
func (c *connection) askedIn(q *wiretap.Question, over []*carriage) (open []*carriage, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range q.Exchanges {
		if carriage := c.sends[x]; carriage != nil && !slices.Contains(over, carriage) {
			open = append(open, carriage)
		}
	}
	switch {
	case len(open) == 0:
		return nil, "the call that the question belongs to is not open"
	case len(open) > 1 && c.process == nil:
		return nil, "the question came outside any response, and more than one call is open"
	}
	return open, ""
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

// hold keeps the question until it is closed and hands over the answer. open are the calls
// that it may belong to, with c as the first.
func (c *carriage) hold(ctx context.Context, q *wiretap.Question, open []*carriage) (mcp.Result, error) {
	c.askedBack.Store(true)
	defer pauseAll(open)()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })()
	defer context.AfterFunc(c.host.open, func() { cancel(ErrClosed) })()
	defer q.AfterWithdrawn(func() { cancel(wiretap.ErrWithdrawn) })()

	var held inbox.QuestionID
	var wake func()
	var err error
	if aside.Do(func() { held, wake, err = c.put(ctx, q, open) }); err != nil {
		return nil, err
	}
	defer wake()
	for again := true; again; {
		if err = c.awaitAnswer(ctx, held); err == nil {
			err = ctx.Err()
		} else if !lost(err) && !errors.Is(err, inbox.ErrUnreadable) && pause(ctx, storePause) {
			continue // the store failed for a moment; the person still thinks
		}
		if err != nil {
			return nil, c.refuse(ctx, q, held, err)
		}
		aside.Do(func() { again, err = c.hand(ctx, q, held, open) })
	}
	if err != nil {
		return nil, err
	}
	return &mcp.ElicitResult{Action: string(inbox.Cancel)}, nil
}

// pauseAll stops the clocks of calls until the returned func is called: waiting for a person
// never counts against the time of a call, whichever it is that waits.
func pauseAll(calls []*carriage) (resume func()) {
	for _, c := range calls {
		c.watch.pause()
	}
	return func() {
		for _, c := range calls {
			c.watch.resume()
		}
	}
}

// put asks the policy whether the question may be shown, and puts it into the
// inbox. The calls that it may belong to rest from then on, until wake.
func (c *carriage) put(ctx context.Context, q *wiretap.Question, open []*carriage) (held inbox.QuestionID, wake func(), err error) {
	for _, each := range open {
		not := each.showsAll(ctx, []inbox.NewQuestion{{Params: q.Params}})
		switch {
		case not == nil:
			continue
		case not.word == "":
			return "", nil, c.refuse(ctx, q, "", context.Cause(ctx))
		}
		c.host.record("refuse a question", each.claim, func(ctx context.Context) error {
			return c.host.inbox.RefuseQuestion(ctx, each.claim, *not.refused(1))
		})
		return "", nil, refuseWith(refuseShow, not.word)
	}
	if wake, err = restAll(open); err != nil {
		// The inbox never hears of it, and the person is to know what they were not shown.
		c.host.record("refused", c.claim, func(ctx context.Context) error {
			return c.host.inbox.Refused(ctx, c.claim.Principal, c.server.ID, 1)
		})
		return "", nil, c.refuse(ctx, q, "", err)
	}
	held, err = c.store(ctx, q, duringOneOf(open))
	if err != nil {
		wake()
		return "", nil, c.refuse(ctx, q, "", err)
	}
	return held, wake, nil
}

// restAll has calls rest that may wait for one answer. If there is room for no more, the
// others keep their places among the calls in flight.
func restAll(open []*carriage) (wake func(), err error) {
	if err := open[0].rest(); err != nil {
		return nil, err
	}
	resting := open[:1:1]
	for _, c := range open[1:] {
		if c.rest() == nil {
			resting = append(resting, c)
		}
	}
	return func() {
		for _, c := range resting {
			c.wake()
		}
	}, nil
}

// hand gives the answer to the server, if the policy still allows it; again says
// that it was taken back in between.
func (c *carriage) hand(ctx context.Context, q *wiretap.Question, held inbox.QuestionID, open []*carriage) (again bool, err error) {
	may, by := c.mayDeliver(ctx, open)
	var answer *inbox.Answer
	if may == permitted {
		c.deciding.Lock()
		if answer, err = c.deliver(ctx, held, by); errors.Is(err, inbox.ErrRevoked) {
			may = notNow
			c.ending.Store(true)
		}
		c.deciding.Unlock()
	}
	switch {
	case may == notNow:
		// The inbox has ended the call, or left it uncertain; the answer stays here.
		c.overAfter(q)
		return false, refuse(refuseDenied)
	case may == notForAll:
		c.withdraw(held, "The rules of this host do not allow an answer during another call that it may be for.")
		return false, refuse(refuseDenied)
	case may == signedOut:
		c.signedOut(c.host.signInSentence(c.server))
		return false, refuse(refuseSignIn)
	case may == signInEnded:
		c.signedOut(fmt.Sprintf("The sign-in to %s that this call was sent with has ended.", c.name()))
		return false, refuse(refuseSignIn)
	case may == noAnswer:
		return false, c.refuse(ctx, q, held, ctx.Err())
	case errors.Is(err, inbox.ErrOpen):
		return true, nil
	case err != nil:
		return false, c.refuse(ctx, q, held, err)
	}
	q.Answer(elicitResult(*answer), nil)
	c.noteDelivery(q, held)
	return false, nil
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
func (c *carriage) deliver(ctx context.Context, id inbox.QuestionID, by *inbox.Allowed) (*inbox.Answer, error) {
	for doubt := false; ; doubt = true {
		answer, err := c.host.inbox.Deliver(ctx, c.claim, id, by)
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
			c.withdraw(id, fmt.Sprintf("%s took this question back.", c.name()))
		}
		return refuse(refuseWithdrawn)
	case errors.Is(cause, ErrClosed):
		c.interrupt(q)
		return refuse(refuseLeaving)
	case errors.Is(err, inbox.ErrStopped), errors.Is(cause, errStopped):
		return &callOver{refuse(refuseStopped)}
	case errors.As(err, &limit):
		if limit.Reason == inbox.ReasonKeepsAsking || limit.Reason == inbox.ReasonTooManyRounds {
			c.giveUp(q, limit.Reason)
			return &callOver{refuse(refusal(limit.Reason))}
		}
		return refuse(refusal(limit.Reason))
	case errors.Is(err, inbox.ErrInvalid):
		return refuse(refuseUnreadable)
	case id != "" && errors.Is(err, inbox.ErrUnreadable):
		// Nobody can answer it any more, and nobody else would take it off the list.
		c.withdraw(id, "")
	case lost(err), c.ctx.Err() != nil:
		return &callOver{refuse(refuseClosed)}
	}
	return refuse(refuseClosed)
}

// withdraw closes a question without an answer; the note says why.
func (c *carriage) withdraw(id inbox.QuestionID, note string) {
	c.host.record("withdraw", c.claim, func(ctx context.Context) error {
		return c.host.inbox.Withdraw(ctx, c.claim, id, note)
	})
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
			Detail: explain(inbox.ReasonHostStopped, c.name(), "") + c.earlierSend(),
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

// signedOut ends a held call whose answer cannot leave until the person has signed in: the
// session on which the server waits belongs to the sign-in before. The server could not be
// told either, so the call's stream is closed at once. The sentence says why.
func (c *carriage) signedOut(sentence string) {
	c.ending.Store(true)
	nothing := "No answer was delivered;"
	if c.call.Sends > c.call.RoundSends { // before it named a page to visit it may have had answers
		nothing = "Nothing more was delivered;"
	}
	err := c.host.try("signed out", c.claim, func(ctx context.Context) error {
		_, err := c.host.inbox.Finish(ctx, c.claim, inbox.Outcome{
			State: inbox.Interrupted, Reason: inbox.ReasonSignIn, Detail: sentence + " " + nothing + " your answers are kept for another run." + c.earlierSend(),
		})
		if errors.Is(err, inbox.ErrState) { // an answer was delivered before
			_, err = c.host.inbox.Uncertain(ctx, c.claim, sentence+" What was answered before may have taken effect.")
		}
		return err
	})
	if err != nil {
		c.ending.Store(false)
	}
	c.cancel(errOver)
}

// earlierSend is what is said beside it where an earlier send of the call brought no reply.
func (c *carriage) earlierSend() string {
	if c.call.MarkedBefore {
		return " An earlier send may have happened."
	}
	return ""
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
	p, err := elicitation.Read(params)
	if err != nil || len(p.Meta) == 0 {
		return t
	}
	return wiretap.ExpiresAt(p.Meta)
}
