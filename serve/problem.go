package serve

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"

	"github.com/parley-mcp/parley/serve/client"
)

var (
	errCrossOrigin = errors.New("request of another site")
	errWrongHost   = errors.New("this host is not known by that name")
	errScope       = errors.New("the session does not have the scope of the route")
	errMethod      = errors.New("the path does not have this method")
	errUnchecked   = errors.New("who sent the request cannot be checked at the moment")
)

// retryAfter, in seconds, is what an answer 503, or 429 for want of a place to wait, says of
// coming back (RFC 9110 10.2.3, RFC 6585 4): as long as an event stream waits.
const retryAfter = "2"

// A badRequest is a request that no state of the host would accept.
type badRequest struct{ why string }

func (e *badRequest) Error() string { return e.why }

// An uncheckedError says why nobody can tell who sent a request. Nothing else shows
// through it: a store's "not found" would be that of a row, and not of the session.
type uncheckedError struct{ err error }

func (e *uncheckedError) Error() string { return errUnchecked.Error() + ": " + e.err.Error() }

// Is makes it match errUnchecked.
func (e *uncheckedError) Is(target error) bool { return target == errUnchecked }

// A checkError carries what is wrong with what a person typed, field by field.
type checkError struct{ errs form.Errors }

func (e *checkError) Error() string { return "what was entered does not fit the form" }

// A problem is a row of the table: what an error looks like from outside. Codes are
// stable; pages translate by them.
type problem struct {
	is     error // matched with errors.Is
	status int
	code   string
	title  string
}

// problems is the one table of this edge, most specific first.
var problems = []problem{
	{ErrTokenUsed, http.StatusUnauthorized, "token_used", "This address was used already."},
	{ErrSignedOut, http.StatusUnauthorized, "signed_out", "You are not signed in."},
	{errUnchecked, http.StatusServiceUnavailable, "unavailable", "This host cannot check at the moment who you are."},
	{errCrossOrigin, http.StatusForbidden, "cross_origin", "Another site sent this request."},
	{errScope, http.StatusForbidden, "scope", "This session may not do that."},
	{errAPIKey, http.StatusUnauthorized, "api_key", "This needs an API key of this host."},
	{errNamespace, http.StatusForbidden, "namespace", "This API key does not own that issuer or tenant."},
	{errWrongHost, http.StatusMisdirectedRequest, "wrong_host", "This host is not known by that name."},
	{errMethod, http.StatusMethodNotAllowed, "method_not_allowed", "This address does not take that method."},
	{inbox.ErrNotFound, http.StatusNotFound, "not_found", "There is nothing at this address."},
	{host.ErrNoServer, http.StatusNotFound, "unknown_server", "There is no such server."},
	{host.ErrNoSignIn, http.StatusConflict, "no_sign_in", "Nobody signs in to this server here."},
	{host.ErrSignInOver, http.StatusNotFound, "sign_in_over", "No such sign-in is under way."},
	{host.ErrNoTool, http.StatusNotFound, "unknown_tool", "The server has no such tool."},
	{inbox.ErrClosed, http.StatusConflict, "question_closed", "The question is closed."},
	{inbox.ErrDecided, http.StatusConflict, "approval_closed", "The approval is closed."},
	{inbox.ErrDisabled, http.StatusForbidden, "disabled", "You may not use this any more."},
	{inbox.ErrNotDecider, http.StatusForbidden, "not_decider", "Somebody else decides this."},
	{inbox.ErrURLChanged, http.StatusConflict, "url_changed", "The address has changed."},
	{inbox.ErrTooLate, http.StatusConflict, "too_late", "It is too late for that."},
	{inbox.ErrState, http.StatusConflict, "wrong_state", "That is not possible any more."},
	{inbox.ErrKeyReused, http.StatusConflict, "key_reused", "The idempotency key belongs to another request."},
	{inbox.ErrCheck, http.StatusUnprocessableEntity, "check_failed", "There is a problem with what was entered."},
	{inbox.ErrLimit, http.StatusTooManyRequests, "limit", "That is more than this host takes at once."},
	{inbox.ErrInvalid, http.StatusBadRequest, "bad_request", "The request cannot be read."},
	{host.ErrClosed, http.StatusServiceUnavailable, "stopping", "This host is about to stop."},
	{host.ErrSignIn, http.StatusBadGateway, "sign_in", "The server wants a sign-in."},
	{host.ErrPolicy, http.StatusServiceUnavailable, "policy_unavailable", "The rules of this host could not be asked."},
	{host.ErrInvalid, http.StatusBadRequest, "bad_request", "The request cannot be read."},
	{inbox.ErrStoreFull, http.StatusInsufficientStorage, "storage_full", "This host has no room left to store anything."},
	{inbox.ErrOpen, http.StatusConflict, "question_open", "The question has no answer."},
	{inbox.ErrNotOpened, http.StatusConflict, "not_opened", "The address was not opened."},
	{inbox.ErrUnreadable, http.StatusInternalServerError, "sealed", "What is stored of it cannot be read."},
	{inbox.ErrSealed, http.StatusInternalServerError, "sealed", "This host's keys do not open what is stored."},
	{context.Canceled, 499, "gone", "The request was given up."},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, "timeout", "That took too long."},
}

// ownProblems are those of errors that describe knows by their type, or not at all.
var ownProblems = []problem{
	{nil, http.StatusBadRequest, "bad_request", "The request cannot be read."},
	{nil, http.StatusRequestEntityTooLarge, "too_large", "The request is too large."},
	{nil, http.StatusUnprocessableEntity, "check_failed", "There is a problem with what was entered."},
	{nil, http.StatusBadGateway, "sign_in_failed", "The sign-in did not come about."},
	{nil, http.StatusBadGateway, "unreachable", "The server cannot be reached."},
	{nil, http.StatusInternalServerError, "internal", "Something went wrong in this host."},
}

