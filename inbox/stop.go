package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Stop stops a call. Until the mark it wins at once, also on a held call of
// which no answer was delivered. After the mark the wish is recorded
// (StopWanted): its machine closes the connection and the wire decides.
// Stopping what is stopped changes nothing; other ends, and uncertain calls,
// are a [StateError].
func (in *Inbox) Stop(ctx context.Context, p Principal, id CallID) (*Call, error) {
	var c *callRecord
	err := in.update(ctx, p.Key(), func(w *work) (err error) {
		if c, err = w.anyCall(id); err != nil { // whatever it contains
			return err
		}
		switch {
		case c.State == Stopped:
			return nil
		case c.State.Ended(), c.State == Uncertain:
			return &StateError{Call: id, State: c.State, Op: "stop"}
		}
		return w.stop(c)
	})
	if err != nil {
		return nil, err
	}
	return c.copy(), nil
}

// stop stops a call that has not ended.
func (w *work) stop(c *callRecord) error {
	switch {
	case c.State != Sent, c.Held && c.Delivered == 0:
		return w.moveCall(c, Stopped, ReasonStopped, "You stopped it. "+c.unsent())
	case c.StopWanted:
		return nil
	}
	c.StopWanted = true
	w.touch(c)
	e := w.auditCall(AuditStopped, c)
	e.State = string(c.State)
	if err := w.audit(e); err != nil {
		return err
	}
	return w.withdrawOpen(c, ByStop)
}

// StopServer stops all calls of one server that [Inbox.Stop] would stop, and
// returns how many there were.
func (in *Inbox) StopServer(ctx context.Context, p Principal, server string) (int, error) {
	if server == "" { // a query that is empty would select everything
		return 0, fmt.Errorf("%w: which server", ErrInvalid)
	}
	open := []CallState{Approving, Ready, Claimed, Sent, Waiting, Blocked}
	stopped := map[CallID]bool{}
	err := in.pages(ctx, p, CallQuery{Server: server, States: open}, func(w *work, c *callRecord) error {
		if !c.StopWanted {
			stopped[c.ID] = true
		}
		return w.stop(c)
	})
	return len(stopped), err
}

// unsent says of a call that ends what certainly did not leave the machine, or did nothing.
// One that is sent is held with no answer delivered, or there is proof that nothing ran.
func (c *callRecord) unsent() string {
	switch {
	case c.Held:
		return c.undelivered() + "." + c.doubt()
	case c.MarkedBefore:
		return "Nothing more ran; the earlier send may have happened."
	case c.RoundSends > 0 && c.Sends > c.RoundSends:
		return "Nothing more ran."
	case c.RoundSends > 0: // on proof, such as 401: the request did leave
		return "Nothing ran."
	case c.Sends == 0:
		return "Nothing was sent."
	case c.Round == 1 && c.asks > 0: // the first questions of the call
		return "No answer was sent."
	}
	return "Nothing more was sent."
}

// undelivered is what certainly did not reach a server that holds the call. Before it named
// a page to visit it may have had answers.
func (c *callRecord) undelivered() string {
	if c.Sends > c.RoundSends {
		return "Nothing more was delivered"
	}
	return "No answer was delivered"
}

// doubt is what is said beside it where an earlier send brought no reply.
func (c *callRecord) doubt() string {
	if c.MarkedBefore {
		return " An earlier send may have happened."
	}
	return ""
}

// withdrawOpen closes the open questions of a call that goes on.
func (w *work) withdrawOpen(c *callRecord, by Closer) error {
	questions, err := w.asked(c.ID)
	if err != nil {
		return err
	}
	for _, q := range questions {
		if q.State.Closed() {
			continue
		}
		if err := w.closeQuestion(q, Withdrawn, by); err != nil {
			return err
		}
	}
	return w.holdings(c)
}

// Resolution is what a person decides about an uncertain call.
type Resolution string

const (
	SendAgain  Resolution = "send_again"  // with the same idempotency key
	ItHappened Resolution = "it_happened" // the person has seen that it did
	GiveUp     Resolution = "give_up"
)

// Resolve decides an uncertain call. Sending again a call of which held
// answers were delivered means running it again from the top, since its open
// connection is gone: the call then ends failed with the reason run_again and
// the new call is returned.
//
// The same key with the same decision decides once: a request that comes late does not
// decide what became of the send that the first one asked for. An empty key is none.
func (in *Inbox) Resolve(ctx context.Context, p Principal, id CallID, how Resolution, key string) (*Call, error) {
	var c *callRecord
	err := in.update(ctx, p.Key(), func(w *work) error {
		m, before, err := w.remembered("resolve", key, string(id), string(how))
		if err != nil {
			return err
		}
		if before != "" {
			c, err = w.anyCall(CallID(before))
			return err
		}
		if c, err = w.anyCall(id); err == nil && how == SendAgain {
			err = c.fault
		}
		if err != nil {
			return err
		}
		if c, err = w.resolve(c, how); err != nil {
			return err
		}
		return w.remember(m, string(c.ID))
	})
	if err != nil {
		return nil, err
	}
	return c.copy(), nil
}

