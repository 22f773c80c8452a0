package vault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// flightKey is what callers of one process share a renewal by.
type flightKey struct {
	principal string
	grant     GrantID
	refused   int64 // the generation that a 401 refused; 0: the token's time has come
}

// flight is one renewal that any number of callers wait for.
type flight struct {
	done chan struct{}
	g    *grant // after done: a grant whose token is good, or
	err  error
}

// fly joins the renewal of the grant that is under way in this process, or
// begins one. It lives longer than its callers: cut in the middle, a refresh
// would lose the grant. Its bounds are its own.
func (v *Vault) fly(ctx context.Context, g *grant, refused int64, purpose string) *flight {
	key := flightKey{principal: g.p.Key(), grant: g.id(), refused: refused}
	v.mu.Lock()
	defer v.mu.Unlock()
	if f, ok := v.flights[key]; ok {
		return f
	}
	f := &flight{done: make(chan struct{})}
	if v.closed {
		f.err = ErrClosed
		close(f.done)
		return f
	}
	v.flights[key] = f
	ctx = context.WithoutCancel(ctx)
	v.running.Go(func() {
		f.g, f.err = v.renew(ctx, g.p, g.id(), refused, purpose)
		v.mu.Lock()
		delete(v.flights, key)
		v.mu.Unlock()
		close(f.done)
	})
	return f
}

// wait waits for the flight, for as long as the caller has time and patience.
func (v *Vault) wait(ctx context.Context, f *flight, patience <-chan time.Time) (*grant, error) {
	select {
	case <-f.done:
		return f.g, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-patience:
		return nil, errPatience
	}
}

var errPatience = errors.New("vault: the renewal takes longer than the patience for it")

// renew brings the grant to a token that is not due, and not the refused one.
//
//	lease ── secrets, audit ── intent ── request ── settle
//
// Each but the request is a transaction of its own. The lease keeps other
// machines out, by the store's clock, and has a fencing number: what a machine
// does under an older one is refused. The intent is committed right before the
// request, so that a crash leaves one of two things: no intent, and the refresh
// token was not used; or an intent, and it may have been.
func (v *Vault) renew(ctx context.Context, p Principal, id GrantID, refused int64, purpose string) (*grant, error) {
	// Somebody else's lease may have to end first.
	ctx, cancel := context.WithTimeout(ctx, 2*v.options.lease()+v.options.CommitFor)
	defer cancel()
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		step, err := v.takeLease(ctx, p, id, refused)
		switch {
		case err != nil:
			return nil, err
		case step.err != nil:
			return nil, step.err
		case step.done:
			return step.g, nil
		case step.leased:
			g, err := v.refresh(ctx, step, purpose)
			if !errors.Is(err, errOvertaken) {
				return g, err
			}
			continue
		}
		// Another machine is at it. Hints between machines are not worth
		// their trouble here: a refresh takes some hundred milliseconds.
		select {
		case <-time.After(min(pause, max(step.busy, time.Millisecond))):
		case <-ctx.Done():
			return nil, &WaitError{Grant: id, RetryAfter: time.Second}
		}
	}
}

// errOvertaken: somebody else has the grant now; look again.
var errOvertaken = errors.New("vault: overtaken")

// leaseStep is what a try to take the lease found.
type leaseStep struct {
	g      *grant
	fence  int64
	done   bool          // there is nothing to do any more
	leased bool          // the caller has the lease
	busy   time.Duration // else: how long the lease of somebody else can last
	err    error         // committed with the transaction, if it wrote something
}

