package serve

import (
	"net/http"

	"github.com/parley-mcp/parley/inbox"

	"github.com/parley-mcp/parley/serve/client"
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
	{"GET /v1/session", "", ofSession, (*Server).session, operation{summary: "Who is signed in", out: body[client.Session]()}},
	{"GET /v1/servers", ScopeCall, ofNothing, (*Server).servers, operation{summary: "The servers of this host", out: body[client.ServerList]()}},
	{"GET /v1/servers/{id}/tools", ScopeCall, ofNothing, (*Server).tools, operation{summary: "The tools of a server", out: body[client.ToolList]()}},
	{"POST /v1/servers/{id}/tools/seen", ScopeCall, ofNothing, (*Server).seenTools, operation{summary: "Record that changed tools were seen, as they were shown", in: body[client.SeenTools](), status: http.StatusNoContent}},
	{"POST /v1/servers/{id}/sign-in", ScopeCall, ofPerson, (*Server).serverSignIn, operation{summary: "Begin a sign-in to a server", in: body[client.Surface](), out: body[client.SignInPage]()}},
	{"POST /v1/servers/sign-in/callback", ScopeCall, ofPerson, (*Server).serverSignedIn, operation{summary: "Finish a sign-in to a server with what its authorization server answered", in: body[client.SignInReply](), out: body[client.SignInResult]()}},
	{"POST /v1/servers/{id}/account", ScopeCall, ofPerson, (*Server).serverAccount, operation{summary: "Decide whether another account replaces the one that is signed in", in: body[client.AccountChoice](), out: body[client.SignInResult]()}},
	{"POST /v1/servers/{id}/sign-out", ScopeCall, ofPerson, (*Server).serverSignOut, operation{summary: "Sign out of a server", in: body[client.Surface](), out: body[client.SignOutResult]()}},
	// It lists those in sight.
	{"GET /v1/conversations", ScopeRead, ofNothing, (*Server).conversations, operation{summary: "Conversations, the one that changed last first", out: body[client.ConversationList]()}},
	{"GET /v1/conversations/{id}", ScopeRead, ofConversation, (*Server).conversation, operation{summary: "The newest calls and questions of a conversation", out: body[client.Snapshot]()}},
	// The body names the conversation.
	{"POST /v1/calls", ScopeCall, ofNothing, (*Server).compose, operation{summary: "Call a tool", in: body[client.NewCall](), out: body[client.Call](), status: http.StatusCreated, idem: true, model: true}},
	{"GET /v1/calls/{id}", ScopeRead, ofCall, (*Server).call, operation{summary: "A call, whole", out: body[client.Call](), query: []parameter{
		{"since", "integer", "answer when the call has a higher version than this"}, {"wait", "number", "seconds to wait for that, at most 60; it takes a place among the event streams, and where there is none the answer is 429 with Retry-After"},
	}}},
	{"POST /v1/calls/{id}/stop", ScopeAnswer, ofCall, (*Server).stop, operation{summary: "Stop a call", in: body[client.Surface](), out: body[client.Call]()}},
	{"POST /v1/calls/{id}/resolve", ScopeAnswer, ofCall, (*Server).resolve, operation{summary: "Decide on a call that nobody knows the end of", in: body[client.NewResolution](), out: body[client.Call](), idem: true}},
	{"POST /v1/calls/{id}/run-again", ScopeCall, ofCall, (*Server).runAgain, operation{summary: "Run a call again that came to nothing", in: body[client.Surface](), out: body[client.Call](), status: http.StatusCreated, idem: true, model: true}},
	{"POST /v1/calls/{id}/decline-rest", ScopeAnswer, ofCall, (*Server).declineRest, operation{summary: "Decline all open questions of a call", in: body[client.Surface](), out: body[client.Call](), idem: true}},
	// It lists those in sight.
	{"GET /v1/questions", ScopeRead, ofNothing, (*Server).questions, operation{summary: "The newest questions, the oldest of them first", out: body[client.QuestionList](), query: []parameter{
		{"state", "string", `"open": those that wait for an answer`},
	}}},
	{"GET /v1/questions/{id}", ScopeRead, ofQuestion, (*Server).question, operation{summary: "A question", out: body[client.Question]()}},
	{"POST /v1/questions/{id}/check", ScopeAnswer, ofQuestion, (*Server).check, operation{summary: "What Send would send, without sending it", in: body[client.Entries](), out: body[client.Checked]()}},
	{"POST /v1/questions/{id}/answer", ScopeAnswer, ofQuestion, (*Server).answer, operation{summary: "Answer a question", in: body[client.NewAnswer](), out: body[client.Question](), idem: true}},
	{"POST /v1/questions/{id}/take-back", ScopeAnswer, ofQuestion, (*Server).takeBack, operation{summary: "Take an answer back that was not sent yet", in: body[client.Surface](), out: body[client.Question]()}},
	{"POST /v1/questions/{id}/shown", ScopeRead, ofQuestion, (*Server).shown, operation{summary: "Record that the question was shown", in: body[client.Evidence](), status: http.StatusNoContent}},
	{"POST /v1/questions/{id}/open", ScopeAnswer, ofQuestion, (*Server).open, operation{summary: "Agree to open exactly the address that was shown", in: body[client.Consent](), out: body[client.Question]()}},
	// It lists those in sight.
	{"GET /v1/approvals", ScopeRead, ofNothing, (*Server).approvals, operation{summary: "Approvals of the person's calls, and those of others that the person decides", out: body[client.ApprovalList](), query: []parameter{
		{"state", "string", `"open": those that wait for a decision; "standing": those that cover calls to come`},
	}}},
	{"GET /v1/approvals/{id}", ScopeRead, ofApproval, (*Server).oneApproval, operation{summary: "An approval", out: body[client.Approval]()}},
	{"POST /v1/approvals/{id}", ScopeAnswer, ofApproval, (*Server).decide, operation{summary: "Allow or deny", in: body[client.NewDecision](), out: body[client.Approval](), idem: true}},
	{"POST /v1/approvals/{id}/shown", ScopeRead, ofApproval, (*Server).shownApproval, operation{summary: "Record that the approval was shown", in: body[client.Evidence](), status: http.StatusNoContent}},
	{"POST /v1/approvals/{id}/revoke", ScopeAnswer, ofApproval, (*Server).revoke, operation{summary: "End an approval that covers calls to come", in: body[client.Surface](), out: body[client.Approval]()}},
	{"GET /v1/refusals", ScopeRead, ofPerson, (*Server).refusals, operation{summary: "Servers whose questions were not shown: too many, too large, or against the policy", out: body[client.RefusalList]()}},
	{"POST /v1/refusals/clear", ScopeAnswer, ofPerson, (*Server).clearRefusals, operation{summary: "Forget refused questions that the person has seen", in: body[client.ServerName](), status: http.StatusNoContent}},
	{"POST /v1/servers/{id}/stop", ScopeAnswer, ofPerson, (*Server).stopServer, operation{summary: "Stop all calls of a server", in: body[client.Surface](), out: body[client.Stopped]()}},
	{"GET /v1/audit", ScopeRead, ofPerson, (*Server).audit, operation{summary: "What happened to the person's calls, newest first", out: body[client.AuditList](), query: []parameter{
		{"call", "string", "of this call only"}, {"before", "integer", "the id of the last entry of the page before"},
	}}},
	{"GET /v1/ops/audit", scopeOperator, ofPerson, (*Server).opsAudit, operation{summary: "What happened to anybody's calls, oldest first", out: body[client.AuditList](), query: []parameter{
		{"after", "integer", "the id of the last entry of the page before"},
	}}},
	{"POST /v1/ops/people/disable", scopeOperator, ofPerson, (*Server).disable, operation{summary: "Take a person's access away", in: body[client.Principal](), status: http.StatusNoContent}},
	{"POST /v1/ops/people/enable", scopeOperator, ofPerson, (*Server).enable, operation{summary: "Give the access back", in: body[client.Principal](), status: http.StatusNoContent}},
	{"POST /v1/ops/people/erase", scopeOperator, ofPerson, (*Server).erase, operation{summary: "Remove all that there is of a person", in: body[client.Principal](), status: http.StatusNoContent}},
	{"GET /v1/ops/webhooks", scopeOperator, ofPerson, (*Server).webhookList, operation{summary: "How the endpoints of webhooks do", out: body[client.WebhookList]()}},
	{"POST /v1/ops/webhooks/{id}/redeliver", scopeOperator, ofPerson, (*Server).redeliver, operation{summary: "Try the dead letters of an endpoint again, and turn on one that answered 410", out: body[client.Redelivered]()}},
	// It sends those in sight.
	{"GET /v1/events", ScopeRead, ofSession, (*Server).events, operation{summary: "A stream of whole rows as they change, as server-sent events", query: []parameter{
		{"after", "integer", "the number of the last event that was seen"},
	}, header: []parameter{
		{"Last-Event-ID", "integer", "the same, as browsers send it by themselves; it counts before after"},
	}}},
}

