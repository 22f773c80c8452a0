package elicit

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Call is one call of a tool, or one request of a prompt or resource, over all
// its rounds. It is safe for concurrent
// use until the handler returns; after that asking is an error.
type Call struct{ run *run }

// Request is the request as the client sent it. It is a copy.
type Request struct {
	Method        string          // such as "tools/call"
	Name          string          // of the tool or prompt; the URI of a resource
	Arguments     json.RawMessage // the exact bytes; nil if there were none
	ClientName    string          // as the client says; not verified
	ClientVersion string
	// Trace is the trace context that the client sent in _meta: traceparent,
	// tracestate and baggage, those that are there (MCP 2026-07-28 basic, "_meta",
	// "OpenTelemetry trace context"). It is as unverified as all that a client sends;
	// with OpenTelemetry, propagation.MapCarrier(request.Trace) can be extracted from.
	// Each round has its own.
	Trace map[string]string
}

// maxTrace bounds a value of the trace context, in bytes (W3C Baggage 3.3.2).
const maxTrace = 8192

// traceOf reads the trace context out of _meta.
func traceOf(meta map[string]any) map[string]string {
	var found map[string]string
	for _, key := range []string{"traceparent", "tracestate", "baggage"} {
		if text, ok := meta[key].(string); ok && text != "" && len(text) <= maxTrace {
			if found == nil {
				found = map[string]string{}
			}
			found[key] = text
		}
	}
	return found
}

// Request returns a copy of the request.
func (c *Call) Request() Request {
	request := c.run.request
	request.Arguments = slices.Clone(request.Arguments)
	request.Trace = maps.Clone(request.Trace)
	return request
}

// Principal returns the verified person behind the call.
func (c *Call) Principal() Principal { return c.run.bound.principal }

// CanAsk reports whether the client says that it can put questions of the mode
// to a person. There is no need to look before asking: see [ErrUnanswerable].
func (c *Call) CanAsk(mode Mode) bool { return c.run.modes.has(mode) }

// IdempotencyKey returns a key for the handler's writes, such as a payment. It
// stays the same in every round of the call and whenever the client sends the
// same call again under its own idempotency key. It is different for another
// principal, tool or arguments. It has 64 hexadecimal digits. With it a handler
// keeps MCP 2026-07-28 mrtr, "Server Requirements" S9 without a [ReplayGuard] too:
// a request state is not used up by the kit alone.
func (c *Call) IdempotencyKey() string { return c.run.idempotencyKey }

// Content adds blocks that are shown with the result, before its structured
// value. They are dropped if the run ends in a question or an error.
func (c *Call) Content(blocks ...mcp.Content) {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	if c.run.over {
		return
	}
	c.run.content = append(c.run.content, blocks...)
}

// Progress tells the client how far the call is, if it asked to know. Total is
// zero if it is not known; message may be empty. What is not more than was
// reported before is left out, as the protocol wants it. Errors of the connection
// are not reported: they show at the end of the call.
//
// While a legacy question or a page is open the kit reports by itself, every 15
// seconds, since clients give up on a call that is silent: by so little that it
// does not show.
func (c *Call) Progress(ctx context.Context, done, total float64, message string) {
	c.run.progress.report(ctx, done, total, message)
}
