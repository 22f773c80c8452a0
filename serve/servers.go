package serve

import (
	"fmt"
	"net/http"
	"time"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/plain"
)

// A serverRow is a server of the servers file. It holds no secret: the address is
// the file's own text, with variables unexpanded.
type serverRow struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"`
	Local    bool     `json:"local"`
	Address  string   `json:"address"`
	Domain   string   `json:"domain"`
	Status   string   `json:"status"`
	Era      string   `json:"era,omitempty"`
	Revision string   `json:"revision,omitempty"`
	Error    string   `json:"error,omitempty"`
	Notes    []string `json:"notes"`
}

func (s *Server) servers(w http.ResponseWriter, r *asker) error {
	rows := []serverRow{}
	for _, st := range s.host.Servers(r.principal) {
		rows = append(rows, serverRow{
			ID: st.ID, Kind: string(st.Kind), Local: st.Local, Address: st.Address, Domain: st.Domain,
			Status: string(st.State), Era: string(st.Era), Revision: st.Revision, Error: st.Error,
			Notes: notes(st),
		})
	}
	return writeJSON(w, http.StatusOK, map[string]any{"servers": rows})
}

// A toolRow is a tool with the form for its arguments.
type toolRow struct {
	Name        string     `json:"name"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	View        *form.View `json:"view"`
	Refused     string     `json:"refused,omitempty"`
}

// notes are sentences on what a person should know beside the status.
func notes(st host.Status) []string {
	list := []string{}
	if st.Junk > 0 {
		list = append(list, fmt.Sprintf("%s wrote %d lines that are no protocol messages; they were skipped.", st.Name, st.Junk))
	}
	return list
}

func (s *Server) tools(w http.ResponseWriter, r *asker) error {
	tools, err := s.host.Tools(r.Context(), r.principal, r.PathValue("id"))
	if err != nil {
		return err
	}
	rows := []toolRow{}
	for _, t := range tools {
		rows = append(rows, drawTool(t))
	}
	return writeJSON(w, http.StatusOK, map[string]any{"tools": rows})
}

func drawTool(t *host.Tool) toolRow {
	description, _ := plain.Text(t.Description, maxMessage)
	row := toolRow{Name: t.Name, Title: plain.Line(t.Title, maxName), Description: description}
	schema, err := form.ParseArguments(t.InputSchema)
	if err != nil {
		row.Refused = plain.Line(err.Error(), 500)
		return row
	}
	row.View = draw(schema)
	return row
}

// A conversationRow is a line of the list of conversations.
type conversationRow struct {
	ID            string     `json:"id"`
	Title         string     `json:"title"`
	UpdatedAt     *time.Time `json:"updated_at"`
	OpenQuestions int        `json:"open_questions"`
}

// conversations lists those of the person's newest calls, the latest first.
func (s *Server) conversations(w http.ResponseWriter, r *asker) error {
	calls, err := s.inbox.Calls(r.Context(), r.principal, inbox.CallFilter{Limit: mostRows})
	if err != nil {
		return err
	}
	open, err := s.inbox.Questions(r.Context(), r.principal, inbox.QuestionFilter{
		States: []inbox.QuestionState{inbox.Open, inbox.Opened}, Limit: mostRows,
	})
	if err != nil {
		return err
	}
	waiting := map[string]int{}
	for _, q := range open {
		waiting[q.Conversation]++
	}
	rows, at := []*conversationRow{}, map[string]*conversationRow{}
	for _, c := range calls {
		row := at[c.Conversation]
		if row == nil {
			row = &conversationRow{ID: c.Conversation, OpenQuestions: waiting[c.Conversation]}
			at[c.Conversation] = row
			rows = append(rows, row)
		}
		if row.UpdatedAt == nil || c.Updated.After(*row.UpdatedAt) {
			row.UpdatedAt = when(c.Updated)
		}
		row.Title = s.title(c) // the oldest call names it
	}
	return writeJSON(w, http.StatusOK, map[string]any{"conversations": rows})
}

// conversation is a snapshot; event is the number of the last event in it, from
// which the event stream goes on.
func (s *Server) conversation(w http.ResponseWriter, r *asker) error {
	calls, questions, event, err := s.inbox.Conversation(r.Context(), r.principal, r.PathValue("id"))
	if err != nil {
		return err
	}
	of := map[inbox.CallID][]*inbox.Question{}
	for _, q := range questions {
		of[q.Call] = append(of[q.Call], q)
	}
	callRows, questionRows := []*callRow{}, []*questionRow{}
	for _, c := range calls {
		callRows = append(callRows, s.callRow(c, of[c.ID]))
		for _, q := range of[c.ID] {
			questionRows = append(questionRows, s.questionRow(q, c, inRound(of[c.ID], q.Round)))
		}
	}
	return writeJSON(w, http.StatusOK, map[string]any{
		"id": r.PathValue("id"), "calls": callRows, "questions": questionRows, "event": event,
	})
}
