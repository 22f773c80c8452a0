package serve

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"

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
)

// A badRequest is a request that no state of the host would accept.
type badRequest struct{ why string }

func (e *badRequest) Error() string { return e.why }

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
	{inbox.ErrSealed, http.StatusInternalServerError, "sealed", "This host's keys do not open what is stored."},
	{context.Canceled, 499, "gone", "The request was given up."},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, "timeout", "That took too long."},
}

// describe finds the row for err. The detail is shown only where the text was
// written for people; anything else stays in the log.
func describe(err error) client.Problem {
	var (
		bad      *badRequest
		tooLarge *http.MaxBytesError
		check    *checkError
		away     *host.UnreachableError
		signIn   *host.SignInError
	)
	switch {
	case errors.As(err, &bad):
		return client.Problem{Status: http.StatusBadRequest, Code: "bad_request", Title: "The request cannot be read.", Detail: bad.why}
	case errors.As(err, &tooLarge):
		return client.Problem{
			Status: http.StatusRequestEntityTooLarge, Code: "too_large", Title: "The request is too large.",
			Params: map[string]any{"limit": tooLarge.Limit},
		}
	case errors.As(err, &check):
		return client.Problem{
			Status: http.StatusUnprocessableEntity, Code: "check_failed", Title: "There is a problem with what was entered.",
			Detail: check.Error(), Errors: check.errs,
		}
	case errors.As(err, &signIn):
		return client.Problem{
			Status: http.StatusBadGateway, Code: "sign_in_failed", Title: "The sign-in did not come about.",
			Detail: "Signing in to " + signIn.Server + " did not come about: " + signIn.Why + ".", Params: map[string]any{"server": signIn.Server},
		}
	case errors.As(err, &away):
		return client.Problem{
			Status: http.StatusBadGateway, Code: "unreachable", Title: "The server cannot be reached.",
			Detail: unreachable(away), Params: map[string]any{"server": away.Server},
		}
	}
	for _, row := range problems {
		if !errors.Is(err, row.is) {
			continue
		}
		p := client.Problem{Status: row.status, Code: row.code, Title: row.title}
		detail(&p, err)
		return p
	}
	return client.Problem{Status: http.StatusInternalServerError, Code: "internal", Title: "Something went wrong in this host."}
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
		p.Detail = "It was finished already, took longer than ten minutes, or was begun by somebody else. Nothing was changed."
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
