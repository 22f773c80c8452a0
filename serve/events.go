package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/parley-mcp/parley/inbox"

	"github.com/parley-mcp/parley/serve/client"
)

const (
	keepAlive   = 15 * time.Second // a comment, so that nothing in between takes the stream for dead
	lookPace    = time.Second      // between two looks at what is assigned to groups
	writeTime   = 30 * time.Second // a reader that takes nothing for so long is gone
	eventsBatch = 200

	defaultStreams = 32 // tabs of a person, and some to spare

	// A product names as many people as it likes: one API key must not take the streams
	// of all others, nor all keys together the memory of the host.
	defaultIssuerStreams = 2_000
	defaultAllStreams    = 5_000
)

// Why another event stream, or another request that waits for a call, is answered 429: too
// many are open of this person, of all people of their issuer, or of everybody.
const (
	ReasonTooManyStreams       = "too_many_streams"
	ReasonTooManyIssuerStreams = "too_many_streams_of_issuer"
	ReasonTooManyAllStreams    = "too_many_streams_of_all"
)

// A streamCount holds how many event streams and waiting requests are open: of each principal, of all people
// of an issuer, which is what an API key has for itself, and in all. Each costs a
// connection, a goroutine and a look at the store now and then.
type streamCount struct {
	most, mostOfIssuer, mostOfAll int

	mu       sync.Mutex
	open     map[inbox.Principal]places
	ofIssuer map[string]places
	all      places
}

// A places counts streams and waiting requests, and of these the waiting ones.
type places struct{ open, waiting int }

func (n places) add(by int, waits bool) places {
	n.open += by
	if waits {
		n.waiting += by
	}
	return n
}

// mostWaiting is how many of the places requests that wait may take. A program waits for a
// call as long as its person does not answer: what is left is for the page on which they
// do. The one place where there is no other may be taken by either.
func mostWaiting(most int) int {
	return most - min(max(most/4, 1), most-1)
}

// take counts a stream, or a request that waits; who got it gives it back.
func (c *streamCount) take(p inbox.Principal, waits bool) (giveBack func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, bound := range []struct {
		taken  places
		most   int
		reason string
	}{
		{c.open[p], c.most, ReasonTooManyStreams}, {c.ofIssuer[p.Issuer], c.mostOfIssuer, ReasonTooManyIssuerStreams}, {c.all, c.mostOfAll, ReasonTooManyAllStreams},
	} {
		if bound.taken.open >= bound.most {
			return nil, &inbox.LimitError{Reason: bound.reason, Limit: bound.most}
		}
		if most := mostWaiting(bound.most); waits && bound.taken.waiting >= most {
			return nil, &inbox.LimitError{Reason: bound.reason, Limit: most}
		}
	}
	if c.open == nil {
		c.open, c.ofIssuer = map[inbox.Principal]places{}, map[string]places{}
	}
	c.open[p] = c.open[p].add(1, waits)
	c.ofIssuer[p.Issuer] = c.ofIssuer[p.Issuer].add(1, waits)
	c.all = c.all.add(1, waits)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all = c.all.add(-1, waits)
		// A host sees many people come and go.
		if c.open[p] = c.open[p].add(-1, waits); c.open[p].open == 0 {
			delete(c.open, p)
		}
		if c.ofIssuer[p.Issuer] = c.ofIssuer[p.Issuer].add(-1, waits); c.ofIssuer[p.Issuer].open == 0 {
			delete(c.ofIssuer, p.Issuer)
		}
	}, nil
}

// Events that are about no row.
const (
	helloEvent = "hello"
	resetEvent = "reset"
)

// A position is what the events say that are about no row.
type position struct {
	Seq int64 `json:"seq"` // of the person's last event
}

// eventKinds are the events of a stream, for the document.
var eventKinds = []struct {
	name string
	data reflect.Type
	doc  string
}{
	{helloEvent, body[position](), "The first event of a stream without a cursor: it begins after the event with this number."},
	{string(inbox.CallEvent), body[client.Call](), "A call is new or has changed. Arguments and a result that are large are left out, and their sizes said."},
	{string(inbox.QuestionEvent), body[client.Question](), "A question is new or has changed."},
	{string(inbox.ApprovalEvent), body[client.Approval](), "An approval is new or has changed: of a call of this person, or of one of somebody else that is theirs to decide."},
	{string(inbox.RefusalEvent), body[client.Refusal](), "A limit kept questions of a server from the person. No token of a page hears of it."},
	{resetEvent, body[position](), "The cursor is older than what is kept, or of another store: read everything anew. The stream goes on after the event with this number."},
}

