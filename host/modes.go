package host

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/elicitation"
)

// modes are the modes of questions that a surface of this host can answer.
type modes struct{ form, url bool }

// modesOf reads [Options].Modes.
func modesOf(list []inbox.Mode) (modes, error) {
	if list == nil {
		return modes{form: true, url: true}, nil
	}
	var m modes
	for _, mode := range list {
		switch mode {
		case inbox.Form:
			m.form = true
		case inbox.URL:
			m.url = true
		default:
			return m, fmt.Errorf("%w: there is no mode of questions %q", ErrInvalid, mode)
		}
	}
	return m, nil
}

// capabilities are what servers are told: what a surface can answer, and nothing
// else. The member that is nil is left out, and with none of them elicitation is:
// an empty one would mean form. A server of 2025-06-18, which knows no modes, looks
// for elicitation alone and takes it for form; a host that has only url refuses its
// forms. MCP 2026-07-28 elicitation, "Capabilities" C1, C2; MCP 2025-11-25
// client/elicitation, "Capabilities".
func (m modes) capabilities() *mcp.ClientCapabilities {
	caps := &mcp.ClientCapabilities{} // nil would declare roots
	if m == (modes{}) {
		return caps
	}
	caps.Elicitation = &mcp.ElicitationCapabilities{}
	if m.form {
		caps.Elicitation.Form = &mcp.FormElicitationCapabilities{}
	}
	if m.url {
		caps.Elicitation.URL = &mcp.URLElicitationCapabilities{}
	}
	return caps
}

// lacks says why a question of this mode cannot be shown; empty if it can.
func (m modes) lacks(mode string) string {
	switch {
	case mode == elicitation.Form && !m.form:
		return "it is a form, and this host did not offer to show any"
	case mode == elicitation.URL && !m.url:
		return "it is a page to open, and this host did not offer to open any"
	}
	return ""
}

// lackAny is lacks for the questions of a round: no question may be of a mode that was
// not declared (MCP 2026-07-28 mrtr, "Server Requirements" S11), so one ends them all.
func (m modes) lackAny(questions []inbox.NewQuestion) string {
	if m.form && m.url {
		return ""
	}
	for _, q := range questions {
		if p, err := elicitation.Read(q.Params); err == nil {
			if what := m.lacks(p.Mode); what != "" {
				return what
			}
		}
	}
	return ""
}
