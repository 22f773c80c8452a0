package elicit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxWrong is how often an answer that does not fit is asked again.
const maxWrong = 2

// neverShown is how fast a legacy cancel must be to look like one that no
// person saw. Some clients declare a capability and cancel everything.
const neverShown = 50 * time.Millisecond

// asked is a question ready for the wire.
type asked struct {
	wire    string
	mode    Mode
	message string
	schema  json.RawMessage // in form mode
	url     string          // in URL mode
	id      string          // in URL mode: elicitationId of 2025-11-25
	expires time.Time
	again   bool // a page that was opened and is not finished: no new round
}

// params writes the question for a modern client (MCP 2026-07-28 elicitation,
// "Elicitation Requests" S1, and MCP 2026-07-28
// elicitation, "Form Mode Elicitation Requests" S1).
func (q *asked) params() *mcp.ElicitParams {
	params := &mcp.ElicitParams{Mode: string(q.mode), Message: q.message, URL: q.url}
	if q.mode == FormMode {
		params.RequestedSchema = q.schema
	}
	return params
}

// response is a result of elicitation/create as it came in.
type response struct {
	raw   json.RawMessage
	lossy bool // numbers may have been rounded on the way
}

// backend asks and waits. Legacy calls have one; modern calls have none,
// because there a new question ends the run.
type backend func(context.Context, *asked) (response, error)

// run is one pass of a handler through a call.
type run struct {
	server         *Server
	request        Request
	bound          binding
	modes          modes
	revision       revision
	idempotencyKey string
	inputs         []string // names of the arguments that it takes
	together       bool     // legacy: questions of one AskAll go out at once
	caller         any      // whose questions are counted: callerOf
	back           backend
	progress       *progress
	finished       func(ctx context.Context, elicitationID string) // legacy: a page is done
	watch          func(name, id string, wait time.Duration, done look) string
	kept           bool // a replay guard keeps the outcome under the client's key

	mu      sync.Mutex // guards what follows
	cont    continuation
	keys    map[string]string // digest of the question that this run asked under a key
	used    map[string]bool   // digests of questions that this run got an answer to
	waiting []*asked          // new questions of this run
	content []mcp.Content
	locks   map[string]*sync.Mutex
	over    bool // the handler has returned; cont is the client's now
}

// log is where what happens in this call is told. It is made when it is needed,
// which is seldom.
func (r *run) log() *slog.Logger {
	if r.request.Method == methodResource { // a URI may hold anything
		return r.server.log.With("method", r.request.Method)
	}
	return r.server.log.With("method", r.request.Method, "name", r.request.Name)
}

// errOver is what a goroutine gets that outlives its handler.
var errOver = errors.New("elicit: the handler of this call has returned")

// verdict is what asking came to: a value, or an error.
type verdict struct {
	value   reflect.Value // pointer to the struct; only if err is nil
	outcome Outcome
	err     error
}

// ask gives the verdict on each question. Modern: all questions without an
// answer become pending together. Legacy: they are asked one after the other,
// because no client says that it can show two; see [Options.Together].
func (r *run) ask(ctx context.Context, questions []*question) []verdict {
	verdicts := make([]verdict, len(questions))
	r.mu.Lock()
	if err := r.claim(questions); err != nil {
		defer r.mu.Unlock()
		for i := range verdicts {
			verdicts[i].err = err
		}
		return verdicts
	}
	if r.back == nil {
		defer r.mu.Unlock()
		if len(r.waiting) > 0 {
			for i, q := range questions {
				verdicts[i] = r.unanswered(q, Pending, "")
			}
			return verdicts
		}
		for i, q := range questions {
			verdicts[i], _ = r.resolve(q)
		}
		return verdicts
	}
	r.mu.Unlock()
	begun := false // the round; the questions of one call of AskAll share it
	if !r.together {
		for i, q := range questions {
			verdicts[i] = r.askBack(ctx, q, &begun)
		}
		return verdicts
	}
	var group sync.WaitGroup
	var panicked atomic.Pointer[any]
	for i, q := range questions {
		group.Go(func() {
			// Reading an answer may run the author's own code; its panic is the
			// handler's, which protect knows how to end.
			defer func() {
				if value := recover(); value != nil {
					panicked.Store(&value)
				}
			}()
			verdicts[i] = r.askBack(ctx, q, &begun)
		})
	}
	group.Wait()
	if value := panicked.Load(); value != nil {
		panic(*value)
	}
	return verdicts
}

// claim notes under which keys a run asks. Two questions under one would take
// each other's answers for old ones, and be asked for ever. r.mu is held.
func (r *run) claim(questions []*question) error {
	if r.over {
		return errOver
	}
	for _, q := range questions {
		switch digest, asked := r.keys[q.key]; {
		case !asked:
			if r.keys == nil {
				r.keys = make(map[string]string)
			}
			r.keys[q.key] = q.digest
		case digest != q.digest:
			return fmt.Errorf("elicit: question %q: this run has asked another question under the same key", q.key)
		}
	}
	return nil
}

