package serve

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/parley-mcp/parley/inbox"
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
	// Groups are the verified groups of the person. Approvals can be assigned to one.
	Groups []string
	// Operator lets the person do what whoever runs the service does: /v1/ops.
	Operator bool
	// Conversation, if set, is all that the session sees: rows of others are not there.
	Conversation string
	// Scopes are what the session may do. Nil: everything; empty: nothing.
	Scopes []Scope
	// Assurance says how sure the session is of the person. It is stored with each
	// answer. Default: "signed-in page".
	Assurance string
}

// signedInPage is how sure a page is of a person who signed in to it.
const signedInPage = "signed-in page"

// may reports whether the session has the scope.
func (s *Session) may(scope Scope) bool {
	if scope == scopeOperator {
		return s.Operator && s.Conversation == ""
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

// scopes lists what the session may do.
func (s *Session) scopes() []Scope {
	if s.Scopes == nil {
		return allScopes
	}
	return s.Scopes
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
)

// inSight refuses rows of another conversation to a session that is bound to one.
// They get the same answer as rows that are not there.
func (s *Server) inSight(ctx context.Context, of subject, session *Session, id string) error {
	if session.Conversation == "" || of == ofNothing {
		return nil
	}
	conversation := ""
	switch of {
	case ofConversation:
		conversation = id
	case ofCall:
		c, err := s.inbox.Call(ctx, session.Principal, inbox.CallID(id))
		if err != nil {
			return err
		}
		conversation = c.Conversation
	case ofQuestion:
		q, err := s.inbox.Question(ctx, session.Principal, inbox.QuestionID(id))
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
// its token, its sign-in, or the person's access.
func (s *Server) still(r *asker) error {
	now, err := s.identifyAs(r.Request)
	if err != nil {
		return err
	}
	if now.Principal != r.Principal || now.Conversation != r.Conversation || !slices.Equal(now.Scopes, r.Scopes) {
		return ErrSignedOut
	}
	r.Groups = now.Groups
	return nil
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
		return nil, fmt.Errorf("the issuer %q belongs to an API key: people who sign in here need another one", session.Principal.Issuer)
	}
	return session, enabled(r.Context(), s.inbox, session.Principal)
}
