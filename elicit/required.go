package elicit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxPages is how many pages one session has watched at a time. A further
	// one works as well; only nobody tells the client when it is finished.
	maxPages = 32

	// maxWatched is how many pages of all sessions are watched at a time.
	maxWatched = 10_000

	// slowPoll is the longest pause between two looks at a page that nobody
	// waits for in a handler. They begin with visitPoll.
	slowPoll = 10 * time.Second
)

// CallAgain lets [Visit] end the call of a 2025-11-25 client with the error
// -32042, where it would be held open while the person is on the page. The client
// shows the page and sends the call again, by itself once the kit has told it
// that the page is finished, or when somebody wants it; then done is true and
// the call goes on. Meanwhile done is asked outside of any request, until it is
// true, the question's time is over or the session ends.
//
// It is right for what outlives a call, such as a connected account, and for
// clients that deal with the error: nothing that they declare tells who does.
// A call is held all the same if it has answers, which would have to be given
// again, or if a replay guard would repeat the error under the client's
// idempotency key. Elsewhere the option makes no difference: there is no such
// error in other revisions (MCP 2025-11-25 elicitation, "URL Elicitation Required
// Error").
func CallAgain() AskOption {
	return func(q *question) error {
		if q.mode != URLMode {
			return errors.New("only a page can be asked for by an error")
		}
		q.callAgain = true
		return nil
	}
}

// endsCall reports whether the page may be asked for by the error. r.mu is held.
func (r *run) endsCall(q *question) bool {
	return q.callAgain && r.revision == rev20251125 && len(r.cont.Answers) == 0 && !r.kept
}

// requirePage ends the run of a legacy call with the page as what is needed.
func (r *run) requirePage(q *question, done func(context.Context, Principal) (bool, error)) (verdict, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || !r.endsCall(q) || len(r.waiting) > 0 {
		return verdict{}, false
	}
	if err := r.claim([]*question{q}); err != nil {
		return verdict{err: err}, true
	}
	v, out := r.pose(q, "", false)
	if out == nil {
		return v, true
	}
	// The same page of the same call is one elicitation, however often the
	// client comes back too early.
	name := digest([]byte(r.request.Method), []byte(r.request.Name), []byte(r.bound.arguments), []byte(q.key), []byte(q.digest))
	out.id = r.watch(name, out.id, out.expires.Sub(r.server.now()), func(ctx context.Context) (bool, error) { return done(ctx, r.bound.principal) })
	r.waiting = append(r.waiting, out)
	r.cont.Pending = append(r.cont.Pending, pending{Key: q.key, Wire: out.wire, Digest: q.digest, Expires: out.expires})
	return r.unanswered(q, Pending, ""), true
}

// urlRequired is the error that asks for pages.
func urlRequired(questions []*asked) *jsonrpc.Error {
	list := make([]*mcp.ElicitParams, len(questions))
	for i, q := range questions {
		list[i] = q.params()
		list[i].ElicitationID = q.id
	}
	data, err := json.Marshal(map[string]any{"elicitations": list})
	if err != nil {
		panic(err) // strings only
	}
	e := refuseWith(refuseURLRequired, questions[0].message)
	e.Data = data
	return e
}

// look asks whether a page is finished.
type look func(context.Context) (bool, error)

// watched is the pages that people were sent to by an error, by session.
type watched struct {
	mu       sync.Mutex
	sessions map[*mcp.ServerSession]*watch
	total    int
}

// watch is the pages of one session.
type watch struct {
	ended context.Context // with the session
	ids   map[string]string
}

// add looks at a page until it is finished, and then tells the session. It
// returns the page's id, which is that of before if the session has the page
// already.
func (w *watched) add(session *mcp.ServerSession, name, id string, wait time.Duration, done look, log *slog.Logger) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	of := w.sessions[session]
	if of == nil {
		ended, end := context.WithCancel(context.Background())
		of = &watch{ended: ended, ids: make(map[string]string)}
		if w.sessions == nil {
			w.sessions = make(map[*mcp.ServerSession]*watch)
		}
		w.sessions[session] = of
		go func() {
			defer end()
			_ = session.Wait() // how it ended makes no difference
			w.mu.Lock()
			defer w.mu.Unlock()
			delete(w.sessions, session)
		}()
	}
	if known, ok := of.ids[name]; ok {
		return known
	}
	if len(of.ids) >= maxPages || w.total >= maxWatched {
		log.Warn("too many pages are open: nobody is told when this one is finished", "session", len(of.ids), "total", w.total)
		return id
	}
	of.ids[name] = id
	w.total++
	go func() {
		ctx, cancel := context.WithTimeout(of.ended, wait)
		defer cancel()
		if until(ctx, done, log) {
			// MCP 2025-11-25 elicitation, "Completion Notifications for URL Mode
			// Elicitation" S1, S2: to the client that was asked, with its id.
			_ = session.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{ElicitationID: id})
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(of.ids, name)
		w.total--
	}()
	return id
}

// until looks at a page, ever more slowly, and reports whether it was finished
// in time. The author's function runs in a goroutine of its own here, so that
// its panic would end the process.
func until(ctx context.Context, done look, log *slog.Logger) (finished bool) {
	defer func() {
		if value := recover(); value != nil {
			log.Error("looking whether a page is finished panicked", "panic", fmt.Sprint(value), "stack", string(debug.Stack()))
		}
	}()
	for pause := visitPoll; ; pause = min(2*pause, slowPoll) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
		finished, err := done(ctx)
		if err != nil {
			log.Warn("nobody will be told that a page is finished", "error", err)
		}
		if finished || err != nil {
			return err == nil
		}
	}
}
