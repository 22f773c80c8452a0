// Package relay is what notifiers between machines share: the delivery to this
// process, and a queue of hints for the others that holds each of them once.
package relay

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// ErrClosed is the answer of a notifier that was closed.
var ErrClosed = errors.New("notify: closed")

const (
	// maxQueue is how many hints wait for the others. If there are more, those
	// are replaced by one that wakes everybody.
	maxQueue = 4096
	// pace is the shortest time between two transmissions: the first hint after a
	// silence leaves at once, and a burst becomes a hundred messages a second.
	pace = 10 * time.Millisecond
	// MaxMessage is the size of a message in bytes: PostgreSQL takes 7,999.
	MaxMessage = 7900
)

// Relay is one machine's end. It is safe for concurrent use.
type Relay struct {
	local inbox.Local

	mu     sync.Mutex
	people map[string]int // subscriptions by principal
	queue  []inbox.Hint
	place  map[inbox.Hint]int // in queue, by the hint without Ready and Removed
	all    bool               // the queue ran over
	wake   chan struct{}
	taken  time.Time       // the last time that the queue was emptied
	life   context.Context // ends with Close
	end    context.CancelFunc
}

// New returns a relay without subscribers.
func New() *Relay {
	r := &Relay{people: map[string]int{}, place: map[inbox.Hint]int{}, wake: make(chan struct{}, 1)}
	r.life, r.end = context.WithCancel(context.Background())
	return r
}

// Notify delivers the hint here and puts it into the queue for the others.
func (r *Relay) Notify(ctx context.Context, hint inbox.Hint) error {
	if r.life.Err() != nil {
		return ErrClosed
	}
	r.mu.Lock()
	same := hint
	same.Ready, same.Removed = false, false
	switch at, known := r.place[same]; {
	case known:
		r.queue[at].Ready = r.queue[at].Ready || hint.Ready
		r.queue[at].Removed = r.queue[at].Removed || hint.Removed
	case r.all:
	case len(r.queue) >= maxQueue:
		r.all = true
	default:
		r.place[same] = len(r.queue)
		r.queue = append(r.queue, hint)
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default: // the sender has been told
	}
	return r.local.Notify(ctx, hint)
}

// Subscribe implements [inbox.Notifier]. The channel is closed with the relay too.
func (r *Relay) Subscribe(ctx context.Context, principal string) (<-chan inbox.Hint, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.life.Err() != nil {
		return nil, ErrClosed
	}
	both, cancel := context.WithCancel(ctx)
	ch, err := r.local.Subscribe(both, principal)
	if err != nil {
		cancel()
		return nil, err
	}
	r.mu.Lock()
	r.people[principal]++
	r.mu.Unlock()
	stop := context.AfterFunc(r.life, cancel)
	context.AfterFunc(both, func() {
		stop()
		cancel()
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.people[principal]--; r.people[principal] == 0 {
			delete(r.people, principal)
		}
	})
	return ch, nil
}

// WakeAll tells all subscribers of this process to look: hints may be lost.
func (r *Relay) WakeAll() {
	r.mu.Lock()
	people := make([]string, 0, len(r.people))
	for principal := range r.people {
		people = append(people, principal)
	}
	r.mu.Unlock()
	for _, principal := range people {
		// Of no call; Ready, so that machines look for work.
		_ = r.local.Notify(context.Background(), inbox.Hint{Principal: principal, Ready: true}) // never fails
	}
}

// Close ends the subscriptions.
func (r *Relay) Close() { r.end() }

// Wait waits until there is something to send. It reports false after Close.
// One goroutine calls Wait and Take.
func (r *Relay) Wait() bool {
	timer := time.NewTimer(time.Until(r.taken.Add(pace)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.life.Done():
		return false
	}
	for {
		r.mu.Lock()
		some := r.all || len(r.queue) > 0
		r.mu.Unlock()
		if some {
			return true
		}
		select {
		case <-r.wake:
		case <-r.life.Done():
			return false
		}
	}
}

// Life ends with Close.
func (r *Relay) Life() context.Context { return r.life }

// Take empties the queue into messages of at most [MaxMessage] bytes.
func (r *Relay) Take() [][]byte {
	r.mu.Lock()
	queue, all := r.queue, r.all
	r.queue, r.all = nil, false
	clear(r.place)
	r.mu.Unlock()
	r.taken = time.Now()
	if all {
		return [][]byte{[]byte(everybody)}
	}
	return Encode(queue)
}

// everybody is the message that wakes all.
const everybody = `"*"`

// A wireHint is a hint as it travels: ids, and nothing of what they stand for.
type wireHint struct {
	Principal string `json:"p"`
	Call      string `json:"c,omitempty"`
	Question  string `json:"q,omitempty"`
	Ready     bool   `json:"r,omitempty"`
	Removed   bool   `json:"x,omitempty"` // older versions do not send it, and look for such calls now and then
}

// Encode packs hints into messages. One that is too long for a message becomes
// the message that wakes everybody.
func Encode(hints []inbox.Hint) [][]byte {
	var messages [][]byte
	var open []byte
	flush := func() {
		if len(open) > 0 {
			messages = append(messages, append(open, ']'))
			open = nil
		}
	}
	for _, h := range hints {
		one, err := json.Marshal(wireHint{h.Principal, string(h.Call), string(h.Question), h.Ready, h.Removed})
		if err != nil || len(one) > MaxMessage-2 {
			flush()
			messages = append(messages, []byte(everybody))
			continue
		}
		if len(open)+len(one)+2 > MaxMessage {
			flush()
		}
		if len(open) == 0 {
			open = append(open, '[')
		} else {
			open = append(open, ',')
		}
		open = append(open, one...)
	}
	flush()
	return messages
}

// Receive delivers a message of another machine. One that cannot be read, as a
// newer version may send, wakes everybody: hints may be doubled but not lost.
func (r *Relay) Receive(message []byte) {
	var hints []wireHint
	if len(message) > MaxMessage || string(message) == everybody || json.Unmarshal(message, &hints) != nil {
		r.WakeAll()
		return
	}
	for _, h := range hints {
		_ = r.local.Notify(context.Background(), inbox.Hint{ // never fails
			Principal: h.Principal, Call: inbox.CallID(h.Call), Question: inbox.QuestionID(h.Question), Ready: h.Ready, Removed: h.Removed,
		})
	}
}
