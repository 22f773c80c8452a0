package inbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Where revocations are remembered. Idempotency keys begin with an operation's name.
const (
	revokedToken = "revoked token:"
	revokedAll   = "revoked tokens before"
)

// ErasedTime is how long it is remembered that somebody was erased: no token and no
// sign-in may live longer.
const ErasedTime = 30 * 24 * time.Hour

// erasures is where that is remembered, by keyed digests: nobody's principal.
var erasures = Principal{Issuer: "parley", Subject: "erased"}

const erasedPurpose = "inbox erased"

// A Token is what the inbox has to know of one that a surface gave to a person, or of
// a sign-in. Both times are [Inbox.Time], so that the clocks of machines do not matter.
type Token struct {
	ID     string // empty: it is not revoked by itself
	Issued time.Time
	Ends   time.Time // zero: somebody else sees to it
}

// Time is the time of the store, which is the same for all machines.
func (in *Inbox) Time(ctx context.Context, p Principal) (now time.Time, err error) {
	if err := p.check(); err != nil {
		return time.Time{}, err
	}
	err = in.view(ctx, p.Key(), func(w *work) error {
		now = w.now
		return nil
	})
	return now, err
}

// RevokeToken makes every machine refuse the person's token with this id, as [Inbox.TokenEnded]
// tells, for the longest time that a token lives; an empty id means all that were
// issued until now. The inbox knows no tokens: it keeps what surfaces ask it to keep.
func (in *Inbox) RevokeToken(ctx context.Context, p Principal, id string, life time.Duration) error {
	if err := p.check(); err != nil {
		return err
	}
	if len(id) > 200 {
		return fmt.Errorf("%w: the id of a token is longer than 200 bytes", ErrInvalid)
	}
	return in.update(ctx, p.Key(), func(w *work) error {
		key, value := revokedToken+id, "1"
		if id == "" {
			key, value = revokedAll, moment(w.now)
		}
		return w.tx.Remember(key, []byte(value), w.now.Add(life))
	})
}

// TokenEnded reports whether the person's token counts no more: its time is over, it
// was revoked, or the person was erased since it was issued.
func (in *Inbox) TokenEnded(ctx context.Context, p Principal, t Token) (ended bool, err error) {
	if err := p.check(); err != nil {
		return false, err
	}
	err = in.view(ctx, p.Key(), func(w *work) (err error) {
		if ended = !t.Ends.IsZero() && w.passed(t.Ends); ended {
			return nil
		}
		if t.ID != "" {
			if _, err := w.tx.Remembered(revokedToken + t.ID); !errors.Is(err, ErrNotFound) {
				ended = err == nil
				return err
			}
		}
		ended, err = w.notSince(revokedAll, t.Issued)
		return err
	})
	if ended || err != nil {
		return ended, err
	}
	err = in.view(ctx, erasures.Key(), func(w *work) (err error) {
		for _, digest := range in.keys.Digests(erasedPurpose, nil, []byte(p.Key())) {
			if ended, err = w.notSince(digest, t.Issued); ended || err != nil {
				return err
			}
		}
		return nil
	})
	return ended, err
}

// endTokens ends all tokens of a person who is erased.
func (in *Inbox) endTokens(ctx context.Context, p Principal) error {
	digest := in.keys.Digest(erasedPurpose, nil, []byte(p.Key()))
	return in.update(ctx, erasures.Key(), func(w *work) error {
		return w.tx.Remember(digest, []byte(moment(w.now)), w.now.Add(ErasedTime))
	})
}

func moment(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// notSince reports whether there is a moment under the key, and t is not after it.
func (w *work) notSince(key string, t time.Time) (bool, error) {
	value, err := w.tx.Remembered(key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	at, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return false, fmt.Errorf("inbox: a remembered revocation is damaged: %w", err)
	}
	return t.IsZero() || t.UnixNano() <= at, nil // UnixNano of the zero time is undefined
}
