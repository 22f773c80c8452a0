package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/quiet"
	"github.com/parley-mcp/parley/serve/client"
)

// A Scope is a group of routes that a session may use.
type Scope = client.Scope

// The scopes. A session without any list has all of them.
const (
	ScopeRead   = client.ScopeRead
	ScopeAnswer = client.ScopeAnswer
	ScopeCall   = client.ScopeCall
)

var allScopes = []Scope{ScopeRead, ScopeAnswer, ScopeCall}

// A Session is who sends a request, and what it may do. It is the answer of
// Options.Identify, and made anew for each request.
type Session struct {
	// Principal is the verified person. Every row that is read or written is theirs.
	Principal inbox.Principal
	// Name is what the page calls the person. Default: the subject.
	Name string
	// Groups are the verified groups of the person. Approvals can be assigned to one. Those
	// of a model's session do not count: its calls are judged by the person's, as their own
	// sessions had them.
	Groups []string
	// Actor is [inbox.Model] if whoever has the session is no person but a model that works
	// for them: its calls are a model's, and it neither answers nor decides, nor does
	// anything else that a person does. Default: a person.
	Actor inbox.Actor
	// Operator lets the person do what whoever runs the service does: /v1/ops.
	Operator bool
	// Conversation, if set, is all that the session sees: rows of others are not there.
	Conversation string
	// Approval, if set, is all that the session sees, also if it is of another person's call
	// and this person decides it: no other row, list or route is there.
	Approval inbox.ApprovalID
	// Scopes are what the session may do. Nil: everything; empty: nothing.
	Scopes []Scope
	// Assurance says how sure the session is of the person. It is stored with each
	// answer. Default: "signed-in page".
	Assurance string
}

// bound reports whether the session sees a part of what is the person's.
func (s *Session) bound() bool { return s.Conversation != "" || s.Approval != "" }

// signedInPage is how sure a page is of a person who signed in to it.
const signedInPage = "signed-in page"

// may reports whether the session has the scope.
func (s *Session) may(scope Scope) bool {
	switch {
	case scope == scopeOperator:
		return s.Operator && !s.bound() && !s.model()
	case scope == ScopeAnswer && s.model():
		return false
	}
	return scope == "" || s.Scopes == nil || slices.Contains(s.Scopes, scope)
}

func (s *Session) name() string {
	if s.Name != "" {
		return s.Name
	}
	return s.Principal.Subject
}

func (s *Session) assurance() string {
	if s.Assurance != "" {
		return s.Assurance
	}
	return signedInPage
}

// model reports whether a model has the session. An actor that nobody knows is none to
// take for a person.
func (s *Session) model() bool { return s.Actor != "" && s.Actor != inbox.Person }

func (s *Session) actor() inbox.Actor {
	if s.model() {
		return inbox.Model
	}
	return inbox.Person
}

// scopes lists what the session may do.
func (s *Session) scopes() []Scope {
	list := []Scope{}
	for _, scope := range allScopes {
		if s.may(scope) {
			list = append(list, scope)
		}
	}
	return list
}

// A subject of a route is the kind of row that {id} in its path names.
type subject int

const (
	ofNothing      subject = iota + 1 // the path names no row of a person
	ofConversation                    // the id is a conversation
	ofCall                            // the id is a call
	ofQuestion                        // the id is a question
	ofApproval                        // the id is an approval, also of a call of somebody else
	ofPerson                          // rows of all conversations: no bound session sees them
	ofSession                         // what each session has, whatever it is bound to
)

// within refuses all that a session of one approval does not have, whatever its scopes,
// like a row that is not there.
func (s *Session) within(of subject) error {
	if s.Approval != "" && of != ofApproval && of != ofSession {
		return inbox.ErrNotFound
	}
	return nil
}

