package elicit

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/parley-mcp/parley/internal/seal"
)

// requestState is what is sealed. MCP 2026-07-28 mrtr, "Server Requirements":
// principal, expiry and the originating request are part of what is protected.
type requestState struct {
	Issued  time.Time    `json:"issued"`
	Expires time.Time    `json:"expires"`
	Call    continuation `json:"call"`
}

// binding is everything that must be the same when the state comes back. It is
// the associated data of the encryption: a state does not even open elsewhere.
type binding struct {
	audience  string
	principal Principal
	method    string
	name      string
	arguments string // digest
}

func (b binding) context() []string {
	return []string{b.audience, b.principal.Issuer, b.principal.Tenant, b.principal.Subject, b.method, b.name, b.arguments}
}

const statePurpose = "elicit: request state 1"

// sealState returns the request state for the wire.
func sealState(ring *seal.Ring, b binding, state requestState) (string, error) {
	text, err := json.Marshal(state)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(ring.Seal(statePurpose, b.context(), text)), nil
}

// openState reads a request state, which is hostile until it has opened. All
// failures look the same.
func openState(ring *seal.Ring, b binding, text string, limit int, now time.Time) (continuation, bool) {
	// One state has one spelling: the decoder would skip line breaks and, unless
	// it is strict, ignore the spare bits of the last character.
	if len(text) > limit || strings.ContainsAny(text, "\r\n") {
		return continuation{}, false
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return continuation{}, false
	}
	opened, err := ring.Open(statePurpose, b.context(), sealed)
	if err != nil {
		return continuation{}, false
	}
	var state requestState
	if json.Unmarshal(opened, &state) != nil || !now.Before(state.Expires) {
		return continuation{}, false
	}
	return state.Call, true
}
