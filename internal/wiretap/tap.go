package wiretap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// Defaults of [Options].
const (
	// DefaultMaxMessage stays below the SDK's own bound of 16 MiB, past which it gives up the connection.
	DefaultMaxMessage = 15 << 20
	// DefaultMaxOpen is far above any limit a host sets; it only keeps memory bounded.
	DefaultMaxOpen = 256
)

const (
	maxCalls     = 4096 // calls without a reply that are remembered
	keptJunk     = 5    // lines
	keptJunkLine = 200  // bytes of each
)

// Options are the options of a [Tap]. The zero value is ready to use. Hooks are called while a message is being read:
// they must not block, and must not call the tap's connection.
type Options struct {
	// MaxMessage bounds one message from the server, in bytes. Default [DefaultMaxMessage].
	MaxMessage int
	// MaxOpen bounds the requests of the server that are open at once. More are dropped without a reply and counted.
	// Default [DefaultMaxOpen].
	MaxOpen int
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
	Overflow  int64    // requests over MaxOpen, dropped
	Junk      int64    // messages or lines that are no JSON-RPC, dropped
	FirstJunk []string // the first few of those, shortened; the server's words, to be sanitised
	OpenAsks  int      // requests of the server without an answer now
	OpenCalls int      // requests of ours without a reply now
}

// A Tap reads one MCP connection. It is safe for concurrent use.
type Tap struct {
	opts Options
	// afterReply is how long a server may keep an HTTP response open after the reply was read.
	afterReply time.Duration

	mu     sync.Mutex
	closed bool
	seq    int64
	calls  map[string]*call // requests of ours, by idKey
	order  []string         // of calls, oldest first
	asks   map[string]*ask  // requests of the server, by token
	byID   map[string]*ask  // the same, by idKey of the server's id
	stats  Stats
}

// call is a request of ours that waits for its reply.
type call struct {
	id        json.RawMessage
	method    string
	x         *Exchange // nil: not tagged
	cancelled bool      // we told the server so; a late reply is still taken
	replied   bool
	lastEvent string // id of the last event on its response, to know it again when it is resumed
}

// ask is a request of the server that waits for its answer.
type ask struct {
	token string
	id    json.RawMessage
	key   string
	raw   []byte
	q     *Question // nil: not elicitation
	gone  bool      // withdrawn: swallow the answer
}

// New returns a tap for one connection. opts may be nil.
func New(opts *Options) *Tap {
	t := &Tap{afterReply: 2 * time.Second, calls: make(map[string]*call), asks: make(map[string]*ask), byID: make(map[string]*ask)}
	if opts != nil {
		t.opts = *opts
	}
	if t.opts.MaxMessage <= 0 {
		t.opts.MaxMessage = DefaultMaxMessage
	}
	if t.opts.MaxOpen <= 0 {
		t.opts.MaxOpen = DefaultMaxOpen
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
		if result != nil {
			if !json.Valid(result) {
				return s, fmt.Errorf("outgoing: %w: the answer is not JSON", ErrMalformed)
			}
			s.body = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, a.id, oneLine(result))
		} else {
			s.body = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, a.id, m.err)
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

// forget drops a request of ours that can have no reply any more.
func (t *Tap) forget(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if key := idKey(c.id); t.calls[key] == c {
		delete(t.calls, key)
	}
}

// answered ends a request of the server.
func (t *Tap) answered(a *ask, status int, accepted bool, err error) {
	t.mu.Lock()
	t.removeLocked(a)
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

// incoming looks at a message from the server and returns what the SDK shall see instead, nil for nothing, and the
// call that it replies to, if it does. on is the call on whose own response the message came, nil if there is none.
func (t *Tap) incoming(raw []byte, on *call) (out []byte, replyTo *call, err error) {
	raw = bytes.TrimSpace(valid(raw))
	m, err := parseMessage(raw)
	if err != nil {
		t.junk(raw)
		return nil, nil, err
	}
	t.mu.Lock()
	t.stats.Messages++
	t.mu.Unlock()
	switch {
	case !m.call:
		return t.response(m)
	case m.id != nil:
		return t.request(raw, m, on), nil, nil
	default:
		return t.notification(raw, m), nil, nil
	}
}

func (t *Tap) junk(raw []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.Junk++
	if len(t.stats.FirstJunk) < keptJunk {
		t.stats.FirstJunk = append(t.stats.FirstJunk, string(valid(raw[:min(len(raw), keptJunkLine)])))
	}
}

var errStray = fmt.Errorf("%w: a response to another request", ErrMalformed)

func (t *Tap) response(m message) ([]byte, *call, error) {
	t.mu.Lock()
	key := idKey(m.id)
	c := t.calls[key]
	if m.id == nil || c == nil {
		t.stats.Stray++
		t.mu.Unlock()
		return nil, nil, errStray
	}
	delete(t.calls, key)
	c.replied = true
	t.mu.Unlock()
	if c.x != nil {
		c.x.reply(m)
	}
	return placeholder(c, m), c, nil
}

// placeholder is the response that the SDK gets. For a tagged call its result is empty: the SDK could fail to decode
// the true one (an unknown method in inputRequests), cache it (resources/read with ttlMs) or take it for a success
// (an undeclared resultType).
func placeholder(c *call, m message) []byte {
	if m.err != nil {
		e, err := ParseError(m.err)
		if err != nil {
			// The SDK's decoder would refuse it, and give up the connection.
			return errorMessage(c.id, -32603, "server sent an error that cannot be read")
		}
		quoted, _ := json.Marshal(e.Message)
		data := ""
		if e.Data != nil {
			data = `,"data":` + string(e.Data)
		}
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s%s}}`, c.id, e.Code, quoted, data)
	}
	if c.x == nil {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, c.id, m.result)
	}
	_, asked, err := ParseResult(m.result)
	if err != nil {
		return errorMessage(c.id, -32603, err.Error())
	}
	kind := complete
	if asked {
		kind = inputRequired
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":%q,"content":[],"contents":[],"messages":[]}}`, c.id, kind)
}