func (v *Vault) takeLease(ctx context.Context, p Principal, id GrantID, refused int64) (step leaseStep, err error) {
	err = v.store.Update(ctx, p.Key(), func(tx Tx) error {
		step = leaseStep{}
		g, err := v.loadGrant(tx, p, id)
		if err != nil {
			return err
		}
		g.refused = refused
		step.g = g
		now := tx.Now()
		if refused != 0 && g.d.Generation != refused || refused == 0 && !g.due(now, v.options.Margin) {
			step.done = true
			return nil
		}
		if refused != 0 {
			if err := g.rejected(now); err != nil {
				return err
			}
		}
		if now.Before(g.d.LeaseUntil) {
			step.busy = g.d.LeaseUntil.Sub(now)
			return nil
		}
		if err := g.trouble(now); err != nil {
			return err
		}
		if !g.d.IntentAt.IsZero() {
			// Whoever had the lease has died, or hangs, in the middle of a request.
			if step.err, err = v.lost(g, now); err != nil {
				return err
			}
			if step.err != nil {
				return g.put(tx)
			}
		}
		g.d.Fence++
		g.d.LeaseUntil, g.d.LeaseOwner = now.Add(v.options.lease()), v.options.Machine
		step.leased, step.fence = true, g.d.Fence
		return g.put(tx)
	})
	return step, err
}

// lost notes that the answer to a request was lost, and decides whether the
// refresh token may be used again. If not the error says that the person has
// to consent again.
func (v *Vault) lost(g *grant, now time.Time) (reconnect error, err error) {
	g.d.Lost++
	if g.d.LostFirst.IsZero() {
		g.d.LostFirst = g.d.IntentAt
	}
	g.release()
	r, err := v.openRecord(g)
	if err != nil {
		return nil, err
	}
	if g.mayRepeat(r.Terms, now) {
		return nil, nil
	}
	g.row.Status, g.d.Reason = string(ReconnectNeeded), ReasonLostReply
	return g.reconnect(ReasonLostReply), nil
}

// maxLost is how often a refresh token that rotates is used again within the
// provider's grace. Each try is a cool-down or a lease after the one before.
const maxLost = 10

// mayRepeat reports whether a refresh token may be used again after a request
// whose answer was lost.
func (g *grant) mayRepeat(t Terms, now time.Time) bool {
	if t.Renewal.Rotation == RotationNever || t.Renewal.By != RenewByRefreshToken && t.Renewal.Rotation != RotationAlways {
		return true
	}
	if t.Renewal.Rotation == RotationUnknown && !g.d.Rotates {
		return true
	}
	switch grace := t.Renewal.Grace; {
	case g.d.Lost > maxLost:
		return false
	case grace == GraceUntilUse:
		return true
	default:
		return grace > 0 && now.Sub(g.d.LostFirst) < grace
	}
}

// refresh does what the holder of a lease does.
func (v *Vault) refresh(ctx context.Context, step leaseStep, purpose string) (*grant, error) {
	g := step.g
	request, f, err := v.request(ctx, g, purpose)
	if err != nil {
		v.giveBack(ctx, g, step.fence)
		return nil, err
	}
	began := time.Now()
	err = v.store.Update(ctx, g.p.Key(), func(tx Tx) error {
		now, err := v.loadGrant(tx, g.p, g.id())
		if err != nil {
			return err
		}
		if now.d.Fence != step.fence {
			return errOvertaken
		}
		now.d.IntentAt = tx.Now()
		now.d.LeaseUntil = tx.Now().Add(v.options.lease())
		return now.put(tx)
	})
	if err != nil {
		// It may be committed all the same. giveBack knows that nothing was
		// sent; if it fails too, the intent counts as a lost answer.
		v.giveBack(ctx, g, step.fence)
		return nil, err
	}
	// The lease is trusted for half of its time, by this machine's own clock: a
	// process that was stopped in between sends nothing.
	if time.Since(began) > v.options.lease()/2 {
		return v.settle(ctx, g, f, step.fence, began, Tokens{}, &EndpointError{Class: NotSent, Err: errors.New("the machine was too slow")})
	}
	tokens, failed := v.send(ctx, request)
	return v.settle(ctx, g, f, step.fence, began, tokens, failed)
}

