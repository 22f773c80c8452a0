package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Resend makes an uncertain call ready without asking the person, at most
// three times per round, and not before the time after has passed. Only the host
// knows whether it may: the server is trusted and the tool idempotent, or it keeps
// idempotency keys.
//
// A server keeps those for a time. within is how long after the call was composed it
// may still be sent so; zero: for ever. The store's clock decides, and again with the
// mark: a call that waited for longer, since its server could not be reached or an
// approval took days, is not sent but uncertain again, and a person decides. So does one
// if what made it safe does not hold any more by then: see [Binding]. A Resend
// that would be too late is a [LimitError], and the call stays uncertain.
func (in *Inbox) Resend(ctx context.Context, claim *Claim, after, within time.Duration) (*Call, error) {
	var c *callRecord
	err := in.update(ctx, claim.Principal.Key(), func(w *work) (err error) {
		w.machine = true
		if c, err = w.uncertain(claim, "resend"); err != nil {
			return err
		}
		if c.StopWanted || c.Delivered > 0 {
			return &StateError{Call: c.ID, State: c.State, Op: "resend"}
		}
		if err := w.enabled(); err != nil {
			return err
		}
		if c.Resends >= maxResends {
			return &LimitError{Reason: ReasonTooManyResends, Limit: maxResends}
		}
		var until time.Time
		if within > 0 {
			until = c.Created.Add(within).UTC().Truncate(time.Microsecond)
		}
		if !until.IsZero() && !w.now.Add(max(after, 0)).Before(until) {
			return &LimitError{Reason: ReasonTooLateToResend, Limit: int(within.Seconds())}
		}
		c.Resends++
		if err := w.sendAgain(c); err != nil {
			return err
		}
		c.resending, c.resendUntil = true, until
		w.notBefore(c, after)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c.copy(), nil
}

// Errors that refuse a mark.
var (
	errTooLateToResend = fmt.Errorf("%w: it may not be sent again by itself any more", ErrFenced)
	errUnsafeToResend  = fmt.Errorf("%w: what made it safe to send it again does not hold any more", ErrFenced)
)

// resendable says why a call may not be sent again by itself, if that is what is to
// happen. within is as of now: the server, or what the operator says of it, may have
// changed while the call waited.
func (w *work) resendable(c *callRecord, within time.Duration) error {
	switch {
	case w.passed(c.resendUntil), c.resending && within > 0 && w.passed(c.Created.Add(within)):
		return errTooLateToResend
	case c.resending && within < 0:
		return errUnsafeToResend
	}
	return nil
}

// tooLateToResend makes a call uncertain again that was to be sent again by itself,
// and was not in time, or while it was safe.
func (w *work) tooLateToResend(c *callRecord, why error) error {
	c.resending, c.resendUntil = false, time.Time{}
	by := "by now it may not know any more that it was asked"
	if errors.Is(why, errUnsafeToResend) {
		by = "by now nothing says any more that asking it twice does no harm"
	}
	return w.moveCall(c, Uncertain, ReasonTooLateToResend,
		"The server gave no reply, and "+by+". It may have happened; if it is sent again, it may happen twice.")
}
