package inbox

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Block records that something else has to happen before the call goes on: a
// sign-in, a server that is gone or has changed. With the reason unreachable
// [Inbox.Sweep] of any machine lets it go on at NotBefore, so that it is tried
// again: after 5 s, twice as long each time, and then every 15 minutes, or earlier with
// [Inbox.UnblockFor]. A sent call may be blocked
// only on an answer that proves that nothing ran (401, 403 with a challenge);
// if the person wants it stopped it ends stopped.
func (in *Inbox) Block(ctx context.Context, claim *Claim, reason, detail string) (*Call, error) {
	if err := checkText("reason and detail", reason, detail); err != nil {
		return nil, err
	}
	return in.with(ctx, claim, "block", claimedOrSent, func(w *work, c *callRecord) error {
		if c.StopWanted {
			return w.moveCall(c, Stopped, ReasonStopped, "You stopped it. "+c.unsent())
		}
		if c.asked() {
			return &StateError{Call: c.ID, State: c.State, Op: "block after a held question"}
		}
		return w.block(c, reason, detail)
	})
}

// How long a call whose server cannot be reached waits before it is tried again.
const (
	firstRetry = 5 * time.Second
	lastRetry  = 15 * time.Minute
)

// tried says that a machine tries to send the call, again and again perhaps: the time in
// which it cannot counts from the first. In other states a person has it, or the server.
func (s CallState) tried() bool { return s == Ready || s == Claimed || s == Blocked }

// stillTried says that the time goes on. A send proves that the server is there, but not
// that the person has signed in: the answer to it may be that they have not.
func (c *callRecord) stillTried(from, to CallState) bool {
	return from.tried() && to.tried() || c.signIn && (from.tried() && to == Sent || from == Sent && to == Blocked)
}

// tryAnew ends the time in which the call could not be sent.
func (c *callRecord) tryAnew() { c.blocks, c.blockedAt, c.signIn = 0, time.Time{}, false }

// block counts how often in a row: the time that a call may be blocked does not
// begin anew with each try. It does with the first wish for a sign-in: what could not be
// used before that takes nothing from the person's time.
func (w *work) block(c *callRecord, reason, detail string) error {
	if err := w.moveCall(c, Blocked, reason, detail); err != nil || c.State != Blocked {
		return err
	}
	if c.blockedAt.IsZero() || reason == ReasonSignIn && !c.signIn {
		c.blocks, c.blockedAt, c.signIn = 0, w.now, reason == ReasonSignIn
	}
	c.ExpiresAt = sooner(c.blockedAt.Add(w.in.options.BlockedTime), c.Deadline)
	if reason == ReasonUnreachable {
		c.NotBefore = w.now.Add(min(firstRetry<<min(c.blocks, 10), lastRetry))
		c.blocks++
	}
	return nil
}

// BlockWaiting blocks all waiting calls of a server that was removed or has
// changed. It returns how many it blocked.
func (in *Inbox) BlockWaiting(ctx context.Context, server, reason, detail string) (int, error) {
	if err := checkText("reason and detail", reason, detail); err != nil {
		return 0, err
	}
	return in.each(ctx, server, Waiting, func(w *work, c *callRecord) (bool, error) {
		return true, w.block(c, reason, detail)
	})
}

// BlockReady blocks the calls of a server that was removed which have been ready for
// at least age and which no machine has claimed. It returns how many it blocked. With an
// age it blocks none while some machine has a call of the server claimed or sent: that one
// serves it and is only busy, and calls that are blocked and let go on again lose their
// place among those that are ready.
func (in *Inbox) BlockReady(ctx context.Context, server string, age time.Duration, reason, detail string) (int, error) {
	if err := checkText("reason and detail", reason, detail); err != nil {
		return 0, err
	}
	if age > 0 {
		for _, state := range claimedOrSent {
			if n, err := in.store.CountCalls(ctx, server, state, 1); err != nil || n > 0 {
				return 0, err
			}
		}
	}
	return in.each(ctx, server, Ready, func(w *work, c *callRecord) (bool, error) {
		since := c.Updated
		if c.NotBefore.After(since) {
			since = c.NotBefore
		}
		if w.now.Sub(since) < age {
			return false, nil
		}
		return true, w.block(c, reason, detail)
	})
}

