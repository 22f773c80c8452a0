package inbox

import (
	"context"
	"log/slog"
	"slices"
	"sync"
)

// watches lets everything in this process that waits for calls of one person
// share a subscription: thousands of held calls wait all the time, and a hint
// about one of them wakes no other.
type watches struct {
	notifier Notifier
	log      *slog.Logger

	mu     sync.Mutex
	people map[string]*watch // by key
}

type watch struct {
	ready   chan struct{} // closed once hints come, or it is known that none will
	stop    context.CancelFunc
	waiting map[CallID][]chan struct{} // each has room for one
	n       int                        // of waiting
}

func newWatches(n Notifier, log *slog.Logger) *watches {
	return &watches{notifier: n, log: log, people: map[string]*watch{}}
}

// join returns a channel that gets a value when there may be news of the call,
// from the moment that join returns. leave it.
func (s *watches) join(ctx context.Context, key string, id CallID) (wake <-chan struct{}, leave func(), err error) {
	ch := make(chan struct{}, 1)
	s.mu.Lock()
	w := s.people[key]
	if w == nil {
		w = &watch{ready: make(chan struct{}), waiting: map[CallID][]chan struct{}{}}
		var all context.Context // of the subscription: it outlives whoever is first
		all, w.stop = context.WithCancel(context.WithoutCancel(ctx))
		s.people[key] = w
		go s.follow(all, key, w)
	}
	w.waiting[id] = append(w.waiting[id], ch)
	w.n++
	s.mu.Unlock()
	leave = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if w.waiting[id] = slices.DeleteFunc(w.waiting[id], func(c chan struct{}) bool { return c == ch }); len(w.waiting[id]) == 0 {
			delete(w.waiting, id)
		}
		if w.n--; w.n == 0 {
			w.stop()
			s.forget(key, w)
		}
	}
	select {
	case <-w.ready:
		return ch, leave, nil
	case <-ctx.Done():
		leave()
		return nil, nil, ctx.Err()
	}
}

// forget lets the next one who waits subscribe anew; s.mu is held.
func (s *watches) forget(key string, w *watch) {
	if s.people[key] == w {
		delete(s.people, key)
	}
}

// follow passes the hints of one person on.
func (s *watches) follow(ctx context.Context, key string, w *watch) {
	hints, err := s.notifier.Subscribe(ctx, key)
	close(w.ready)
	if err != nil && ctx.Err() == nil {
		s.log.Warn("inbox: no hints, polling only", "err", err)
	}
	if err == nil {
		for hint := range hints {
			s.mu.Lock()
			w.tell(hint.Call)
			s.mu.Unlock()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(key, w) // those who still wait poll
}

// tell wakes those who wait for the call, or, with none, all.
func (w *watch) tell(id CallID) {
	wake := func(list []chan struct{}) {
		for _, ch := range list {
			select {
			case ch <- struct{}{}:
			default: // it has one to read
			}
		}
	}
	if id != "" {
		wake(w.waiting[id])
		return
	}
	for _, list := range w.waiting {
		wake(list)
	}
}
