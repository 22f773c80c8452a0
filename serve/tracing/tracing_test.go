package tracing_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/serve/tracing"
	"github.com/parley-mcp/parley/store/memstore"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

var ada = inbox.Principal{Issuer: "test", Subject: "ada-9f31"}

const (
	askRoom  = `{"message":"Which room, 55aa-sentinel?","requestedSchema":{"type":"object","properties":{"room":{"type":"string"}}}}`
	secret   = "7c1f-sentinel"
	patience = 30 * time.Second
)

// A machine is an inbox and a host of its own, on the store of all.
type machine struct {
	in    *inbox.Inbox
	host  *host.Host
	spans *tracetest.InMemoryExporter
}

func newMachine(t *testing.T, store inbox.Store, keys *inbox.Keys, server *host.Server) *machine {
	t.Helper()
	m := &machine{spans: tracetest.NewInMemoryExporter()}
	tracer := tracing.New(sdk.NewTracerProvider(sdk.WithSyncer(m.spans)))
	m.in = inbox.New(store, keys, &inbox.Options{Poll: 20 * time.Millisecond, Observe: tracer.Observe})
	var err error
	if m.host, err = host.New(m.in, []*host.Server{server}, &host.Options{Tracer: tracer, Poll: 20 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.host.Close() })
	return m
}

func (m *machine) step(t *testing.T, id inbox.CallID) *host.Stop {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stop, err := m.host.Step(ctx, ada, id)
	if err != nil {
		t.Fatal(err)
	}
	return stop
}

func find(t *testing.T, spans tracetest.SpanStubs, name string) tracetest.SpanStub {
	t.Helper()
	var found []tracetest.SpanStub
	var names []string
	for _, s := range spans {
		if names = append(names, s.Name); s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans are named %s, want 1 of %v", len(found), name, names)
	}
	return found[0]
}

// meta is `_meta` of what a server got.
func meta(t *testing.T, c hosttest.Call) map[string]any {
	t.Helper()
	var p struct {
		Meta map[string]any `json:"_meta"`
	}
	if err := json.Unmarshal(c.Params, &p); err != nil {
		t.Fatal(err)
	}
	return p.Meta
}