func ownProblem(code string) client.Problem {
	i := slices.IndexFunc(ownProblems, func(row problem) bool { return row.code == code })
	return ownProblems[i].wire()
}

func (p *problem) wire() client.Problem {
	return client.Problem{Status: p.status, Code: p.code, Title: p.title}
}

// describe finds the row for err. The detail is shown only where the text was
// written for people; anything else stays in the log.
func describe(err error) client.Problem {
	var (
		p        client.Problem
		bad      *badRequest
		tooLarge *http.MaxBytesError
		check    *checkError
		away     *host.UnreachableError
		signIn   *host.SignInError
	)
	switch {
	case errors.As(err, &bad):
		p = ownProblem("bad_request")
		p.Detail = bad.why
		return p
	case errors.As(err, &tooLarge):
		p = ownProblem("too_large")
		p.Params = map[string]any{"limit": tooLarge.Limit}
		return p
	case errors.As(err, &check):
		p = ownProblem("check_failed")
		p.Detail, p.Errors = check.Error(), check.errs
		return p
	case errors.As(err, &signIn):
		p = ownProblem("sign_in_failed")
		p.Detail, p.Params = "Signing in to "+signIn.Server+" did not come about: "+signIn.Why+".", map[string]any{"server": signIn.Server}
		return p
	case errors.As(err, &away):
		p = ownProblem("unreachable")
		p.Detail, p.Params = unreachable(away), map[string]any{"server": away.Server}
		return p
	}
	for _, row := range problems {
		if !errors.Is(err, row.is) {
			continue
		}
		p = row.wire()
		detail(&p, err)
		return p
	}
	return ownProblem("internal")
}

// detail adds what the error's type knows beyond its row.
func detail(p *client.Problem, err error) {
	var (
		closed  *inbox.ClosedError
		limit   *inbox.LimitError
		checked *inbox.CheckError
		state   *inbox.StateError
	)
	switch {
	case errors.As(err, &closed):
		p.ClosedBy = closed.By
		p.Detail = closedSentence(closed.State, closed.By)
	case errors.As(err, &limit):
		p.Params = map[string]any{"reason": limit.Reason, "limit": limit.Limit}
	case errors.As(err, &checked):
		p.Errors = checked.Errors
	case errors.As(err, &state):
		p.Params = map[string]any{"state": state.State}
	case errors.Is(err, host.ErrSignInOver):
		p.Detail = "It took longer than ten minutes, did not come about, is being finished at this moment, or was begun by somebody else. This request changed nothing."
	case errors.Is(err, errUnchecked):
		p.Detail = "This host cannot check at the moment who you are. You are still signed in if you were; nothing was changed. Try again in a moment."
	case errors.Is(err, errNamespace):
		p.Detail = "Leave the issuer out for the key's own, and name one of the tenants that the key was made for; a key without tenants names people without one."
	case errors.Is(err, errAPIKey):
		p.Detail = "Send it as “Authorization: Bearer parley_api_…”. “parley apikey” makes one, and the host reads them when it starts."
	case errors.Is(err, ErrTokenUsed):
		p.Detail = "This address was used already, or Parley was started anew since. It also ends by itself after a while. Run “parley address” for a fresh one."
	case errors.Is(err, inbox.ErrStoreFull):
		p.Detail = "Nothing was changed. Whoever runs this host has to make room on its disk; then try again."
	}
}

func closedSentence(state inbox.QuestionState, by inbox.Closer) string {
	switch {
	case state == inbox.Expired:
		return "The time to answer has passed."
	case by == inbox.ByPerson:
		return "It was answered already, here or in another window."
	case by == inbox.ByServer && state == inbox.Accepted:
		return "The server said that it is done there, and the call went on."
	case by == inbox.ByServer:
		return "The server withdrew the question."
	case by == inbox.ByStop:
		return "The call was stopped."
	case by == inbox.ByHostStopped:
		return "The connection that waited for the answer is gone."
	}
	return "The call that asked it has ended."
}

// fail answers with the problem for err.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := describe(err)
	if p.Status == http.StatusInternalServerError {
		var b [6]byte
		rand.Read(b[:])
		id := hex.EncodeToString(b[:])
		s.log.ErrorContext(r.Context(), "request failed", "id", id, "route", r.Pattern, "err", err)
		p.Detail = "The host's log has it under " + id + "."
	}
	if limit, ok := errors.AsType[*inbox.LimitError](err); ok && p.Status == http.StatusTooManyRequests {
		switch limit.Reason {
		case ReasonTooManyStreams, ReasonTooManyIssuerStreams, ReasonTooManyAllStreams:
			w.Header().Set("Retry-After", retryAfter)
		}
		if s.limited != nil {
			s.limited(limit.Reason)
		}
	}
	s.logUnchecked(r.Context(), r.Pattern, err)
	if p.Status == http.StatusInsufficientStorage {
		s.log.ErrorContext(r.Context(), "the store is full", "route", r.Pattern, "err", err)
	}
	p.Type = "about:blank"
	b, merr := json.Marshal(p)
	if merr != nil {
		http.Error(w, "internal", http.StatusInternalServerError)
		return
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="parley"`)
	}
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	w.Write(append(b, '\n')) // the reader is gone: nobody to tell
}

// unreachable is a sentence for people; the error's own text is for logs.
func unreachable(e *host.UnreachableError) string {
	text := e.Server + " cannot be reached: " + e.Why
	if e.Stderr != "" {
		text += "; it last wrote: " + e.Stderr
	}
	return text + "."
}
