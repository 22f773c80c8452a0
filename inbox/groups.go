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

// groupsTime is how long groups count that nobody has confirmed. A call may go on after
// days, on a machine that the person never signed in to.
const groupsTime = 7 * 24 * time.Hour

// RememberGroups keeps the groups that a sign-in has verified, for the calls of the
// person that go on later. They count for a week; the next sign-in replaces them.
func (in *Inbox) RememberGroups(ctx context.Context, p Principal, groups []string) error {
	if err := p.check(); err != nil {
		return err
	}
	if err := checkText("the groups", groups...); err != nil {
		return err
	}
	known, err := in.Groups(ctx, p)
	if err == nil && slices.Equal(known, groups) {
		return nil
	}
	value, err := json.Marshal(groups)
	if err != nil {
		return err
	}
	return in.update(ctx, p.Key(), func(w *work) error {
		return w.tx.Remember(groupsName, value, w.now.Add(groupsTime))
	})
}

// Groups returns what RememberGroups kept; nil if nothing is known.
func (in *Inbox) Groups(ctx context.Context, p Principal) (groups []string, err error) {
	err = in.view(ctx, p.Key(), func(w *work) error {
		value, err := w.tx.Remembered(groupsName)
		if errors.Is(err, ErrNotFound) {
			groups = nil
			return nil
		}
		if err != nil {
			return err
		}
		if err := json.Unmarshal(value, &groups); err != nil {
			return fmt.Errorf("inbox: remembered groups are damaged: %w", err)
		}
		return nil
	})
	return groups, err
}