// Servers lists the servers of which calls wait for a person, are ready or are
// blocked, of everybody. A host blocks those of servers that it does not have any more
// ([Inbox.BlockWaiting], [Inbox.BlockReady]) and unblocks those that are back.
func (in *Inbox) Servers(ctx context.Context) ([]string, error) {
	return in.store.Servers(ctx, []CallState{Waiting, Ready, Blocked})
}

// Unblock lets the server's blocked calls go on, of everybody, if their reason
// is one of reasons or none is given. It returns how many went on. One that cannot be
// read stays blocked: nothing could be sent of it. The time that they may be blocked goes
// on: a machine that starts tries them all, and proves nothing by that.
func (in *Inbox) Unblock(ctx context.Context, server string, reasons ...string) (int, error) {
	return in.each(ctx, server, Blocked, func(w *work, c *callRecord) (bool, error) {
		if c.fault != nil || len(reasons) > 0 && !slices.Contains(reasons, c.Reason) {
			return false, nil //nolint:nilerr // nothing could be sent of what cannot be read
		}
		return true, w.unblock(c)
	})
}

// UnblockFor is Unblock for the calls of one person, such as after their sign-in, which
// ends the time that a call was blocked for it.
func (in *Inbox) UnblockFor(ctx context.Context, p Principal, server string, reasons ...string) (int, error) {
	n := 0
	err := in.update(ctx, p.Key(), func(w *work) error {
		n, w.machine = 0, true
		rows, err := w.tx.Calls(CallQuery{Server: server, States: []CallState{Blocked}})
		if err != nil {
			return err
		}
		for _, row := range rows {
			c, err := w.anyCall(row.ID)
			if err != nil {
				return err
			}
			if c.fault != nil || len(reasons) > 0 && !slices.Contains(reasons, c.Reason) {
				continue
			}
			if c.Reason == ReasonSignIn {
				c.tryAnew() // the time was the person's
			}
			if err := w.unblock(c); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

func (w *work) unblock(c *callRecord) error {
	if w.passed(c.Deadline) {
		return w.expireCall(c)
	}
	open, expired, err := w.tally(c)
	switch {
	case err != nil:
		return err
	case open > 0:
		return w.moveCall(c, Waiting, "", "")
	case expired && c.RoundSends == 0:
		return w.moveCall(c, CallExpired, ReasonUnanswered, "Nobody answered in time. "+c.unsent())
	}
	return w.moveCall(c, Ready, "", "")
}

// each runs f on every call of a server that is in the state, each in its own
// transaction, and counts for how many it reports true. A row that fails does
// not keep it from the others, and one that was erased meanwhile is none.
func (in *Inbox) each(ctx context.Context, server string, state CallState, f func(*work, *callRecord) (bool, error)) (int, error) {
	const batch = 100
	var faults []error
	n := 0
	for after := CallID(""); ; {
		refs, err := in.store.Find(ctx, server, state, after, batch)
		if err != nil {
			return n, errors.Join(append(faults, err)...)
		}
		for _, ref := range refs {
			counts := false
			err := in.update(ctx, ref.Principal, func(w *work) error {
				counts, w.machine = false, true
				c, err := w.anyCall(ref.Call)
				if err != nil || c.State != state {
					return err
				}
				counts, err = f(w, c)
				return err
			})
			switch {
			case err == nil && counts:
				n++
			case err != nil && !errors.Is(err, ErrNotFound):
				faults = append(faults, err)
			}
			after = ref.Call
		}
		if len(refs) < batch {
			return n, errors.Join(faults...)
		}
		if err := ctx.Err(); err != nil {
			return n, errors.Join(append(faults, err)...)
		}
	}
}
