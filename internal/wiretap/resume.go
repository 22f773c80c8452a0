package wiretap

import (
	"cmp"
	"context"
	"crypto/sha256"
	"hash/maphash"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Pauses before the response to a request is resumed.
const (
	// leastPause is waited in any case: a server may close each stream at once, and ask for no pause at all.
	leastPause = time.Second
	// mostPause bounds the back-off.
	mostPause = 30 * time.Second
	// steady is how long a stream lasts that was no failure, if only a proxy's time-out ended it.
	steady = 10 * time.Second
	// maxVain is how many resumptions in a row may bring nothing, unless somebody is being asked. With the back-off between
	// them that is a minute. What a server wants to be polled for is not counted: whoever made the call bounds its time.
	maxVain = 6
	// maxSettled bounds the questions that are known when they come again: those of one call, of which hosts allow fewer,
	// and the last ones of the standalone streams.
	maxSettled = 256
	// maxSeen bounds the events of one call that are known when they come again.
	maxSeen = 256
)

// firstModern is the first revision without resumable streams (MCP 2026-07-28 basic/transports/streamable-http).
const firstModern = "2026-07-28"

// A resumption is how the response to one request goes on after its stream was cut, or closed by the server before the
// reply: by a GET with the id of the last event (MCP 2025-11-25 basic/transports, "Resumability and Redelivery"). The
// SDK does not see the cuts. It resumes a stream only while each one brings an event with an id, and gives up the whole
// session, with the calls of others, for a resumption that fails. Here a call is held for as long as it lives.
//
// Only the reader of the body uses it.
type resumption struct {
	base      http.RoundTripper
	ctx       context.Context
	from      *http.Request // the request whose response it is, without its body
	mostRetry time.Duration
	// session is from the response, if the request began the session.
	session string

	last  string        // id of the last event; empty: the server has sent none, so nothing can be resumed
	retry time.Duration // the pause that the server asked for last; 0: none
	polls bool          // the server has named a pause, if only one of 0
	seen  []uint64      // hashes of the last events

	began  time.Time   // when the stream was asked for
	wired  atomic.Bool // there was a connection for it
	opened bool        // it came
	fresh  bool        // an event has come on it that was not there before
	spoke  bool        // a message has come on it

	brief int // streams in a row that were short, and brought no message: the back-off
	vain  int // of those, in a row, that brought nothing new at all, or did not come
}

// resumable is how the response to a request will be resumed; nil if the revision knows of no such thing.
func (r *roundTripper) resumable(ctx context.Context, req *http.Request, resp *http.Response) *resumption {
	if req.Header.Get(headerVersion) >= firstModern {
		return nil
	}
	from := req.WithContext(ctx)
	from.Body, from.GetBody = nil, nil
	again := &resumption{
		base: r.base, ctx: ctx, from: from, mostRetry: r.tap.opts.MostRetry,
		session: resp.Header.Get(headerSession), began: time.Now(), opened: true,
	}
	again.wired.Store(true)
	return again
}

// note keeps what an event says of resuming, and reports whether the event has not come before.
func (r *resumption) note(e event) (news bool) {
	news = r.news(e)
	if e.id != "" {
		r.last, r.fresh = e.id, r.fresh || news
	}
	if e.retry != "" {
		r.retry, r.polls = min(retryTime(e.retry), r.mostRetry), true
	}
	return news
}

// news reports whether the event is none of the last ones: a server may repeat on each stream what came before its
// Last-Event-ID, and that is no sign of progress.
func (r *resumption) news(e event) bool {
	h := maphash.String(seed, e.id) ^ maphash.Bytes(seed, e.data)*3
	if slices.Contains(r.seen, h) {
		return false
	}
	r.seen = append(r.seen[max(0, len(r.seen)+1-maxSeen):], h)
	return true
}

// seed is that of the hashes of events.
var seed = maphash.MakeSeed()

// heard counts a message that has not come before.
func (r *resumption) heard() { r.fresh, r.spoke = true, true }

// retryTime reads a number of milliseconds, of digits alone.
func retryTime(text string) time.Duration {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}

// ended counts the stream that has ended.
//
// MCP 2025-11-25 basic/transports, "Sending Messages to the Server": a server that has sent a retry field may close the
// stream of each poll at once, without an event, until the tool is done (SEP-1699). As long as the streams come, it lives.
func (r *resumption) ended() {
	switch {
	case r.spoke, r.wired.Load() && time.Since(r.began) >= steady:
		r.brief, r.vain = 0, 0
	case r.fresh, r.polls && r.opened:
		r.brief, r.vain = r.brief+1, 0
	default:
		r.brief, r.vain = r.brief+1, r.vain+1
	}
}

// pause is how long to wait before the next stream: at least the first, and if nothing happens the second.
//
// MCP 2025-11-25 basic/transports, "Sending Messages to the Server": the client waits as long as the server's retry
// field says. A server that says so, and closes the stream, wants to be polled: that is no failure.
func (r *resumption) pause(floor time.Duration) (least, most time.Duration) {
	least = max(floor, r.retry)
	if most = least; !r.opened || r.retry < floor {
		most = max(least, min(floor<<min(max(r.brief-1, 0), 10), mostPause))
	}
	spread := rand.N(most/8 + 1) //nolint:gosec // no secret: it is so that what was cut together does not come back together
	return least + min(spread, least/8), most + spread
}

// request begins the next stream, and is the request for it. MCP 2025-11-25 basic/transports, "Resumability and Redelivery":
// "always via HTTP GET with Last-Event-ID", however the stream began.
func (r *resumption) request() *http.Request {
	r.began, r.opened, r.fresh, r.spoke = time.Now(), false, false, false
	r.wired.Store(false)
	req := r.from.Clone(httptrace.WithClientTrace(r.ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { r.wired.Store(true) }}))
	req.Method, req.ContentLength = http.MethodGet, 0
	req.Header.Del("Content-Type")
	req.Header.Set("Accept", kindEvents)
	req.Header.Set(headerLastEvent, r.last)
	req.Header.Set(headerSession, cmp.Or(req.Header.Get(headerSession), r.session))
	if req.Header.Get(headerSession) == "" {
		req.Header.Del(headerSession)
	}
	return req
}

