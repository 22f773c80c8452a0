package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Claim is the right to work on one call, until its lease ends. It carries the
// fencing number of the claim: once another machine has the call, or the person
// stopped it, every operation with the old claim is refused. A Claim is not
// changed by its use and may be shared by goroutines.
type Claim struct {
	Call      CallID
	Principal Principal

	// Limits of this call's server, in addition to those of [Options]: what it
	// asks beyond them is refused in the same transaction that counts. Set them
	// before the claim is used.
	Limits Limits

	owner string
	fence int64

	answers map[string]json.RawMessage // of a paused round; nobody changes them once it is claimed
}

// Limits bound what one server may ask of one person. A zero field is no limit.
type Limits struct {
	OpenQuestions      int // at once
	QuestionsPerMinute int
	Rounds             int // of one call
}

// lower is the lower one of two limits, of which the second may be none.
func lower(limit, other int) int {
	if other > 0 {
		return min(limit, other)
	}
	return limit
}

// Claim claims a given call that is ready.
func (in *Inbox) Claim(ctx context.Context, p Principal, id CallID) (*Claim, *Call, error) {
	return in.claim(ctx, p.Key(), id)
}

func (in *Inbox) claim(ctx context.Context, key string, id CallID) (*Claim, *Call, error) {
	var c *callRecord
	var expired error
	var answers map[string]json.RawMessage
	err := in.update(withAhead(ctx, Ahead{Of: id, Call: true, Questions: true}), key, func(w *work) (err error) {
		expired, answers, w.machine = nil, nil, true
		if c, err = w.call(id); err != nil {
			return err
		}
		before := c.State
		if err := w.expireDue(c, nil); err != nil {
			return err
		}
		if c.State != before { // its time has passed
			if expired = ErrExpired; c.State != CallExpired {
				expired = &StateError{Call: id, State: c.State, Op: "claim"}
			}
			return nil
		}
		if c.State != Ready || w.now.Before(c.NotBefore) {
			return &StateError{Call: id, State: c.State, Op: "claim", Wait: max(0, c.NotBefore.Sub(w.now))}
		}
		c.Fence++
		c.Owner = in.owner
		c.LeaseUntil = w.now.Add(in.options.Lease)
		if err := w.moveCall(c, Claimed, "", ""); err != nil {
			return err
		}
		if c.State != Claimed { // its person was disabled
			expired = &StateError{Call: id, State: c.State, Op: "claim"}
			return nil
		}
		answers, err = w.answers(c)
		return err
	})
	if err == nil {
		err = expired
	}
	if err != nil {
		return nil, nil, err
	}
	return &Claim{Call: c.ID, Principal: c.Principal, owner: in.owner, fence: c.Fence, answers: answers}, c.copy(), nil
}

