package serve

import (
	"fmt"
	"net/http"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/internal/plain"

	"github.com/parley-mcp/parley/serve/client"
)

func (s *Server) servers(w http.ResponseWriter, r *asker) error {
	signIns, err := s.host.SignIns(r.Context(), r.principal)
	if err != nil {
		return err
	}
	own := r.Conversation == "" && s.ownPerson(r) == nil
	rows := []client.Server{}
	for _, st := range s.host.Servers(r.principal) {
		rows = append(rows, client.Server{
			ID: st.ID, Kind: string(st.Kind), Local: st.Local, Address: st.Address, Domain: st.Domain,
			Status: string(st.State), Era: string(st.Era), Revision: st.Revision, Error: st.Error,
			Notes:  notes(st),
			SignIn: string(signIns[st.ID].State), CanSignIn: signIns[st.ID].Can && own, Account: signIns[st.ID].Account, Missing: signIns[st.ID].Missing,
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
	rows := []client.Tool{}
	for _, t := range tools {
		rows = append(rows, drawTool(t))
	}
	return writeJSON(w, http.StatusOK, client.ToolList{Tools: rows})
}

func drawTool(t *host.Tool) client.Tool {
	description, _ := plain.Text(t.Description, maxMessage)
	row := client.Tool{Name: t.Name, Title: plain.Line(t.Title, maxName), Description: description}
	schema, err := form.ParseArguments(t.InputSchema)
	if err != nil {
		row.Refused = plain.Line(err.Error(), 500)
		return row
	}
	row.View = draw(schema)
	return row
}
