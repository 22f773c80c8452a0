package serve

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/parley-mcp/parley/inbox"
)

// A route is a method and a path of the API. What a session needs for it stands
// beside it, so that no handler can forget to ask.
type route struct {
	pattern string
	scope   Scope   // "": any session
	of      subject // whose rows it shows or changes
	handle  func(*Server, http.ResponseWriter, *asker) error
	op      operation
}

// routes is the one table of what the API has for people who are signed in.
var routes = []route{
	{"GET /v1/session", "", ofNothing, (*Server).session, operation{summary: "Who is signed in", out: body[sessionRow]()}},
	{"GET /v1/servers", ScopeCall, ofNothing, (*Server).servers, operation{summary: "The servers of this host", out: body[serverList]()}},
	{"GET /v1/servers/{id}/tools", ScopeCall, ofNothing, (*Server).tools, operation{summary: "The tools of a server", out: body[toolList]()}},
	// It lists those in sight.
	{"GET /v1/conversations", ScopeRead, ofNothing, (*Server).conversations, operation{summary: "Conversations, the one that changed last first", out: body[conversationList]()}},
	{"GET /v1/conversations/{id}", ScopeRead, ofConversation, (*Server).conversation, operation{summary: "The newest calls and questions of a conversation", out: body[conversationSnapshot]()}},
	// The body names the conversation.
	{"POST /v1/calls", ScopeCall, ofNothing, (*Server).compose, operation{summary: "Call a tool", in: body[composition](), out: body[callRow](), status: http.StatusCreated, idem: true}},
	{"GET /v1/calls/{id}", ScopeRead, ofCall, (*Server).call, operation{summary: "A call, whole", out: body[callRow](), query: []parameter{
		{"since", "integer", "answer when the call has a higher version than this"}, {"wait", "number", "seconds to wait for that, at most 60"},
	}}},
	{"POST /v1/calls/{id}/stop", ScopeAnswer, ofCall, (*Server).stop, operation{summary: "Stop a call", out: body[callRow]()}},
	{"POST /v1/calls/{id}/resolve", ScopeAnswer, ofCall, (*Server).resolve, operation{summary: "Decide on a call that nobody knows the end of", in: body[resolution](), out: body[callRow]()}},
	{"POST /v1/calls/{id}/run-again", ScopeCall, ofCall, (*Server).runAgain, operation{summary: "Run a call again that came to nothing", out: body[callRow](), status: http.StatusCreated}},
	{"POST /v1/calls/{id}/decline-rest", ScopeAnswer, ofCall, (*Server).declineRest, operation{summary: "Decline all open questions of a call", out: body[callRow]()}},
	// It lists those in sight.
	{"GET /v1/questions", ScopeRead, ofNothing, (*Server).questions, operation{summary: "The newest questions, the oldest of them first", out: body[questionList](), query: []parameter{
		{"state", "string", `"open": those that wait for an answer`},
	}}},
	{"GET /v1/questions/{id}", ScopeRead, ofQuestion, (*Server).question, operation{summary: "A question", out: body[questionRow]()}},
	{"POST /v1/questions/{id}/check", ScopeAnswer, ofQuestion, (*Server).check, operation{summary: "What Send would send, without sending it", in: body[entries](), out: body[checkedRow]()}},
	{"POST /v1/questions/{id}/answer", ScopeAnswer, ofQuestion, (*Server).answer, operation{summary: "Answer a question", in: body[answerBody](), out: body[questionRow](), idem: true}},
	{"POST /v1/questions/{id}/take-back", ScopeAnswer, ofQuestion, (*Server).takeBack, operation{summary: "Take an answer back that was not sent yet", out: body[questionRow]()}},
	{"POST /v1/questions/{id}/open", ScopeAnswer, ofQuestion, (*Server).open, operation{summary: "Agree to open exactly the address that was shown", in: body[openBody](), out: body[questionRow]()}},
	// It lists those in sight.
	{"GET /v1/approvals", ScopeRead, ofNothing, (*Server).approvals, operation{summary: "Approvals of the person's calls, and those of others that the person decides", out: body[approvalList](), query: []parameter{
		{"state", "string", `"open": those that wait for a decision; "standing": those that cover calls to come`},
	}}},
	{"GET /v1/approvals/{id}", ScopeRead, ofApproval, (*Server).oneApproval, operation{summary: "An approval", out: body[approvalRow]()}},
	{"POST /v1/approvals/{id}", ScopeAnswer, ofApproval, (*Server).decide, operation{summary: "Allow or deny", in: body[decisionBody](), out: body[approvalRow](), idem: true}},
	{"POST /v1/approvals/{id}/revoke", ScopeAnswer, ofApproval, (*Server).revoke, operation{summary: "End an approval that covers calls to come", out: body[approvalRow]()}},
	// It sends those in sight.
	{"GET /v1/events", ScopeRead, ofNothing, (*Server).events, operation{summary: "A stream of whole rows as they change, as server-sent events", query: []parameter{
		{"after", "integer", "the number of the last event that was seen; or the header Last-Event-ID"},
	}}},
}

// otherRoutes are those that nobody has to be signed in for. Which of them there are
// depends on how people sign in.
var otherRoutes = []struct {
	pattern string
	apiKey  bool
	op      operation
}{
	{"POST /v1/sign-in", false, operation{summary: "Trade a one-time token for the bearer (local sign-in)", in: body[oneTimeToken](), out: body[signedInRow]()}},
	{"POST /v1/embed-tokens", true, operation{summary: "Get a token for a page", in: body[tokenRequest](), out: body[mintedToken](), status: http.StatusCreated}},
	{"POST /v1/embed-tokens/revoke", true, operation{summary: "End tokens of a person", in: body[revocation](), status: http.StatusNoContent}},
	{"GET /v1/openapi.json", false, operation{summary: "This document"}},
}

// freshAddressRoute is there with local sign-in only.
var freshAddressRoute = route{
	"POST /v1/sign-in/addresses", "", ofNothing, (*Server).freshAddress,
	operation{summary: "Make another one-time token (local sign-in)", out: body[freshToken](), status: http.StatusCreated},
}

// An asker is a request whose sender is known.
type asker struct {
	*http.Request
	*Session
	principal inbox.Principal
}

// serve finds out who is asking and whether they may, runs the route, and turns its
// error into a problem.
func (s *Server) serve(route route) http.Handler {
	if hasID := strings.Contains(route.pattern, "{id}"); route.of == 0 || hasID && route.of == ofPerson {
		panic("serve: the route " + route.pattern + " does not say whose rows it shows")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := s.identifyAs(r)
		if err != nil {
			s.fail(w, r, fmt.Errorf("%w: %w", ErrSignedOut, err))
			return
		}
		if !session.may(route.scope) {
			s.fail(w, r, errScope)
			return
		}
		if err := s.inSight(r.Context(), route.of, session, r.PathValue("id")); err != nil {
			s.fail(w, r, err)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		if err := route.handle(s, w, &asker{Request: r, Session: session, principal: session.Principal}); err != nil {
			s.fail(w, r, err)
		}
	})
}
