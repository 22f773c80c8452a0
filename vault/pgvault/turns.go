package pgvault

import (
	"context"
	"sync"
)

// turns lets one write transaction per principal go to the database. Those
// behind it would only wait there for its lock, each with a connection that
// others need.
type turns struct {
	mu    *sync.Mutex
	known map[string]*turn
}

type turn struct {
	free chan struct{} // holds a token while nobody has the turn
	wait int           // who has it or waits for it
}

func newTurns() turns { return turns{mu: &sync.Mutex{}, known: map[string]*turn{}} }

// take waits for the turn and returns what gives it back.
func (t turns) take(ctx context.Context, principal string, done <-chan struct{}) (func(), error) {
	t.mu.Lock()
	mine := t.known[principal]
	if mine == nil {
		mine = &turn{free: make(chan struct{}, 1)}
		mine.free <- struct{}{}
		t.known[principal] = mine
	}
	mine.wait++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if mine.wait--; mine.wait == 0 {
			delete(t.known, principal)
		}
	}
	select {
	case <-mine.free:
		return func() { mine.free <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	case <-done:
		leave()
		return nil, ErrStoreClosed
	}
}