// events streams what changes for the principal (HTML Standard, "Server-sent events").
//
// The number of an event is its place in the principal's sequence, so a reader that
// comes back with the last one that it saw misses nothing. The rows are read anew
// when the event is sent: they may be newer than the event, never older. What is
// assigned to groups comes beside it ([assignments]).
func (s *Server) events(w http.ResponseWriter, r *asker) error {
	after, fresh, err := cursor(r.Request)
	if err != nil {
		return err
	}
	giveBack, err := s.streams.take(r.principal, false)
	if err != nil {
		return err
	}
	defer giveBack()
	ctx := r.Context()
	// Subscribed before the first look: what happens in between is a hint, not a gap.
	// A token of a conversation hears of no group: a product could name a hundred in each.
	who := r.approver()
	if r.bound() {
		who.Groups = nil
	}
	if r.Approval != "" { // and one of an approval of the group that it is assigned to
		a, err := s.approval(ctx, r.Session, r.Approval)
		switch {
		case errors.Is(err, inbox.ErrNotFound): // a stream of nothing: the row says so, and a page would come back for ever
		case err != nil:
			return err
		case a.Assignee.Group != "" && slices.Contains(r.Groups, a.Assignee.Group):
			who.Groups = []string{a.Assignee.Group}
		}
	}
	hints, err := s.inbox.SubscribeApprover(ctx, who)
	if err != nil {
		return err
	}
	assigned := assignments{}
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
		out.send(last, helloEvent, position{last})
	} else {
		out.retry()
	}
	tick := time.NewTicker(s.keepAlive)
	defer tick.Stop()
	var looked time.Time           // at what is assigned
	var lookAgain <-chan time.Time // nil: it was looked at since the last hint
	for out.err == nil {
		// Tokens end, people sign out or are disabled: so does what they opened.
		if !s.mayHear(ctx, out, r) {
			return nil // coming back, the reader is told why: 401 only if it is signed out
		}
		if after, err = s.sendEvents(ctx, out, r, after); err != nil {
			if ctx.Err() == nil {
				s.log.ErrorContext(ctx, "an event stream ended", "err", err)
			}
			return nil // the headers are out: the reader comes back with its cursor
		}
		if out.err != nil {
			return nil
		}
		// Each look reads all that is open: one person's calls must not have every member
		// of a group look as often as they change.
		if wait := s.assignedPace - time.Since(looked); wait <= 0 {
			if err := s.sendAssigned(ctx, out, r, assigned, after); err != nil {
				if ctx.Err() == nil {
					s.log.ErrorContext(ctx, "an event stream ended", "err", err)
				}
				return nil
			}
			if out.err != nil {
				return nil
			}
			looked, lookAgain = time.Now(), nil
		} else if lookAgain == nil {
			lookAgain = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-hints:
			if !ok {
				hints = nil // polling goes on with the ticker
			}
		case <-lookAgain:
			lookAgain = nil
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

// mayHear looks whether the session is still good, and ends the stream if not. It comes after
// what is to be sent was read: what happened since the session's end is not for it.
func (s *Server) mayHear(ctx context.Context, out *stream, r *asker) bool {
	if out.err = s.still(r); out.err != nil {
		s.logUnchecked(ctx, r.Pattern, out.err)
	}
	return out.err == nil
}

// sendEvents sends all events after the given number, and returns the last one.
func (s *Server) sendEvents(ctx context.Context, out *stream, r *asker, after int64) (int64, error) {
	session, p := r.Session, r.Principal
	if session.Approval != "" {
		return after, nil // it is looked at beside the events: see sendAssigned
	}
	for out.err == nil {
		events, err := s.inbox.Events(ctx, p, after, eventsBatch)
		if errors.Is(err, inbox.ErrReset) {
			last, err := s.inbox.LastEvent(ctx, p)
			if err != nil {
				return after, err
			}
			out.send(last, resetEvent, position{last})
			return last, nil
		}
		if err != nil || len(events) == 0 {
			return after, err
		}
		if !s.mayHear(ctx, out, r) {
			return after, nil
		}
		for _, e := range latest(events) {
			row, conversation, err := s.eventRow(ctx, session, e)
			switch {
			case errors.Is(err, inbox.ErrNotFound): // erased since, or not for this session
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
		return trimApproval(s.approvalRow(session, a)), a.Conversation, nil
	case inbox.RefusalEvent:
		row, err := s.refusalRow(ctx, p, e.ID)
		return row, "", err
	case inbox.CallEvent:
		row, err := s.readCall(ctx, session, inbox.CallID(e.ID))
		if err != nil {
			return nil, "", err
		}
		return row, row.Conversation, nil
	case inbox.QuestionEvent:
		row, err := s.readQuestion(ctx, session, inbox.QuestionID(e.ID))
		if err != nil {
			return nil, "", err
		}
		return row, row.Conversation, nil
	}
	return nil, "", inbox.ErrNotFound // of a newer version on the same store
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
