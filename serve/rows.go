package serve

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/plain"
	"github.com/parley-mcp/parley/link"
	"github.com/parley-mcp/parley/lint"

	"github.com/parley-mcp/parley/serve/client"
)

// maxMessage bounds a server's message, in code points; the card folds long ones.
const maxMessage = 20_000

const (
	maxInline  = 256 << 10 // bytes of arguments, result or error that a row carries
	maxCarried = 8 << 20   // and all rows of one answer together
)

// trim leaves out what is large, and what does not fit into the bytes that are left.
func trim(row *client.Call, left *int) {
	for _, part := range []struct {
		raw  *json.RawMessage
		size *int
	}{{&row.Arguments, &row.ArgumentsSize}, {&row.Result, &row.ResultSize}, {&row.Error, &row.ErrorSize}} {
		n := len(*part.raw)
		if n > min(maxInline, *left) {
			*part.raw, *part.size = nil, n
			continue
		}
		*left -= n
	}
}

func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// maxName bounds the name and title of a tool, in characters.
const maxName = 300

// title is what people call a call's tool: the server's title, if its tools
// were listed since this host began, else the name.
func (s *Server) title(c *inbox.Call) string {
	if c.Method == "tools/call" {
		if title := plain.Line(s.host.Title(c.Principal, c.Server, c.Name), maxName); title != "" {
			return title
		}
	}
	return plain.Line(c.Name, maxName)
}

// callRow draws a call for the session. Questions are those of the call, in any order.
func (s *Server) callRow(session *Session, c *inbox.Call, questions []*inbox.Question) *client.Call {
	at := s.place(c.Principal, c.Server)
	row := &client.Call{
		ID: c.ID, Seq: c.Seq, Version: c.Version, Conversation: c.Conversation,
		Server: c.Server, ServerLocal: at.Local, Actor: c.Actor,
		Method: c.Method, Name: plain.Line(c.Name, maxName), Title: s.title(c),
		Arguments: c.Arguments,
		State:     c.State, Reason: c.Reason, Text: host.Explain(c, at.Name), Round: c.Round,
		// Where an answer was delivered, "send again" runs a held call again from the top.
		Held:      c.Held || c.State == inbox.Uncertain && c.Delivered > 0,
		CreatedAt: when(c.Created), UpdatedAt: when(c.Updated), EndedAt: when(c.Ended), ExpiresAt: when(c.ExpiresAt),
		Replaces: c.Replaces, ReplacedBy: c.ReplacedBy,
		Questions: []inbox.QuestionID{},
	}
	if c.IsError {
		row.Error = c.Result
	} else {
		row.Result = c.Result
	}
	if session.model() && mayHoldAddresses(c) {
		row.Withheld, row.Result, row.Error = true, nil, nil
	}
	if row.Unreadable = c.Unreadable; c.Unreadable && !c.State.Ended() {
		row.Text = unreadableCall
	}
	open, round := 0, inRound(questions, c.Round)
	for _, q := range questions {
		row.Questions = append(row.Questions, q.ID)
		if !q.State.Closed() && !q.Unreadable {
			open++
		}
	}
	row.Can = client.CallCan{
		Stop:        !c.State.Ended(),
		Resolve:     c.State == inbox.Uncertain,
		RunAgain:    canRunAgain(c),
		DeclineRest: open > 1 || open == 1 && round > 1 && c.State == inbox.Waiting,
	}
	return row
}

// mayHoldAddresses reports whether the host refused what a server answered for what it
// asked: the questions are still in it. What a tool or a server said of itself is not.
func mayHoldAddresses(c *inbox.Call) bool {
	if len(c.Result) == 0 || c.State == inbox.Done {
		return false
	}
	switch c.Reason {
	case host.ReasonToolError, host.ReasonServerError, host.ReasonLapsed, host.ReasonProbablyLapsed:
		return false
	}
	return true
}

