package webhook

import (
	"encoding/json"
	"net/url"
	"time"

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
	Principal Principal        `json:"principal"`
	Call      inbox.CallID     `json:"call"`
	Question  inbox.QuestionID `json:"question,omitempty"`
	Server    string           `json:"server"`
	Mode      inbox.Mode       `json:"mode,omitempty"`
	State     string           `json:"state,omitempty"`  // of an answered question
	Reason    string           `json:"reason,omitempty"` // of a blocked call
	// URL is the page where the person answers, once they have signed in. It grants
	// nothing by itself.
	URL string `json:"url,omitempty"`
}

// A Principal is whom it is about.
type Principal struct {
	Issuer  string `json:"issuer"`
	Tenant  string `json:"tenant"`
	Subject string `json:"subject"`
}

// typeOf says which message an entry of the audit log is; false: none.
func typeOf(e *inbox.AuditEntry) (Type, bool) {
	if e.Principal == (inbox.Principal{}) { // of a person who was erased since
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
	}
	return "", false
}

// body writes the message of an entry.
func (s *Sender) body(t Type, e *inbox.AuditEntry) ([]byte, error) {
	m := Message{Type: t, Timestamp: e.At.UTC(), Data: Data{
		Principal: Principal(e.Principal), Call: e.Call, Question: e.Question, Server: e.Server, Mode: e.Mode, Reason: e.Reason,
	}}
	if t == Answered {
		m.Data.State = e.State
	}
	if s.publicURL != "" && e.Question != "" {
		m.Data.URL = QuestionURL(s.publicURL, e.Question)
	}
	return json.Marshal(m)
}

// QuestionURL is the page of a question on the host at base. Whoever opens it signs in
// first, and sees the question only if it is theirs.
func QuestionURL(base string, id inbox.QuestionID) string {
	return base + "/?q=" + url.QueryEscape(string(id))
}
