package elicit

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	recordLease = 30 * time.Second

	// keepLonger is how much longer than a request state its record is kept:
	// the clocks of machines, which judge states, and of the store, which
	// forgets records, may differ by less than this.
	keepLonger = 24 * time.Hour

	// finishTime bounds the last write of a record: the client waits for it.
	finishTime = 10 * time.Second

	// minAnonymousKey is the shortest idempotency key of a caller without a
	// principal. It is a bearer token there: a short one may be another's too.
	minAnonymousKey = 16
)

// ticketKey is the context key of a *ticket.
type ticketKey struct{}

// ticket is one request on its way through the guard. The record is taken where
// the request has been read, and finished where its result is whole.
type ticket struct {
	record  CallRecord
	release func() // ends the renewing; nil if no record was taken

	replayed bool // the outcome is the one that was kept
	result   mcp.Result
	err      error
}

// leave ends the renewing, also when a panic passes through here.
func (t *ticket) leave() {
	if t.release != nil {
		t.release()
	}
}

// guardCalls is a receiving middleware that gives each request a ticket.
func (s *Server) guardCalls(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != methodTool && method != methodPrompt && method != methodResource {
			return next(ctx, method, req)
		}
		t := &ticket{}
		defer t.leave()
		result, err := next(context.WithValue(ctx, ticketKey{}, t), method, req)
		switch {
		case t.replayed:
			return t.result, t.err
		case t.release != nil:
			s.finish(ctx, t, result, err)
		}
		return result, err
	}
}

// take takes the record of the request, if it has one. A request that may not
// run now is refused; one that has run is too, and its ticket has the outcome.
func (r *run) take(ctx context.Context, in incoming, answers string) *jsonrpc.Error {
	t, guarded := ctx.Value(ticketKey{}).(*ticket)
	if !guarded {
		return nil
	}
	record, refused := r.newRecord(in, answers)
	if refused != nil || record.Key == "" {
		return refused
	}
	r.kept = true
	s := r.server
	found, taken, err := s.replay.Take(ctx, record, recordLease, s.lifetime+keepLonger)
	switch {
	case err != nil:
		r.log().Error("the replay guard could not make a record", "error", err)
		return refuse(refuseUnrecorded)
	case taken:
		t.record = found
		t.release = s.renew(ctx, found)
		return nil
	case found.Digest != record.Digest && in.state != "":
		// A fork: this state was sent before with other answers.
		r.log().Warn("refused a request state", "reason", "used before, with other answers")
		return refuse(refuseState)
	case found.Digest != record.Digest:
		return refuse(refuseReusedKey)
	case found.Status == RecordRunning:
		return refuse(refuseRunning)
	case found.Status == RecordFinished && found.Outcome != nil:
		t.result, t.err, err = s.openOutcome(in.method, found)
		if err == nil {
			t.replayed = true
			return refuse(refuseReplayed)
		}
		r.log().Error("the outcome of a call cannot be read", "error", err)
	case found.Status == RecordFinished:
		return refuse(refuseLost)
	}
	return refuse(refuseUnknown)
}

// newRecord names the request. One that carries a request state is named by the
// state, which is different for every round of every call; else the client's
// idempotency key names it. Without either each request is one of its own, and
// the record has no key.
func (r *run) newRecord(in incoming, answers string) (CallRecord, *jsonrpc.Error) {
	p := r.bound.principal
	who := digest([]byte("elicit: principal 1"), []byte(p.Issuer), []byte(p.Tenant), []byte(p.Subject))
	record := CallRecord{Principal: who}
	if in.state != "" {
		record.Key = digest([]byte("elicit: record of a state 1"), []byte(in.state))
		record.Digest = answers
		return record, nil
	}
	sent, ok := in.meta[metaIdempotencyKey]
	if !ok {
		return record, nil
	}
	key, valid := idempotencyKeyOf(sent)
	switch {
	case !valid:
		return record, refuse(refuseKey)
	case p.IsZero() && len(key) < minAnonymousKey:
		return record, refuse(refuseShortKey)
	}
	record.Key = digest([]byte("elicit: record of a key 1"), []byte(r.bound.audience), []byte(who), []byte(key))
	// The outcome of one era makes no sense in the other.
	era := "legacy"
	if r.revision == rev20260728 {
		era = "modern"
	}
	record.Digest = digest([]byte(era), []byte(in.method), []byte(in.name), []byte(r.bound.arguments))
	return record, nil
}

// answersDigest is the same for the same answers to the pending questions, in
// any spelling. What is dropped anyway makes no difference.
func answersDigest(questions []pending, list map[string]response) string {
	parts := [][]byte{[]byte("elicit: answers 1")}
	for _, p := range questions {
		r, ok := list[p.Wire]
		if !ok {
			parts = append(parts, []byte(p.Wire), []byte("none"), nil, nil)
			continue
		}
		a := parseAnswer(r.raw)
		content, err := canonicalText(a.Content)
		if err != nil {
			content = a.Content // none, or one that will be judged wrong
		}
		parts = append(parts, []byte(p.Wire), []byte("answer"), []byte(a.Action), content)
	}
	return digest(parts...)
}

