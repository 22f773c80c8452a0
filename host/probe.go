package host

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// errSilent is in the error of an HTTP server that did not answer in time.
var errSilent = errors.New("no answer in time")

// A probe is the round tripper that looks after server/discover, the first
// request to a server of which it is not known what it speaks. The SDK tries the
// legacy era only after a JSON-RPC error or an error status: silence takes all its
// time, and a response without a reply ends the session. So whatever is no reply
// here becomes the error of a server that does not know the method.
// MCP 2026-07-28 basic/versioning, "Backward Compatibility with Initialization-Based
// Versions": whatever is no reply or error of that era identifies a legacy server.
type probe struct {
	base http.RoundTripper // the wiretap's
	wait time.Duration     // 0: as long as the server takes
	mute atomic.Bool       // the server was silent for that long
}

// RoundTrip implements [http.RoundTripper].
func (p *probe) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodPost || req.Header.Get("Mcp-Method") != "server/discover" || req.GetBody == nil {
		return p.base.RoundTrip(req)
	}
	var asked struct {
		ID json.RawMessage `json:"id"`
	}
	body, err := req.GetBody()
	if err == nil {
		err = errors.Join(json.NewDecoder(body).Decode(&asked), body.Close())
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	defer cancel(nil)
	if p.wait > 0 {
		timer := time.AfterFunc(p.wait, func() { cancel(errSilent) })
		defer timer.Stop()
	}
	resp, err := p.base.RoundTrip(req.WithContext(ctx))
	if err == nil && resp.StatusCode/100 != 2 {
		return resp, nil // the wiretap has read it
	}
	var reply []byte
	if err == nil {
		reply = replyOf(resp)
		resp.Body.Close()
	}
	switch {
	case resultOf(reply) != nil:
	case req.Context().Err() != nil:
		return nil, req.Context().Err()
	case errors.Is(context.Cause(ctx), errSilent):
		p.mute.Store(true)
		reply = nil
	case err != nil:
		return nil, err
	}
	if reply == nil {
		reply = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no reply to server/discover"}}`, asked.ID, codeMethodNotFound)
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(reply)),
		Body: io.NopCloser(bytes.NewReader(reply)), Request: req,
	}, nil
}

// replyOf reads the response as far as its reply, which the wiretap has found in it
// and bounded; nil if there is none.
func replyOf(resp *http.Response) []byte {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch media {
	case "application/json":
		reply, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil
		}
		return bytes.TrimSpace(reply)
	case "text/event-stream": // it may stay open after the reply
		var e eventData
		for lines := bufio.NewReader(resp.Body); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return nil
			}
			var m struct {
				Method *string `json:"method"`
			}
			if msg := e.line(line); json.Unmarshal(msg, &m) == nil && m.Method == nil {
				return msg
			}
		}
	}
	return nil
}

// noSession is what an HTTP server's failure to open a session means for the next
// attempt, or that of another request for the session; nil: nothing.
func (c *connection) noSession(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errSilent
	case c.session == nil && c.probe.mute.Load():
		return errSlow // legacy it is not
	case refused(err):
		return errRefused
	}
	return nil
}

// guessed reports whether an HTTP server counts as legacy by its silence alone. It may
// have been slow to wake up, and the next session asks it again.
func (c *connection) guessed() bool { return c.probe != nil && c.probe.mute.Load() }

// recallEra takes what the server of a parked call spoke for known, where nothing newer
// is: a server that is slow to wake up is not to pass for one of the era before, in which
// the call cannot go on.
func (c *carriage) recallEra() {
	h := c.host
	if c.server.Kind() != HTTP || !c.paused() || c.call.Era != inbox.Modern {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.eras[c.server.ID] == "" {
		h.eras[c.server.ID] = c.call.Era
	}
}
