package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// Bounds of the work for one endpoint.
const (
	lease      = 30 * time.Second // which machine sends
	batch      = 200              // entries of the log that are read at once
	mostWaits  = 1000             // messages that wait; the log keeps the rest
	mostDead   = 1000             // dead letters; the oldest go first
	together   = 4                // requests at once
	mostAnswer = 4 << 10          // bytes that are read of an answer
)

// DefaultTimeout is how long one request may take.
const DefaultTimeout = 15 * time.Second

// backoff is the wait after each try.
var backoff = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// An AuditLog is where a sender learns what happened: *[inbox.Inbox].
type AuditLog interface {
	AuditAll(ctx context.Context, after int64, limit int) ([]*inbox.AuditEntry, error)
}

// Options of a [Sender]; zero fields are the defaults.
type Options struct {
	PublicURL string        // address of the host's page, for links to questions
	Timeout   time.Duration // of one request
	Poll      time.Duration // how often the log is looked at; default 2 s
	Machine   string        // name of this process in leases; default random
	Client    *http.Client  // default: one that follows no redirects
	Log       *slog.Logger  // default: nowhere

	now func() time.Time
}

// A Sender sends messages. Any number of machines may run one on a store.
type Sender struct {
	log       AuditLog
	store     inbox.Store
	endpoints []*Endpoint
	publicURL string
	timeout   time.Duration
	poll      time.Duration
	machine   string
	client    *http.Client
	slog      *slog.Logger
	now       func() time.Time
}

// New returns a sender for the endpoints, whose positions it keeps in store.
func New(log AuditLog, store inbox.Store, endpoints []*Endpoint, options *Options) (*Sender, error) {
	o := Options{}
	if options != nil {
		o = *options
	}
	s := &Sender{
		log: log, store: store, endpoints: endpoints, publicURL: o.PublicURL,
		timeout: o.Timeout, poll: o.Poll, machine: o.Machine, slog: o.Log, now: o.now,
	}
	for _, e := range endpoints {
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("webhook: endpoint %q: %w", e.ID, err)
		}
	}
	if s.timeout <= 0 {
		s.timeout = DefaultTimeout
	}
	if s.poll <= 0 {
		s.poll = 2 * time.Second
	}
	if s.machine == "" {
		s.machine = randomName()
	}
	if s.slog == nil {
		s.slog = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	client := http.Client{}
	if o.Client != nil {
		client = *o.Client
	}
	// A receiver that moved has to be told to the operator, not followed.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.client = &client
	return s, nil
}

// Run sends until ctx ends.
func (s *Sender) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, e := range s.endpoints {
		all.Go(func() { s.run(ctx, e) })
	}
	all.Wait()
	return nil
}

func (s *Sender) run(ctx context.Context, e *Endpoint) {
	for {
		gone, err := s.round(ctx, e)
		if err != nil && ctx.Err() == nil {
			s.slog.WarnContext(ctx, "webhook: the store failed", "endpoint", e.ID, "err", err)
		}
		if gone {
			s.slog.ErrorContext(ctx, "webhook: the endpoint answers 410 and gets nothing more", "endpoint", e.ID)
			return
		}
		timer := time.NewTimer(s.poll)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// round reads what happened and sends what is due, if this machine has the lease or
// gets it. It reports whether the endpoint wants no more.
func (s *Sender) round(ctx context.Context, e *Endpoint) (gone bool, err error) {
	st, mine, err := s.take(ctx, e)
	if err != nil || !mine {
		return false, err
	}
	if err := s.read(ctx, e, st); err != nil {
		return false, err
	}
	if err := s.save(ctx, e, st); err != nil {
		return false, err
	}
	due := st.due(s.now())
	for len(due) > 0 && ctx.Err() == nil {
		some := due[:min(together, len(due))]
		due = due[len(some):]
		answers := make([]answer, len(some))
		var sent sync.WaitGroup
		for i, w := range some {
			sent.Go(func() { answers[i] = s.send(ctx, e, w.Entry) })
		}
		sent.Wait()
		if ctx.Err() != nil {
			break // what was cut off is tried again by whoever is next
		}
		for i, w := range some {
			gone = gone || answers[i].status == http.StatusGone
			st.settle(w, answers[i], s.now())
			if !answers[i].ok() {
				s.slog.WarnContext(ctx, "webhook: not delivered", "endpoint", e.ID, "entry", w.Entry, "tries", w.Tries+1, "why", answers[i].why)
			}
		}
		if err := s.save(ctx, e, st); err != nil {
			return gone, err
		}
		if gone {
			return true, nil
		}
	}
	return gone, nil
}

// read moves entries of the log among the messages that wait.
func (s *Sender) read(ctx context.Context, e *Endpoint, st *state) error {
	for len(st.Waits) < mostWaits {
		entries, err := s.log.AuditAll(ctx, st.Cursor, min(batch, mostWaits-len(st.Waits)))
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if t, ok := typeOf(entry); ok && !entry.At.Before(st.Since) && e.wants(t, entry.Principal) {
				st.Waits = append(st.Waits, waiting{Entry: entry.ID, Next: s.now()})
			}
			st.Cursor = entry.ID
		}
		if len(entries) == 0 {
			return nil
		}
	}
	return nil
}

// An answer is what became of one request.
type answer struct {
	status int // 0: none came
	after  time.Duration
	why    string // no secret, no address
	drop   bool   // what it was about is not there any more
}

func (a *answer) ok() bool { return a.drop || a.status >= 200 && a.status < 300 }

// send sends the message of one entry.
func (s *Sender) send(ctx context.Context, e *Endpoint, id int64) answer {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	entries, err := s.log.AuditAll(ctx, id-1, 1)
	if err != nil {
		return answer{why: "the log cannot be read"}
	}
	if len(entries) == 0 || entries[0].ID != id {
		return answer{drop: true}
	}
	t, ok := typeOf(entries[0])
	if !ok {
		return answer{drop: true} // the person was erased
	}
	body, err := s.body(t, entries[0])
	if err != nil {
		return answer{why: "the message cannot be written"}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return answer{why: "its address cannot be used"}
	}
	// The same id for each try, so that a receiver can drop what comes twice.
	message, timestamp := "msg_"+e.ID+"_"+strconv.FormatInt(id, 10), strconv.FormatInt(s.now().Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Parley-Webhook/1")
	r.Header.Set(headerID, message)
	r.Header.Set(headerTimestamp, timestamp)
	r.Header.Set(headerSignature, sign(e.key, message, timestamp, body))
	resp, err := s.client.Do(r)
	if err != nil {
		// The error's own text holds the address.
		if errors.Is(err, context.DeadlineExceeded) {
			return answer{why: "no answer in time"}
		}
		return answer{why: "no connection"}
	}
	defer resp.Body.Close()
	// What it says is nobody's business; it is read so that the connection can be used again.
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, mostAnswer)); err != nil {
		s.slog.DebugContext(ctx, "webhook: reading an answer", "endpoint", e.ID)
	}
	return answer{status: resp.StatusCode, why: "it answered " + strconv.Itoa(resp.StatusCode), after: retryAfter(resp.Header.Get("Retry-After"))}
}

// retryAfter reads the header in seconds (RFC 9110 10.2.3), a day at most.
func retryAfter(text string) time.Duration {
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, 24*60*60)) * time.Second
}
