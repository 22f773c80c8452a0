package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// groupsName is where a person's groups are remembered. Idempotency keys begin with an
// operation's name and a colon.
const groupsName = "groups"

// groupsSince is where the moment stands at which they were confirmed. It has a place of
// its own: versions before it read a plain list under groupsName.
const groupsSince = "groups since"

const (
	// groupsTime is how long groups count that nobody has confirmed. A call may go on
	// after days, on a machine that the person never signed in to.
	groupsTime = 7 * 24 * time.Hour

	// groupsPace is the time between two writes of the same groups: they are confirmed
	// with every call.
	groupsPace = 24 * time.Hour
)

// RememberGroups keeps the groups that a sign-in has verified, for the calls of the
// person that go on later. They count for six days at least and a week at most after
// they were confirmed last; the next sign-in replaces them.
func (in *Inbox) RememberGroups(ctx context.Context, p Principal, groups []string) error {
	if err := p.check(); err != nil {
		return err
	}
	if err := checkText("the groups", groups...); err != nil {
		return err
	}
	fresh := false
	err := in.view(ctx, p.Key(), func(w *work) error {
		known, err := w.groups()
		if fresh = err == nil && slices.Equal(known, groups); fresh && len(groups) > 0 { // none count as none for ever
			fresh, err = w.confirmedLately()
			return err
		}
		return nil // what cannot be read is written anew
	})
	if err != nil || fresh {
		return err
	}
	value, err := json.Marshal(groups)
	if err != nil {
		return err
	}
	return in.update(ctx, p.Key(), func(w *work) error {
		since, err := json.Marshal(toMicros(w.now))
		if err != nil {
			return err
		}
		expires := w.now.Add(groupsTime)
		if err := w.tx.Remember(groupsName, value, expires); err != nil {
			return err
		}
		return w.tx.Remember(groupsSince, since, expires)
	})
}

// confirmedLately reports whether the groups need not be written again. A version that
// knows no moment leaves the one of before, or none, and they count as old.
func (w *work) confirmedLately() (bool, error) {
	value, err := w.tx.Remembered(groupsSince)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var since micros
	if err := json.Unmarshal(value, &since); err != nil {
		return false, nil //nolint:nilerr // as old as none
	}
	age := w.now.Sub(since.time())
	return age >= 0 && age < groupsPace, nil
}

// Groups returns what RememberGroups kept; nil if nothing is known.
func (in *Inbox) Groups(ctx context.Context, p Principal) (groups []string, err error) {
	err = in.view(ctx, p.Key(), func(w *work) (err error) {
		groups, err = w.groups()
		return err
	})
	return groups, err
}

func (w *work) groups() (groups []string, err error) {
	value, err := w.tx.Remembered(groupsName)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(value, &groups); err != nil {
		return nil, fmt.Errorf("inbox: remembered groups are damaged: %w", err)
	}
	return groups, nil
}