// with runs f in a write transaction on the claimed call and extends the lease
// if the claim still has one afterwards. The context may say what f reads ([Ahead]).
func (in *Inbox) with(ctx context.Context, claim *Claim, op string, states []CallState, f func(*work, *callRecord) error) (*Call, error) {
	var c *callRecord
	ahead := AheadOf(ctx)
	ahead.Of, ahead.Call = claim.Call, true
	err := in.update(withAhead(ctx, ahead), claim.Principal.Key(), func(w *work) (err error) {
		w.machine = true
		if c, err = w.claimed(claim); err != nil {
			return err
		}
		if !slices.Contains(states, c.State) {
			return &StateError{Call: c.ID, State: c.State, Op: op}
		}
		if err := f(w, c); err != nil {
			return err
		}
		if c.State == Claimed || c.State == Sent {
			c.LeaseUntil = w.now.Add(in.options.Lease)
			w.touchQuietly(c)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c.copy(), nil
}

// claimed returns the call if the claim still holds. A lease whose time has
// passed still holds while nobody has acted on it: the fence decides, not the clock.
func (w *work) claimed(claim *Claim) (*callRecord, error) {
	c, err := w.lookUp(claim)
	if err != nil {
		return nil, err
	}
	if err := c.heldBy(claim); err != nil {
		return nil, err
	}
	return c, nil
}

// heldBy says what became of a claim that its call has no other of, if it is lost.
func (c *callRecord) heldBy(claim *Claim) error {
	if c.Owner == claim.owner && (c.State == Claimed || c.State == Sent) {
		return nil
	}
	switch c.State {
	case Stopped:
		return ErrStopped
	case CallExpired:
		return ErrExpired
	}
	return ErrFenced
}

// lookUp returns the call of a claim if nobody claimed it since. One that was
// erased is as lost as one that another machine has.
func (w *work) lookUp(claim *Claim) (*callRecord, error) {
	c, err := w.call(claim.Call)
	if errors.Is(err, ErrNotFound) || err == nil && c.Fence != claim.fence {
		return nil, ErrFenced
	}
	return c, err
}

var (
	onlyClaimed   = []CallState{Claimed}
	onlySent      = []CallState{Sent}
	claimedOrSent = []CallState{Claimed, Sent}
)

// Renew extends the lease and returns the call. Do it every third of
// Options.Lease, and treat the claim as lost once a whole lease has passed
// without a success.
func (in *Inbox) Renew(ctx context.Context, claim *Claim) (*Call, error) {
	return in.with(ctx, claim, "renew", claimedOrSent, func(*work, *callRecord) error { return nil })
}

// Release gives a claimed call back; nothing of it was sent.
func (in *Inbox) Release(ctx context.Context, claim *Claim) error {
	_, err := in.with(ctx, claim, "release", onlyClaimed, func(w *work, c *callRecord) error {
		return w.moveCall(c, Ready, "", "")
	})
	return err
}

// Binding is what a call is bound to by its first send. Empty fields leave
// what is stored.
type Binding struct {
	Era         Era
	Endpoint    string
	Fingerprint string // of the tool: name and input schema

	// Within is that of [Inbox.Resend] as it would be now; negative: the call may not be sent
	// again by itself any more. It is for nothing but a call that is to be.
	Within time.Duration

	// Allowed is what the policy said just before. Nil: none was asked.
	Allowed *Allowed
}

// Mark commits that the request may leave. It is called before the first byte,
// and the request is sent only if it returns no error. A call that has a
// paused round is refused with ErrInvalid if the binding is another one than
// it was parked with: block it then. A call whose approval is gone, since a standing one
// was revoked after [Inbox.Ask], waits for another one, and the mark is refused with
// [ErrRevoked]. One that is to be sent again by itself, and waited for longer than
// [Inbox.Resend] or Binding.Within says, is uncertain again, and the mark is refused with ErrFenced.
func (in *Inbox) Mark(ctx context.Context, claim *Claim, b Binding) (*Call, error) {
	if err := checkText("the binding", b.Endpoint, b.Fingerprint); err != nil {
		return nil, err
	}
	if b.Era != "" && b.Era != Legacy && b.Era != Modern {
		return nil, fmt.Errorf("%w: the era is legacy or modern", ErrInvalid)
	}
	if err := b.Allowed.check(); err != nil {
		return nil, err
	}
	var refused error // committed beside it: the end that refuses the mark
	c, err := in.with(ctx, claim, "mark", onlyClaimed, func(w *work, c *callRecord) error {
		refused = nil
		if w.passed(c.Deadline) {
			err := w.expireCall(c)
			refused = c.heldBy(claim)
			return err
		}
		if err := w.enabled(); errors.Is(err, ErrDisabled) {
			refused = fmt.Errorf("%w: %w", ErrFenced, err)
			return w.cutOff(c)
		} else if err != nil {
			return err
		}
		if c.RoundSends == 0 {
			// A version before this was known leaves it when the round is over.
			c.resending, c.resendUntil = false, time.Time{}
		}
		if refused = w.resendable(c, b.Within); refused != nil {
			return w.tooLateToResend(c, refused)
		}
		if err := c.bind(b); err != nil {
			return err
		}
		by, fits, err := w.allowed(c, b.Allowed)
		if err != nil {
			return err
		}
		if !fits {
			refused = fmt.Errorf("%w: %w", ErrFenced, ErrRevoked)
			return w.ask(c, b.Allowed.Ask)
		}
		c.Sends++
		c.RoundSends++
		c.Deaths, c.Delivered = 0, 0
		if err := w.tellMark(c, b.Allowed, by); err != nil {
			return err
		}
		return w.moveCall(c, Sent, "", "")
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// bind remembers to whom a call goes. One with a paused round goes to nobody else.
func (c *callRecord) bind(b Binding) error {
	paused := c.Round > 0 || c.RequestState != ""
	for _, part := range []struct{ stored, now *string }{
		{(*string)(&c.Era), (*string)(&b.Era)}, {&c.Endpoint, &b.Endpoint}, {&c.Fingerprint, &b.Fingerprint},
	} {
		if *part.now == "" {
			continue
		}
		if paused && *part.stored != "" && *part.stored != *part.now {
			return fmt.Errorf("%w: the server has changed since the call was parked", ErrInvalid)
		}
		*part.stored = *part.now
	}
	return nil
}

// asked reports whether the server called back during this send, which proves
// that something ran.
func (c *Call) asked() bool { return c.State == Sent && (c.Held || c.Delivered > 0) }

// NothingRan makes a sent call ready again, on proof: no byte of the request
// left, or the server does not know the session. If the person wants it
// stopped it ends stopped.
func (in *Inbox) NothingRan(ctx context.Context, claim *Claim, reason string) (*Call, error) {
	if err := checkText("reason", reason); err != nil {
		return nil, err
	}
	return in.with(ctx, claim, "send again", onlySent, func(w *work, c *callRecord) error {
		if c.asked() {
			return &StateError{Call: c.ID, State: c.State, Op: "send again after a held question"}
		}
		if c.StopWanted {
			return w.moveCall(c, Stopped, ReasonStopped, "You stopped it. "+c.unsent())
		}
		return w.moveCall(c, Ready, reason, "")
	})
}

// Again makes a sent call ready again because the server gave request state
// without questions. At most Options.Rounds times in a row; then the call ends
// failed with too_many_rounds. It is not claimed before the time after has passed.
func (in *Inbox) Again(ctx context.Context, claim *Claim, requestState string, after time.Duration) (*Call, error) {
	return in.with(ctx, claim, "send again", onlySent, func(w *work, c *callRecord) error {
		switch {
		case c.asked():
			return &StateError{Call: c.ID, State: c.State, Op: "send again after a held question"}
		case c.StopWanted:
			return w.moveCall(c, Stopped, ReasonStopped, "You stopped it while the server was still at work.")
		case errors.Is(w.enabled(), ErrDisabled):
			return w.moveCall(c, Denied, ReasonDisabled, disabledSentence+"Nothing more was sent.")
		case len(requestState) > maxParams:
			return w.moveCall(c, Failed, ReasonTooLarge, "The server sent more state than fits.")
		case c.agains >= in.options.Rounds:
			return w.moveCall(c, Failed, ReasonTooManyRounds, "The server asked to be called again too often.")
		}
		c.agains++
		c.RequestState, c.EmptyState, c.Deadline = requestState, false, time.Time{}
		// The answers have been taken: the next send carries none.
		c.Round++
		c.RoundSends, c.MarkedBefore, c.asks = 0, false, 0
		c.resending, c.resendUntil = false, time.Time{}
		if err := w.moveCall(c, Ready, "", ""); err != nil {
			return err
		}
		if c.State == Ready {
			w.notBefore(c, after)
		}
		return nil
	})
}

// notBefore lets a ready call wait. The wait is added to the time of the store, which
// decides: the clocks of machines differ.
func (w *work) notBefore(c *callRecord, after time.Duration) {
	if after > 0 {
		c.NotBefore = w.now.Add(after).UTC().Truncate(time.Microsecond)
	}
}

// Outcome is how a call ends.
type Outcome struct {
	State   CallState // Done, Failed or Lapsed; Stopped if stop was wanted; Interrupted for a held call of which no answer was delivered
	Reason  string    // a stable code
	Detail  string    // one plain sentence for people
	Result  json.RawMessage
	IsError bool // Result is a JSON-RPC error object

	// Refused is what the server asked with a result, if the call ends because the policy
	// does not let it be shown.
	Refused *RefusedQuestion
}

func (o *Outcome) check() error {
	if len(o.Result) > maxResult {
		return &LimitError{Reason: ReasonTooLarge, Limit: maxResult}
	}
	if err := o.Refused.check(); err != nil {
		return err
	}
	return checkText("reason and detail", o.Reason, o.Detail)
}

// Finish ends a call as the wire said. A claimed call, of which nothing was
// sent, can only be failed.
func (in *Inbox) Finish(ctx context.Context, claim *Claim, o Outcome) (*Call, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return in.with(ctx, claim, "finish", claimedOrSent, func(w *work, c *callRecord) error {
		allowed := false
		switch o.State {
		case Failed:
			allowed = true
		case Done, Lapsed:
			allowed = c.State == Sent
		case Stopped:
			allowed = c.State == Sent && c.StopWanted
		case Interrupted:
			allowed = c.State == Sent && c.Held && c.Delivered == 0
		}
		if !allowed {
			return &StateError{Call: c.ID, State: c.State, Op: "to end " + string(o.State)}
		}
		return w.finish(c, o)
	})
}

func (w *work) finish(c *callRecord, o Outcome) error {
	c.Result, c.IsError = append(json.RawMessage(nil), o.Result...), o.IsError
	if o.Refused != nil {
		c.Rule = o.Refused.Rule
		if err := w.notShown(c, o.Refused); err != nil {
			return err
		}
	}
	return w.moveCall(c, o.State, o.Reason, o.Detail)
}

// Uncertain records that no reply came and that nothing proves that nothing
// ran. The claim stays good for [Inbox.LateReply] and [Inbox.Resend].
func (in *Inbox) Uncertain(ctx context.Context, claim *Claim, detail string) (*Call, error) {
	if err := checkText("detail", detail); err != nil {
		return nil, err
	}
	return in.with(ctx, claim, "uncertain", onlySent, func(w *work, c *callRecord) error {
		return w.lose(c, ReasonNoReply, detail)
	})
}

// lose makes a sent call uncertain.
func (w *work) lose(c *callRecord, reason, detail string) error {
	if c.StopWanted {
		reason, detail = ReasonStopped, "You stopped it. It may have happened."
	}
	return w.moveCall(c, Uncertain, reason, detail)
}

// uncertain returns the call if it is uncertain since this claim.
func (w *work) uncertain(claim *Claim, op string) (*callRecord, error) {
	c, err := w.lookUp(claim)
	if err != nil {
		return nil, err
	}
	if c.State != Uncertain {
		return nil, &StateError{Call: c.ID, State: c.State, Op: op}
	}
	return c, nil
}

// Reply is what came late: an outcome (Done or Failed), or questions.
type Reply struct {
	Outcome *Outcome
	Asked   *Asked
}

// LateReply takes a reply that came after the call was given up as uncertain,
// if it is still uncertain and nothing was sent since.
func (in *Inbox) LateReply(ctx context.Context, claim *Claim, r Reply) (*Call, error) {
	if (r.Outcome == nil) == (r.Asked == nil) {
		return nil, fmt.Errorf("%w: a late reply is an outcome or questions", ErrInvalid)
	}
	if r.Outcome != nil {
		if err := r.Outcome.check(); err != nil {
			return nil, err
		}
		if s := r.Outcome.State; s != Done && s != Failed {
			return nil, fmt.Errorf("%w: a late outcome is done or failed", ErrInvalid)
		}
	}
	var c *callRecord
	err := in.update(ctx, claim.Principal.Key(), func(w *work) (err error) {
		w.machine = true
		if c, err = w.uncertain(claim, "late reply"); err != nil {
			return err
		}
		if r.Outcome != nil {
			return w.finish(c, *r.Outcome)
		}
		return w.park(c, *r.Asked, claim.Limits)
	})
	if err != nil {
		return nil, err
	}
	return c.copy(), nil
}
