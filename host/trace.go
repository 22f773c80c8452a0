package host

import (
	"context"

	"github.com/parley-mcp/parley/inbox"
)

// A Tracer makes spans of what a host does. Package serve/tracing has one for
// OpenTelemetry; a program with another kind of traces brings its own. Its
// methods are called often, from any goroutine, and must not block.
type Tracer interface {
	// Start begins a span. Its parent is, for SpanCompose, whatever ctx has, and
	// for the others the trace of the call, which another machine may have begun.
	Start(ctx context.Context, s SpanStart) Span
}

// A Span is a piece of work that goes on.
type Span interface {
	// Trace is what carries the span over the wire and into the store; zero: nothing.
	Trace() inbox.Trace
	// End ends the span. state is the call's; reason is a stable code, or empty.
	End(state inbox.CallState, reason string)
}

// SpanKind says what a span is of.
type SpanKind string

const (
	SpanCompose SpanKind = "compose" // a call, until it is stored
	SpanSend    SpanKind = "send"    // the first round, until it is recorded what the server said
	SpanResume  SpanKind = "resume"  // a later round
)

// SpanStart says what a span is of. It has no content: no argument, no answer, no
// address, and no person.
type SpanStart struct {
	Kind   SpanKind
	Trace  inbox.Trace // of the call
	Call   inbox.CallID
	Server string // id
	Method string
	Tool   string // that the server lists; empty for what is no tool: the URI of a resource may hold anything
	Era    inbox.Era
	Round  int
}

// Keys of a trace in `_meta`, without a prefix (MCP 2026-07-28 basic, "_meta",
// "OpenTelemetry trace context"). Baggage is not sent: it is what a product says of
// its people to itself.
const (
	metaTraceParent = "traceparent"
	metaTraceState  = "tracestate"
)

// span begins a span; without a tracer it is one that does nothing.
func (h *Host) span(ctx context.Context, s SpanStart) Span {
	if h.options.Tracer == nil {
		return noSpan{}
	}
	if s.Method != "tools/call" {
		s.Tool = ""
	}
	return h.options.Tracer.Start(ctx, s)
}

type noSpan struct{}

func (noSpan) Trace() inbox.Trace          { return inbox.Trace{} }
func (noSpan) End(inbox.CallState, string) {}

// sendSpan begins the span of a send. Its end says where the send has left the call.
func (c *carriage) sendSpan(conn *connection) (Span, func()) {
	kind := SpanSend
	if c.paused() {
		kind = SpanResume
	}
	span := c.host.span(c.ctx, SpanStart{
		Kind: kind, Trace: c.call.Trace, Call: c.call.ID, Server: c.call.Server,
		Method: c.call.Method, Tool: c.call.Name, Era: conn.era, Round: c.call.Round,
	})
	if _, none := span.(noSpan); none {
		return span, func() {}
	}
	return span, func() {
		// The record says how it ended, whoever wrote it. A store that fails is no
		// reason to keep the span open.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), storePause)
		defer cancel()
		call, err := c.host.inbox.Call(ctx, c.claim.Principal, c.claim.Call)
		if err != nil {
			span.End("", "")
			return
		}
		span.End(call.State, call.Reason)
	}
}