// askBack asks until there is an answer that fits, or none will come. Its asking
// begins a round, unless it joins one that has begun, which r.mu guards.
func (r *run) askBack(ctx context.Context, q *question, begun *bool) verdict {
	defer r.lock("question " + q.key)()
	for {
		v, out := r.next(q, begun)
		if out == nil {
			return v
		}
		a, err := r.send(ctx, q, out)
		if err != nil {
			return r.sendFailed(q, err)
		}
		r.mu.Lock()
		r.cont.record(q.key, a)
		r.mu.Unlock()
	}
}

// next returns a legacy question that is to be sent, or what asking has come to.
func (r *run) next(q *question, begun *bool) (verdict, *asked) {
	r.mu.Lock()
	defer r.mu.Unlock() // also when the author's own code panics while it reads an answer
	if r.over {
		return verdict{err: errOver}, nil
	}
	v, out := r.resolve(q)
	if out == nil {
		return v, nil
	}
	if !*begun {
		r.cont.Round++
		*begun = true
	}
	if limit := r.server.limits.Rounds; r.cont.Round > limit {
		return verdict{err: &LimitError{Limit: "rounds", Max: limit}}, nil
	}
	return verdict{}, out
}

// send asks a legacy client and waits for the person.
func (r *run) send(ctx context.Context, q *question, out *asked) (answer, error) {
	start := r.server.now()
	waitCtx, cancel := context.WithTimeout(ctx, out.expires.Sub(start)) // by the clock that expires is of
	defer cancel()
	defer r.progress.beat(ctx)()
	resp, err := r.back(waitCtx, out)
	if err != nil {
		if ctx.Err() == nil && errors.Is(waitCtx.Err(), context.DeadlineExceeded) {
			return answer{Digest: q.digest, Late: true}, nil
		}
		return answer{}, err
	}
	if limit := r.server.limits.Answers; len(resp.raw) > limit {
		return answer{}, &LimitError{Limit: "answers", Max: limit, Unit: "bytes"}
	}
	a := parseAnswer(resp.raw)
	a.Digest, a.Lossy = q.digest, resp.lossy
	if took := r.server.now().Sub(start); a.Action == "cancel" && took < neverShown {
		r.log().Warn("the question was cancelled so fast that probably nobody saw it", "question", q.key, "took", took)
	}
	return a, nil
}

// sendFailed says what an error in place of an answer means.
func (r *run) sendFailed(q *question, err error) verdict {
	if limit, ok := errors.AsType[*LimitError](err); ok {
		return verdict{err: limit}
	}
	var wire *jsonrpc.Error
	if errors.As(err, &wire) && (wire.Code == jsonrpc.CodeMethodNotFound || wire.Code == jsonrpc.CodeInvalidParams) {
		// The client declared a capability that it does not have.
		return r.unanswered(q, Unanswerable, "the client refused the question")
	}
	failure := &askError{key: q.key, reason: "the client's reply could not be read", err: err}
	switch {
	case wire != nil:
		failure.reason = fmt.Sprintf("the client answered with error %d", wire.Code)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		failure.reason = "the call was cancelled"
	case errors.Is(err, mcp.ErrConnectionClosed):
		failure.reason = "the connection was closed"
	}
	return verdict{err: failure}
}

// askError says that a question could not be put. Its text leaves out the
// cause's, which may quote an answer.
type askError struct {
	key    string
	reason string
	err    error
}

func (e *askError) Error() string { return fmt.Sprintf("elicit: asking %q: %s", e.key, e.reason) }
func (e *askError) Unwrap() error { return e.err }

// resolve looks for an answer to the question. Without one, a modern question
// becomes pending; a legacy one is returned for sending. r.mu is held.
func (r *run) resolve(q *question) (verdict, *asked) {
	if v, ok := q.only(); ok {
		return v, nil
	}
	notice := ""
	if a, ok := r.cont.find(q.key, q.digest); ok {
		v, wrong := r.settle(q, a)
		if wrong == "" {
			r.used[q.digest] = true
			return v, nil
		}
		r.cont.forget(q.key, q.digest)
		notice = "\n\n(The last answer did not fit: " + wrong + ".)"
	} else if r.changed(q) {
		notice = "\n\n(This question has changed since it was last answered.)"
	}
	return r.pose(q, notice, false)
}

// pose makes a new asking of the question. r.mu is held.
func (r *run) pose(q *question, notice string, again bool) (verdict, *asked) {
	if !r.modes.has(q.mode) {
		return r.unanswered(q, Unanswerable, "this client cannot show it to a person"), nil
	}
	out, err := r.prepare(q, notice)
	if err != nil {
		if none, ok := errors.AsType[*Unanswered](err); ok {
			return verdict{outcome: none.Outcome, err: err}, nil
		}
		return verdict{err: err}, nil
	}
	out.again = again
	if r.back != nil {
		return verdict{}, out
	}
	r.cont.Pending = append(r.cont.Pending, pending{Key: q.key, Wire: out.wire, Digest: q.digest, Expires: out.expires})
	r.waiting = append(r.waiting, out)
	return r.unanswered(q, Pending, ""), nil
}

