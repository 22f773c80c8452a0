package host

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"
)

// Pauses before a standalone stream is opened again.
const (
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

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

// keepOpen wraps the response to a GET that opens a standalone stream, and
// leaves all others alone.
func keepOpen(base http.RoundTripper, req *http.Request, resp *http.Response, pause time.Duration) {
	if req.Method != http.MethodGet || req.Header.Get("Last-Event-ID") != "" || !isStream(resp) {
		return
	}
	resp.Body = &standalone{base: base, req: req, body: resp.Body, pause: pause}
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
		if resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
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
