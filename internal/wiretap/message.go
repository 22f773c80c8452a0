package wiretap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/parley-mcp/parley/internal/exact"
)

// maxDepth is the deepest nesting that is read. The SDK's own limit is 1000 and costs it the connection.
const maxDepth = 500

var (
	// ErrMalformed marks bytes that are no JSON-RPC message, or no result of the shape that the protocol asks for.
	ErrMalformed = errors.New("malformed message")
	// ErrCut marks a response that ended before the reply.
	ErrCut = errors.New("response ended before the reply")
)

// A LimitError says that a peer sent more than is read.
type LimitError struct {
	What  string // what was too large or too many
	Limit int    // bytes, or a count
}

func (e *LimitError) Error() string { return fmt.Sprintf("%s over the limit of %d", e.What, e.Limit) }

// message is the envelope of one JSON-RPC message. The raw fields are slices of the message.
type message struct {
	id     json.RawMessage // nil: absent or null
	method string          // "" in a response
	call   bool            // has a method
	params json.RawMessage
	result json.RawMessage
	err    json.RawMessage
}

// members splits a JSON object into slices of raw and refuses trailing bytes and repeated names.
func members(raw []byte, limit int) ([]exact.Member, error) {
	ms, err := exact.Members(raw, limit)
	if errors.Is(err, exact.ErrMany) {
		return nil, &LimitError{What: "members of an object", Limit: limit}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return ms, nil
}

// maxEnvelope bounds the members of an envelope; JSON-RPC has six.
const maxEnvelope = 64

func parseMessage(raw []byte) (message, error) {
	var m message
	if depth(raw) > maxDepth {
		return m, &LimitError{What: "nesting of a message", Limit: maxDepth}
	}
	ms, err := members(raw, maxEnvelope)
	if err != nil {
		return m, err
	}
	var version bool
	for _, f := range ms {
		switch f.Name {
		case "jsonrpc":
			version = string(f.Value) == `"2.0"`
		case "id":
			if string(f.Value) != "null" {
				m.id = f.Value
			}
		case "method":
			if err := json.Unmarshal(f.Value, &m.method); err != nil || string(f.Value) == "null" {
				return m, fmt.Errorf("%w: method is not a string", ErrMalformed)
			}
			m.call = true
		case "params":
			m.params = f.Value
		case "result":
			m.result = f.Value
		case "error":
			// Servers exist that send "error":null beside a result.
			if string(f.Value) != "null" {
				m.err = f.Value
			}
		}
	}
	switch {
	case !version:
		return m, fmt.Errorf("%w: jsonrpc is not \"2.0\"", ErrMalformed)
	case m.id != nil && idKey(m.id) == "":
		return m, fmt.Errorf("%w: id is neither a string nor a number", ErrMalformed)
	case m.call && (m.result != nil || m.err != nil):
		return m, fmt.Errorf("%w: both a request and a response", ErrMalformed)
	case !m.call && (m.result == nil) == (m.err == nil):
		return m, fmt.Errorf("%w: a response needs one of result and error", ErrMalformed)
	case !m.call && m.id == nil && m.err == nil:
		return m, fmt.Errorf("%w: a result without an id", ErrMalformed)
	}
	return m, nil
}

// idKey is a comparable form of a JSON-RPC id, "" if raw is none: 7 and 7.0 are the same id, 7 and "7" are not.
// Integers are compared by their digits, so ids beyond 2^53 stay apart.
func idKey(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	switch c := raw[0]; {
	case c == '"':
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return ""
		}
		return "s" + s
	case c == '-' || '0' <= c && c <= '9':
		s := string(raw)
		if strings.ContainsAny(s, ".eE") {
			f, err := strconv.ParseFloat(s, 64)
			if err != nil {
				return ""
			}
			s = strconv.FormatFloat(f, 'f', -1, 64)
		}
		if s == "-0" {
			s = "0"
		}
		return "n" + s
	}
	return ""
}

// depth is the deepest nesting of objects and arrays in raw.
func depth(raw []byte) int {
	var now, deepest int
	var inString, escaped bool
	for _, b := range raw {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped = b == '\\'
			inString = b != '"'
		case b == '"':
			inString = true
		case b == '{' || b == '[':
			now++
			deepest = max(deepest, now)
		case b == '}' || b == ']':
			now--
		}
	}
	return deepest
}

// valid replaces bytes that are not UTF-8, which JSON-RPC forbids and databases refuse.
func valid(raw []byte) []byte {
	if utf8.Valid(raw) {
		return raw
	}
	return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
}

// An RPCError is the error member of a JSON-RPC response.
type RPCError struct {
	Code    int64
	Message string
	Data    json.RawMessage // nil: absent
}

// ParseError reads the error member of a JSON-RPC response. Its text comes from the server: sanitise it before it is
// shown.
func ParseError(raw json.RawMessage) (RPCError, error) {
	var e RPCError
	ms, err := members(raw, maxEnvelope)
	if err != nil {
		return e, err
	}
	var code bool
	for _, f := range ms {
		switch f.Name {
		case "code":
			n, err := strconv.ParseInt(strings.TrimSuffix(string(f.Value), ".0"), 10, 64)
			if err != nil {
				return e, fmt.Errorf("%w: error code is not an integer", ErrMalformed)
			}
			e.Code, code = n, true
		case "message":
			if err := json.Unmarshal(f.Value, &e.Message); err != nil {
				return e, fmt.Errorf("%w: error message is not a string", ErrMalformed)
			}
		case "data":
			e.Data = f.Value
		}
	}
	if !code {
		return e, fmt.Errorf("%w: error without a code", ErrMalformed)
	}
	return e, nil
}

// codeURLRequired is MCP 2025-11-25, URLElicitationRequiredError: the call ended, and asks for these visits before it is
// sent again.
const codeURLRequired = -32042

// Elicitations returns the raw params of the url questions in a URL-elicitation-required error, nil for any other
// error. There are at most [MaxInputRequests] of at most [MaxInputParams] bytes; more is a *[LimitError].
func (e RPCError) Elicitations() ([]json.RawMessage, error) {
	if e.Code != codeURLRequired {
		return nil, nil
	}
	raw := member1(e.Data, "elicitations")
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || len(list) == 0 {
		return nil, fmt.Errorf("%w: error %d without elicitations", ErrMalformed, codeURLRequired)
	}
	if len(list) > MaxInputRequests {
		return nil, &LimitError{What: "elicitations", Limit: MaxInputRequests}
	}
	for _, params := range list {
		if len(params) > MaxInputParams {
			return nil, &LimitError{What: "params of an elicitation", Limit: MaxInputParams}
		}
	}
	return list, nil
}

// errorMessage is a JSON-RPC error response that the tap makes up for the SDK.
func errorMessage(id json.RawMessage, code int64, text string) []byte {
	quoted, _ := json.Marshal(text) // a string always marshals
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, quoted)
}
