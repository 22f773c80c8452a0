package serve

import (
	"fmt"
	"net/http"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/host"
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

// A serverList holds the servers of the host.
type serverList struct {
	Servers []serverRow `json:"servers"`
}

// A toolList holds the tools of a server.
type toolList struct {
	Tools []toolRow `json:"tools"`
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
	return writeJSON(w, http.StatusOK, serverList{Servers: rows})
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
	return writeJSON(w, http.StatusOK, toolList{Tools: rows})
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
