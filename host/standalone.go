package host

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/parley-mcp/parley/internal/wiretap"
)

// Pauses before a standalone stream is opened again.
const (
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

// streamWait is how long the header of a standalone stream is waited for. Some
// servers send it with the first message only, and the SDK opens no session without.
const streamWait = time.Second

// standalone is the body of the stream that a legacy server may write to
// outside any response (MCP 2025-11-25 basic/transports, "Listening for Messages
// from the Server"). Proxies cut such a stream when it is quiet, and some
// servers close it at once. The SDK gives up the whole session after a few of
// those, and with it the calls that are held for a person. So the stream is
// opened again here, for as long as the session lives, and the SDK sees one
// stream that does not end.
type standalone struct {
	base  http.RoundTripper
	req   *http.Request
	pause time.Duration

	mu     sync.Mutex
	body   io.ReadCloser
	closed bool

	line  []byte // of the stream, as far as it was read
	last  string // id of the last event
	quiet int    // openings in a row that brought nothing
}

// opensStream reports whether a request opens a standalone stream.
func opensStream(req *http.Request) bool {
	return req.Method == http.MethodGet && req.Header.Get("Last-Event-ID") == ""
}

// keepOpen wraps the response to a GET that opens a standalone stream, and
// leaves all others alone.
func keepOpen(base http.RoundTripper, req *http.Request, resp *http.Response, pause time.Duration) {
	if !opensStream(req) || !isStream(resp) {
		return
	}
	resp.Body = &standalone{base: base, req: req, body: resp.Body, pause: pause}
}

// roundTrip sends a request. One that opens a standalone stream is answered
// after the wait at the latest, with a stream to which what the server sends comes later.
func roundTrip(base http.RoundTripper, req *http.Request, wait time.Duration) (*http.Response, error) {
	if !opensStream(req) {
		return base.RoundTrip(req)
	}
	l := &lateStream{req: req, came: make(chan struct{})}
	go l.fetch(base) // ends with the request's context, which is the session's
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-l.came:
		return l.resp, l.err
	case <-timer.C:
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, ContentLength: -1, Body: l, Request: req,
	}, nil
}

// A lateStream is the body of a response that is still to come.
type lateStream struct {
	req  *http.Request
	came chan struct{} // closed when what follows is set
	resp *http.Response
	err  error

	mu     sync.Mutex
	closed bool
}

func (l *lateStream) fetch(base http.RoundTripper) {
	resp, err := base.RoundTrip(l.req)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed && err == nil {
		resp.Body.Close()
	}
	l.resp, l.err = resp, err
	close(l.came)
}

// Read implements [io.Reader]. It fails if what came is no stream.
func (l *lateStream) Read(p []byte) (int, error) {
	select {
	case <-l.came:
	case <-l.req.Context().Done():
		return 0, l.req.Context().Err()
	}
	switch {
	case l.err != nil:
		return 0, l.err
	case !isStream(l.resp):
		return 0, io.EOF
	}
	return l.resp.Body.Read(p)
}

// Close implements [io.Closer].
func (l *lateStream) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.resp == nil {
		return nil
	}
	return l.resp.Body.Close()
}

func isStream(resp *http.Response) bool {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return resp.StatusCode == http.StatusOK && media == "text/event-stream"
}

// Read implements [io.Reader]. It fails only when the session ends.
func (s *standalone) Read(p []byte) (int, error) {
	ctx := s.req.Context()
	for {
		s.mu.Lock()
		body := s.body
		s.mu.Unlock()
		n, err := body.Read(p)
		if n > 0 {
			s.quiet = 0
			s.note(p[:n])
			return n, nil
		}
		if err == nil {
			continue
		}
		body.Close()
		if !s.reopen(ctx) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
	}
}

// reopen opens the stream again; false if the server offers none any more, or
// the session has ended.
func (s *standalone) reopen(ctx context.Context) bool {
	s.line = nil // what was cut off comes again, or never
	for {
		timer := time.NewTimer(min(s.pause<<min(s.quiet, 5), lastPause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
		s.quiet++
		req := s.req.Clone(ctx)
		if s.last != "" {
			req.Header.Set("Last-Event-ID", s.last)
		}
		resp, err := s.base.RoundTrip(req)
		if err != nil {
			continue
		}
		if isStream(resp) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.closed {
				resp.Body.Close()
				return false
			}
			s.body = resp.Body
			return true
		}
		resp.Body.Close()
		if !wiretap.Passing(resp.StatusCode) {
			return false
		}
	}
}

// note keeps the id of the last event. The wiretap writes one field per line,
// and whole events only.
func (s *standalone) note(p []byte) {
	const maxLine = 8 << 10 // an id is shorter; of longer lines the start is enough
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		part := p
		if i >= 0 {
			part = p[:i]
		}
		if len(s.line)+len(part) <= maxLine {
			s.line = append(s.line, part...)
		}
		if i < 0 {
			return
		}
		if id, ok := bytes.CutPrefix(s.line, []byte("id: ")); ok {
			s.last = string(id)
		}
		s.line = s.line[:0]
		p = p[i+1:]
	}
}

// Close implements [io.Closer].
func (s *standalone) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.body.Close()
}
