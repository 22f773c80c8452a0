package host

import (
	"context"
	"errors"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// Why says what a call that has not ended waits for.
type Why string

const (
	Asked     Why = "asked"     // parked: a person has questions to answer
	Held      Why = "held"      // the same, on an open connection
	Approving Why = "approving" // a person is asked for permission
	Blocked   Why = "blocked"   // see the call's reason
	Uncertain Why = "uncertain" // a person decides
	Running   Why = "running"   // this or another machine works on it
)

// A Stop is where a call stands after a step.
type Stop struct {
	Call *inbox.Call
	Done bool // it has ended, in whatever way
	Why  Why  // if it has not
}

// Step carries a call on to its next stop and says where it stands. A call
// that is ready is claimed and sent. Step returns when it has ended or waits
// for someone; a call that another machine works on is Running at once. Work
// goes on if ctx ends: only the waiting for it does not.
func (h *Host) Step(ctx context.Context, p inbox.Principal, id inbox.CallID) (*Stop, error) {
	for {
		call, err := h.inbox.Call(ctx, p, id)
		if err != nil {
			return nil, err
		}
		if stop := standing(call); stop != nil {
			return stop, nil
		}
		ours := h.carries(id)
		if call.State == inbox.Ready && !ours {
			switch ok, err := h.take(ctx, p, call); {
			case err != nil:
				return nil, err
			case !ok && errors.Is(h.closed(), errStopping):
				return nil, errStopping
			}
			continue
		}
		if !ours && call.State != inbox.Ready {
			// Between the end of a carriage and this look the call may have moved.
			if call, err = h.inbox.Call(ctx, p, id); err != nil {
				return nil, err
			}
			if stop := standing(call); stop != nil {
				return stop, nil
			}
			if !h.carries(id) && call.State != inbox.Ready {
				return &Stop{Call: call, Why: Running}, nil
			}
			continue
		}
		if _, err := h.inbox.Wait(ctx, p, id, call.Version); err != nil {
			return nil, err
		}
	}
}

// standing is where a call stands that nobody works on, or that is held; nil otherwise.
func standing(c *inbox.Call) *Stop {
	switch {
	case c.State.Ended():
		return &Stop{Call: c, Done: true}
	case c.State == inbox.Waiting:
		return &Stop{Call: c, Why: Asked}
	case c.Held:
		return &Stop{Call: c, Why: Held}
	case c.State == inbox.Approving:
		return &Stop{Call: c, Why: Approving}
	case c.State == inbox.Blocked:
		return &Stop{Call: c, Why: Blocked}
	case c.State == inbox.Uncertain:
		return &Stop{Call: c, Why: Uncertain}
	}
	return nil
}

// take claims a ready call and begins to work on it, after the time before
// which it may not be sent. It reports false if someone else was faster.
func (h *Host) take(ctx context.Context, p inbox.Principal, call *inbox.Call) (bool, error) {
	if wait := time.Until(call.NotBefore); !call.NotBefore.IsZero() && wait > 0 {
		timer := time.NewTimer(min(wait, h.options.Poll))
		defer timer.Stop()
		select {
		case <-timer.C:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		case <-h.stopping:
			return false, nil
		}
	}
	claim, claimed, err := h.inbox.Claim(ctx, p, call.ID)
	switch {
	case errors.Is(err, inbox.ErrState), errors.Is(err, inbox.ErrExpired):
		return false, nil
	case err != nil:
		return false, err
	}
	return h.begin(claim, claimed), nil
}

// closed returns errStopping once the host is stopping.
func (h *Host) closed() error {
	select {
	case <-h.stopping:
		return errStopping
	default:
		return nil
	}
}

// Resume takes up a call that is ready, after its answers or after what blocked
// it is cleared, and returns without waiting for it. Any machine may; a call
// that is not ready is left alone.
func (h *Host) Resume(ctx context.Context, p inbox.Principal, id inbox.CallID) error {
	call, err := h.inbox.Call(ctx, p, id)
	if err != nil {
		return err
	}
	if call.State != inbox.Ready || h.carries(id) {
		return nil
	}
	_, err = h.take(ctx, p, call)
	return err
}

// Auto carries a call to its end: it steps, and between the steps waits for
// whoever the call waits for. at, if not nil, is told of each stop before that,
// so that a program can show the questions, or answer them; its error ends Auto.
func (h *Host) Auto(ctx context.Context, p inbox.Principal, id inbox.CallID, at func(context.Context, *Stop) error) (*inbox.Call, error) {
	for {
		stop, err := h.Step(ctx, p, id)
		if err != nil {
			return nil, err
		}
		if stop.Done {
			return stop.Call, nil
		}
		if at != nil && stop.Why != Running {
			if err := at(ctx, stop); err != nil {
				return stop.Call, err
			}
		}
		if _, err := h.inbox.Wait(ctx, p, id, stop.Call.Version); err != nil {
			return stop.Call, err
		}
	}
}
