// Package elicitation reads the params of elicitation/create, once for all who go by
// them: whoever decides whether a question may be shown has to see the question that
// the person will.
package elicitation

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-mcp/parley/internal/exact"
)

// ErrTwoWays: two programs would see two questions in the params. A member is there
// twice, or under a name that differs from one of the protocol's in nothing but case,
// which some decoders take for it. Such a member is refused and not ignored: it has no
// use but to be read by somebody.
var ErrTwoWays = errors.New("it can be read in two ways")

var (
	errMany   = errors.New("it has too many members")
	errObject = errors.New("it cannot be read")
)

// Form and URL are the modes that the protocol has.
const (
	Form = "form"
	URL  = "url"
)

// Params are the params of a question, as far as a host reads them. They are a
// server's own words.
type Params struct {
	Mode       string // Form where the server says none; else its word, whether it is known or not
	HasMessage bool   // it is there, if only as ""
	Message    string
	URL        string
	Schema     json.RawMessage // requestedSchema; nil: absent
	ID         string          // elicitationId; what is no string is none
	Meta       json.RawMessage // _meta; nil: absent
}

// maxMembers bounds the members of params; the protocol has six.
const maxMembers = 10_000

// Read reads params of any shape. What it returns are slices of them. Its error says
// nothing of what is in them but names of the protocol, in words that go on from
// "the question cannot be shown:".
func Read(params []byte) (Params, error) {
	p := Params{Mode: Form} // MCP 2026-07-28 client/elicitation, "Elicitation Requests" C1: no mode is form
	members, err := exact.Members(params, maxMembers)
	switch {
	case errors.Is(err, exact.ErrTwice):
		return Params{}, ErrTwoWays
	case errors.Is(err, exact.ErrMany):
		return Params{}, errMany
	case err != nil:
		return Params{}, errObject
	}
	if exact.Ambiguous(members, "mode", "message", "url", "requestedSchema", "elicitationId", "_meta") {
		return Params{}, ErrTwoWays
	}
	for _, m := range members {
		var wrong error
		switch m.Name {
		case "mode":
			wrong = json.Unmarshal(m.Value, &p.Mode)
		case "message":
			wrong = json.Unmarshal(m.Value, &p.Message)
			p.HasMessage = string(m.Value) != "null"
		case "url":
			wrong = json.Unmarshal(m.Value, &p.URL)
		case "requestedSchema":
			p.Schema = m.Value
		case "elicitationId":
			if json.Unmarshal(m.Value, &p.ID) != nil {
				p.ID = ""
			}
		case "_meta":
			p.Meta = m.Value
		}
		if wrong != nil {
			return Params{}, fmt.Errorf("its %s is not a text", m.Name)
		}
	}
	return p, nil
}
