package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

const (
	keepAlive   = 15 * time.Second // a comment, so that nothing in between takes the stream for dead
	writeTime   = 30 * time.Second // a reader that takes nothing for so long is gone
	eventsBatch = 200

	defaultStreams       = 32 // tabs of a person, and some to spare
	reasonTooManyStreams = "too_many_streams"
)

// A streamCount holds how many event streams each principal has open. Each costs a
// connection, a goroutine and a look at the store now and then.
type streamCount struct {
	most int // of one principal

	mu   sync.Mutex
	open map[inbox.Principal]int
}

// take counts a stream; who got it gives it back.
func (c *streamCount) take(p inbox.Principal) (giveBack func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[p] >= c.most {
		return nil, &inbox.LimitError{Reason: reasonTooManyStreams, Limit: c.most}
	}
	if c.open == nil {
		c.open = map[inbox.Principal]int{}
	}
	c.open[p]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open[p]--; c.open[p] == 0 {
			delete(c.open, p) // a host sees many people come and go
		}
	}, nil
}

// events streams what changes for the principal (HTML Standard, "Server-sent events").
//
// The number of an event is its place in the principal's sequence, so a reader that
// comes back with the last one that it saw misses nothing. The rows are read anew
// when the event is sent: they may be newer than the event, never older.
func (s *Server) events(w http.ResponseWriter, r *asker) error {
	after, fresh, err := cursor(r.Request)
	if err != nil {
		return err
	}
	giveBack, err := s.streams.take(r.principal)
	if err != nil {
		return err
	}
	defer giveBack()
	ctx := r.Context()
	// Subscribed before the first look: what happens in between is a hint, not a gap.
	hints, err := s.inbox.Subscribe(ctx, r.principal)
	if err != nil {
		return err
	}
	last, err := s.inbox.LastEvent(ctx, r.principal)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	out := &stream{w: w, ctl: http.NewResponseController(w)}
	if fresh {
		after = last
		out.send(last, "hello", map[string]int64{"seq": last})
	} else {
		out.retry()
	}
	tick := time.NewTicker(s.keepAlive)
	defer tick.Stop()
	for out.err == nil {
		// Tokens end, people sign out or are disabled: so does what they opened.
		if err := s.still(r); err != nil {
			return nil // coming back, the reader is told why
		}
		if after, err = s.sendEvents(ctx, out, r.Session, after); err != nil {
			if ctx.Err() == nil {
				s.log.ErrorContext(ctx, "an event stream ended", "err", err)
			}
			return nil // the headers are out: the reader comes back with its cursor
		}
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-hints:
			if !ok {
				hints = nil // polling goes on with the ticker
			}
		case <-tick.C:
			out.comment()
		}
	}
	return nil
}

// cursor reads where the stream begins: after the last event that the reader saw.
func cursor(r *http.Request) (after int64, fresh bool, err error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return 0, true, nil
	}
	after, err = strconv.ParseInt(text, 10, 64)
	if err != nil || after < 0 {
		return 0, false, &badRequest{why: "the cursor is not the number of an event"}
	}
	return after, false, nil
}

// sendEvents sends all events after the given number, and returns the last one.
func (s *Server) sendEvents(ctx context.Context, out *stream, session *Session, after int64) (int64, error) {
	p := session.Principal
	for out.err == nil {
		events, err := s.inbox.Events(ctx, p, after, eventsBatch)
		if errors.Is(err, inbox.ErrReset) {
			last, err := s.inbox.LastEvent(ctx, p)
			if err != nil {
				return after, err
			}
			out.send(last, "reset", map[string]int64{"seq": last})
			return last, nil
		}
		if err != nil || len(events) == 0 {
			return after, err
		}
		for _, e := range latest(events) {
			row, conversation, err := s.eventRow(ctx, session, e)
			switch {
			case errors.Is(err, inbox.ErrNotFound): // erased since
			case err == nil && session.Conversation != "" && conversation != session.Conversation:
			case err != nil:
				return after, err
			default:
				out.send(e.Seq, string(e.Kind), row)
			}
			after = e.Seq
		}
	}
	return after, nil
}

// latest drops all but the last event of each row: the row is sent whole.
func latest(events []inbox.Event) []inbox.Event {
	newest := map[string]int64{}
	for _, e := range events {
		newest[string(e.Kind)+e.ID] = e.Seq
	}
	kept := events[:0]
	for _, e := range events {
		if newest[string(e.Kind)+e.ID] == e.Seq {
			kept = append(kept, e)
		}
	}
	return kept
}

// eventRow draws what the event is about, and says in which conversation it is.
func (s *Server) eventRow(ctx context.Context, session *Session, e inbox.Event) (row any, conversation string, err error) {
	p := session.Principal
	switch e.Kind {
	case inbox.ApprovalEvent:
		a, err := s.approval(ctx, session, inbox.ApprovalID(e.ID))
		if err != nil {
			return nil, "", err
		}
		return s.approvalRow(session, a), a.Conversation, nil
	case inbox.CallEvent:
		row, err := s.readCall(ctx, p, inbox.CallID(e.ID))
		if err != nil {
			return nil, "", err
		}
		return row, row.Conversation, nil
	case inbox.QuestionEvent:
		row, err := s.readQuestion(ctx, p, inbox.QuestionID(e.ID))
		if err != nil {
			return nil, "", err
		}
		return row, row.Conversation, nil
	}
	return nil, "", fmt.Errorf("event %d is of the unknown kind %q", e.Seq, e.Kind)
}

// A stream writes one event stream. The first error sticks: the reader is gone.
type stream struct {
	w   http.ResponseWriter
	ctl *http.ResponseController
	err error
}

func (o *stream) send(id int64, event string, data any) {
	b, err := json.Marshal(data)
	if err != nil {
		o.err = err
		return
	}
	o.write(fmt.Sprintf("id: %d\nevent: %s\nretry: 2000\ndata: %s\n\n", id, event, b))
}

func (o *stream) comment() { o.write(": still here\n\n") }
func (o *stream) retry()   { o.write("retry: 2000\n\n") }

func (o *stream) write(text string) {
	if o.err != nil {
		return
	}
	// A writer without deadlines (a test's recorder) simply has none.
	if err := o.ctl.SetWriteDeadline(time.Now().Add(writeTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		o.err = err
		return
	}
	if _, o.err = o.w.Write([]byte(text)); o.err == nil {
		o.err = o.ctl.Flush()
	}
}
