package serve

import (
	"fmt"
	"net/http"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/plain"

	"github.com/parley-mcp/parley/serve/client"
)

func (s *Server) servers(w http.ResponseWriter, r *asker) error {
	signIns, err := s.host.SignIns(r.Context(), r.principal)
	if err != nil {
		return err
	}
	own := !r.bound() && s.ownPerson(r) == nil
	rows := []client.Server{}
	for _, st := range s.host.Servers(r.principal) {
		in := signIns[st.ID]
		rows = append(rows, client.Server{
			ID: st.ID, Kind: string(st.Kind), Local: st.Local, Address: st.Address, Domain: st.Domain,
			Status: string(st.State), Era: string(st.Era), Revision: st.Revision, Error: st.Error,
			Notes:  notes(st),
			SignIn: string(in.State), CanSignIn: in.Can && own, CanSignOut: in.Kept && own, Account: in.Account, Missing: in.Missing,
		})
	}
	return writeJSON(w, http.StatusOK, client.ServerList{Servers: rows})
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
	// What a model lists the person has not seen: the first list would count as theirs.
	var changes map[string]*inbox.ToolChange
	if !r.model() {
		if changes, err = s.host.ToolChanges(r.Context(), r.principal, r.PathValue("id"), tools); err != nil {
			return err
		}
	}
	rows := []client.Tool{}
	whole := maxWholeChanges
	for _, t := range tools {
		row := drawTool(t)
		if row.Change = drawChange(changes[t.Name]); row.Change != nil {
			if row.Changed = true; whole == 0 {
				withoutTexts(row.Change)
			} else {
				whole--
			}
		}
		rows = append(rows, row)
	}
	return writeJSON(w, http.StatusOK, client.ToolList{Tools: rows})
}

// maxWholeChanges is how many changes of one list carry the texts of before and
// after. Nobody reads a hundred, and of the rest it is known what kind they are.
const maxWholeChanges = 100

func drawChange(c *inbox.ToolChange) *client.ToolChange {
	if c == nil {
		return nil
	}
	row := &client.ToolChange{New: c.New, Parts: []client.ToolPart{}}
	for _, p := range c.Parts {
		before, _ := plain.Text(p.Before, maxMessage)
		after, _ := plain.Text(p.After, maxMessage)
		row.Parts = append(row.Parts, client.ToolPart{Part: p.Name, Before: before, After: after, Cut: p.Cut})
	}
	return row
}

func withoutTexts(c *client.ToolChange) {
	for i, p := range c.Parts {
		c.Parts[i] = client.ToolPart{Part: p.Part, Cut: true}
	}
}

// seenTools records that changes were seen. It says nothing of tools that are
// another by now: they stay changed.
func (s *Server) seenTools(w http.ResponseWriter, r *asker) error {
	var in client.SeenTools
	if err := readJSON(r.Request, &in); err != nil {
		return err
	}
	shown := make(map[string]string, len(in.Tools))
	for _, t := range in.Tools {
		shown[t.Name] = t.Fingerprint
	}
	if err := s.host.SeenTools(r.Context(), r.principal, r.PathValue("id"), shown); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func drawTool(t *host.Tool) client.Tool {
	description, _ := plain.Text(t.Description, maxMessage)
	row := client.Tool{Name: t.Name, Title: plain.Line(t.Title, maxName), Description: description, Fingerprint: t.Definition}
	schema, err := form.ParseArguments(t.InputSchema)
	if err != nil {
		row.Refused = plain.Line(err.Error(), 500)
		return row
	}
	row.View = draw(schema)
	return row
}