// questionRow draws a question of call c for the session; of is how many its round has.
// What a person answered is for a model only where the servers file says so, and an
// address never: whoever has it can go there in the person's place.
func (s *Server) questionRow(session *Session, q *inbox.Question, c *inbox.Call, of int) *client.Question {
	at := s.place(q.Principal, q.Server)
	row := &client.Question{
		ID: q.ID, Seq: q.Seq, Version: q.Version, Call: q.Call, Conversation: q.Conversation,
		Server: q.Server, ServerLocal: at.Local, ServerAddress: at.Address,
		Tool: plain.Line(c.Name, maxName), ToolTitle: s.title(c), Mode: q.Mode, State: q.State,
		Round: q.Round, Position: q.Position + 1, Of: of, Held: c.Held,
		Note: q.Note, ClosedBy: q.ClosedBy, CanTakeBack: c.CanTakeBack(q),
		CompletedAt: when(q.Completed), CreatedAt: when(q.Created), ExpiresAt: when(q.ExpiresAt),
	}
	message, found := plain.Text(q.Message, maxMessage)
	row.Message, row.Findings = message, []string{}
	if found.Any() {
		row.Findings = append(row.Findings, found.String())
	}
	hidden := session.model() && !at.AnswersVisibleToModel
	var schema *form.Schema
	if row.Unreadable = q.Unreadable || c.Unreadable && !q.State.Closed(); row.Unreadable {
		if !q.State.Closed() {
			row.Refused, row.Note = unreadableQuestion, ""
		}
	} else if q.Mode == inbox.URL {
		if row.Withheld = session.model(); !row.Withheld {
			row.URL = s.inspect(q)
		}
	} else {
		var err error
		if schema, err = q.Schema(); err != nil {
			row.Refused = plain.Line(err.Error(), 500)
		} else {
			row.View = draw(schema)
			if len(q.Suggested) > 0 {
				if row.Withheld = hidden; !hidden {
					row.Suggested = schema.Entries(q.Suggested)
				}
			}
		}
	}
	if a := q.Answer; a != nil {
		row.Answer = &client.Answer{Action: a.Action, At: when(a.At), Via: a.Via, Review: []client.ReviewRow{}, Omitted: []client.OmittedField{}}
		if hidden {
			row.Withheld = row.Withheld || len(a.Content) > 0
			return row
		}
		row.Answer.Content = a.Content
		if schema != nil && a.Action == inbox.Accept {
			row.Answer.Review, row.Answer.Omitted = review(schema, a.Content, q.Suggested)
		}
	}
	return row
}

// maxJudged bounds the texts of one form that are judged, in bytes: a form is drawn
// often, and a shared $ref can make 200 long fields of one.
const maxJudged = 32 << 10

// draw is the view of a form, in which the fields that ask for a secret are marked.
// MCP 2026-07-28 elicitation, "User Interaction Model" S1 forbids servers to ask; the
// person is warned of one that does, and of a field to type into that is beyond what
// is judged.
func draw(schema *form.Schema) *form.View {
	v := schema.View()
	left := maxJudged
	for i := range v.Fields {
		f, ok := schema.Field(v.Fields[i].Name)
		if !ok {
			continue
		}
		size := len(f.Name) + len(f.Title) + len(f.Description) + len(f.Pattern)
		if left -= size; left < 0 {
			v.Fields[i].Secret = f.Kind == form.Text || f.Kind == form.Integer || f.Kind == form.Number || f.Kind == form.JSON
			continue
		}
		_, v.Fields[i].Secret = lint.AsksSecret(&f)
	}
	return v
}

// What stands in the place of what cannot be read, so that a person can end it.
const (
	unreadableCall     = "What is stored of this call cannot be read, so it does not go on. You can stop it."
	unreadableQuestion = "What is stored of this question, or of its call, cannot be read, so it cannot be answered. You can stop the call."
)

// whatIsThere takes a row that cannot be read for what it is: whoever looks sees that it
// is there, and everything else.
func whatIsThere[T any](row *T, err error) (*T, error) {
	if row != nil && errors.Is(err, inbox.ErrUnreadable) {
		return row, nil
	}
	return row, err
}

// place is what the servers file says of a server; of one that was removed from it
// only the id is known.
func (s *Server) place(p inbox.Principal, id string) host.Status {
	for _, st := range s.host.Servers(p) {
		if st.ID == id {
			return st
		}
	}
	return host.Status{ID: id, Name: id}
}

// inspect says what the address of a url question really is, seen from its server.
func (s *Server) inspect(q *inbox.Question) *link.Report {
	at := s.place(q.Principal, q.Server)
	opts := &link.Options{ServerDomain: at.Domain, ServerLocal: at.Local}
	for _, st := range s.host.Servers(q.Principal) {
		if st.Domain != "" {
			opts.Known = append(opts.Known, st.Domain)
		}
	}
	return link.Inspect(q.URL, opts)
}

// canRunAgain is for calls that came to nothing: one that is done is composed anew.
func canRunAgain(c *inbox.Call) bool {
	if c.ReplacedBy != "" || c.Unreadable {
		return false
	}
	switch c.State {
	case inbox.Blocked, inbox.Failed, inbox.Stopped, inbox.CallExpired, inbox.Interrupted, inbox.Lapsed:
		return true
	}
	return false
}
