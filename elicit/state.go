package elicit

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/parley-mcp/parley/internal/seal"
)

// requestState is what is sealed. MCP 2026-07-28 mrtr, "Server Requirements" S3,
// S4, S5, S6, S7, S8, and MCP 2026-07-28 mrtr, "Security Considerations" S1:
// principal, expiry and the originating request are part of what is protected.
type requestState struct {
	Issued  time.Time    `json:"issued"`
	Expires time.Time    `json:"expires"`
	Call    continuation `json:"call"`
}

// binding is everything that must be the same when the state comes back
// (MCP 2026-07-28 elicitation, "Security Considerations" S1, and MCP 2025-11-25
// elicitation, "Statefulness" S1, S4: a person, and no session). It is
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

// openState reads a request state, which is hostile until it has opened. Why it
// does not is for the log: clients get one answer for everything.
func openState(ring *seal.Ring, b binding, text string, limit int, now time.Time) (c continuation, why string) {
	if len(text) > limit {
		return continuation{}, "too large"
	}
	// One state has one spelling: the decoder would skip line breaks and, unless
	// it is strict, ignore the spare bits of the last character.
	if strings.ContainsAny(text, "\r\n") {
		return continuation{}, "malformed"
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return continuation{}, "malformed"
	}
	opened, err := ring.Open(statePurpose, b.context(), sealed)
	if err != nil {
		return continuation{}, "altered, or of another key, server, person, request or arguments"
	}
	var state requestState
	if err := decodeExact(opened, &state); err != nil {
		return continuation{}, "of another version"
	}
	if !now.Before(state.Expires) {
		return continuation{}, "expired"
	}
	return state.Call, ""
}
