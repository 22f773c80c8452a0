package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/webhook"
)

const (
	stockAge  = 30 * time.Second // how old figures of the store may be
	stockTime = 5 * time.Second  // how long the store may take for them
)

// stock is what there is at the moment, as a collector.
type stock struct {
	metrics *Metrics
	inbox   *inbox.Inbox
	sender  *webhook.Sender // nil: there are no webhooks

	questions, calls, waits, dead *prometheus.Desc

	mu    sync.Mutex
	at    time.Time // of the last look that came to something
	tally *inbox.Tally
	hooks []webhook.Status
}

func newStock(m *Metrics, in *inbox.Inbox, sender *webhook.Sender) *stock {
	return &stock{
		metrics: m, inbox: in, sender: sender,
		questions: prometheus.NewDesc("parley_questions_open", "Questions of everybody that wait for a person.", nil, nil),
		calls:     prometheus.NewDesc("parley_calls", "Calls of everybody that have not ended; waiting means parked.", []string{"server", "state"}, nil),
		waits:     prometheus.NewDesc("parley_webhooks_waiting", "Messages that are not delivered yet.", []string{"endpoint"}, nil),
		dead:      prometheus.NewDesc("parley_webhooks_dead", "Messages that were given up.", []string{"endpoint"}, nil),
	}
}

// Describe implements [prometheus.Collector].
func (s *stock) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.questions, s.calls, s.waits, s.dead} {
		to <- d
	}
}

// Collect implements [prometheus.Collector]. A store that gives no figures leaves
// them out: old ones would hide that nobody knows.
func (s *stock) Collect(to chan<- prometheus.Metric) {
	tally, hooks, ok := s.look()
	if !ok {
		return
	}
	gauge := func(d *prometheus.Desc, n int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	gauge(s.questions, tally.Questions)
	for server, states := range tally.Calls {
		for state, n := range states {
			gauge(s.calls, n, server, string(state))
		}
	}
	for _, h := range hooks {
		gauge(s.waits, h.Waits, h.ID)
		gauge(s.dead, len(h.Dead), h.ID)
	}
}

// look asks the store, if it was not asked just now.
func (s *stock) look() (*inbox.Tally, []webhook.Status, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tally != nil && time.Since(s.at) < stockAge {
		return s.tally, s.hooks, true
	}
	s.tally = nil
	ctx, cancel := context.WithTimeout(context.Background(), stockTime)
	defer cancel()
	tally, err := s.inbox.Tally(ctx, s.metrics.servers)
	var hooks []webhook.Status
	if err == nil && s.sender != nil {
		hooks, err = s.sender.Status(ctx)
	}
	if err != nil {
		s.metrics.failures.Inc()
		s.metrics.log.Warn("metrics: the store gives no figures", "err", err)
		return nil, nil, false
	}
	s.tally, s.hooks, s.at = tally, hooks, time.Now()
	return tally, hooks, true
}
