package vault

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"
)

// settle commits what a request has come to, and returns the grant to go on
// with. A new pair is precious: while the store does not take it, it is offered
// again, for [Options.CommitFor].
func (v *Vault) settle(ctx context.Context, g *grant, f fields, fence int64, began time.Time, tokens Tokens, failed *EndpointError) (*grant, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), v.options.CommitFor)
	defer cancel()
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		var result *grant
		var outcome error
		err := v.store.Update(ctx, g.p.Key(), func(tx Tx) (err error) {
			result, outcome = nil, nil
			if failed == nil {
				result, outcome, err = v.settleTokens(tx, g, f, fence, began, tokens)
			} else {
				result, outcome, err = v.settleFailure(tx, g, fence, failed)
			}
			return err
		})
		if err == nil {
			if errors.Is(outcome, ErrNotFound) {
				v.wake() // there may be something to revoke
			}
			return result, outcome
		}
		if !errors.Is(err, errWait) {
			v.options.Log.Warn("a renewal's outcome is not stored yet", "grant", g.row.ID, "err", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			if failed == nil && !errors.Is(err, errWait) {
				v.options.Log.Error("a renewed token was lost: the store did not take it", "grant", g.row.ID)
			}
			return nil, err
		}
	}
}

// errWait: another machine's lease has to end before this outcome can be judged.
var errWait = errors.New("vault: another machine is renewing the grant")

// standing is how the row is, compared with what a request was sent for.
type standing int

const (
	mine    standing = iota // nobody has taken the lease since
	late                    // somebody has, came to nothing, and is gone
	busy                    // somebody has, and is at it
	newer                   // somebody has stored other secrets since
	deleted                 // the grant is gone
)

func (v *Vault) stands(tx Tx, g *grant, fence int64) (*grant, standing, error) {
	now, err := v.loadGrant(tx, g.p, g.id())
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, deleted, nil
	case err != nil:
		return nil, 0, err
	case now.d.Generation != g.d.Generation:
		return now, newer, nil
	case now.d.Fence == fence:
		return now, mine, nil
	case tx.Now().Before(now.d.LeaseUntil):
		return now, busy, nil
	}
	return now, late, nil
}

// settleTokens stores a new pair. Fencing: never over a newer one. If the row
// still has the secrets that the request was sent with, this pair is the newest
// that there is, even if it comes late and others gave up meanwhile.
func (v *Vault) settleTokens(tx Tx, g *grant, f fields, fence int64, began time.Time, tokens Tokens) (result *grant, outcome, err error) {
	now, how, err := v.stands(tx, g, fence)
	if err != nil {
		return nil, nil, err
	}
	switch how {
	case deleted:
		// It is not brought back; the tokens that came too late are revoked.
		// The old refresh token was queued by who deleted the grant.
		f, err := renewedFields(f, tokens)
		if err != nil {
			return nil, nil, err
		}
		if tokens.Refresh.IsZero() {
			delete(f, fieldRefresh)
		}
		if _, err := v.queueRevocation(tx, g.p, g.row.Provider, f); err != nil {
			return nil, nil, err
		}
		return nil, ErrNotFound, nil
	case newer:
		return now, nil, nil
	case busy:
		return nil, nil, errWait
	}
	f, err = renewedFields(f, tokens)
	if err != nil {
		return nil, nil, err
	}
	r, err := readRecord(now.row, f)
	if err != nil {
		return nil, nil, err
	}
	refused := now.d.Fence == fence && g.refused != 0
	now.d.Generation++
	now.settled()
	now.d.Rejected = time.Time{}
	if refused {
		now.d.Rejected = tx.Now()
	}
	now.d.Renewable = renewable(r.Terms, f)
	now.d.Rotates = !tokens.Refresh.IsZero()
	// The life of the token is counted from when it was asked for: it is
	// shorter than the server thinks, never longer.
	now.expire(tx.Now().Add(-time.Since(began)), tokens.Lifetime, r.Terms)
	if err := v.seal(now.p, now.row, now.d.Generation, f); err != nil {
		return nil, nil, err
	}
	return now, nil, now.put(tx)
}

// renewedFields are the grant's fields with the new pair in them. A refresh
// token that the answer leaves out goes on (RFC 6749 6), and so do scopes.
func renewedFields(f fields, tokens Tokens) (fields, error) {
	f = maps.Clone(f)
	if !tokens.Refresh.IsZero() {
		f[fieldRefresh] = []byte(tokens.Refresh.Reveal())
	}
	var r record
	if err := json.Unmarshal(f[fieldRecord], &r); err != nil {
		return nil, errors.New("vault: a record cannot be read") // it could, before the request
	}
	if tokens.Scopes != nil {
		r.Scopes = tokens.Scopes
	}
	if tokens.Type != "" {
		r.Type = tokens.Type
	}
	f[fieldAccess] = packAccess(tokens.Access, r.Type, r.Scopes)
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	f[fieldRecord] = text
	return f, nil
}

// settleFailure notes why there is no new pair.
func (v *Vault) settleFailure(tx Tx, g *grant, fence int64, failed *EndpointError) (result *grant, outcome, err error) {
	now, how, err := v.stands(tx, g, fence)
	if err != nil {
		return nil, nil, err
	}
	switch how {
	case deleted:
		return nil, ErrNotFound, nil
	case newer:
		return now, nil, nil // a refusal of what is not the refresh token any more
	case busy:
		return nil, nil, errWait // the other one may be why
	case late:
		if failed.Class != InvalidGrant {
			// What became of the grant since is no business of this machine.
			return nil, &WaitError{Grant: g.id(), RetryAfter: time.Second}, nil
		}
	case mine:
	}
	at := tx.Now()
	switch failed.Class {
	case InvalidGrant:
		reason := ReasonRefused
		if now.d.Lost > 0 {
			reason = ReasonLostReply
		}
		now.release()
		now.row.Status, now.d.Reason, now.d.Code = string(ReconnectNeeded), reason, failed.Code
		outcome = now.reconnect(reason)
	case Lost:
		if outcome, err = v.lost(now, at); err != nil {
			return nil, nil, err
		}
		if outcome == nil {
			outcome = now.coolDown(at, failed, lostPause, maxUnavailablePause)
		}
	case Refused:
		now.release()
		now.row.Status, now.d.Reason = string(Dead), ReasonClient
		outcome = now.coolDown(at, failed, refusedPause, maxRefusedPause)
	case Unavailable, NotSent:
		now.release()
		outcome = now.coolDown(at, failed, unavailablePause, maxUnavailablePause)
	}
	return nil, outcome, now.put(tx)
}

// Cool-downs double with every failure in a row, between these two.
const (
	lostPause           = time.Second
	unavailablePause    = 2 * time.Second
	maxUnavailablePause = 5 * time.Minute
	refusedPause        = 5 * time.Minute
	maxRefusedPause     = 6 * time.Hour
	maxRetryAfter       = time.Hour // what is believed of an answer's Retry-After
)

// coolDown sets the time before which nobody asks again.
func (g *grant) coolDown(now time.Time, failed *EndpointError, least, most time.Duration) error {
	pause := min(least<<min(g.d.Fails, 20), most)
	pause = max(pause, min(failed.RetryAfter, maxRetryAfter))
	g.d.Fails++
	g.d.Wait = now.Add(pause)
	g.d.Code = failed.Code
	return &WaitError{Grant: g.id(), RetryAfter: pause, Refused: g.status() == Dead, Code: failed.Code}
}
