// Package tracing makes OpenTelemetry spans of what a host does with calls, so that a
// call can be followed from a product's back end through the host to the MCP server
// and back, over machines and over days.
//
//	product's span (if the context has one)
//	└── parley.compose               until the call is stored
//	    ├── parley.send     round 0  until it is recorded what the server said
//	    │   └── the server's own spans: it finds the parent in _meta
//	    ├── parley.asked             a moment: a question was parked or held
//	    ├── parley.answer            from the asking to the answer
//	    ├── parley.resume   round 1  maybe on another machine
//	    └── parley.finished          a moment: how the call ended
//
// The context of parley.compose is stored with the call ([inbox.NewCall].Trace), and each
// machine that goes on with it makes its spans below it. What is sent to a server is in
// `_meta` of the request, as traceparent and tracestate (MCP 2026-07-28 basic, "_meta",
// "OpenTelemetry trace context"); baggage is not sent.
//
// No span has content: no argument, no answer, no result, no address, no person. Ids of
// calls and questions are in it, as in the log.
//
// A host gets both halves:
//
//	t := tracing.New(provider)
//	in := inbox.New(store, keys, &inbox.Options{Observe: t.Observe})
//	h, err := host.New(in, servers, &host.Options{Tracer: t})
package tracing
