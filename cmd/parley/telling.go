package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve/metrics"
	"github.com/parley-mcp/parley/serve/tracing"
	"github.com/parley-mcp/parley/webhook"
)

// tellingFlags say whom a host tells what it does, beside its people: the operator's
// collectors, and programs that send mail. The zero value tells nobody.
type tellingFlags struct {
	metricsAddr, webhooks string
	auditDays             int // 0: for ever
}

// defaultAuditDays is the inbox's own default.
const defaultAuditDays = 365

func (f *tellingFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&f.metricsAddr, "metrics-addr", "", "`HOST:PORT` where Prometheus gets /metrics, without sign-in; :PORT is of this machine only (default: nowhere)")
	fs.StringVar(&f.webhooks, "webhooks", "", "`FILE` of the endpoints that are told of questions and approvals (parley help webhook)")
	fs.IntVar(&f.auditDays, "audit-retention", defaultAuditDays, "`DAYS` after which entries of the audit log are removed; 0 keeps them for ever")
}

func (f *tellingFlags) check() error {
	if f.auditDays < 0 || f.auditDays > maxRetention {
		return usageError("0 keeps them for ever", "--audit-retention has to be between 0 and %d days", maxRetention)
	}
	return nil
}

// auditRetention is that of the inbox, where negative is for ever.
func (f *tellingFlags) auditRetention() time.Duration {
	if f.auditDays == 0 {
		return -1
	}
	return time.Duration(f.auditDays) * 24 * time.Hour
}

// telling is what a host that runs has of them.
type telling struct {
	metrics   *metrics.Metrics // nil: nobody asks
	listener  net.Listener     // of the metrics
	tracer    *tracing.Tracer  // nil: no traces
	spans     *trace.TracerProvider
	endpoints []*webhook.Endpoint
	sender    *webhook.Sender // nil: there are none
	log       *slog.Logger
}

// open reads what the flags name and opens the listener, before anything else is.
func (f *tellingFlags) open(ctx context.Context, env *environment, servers *host.ServersFile, log *slog.Logger) (_ *telling, err error) {
	t := &telling{log: log}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	if f.webhooks != "" {
		if t.endpoints, err = webhook.ReadEndpoints(f.webhooks, env.lookup); err != nil {
			return nil, usageError("`parley help webhook` says what is in it", "--webhooks: %w", err)
		}
	}
	if f.metricsAddr != "" {
		addr := f.metricsAddr
		if strings.HasPrefix(addr, ":") {
			addr = "127.0.0.1" + addr
		}
		if t.listener, err = listen(ctx, "--metrics-addr", addr); err != nil {
			return nil, err
		}
		var ids []string
		for _, s := range servers.Servers {
			ids = append(ids, s.ID)
		}
		t.metrics = metrics.New(&metrics.Options{Servers: ids, Log: log})
	}
	if wantsTraces(env.lookup) {
		if err := t.openTraces(ctx); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// wantsTraces reports whether the environment says where traces go
// (OpenTelemetry, "Environment Variable Specification").
func wantsTraces(lookup func(string) (string, bool)) bool {
	get := func(name string) string {
		value, _ := lookup(name)
		return value
	}
	if strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") || get("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return get("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// openTraces makes the way out for spans. The library reads OTEL_EXPORTER_OTLP_*,
// OTEL_TRACES_SAMPLER and OTEL_RESOURCE_ATTRIBUTES by itself.
func (t *telling) openTraces(ctx context.Context) error {
	// What fails later is the operator's to know, in the log that withholds secrets.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { t.log.Warn("traces", "err", err) }))
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return usageError("look at the variables OTEL_EXPORTER_OTLP_...", "the traces: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "parley"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return usageError("look at the variable OTEL_RESOURCE_ATTRIBUTES", "the traces: %w", errors.Join(err, exporter.Shutdown(ctx)))
	}
	t.spans = trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))
	t.tracer = tracing.New(t.spans)
	return nil
}

// observe is for the inbox; nil if nobody listens.
func (t *telling) observe() func(*inbox.AuditEntry) {
	switch {
	case t.metrics != nil && t.tracer != nil:
		return func(e *inbox.AuditEntry) { t.metrics.Observe(e); t.tracer.Observe(e) }
	case t.metrics != nil:
		return t.metrics.Observe
	case t.tracer != nil:
		return t.tracer.Observe
	}
	return nil
}

// over begins with what needs the inbox. publicURL is in the links of messages.
func (t *telling) over(in *inbox.Inbox, store inbox.Store, publicURL string) error {
	if len(t.endpoints) > 0 {
		options := &webhook.Options{PublicURL: publicURL, Log: t.log}
		if t.metrics != nil {
			options.Observe = t.metrics.Sent
		}
		sender, err := webhook.New(in, store, t.endpoints, options)
		if err != nil {
			return usageError("", "--webhooks: %w", err)
		}
		t.sender = sender
	}
	if t.metrics != nil {
		t.metrics.Watch(in, t.sender)
	}
	return nil
}

// beside returns work with the telling beside it, which ends after it.
func (t *telling) beside(work func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		telling, stop := context.WithCancel(context.WithoutCancel(ctx))
		var all sync.WaitGroup
		defer all.Wait()
		defer stop()
		if t.sender != nil {
			all.Go(func() {
				if err := t.sender.Run(telling); err != nil {
					t.log.Error("webhooks ended", "err", err)
				}
			})
		}
		if t.metrics != nil {
			mux := http.NewServeMux()
			mux.Handle("GET /metrics", t.metrics.Handler())
			srv := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10}
			all.Go(func() {
				if err := srv.Serve(t.listener); !errors.Is(err, http.ErrServerClosed) {
					t.log.Error("metrics ended", "err", err)
				}
			})
			defer func() {
				if err := srv.Close(); err != nil {
					t.log.Warn("metrics", "err", err)
				}
			}()
		}
		return work(ctx)
	}
}

// close ends what open began, and sends the spans that are left.
func (t *telling) close() {
	if t.listener != nil {
		_ = t.listener.Close() // closed already where it was served
	}
	if t.spans != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := t.spans.Shutdown(ctx); err != nil {
			t.log.Warn("traces that were not sent", "err", err)
		}
	}
}

// said is what a start says of them.
func (t *telling) said() string {
	if t.listener == nil {
		return ""
	}
	return fmt.Sprintf("Metrics: http://%s/metrics\n", t.listener.Addr())
}
