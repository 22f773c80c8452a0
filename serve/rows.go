package serve

import (
	"encoding/json"
	"time"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/plain"
	"github.com/parley-mcp/parley/link"
	"github.com/parley-mcp/parley/lint"
)

// maxMessage bounds a server's message, in code points; the card folds long ones.
const maxMessage = 20_000

// A callRow is a call as pages see it. The request state is not in it: it never
// leaves the host.
//
// Arguments, result and error are what a server or a model made of any size. In
// every row but the one of GET /v1/calls/{id} each is null if it is larger than
// 256 KiB, or if the rows before it filled the answer, and its size in bytes is
// beside it.
type callRow struct {
	ID           inbox.CallID       `json:"id"`
	Seq          int64              `json:"seq"`
	Version      int64              `json:"version"`
	Conversation string             `json:"conversation"`
	Server       string             `json:"server"`
	ServerLocal  bool               `json:"server_local"`
	Method       string             `json:"method"`
	Name         string             `json:"name"`
	Title        string             `json:"title"`
	Arguments    json.RawMessage    `json:"arguments"`
	State        inbox.CallState    `json:"state"`
	Reason       string             `json:"reason,omitempty"`
	Text         string             `json:"text"`
	Round        int                `json:"round"`
	Held         bool               `json:"held"`
	CreatedAt    *time.Time         `json:"created_at"`
	UpdatedAt    *time.Time         `json:"updated_at"`
	EndedAt      *time.Time         `json:"ended_at"`
	ExpiresAt    *time.Time         `json:"expires_at"`
	Result       json.RawMessage    `json:"result"`
	Error        json.RawMessage    `json:"error"`
	Replaces     inbox.CallID       `json:"replaces,omitempty"`
	ReplacedBy   inbox.CallID       `json:"replaced_by,omitempty"`
	Questions    []inbox.QuestionID `json:"questions"`
	Can          callCan            `json:"can"`

	ArgumentsSize int `json:"arguments_size,omitempty"` // of what was left out
	ResultSize    int `json:"result_size,omitempty"`
	ErrorSize     int `json:"error_size,omitempty"`
}

const (
	maxInline  = 256 << 10 // bytes of arguments, result or error that a row carries
	maxCarried = 8 << 20   // and all rows of one answer together
)

// trim leaves out what is large, and what does not fit into the bytes that are left.
func (row *callRow) trim(left *int) {
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

// callCan says which buttons make sense now.
type callCan struct {
	Stop        bool `json:"stop"`
	Resolve     bool `json:"resolve"`
	RunAgain    bool `json:"run_again"`
	DeclineRest bool `json:"decline_rest"`
}

// A questionRow is a question as pages draw it.
type questionRow struct {
	ID            inbox.QuestionID    `json:"id"`
	Seq           int64               `json:"seq"`
	Version       int64               `json:"version"`
	Call          inbox.CallID        `json:"call"`
	Conversation  string              `json:"conversation"`
	Server        string              `json:"server"`
	ServerLocal   bool                `json:"server_local"`
	ServerAddress string              `json:"server_address"`
	Tool          string              `json:"tool"`
	ToolTitle     string              `json:"tool_title"`
	Mode          inbox.Mode          `json:"mode"`
	Message       string              `json:"message"`
	Findings      []string            `json:"message_findings"`
	View          *form.View          `json:"view"`
	Refused       string              `json:"refused,omitempty"`
	URL           *link.Report        `json:"url"`
	State         inbox.QuestionState `json:"state"`
	Round         int                 `json:"round"`
	Position      int                 `json:"position"` // from 1
	Of            int                 `json:"of"`
	Held          bool                `json:"held"`
	Suggested     form.Input          `json:"suggested"`
	Note          string              `json:"note,omitempty"`
	Answer        *answerRow          `json:"answer"`
	ClosedBy      inbox.Closer        `json:"closed_by,omitempty"`
	CanTakeBack   bool                `json:"can_take_back"`
	CreatedAt     *time.Time          `json:"created_at"`
	ExpiresAt     *time.Time          `json:"expires_at"`
}

// An answerRow is what the person did. Content is for programs; people see Review.
type answerRow struct {
	Action  inbox.Action    `json:"action"`
	Content json.RawMessage `json:"content"`
	Review  []reviewRow     `json:"review"`
	Omitted []omittedRow    `json:"omitted"`
	At      *time.Time      `json:"at"`
	Via     string          `json:"via"`
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

// callRow draws a call. Questions are those of the call, in any order.
func (s *Server) callRow(c *inbox.Call, questions []*inbox.Question) *callRow {
	at := s.place(c.Principal, c.Server)
	row := &callRow{
		ID: c.ID, Seq: c.Seq, Version: c.Version, Conversation: c.Conversation,
		Server: c.Server, ServerLocal: at.Local,
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
	open, round := 0, inRound(questions, c.Round)
	for _, q := range questions {
		row.Questions = append(row.Questions, q.ID)
		if !q.State.Closed() {
			open++
		}
	}
	row.Can = callCan{
		Stop:        !c.State.Ended(),
		Resolve:     c.State == inbox.Uncertain,
		RunAgain:    canRunAgain(c),
		DeclineRest: open > 1 || open == 1 && round > 1 && c.State == inbox.Waiting,
	}
	return row
}

// questionRow draws a question of call c; of is how many its round has.
func (s *Server) questionRow(q *inbox.Question, c *inbox.Call, of int) *questionRow {
	at := s.place(q.Principal, q.Server)
	row := &questionRow{
		ID: q.ID, Seq: q.Seq, Version: q.Version, Call: q.Call, Conversation: q.Conversation,
		Server: q.Server, ServerLocal: at.Local, ServerAddress: at.Address,
		Tool: plain.Line(c.Name, maxName), ToolTitle: s.title(c), Mode: q.Mode, State: q.State,
		Round: q.Round, Position: q.Position + 1, Of: of, Held: c.Held,
		Note: q.Note, ClosedBy: q.ClosedBy, CanTakeBack: c.CanTakeBack(q),
		CreatedAt: when(q.Created), ExpiresAt: when(q.ExpiresAt),
	}
	message, found := plain.Text(q.Message, maxMessage)
	row.Message, row.Findings = message, []string{}
	if found.Any() {
		row.Findings = append(row.Findings, found.String())
	}
	var schema *form.Schema
	if q.Mode == inbox.URL {
		row.URL = s.inspect(q)
	} else {
		var err error
		if schema, err = q.Schema(); err != nil {
			row.Refused = plain.Line(err.Error(), 500)
		} else {
			row.View = draw(schema)
			if len(q.Suggested) > 0 {
				row.Suggested = schema.Entries(q.Suggested)
			}
		}
	}
	if a := q.Answer; a != nil {
		row.Answer = &answerRow{Action: a.Action, Content: a.Content, At: when(a.At), Via: a.Via, Review: []reviewRow{}, Omitted: []omittedRow{}}
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
	if c.ReplacedBy != "" {
		return false
	}
	switch c.State {
	case inbox.Blocked, inbox.Failed, inbox.Stopped, inbox.CallExpired, inbox.Interrupted, inbox.Lapsed:
		return true
	}
	return false
}
