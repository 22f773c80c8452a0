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
	lease      = 30 * time.Second // which machine sends, beyond the time of a request
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

// An Outcome is what came of sending a message once.
type Outcome string

const (
	Delivered Outcome = "delivered"
	Failed    Outcome = "failed" // it is tried again
	Dead      Outcome = "dead"   // it was given up
)

// An AuditLog is where a sender learns what happened, in which conversation, and who
// decides an approval: *[inbox.Inbox].
type AuditLog interface {
	AuditAll(ctx context.Context, after int64, limit int) ([]*inbox.AuditEntry, error)
	Approval(ctx context.Context, who inbox.Approver, id inbox.ApprovalID) (*inbox.Approval, error)
	Question(ctx context.Context, p inbox.Principal, id inbox.QuestionID) (*inbox.Question, error)
	Call(ctx context.Context, p inbox.Principal, id inbox.CallID) (*inbox.Call, error)
}

// Options of a [Sender]; zero fields are the defaults.
type Options struct {
	PublicURL string        // address of the host's page, for links to questions and approvals
	Timeout   time.Duration // of one request
	Poll      time.Duration // how often the log is looked at; default 2 s
	Machine   string        // name of this process in leases; default random
	Client    *http.Client  // default: one that follows no redirects
	Log       *slog.Logger  // default: nowhere

	// Observe, if set, is told what came of each message that this process sent, once
	// that is stored. It is for counting, and quick.
	Observe func(endpoint string, outcome Outcome)

	now func() time.Time
}

// A Sender sends messages. Any number of machines may run one on a store.
type Sender struct {
	log       AuditLog
	store     inbox.Store
	endpoints []*Endpoint
	publicURL string
	timeout   time.Duration
	lease     time.Duration // longer than any request: it is renewed between them
	poll      time.Duration
	machine   string
	client    *http.Client
	slog      *slog.Logger
	now       func() time.Time
	observe   func(endpoint string, outcome Outcome)

	calls sync.Mutex // held while a call is read: with its result one has up to 32 MiB
}

// New returns a sender for the endpoints, whose positions it keeps in store.
func New(log AuditLog, store inbox.Store, endpoints []*Endpoint, options *Options) (*Sender, error) {
	o := Options{}
	if options != nil {
		o = *options
	}
	s := &Sender{
		log: log, store: store, endpoints: endpoints, publicURL: o.PublicURL,
		timeout: o.Timeout, poll: o.Poll, machine: o.Machine, slog: o.Log, now: o.now, observe: o.Observe,
	}
	for _, e := range endpoints {
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("webhook: endpoint %q: %w", e.ID, err)
		}
	}
	if s.timeout <= 0 {
		s.timeout = DefaultTimeout
	}
	s.lease = lease + s.timeout
	if s.poll <= 0 {
		s.poll = 2 * time.Second
	}
	if s.machine == "" {
		s.machine = randomName()
	}
	if s.slog == nil {
		s.slog = slog.New(slog.DiscardHandler)
	}
	if s.observe == nil {
		s.observe = func(string, Outcome) {}
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
			s.slog.ErrorContext(ctx, "webhook: the endpoint answers 410 and gets nothing more until it is turned on again", "endpoint", e.ID)
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
// gets it. It reports whether the endpoint has said that it wants no more.
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
	due := st.due(s.time(st))
	for len(due) > 0 && ctx.Err() == nil {
		some := due[:min(together, len(due))]
		due = due[len(some):]
		answers := make([]answer, len(some))
		var sent sync.WaitGroup
		for i, w := range some {
			sent.Go(func() { answers[i] = s.send(ctx, e, w.Entry, s.time(st)) })
		}
		sent.Wait()
		if ctx.Err() != nil {
			break // what was cut off is tried again by whoever is next
		}
		var outcomes []Outcome
		for i, w := range some {
			gone = gone || answers[i].status == http.StatusGone
			dead := st.settle(w, answers[i], s.time(st))
			switch {
			case answers[i].drop: // nothing was sent
			case answers[i].ok():
				outcomes = append(outcomes, Delivered)
			case dead, answers[i].status == http.StatusGone:
				outcomes = append(outcomes, Dead)
			default:
				outcomes = append(outcomes, Failed)
			}
			if !answers[i].ok() {
				s.slog.WarnContext(ctx, "webhook: not delivered", "endpoint", e.ID, "entry", w.Entry, "tries", w.Tries+1, "why", answers[i].why)
			}
		}
		if gone {
			st.end(s.time(st))
		}
		if err := s.save(ctx, e, st); err != nil {
			return false, err
		}
		for _, o := range outcomes {
			s.observe(e.ID, o)
		}
		if gone {
			return true, nil
		}
	}
	return gone, nil //nolint:nilerr // the next machine goes on
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
				st.Waits = append(st.Waits, waiting{Entry: entry.ID, Next: s.time(st)})
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

// send sends the message of one entry. at is the time that it is signed with.
func (s *Sender) send(ctx context.Context, e *Endpoint, id int64, at time.Time) answer {
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
	rows, early := s.rows(ctx, t, entries[0])
	if early != nil {
		return *early
	}
	body, err := s.body(t, entries[0], rows)
	if err != nil {
		return answer{why: "the message cannot be written"}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return answer{why: "its address cannot be used"}
	}
	// The same id for each try, so that a receiver can drop what comes twice.
	message, timestamp := "msg_"+e.ID+"_"+strconv.FormatInt(id, 10), strconv.FormatInt(at.Unix(), 10)
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

// What a message says of rows, which is not in the log, where it would outlive the
// erasure of whoever it names.
type about struct {
	conversation string
	approval     *inbox.Approval // nil: it is about none
}

// rows reads what the entry is about, or says what becomes of the message without it. A
// row that cannot be read says as much as its columns do: that is what is wanted of it,
// and a call whose approval cannot be read waits for somebody who denies it.
func (s *Sender) rows(ctx context.Context, t Type, e *inbox.AuditEntry) (about, *answer) {
	there := func(err error) bool { return err == nil || errors.Is(err, inbox.ErrUnreadable) }
	switch {
	case t == ApprovalAsked || t == ApprovalExpiring:
		a, err := s.log.Approval(ctx, inbox.Approver{Principal: e.Principal}, e.Approval)
		switch {
		case errors.Is(err, inbox.ErrNotFound):
			return about{}, &answer{drop: true}
		case !there(err):
			return about{}, &answer{why: "the approval cannot be read"}
		case a.State.Closed():
			return about{}, &answer{drop: true} // nobody has to be told any more
		}
		return about{a.Conversation, a}, nil
	case e.Question != "":
		q, err := s.log.Question(ctx, e.Principal, e.Question)
		switch {
		case there(err):
			return about{conversation: q.Conversation}, nil
		case !errors.Is(err, inbox.ErrNotFound):
			return about{}, &answer{why: "the question cannot be read"}
		}
	case e.Call != "":
		s.calls.Lock()
		defer s.calls.Unlock()
		c, err := s.log.Call(ctx, e.Principal, e.Call)
		switch {
		case there(err) && t == Uncertain && c.State != inbox.Uncertain:
			return about{}, &answer{drop: true} // it was sent again by itself, its reply came late, or the person has judged
		case there(err):
			return about{conversation: c.Conversation}, nil
		case !errors.Is(err, inbox.ErrNotFound):
			return about{}, &answer{why: "the call cannot be read"}
		}
	}
	return about{}, nil // it was removed: that something happened is still so
}

// retryAfter reads the header in seconds (RFC 9110 10.2.3), a day at most.
func retryAfter(text string) time.Duration {
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, 24*60*60)) * time.Second
}