// resolve returns the call that the decision leads on to.
func (w *work) resolve(c *callRecord, how Resolution) (*callRecord, error) {
	if c.State != Uncertain {
		return nil, &StateError{Call: c.ID, State: c.State, Op: "resolve"}
	}
	e := w.auditCall(AuditResolved, c)
	e.Reason = string(how)
	if err := w.audit(e); err != nil {
		return nil, err
	}
	c.Rule = "" // which made it uncertain, and does not end it
	switch how {
	case SendAgain:
		if err := w.enabled(); err != nil {
			return nil, err
		}
		if c.Delivered == 0 {
			return c, w.sendAgain(c)
		}
		made, err := w.runAgain(c)
		if err != nil {
			return nil, err
		}
		return made, w.moveCall(c, Failed, ReasonRunAgain, "Its connection was lost, so it was started again from the top. It may have happened before.")
	case ItHappened:
		return c, w.moveCall(c, Done, ReasonItHappened, "You said that it happened. The server's reply was lost.")
	case GiveUp:
		return c, w.moveCall(c, Failed, ReasonGaveUp, "You gave it up. It may have happened.")
	}
	return nil, fmt.Errorf("%w: a call is resolved by send_again, it_happened or give_up", ErrInvalid)
}

// sendAgain makes an uncertain call ready. From here on nobody may say that
// nothing ran in this round.
func (w *work) sendAgain(c *callRecord) error {
	c.resending, c.resendUntil = false, time.Time{} // whoever decides it knows that it may happen twice
	c.MarkedBefore, c.StopWanted, c.Deaths = true, false, 0
	return w.moveCall(c, Ready, "", "")
}

// RunAgain composes the call anew, from the top, with a new idempotency key.
// Its questions get the answers of this call as suggestions. It is possible
// for ended calls and for blocked ones, which are then stopped: the way back by
// hand (MCP 2026-07-28 elicitation, "Example: Request Sensitive Data" C1; MCP
// 2025-11-25 elicitation, "Completion Notifications for URL Mode Elicitation" C2). If the call is
// being run again already, that call is returned. The same key runs it once, also after
// the new call has ended; an empty key is none.
func (in *Inbox) RunAgain(ctx context.Context, p Principal, id CallID, key string) (*Call, error) {
	var c *callRecord
	err := in.update(ctx, p.Key(), func(w *work) error {
		if err := w.enabled(); err != nil {
			return err
		}
		m, before, err := w.remembered("run again", key, string(id))
		if err != nil {
			return err
		}
		if before != "" {
			c, err = w.anyCall(CallID(before))
			return err
		}
		old, err := w.call(id)
		if err != nil {
			return err
		}
		if old.ReplacedBy != "" {
			c, err = w.anyCall(old.ReplacedBy)
			if err == nil && !c.State.Ended() {
				return w.remember(m, string(c.ID))
			}
			if err != nil && !errors.Is(err, ErrNotFound) { // it may be past its retention
				return err
			}
		}
		if !old.State.Ended() && old.State != Blocked {
			return &StateError{Call: id, State: old.State, Op: "run again"}
		}
		if old.Removed {
			return &StateError{Call: id, State: old.State, Op: "to run again what is no longer kept"}
		}
		if old.State == Blocked {
			if err := w.moveCall(old, Stopped, ReasonRunAgain, "It was started again from the top."); err != nil {
				return err
			}
		}
		if c, err = w.runAgain(old); err != nil {
			return err
		}
		return w.remember(m, string(c.ID))
	})
	if err != nil {
		return nil, err
	}
	return c.copy(), nil
}

// runAgain leaves out endpoint, era and fingerprint: the new call is bound to
// what the server is now. It is as much a model's call as the old one was, and comes
// from the surface where somebody asked for it.
func (w *work) runAgain(old *callRecord) (*callRecord, error) {
	origin := old.Origin
	if via := w.source.Via; via != "" && !w.machine {
		origin.Surface = clip(via)
	}
	c, err := w.compose(NewCall{
		Conversation: old.Conversation, Actor: old.Actor, Origin: origin, Trace: old.Trace, Server: old.Server,
		Method: old.Method, Name: old.Name, Arguments: old.Arguments,
	}, old.ID)
	if err != nil {
		return nil, err
	}
	old.ReplacedBy = c.ID
	w.touch(old)
	return c, nil
}
