package elicit

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Names of Parley's own in _meta. Clients that do not know them lose nothing.
const (
	metaIdempotencyKey = "io.github.parley-mcp/idempotencyKey"
	metaExpiresAt      = "io.github.parley-mcp/expiresAt"
	// metaRaw carries the exact bytes of answers past the SDK, which would
	// decode numbers as floats. It never leaves the process: see rewrite.
	metaRaw = "io.github.parley-mcp/raw"
)

// modernRevision is the first with multi round-trip requests.
const modernRevision = "2026-07-28"

// modes are the modes that a client declared.
type modes struct{ form, url bool }

func (m modes) has(mode Mode) bool {
	return mode == FormMode && m.form || mode == URLMode && m.url
}

// declaredModes reads a client's capabilities; a mode that is not there is not
// asked in (MCP 2026-07-28 elicitation, "Capabilities" S1; MCP 2026-07-28 mrtr,
// "Server Requirements" S11). An empty object is form mode alone, for older clients.
func declaredModes(capabilities *mcp.ClientCapabilities) modes {
	if capabilities == nil || capabilities.Elicitation == nil {
		return modes{}
	}
	e := capabilities.Elicitation
	return modes{form: e.Form != nil || e.URL == nil, url: e.URL != nil}
}

// revisionOf returns the revision that a client and this server speak. The SDK
// answers a legacy client whose revision it does not know with 2025-11-25.
func revisionOf(version string) revision {
	switch {
	case version >= modernRevision:
		return rev20260728
	case version == "2025-06-18", version == "2025-03-26", version == "2024-11-05":
		return rev20250618
	}
	return rev20251125
}

// responses returns the answers in a retry, by wire key.
func responses(in incoming, limit int) (map[string]response, *jsonrpc.Error) {
	if text, ok := in.meta[metaRaw].(string); ok {
		return rawResponses(text, limit)
	}
	// Nothing of ours stood before the SDK: its decoded answers must do.
	list := make(map[string]response, len(in.answers))
	for key, decoded := range in.answers {
		list[key] = decodedResponse(decoded)
	}
	return list, nil
}

func rawResponses(text string, limit int) (map[string]response, *jsonrpc.Error) {
	if len(text) > limit {
		return nil, refuseWith(refuseTooMuch, (&LimitError{Limit: "answers", Max: limit, Unit: "bytes"}).Error())
	}
	var raw map[string]json.RawMessage
	// MCP 2026-07-28 mrtr, "Error Handling" S1, S2: what is no InputResponses object
	// is a protocol error; entries nobody asked for are ignored.
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, refuse(refuseAnswers)
	}
	list := make(map[string]response, len(raw))
	for key, value := range raw {
		list[key] = response{raw: value}
	}
	return list, nil
}

// decodedResponse writes an answer that the SDK decoded as JSON again. Answers
// of another shape, such as a list of roots, come out without an action.
func decodedResponse(decoded any) response {
	result, ok := decoded.(*mcp.ElicitResult)
	if !ok || result == nil {
		return response{raw: json.RawMessage("{}")}
	}
	if text, ok := result.Meta[metaRaw].(string); ok {
		return response{raw: json.RawMessage(text)}
	}
	raw, err := json.Marshal(map[string]any{"action": result.Action, "content": result.Content})
	if err != nil {
		return response{raw: json.RawMessage("{}")}
	}
	return response{raw: raw, lossy: lossy(result.Content)}
}

// lossy reports whether a float in the value may stand for another integer.
func lossy(value any) bool {
	switch value := value.(type) {
	case float64:
		return math.Abs(value) >= 1<<53
	case []any:
		if slices.ContainsFunc(value, lossy) {
			return true
		}
	case map[string]any:
		for _, item := range value {
			if lossy(item) {
				return true
			}
		}
	}
	return false
}
