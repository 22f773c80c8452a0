package wiretap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"time"
)

const (
	headerSession   = "Mcp-Session-Id"
	headerVersion   = "Mcp-Protocol-Version"
	headerLastEvent = "Last-Event-ID"
	kindEvents      = "text/event-stream"
	maxEventID      = 4 << 10 // bytes; a longer one could not be sent back in a header
	maxErrorBody    = 1 << 20 // bytes of a response with an error status
)

// RoundTripper returns a transport for the [http.Client] of one StreamableClientTransport. base nil is
// [http.DefaultTransport]. Redirects and credentials are the client's affair: set CheckRedirect, since net/http sends
// the body again on 307 and 308.
func (t *Tap) RoundTripper(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &roundTripper{tap: t, base: base}
}

type roundTripper struct {
	tap  *Tap
	base http.RoundTripper
}

func (r *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	switch {
	case req.Method == http.MethodPost && req.Body != nil:
		return r.post(req)
	case req.Method == http.MethodGet:
		return r.get(req)
	default:
		return r.base.RoundTrip(req)
	}
}

func (r *roundTripper) post(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	req.Body.Close()
	if err != nil {
		return nil, err
	}
	s, err := r.tap.outgoing(req.Context(), bytes.Clone(body)) // of its own size: it is kept until the reply
	if err != nil {
		if s.ask != nil {
			r.tap.answered(s.ask, 0, false, err)
		}
		return nil, err
	}
	switch {
	case s.swallow:
		if s.ask != nil {
			r.tap.answered(s.ask, 0, false, ErrWithdrawn)
		}
		return accepted(req), nil
	case s.ask != nil:
		return r.answer(req, s)
	case s.call != nil:
		return r.call(req, s)
	default:
		return r.base.RoundTrip(withBody(req.Context(), req, s.body, nil))
	}
}

// accepted is the response to an answer that nobody waits for any more.
func accepted(req *http.Request) *http.Response {
	return &http.Response{
		Status: "202 Accepted", StatusCode: http.StatusAccepted, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: http.NoBody, Request: req,
	}
}

// withBody is req with another body. left, if not nil, is called when bytes of the request may leave.
func withBody(ctx context.Context, req *http.Request, body []byte, left func()) *http.Request {
	open := func() (io.ReadCloser, error) {
		return &leaving{r: bytes.NewReader(body), left: left}, nil
	}
	if left != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { left() }})
	}
	req = req.WithContext(ctx) // its headers stay as they are
	req.Body, _ = open()
	req.GetBody = open
	req.ContentLength = int64(len(body))
	return req
}

// leaving is a request body that tells when it is read: for transports that know no httptrace.
type leaving struct {
	r    *bytes.Reader
	left func()
}

func (l *leaving) Read(p []byte) (int, error) {
	if l.left != nil {
		l.left()
	}
	return l.r.Read(p)
}

func (l *leaving) Close() error { return nil }

func (r *roundTripper) answer(req *http.Request, s sending) (*http.Response, error) {
	q := s.ask.q
	left := func() {}
	if q != nil {
		switch err := q.begin(req.Context()); {
		case errors.Is(err, ErrWithdrawn), errors.Is(err, ErrClosed):
			r.tap.answered(s.ask, 0, false, err)
			return accepted(req), nil
		case err != nil:
			r.tap.answered(s.ask, 0, false, err)
			return nil, err
		}
		left = q.left
	}
	resp, err := r.base.RoundTrip(withBody(req.Context(), req, s.body, left))
	for n := 1; err != nil && r.tap.waits(s, n); n++ {
		resp, err = r.base.RoundTrip(withBody(req.Context(), req, s.body, left))
	}
	if err != nil {
		r.tap.answered(s.ask, 0, false, err)
		return nil, err
	}
	if q != nil && again(resp.StatusCode) {
		q.mu.Lock()
		q.attempt.status = resp.StatusCode
		q.delivery.Status, q.delivery.Left = resp.StatusCode, true
		q.mu.Unlock()
	}
	if resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect {
		// The client may follow at once, or never.
		time.AfterFunc(r.tap.afterReply, func() {
			if q != nil {
				q.mu.Lock()
				followed := q.attempt.status == 0
				q.mu.Unlock()
				if followed {
					return
				}
			}
			r.tap.answered(s.ask, resp.StatusCode, false, nil)
		})
		return resp, nil
	}
	r.tap.answered(s.ask, resp.StatusCode, resp.StatusCode/100 == 2, nil)
	return resp, nil
}

