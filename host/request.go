package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parley-mcp/parley/inbox"
)

// metaIdempotencyKey is Parley's own name in `_meta` of a request: the same
// key stands in every send of one call, so that a server that keeps a record
// runs it once.
const metaIdempotencyKey = "io.github.parley-mcp/idempotencyKey"

// extensionIdempotency is the capability of servers that keep such a record.
const extensionIdempotency = "io.github.parley-mcp/idempotency"

// A request is the parameters of one send. It is written to the wire as it
// stands: arguments, answers and request state keep their bytes, which the
// SDK's own types would decode and write anew (numbers beyond 2^53, the order
// of fields, a state that is the empty string).
type request struct {
	mcp.ParamsBase

	method    string
	name      string // the tool's or prompt's name, or the resource's URI
	arguments json.RawMessage
	responses map[string]json.RawMessage // wire key to ElicitResult; nil: none
	state     string
	// emptyState: request state was given, and it is "".
	emptyState bool
	key        string // idempotency key
	token      string // progress token
	trace      inbox.Trace
	refused    int // resumptions of its response that were not authorized; the reader of that counts
}

// newRequest builds what a send of the call carries. Nothing of it was stored
// as a whole: a stored `_meta` would carry the version and capabilities of
// another connection.
func newRequest(c *inbox.Call, responses map[string]json.RawMessage, token string) *request {
	return &request{
		method: c.Method, name: c.Name, arguments: c.Arguments, responses: responses,
		state: c.RequestState, emptyState: c.EmptyState, key: c.IdempotencyKey, token: token,
	}
}

// MarshalJSON implements [json.Marshaler].
func (r *request) MarshalJSON() ([]byte, error) {
	params := map[string]any{}
	if len(r.Meta) > 0 {
		params["_meta"] = r.Meta
	}
	if r.method == "resources/read" {
		params["uri"] = r.name
	} else {
		params["name"] = r.name
		if len(r.arguments) > 0 {
			params["arguments"] = r.arguments
		} else if r.method == "tools/call" {
			params["arguments"] = struct{}{}
		}
	}
	// MCP 2026-07-28 basic/patterns/mrtr, "Client Requirements" C2, C3, C4, C6: the
	// request state of this very call goes back as it came, and none where the server
	// gave none. C5 is the SDK's: it numbers every send anew.
	if r.responses != nil {
		params["inputResponses"] = r.responses
	}
	if r.state != "" || r.emptyState {
		params["requestState"] = r.state
	}
	return json.Marshal(params)
}

// elicitResult writes an answer as the protocol has it. Content goes with
// accept alone: on decline and cancel there is nothing to say.
func elicitResult(a inbox.Answer) json.RawMessage {
	if a.Action == inbox.Accept && len(a.Content) > 0 {
		return fmt.Appendf(nil, `{"action":"accept","content":%s}`, a.Content)
	}
	return fmt.Appendf(nil, `{"action":%q}`, a.Action)
}

type requestKey struct{}

// substitute is a sending middleware that puts the raw request in the place of
// the SDK's parameters and keeps the `_meta` that the SDK made for this
// connection.
func substitute(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		r, ok := ctx.Value(requestKey{}).(*request)
		session, isClient := req.GetSession().(*mcp.ClientSession)
		if !ok || !isClient || r.method != method {
			return next(ctx, method, req)
		}
		meta := mcp.Meta{}
		maps.Copy(meta, req.GetParams().GetMeta())
		if r.key != "" {
			meta[metaIdempotencyKey] = r.key
		}
		if r.token != "" {
			meta["progressToken"] = r.token
		}
		if r.trace.Parent != "" {
			meta[metaTraceParent] = r.trace.Parent
			if r.trace.State != "" {
				meta[metaTraceState] = r.trace.State
			}
		}
		r.Meta = meta
		return next(ctx, method, &mcp.ClientRequest[*request]{Session: session, Params: r})
	}
}

// send hands the request to the session. What it returns says nothing about
// the call; the wiretap's outcome does.
func (r *request) send(ctx context.Context, session *mcp.ClientSession) error {
	ctx = context.WithValue(ctx, requestKey{}, r)
	var err error
	switch r.method {
	case "tools/call":
		// CallTool finds the tool's x-mcp-header parameters in the list that
		// this session fetched.
		_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: r.name, Arguments: r.arguments})
	case "prompts/get":
		_, err = session.GetPrompt(ctx, &mcp.GetPromptParams{Name: r.name})
	case "resources/read":
		_, err = session.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.name})
	default:
		err = fmt.Errorf("method %q is none that a call can have", r.method)
	}
	return err
}

// maxNesting bounds the arguments of a call. The wiretap passes messages of 500
// levels; the request around the arguments has some of its own.
const maxNesting = 400

// nesting is how deep the objects and arrays of a JSON value are nested.
func nesting(raw json.RawMessage) (deepest int) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	for now := 0; ; {
		token, err := dec.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			now++
			deepest = max(deepest, now)
		case json.Delim('}'), json.Delim(']'):
			now--
		}
	}
}
