package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"modernc.org/sqlite"

	"github.com/parley-mcp/parley/inbox"
)

// update is one transaction that waits for the writer. Its function runs in
// the goroutine of its caller, where a panic belongs, while the writer waits.
type update struct {
	ctx       context.Context
	principal string
	taken     atomic.Bool   // by the writer to run it, or by the caller to leave
	turn      chan *tx      // from the writer: run now
	ran       chan error    // to the writer: what the function returned
	done      chan struct{} // from the writer: committed or not, see err
	err       error
}

// maxGroup is how many transactions share a commit. It bounds how long the
// first of them waits.
const maxGroup = 64

var errAborted = errors.New("sqlitestore: the transaction's function did not return")

// Update implements [inbox.Store].
func (s *Store) Update(ctx context.Context, principal string, f func(inbox.Tx) error) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	select {
	case w := <-s.writing: // nobody else writes: there is nothing to share, and no goroutine to wait for
		defer func() { s.writing <- w }()
		return s.wrap(s.alone(ctx, w, principal, f))
	default:
	}
	u := &update{
		ctx: ctx, principal: principal,
		turn: make(chan *tx, 1), ran: make(chan error, 1), done: make(chan struct{}),
	}
	select {
	case s.queue <- u:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return ErrStoreClosed
	}
	select {
	case t := <-u.turn:
		u.run(t, f)
	case <-u.done: // without a turn
		return s.wrap(u.err)
	case <-ctx.Done(): // while a transaction of another process goes on
		if u.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		select {
		case t := <-u.turn:
			u.run(t, f)
		case <-u.done:
			return s.wrap(u.err)
		}
	}
	// It has run: only the writer can say whether it is committed.
	<-u.done
	return s.wrap(u.err)
}

func (u *update) run(t *tx, f func(inbox.Tx) error) {
	err := errAborted // stays if f panics or ends the goroutine
	defer func() { u.ran <- err }()
	err = t.run(u.principal, f)
}

// alone runs one update in a transaction of its own, in the goroutine of its caller.
func (s *Store) alone(ctx context.Context, w *session, principal string, f func(inbox.Tx) error) (err error) {
	if err := w.begin(ctx); err != nil {
		return err
	}
	err = errAborted // stays if f panics or ends the goroutine
	defer func() {
		if err != nil {
			_ = w.rollback() // fails if SQLite has done it already
		}
	}()
	t := &tx{caller: ctx, ctx: context.Background(), statements: w.statements, now: s.clock(), write: true}
	if err = t.run(principal, f); err != nil {
		return err
	}
	if err = w.commit(); err == nil {
		s.committed()
	}
	return err
}

// run runs f and writes what is left to write.
func (t *tx) run(principal string, f func(inbox.Tx) error) error {
	if err := t.begin(principal); err != nil {
		return err
	}
	if err := f(t); err != nil {
		return err
	}
	if err := t.end(); err != nil {
		return err
	}
	return t.caller.Err()
}

// write is the goroutine that writes for those who found the writer taken. It
// ends after Close.
func (s *Store) write() {
	defer close(s.ended)
	for {
		var group []*update
		select {
		case u := <-s.queue:
			group = append(group, u)
		case <-s.done:
			return
		}
		w := <-s.writing
	more:
		for len(group) < maxGroup {
			select {
			case u := <-s.queue:
				group = append(group, u)
			default:
				break more
			}
		}
		err := s.commit(w, group)
		s.writing <- w
		for _, u := range group {
			if u.err == nil {
				u.err = err
			}
			close(u.done)
		}
	}
}

// commit runs the group in one transaction. Statements run without the
// callers' contexts: an interrupted statement would roll back all of them.
// The error is that of every update of the group that has none of its own.
func (s *Store) commit(w *session, group []*update) (err error) {
	if err := w.begin(context.Background()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = w.rollback() // fails if SQLite has done it already
		}
	}()
	for _, u := range group {
		if err := s.run(context.Background(), w.statements, u); err != nil {
			return err
		}
	}
	if err = w.commit(); err == nil {
		s.committed()
	}
	return err
}

// run runs one update in a savepoint and keeps its error; it returns an error
// only if the savepoint could not be taken, released or taken back.
func (s *Store) run(ctx context.Context, statements *statements, u *update) error {
	if !u.taken.CompareAndSwap(false, true) {
		return nil // its caller has left
	}
	if u.err = s.check(u.ctx); u.err != nil {
		return nil //nolint:nilerr // it is the update's own error, kept above
	}
	if err := statements.exec(ctx, `SAVEPOINT one`); err != nil {
		return err
	}
	t := &tx{caller: u.ctx, ctx: ctx, statements: statements, now: s.clock(), write: true}
	u.turn <- t
	if u.err = <-u.ran; u.err != nil {
		if err := statements.exec(ctx, `ROLLBACK TO one`); err != nil {
			if e := (*sqlite.Error)(nil); errors.As(u.err, &e) {
				return u.err // it has ended the transaction, of which all hear
			}
			return fmt.Errorf("%w (after %v)", err, u.err)
		}
	}
	err := statements.exec(ctx, `RELEASE one`)
	return err
}
