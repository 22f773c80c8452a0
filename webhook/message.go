package webhook

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/parley-mcp/parley/inbox"
)

// A Message is the body of a request.
type Message struct {
	Type      Type      `json:"type"`
	Timestamp time.Time `json:"timestamp"` // of what happened, in UTC
	Data      Data      `json:"data"`
}

// Data are the ids of what happened.
type Data struct {
	Principal Principal    `json:"principal"` // whose call it is, and who answers its questions
	Call      inbox.CallID `json:"call"`
	// Conversation is what the call belongs to, as whoever composed it named it: what a
	// token of POST /v1/embed-tokens has to name so that it shows the question. Empty: none,
	// one that is no longer kept, or one that no token can name.
	Conversation string           `json:"conversation,omitempty"`
	Question     inbox.QuestionID `json:"question,omitempty"`
	Approval     inbox.ApprovalID `json:"approval,omitempty"`
	// Assignee is who decides the approval. Nil: the principal.
	Assignee *Assignee `json:"assignee,omitempty"`
	// OtherPerson says that the principal may not decide it, not as a member of the
	// group either.
	OtherPerson bool       `json:"other_person,omitempty"`
	Server      string     `json:"server"`
	Mode        inbox.Mode `json:"mode,omitempty"`
	State       string     `json:"state,omitempty"`  // of an answered question
	Reason      string     `json:"reason,omitempty"` // of a blocked call, or of one that nobody knows of
	// URL is the page where the person answers or decides, once they have signed in. It
	// grants nothing by itself.
	URL string `json:"url,omitempty"`
}

// A Principal is whom it is about.
type Principal struct {
	Issuer  string `json:"issuer"`
	Tenant  string `json:"tenant"`
	Subject string `json:"subject"`
}

// An Assignee is a person, or the members of a group of the principal's issuer and
// tenant.
type Assignee struct {
	Principal *Principal `json:"principal,omitempty"`
	Group     string     `json:"group,omitempty"`
}

// typeOf says which message an entry of the audit log is; false: none.
func typeOf(e *inbox.AuditEntry) (Type, bool) {
	// Of a person who was erased since, or of nobody knows which question.
	if e.Principal == (inbox.Principal{}) || e.Unreadable {
		return "", false
	}
	switch e.Kind {
	case inbox.AuditAsked:
		return Asked, true
	case inbox.AuditExpiring:
		return Expiring, true
	case inbox.AuditAnswered:
		return Answered, true
	case inbox.AuditBlocked:
		return Blocked, true
	case inbox.AuditUncertain:
		return Uncertain, true
	case inbox.AuditApprovalAsked:
		return ApprovalAsked, true
	case inbox.AuditApprovalExpiring:
		return ApprovalExpiring, true
	}
	return "", false
}

// body writes the message of an entry, and of the rows that it is about.
func (s *Sender) body(t Type, e *inbox.AuditEntry, rows about) ([]byte, error) {
	m := Message{Type: t, Timestamp: e.At.UTC(), Data: Data{
		Principal: Principal(e.Principal), Call: e.Call, Question: e.Question, Server: e.Server, Mode: e.Mode, Reason: e.Reason,
	}}
	if t == Answered {
		m.Data.State = e.State
	}
	if s.publicURL != "" && e.Question != "" {
		m.Data.URL = QuestionURL(s.publicURL, e.Question)
	}
	if isName(rows.conversation) {
		m.Data.Conversation = rows.conversation
	}
	if a := rows.approval; a != nil {
		m.Data.Approval, m.Data.OtherPerson = a.ID, a.NotAsker
		if p := Principal(a.Assignee.Principal); p != (Principal{}) {
			m.Data.Assignee = &Assignee{Principal: &p}
		} else if a.Assignee.Group != "" {
			m.Data.Assignee = &Assignee{Group: a.Assignee.Group}
		}
		if s.publicURL != "" {
			m.Data.URL = ApprovalURL(s.publicURL, a.ID)
		}
	}
	return json.Marshal(m)
}

// isName reports whether a conversation is one that tokens can name, by the bounds of the
// HTTP API. A program that composes calls itself may name them by longer texts, and no
// text belongs into a message.
func isName(conversation string) bool {
	return len(conversation) <= 100 && !strings.ContainsFunc(conversation, unicode.IsControl)
}

// QuestionURL is the page of a question on the host at base. Whoever opens it signs in
// first, and sees the question only if it is theirs.
func QuestionURL(base string, id inbox.QuestionID) string {
	return base + "/?q=" + url.QueryEscape(string(id))
}

// ApprovalURL is the page of an approval on the host at base. Whoever opens it signs in
// first, and sees the approval only if it is about a call of theirs, or theirs to decide.
func ApprovalURL(base string, id inbox.ApprovalID) string {
	return base + "/?a=" + url.QueryEscape(string(id))
}
