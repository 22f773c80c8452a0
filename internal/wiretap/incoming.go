package wiretap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// incoming looks at a message from the server and returns what the SDK shall see instead, nil for nothing, and the
// call that it replies to, if it does. on is the call on whose own response the message came, or the standalone stream; nil
// on stdio.
func (t *Tap) incoming(raw []byte, on *call) (out []byte, replyTo *call, err error) {
	raw = bytes.TrimSpace(valid(raw))
	m, err := parseMessage(raw)
	if err != nil {
		t.junk(raw)
		if c := t.spoilt(raw); c != nil {
			return t.faulty(c, err), c, nil
		}
		return nil, nil, err
	}
	t.mu.Lock()
	t.stats.Messages++
	t.mu.Unlock()
	switch {
	case !m.call:
		return t.response(m)
	case m.id != nil:
		if t.echoes(m) {
			return nil, nil, ErrNotServer
		}
		return t.request(raw, m, on), nil, nil
	default:
		return t.notification(m), nil, nil
	}
}

// spoilt is the call of ours that a message would reply to, had it been one that
// can be read; nil if that is not plain. Nobody would wait for another reply.
func (t *Tap) spoilt(raw []byte) *call {
	ms, err := members(raw, maxEnvelope)
	if err != nil {
		return nil
	}
	var version, method bool
	var id json.RawMessage
	for _, f := range ms {
		switch f.Name {
		case "jsonrpc":
			version = string(f.Value) == `"2.0"`
		case "method":
			method = true
		case "id":
			id = f.Value
		}
	}
	if !version || method {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.calls[idKey(id)]
	if c != nil {
		c.replied = true
	}
	return c
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

// echoes reports whether the server sends back a request of ours. Both sides may count their requests from one, so the
// id says nothing; but no server discovers, initializes or calls its client.
func (t *Tap) echoes(m message) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.calls[idKey(m.id)]
	return c != nil && c.method == m.method && m.method != "ping"
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
	if t.again(on, raw) {
		t.stats.Repeated++
		t.mu.Unlock()
		return nil
	}
	over := len(t.asks) >= t.opts.MaxOpen
	if over {
		t.stats.Overflow++
	}
	if t.closed || len(t.asks) >= 2*t.opts.MaxOpen { // a server that does not wait for the refusals gets none
		t.mu.Unlock()
		return nil
	}
	t.seq++
	// The SDK reads ids through a float64. A token of our own in its place is exact, and tells a handler's answer apart.
	a := &ask{token: "parley-" + strconv.FormatInt(t.seq, 10), id: m.id, key: key, raw: raw, on: on, over: over}
	t.asks[a.token], t.byID[key] = a, a
	if over {
		t.mu.Unlock()
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":"over the limit"}`, a.token) // the SDK refuses what it does not know
	}
	exchanges, exact := t.candidatesLocked(on)
	foreign := false
	switch m.method {
	case methodElicit:
		t.stats.Questions++
		a.q = &Question{
			ID: m.id, Params: m.params, Exchanges: exchanges, Exact: exact,
			done: make(chan struct{}), withdrawn: make(chan struct{}),
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
	if on != nil && !on.alone {
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

func (t *Tap) notification(m message) []byte {
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
		t.settle(a)
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
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// faulty ends a call that can have no reply any more and returns the error response that the SDK gets in its place: an
// unreadable response would cost it the whole connection.
func (t *Tap) faulty(c *call, cause error) []byte {
	t.forget(c)
	t.tooLarge(cause)
	if c.x != nil {
		c.x.fault(cause)
	}
	text := cause.Error()
	if !errors.Is(cause, ErrMalformed) && !errors.Is(cause, ErrCut) && !errors.As(cause, new(*LimitError)) {
		text = "response could not be read"
	}
	return errorMessage(c.id, -32603, text)
}