// renew keeps the lease of a record until it is released.
func (s *Server) renew(ctx context.Context, record CallRecord) (release func()) {
	// A client that goes away does not end the handler, which may ignore it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(recordLease / 3)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if err := s.replay.Renew(ctx, record.Key, record.Fence, recordLease); err != nil && ctx.Err() == nil {
				s.log.Warn("the lease of a running call could not be renewed", "error", err)
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// finish records how the request ended, before the client hears of it. If that
// fails the client still gets its result; only a repetition does not.
func (s *Server) finish(ctx context.Context, t *ticket, result mcp.Result, failure error) {
	t.release()
	status, outcome := RecordFinished, []byte(nil)
	if ctx.Err() != nil && isFailure(result, failure) {
		// Cancelled on its way: what it had done by then only it knew.
		status = RecordUnknown
	} else {
		outcome = s.sealOutcome(t.record, result, failure)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	if err := s.replay.Finish(ctx, t.record.Key, t.record.Fence, status, outcome); err != nil {
		s.log.Error("the outcome of a call could not be recorded; a repetition will get outcome_unknown", "error", err)
	}
}

func isFailure(result mcp.Result, err error) bool {
	call, ok := result.(*mcp.CallToolResult)
	return err != nil || ok && call.IsError
}

// kept is an outcome as it is sealed.
type kept struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *wireError      `json:"error,omitempty"`
}

type wireError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

const outcomePurpose = "elicit: outcome 1"

func (s *Server) outcomeContext(record CallRecord) []string {
	return []string{s.audience, record.Key, record.Principal, record.Digest}
}

// sealOutcome returns nil for an outcome that is too large to be kept.
func (s *Server) sealOutcome(record CallRecord, result mcp.Result, failure error) []byte {
	var k kept
	if failure != nil {
		// As the SDK writes errors.
		k.Error = &wireError{Message: failure.Error()}
		if wire, ok := errors.AsType[*jsonrpc.Error](failure); ok {
			k.Error.Code = wire.Code
		}
		if wire, ok := failure.(*jsonrpc.Error); ok { //nolint:errorlint // of a wrapped one the SDK keeps the code alone
			k.Error.Message, k.Error.Data = wire.Message, wire.Data
		}
	} else {
		var err error
		if k.Result, err = json.Marshal(result); err != nil {
			s.log.Error("the outcome of a call cannot be kept", "error", err)
			return nil
		}
	}
	text, err := json.Marshal(k)
	if err != nil {
		s.log.Error("the outcome of a call cannot be kept", "error", err)
		return nil
	}
	if len(text) > s.limits.Outcome {
		s.log.Warn("the outcome of a call is too large to be kept", "bytes", len(text), "limit", s.limits.Outcome)
		return nil
	}
	return s.keys().Seal(outcomePurpose, s.outcomeContext(record), text)
}

// openOutcome returns a result, or the error that was the outcome, or why there
// is neither.
func (s *Server) openOutcome(method string, record CallRecord) (result mcp.Result, outcome, err error) {
	text, err := s.keys().Open(outcomePurpose, s.outcomeContext(record), record.Outcome)
	if err != nil {
		return nil, nil, err
	}
	var k kept
	if err := json.Unmarshal(text, &k); err != nil {
		return nil, nil, errors.New("elicit: it is of another version")
	}
	if k.Error != nil {
		return nil, k.Error.rpc(), nil
	}
	result, err = readResult(method, k.Result)
	return result, nil, err
}

// readResult reads a result such that the SDK writes the same bytes again. It
// reads values whose type it does not know as maps and floats; these stay text.
func readResult(method string, text json.RawMessage) (mcp.Result, error) {
	var exact struct {
		Structured json.RawMessage `json:"structuredContent"`
		Requests   map[string]struct {
			Params struct {
				Schema json.RawMessage `json:"requestedSchema"`
			} `json:"params"`
		} `json:"inputRequests"`
	}
	if err := json.Unmarshal(text, &exact); err != nil {
		return nil, err
	}
	var result mcp.Result
	var requests mcp.InputRequestMap
	switch method {
	case methodTool:
		r := &mcp.CallToolResult{}
		if err := json.Unmarshal(text, r); err != nil {
			return nil, err
		}
		if exact.Structured != nil {
			r.StructuredContent = exact.Structured
		}
		result, requests = r, r.InputRequests
	case methodPrompt:
		r := &mcp.GetPromptResult{}
		if err := json.Unmarshal(text, r); err != nil {
			return nil, err
		}
		result, requests = r, r.InputRequests
	default:
		r := &mcp.ReadResourceResult{}
		if err := json.Unmarshal(text, r); err != nil {
			return nil, err
		}
		result, requests = r, r.InputRequests
	}
	for key, request := range requests {
		if params, ok := request.(*mcp.ElicitParams); ok && exact.Requests[key].Params.Schema != nil {
			params.RequestedSchema = exact.Requests[key].Params.Schema
		}
	}
	return result, nil
}

// extensionIdempotency is the capability that tells clients that a request with
// an idempotency key can be sent again, and for how long (a Go duration).
const extensionIdempotency = "io.github.parley-mcp/idempotency"

// advertise is a receiving middleware that adds the extension. It is said only
// where it is true after a restart too: then records and keys must be there.
func (s *Server) advertise(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if err != nil || !s.lasting() {
			return result, err
		}
		var capabilities *mcp.ServerCapabilities // the SDK makes them anew for each
		switch result := result.(type) {
		case *mcp.InitializeResult:
			capabilities = result.Capabilities
		case *mcp.DiscoverResult:
			capabilities = result.Capabilities
		}
		if capabilities != nil {
			capabilities.AddExtension(extensionIdempotency, map[string]any{"retention": s.lifetime.String()})
		}
		return result, err
	}
}

// lasting reports whether records can be read after a restart.
func (s *Server) lasting() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.replay != nil && s.replay.Durable() && s.shared
}
