package metrics

import (
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/webhook"
)

// other stands for what is in no list.
const other = "other"

// Options of [New]; zero fields are the defaults.
type Options struct {
	Servers []string     // ids that may be labels: those of the servers file
	Log     *slog.Logger // default: nowhere
}

// Metrics counts. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	servers  []string
	log      *slog.Logger

	composed, ended, blocked, uncertain *prometheus.CounterVec
	deliveries, asked, shown, closed    *prometheus.CounterVec
	refused, limits, wanted, decided    *prometheus.CounterVec
	credentials, renewed, revoked, sent *prometheus.CounterVec
	waited                              *prometheus.HistogramVec
	failures                            prometheus.Counter
}

// waits are the buckets of the time to answer, in seconds: from a person who sits there
// to one who comes back after a week.
var waits = []float64{5, 15, 60, 5 * 60, 15 * 60, 3600, 4 * 3600, 24 * 3600, 3 * 24 * 3600, 7 * 24 * 3600}

// New returns metrics that have counted nothing.
func New(options *Options) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	if options != nil {
		m.servers, m.log = slices.Clone(options.Servers), options.Log
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "parley", Name: name, Help: help}, labels)
		m.registry.MustRegister(c)
		return c
	}
	m.composed = counter("calls_composed_total", "Calls that were composed, by who did.", "server", "actor")
	m.ended = counter("calls_ended_total", "Calls that ended, and how.", "server", "era", "state", "reason")
	m.blocked = counter("calls_blocked_total", "Calls that something had to be done for before they could go on.", "server", "reason")
	m.uncertain = counter("calls_uncertain_total", "Calls that were sent, without a reply, so that nobody knows what happened.", "server", "era", "reason")
	m.deliveries = counter("deliveries_total", "Rounds, and answers of held calls, that were marked to leave.", "server")
	m.asked = counter("questions_asked_total", "Questions that servers asked.", "server", "mode")
	m.shown = counter("questions_shown_total", "Questions that a surface has shown.", "mode")
	m.closed = counter("questions_closed_total", "Questions that were answered or ended, and how.", "server", "mode", "state")
	m.refused = counter("answers_refused_total", "Answers that did not fit their form.", "server")
	m.limits = counter("limits_hit_total", "Times that a limit stopped a call, a question, or (without a server) a request to this host.", "server", "reason")
	m.wanted = counter("approvals_asked_total", "Approvals that the policy asked for.", "server")
	m.decided = counter("approvals_closed_total", "Approvals that were decided or ended, and how.", "server", "state")
	m.credentials = counter("credentials_read_total", "Uses of a credential of a person.", "server")
	m.renewed = counter("credentials_renewed_total", "Requests to renew a person's token, and what came of them.", "server", "outcome")
	m.revoked = counter("credentials_revoked_total", "Requests to revoke a person's token, and what came of them.", "server", "outcome")
	m.sent = counter("webhooks_sent_total", "Messages that were sent, and what came of it.", "endpoint", "outcome")
	m.waited = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "parley", Name: "question_wait_seconds", Help: "Time from the asking of a question to its answer.", Buckets: waits,
	}, []string{"mode"})
	m.failures = prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: "parley", Name: "store_errors_total", Help: "Times that the store did not give the figures of a page of metrics.",
	})
	m.registry.MustRegister(m.waited, m.failures, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Watch lets pages say how much is open in the inbox, and how the endpoints of webhooks
// do; hooks may be nil. Call it once, before the first page.
func (m *Metrics) Watch(in *inbox.Inbox, hooks *webhook.Sender) {
	m.registry.MustRegister(newStock(m, in, hooks))
}

// Handler answers with the page for Prometheus. It asks nobody who they are: listen
// where only the collector gets.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4, Timeout: 10 * time.Second,
	})
}

func (m *Metrics) server(id string) string {
	if slices.Contains(m.servers, id) {
		return id
	}
	return other
}

// Limited counts a request that was answered 429; it is for serve.Options.
func (m *Metrics) Limited(reason string) {
	m.limits.WithLabelValues("", one(requestLimits, reason)).Inc()
}

// Sent counts a message of a webhook; it is for [webhook.Options]. Endpoints are
// the operator's own names.
func (m *Metrics) Sent(endpoint string, outcome webhook.Outcome) {
	m.sent.WithLabelValues(endpoint, string(outcome)).Inc()
}

// Observe counts an entry of the audit log; it is for [inbox.Options].
func (m *Metrics) Observe(e *inbox.AuditEntry) {
	server, mode, why := m.server(e.Server), one(modes, string(e.Mode)), reason(e.Reason)
	switch e.Kind {
	case inbox.AuditComposed:
		m.composed.WithLabelValues(server, one(actors, string(e.Actor))).Inc()
	case inbox.AuditAsked:
		m.asked.WithLabelValues(server, mode).Inc()
	case inbox.AuditShown:
		if e.Question != "" {
			m.shown.WithLabelValues(mode).Inc()
		}
	case inbox.AuditAnswered:
		m.closed.WithLabelValues(server, mode, one(questionStates, e.State)).Inc()
		m.waited.WithLabelValues(mode).Observe(float64(max(e.Waited, 0)) / 1000)
	case inbox.AuditClosed:
		m.closed.WithLabelValues(server, mode, one(questionStates, e.State)).Inc()
	case inbox.AuditChecked:
		m.refused.WithLabelValues(server).Inc()
	case inbox.AuditDelivered:
		m.deliveries.WithLabelValues(server).Inc()
	case inbox.AuditBlocked:
		m.blocked.WithLabelValues(server, why).Inc()
	case inbox.AuditUncertain:
		m.uncertain.WithLabelValues(server, era(e.Era), why).Inc()
	case inbox.AuditFinished, inbox.AuditDenied, inbox.AuditStopped:
		if !inbox.CallState(e.State).Ended() {
			return // the wish to stop what is on the wire
		}
		m.ended.WithLabelValues(server, era(e.Era), one(callStates, e.State), why).Inc()
		// Questions that were too many have entries of their own.
		if e.Reason != inbox.ReasonTooManyQuestions && slices.Contains(limits, e.Reason) {
			m.limits.WithLabelValues(server, e.Reason).Inc()
		}
	case inbox.AuditRefused:
		if e.Reason == inbox.ReasonRefused {
			return // by the policy, which is no limit
		}
		m.limits.WithLabelValues(server, one(limits, e.Reason)).Inc()
	case inbox.AuditApprovalAsked:
		m.wanted.WithLabelValues(server).Inc()
	case inbox.AuditApprovalDecided, inbox.AuditApprovalClosed:
		m.decided.WithLabelValues(server, one(approvalStates, e.State)).Inc()
	case inbox.AuditCredentialRead:
		m.credentials.WithLabelValues(server).Inc()
	}
}