// resume waits, and asks for the stream again until it comes. It reports false if there is none to come any more:
// the call is over, the server says so, or the resumptions have been in vain for long.
func (b *eventBody) resume() bool {
	r := b.again
	if r == nil || r.last == "" {
		return false
	}
	_ = b.src.Close()
	for {
		r.ended()
		if b.over() || !b.rest() {
			return false
		}
		resp, err := r.base.RoundTrip(r.request())
		if err != nil {
			continue
		}
		if resp.StatusCode == http.StatusOK && mediaType(resp.Header.Get("Content-Type")) == kindEvents {
			r.opened = true
			b.take(decoded(resp))
			return true
		}
		_ = resp.Body.Close()
		if !Passing(resp.StatusCode) {
			return false
		}
	}
}

// over reports whether the call has its reply, or the session has ended.
func (b *eventBody) over() bool {
	b.tap.mu.Lock()
	defer b.tap.mu.Unlock()
	return b.call.replied || b.tap.closed
}

// Passing reports whether a status to a resumption may be another one soon. 409 is what both official SDKs say while
// the server has not noticed yet that the stream before was cut. All else is the server's last word, 404 to a session
// that is gone and 405 included.
func Passing(status int) bool {
	return status/100 == 5 || status == http.StatusUnauthorized || status == http.StatusConflict || status == http.StatusTooManyRequests
}

// rest is the pause before a resumption. It reports false if there shall be none.
func (b *eventBody) rest() bool {
	r := b.again
	b.answered(nil)
	if r.vain >= maxVain && !b.tap.asking(b.call) {
		return false
	}
	least, most := r.pause(b.tap.leastPause)
	began := time.NewTimer(least)
	defer began.Stop()
	select {
	case <-r.ctx.Done():
		return false
	case <-began.C:
	}
	timer := time.NewTimer(most - least)
	defer timer.Stop()
	return b.answered(timer.C)
}

// answered waits until the timer fires, or an answer to a question of the call has been sent: then the reply is near,
// and what was in vain before says nothing any more. A nil timer does not wait. False: the call is over.
func (b *eventBody) answered(timer <-chan time.Time) bool {
	if timer == nil {
		select {
		case <-b.call.answered:
			b.again.brief, b.again.vain = 0, 0
		default:
		}
		return true
	}
	select {
	case <-b.again.ctx.Done():
		return false
	case <-b.call.answered:
		b.again.brief, b.again.vain = 0, 0
	case <-timer:
	}
	return true
}

// take puts a stream in the place of the one that has ended.
func (b *eventBody) take(src io.ReadCloser) {
	b.split = splitter{limit: b.split.limit} // what was cut off comes again, or never
	b.tap.mu.Lock()
	b.call.resumed = true
	b.tap.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.src = src
}

// asking reports whether somebody is being asked on behalf of the call.
func (t *Tap) asking(c *call) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.asks {
		if a.q == nil || a.gone {
			continue
		}
		if a.on == c {
			return true
		}
		if slices.Contains(a.q.Exchanges, c.x) {
			return true
		}
	}
	return false
}

// settle remembers a question whose answer the server has, or wants no more: a server may repeat on a resumed stream what
// came before its Last-Event-ID, and the person would be asked again. t.mu is held.
func (t *Tap) settle(a *ask) {
	switch {
	case a.q == nil || a.on == nil:
		return
	case a.on.alone:
		t.settled = append(t.settled[max(0, len(t.settled)+1-maxSettled):], sha256.Sum256(a.raw))
		return
	case a.on.answered == nil || len(a.on.settled) >= maxSettled:
		return
	}
	if a.on.settled == nil {
		a.on.settled = make(map[[sha256.Size]byte]bool)
	}
	a.on.settled[sha256.Sum256(a.raw)] = true
}

// again reports whether a request on a resumed stream is one that was settled. MCP 2025-11-25 basic, "Requests": no id
// is used twice in a session, so the same bytes are the same request. t.mu is held.
func (t *Tap) again(c *call, raw []byte) bool {
	switch {
	case c == nil || !c.resumed || len(c.settled)+len(t.settled) == 0:
		return false
	case c.alone:
		return slices.Contains(t.settled, sha256.Sum256(raw))
	}
	return c.settled[sha256.Sum256(raw)]
}

// isEventID reports whether an id can be sent back in a header.
func isEventID(id string) bool {
	return len(id) <= maxEventID && !strings.ContainsFunc(id, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F })
}

// resumes prepares a call whose response may be resumed, as long as ctx lives.
func (t *Tap) resumes(ctx context.Context, c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.life, c.answered = ctx, make(chan struct{}, 1)
}