// inSight refuses other rows to a session that is bound to a conversation or an approval.
// They get the same answer as rows that are not there.
func (s *Server) inSight(ctx context.Context, of subject, session *Session, id string) error {
	if !session.bound() || of == ofNothing || of == ofSession {
		return nil
	}
	if err := session.within(of); err != nil {
		return err
	}
	conversation := ""
	switch of {
	case ofConversation:
		conversation = id
	case ofCall:
		c, err := whatIsThere(s.inbox.Call(ctx, session.Principal, inbox.CallID(id)))
		if err != nil {
			return err
		}
		conversation = c.Conversation
	case ofQuestion:
		q, err := whatIsThere(s.inbox.Question(ctx, session.Principal, inbox.QuestionID(id)))
		if err != nil {
			return err
		}
		conversation = q.Conversation
	case ofApproval:
		_, err := s.approval(ctx, session, inbox.ApprovalID(id))
		return err
	}
	if conversation != session.Conversation {
		return inbox.ErrNotFound
	}
	return nil
}

// enabled refuses a person whose access was taken away.
func enabled(ctx context.Context, in *inbox.Inbox, p inbox.Principal) error {
	disabled, err := in.Disabled(ctx, p)
	if err != nil {
		return fmt.Errorf("looking for a disabled person: %w", err)
	}
	if disabled {
		return inbox.ErrDisabled
	}
	return nil
}

// still reports, as an error, that the session of a request that takes long has ended:
// its token, its sign-in, or the person's access; or that this cannot be checked.
func (s *Server) still(r *asker) error {
	now, err := s.asking(r.Request)
	if err != nil {
		return err
	}
	if now.Principal != r.Principal || now.actor() != r.actor() || now.Conversation != r.Conversation || now.Approval != r.Approval || !slices.Equal(now.Scopes, r.Scopes) {
		return ErrSignedOut
	}
	r.Groups = now.Groups
	return nil
}

// asking says who sends a request. An answer 401 is final to pages and clients, so
// only what says so is one: [ErrSignedOut], or [inbox.ErrDisabled], which is 403. Any
// other failure, such as that of a store that is away, lets nobody in and says nothing
// about the session (RFC 9110 15.6.4). What else such an error wraps is no matter of
// the route that was asked for.
func (s *Server) asking(r *http.Request) (*Session, error) {
	session, err := s.identifyAs(r)
	switch {
	case err == nil:
		if session.model() && session.Groups != nil {
			// Its calls are judged by the groups that the person's own sign-in has verified
			// last: what a model came with neither adds to those nor takes any away.
			own := *session
			own.Groups = nil
			session = &own
		}
		return session, nil
	case errors.Is(err, ErrSignedOut):
		return nil, ErrSignedOut
	case errors.Is(err, inbox.ErrDisabled):
		return nil, inbox.ErrDisabled
	case r.Context().Err() != nil: // who asked is gone, and no store failed
		return nil, r.Context().Err()
	}
	return nil, &uncheckedError{err}
}

// logUnchecked logs why nobody could tell who asks. An author's Identify, which has
// just looked at what a request proves itself with, may have written the error.
func (s *Server) logUnchecked(ctx context.Context, route string, err error) {
	if errors.Is(err, errUnchecked) {
		slog.New(quiet.New(s.log.Handler())).ErrorContext(ctx, "serve: who asks could not be checked", "route", route, "err", err)
	}
}

// identifyAs asks the ways to sign in, one after the other.
func (s *Server) identifyAs(r *http.Request) (*Session, error) {
	if s.embed != nil && isEmbedToken(bearer(r)) {
		return s.embed.identify(r)
	}
	if s.crossOrigin(r) {
		// Pages of products are trusted with the tokens that they were given, and
		// with nothing that a browser adds by itself.
		return nil, ErrSignedOut
	}
	session, err := s.identify(r)
	if err == nil && session == nil {
		err = ErrSignedOut
	}
	if err != nil {
		return nil, err
	}
	if s.embed != nil && s.embed.names(session.Principal.Issuer) {
		// The product could mint tokens for this person.
		s.log.WarnContext(r.Context(), "serve: a person was not let in: the issuer belongs to an API key, and people who sign in here need another one", "issuer", session.Principal.Issuer)
		return nil, ErrSignedOut
	}
	return session, enabled(r.Context(), s.inbox, session.Principal)
}
