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
		stop := standing(call)
		if stop != nil && stop.Why == Held {
			// Held ends with the delivery; between the answer and that nobody is waited for.
			open, err := h.inbox.Questions(ctx, p, inbox.QuestionFilter{
				Call: id, States: []inbox.QuestionState{inbox.Open, inbox.Opened}, Limit: 1,
			})
			if err != nil {
				return nil, err
			}
			if len(open) == 0 {
				stop = nil
			}
		}
		if stop != nil {
			return stop, nil
		}
		ours := h.carriage(id)
		switch {
		case ours != nil:
			if err := h.waitFor(ctx, p, call, ours); err != nil {
				return nil, err
			}
		case call.State == inbox.Ready:
			if ok, err := h.take(ctx, p, call); err != nil {
				return nil, err
			} else if !ok {
				if err := h.closed(); err != nil {
					return nil, err
				}
				if err := h.pause(ctx, p, call); err != nil {
					return nil, err
				}
			}
		default:
			// Between this look and the end of a carriage the call may have moved.
			if now, err := h.inbox.Call(ctx, p, id); err != nil {
				return nil, err
			} else if now.Version == call.Version {
				return &Stop{Call: call, Why: Running}, nil
			}
		}
	}
}

// refusedPause is how long a ready call is left alone after the store refused to
// have it claimed.
const refusedPause = 100 * time.Millisecond

// pause waits until the call changes, for refusedPause at most.
func (h *Host) pause(ctx context.Context, p inbox.Principal, call *inbox.Call) error {
	waiting, cancel := context.WithTimeout(ctx, refusedPause)
	defer cancel()
	_, err := h.inbox.Wait(waiting, p, call.ID, call.Version)
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return nil
	}
	return err
}

// waitFor waits until the call changes or this machine's work on it is over.
func (h *Host) waitFor(ctx context.Context, p inbox.Principal, call *inbox.Call, c *carriage) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.done:
			cancel()
		case <-waiting.Done():
		}
	}()
	_, err := h.inbox.Wait(waiting, p, call.ID, call.Version)
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return nil
	}
	return err
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

// take claims a ready call and begins to work on it. It reports false if someone else was
// faster, and after waiting if it is to be left alone for a while.
func (h *Host) take(ctx context.Context, p inbox.Principal, call *inbox.Call) (bool, error) {
	claim, claimed, err := h.inbox.Claim(ctx, p, call.ID)
	switch {
	case errors.Is(err, inbox.ErrState):
		// NotBefore is in the store's time, so the store says how long that is.
		if refused, ok := errors.AsType[*inbox.StateError](err); ok && refused.Wait > 0 {
			return false, h.leaveAlone(ctx, min(refused.Wait, h.options.Poll))
		}
		return false, nil
	case errors.Is(err, inbox.ErrExpired):
		return false, nil
	case err != nil:
		return false, err
	}
	return h.begin(claim, claimed), nil
}

// leaveAlone waits, and no longer than the host works.
func (h *Host) leaveAlone(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	case <-h.stopping:
	}
	return nil
}

// closed returns ErrClosed once the host is stopping.
func (h *Host) closed() error {
	select {
	case <-h.stopping:
		return ErrClosed
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
	if call.State != inbox.Ready || h.carriage(id) != nil {
		return nil
	}
	_, err = h.take(ctx, p, call)
	return err
}

// Auto carries a call to its end: it steps, and between the steps waits for
// whoever the call waits for. at, if not nil, is told of each stop before that,
// so that a program can show the questions, or answer them; its error ends Auto.
// It needs no [Host.Run]: where that does not work, Auto does what time has made due
// while it waits, and tries servers again that could not be reached.
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
		if err := h.await(ctx, p, stop.Call); err != nil {
			return stop.Call, err
		}
	}
}

// await waits until the call changes. What changes it may be nothing but time: it
// expires, the lease of a machine that died ends, its server may be tried again.
func (h *Host) await(ctx context.Context, p inbox.Principal, call *inbox.Call) error {
	for !h.runs.Load() && h.enter() { // it begins goroutines of the host
		look := h.keepHouse(ctx)
		h.group.Done()
		waiting, cancel := context.WithTimeout(ctx, look)
		_, err := h.inbox.Wait(waiting, p, call.ID, call.Version)
		over := waiting.Err() != nil
		cancel()
		if err == nil || ctx.Err() != nil || !over {
			return err
		}
	}
	_, err := h.inbox.Wait(ctx, p, call.ID, call.Version)
	return err
}
