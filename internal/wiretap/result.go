package wiretap

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Limits of an input_required result. Keys are opaque: "" and "__proto__" are keys like any other.
const (
	MaxInputRequests = 256     // in one result
	MaxInputKey      = 4 << 10 // bytes of a key
	MaxInputParams   = 1 << 20 // bytes of one request's params
	MaxRequestState  = 1 << 20 // bytes of requestState
	maxMembers       = 10_000  // of a result object
	methodElicit     = "elicitation/create"
	metaExpiresAt    = "io.github.parley-mcp/expiresAt"
	complete         = "complete"
	inputRequired    = "input_required"
)

var (
	// ErrUndeclared marks a result whose resultType the protocol revision does not declare. The SDK takes it for an
	// empty success.
	ErrUndeclared = errors.New("undeclared resultType")
	// ErrMisplaced marks a result that asks (inputRequests, or requestState and nothing else) but does not say so in
	// resultType, as some servers send in a later round to a legacy client, or where their map of requests is nil. The
	// SDK takes it for an empty success.
	ErrMisplaced = errors.New("inputRequests or requestState in a result that is not input_required")
)

// InputRequired is what a server asks in a result (MCP 2026-07-28, InputRequiredResult).
type InputRequired struct {
	Requests  []InputRequest  // in the order of the bytes; may be empty: try again later
	HasState  bool            // requestState is there, if only as ""
	State     string          // opaque; the host keeps it and shows it to nobody
	Meta      json.RawMessage // _meta as it came; nil: absent
	ExpiresAt time.Time       // from _meta io.github.parley-mcp/expiresAt; zero: absent or no RFC 3339 time
	TTL       time.Duration   // from ttlMs; zero: absent
}

// InputRequest is one entry of inputRequests.
type InputRequest struct {
	Key    string
	Method string
	Params json.RawMessage // as they came; nil: absent
}

// Foreign reports whether the server asks for something other than elicitation (sampling, roots, or unknown).
func (r InputRequest) Foreign() bool { return r.Method != methodElicit }

// ParseResult reads the raw result of a call. It reports whether the result asks for input, and then what.
// A result without resultType is complete (MCP 2026-07-28, Result). Errors are [ErrUndeclared], [ErrMisplaced],
// [ErrMalformed] and *[LimitError]. What it returns are slices of raw.
func ParseResult(raw json.RawMessage) (*InputRequired, bool, error) {
	if depth(raw) > maxDepth {
		return nil, false, &LimitError{What: "nesting of a result", Limit: maxDepth}
	}
	ms, err := members(raw, maxMembers)
	if err != nil {
		return nil, false, err
	}
	fields := make(map[string]json.RawMessage, len(ms))
	for _, f := range ms {
		fields[f.Name] = f.Value
	}
	kind := complete
	if v, ok := fields["resultType"]; ok {
		if err := json.Unmarshal(v, &kind); err != nil || string(v) == "null" {
			return nil, false, fmt.Errorf("%w: resultType is not a string", ErrMalformed)
		}
	}
	switch kind {
	case complete:
		if asks(fields["inputRequests"]) || half(fields) {
			return nil, false, ErrMisplaced
		}
		return nil, false, nil
	case inputRequired:
	default:
		return nil, false, fmt.Errorf("%w %.64q", ErrUndeclared, kind)
	}

	in := new(InputRequired)
	requests, asked := fields["inputRequests"]
	if asked && string(requests) != "null" {
		if in.Requests, err = parseRequests(requests); err != nil {
			return nil, false, err
		}
	} else {
		asked = false
	}
	if v, ok := fields["requestState"]; ok && string(v) != "null" {
		if err := json.Unmarshal(v, &in.State); err != nil {
			return nil, false, fmt.Errorf("%w: requestState is not a string", ErrMalformed)
		}
		if len(in.State) > MaxRequestState {
			return nil, false, &LimitError{What: "requestState", Limit: MaxRequestState}
		}
		in.HasState = true
	}
	if !asked && !in.HasState {
		// MCP 2026-07-28 mrtr, "Server Requirements" S10: at least one of the two.
		return nil, false, fmt.Errorf("%w: input_required without inputRequests and requestState", ErrMalformed)
	}
	if v, ok := fields["_meta"]; ok {
		in.Meta = v
		in.ExpiresAt = ExpiresAt(v)
	}
	if v, ok := fields["ttlMs"]; ok {
		if ms, err := strconv.ParseFloat(string(v), 64); err == nil && ms > 0 {
			in.TTL = time.Duration(min(ms, float64(365*24*time.Hour/time.Millisecond))) * time.Millisecond
		}
	}
	return in, true, nil
}

// half reports whether a result has a server's request state and says nothing.
func half(fields map[string]json.RawMessage) bool {
	var state string
	if v, ok := fields["requestState"]; !ok || string(v) == "null" || json.Unmarshal(v, &state) != nil {
		return false
	}
	for _, name := range []string{"content", "messages", "contents"} { // of a tool, a prompt and a resource
		var list []json.RawMessage
		if v, ok := fields[name]; ok && (json.Unmarshal(v, &list) != nil || len(list) > 0) {
			return false
		}
	}
	_, structured := fields["structuredContent"]
	return !structured
}

// ExpiresAt reads io.github.parley-mcp/expiresAt from a raw _meta object; zero if it is absent or no RFC 3339 time.
func ExpiresAt(meta json.RawMessage) time.Time {
	ms, err := members(meta, maxMembers)
	if err != nil {
		return time.Time{}
	}
	for _, f := range ms {
		if f.Name == metaExpiresAt {
			var t time.Time
			if json.Unmarshal(f.Value, &t) != nil {
				return time.Time{}
			}
			return t.UTC()
		}
	}
	return time.Time{}
}

func parseRequests(raw json.RawMessage) ([]InputRequest, error) {
	ms, err := members(raw, MaxInputRequests)
	if limit := (*LimitError)(nil); errors.As(err, &limit) {
		return nil, &LimitError{What: "inputRequests", Limit: MaxInputRequests}
	} else if err != nil {
		return nil, fmt.Errorf("inputRequests: %w", err)
	}
	out := make([]InputRequest, 0, len(ms))
	for _, f := range ms {
		if len(f.Name) > MaxInputKey {
			return nil, &LimitError{What: "a key of inputRequests", Limit: MaxInputKey}
		}
		r := InputRequest{Key: f.Name}
		entry, err := members(f.Value, maxEnvelope)
		if err != nil {
			return nil, fmt.Errorf("inputRequests %.64q: %w", f.Name, err)
		}
		for _, e := range entry {
			switch e.Name {
			case "method":
				if err := json.Unmarshal(e.Value, &r.Method); err != nil {
					return nil, fmt.Errorf("inputRequests %.64q: %w: method is not a string", f.Name, ErrMalformed)
				}
			case "params":
				if len(e.Value) > MaxInputParams {
					return nil, &LimitError{What: fmt.Sprintf("params of inputRequests %.64q", f.Name), Limit: MaxInputParams}
				}
				r.Params = e.Value
			}
		}
		if r.Method == "" {
			return nil, fmt.Errorf("inputRequests %.64q: %w: no method", f.Name, ErrMalformed)
		}
		out = append(out, r)
	}
	return out, nil
}

// asks reports whether raw looks like inputRequests with at least one request. A complete result may hold members of
// any name, so one called inputRequests with something else in it is left alone.
func asks(raw json.RawMessage) bool {
	if len(raw) == 0 || raw[0] != '{' {
		return false
	}
	requests, err := parseRequests(raw)
	return err != nil && errors.As(err, new(*LimitError)) || len(requests) > 0
}
