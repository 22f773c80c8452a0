package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// ApprovalID names an approval: "a_" and 128 random bits. Knowing it grants nothing.
type ApprovalID string

// ApprovalState is a state of a host's own request for permission. The package
// documentation has the diagram.
type ApprovalState string

const (
	ApprovalOpen      ApprovalState = "open"
	ApprovalAllowed   ApprovalState = "allowed"
	ApprovalDenied    ApprovalState = "denied" // by a person, never by time
	ApprovalExpired   ApprovalState = "expired"
	ApprovalWithdrawn ApprovalState = "withdrawn" // its call ended in another way
)

// Closed reports whether nobody can decide any more.
func (s ApprovalState) Closed() bool { return s != ApprovalOpen }

// Scope is how much one approval covers.
type Scope string

const (
	Once            Scope = "once"         // this call, over all its rounds
	ForConversation Scope = "conversation" // exactly this tool, in this conversation
	Always          Scope = "always"       // exactly this tool, in all conversations of the person
)

// Assignee is who decides an approval: a person, or any member of a group; at
// most one of both is set. The zero Assignee is the call's principal.
type Assignee struct {
	Principal Principal
	// Group is a group of the issuer and tenant of the call's principal. A
	// group of the same name elsewhere is another group.
	Group string
}

// IsZero reports whether nobody in particular is named.
func (a Assignee) IsZero() bool { return a == Assignee{} }

func (a Assignee) check() error {
	switch {
	case a.Principal != Principal{} && a.Group != "":
		return fmt.Errorf("%w: an approval is assigned to a person or to a group", ErrInvalid)
	case a.Principal != Principal{}:
		return a.Principal.check()
	}
	return checkText("the group", a.Group)
}

// groupKey is how a store knows a group: no principal has a key like it.
func groupKey(of Principal, group string) string {
	return Principal{Issuer: of.Issuer, Tenant: of.Tenant, Subject: group}.Key() + "|group"
}

// key is how a store knows the assignee; empty: nobody in particular.
func (a Assignee) key(asker Principal) string {
	switch {
	case a.Group != "":
		return groupKey(asker, a.Group)
	case a.Principal != Principal{}:
		return a.Principal.Key()
	}
	return ""
}

func parseAssignee(key string) (Assignee, error) {
	if key == "" {
		return Assignee{}, nil
	}
	text, isGroup := strings.CutSuffix(key, "|group")
	p, err := ParsePrincipal(text)
	if err != nil {
		return Assignee{}, err
	}
	if isGroup {
		return Assignee{Group: p.Subject}, nil
	}
	return Assignee{Principal: p}, nil
}

// Ask is what a policy says that wants a person's permission.
type Ask struct {
	// Fingerprint of the tool, as [Scope] Always is bound to it: whatever of the
	// tool a person or a model may have read. Empty: only Once can be chosen.
	Fingerprint string
	Description string // of the tool, for the card; at most 4 KiB
	// Tool is what the server says of it now; nil: it is no tool. What has changed
	// of it since the person last saw or allowed it stands on the card.
	Tool   *ToolText
	Rule   string // the name of the rule
	Reason string // one plain sentence for people

	Assignee Assignee
	// NotAsker says that the call's principal may not decide, not as a member of
	// the group either. It wants an Assignee.
	NotAsker bool
	// Offer is what the decider may choose besides Once. Who decides for another
	// person looks at each call: with an Assignee nothing else is offered.
	Offer []Scope

	Time time.Duration // to decide; default Options.ApprovalTime
}

func (a *Ask) check() error {
	if err := checkText("the ask", a.Fingerprint, a.Description, a.Rule, a.Reason); err != nil {
		return err
	}
	if a.NotAsker && a.Assignee.IsZero() {
		return fmt.Errorf("%w: somebody else has to decide, and nobody is named", ErrInvalid)
	}
	for _, s := range a.Offer {
		if s != Once && s != ForConversation && s != Always {
			return fmt.Errorf("%w: an approval is given once, for a conversation or always", ErrInvalid)
		}
	}
	return a.Assignee.check()
}

