package wiretap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
)

var (
	// ErrVetoed wraps the error of a BeforeSend or BeforeAnswer hook in what the SDK's method returns.
	ErrVetoed = errors.New("not sent")
	// ErrSentBefore is returned when the SDK would send a call, or an answer, a second time.
	ErrSentBefore = errors.New("sent before")
)

// An Exchange is one send of one call and what came of it. Make a new one for each send; it is safe for concurrent use
// and must not be copied.
type Exchange struct {
	// Call is the caller's own name for the call. The tap does not look at it.
	Call string
	// BeforeSend, if not nil, runs once, before a connection is opened and before the first byte of the request that
	// carries the call is written. Its error vetoes the send and comes back from the SDK's method, wrapped with
	// [ErrVetoed]. This is where a mark is committed.
	BeforeSend func(context.Context) error

	mu       sync.Mutex
	attempt  attempt
	out      Outcome
	finished chan struct{} // made on first use; closed when the reply is there
}

// An Outcome is what is known of an [Exchange] at one moment.
type Outcome struct {
	// Begun: BeforeSend has run and did not veto.
	Begun bool
	// Left: a byte of the request may have left this process. False is proof that none did. It becomes true when an
	// HTTP connection is handed to the request, so a failed dial or TLS handshake leaves it false.
	Left bool
	// Status is the HTTP status of the last response, 0 if there was none and on stdio.
	Status int
	// Session: the request carried a session id. With Status 404 and no Reply it is proof that nothing ran.
	Session bool
	// Challenge is the WWW-Authenticate header of a 401 or 403, at most 8 KiB; "" if there was none.
	Challenge string
	// Reply is the JSON-RPC response to this request, nil if none has come.
	Reply *Reply
	// Refusal is the error member of a JSON-RPC error without an id in a response with an HTTP error status. It is no
	// reply: servers send it from code that does not know what the call did.
	Refusal json.RawMessage
	// Fault says why no reply could be read: [ErrCut], [ErrMalformed], *[LimitError], *[ExitError]. A cut that the
	// response goes on after is none. Nil once there is a Reply.
	Fault error
}

// A Reply is a JSON-RPC response: exactly one of its fields is set, to the bytes of that member.
type Reply struct {
	Result json.RawMessage
	Error  json.RawMessage
}

type exchangeKey struct{}

// With returns a context that ties the call made under it to x. Do not connect under it.
func With(ctx context.Context, x *Exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

func exchangeOf(ctx context.Context) *Exchange {
	x, _ := ctx.Value(exchangeKey{}).(*Exchange)
	return x
}

// Outcome returns what is known now. When the SDK's method has returned, what it saw is in it, and Left is final; if
// its context ended, the Fault may follow a moment later. A late reply (on stdio) is added:
// see [Exchange.Replied].
func (x *Exchange) Outcome() Outcome {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.out
}

// Replied is closed when the reply is in the Outcome.
func (x *Exchange) Replied() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.repliedLocked()
}

func (x *Exchange) repliedLocked() chan struct{} {
	if x.finished == nil {
		x.finished = make(chan struct{})
	}
	return x.finished
}

// begin runs before a request that carries the call is handed to the transport.
func (x *Exchange) begin(ctx context.Context, session bool) error {
	x.mu.Lock()
	first, err := x.attempt.begin()
	if err == nil {
		// A repeat after a redirect or a challenge: the mark stands, the earlier response says nothing any more.
		x.out.Session, x.out.Status, x.out.Challenge = session, 0, ""
		x.out.Refusal, x.out.Fault = nil, nil
	}
	x.mu.Unlock()
	if err != nil || !first {
		return err
	}
	if x.BeforeSend != nil {
		if err := x.BeforeSend(ctx); err != nil {
			return fmt.Errorf("%w: %w", ErrVetoed, err)
		}
	}
	if err := ctx.Err(); err != nil {
		// The mark is there, but nothing has left: say so instead of starting.
		return err
	}
	x.mu.Lock()
	x.out.Begun = true
	x.mu.Unlock()
	return nil
}

func (x *Exchange) left() {
	x.mu.Lock()
	x.out.Left = true
	x.mu.Unlock()
}

func (x *Exchange) status(resp *http.Response) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.out.Left = true
	x.out.Status = resp.StatusCode
	x.attempt.status = resp.StatusCode
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		x.out.Challenge = resp.Header.Get("WWW-Authenticate")
		if len(x.out.Challenge) > 8<<10 {
			x.out.Challenge = x.out.Challenge[:8<<10]
		}
	}
}

// reply records the response. The first one stands.
func (x *Exchange) reply(m message) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.out.Reply != nil {
		return
	}
	x.out.Left = true
	x.out.Reply = &Reply{Result: m.result, Error: m.err}
	x.out.Fault = nil
	close(x.repliedLocked())
}

func (x *Exchange) refusal(raw json.RawMessage) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.out.Refusal = raw
}

// fault records why there is no reply. The first cause stands, except that ErrCut gives way to a better one.
func (x *Exchange) fault(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.out.Reply == nil && (x.out.Fault == nil || errors.Is(x.out.Fault, ErrCut)) {
		x.out.Fault = err
	}
}

// attempt counts the requests that carry one call or one answer. The SDK and net/http send it again after a redirect,
// and the SDK after it has been authorized: then the response says that nothing ran. Any other repeat could run a call
// twice.
type attempt struct {
	begun  bool
	status int
}

func (a *attempt) begin() (first bool, err error) {
	if !a.begun {
		a.begun = true
		return true, nil
	}
	if !again(a.status) {
		return false, ErrSentBefore
	}
	a.status = 0
	return false, nil
}

// again reports whether a response with this status may be followed by the same request.
func again(status int) bool {
	return status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect ||
		status == http.StatusUnauthorized || status == http.StatusForbidden
}
