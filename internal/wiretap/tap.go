package wiretap

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Defaults of [Options].
const (
	// DefaultMaxMessage stays below the SDK's own bound of 16 MiB, past which it gives up the connection.
	DefaultMaxMessage = 15 << 20
	// DefaultMaxOpen is far above any limit a host sets; it only keeps memory bounded.
	DefaultMaxOpen = 256
	// DefaultMostRetry is far above the pauses that servers ask for.
	DefaultMostRetry = 5 * time.Minute
)

const (
	maxCalls     = 4096 // calls without a reply that are remembered
	keptJunk     = 5    // lines
	keptJunkLine = 2048 // bytes of each
)

// Options are the options of a [Tap]. The zero value is ready to use. Hooks are called while a message is being read:
// they must not block, and must not call the tap's connection.
type Options struct {
	// MaxMessage bounds one message from the server, in bytes. Default [DefaultMaxMessage].
	MaxMessage int
	// MaxOpen bounds the requests of the server that are open at once. More are refused as too_many_questions, and dropped
	// while as many again wait for that. Default [DefaultMaxOpen].
	MaxOpen int
	// MostRetry bounds the pause that a server asks for before its response is resumed. Default [DefaultMostRetry]. Where
	// the host bounds the time of a call, it has to be well below that: nothing is heard of the reply before the pause ends.
	MostRetry time.Duration
	// Foreign is called when the server asks for something that is not elicitation (sampling/createMessage,
	// roots/list, or an unknown method; not ping), with the calls it may belong to, as in [Question].Exchanges.
	Foreign func(method string, exchanges []*Exchange)
	// Completed is called on notifications/elicitation/complete.
	Completed func(elicitationID string)
}

// Stats counts what came from the server over one connection.
type Stats struct {
	Messages  int64    // whole messages, of any kind
	Questions int64    // elicitation/create requests
	Repeated  int64    // the same open request again, dropped (a resumed stream may repeat)
	Foreign   int64    // other requests than elicitation and ping
	Stray     int64    // responses to no request of ours, dropped
	Overflow  int64    // requests over MaxOpen, refused or dropped
	Junk      int64    // messages or lines that are no JSON-RPC, dropped
	TooLarge  int64    // messages over a limit of size or nesting, dropped
	FirstJunk []string // the first few of those, shortened; the server's words, to be sanitised
	OpenAsks  int      // requests of the server without an answer now
	OpenCalls int      // requests of ours without a reply now
}

// A Tap reads one MCP connection. It is safe for concurrent use.
type Tap struct {
	opts Options
	// afterReply is how long a server may keep an HTTP response open after the reply was read.
	afterReply time.Duration
	// leastPause is the least pause before a response is resumed.
	leastPause time.Duration

	mu     sync.Mutex
	closed bool
	seq    int64
	calls  map[string]*call // requests of ours, by idKey
	order  []string         // of calls, oldest first
	asks   map[string]*ask  // requests of the server, by token
	byID   map[string]*ask  // the same, by idKey of the server's id
	stats  Stats
	// settled are the last questions of standalone streams that need no answer any more. A server is to send nothing on
	// one of them that came on another (MCP 2025-11-25 basic/transports, "Multiple Connections"), but they are not told apart.
	settled [][sha256.Size]byte
}

// call is a request of ours that waits for its reply.
type call struct {
	id        json.RawMessage
	method    string
	x         *Exchange // nil: not tagged
	cancelled bool      // we told the server so; a late reply is still taken
	replied   bool
	alone     bool // no call: it stands for a standalone stream

	// Of a response that may be resumed, as long as life lasts: the context of its request. answered gets a token when an
	// answer to a question of the call was sent.
	life     context.Context
	answered chan struct{}
	resumed  bool
	settled  map[[sha256.Size]byte]bool // questions that need no answer any more
}

// ask is a request of the server that waits for its answer.
type ask struct {
	token string
	id    json.RawMessage
	key   string
	raw   []byte
	on    *call     // on whose response it came, or on which standalone stream; nil: stdio
	q     *Question // nil: not elicitation
	gone  bool      // withdrawn: swallow the answer
	over  bool      // past MaxOpen: the answer is the error overLimit
}

// OverLimit is the message of the error for questions over a limit, here and of the host.
const OverLimit = "more than this host accepts"

const overLimit = `{"code":-32000,"message":"` + OverLimit + `","data":{"reason":"too_many_questions"}}`

// New returns a tap for one connection. opts may be nil.
func New(opts *Options) *Tap {
	t := &Tap{afterReply: 2 * time.Second, leastPause: leastPause, calls: make(map[string]*call), asks: make(map[string]*ask), byID: make(map[string]*ask)}
	if opts != nil {
		t.opts = *opts
	}
	if t.opts.MaxMessage <= 0 {
		t.opts.MaxMessage = DefaultMaxMessage
	}
	if t.opts.MaxOpen <= 0 {
		t.opts.MaxOpen = DefaultMaxOpen
	}
	if t.opts.MostRetry <= 0 {
		t.opts.MostRetry = DefaultMostRetry
	}
	return t
}