// offers lists what may be chosen besides Once.
func (a *Ask) offers(conversation string) (list []Scope) {
	if a.Fingerprint == "" || !a.Assignee.IsZero() {
		return nil
	}
	for _, s := range []Scope{ForConversation, Always} {
		if slices.Contains(a.Offer, s) && (s != ForConversation || conversation != "") {
			list = append(list, s)
		}
	}
	return list
}

// Denial is what a policy says that forbids a call.
type Denial struct {
	Rule   string // the name of the rule
	Reason string // one plain sentence for people
}

func (d *Denial) check() error { return checkText("the denial", d.Rule, d.Reason) }

// Approval is the host's own request for permission before a tool runs. It is
// no question: no server asked for it, and no answer to a question stands in
// for it. Approvals that an Inbox returns are copies.
type Approval struct {
	ID           ApprovalID
	Seq          int64 // the number of its first event: later approvals of a principal have higher ones
	Call         CallID
	Principal    Principal // whose call it is
	Conversation string
	Server       string

	Actor       Actor
	Method      string
	Tool        string          // the call's name
	Arguments   json.RawMessage // of the call, as they will be sent
	Description string          // of the tool; sanitise before drawing
	Changed     *ToolChange     // of the tool, since the call's principal last saw it or had it allowed; nil: nothing
	Fingerprint string
	Rule        string
	Reason      string // one plain sentence for people
	Assignee    Assignee
	NotAsker    bool
	Offer       []Scope            // what may be chosen besides Once
	Answered    []AnsweredQuestion // on resume: whose answers would leave with the next send

	State     ApprovalState
	Scope     Scope // once it is allowed
	Standing  bool  // it covers calls to come: allowed for more than once, and not revoked
	DecidedBy Principal
	Via       string
	Assurance string

	Version   int64
	Created   time.Time
	ExpiresAt time.Time
	Closed    time.Time
	Removed   bool // the retention of its call has passed: what was to be sent is gone

	Unreadable bool // what was sealed does not open, or the row is damaged: see [ErrUnreadable]
}

// AnsweredQuestion names a question without its answer: who approves for
// somebody else learns what was asked, not what was said.
type AnsweredQuestion struct {
	Question QuestionID `json:"question"`
	Message  string     `json:"message"` // its beginning
}

// Approver is who looks at approvals and decides them: a verified person, and
// the groups that whoever verified them vouches for.
type Approver struct {
	Principal Principal
	Groups    []string
}

// keys are those of the assignees that the approver is, or is a member of.
func (a Approver) keys() []string {
	keys := make([]string, 0, 1+len(a.Groups))
	keys = append(keys, a.Principal.Key())
	for _, g := range a.Groups {
		keys = append(keys, groupKey(a.Principal, g))
	}
	return keys
}

// MayDecide reports whether the approver decides this approval, if it is open.
func (a *Approval) MayDecide(who Approver) bool {
	switch own := who.Principal == a.Principal; {
	case a.Assignee.IsZero():
		return own
	case own && a.NotAsker:
		return false
	}
	return slices.Contains(who.keys(), a.Assignee.key(a.Principal))
}

// Decision is what a person does with an approval.
type Decision struct {
	Allow     bool
	Scope     Scope // of an allowance; default Once
	Via       string
	Assurance string

	// Key makes deciding idempotent: the same key with the same decision gives
	// the same result again.
	Key string
}

// standingKey finds a standing approval: exactly this tool of this server, in
// the conversation or, without one, in all.
func standingKey(server, tool, fingerprint, conversation string) string {
	parts := []string{server, tool, fingerprint, conversation}
	for i, part := range parts {
		parts[i] = url.QueryEscape(part)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "|")))
	return hex.EncodeToString(sum[:])
}
