package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
)

// scope names this package as what makes the spans.
const scope = "github.com/parley-mcp/parley/serve/tracing"

// Tracer makes spans. It is a [host.Tracer], its Observe is for [inbox.Options], and it
// is safe for concurrent use.
type Tracer struct {
	tracer trace.Tracer
	w3c    propagation.TraceContext
}

var _ host.Tracer = (*Tracer)(nil)

// New returns a tracer whose spans go to provider.
func New(provider trace.TracerProvider) *Tracer {
	return &Tracer{tracer: provider.Tracer(scope)}
}

// Start implements [host.Tracer].
func (t *Tracer) Start(ctx context.Context, s host.SpanStart) host.Span {
	kind := trace.SpanKindClient // a request to a server
	if s.Kind == host.SpanCompose {
		kind = trace.SpanKindInternal
	} else {
		ctx = t.within(ctx, s.Trace)
	}
	attributes := []attribute.KeyValue{
		attribute.String("parley.server", s.Server),
		attribute.String("mcp.method.name", s.Method), // OpenTelemetry semantic conventions for MCP
	}
	if s.Call != "" {
		attributes = append(attributes, attribute.String("parley.call", string(s.Call)))
	}
	if s.Tool != "" {
		attributes = append(attributes, attribute.String("gen_ai.tool.name", s.Tool))
	}
	if s.Era != "" {
		attributes = append(attributes, attribute.String("parley.era", string(s.Era)))
	}
	if s.Kind != host.SpanCompose {
		attributes = append(attributes, attribute.Int("parley.round", s.Round))
	}
	ctx, span := t.tracer.Start(ctx, "parley."+string(s.Kind), trace.WithSpanKind(kind), trace.WithAttributes(attributes...)) //nolint:spancheck // who began it ends it
	carrier := propagation.MapCarrier{}
	t.w3c.Inject(ctx, carrier)
	return &working{span: span, trace: inbox.Trace{Parent: carrier["traceparent"], State: carrier["tracestate"]}} //nolint:spancheck // as above
}

// within makes the stored trace the parent. One that is broken is none.
func (t *Tracer) within(ctx context.Context, of inbox.Trace) context.Context {
	carrier := propagation.MapCarrier{"traceparent": of.Parent}
	if of.State != "" {
		carrier["tracestate"] = of.State
	}
	return t.w3c.Extract(ctx, carrier)
}

// A working span is one that the host ends.
type working struct {
	span  trace.Span
	trace inbox.Trace
}

func (w *working) Trace() inbox.Trace { return w.trace }

func (w *working) End(state inbox.CallState, reason string) {
	settle(w.span, string(state), reason)
	w.span.End()
}

// settle says how a span ended, in stable codes.
func settle(span trace.Span, state, reason string) {
	if state != "" {
		span.SetAttributes(attribute.String("parley.state", state))
	}
	if reason != "" {
		span.SetAttributes(attribute.String("parley.reason", reason))
	}
	switch inbox.CallState(state) {
	case inbox.Failed, inbox.Uncertain, inbox.Interrupted, inbox.Lapsed:
		span.SetAttributes(attribute.String("error.type", reason))
		span.SetStatus(codes.Error, reason)
	}
}

// names are the spans of entries. What a call's sends tell is not told again.
var names = map[inbox.AuditKind]string{
	inbox.AuditAsked:           "parley.asked",
	inbox.AuditAnswered:        "parley.answer",
	inbox.AuditApprovalAsked:   "parley.approval_asked",
	inbox.AuditApprovalDecided: "parley.approval_decided",
	inbox.AuditBlocked:         "parley.blocked",
	inbox.AuditUncertain:       "parley.uncertain",
	inbox.AuditFinished:        "parley.finished",
	inbox.AuditDenied:          "parley.denied",
	inbox.AuditStopped:         "parley.stopped",
}

// Observe is for [inbox.Options]: it makes a span of what happened to a call that is
// part of a trace.
func (t *Tracer) Observe(e *inbox.AuditEntry) {
	name, ok := names[e.Kind]
	if !ok || e.Trace.Parent == "" {
		return
	}
	ctx := t.within(context.Background(), e.Trace)
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return // a broken trace would begin one of its own with each entry
	}
	attributes := []attribute.KeyValue{
		attribute.String("parley.call", string(e.Call)),
		attribute.String("parley.server", e.Server),
	}
	if e.Question != "" {
		attributes = append(attributes, attribute.String("parley.question", string(e.Question)), attribute.String("parley.mode", string(e.Mode)))
	}
	if e.Approval != "" {
		attributes = append(attributes, attribute.String("parley.approval", string(e.Approval)))
	}
	began := e.At
	if e.Kind == inbox.AuditAnswered {
		began = began.Add(-time.Duration(e.Waited) * time.Millisecond)
	}
	_, span := t.tracer.Start(ctx, name, trace.WithTimestamp(began), trace.WithAttributes(attributes...))
	settle(span, e.State, e.Reason)
	span.End(trace.WithTimestamp(e.At))
}
