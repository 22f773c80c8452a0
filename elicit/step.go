package elicit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// outcome is what one run of a handler came to. It is one of final, failed
// and asks.
type outcome interface{ isOutcome() }

// final is the end: the handler returned without an error.
type final struct{ content []mcp.Content }

// failed is an end too; the error says what to tell the client.
type failed struct{ err error }

// asks is a round that ends with questions. next is the call as it goes on.
type asks struct {
	questions []*asked
	next      continuation
}

func (final) isOutcome()  {}
func (failed) isOutcome() {}
func (asks) isOutcome()   {}

// step runs the handler once.
func (r *run) step(ctx context.Context, handler func(context.Context, *Call) error) outcome {
	err := r.protect(ctx, handler)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	// A pending question wins over whatever the handler returned: a handler
	// that swallows the error must not get on as if there were an answer.
	if len(r.waiting) > 0 {
		next := r.cont
		if slices.ContainsFunc(r.waiting, func(q *asked) bool { return !q.again }) {
			next.Round++
		}
		if limit := r.server.limits.Rounds; next.Round > limit {
			return failed{&LimitError{Limit: "rounds", Max: limit}}
		}
		if next.Round == warnRounds {
			r.log().Warn("a call has asked in many rounds; clients on go-sdk give up after ten", "round", next.Round, "question", r.waiting[0].wire)
		}
		return asks{questions: r.waiting, next: next}
	}
	if err != nil {
		return failed{err}
	}
	return final{content: r.content}
}

// panicError is a handler's panic. Its text is for the client.
type panicError struct{ id string }

func (e *panicError) Error() string { return "the call failed unexpectedly (error " + e.id + ")" }

// protect keeps a handler's panic from ending the process: the SDK runs
// handlers in a goroutine of its own.
func (r *run) protect(ctx context.Context, handler func(context.Context, *Call) error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			id := rand.Text()
			r.log().Error("handler panicked", "error", id, "panic", fmt.Sprint(value), "stack", string(debug.Stack()))
			err = &panicError{id}
		}
	}()
	return handler(ctx, &Call{run: r})
}

// begin reads a request. What it returns as refused goes to the client as a
// JSON-RPC error, and nothing has run.
func (s *Server) begin(ctx context.Context, in incoming) (*run, *jsonrpc.Error) {
	arguments, err := argumentsDigest(in.arguments)
	if err != nil {
		return nil, refuseWith(refuseArguments, err.Error())
	}
	principal, err := s.identify(ctx, in.extra)
	if err != nil {
		s.log.Warn("no principal for a request", "method", in.method, "error", err)
		if errors.Is(err, ErrUnavailable) {
			return nil, refuse(refuseLookup)
		}
		return nil, refuse(refusePrincipal)
	}
	r := &run{
		server: s,
		request: Request{
			Method:    in.method,
			Name:      in.name,
			Arguments: slices.Clone(in.arguments),

			ClientName:    in.client.Name,
			ClientVersion: in.client.Version,
			Trace:         traceOf(in.meta),
		},
		bound: binding{
			audience:  s.audience,
			principal: principal,
			method:    in.method,
			name:      in.name,
			arguments: arguments,
		},
		modes:    in.modes,
		revision: revisionOf(in.version),
		inputs:   in.inputs,
		caller:   callerOf(ctx, principal, in.session),
		progress: newProgress(in),
		used:     make(map[string]bool),
	}
	if reply, ok := ctx.Value(replyKey{}).(*reply); ok {
		reply.standIn(r, in)
	}
	answers := "" // digest of those that a request state came with
	if r.revision == rev20260728 {
		var refused *jsonrpc.Error
		if answers, refused = r.resume(in); refused != nil {
			return nil, refused
		}
	} else {
		if in.state != "" {
			// The revision has no request state. A client that resumes a call
			// over the wrong connection must not run it from the top.
			return nil, refuse(refuseState)
		}
		r.back = s.askClient(ctx, in.session)
		r.together = s.together != nil && s.together(in.client.Name, in.client.Version)
		r.finished = func(ctx context.Context, id string) {
			_ = in.session.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{ElicitationID: id})
		}
		r.watch = func(name, id string, wait time.Duration, done look) string {
			return s.watched.add(in.session, name, id, wait, done, r.log())
		}
	}
	if r.cont.Began.IsZero() { // a new call, or a state of an older version
		r.cont.Began = s.now().UTC()
	}
	if r.cont.Call == "" {
		r.cont.Call = rand.Text()
		r.cont.IdempotencyKey = idempotencyKey(r.cont.Call, r.bound, in.meta)
	}
	r.idempotencyKey = r.cont.IdempotencyKey
	if refused := r.take(ctx, in, answers); refused != nil {
		return nil, refused
	}
	return r, nil
}