// otherRoutes are those that nobody has to be signed in for. Which of them there are
// depends on how people sign in.
var otherRoutes = []struct {
	pattern string
	apiKey  bool
	op      operation
}{
	{"POST /v1/sign-in", false, operation{summary: "Trade a one-time token for the bearer (local sign-in)", in: body[client.OneTimeToken](), out: body[client.SignedIn]()}},
	{"POST /v1/embed-tokens", true, operation{summary: "Get a token for a page", in: body[client.TokenRequest](), out: body[client.EmbedToken](), status: http.StatusCreated}},
	{"POST /v1/embed-tokens/revoke", true, operation{summary: "End tokens of a person", in: body[client.Revocation](), status: http.StatusNoContent}},
	{"GET /v1/openapi.json", false, operation{summary: "This document"}},
}

// freshAddressRoute is there with local sign-in only. What it makes signs in the one
// person of the machine, so nobody else gets it: not a page with a token either.
var freshAddressRoute = route{
	"POST /v1/sign-in/addresses", scopeOperator, ofPerson, (*Server).freshAddress,
	operation{summary: "Make another one-time token (local sign-in)", out: body[client.FreshToken](), status: http.StatusCreated},
}

// An asker is a request whose sender is known.
type asker struct {
	*http.Request
	*Session
	principal inbox.Principal
	via       string // of what changes something: the surface where it was done
}