// request opens what the request needs, once the audit has agreed.
func (v *Vault) request(ctx context.Context, g *grant, purpose string) (RefreshRequest, fields, error) {
	if v.options.Endpoint == nil {
		return RefreshRequest{}, nil, g.reconnect(ReasonNotRenewable)
	}
	event := Event{
		Action: ActionRenew, Principal: g.p, Kind: KindGrant, ID: g.row.ID, Provider: g.row.Provider, Label: g.row.Name,
		Fields: []string{fieldAccess, fieldRefresh, fieldClientSecret}, Purpose: purpose,
	}
	if err := v.audit(ctx, event); err != nil {
		return RefreshRequest{}, nil, err
	}
	f, err := v.open(g.p, g.row, g.d.Generation)
	if err != nil {
		return RefreshRequest{}, nil, err
	}
	r, err := readRecord(g.row, f)
	if err != nil {
		return RefreshRequest{}, nil, err
	}
	client, err := v.clientOf(ctx, r.Terms)
	if err != nil {
		return RefreshRequest{}, nil, err
	}
	request := RefreshRequest{Provider: g.row.Provider, Terms: r.Terms.clone(), Client: client, Scopes: r.Scopes}
	switch r.Terms.Renewal.By {
	case RenewByRefreshToken:
		request.Refresh = NewSecret(string(f[fieldRefresh]))
	case RenewByAccessToken:
		if request.Access, _, _, err = unpackAccess(g.row, f[fieldAccess]); err != nil {
			return RefreshRequest{}, nil, err
		}
	}
	return request, f, nil
}

// send sends the request, once. An endpoint that panics, or answers without a
// token, has lost the answer.
func (v *Vault) send(ctx context.Context, request RefreshRequest) (tokens Tokens, failed *EndpointError) {
	ctx, cancel := context.WithTimeout(ctx, v.options.RequestTimeout)
	defer cancel()
	defer func() {
		if recover() != nil { // its text may quote a token
			tokens, failed = Tokens{}, &EndpointError{Class: Lost, Err: errors.New("the endpoint's client panicked")}
		}
	}()
	tokens, err := v.options.Endpoint.Refresh(ctx, request)
	switch {
	case err != nil:
		return Tokens{}, classify(err)
	case tokens.Access.IsZero(), len(tokens.Access.Reveal()) > maxSecret, len(tokens.Refresh.Reveal()) > maxSecret:
		return Tokens{}, &EndpointError{Class: Lost, Err: errors.New("the answer has no token that can be stored")}
	}
	tokens.Lifetime = min(max(tokens.Lifetime, 0), maxLifetime)
	return tokens, nil
}

// classify finds the class of an endpoint's error. One without a class proves
// nothing, so the request may have arrived.
func classify(err error) *EndpointError {
	failed, ok := errors.AsType[*EndpointError](err)
	if !ok {
		return &EndpointError{Class: Lost, Err: fmt.Errorf("an error without a class (%T)", err)}
	}
	// Its cause is not kept: endpoints' clients like to quote what they sent.
	clean := EndpointError{Class: failed.Class, Status: failed.Status, Code: failed.Code, RetryAfter: failed.RetryAfter}
	switch clean.Class {
	case InvalidGrant, Refused, Unavailable, NotSent, Lost:
	default:
		clean.Class = Lost
	}
	if len(clean.Code) > 64 || strings.Trim(clean.Code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		clean.Code = ""
	}
	return &clean
}

// giveBack ends a lease under which nothing was sent. If that fails the lease
// ends by itself.
func (v *Vault) giveBack(ctx context.Context, g *grant, fence int64) {
	err := v.store.Update(ctx, g.p.Key(), func(tx Tx) error {
		now, err := v.loadGrant(tx, g.p, g.id())
		if err != nil || now.d.Fence != fence {
			return err
		}
		now.release()
		return now.put(tx)
	})
	if err != nil && !errors.Is(err, ErrNotFound) {
		v.options.Log.Warn("a renewal's lease was not given back", "grant", g.row.ID, "err", err)
	}
}