func (r *roundTripper) call(req *http.Request, s sending) (*http.Response, error) {
	c, x := s.call, s.exchange()
	var left func()
	if x != nil {
		if err := x.begin(req.Context(), req.Header.Get(headerSession) != ""); err != nil {
			return nil, err
		}
		left = x.left
	}
	r.tap.expect(c)
	ctx, cancel := context.WithCancel(req.Context())
	resp, err := r.base.RoundTrip(withBody(ctx, req, s.body, left))
	if err != nil {
		cancel()
		r.tap.forget(c)
		if x != nil {
			x.fault(err)
		}
		return nil, err
	}
	if x != nil {
		x.status(resp)
	}
	r.wrap(resp, c, r.resumable(ctx, req, resp), false, cancel)
	return resp, nil
}

func (r *roundTripper) get(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	resp, err := r.base.RoundTrip(req.Clone(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		r.wrap(resp, nil, nil, req.Header.Get(headerLastEvent) != "", cancel)
	} else {
		resp.Body = &closing{ReadCloser: resp.Body, cancel: cancel}
	}
	return resp, nil
}

// wrap puts a reader of ours over the response's body. c is the call that it responds to, nil for the standalone
// stream, and again how that goes on after a cut, nil if it does not; resumed says that it may repeat what has come.
func (r *roundTripper) wrap(resp *http.Response, c *call, again *resumption, resumed bool, cancel context.CancelFunc) {
	body := decoded(resp)
	resp.Header.Del("Content-Length")
	resp.ContentLength = -1
	media := mediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode/100 != 2:
		resp.Body = r.refused(resp, body, c, cancel)
	case media == kindEvents:
		if again != nil {
			r.tap.resumes(again.ctx, c)
		}
		on := c
		if c == nil {
			on = &call{alone: true, resumed: resumed}
		}
		resp.Body = &eventBody{
			tap: r.tap, call: c, on: on, again: again, src: body, cancel: cancel,
			split: splitter{limit: r.tap.opts.MaxMessage},
		}
	case media == "application/json" && c != nil:
		resp.Body = &jsonBody{tap: r.tap, call: c, src: body, cancel: cancel}
	default:
		// The SDK reads no message from it.
		if c != nil {
			r.tap.forget(c)
			if c.x != nil {
				c.x.fault(fmt.Errorf("%w: content type %.64q", ErrMalformed, media))
			}
		}
		resp.Body = &closing{ReadCloser: body, cancel: cancel}
	}
}

// decoded is the body of a response without its encoding. net/http has decoded what it asked for itself.
func decoded(resp *http.Response) io.ReadCloser {
	if resp.Header.Get("Content-Encoding") != "gzip" {
		return resp.Body
	}
	resp.Header.Del("Content-Encoding")
	return &gzipBody{src: resp.Body}
}

// mediaType is read as the SDK reads it: what it takes for a stream must not pass by here.
func mediaType(header string) string {
	media, _, err := mime.ParseMediaType(header)
	if err != nil {
		return ""
	}
	return media
}

// refused reads the body of a response with an error status at once: the SDK does not look at all of them, and a
// JSON-RPC error in it is the call's outcome.
func (r *roundTripper) refused(resp *http.Response, body io.ReadCloser, c *call, cancel context.CancelFunc) io.ReadCloser {
	defer cancel()
	defer body.Close()
	raw, err := io.ReadAll(io.LimitReader(body, maxErrorBody))
	if c == nil {
		return io.NopCloser(bytes.NewReader(raw))
	}
	defer r.tap.forget(c)
	if err != nil {
		return io.NopCloser(bytes.NewReader(nil))
	}
	m, err := parseMessage(bytes.TrimSpace(valid(raw)))
	switch {
	case err != nil || m.err == nil:
		return io.NopCloser(bytes.NewReader(raw))
	case m.id == nil:
		// MCP 2025-11-25 basic/transports: an error response to a refused POST "has no id".
		if c.x != nil {
			c.x.refusal(m.err)
		}
		switch s := resp.StatusCode; {
		case s == http.StatusUnauthorized, s == http.StatusForbidden, s == http.StatusNotFound, s/100 != 4:
			return io.NopCloser(bytes.NewReader(raw))
		}
		// The SDK would give up the connection for an error without an id, not only the call.
		return io.NopCloser(bytes.NewReader(placeholder(c, m)))
	}
	out, _, err := r.tap.incoming(raw, c)
	if err != nil || out == nil {
		return io.NopCloser(bytes.NewReader(nil))
	}
	return io.NopCloser(bytes.NewReader(out))
}
