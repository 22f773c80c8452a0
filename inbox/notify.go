package inbox

import (
	"context"
	"slices"
	"sync"
)

// Hint says that a row changed. Hints may be lost, doubled, delayed and
// reordered: whoever gets one looks into the store, and whoever gets none looks
// now and then.
type Hint struct {
	Principal string // key
	Call      CallID
	Question  QuestionID // one that changed; empty: the call alone
	Ready     bool       // a call became ready: machines may claim it
	Removed   bool       // a call was blocked because its server was removed: a machine that has it unblocks it
}

// Notifier carries hints between the parts of a process or between machines.
// Package inboxtest holds what every notifier has to pass.
type Notifier interface {
	// Notify sends the hint to all that subscribe now. It does not wait for them.
	Notify(ctx context.Context, hint Hint) error

	// Subscribe delivers the hints of one principal, or of all if principal is
	// empty, that are sent after it returns, until ctx ends; then the channel
	// is closed. A reader that is slow loses hints, but is never left with an
	// empty channel after having lost one.
	Subscribe(ctx context.Context, principal string) (<-chan Hint, error)
}

// Local is the notifier inside one process. The zero value is ready for use.
type Local struct {
	mu   sync.Mutex
	subs map[string]map[chan Hint]struct{}
}

// NewLocal returns a notifier for one process.
func NewLocal() *Local { return &Local{} }

// localBuffer is how many hints a slow reader may be behind.
const localBuffer = 64

// Notify implements [Notifier].
func (l *Local) Notify(ctx context.Context, hint Hint) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := []string{hint.Principal, ""}
	if hint.Principal == "" {
		keys = keys[1:]
	}
	for _, key := range keys {
		for ch := range l.subs[key] {
			select {
			case ch <- hint:
			default: // it has 64 others to read; the store has the truth
			}
		}
	}
	return nil
}

// Subscribe implements [Notifier].
func (l *Local) Subscribe(ctx context.Context, principal string) (<-chan Hint, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ch := make(chan Hint, localBuffer)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.subs == nil {
		l.subs = make(map[string]map[chan Hint]struct{})
	}
	if l.subs[principal] == nil {
		l.subs[principal] = make(map[chan Hint]struct{})
	}
	l.subs[principal][ch] = struct{}{}
	context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.subs[principal], ch)
		if len(l.subs[principal]) == 0 {
			delete(l.subs, principal)
		}
		close(ch)
	})
	return ch, nil
}

// together makes one hint of those about one call: whoever waits for it looks once.
func together(hints []Hint) []Hint {
	list := hints[:0]
	for _, h := range hints {
		i := slices.IndexFunc(list, func(have Hint) bool { return have.Principal == h.Principal && have.Call == h.Call })
		if i < 0 {
			list = append(list, h)
			continue
		}
		have := &list[i]
		have.Ready, have.Removed = have.Ready || h.Ready, have.Removed || h.Removed
		if have.Question == "" {
			have.Question = h.Question
		}
	}
	return list
}
