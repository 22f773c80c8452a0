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

// RevokeToken makes every machine refuse the person's token with this id, as [Inbox.TokenRevoked]
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
			key, value = revokedAll, strconv.FormatInt(w.now.UnixNano(), 10)
		}
		return w.tx.Remember(key, []byte(value), w.now.Add(life+revokeSkew))
	})
}

// revokeSkew is how far apart the clocks of machines and store may be: no token
// outlives the memory of its end.
const revokeSkew = 5 * time.Second

// TokenRevoked reports whether the person's token, issued at the time, was revoked.
func (in *Inbox) TokenRevoked(ctx context.Context, p Principal, id string, issued time.Time) (revoked bool, err error) {
	if err := p.check(); err != nil {
		return false, err
	}
	err = in.view(ctx, p.Key(), func(w *work) error {
		if _, err := w.tx.Remembered(revokedToken + id); err == nil {
			revoked = true
			return nil
		} else if !errors.Is(err, ErrNotFound) {
			return err
		}
		before, err := w.tx.Remembered(revokedAll)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		at, err := strconv.ParseInt(string(before), 10, 64)
		if err != nil {
			return fmt.Errorf("inbox: a remembered revocation is damaged: %w", err)
		}
		revoked = issued.UnixNano() <= at
		return nil
	})
	return revoked, err
}