// Question returns the question that the SDK's handler was called for, given the _meta of the params it got. It is nil
// if the question is no longer open, or the request did not come through this tap.
func (t *Tap) Question(meta map[string]any) *Question {
	token, ok := meta[MarkerKey].(string)
	if !ok {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.asks[token]; a != nil {
		return a.q
	}
	return nil
}

// tooLarge counts err if it is a limit.
func (t *Tap) tooLarge(err error) {
	if !errors.As(err, new(*LimitError)) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.TooLarge++
}

// Stats returns the counts so far.
func (t *Tap) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.stats
	s.FirstJunk = append([]string(nil), s.FirstJunk...)
	s.OpenAsks, s.OpenCalls = len(t.asks), len(t.calls)
	return s
}

// Close ends what is open: questions with [ErrClosed], calls with the fault [ErrClosed]. Call it when an HTTP session
// has ended; on stdio it happens by itself. It closes no connection.
func (t *Tap) Close() { t.end(ErrClosed) }

func (t *Tap) end(cause error) {
	t.mu.Lock()
	calls, asks := t.calls, t.asks
	t.calls, t.asks, t.byID, t.order = make(map[string]*call), make(map[string]*ask), make(map[string]*ask), nil
	t.closed = true
	t.mu.Unlock()
	for _, c := range calls {
		if c.x != nil {
			c.x.fault(cause)
		}
	}
	for _, a := range asks {
		if a.q != nil {
			a.q.finish(0, false, ErrClosed)
		}
	}
}

// sending is what the tap makes of a message on its way out.
type sending struct {
	body    []byte
	call    *call // a request of ours
	ask     *ask  // body answers this request of the server
	result  bool  // with a result, not an error
	swallow bool  // withdrawn meanwhile: do not send
}

// exchange is the tagged call that the message carries, nil if it carries none.
func (s sending) exchange() *Exchange {
	if s.call == nil {
		return nil
	}
	return s.call.x
}

// outgoing looks at a message of the SDK's.
func (t *Tap) outgoing(ctx context.Context, body []byte) (sending, error) {
	s := sending{body: body}
	m, err := parseMessage(body)
	if err != nil {
		return s, fmt.Errorf("outgoing: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case m.call && m.id != nil:
		s.call = &call{id: m.id, method: m.method}
		switch m.method {
		case "tools/call", "prompts/get", "resources/read":
			s.call.x = exchangeOf(ctx)
		}
	case m.call:
		if m.method == "notifications/cancelled" {
			if c := t.calls[idKey(member1(m.params, "requestId"))]; c != nil {
				c.cancelled = true
			}
		}
	default:
		var token string
		if json.Unmarshal(m.id, &token) != nil {
			return s, nil
		}
		a := t.asks[token]
		if a == nil {
			// Answered before, or the connection ended: the server would not know this id.
			s.swallow = true
			return s, nil
		}
		s.ask = a
		if a.gone {
			s.swallow = true
			t.removeLocked(a)
			return s, nil
		}
		result := m.result
		if a.q != nil && result != nil {
			a.q.mu.Lock()
			if a.q.answer != nil {
				result = a.q.answer
			}
			a.q.mu.Unlock()
		}
		if s.result = result != nil; s.result {
			if !json.Valid(result) {
				return s, fmt.Errorf("outgoing: %w: the answer is not JSON", ErrMalformed)
			}
			s.body = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, a.id, oneLine(result))
		} else {
			refusal := m.err
			if a.over {
				refusal = json.RawMessage(overLimit)
			}
			s.body = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, a.id, refusal)
		}
	}
	return s, nil
}

// oneLine takes the line breaks out of JSON, where they can only be space between tokens: one ends a message on stdio.
func oneLine(raw json.RawMessage) json.RawMessage {
	if !bytes.ContainsAny(raw, "\r\n") {
		return raw
	}
	return bytes.Map(func(r rune) rune {
		if r == '\r' || r == '\n' {
			return ' '
		}
		return r
	}, raw)
}

// expect remembers a request of ours until its reply.
func (t *Tap) expect(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	key := idKey(c.id)
	if t.calls[key] == nil {
		t.order = append(t.order, key)
	}
	t.calls[key] = c
	for len(t.calls) > maxCalls {
		delete(t.calls, t.order[0])
		t.order = t.order[1:]
	}
	if len(t.order) > 2*maxCalls {
		kept := t.order[:0]
		for _, k := range t.order {
			if t.calls[k] != nil {
				kept = append(kept, k)
			}
		}
		t.order = kept
	}
}

// forget drops a request of ours that can have no reply any more, and reports whether it had none yet.
func (t *Tap) forget(c *call) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := idKey(c.id)
	waiting := t.calls[key] == c
	if waiting {
		delete(t.calls, key)
	}
	return waiting
}

// answered ends a request of the server.
func (t *Tap) answered(a *ask, status int, accepted bool, err error) {
	t.mu.Lock()
	t.removeLocked(a)
	if accepted {
		t.settle(a)
	}
	if a.on != nil {
		select {
		case a.on.answered <- struct{}{}:
		default: // nobody listens, or one is there already
		}
	}
	t.mu.Unlock()
	if a.q != nil {
		a.q.finish(status, accepted, err)
	}
}

func (t *Tap) removeLocked(a *ask) {
	if t.asks[a.token] == a {
		delete(t.asks, a.token)
	}
	if t.byID[a.key] == a {
		delete(t.byID, a.key)
	}
}
