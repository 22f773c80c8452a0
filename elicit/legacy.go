package elicit

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// schemaKey is the context key of the schema that a question really has.
type schemaKey struct{}

// askClient returns the backend of a legacy call: it sends elicitation/create
// while the call is open and waits for the result.
//
// The SDK's own way from an input_required result to a legacy client asks one
// round only and loses the second, so it is not used.
func (s *Server) askClient(call context.Context, session *mcp.ServerSession) backend {
	return func(ctx context.Context, q *asked) (response, error) {
		// The values of the call's own context make the SDK send the question
		// on the stream of the call, where POST-only clients see it; the
		// handler's context says when to give up.
		ctx, cancel := withValuesOf(ctx, call)
		defer cancel(nil)
		defer s.held.add(session.ID(), q, cancel)()
		params := q.params()
		params.Meta = mcp.Meta{metaExpiresAt: q.expires.Format(time.RFC3339)}
		if q.mode == URLMode {
			// MCP 2025-11-25 elicitation, "URL Mode Elicitation Requests" S1: the id is required.
			params.ElicitationID = q.id
		} else {
			ctx = context.WithValue(ctx, schemaKey{}, q.schema)
			params.RequestedSchema = nil
		}
		// Without a schema the SDK passes the answer on unjudged. It would
		// check before it fills in defaults, and say only that something was
		// wrong. exactSchema puts the schema back on the way out.
		result, err := session.Elicit(ctx, params)
		if err != nil {
			return response{}, err
		}
		return decodedResponse(result), nil
	}
}

// exactSchema is a sending middleware that puts the schema of a question, byte
// by byte, into the request.
func exactSchema(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		schema, ok := ctx.Value(schemaKey{}).(json.RawMessage)
		if !ok || method != "elicitation/create" {
			return next(ctx, method, req)
		}
		params, isElicit := req.GetParams().(*mcp.ElicitParams)
		session, isServer := req.GetSession().(*mcp.ServerSession)
		if !isElicit || !isServer {
			// Never send the question without its form.
			return nil, errors.New("elicit: another middleware changed the type of a question")
		}
		exact := *params
		exact.RequestedSchema = schema
		return next(ctx, method, &mcp.ServerRequest[*mcp.ElicitParams]{Session: session, Params: &exact})
	}
}

// withValuesOf returns a context with the values of values that ends when
// either of them does.
func withValuesOf(ctx, values context.Context) (context.Context, context.CancelCauseFunc) {
	merged, cancel := context.WithCancelCause(values)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return merged, func(cause error) { stop(); cancel(cause) }
}
