package wiretap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// MarkerKey is the key in _meta of the reduced request that the SDK's handler gets instead of the server's
// elicitation/create. Its value is opaque; give the whole _meta to [Tap.Question]. It never reaches a server, and one
// sent by a server is not passed on.
const MarkerKey = "io.github.parley-mcp/tap"

var (
	// ErrWithdrawn: the server cancelled the question; an answer is not sent.
	ErrWithdrawn = errors.New("question withdrawn by the server")
	// ErrClosed: the connection ended.
	ErrClosed = errors.New("connection closed")
)

// A Question is one elicitation/create request from a server on a legacy connection. Its fields are the bytes that
// came over the wire; do not change them.
type Question struct {
	ID     json.RawMessage // the JSON-RPC id as the server wrote it, string or number
	Params json.RawMessage // nil: absent. Nothing is known about their shape
	// Exchanges are the calls that the question may belong to. On HTTP it is the one on whose response the question
	// came, and Exact is true. On stdio, and on the standalone stream of HTTP, it is every tagged call that was under
	// way.
	Exchanges []*Exchange
	Exact     bool

	mu        sync.Mutex
	answer    json.RawMessage
	before    func(context.Context) error
	attempt   attempt
	delivery  Delivery
	withdrawn chan struct{} // closed when the server cancels the question
	after     func()        // what to run then
	done      chan struct{}
}

// A Delivery says what became of the answer to a [Question].
type Delivery struct {
	// Left: a byte of the answer may have left this process.
	Left bool
	// Status is the HTTP status of the response to the answer, 0 if there was none and on stdio.
	Status int
	// Accepted: HTTP answered 2xx, or the line was written to the pipe whole.
	Accepted bool
	// Err says why the answer was not accepted: [ErrWithdrawn], [ErrClosed], an error that wraps [ErrVetoed], or the
	// transport's. Nil with Accepted, and with an HTTP status that refused.
	Err error
}

// Answer leaves the exact answer with the question. The handler calls it before it returns; what the handler returns
// then is only a placeholder (but if it returns an error, the error is sent). result nil sends what the handler
// returned. before, if not nil, runs once before the first byte of the answer or the error is written; its error keeps
// it back, and [Delivery.Err] wraps [ErrVetoed]. The context of before ends with nothing, so before bounds itself.
// Answer does nothing once the answer is on its way.
func (q *Question) Answer(result json.RawMessage, before func(context.Context) error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.answer, q.before = result, before
}

// Withdrawn is closed when the server cancels the question with notifications/cancelled.
func (q *Question) Withdrawn() <-chan struct{} { return q.withdrawn }

// AfterWithdrawn runs f, in a goroutine of its own, once the server cancels the question, unless stop is called before:
// whoever waits for days need not keep a goroutine for it. It is for one at a time.
func (q *Question) AfterWithdrawn(f func()) (stop func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-q.withdrawn:
		go f()
	default:
		q.after = f
	}
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.after = nil
	}
}

// Done is closed when the Delivery is final: the answer was accepted or not, the question was withdrawn, or the
// connection ended (on HTTP: [Tap.Close]).
func (q *Question) Done() <-chan struct{} { return q.done }

// Delivery returns what is known now.
func (q *Question) Delivery() Delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.delivery
}

// begin runs before a request that carries the answer is handed to the transport.
func (q *Question) begin(ctx context.Context) error {
	q.mu.Lock()
	select {
	case <-q.done:
		defer q.mu.Unlock()
		return q.delivery.Err
	default:
	}
	first, err := q.attempt.begin()
	before := q.before
	q.mu.Unlock()
	if err != nil || !first || before == nil {
		return err
	}
	if err := before(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrVetoed, err)
	}
	return nil
}

func (q *Question) left() {
	q.mu.Lock()
	q.delivery.Left = true
	q.mu.Unlock()
}

// finish records the end. The first one stands.
func (q *Question) finish(status int, accepted bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-q.done:
		return
	default:
	}
	if status != 0 {
		q.delivery.Left = true
	}
	q.delivery.Status, q.delivery.Accepted, q.delivery.Err = status, accepted, err
	close(q.done)
}

// withdraw marks the question as cancelled by the server. An answer that is on its way is not called back.
func (q *Question) withdraw() {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-q.withdrawn:
		return
	default:
	}
	close(q.withdrawn)
	if q.after != nil {
		go q.after()
		q.after = nil
	}
	if q.attempt.begun {
		return
	}
	select {
	case <-q.done:
	default:
		q.delivery.Err = ErrWithdrawn
		close(q.done)
	}
}