func (t *Tap) request(raw []byte, m message, on *call) []byte {
	t.mu.Lock()
	key := idKey(m.id)
	if old := t.byID[key]; old != nil {
		// The id is still open: the answer would belong to two requests. A resumed stream repeats a request as it was;
		// one with other bytes is a broken server.
		if bytes.Equal(old.raw, raw) {
			t.stats.Repeated++
		} else {
			t.stats.Stray++
		}
		t.mu.Unlock()
		return nil
	}
	if t.closed || len(t.asks) >= t.opts.MaxOpen {
		t.stats.Overflow++
		t.mu.Unlock()
		return nil
	}
	t.seq++
	// The SDK reads ids through a float64. A token of our own in its place is exact, and tells a handler's answer apart.
	a := &ask{token: "parley-" + strconv.FormatInt(t.seq, 10), id: m.id, key: key, raw: raw}
	t.asks[a.token], t.byID[key] = a, a
	exchanges, exact := t.candidatesLocked(on)
	foreign := false
	switch m.method {
	case methodElicit:
		t.stats.Questions++
		a.q = &Question{
			ID: m.id, Params: m.params, Exchanges: exchanges, Exact: exact,
			withdrawn: make(chan struct{}), done: make(chan struct{}),
		}
	case "ping":
	default:
		t.stats.Foreign++
		foreign = true
	}
	t.mu.Unlock()
	if foreign && t.opts.Foreign != nil {
		t.opts.Foreign(m.method, exchanges)
	}
	if a.q != nil {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":%q,"params":{"mode":"form","message":"","_meta":{%q:%q}}}`,
			a.token, methodElicit, MarkerKey, a.token)
	}
	return rebuild(a.token, m)
}

// candidatesLocked is the calls that a request of the server may belong to.
func (t *Tap) candidatesLocked(on *call) (exchanges []*Exchange, exact bool) {
	if on != nil {
		if on.x == nil {
			return nil, true
		}
		return []*Exchange{on.x}, true
	}
	for _, key := range t.order {
		if c := t.calls[key]; c != nil && c.x != nil && !c.cancelled {
			exchanges = append(exchanges, c.x)
		}
	}
	return exchanges, false
}

// rebuild writes a request or, with an empty token, a notification for the SDK.
func rebuild(token string, m message) []byte {
	method, _ := json.Marshal(m.method)
	out := []byte(`{"jsonrpc":"2.0"`)
	if token != "" {
		out = fmt.Appendf(out, `,"id":%q`, token)
	}
	out = fmt.Appendf(out, `,"method":%s`, method)
	if m.params != nil {
		out = fmt.Appendf(out, `,"params":%s`, m.params)
	}
	return append(out, '}')
}

func (t *Tap) notification(raw []byte, m message) []byte {
	switch m.method {
	case "notifications/cancelled":
		// MCP 2025-11-25 basic/utilities/cancellation: a notification for an unknown request is ignored.
		t.mu.Lock()
		a := t.byID[idKey(member1(m.params, "requestId"))]
		if a == nil {
			t.mu.Unlock()
			return nil
		}
		a.gone = true
		delete(t.byID, a.key) // the server may use the id again
		t.mu.Unlock()
		if a.q != nil {
			a.q.withdraw()
		}
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%q}}`, a.token)
	case "notifications/elicitation/complete":
		var id string
		if json.Unmarshal(member1(m.params, "elicitationId"), &id) != nil {
			return nil
		}
		if t.opts.Completed != nil {
			t.opts.Completed(id)
		}
	}
	return rebuild("", m)
}

// member1 is the value of one member of an object, nil if raw is no object or has none of that name.
func member1(raw json.RawMessage, name string) json.RawMessage {
	ms, err := members(raw, maxMembers)
	if err != nil {
		return nil
	}
	for _, f := range ms {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// faulty ends a call that can have no reply any more and returns the error response that the SDK gets in its place: an
// unreadable response would cost it the whole connection.
func (t *Tap) faulty(c *call, cause error) []byte {
	t.forget(c)
	if c.x != nil {
		c.x.fault(cause)
	}
	text := cause.Error()
	if !errors.Is(cause, ErrMalformed) && !errors.Is(cause, ErrCut) && !errors.As(cause, new(*LimitError)) {
		text = "response could not be read"
	}
	return errorMessage(c.id, -32603, text)
}
