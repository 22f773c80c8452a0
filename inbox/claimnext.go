package inbox

import (
	"context"
	"errors"
	"sync"
	"time"
)

// mostFailures is how many claims in one [Inbox.ClaimNext] may fail for the store's
// reasons. A store without room, say, fails at each of any number.
const mostFailures = 64

// ClaimNext claims the call that has been ready longest, of these servers or,
// with none, of all. ErrNothing says that there is none: hints and
// [Inbox.Sweep] tell when to look again. Rows that cannot be read are passed
// over, however many there are, and tried again after a minute; their errors are
// joined to ErrNothing.
func (in *Inbox) ClaimNext(ctx context.Context, servers []string) (*Claim, *Call, error) {
	var faults []error
	failures := 0
	// If others were faster at all of the first, there may be more behind them.
	after := Ref{}
	for limit := 8; ; limit = min(8*limit, 512) {
		refs, err := in.store.Ready(ctx, servers, after, limit)
		if err != nil {
			return nil, nil, err
		}
		for _, ref := range refs {
			after = ref
			if in.unreadable.has(ref) {
				continue
			}
			claim, c, err := in.claim(ctx, ref.Principal, ref.Call)
			switch {
			case err == nil:
				return claim, c, nil
			case ctx.Err() != nil:
				return nil, nil, ctx.Err()
			case errors.Is(err, ErrState), errors.Is(err, ErrNotFound), errors.Is(err, ErrExpired):
				continue // another machine was faster, or the person stopped it
			case errors.Is(err, ErrUnreadable): // it must not keep the others waiting
				in.unreadable.add(ref)
			default:
				failures++
			}
			if len(faults) < mostFailures {
				faults = append(faults, err)
			}
			if failures == mostFailures {
				return nil, nil, errors.Join(append(faults, ErrNothing)...)
			}
		}
		if len(refs) < limit {
			return nil, nil, errors.Join(append(faults, ErrNothing)...)
		}
	}
}

// unreadable are calls that were ready and could not be read a moment ago. Every
// look for work would try all of them again.
type unreadable struct {
	mu    sync.Mutex
	since time.Time            // the last one
	calls map[CallID]time.Time // when they became ready
}

// unreadableTime is how long a call is left alone that cannot be read. It counts from the
// last one that was found: a look at very many takes longer, and must not begin anew
// before it is over.
const unreadableTime = time.Minute

func (u *unreadable) has(ref Ref) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Since(u.since) >= unreadableTime {
		clear(u.calls)
	}
	at, ok := u.calls[ref.Call]
	return ok && at.Equal(ref.Due)
}

func (u *unreadable) add(ref Ref) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.calls == nil {
		u.calls = map[CallID]time.Time{}
	}
	u.since = time.Now()
	u.calls[ref.Call] = ref.Due
}
