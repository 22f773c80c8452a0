package serve_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/serve/client"
	"github.com/parley-mcp/parley/serve/metrics"
	"github.com/parley-mcp/parley/serve/tracing"
	"github.com/parley-mcp/parley/store/memstore"
)

// What the servers file authorizes with reaches its server and comes out nowhere else:
// in no log, answer of the API, metric, trace or audit row, whether it is taken or not.
func TestHeaderOfTheFileIsSaidNowhere(t *testing.T) {
	t.Parallel()
	const secret = "sentinel-3f0c"
	got := make(chan string, 100)
	script := func(take bool) *hosttest.Script {
		return &hosttest.Script{
			Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("ok") }},
			Intercept: func(w http.ResponseWriter, r *http.Request, _ string) bool {
				got <- r.Header.Get("Authorization")
				if !take {
					w.Header().Set("WWW-Authenticate", r.Header.Get("Authorization"))
					http.Error(w, r.Header.Get("Authorization"), http.StatusUnauthorized)
				}
				return !take
			},
		}
	}
	header := map[string]host.Secret{"Authorization": host.NewSecret("Bearer " + secret)}
	servers := []*host.Server{
		{ID: "taken", URL: hosttest.NewServer(t, script(true)).URL, Headers: header},
		{ID: "refused", URL: hosttest.NewServer(t, script(false)).URL, Headers: header},
	}
	var said lockedBuffer
	spans := tracetest.NewInMemoryExporter()
	tracer, m := tracing.New(sdk.NewTracerProvider(sdk.WithSyncer(spans))), metrics.New(nil)
	log := slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	in := inbox.New(memstore.New(nil), inbox.NewKeys(), &inbox.Options{Observe: func(e *inbox.AuditEntry) { m.Observe(e); tracer.Observe(e) }})
	h, err := host.New(in, servers, &host.Options{Log: log, Tracer: tracer})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ann := inbox.Principal{Issuer: "test", Subject: "ann"}
	site := httptest.NewServer(serve.New(h, in, &serve.Options{
		Log: log, Identify: func(*http.Request) (*serve.Session, error) { return &serve.Session{Principal: ann}, nil },
	}).Handler())
	defer site.Close()
	c := client.New(site.URL, nil)
	say := func(v any, err error) {
		text, _ := json.Marshal(v)
		said.Write(append(text, '\n'))
		if err != nil {
			said.Write([]byte(err.Error()))
		}
	}
	for _, s := range servers {
		list, err := c.Tools(t.Context(), s.ID)
		say(list, err)
		call, err := h.Start(t.Context(), ann, host.NewCall{Conversation: "v_1", Server: s.ID, Name: "tool"})
		if say(call, err); err == nil {
			stop, err := h.Step(t.Context(), ann, call.ID)
			say(stop, err)
		}
	}
	rows, err := c.Servers(t.Context())
	say(rows, err)
	for _, row := range rows {
		if row.ID == "refused" && (row.Status != "sign_in" || !strings.Contains(row.Error, "servers file")) {
			t.Errorf("%+v", row)
		}
	}
	say(in.AuditAll(t.Context(), 0, 500))
	say(spans.GetSpans(), nil)
	page := httptest.NewRecorder()
	m.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	said.Write(page.Body.Bytes())
	if first := <-got; first != "Bearer "+secret {
		t.Errorf("the server was sent %q", first)
	}
	if text := said.String(); strings.Contains(text, secret) || !strings.Contains(text, "taken") {
		i := max(strings.Index(text, secret)-200, 0)
		t.Errorf("it was said: …%.400s…", text[i:])
	}
}