// key is what makes sending the request again harmless.
func (r *asker) key() string { return r.Header.Get("Idempotency-Key") }

// serve finds out who is asking and whether they may, runs the route, and turns its
// error into a problem.
func (s *Server) serve(route route) http.Handler {
	if route.of == 0 {
		panic("serve: the route " + route.pattern + " does not say whose rows it shows")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := s.asking(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		if err := session.within(route.of); err != nil { // before the scope, which would tell routes apart
			s.fail(w, r, err)
			return
		}
		if !session.may(route.scope) || session.model() && r.Method == http.MethodPost && !route.op.model {
			s.fail(w, r, errScope)
			return
		}
		if err := s.inSight(r.Context(), route.of, session, r.PathValue("id")); err != nil {
			s.fail(w, r, err)
			return
		}
		if r.Method == http.MethodPost && session.Groups != nil { // asking leaves a model without any
			// Calls go on after an answer or a decision: by the groups of now.
			if err := s.inbox.RememberGroups(r.Context(), session.Principal, session.Groups); err != nil {
				s.fail(w, r, err)
				return
			}
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		via := ""
		if r.Method == http.MethodPost {
			if via, err = readVia(r); err != nil {
				s.fail(w, r, err)
				return
			}
		}
		r = r.WithContext(inbox.WithSource(r.Context(), source(r, session, via)))
		if err := route.handle(s, w, &asker{Request: r, Session: session, principal: session.Principal, via: via}); err != nil {
			s.fail(w, r, err)
		}
	})
}
