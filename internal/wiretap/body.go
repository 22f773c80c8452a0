package wiretap

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// closing cancels the request when its response is closed.
type closing struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *closing) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// gzipBody decodes a body whose encoding net/http left alone. The header is read with the first byte, not before.
type gzipBody struct {
	src io.ReadCloser
	gz  *gzip.Reader
}

func (b *gzipBody) Read(p []byte) (int, error) {
	if b.gz == nil {
		gz, err := gzip.NewReader(b.src)
		if err != nil {
			return 0, err
		}
		b.gz = gz
	}
	return b.gz.Read(p)
}

func (b *gzipBody) Close() error { return b.src.Close() }

// jsonBody is a response that holds one message.
type jsonBody struct {
	tap    *Tap
	call   *call
	src    io.ReadCloser
	cancel context.CancelFunc
	out    *bytes.Reader
}

func (b *jsonBody) Read(p []byte) (int, error) {
	if b.out == nil {
		b.out = bytes.NewReader(b.read())
	}
	return b.out.Read(p)
}

func (b *jsonBody) read() []byte {
	limit := b.tap.opts.MaxMessage
	raw, err := io.ReadAll(io.LimitReader(b.src, int64(limit)+1))
	switch {
	case len(raw) > limit:
		return b.tap.faulty(b.call, &LimitError{What: "a response", Limit: limit})
	case err != nil:
		return b.tap.faulty(b.call, fmt.Errorf("%w: %w", ErrCut, err))
	}
	out, to, err := b.tap.incoming(raw, b.call)
	switch {
	case err != nil:
		return b.tap.faulty(b.call, err)
	case to != b.call:
		// A request, a notification or the reply to another call: with one message in the response, ours has none.
		return b.tap.faulty(b.call, errStray)
	}
	return out
}

func (b *jsonBody) Close() error {
	defer b.cancel()
	b.tap.forget(b.call)
	if b.call.x != nil {
		b.call.x.fault(ErrCut) // closed before it was read
	}
	return b.src.Close()
}

// eventBody is a response that is an event stream. An event is passed on as soon as it is complete.
type eventBody struct {
	tap    *Tap
	call   *call         // nil: the standalone stream
	on     *call         // the call, or what stands for the stream
	again  *resumption   // how it goes on after a cut; nil: not here
	src    io.ReadCloser // also read under mu by Close; written under mu by the reader alone
	cancel context.CancelFunc
	split  splitter
	out    []byte
	cut    error // how the stream ended, while out is still to be read
	err    error
	bad    error // why the last broken event was dropped

	mu    sync.Mutex
	timer *time.Timer
}

func (b *eventBody) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(b.out) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.fill(p)
	}
	n := copy(p, b.out)
	if b.out = b.out[n:]; len(b.out) == 0 {
		b.out = nil // the next event may be days away
	}
	return n, nil
}

// fill reads more. scratch is the reader's own buffer, so that a stream which is held for days needs none.
func (b *eventBody) fill(scratch []byte) {
	if err := b.cut; err != nil {
		b.cut = nil
		b.ended(err)
		return
	}
	n, err := b.src.Read(scratch)
	tooLarge := b.split.feed(scratch[:n])
	b.out = nil
	for _, e := range b.split.ready {
		b.event(e)
	}
	b.split.rest()
	switch {
	case tooLarge != nil:
		// What follows cannot be read, so end the call here, not the connection.
		b.err = io.EOF
		b.tap.junk(b.split.line)
		if b.call != nil && !b.replied() {
			b.out = appendEvent(b.out, event{data: b.tap.faulty(b.call, tooLarge)})
		}
	case err != nil && len(b.out) > 0:
		b.cut = err // the pause before it goes on may be long: first what has come
	case err != nil:
		b.ended(err)
	}
}

// ended handles the end of a stream. Nothing of it is still to be passed on.
func (b *eventBody) ended(err error) {
	if b.resume() {
		return
	}
	b.err = err
	if b.call == nil || b.replied() {
		return
	}
	cause := b.bad
	if cause == nil {
		cause = ErrCut
		if !errors.Is(err, io.EOF) {
			cause = fmt.Errorf("%w: %w", ErrCut, err)
		}
	}
	if b.call.x != nil {
		b.call.x.fault(cause)
	}
}

func (b *eventBody) replied() bool {
	b.tap.mu.Lock()
	defer b.tap.mu.Unlock()
	return b.call.replied
}

func (b *eventBody) event(e event) {
	if !isEventID(e.id) {
		e.id = ""
	}
	news := b.again != nil && b.again.note(e)
	if b.call != nil {
		// The SDK would resume the stream itself, in an era that does not know of it too.
		e.id, e.retry = "", ""
	}
	data := e.data
	e.data = nil
	if len(data) > 0 && (e.name == "" || e.name == "message") {
		out, to, err := b.tap.incoming(data, b.on)
		if err != nil {
			b.bad = err
			b.tap.tooLarge(err)
		}
		if e.data = out; out != nil && news {
			b.again.heard()
		}
		if to != nil && to == b.call {
			b.linger()
		}
	}
	if len(e.data) > 0 || e.id != "" || e.retry != "" {
		b.out = appendEvent(b.out, e)
	}
}

// linger ends the response soon after the reply: the SDK reads on until the server closes it, so a server that does
// not would hold a goroutine and a connection for as long as the caller's context lives.
func (b *eventBody) linger() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer == nil {
		b.timer = time.AfterFunc(b.tap.afterReply, b.cancel)
	}
}

func (b *eventBody) Close() error {
	b.mu.Lock()
	if b.timer != nil {
		b.timer.Stop()
	}
	src := b.src
	b.mu.Unlock()
	defer b.cancel()
	if b.call != nil {
		b.tap.forget(b.call)
		if b.call.x != nil {
			b.call.x.fault(ErrCut)
		}
	}
	return src.Close()
}