// One call asks, is answered on a second machine and goes on there. All of it is one
// trace, the server gets the span of each send, and nothing private is in any span.
func TestOneTraceOverMachines(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			wire := hosttest.NewServer(t, &hosttest.Script{Revision: revision, Tools: map[string]hosttest.Tool{
				"book": func(x *hosttest.Exchange) {
					if revision == "2025-11-25" {
						x.Elicit(askRoom)
					} else if x.Responses == nil {
						x.Asks(`{"room":{"method":"elicitation/create","params":`+askRoom+`}}`, "state-"+secret)
						return
					}
					x.Text("booked " + secret)
				},
			}})
			server := &host.Server{ID: "hotel", URL: wire.URL + "?token=" + secret}
			mem, keys := memstore.New(nil), inbox.NewKeys()
			one := newMachine(t, mem, keys, server)
			two := newMachine(t, mem.Reopen(nil), keys, server)

			// A product's own span is the parent of all.
			product := sdk.NewTracerProvider()
			ctx, above := product.Tracer("product").Start(t.Context(), "chat")
			call, err := one.host.Start(ctx, ada, host.NewCall{Server: "hotel", Name: "book", Arguments: json.RawMessage(`{"guest":"` + secret + `"}`)})
			above.End()
			if err != nil {
				t.Fatal(err)
			}
			stop := one.step(t, call.ID)
			if stop.Why != host.Asked && stop.Why != host.Held {
				t.Fatalf("stopped at %q", stop.Why)
			}
			questions, err := two.in.Questions(t.Context(), ada, inbox.QuestionFilter{Call: call.ID})
			if err != nil || len(questions) != 1 {
				t.Fatalf("%d questions, %v", len(questions), err)
			}
			if _, err := two.in.Answer(t.Context(), ada, questions[0].ID, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"room":"` + secret + `"}`)}); err != nil {
				t.Fatal(err)
			}
			goesOn := two
			if revision == "2025-11-25" { // the connection is the first machine's
				goesOn = one
			}
			for stop = goesOn.step(t, call.ID); !stop.Done; stop = goesOn.step(t, call.ID) {
				if _, err := goesOn.in.Wait(t.Context(), ada, call.ID, stop.Call.Version); err != nil {
					t.Fatal(err)
				}
			}
			if stop.Call.State != inbox.Done {
				t.Fatalf("the call is %s (%s)", stop.Call.State, stop.Call.Detail)
			}
			one.host.Close()
			two.host.Close()

			first, second := one.spans.GetSpans(), two.spans.GetSpans()
			spans := slices.Concat(first, second)
			compose := find(t, spans, "parley.compose")
			if compose.Parent.SpanID() != above.SpanContext().SpanID() || compose.SpanContext.TraceID() != above.SpanContext().TraceID() {
				t.Error("composing is not below the span of who composed")
			}
			for _, s := range spans {
				if s.SpanContext.TraceID() != compose.SpanContext.TraceID() {
					t.Errorf("%s is of another trace", s.Name)
				}
				if s.Name != "parley.compose" && s.Parent.SpanID() != compose.SpanContext.SpanID() {
					t.Errorf("%s is not below the composing", s.Name)
				}
			}
			find(t, first, "parley.asked")
			answer := find(t, second, "parley.answer")
			if answer.EndTime.Before(answer.StartTime) || answer.StartTime.Before(compose.StartTime.Add(-time.Second)) {
				t.Errorf("the answer took from %v to %v", answer.StartTime, answer.EndTime)
			}
			finished := find(t, goesOn.spans.GetSpans(), "parley.finished")
			if finished.Status.Code != codes.Unset {
				t.Errorf("a call that is done has the status %v", finished.Status)
			}

			calls := wire.Calls()
			sends := []tracetest.SpanStub{find(t, first, "parley.send")}
			if revision == "2026-07-28" {
				sends = append(sends, find(t, second, "parley.resume"))
			}
			if len(calls) != len(sends) {
				t.Fatalf("%d requests reached the server, want %d", len(calls), len(sends))
			}
			for i, s := range sends {
				want := "00-" + s.SpanContext.TraceID().String() + "-" + s.SpanContext.SpanID().String() + "-01"
				if got := meta(t, calls[i])["traceparent"]; got != want {
					t.Errorf("send %d carried %v, want its own span %s", i, got, want)
				}
				if s.SpanKind != trace.SpanKindClient {
					t.Errorf("send %d is of the kind %v", i, s.SpanKind)
				}
			}
			var text bytes.Buffer
			for _, s := range spans {
				for _, a := range s.Attributes {
					text.WriteString(string(a.Key) + "=" + a.Value.String() + "\n")
				}
				text.WriteString(s.Name + s.Status.Description)
			}
			for _, private := range []string{secret, "ada-9f31", "55aa-sentinel", wire.URL} {
				if strings.Contains(text.String(), private) {
					t.Errorf("a span has %q", private)
				}
			}
		})
	}
}

// A resource is named by an address, which may hold anything.
func TestNoAddressOfAResource(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	tracer := tracing.New(sdk.NewTracerProvider(sdk.WithSyncer(spans)))
	mem := memstore.New(nil)
	in := inbox.New(mem, inbox.NewKeys(), &inbox.Options{Observe: tracer.Observe})
	wire := hosttest.NewServer(t, &hosttest.Script{Tools: map[string]hosttest.Tool{}})
	h, err := host.New(in, []*host.Server{{ID: "files", URL: wire.URL}}, &host.Options{Tracer: tracer})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	call, err := h.Start(t.Context(), ada, host.NewCall{Server: "files", Method: "resources/read", Name: "file:///" + secret})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Step(t.Context(), ada, call.ID); err != nil {
		t.Fatal(err)
	}
	h.Close()
	if len(spans.GetSpans()) < 2 {
		t.Fatalf("%d spans", len(spans.GetSpans()))
	}
	for _, s := range spans.GetSpans() {
		for _, a := range s.Attributes {
			if strings.Contains(a.Value.String(), secret) {
				t.Errorf("%s: %s is %s", s.Name, a.Key, a.Value.String())
			}
		}
	}
}

// What a store holds is not trusted to be a trace.
func TestBrokenTrace(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	tracer := tracing.New(sdk.NewTracerProvider(sdk.WithSyncer(spans)))
	for _, parent := range []string{"", "x", "00-0-0-0", "00-00000000000000000000000000000000-0000000000000000-01"} {
		tracer.Observe(&inbox.AuditEntry{Kind: inbox.AuditAsked, At: time.Now(), Trace: inbox.Trace{Parent: parent}})
		tracer.Start(t.Context(), host.SpanStart{Kind: host.SpanSend, Trace: inbox.Trace{Parent: parent, State: "=,=\x00"}}).End(inbox.Uncertain, "no_reply")
	}
	for _, s := range spans.GetSpans() {
		if s.Name != "parley.send" || s.Parent.IsValid() || s.Status.Code != codes.Error {
			t.Errorf("%s, with a parent %v, %v", s.Name, s.Parent.IsValid(), s.Status)
		}
	}
	if len(spans.GetSpans()) != 4 {
		t.Errorf("%d spans, want one of each send", len(spans.GetSpans()))
	}
}