// resume opens the request state of a retry, takes the answers and returns
// their digest, if a replay guard wants it. An answer without a request state is no answer to anything: the
// call starts afresh.
func (r *run) resume(in incoming) (answers string, refused *jsonrpc.Error) {
	if in.state == "" {
		return "", nil
	}
	now := r.server.now()
	cont, why := openState(r.server.keys(), r.bound, in.state, r.server.limits.RequestState, now)
	if why != "" {
		r.log().Warn("refused a request state", "reason", why)
		return "", refuse(refuseState)
	}
	list, refused := responses(in, r.server.limits.Answers)
	if refused != nil {
		return "", refused
	}
	if r.server.replay != nil {
		answers = answersDigest(cont.Pending, list)
	}
	cont.take(list, now)
	r.cont = cont
	return answers, nil
}

// idempotencyKey derives the key for the handler's writes: from the client's
// own key, so that a call that is sent again writes once, else from the call.
// The binding keeps one client's key from meeting another's.
func idempotencyKey(call string, bound binding, meta mcp.Meta) string {
	source := "call " + call
	if key, ok := idempotencyKeyOf(meta[metaIdempotencyKey]); ok {
		source = "client " + key
	}
	parts := [][]byte{[]byte("elicit: idempotency 1"), []byte(source)}
	for _, part := range bound.context() {
		parts = append(parts, []byte(part))
	}
	return digest(parts...)
}

// idempotencyKeyOf reads a client's idempotency key.
func idempotencyKeyOf(value any) (key string, ok bool) {
	key, ok = value.(string)
	return key, ok && visibleASCII(key) && key != "" && len(key) <= 128
}

func visibleASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// inputRequired returns what goes into the interim result of a modern round. The
// error of a legacy round is the one that asks: see [CallAgain].
func (r *run) inputRequired(a asks) (mcp.InputRequestMap, string, mcp.Meta, error) {
	s := r.server
	now := s.now()
	if r.back != nil {
		return nil, "", nil, urlRequired(a.questions)
	}
	left, err := r.timeLeft(now)
	if err != nil {
		return nil, "", nil, err
	}
	// A question may have a shorter life than the call; then its late answer is
	// told from a state that no longer opens.
	expires := now.Add(left).UTC().Truncate(time.Second)
	state, err := sealState(s.keys(), r.bound, requestState{Issued: now.UTC(), Expires: expires, Call: a.next})
	if err != nil {
		return nil, "", nil, fmt.Errorf("elicit: request state: %w", err)
	}
	if limit := s.limits.RequestState; len(state) > limit {
		return nil, "", nil, &LimitError{Limit: "request state", Max: limit, Unit: "bytes"}
	}
	requests := make(mcp.InputRequestMap, len(a.questions))
	shown := expires
	for _, q := range a.questions {
		requests[q.wire] = q.params()
		if q.expires.Before(shown) {
			shown = q.expires
		}
	}
	return requests, state, mcp.Meta{metaExpiresAt: shown.Format(time.RFC3339)}, nil
}