// changed reports whether an answer to an older form of the question was given
// and not used in this run.
func (r *run) changed(q *question) bool {
	for _, a := range r.cont.Answers[q.key] {
		if !r.used[a.Digest] {
			return true
		}
	}
	return false
}

// settle judges an answer. A reason why it is wrong means: ask again.
func (r *run) settle(q *question, a answer) (v verdict, wrong string) {
	if a.Late {
		return r.unanswered(q, Expired, "nobody answered in time"), ""
	}
	switch a.Action {
	case "accept":
		if q.mode == URLMode {
			// MCP elicitation, "Response Actions": no content. It means that
			// the person agreed to go there, not that they are done.
			r.countWrong(q.key, 0)
			return verdict{outcome: Accepted}, ""
		}
		var members map[string]json.RawMessage
		if a.Lossy {
			wrong = "it holds a number that is too large to be read exactly"
		} else if members, wrong = q.judge(a.Content, r.revision); wrong == "" {
			target := reflect.New(q.goType)
			if err := q.decode(members, target); err != nil {
				wrong = shorten(err.Error(), 500)
			} else {
				r.countWrong(q.key, 0)
				return verdict{value: target, outcome: Accepted}, ""
			}
		}
	case "decline":
		return r.unanswered(q, Declined, ""), ""
	case "cancel":
		return r.unanswered(q, Cancelled, ""), ""
	case "":
		wrong = "it does not have the shape of an answer"
	default:
		// An early draft said "reject". Nothing is guessed: it is no accept.
		r.log().Warn("unknown action in an answer", "question", q.key, "action", a.Action)
		return r.unanswered(q, Invalid, "the client sent an action that the protocol does not have"), ""
	}
	count := r.cont.Asked[q.key].Wrong + 1
	r.countWrong(q.key, count)
	if count > maxWrong {
		return r.unanswered(q, Invalid, wrong), ""
	}
	return verdict{}, wrong
}

func (r *run) countWrong(key string, n int) {
	if count, ok := r.cont.Asked[key]; ok {
		count.Wrong = n
		r.cont.Asked[key] = count
	}
}

// prepare writes the question for the wire, within the limits.
func (r *run) prepare(q *question, notice string) (*asked, error) {
	limits := r.server.limits
	schema := q.full
	if r.revision != rev20260728 && q.mode == FormMode {
		var err error
		if schema, err = writeSchema(q.fields, r.revision); err != nil {
			return nil, r.unanswered(q, Unanswerable, err.Error()).err
		}
	}
	if len(q.message) > limits.Message {
		return nil, &LimitError{Limit: "message", Max: limits.Message, Unit: "bytes"}
	}
	if len(schema) > limits.Schema {
		return nil, &LimitError{Limit: "schema", Max: limits.Schema, Unit: "bytes"}
	}
	if len(q.message)+len(notice) > limits.Message {
		notice = "" // the question is more than the reason why it comes again
	}
	now := r.server.now()
	left, err := r.timeLeft(now)
	if err != nil {
		return nil, err
	}
	if q.lifetime > 0 {
		left = min(left, q.lifetime)
	}
	if !r.server.meter.take(r.caller, 1, limits.QuestionsPerMinute, now) {
		return nil, &LimitError{Limit: "questions per minute", Max: limits.QuestionsPerMinute}
	}
	return &asked{
		wire:    r.cont.ask(q.key),
		mode:    q.mode,
		url:     q.url,
		id:      q.id,
		message: q.message + notice,
		schema:  schema,
		expires: now.Add(left).UTC(),
	}, nil
}

// timeLeft is how long a question of the call may stay open from now.
func (r *run) timeLeft(now time.Time) (time.Duration, error) {
	limit := r.server.limits.Age
	left := limit - now.Sub(r.cont.Began)
	if left <= 0 {
		return 0, &LimitError{Limit: "age of a call", Max: int(limit / time.Second), Unit: "seconds"}
	}
	return min(r.server.lifetime, left), nil
}

func (r *run) unanswered(q *question, outcome Outcome, reason string) verdict {
	return verdict{outcome: outcome, err: &Unanswered{
		Key:     q.key,
		Outcome: outcome,
		Reason:  reason,
		message: q.message,
		mode:    q.mode,
		fields:  q.needs(),
		args:    r.inputs,
	}}
}

// pendingError returns the error for everything that comes after a pending
// question or the end of the handler, or nil.
func (r *run) pendingError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return errOver
	}
	if len(r.waiting) == 0 {
		return nil
	}
	return &Unanswered{Key: r.cont.Pending[0].Key, Outcome: Pending}
}

// lock serialises what one run does under one key and returns the unlock.
func (r *run) lock(key string) (unlock func()) {
	r.mu.Lock()
	if r.locks == nil {
		r.locks = make(map[string]*sync.Mutex)
	}
	lock, ok := r.locks[key]
	if !ok {
		lock = new(sync.Mutex)
		r.locks[key] = lock
	}
	r.mu.Unlock()
	lock.Lock()
	return lock.Unlock
}
