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
}

// routes is the one table of what the API has for people who are signed in.
var routes = []route{
	{"GET /v1/session", "", ofNothing, (*Server).session},
	{"GET /v1/servers", ScopeCall, ofNothing, (*Server).servers},
	{"GET /v1/servers/{id}/tools", ScopeCall, ofNothing, (*Server).tools},
	{"GET /v1/conversations", ScopeRead, ofNothing, (*Server).conversations}, // lists those in sight
	{"GET /v1/conversations/{id}", ScopeRead, ofConversation, (*Server).conversation},
	{"POST /v1/calls", ScopeCall, ofNothing, (*Server).compose}, // the body names the conversation
	{"GET /v1/calls/{id}", ScopeRead, ofCall, (*Server).call},
	{"POST /v1/calls/{id}/stop", ScopeAnswer, ofCall, (*Server).stop},
	{"POST /v1/calls/{id}/resolve", ScopeAnswer, ofCall, (*Server).resolve},
	{"POST /v1/calls/{id}/run-again", ScopeCall, ofCall, (*Server).runAgain},
	{"POST /v1/calls/{id}/decline-rest", ScopeAnswer, ofCall, (*Server).declineRest},
	{"GET /v1/questions", ScopeRead, ofNothing, (*Server).questions}, // lists those in sight
	{"GET /v1/questions/{id}", ScopeRead, ofQuestion, (*Server).question},
	{"POST /v1/questions/{id}/check", ScopeAnswer, ofQuestion, (*Server).check},
	{"POST /v1/questions/{id}/answer", ScopeAnswer, ofQuestion, (*Server).answer},
	{"POST /v1/questions/{id}/take-back", ScopeAnswer, ofQuestion, (*Server).takeBack},
	{"POST /v1/questions/{id}/open", ScopeAnswer, ofQuestion, (*Server).open},
	{"GET /v1/events", ScopeRead, ofNothing, (*Server).events}, // sends those in sight
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
