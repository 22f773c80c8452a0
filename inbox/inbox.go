package inbox

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/parley-mcp/parley/internal/aside"
)

// Options of an [Inbox]; zero fields are the defaults.
type Options struct {
	Notifier Notifier // default: one of this process

	// Owner is the id of this machine. If it is stable over restarts, Recover
	// can end the leases of an earlier life at once. Default: a random one.
	Owner string

	Lease time.Duration // of a claim, between renewals; default 30 s
	Poll  time.Duration // how often waiting operations look without a hint; default 5 s

	QuestionTime time.Duration // a parked question without expiresAt; default 7 days
	HeldTime     time.Duration // a held question without expiresAt; default 1 hour
	BlockedTime  time.Duration // a blocked call; default 7 days
	ApprovalTime time.Duration // an approval without a time of its own; default 24 hours

	// Notice is how long before its end an open question or approval is told of in the
	// audit log, once, but not before its last quarter; default 24 hours, negative: never.
	Notice time.Duration

	Retention time.Duration // of what an ended call contained; default 30 days

	// AuditRetention is how long audit entries are kept; default 365 days,
	// negative: for ever.
	AuditRetention time.Duration

	OpenQuestions      int // per server and person; default 20
	QuestionsPerMinute int // per server and person; default 10
	Rounds             int // per call; default 25
	Events             int // kept per person; default 10 000

	// Observe, if set, sees each entry of the audit log that this process has written,
	// once it is committed, and AuditRefused; At and Principal are set, ID is not. It is for counting: it
	// must be quick, may be called at any time from any goroutine, and keeps nothing.
	Observe func(*AuditEntry)

	Log *slog.Logger // what no caller is told, such as hints that were not sent; default: nowhere
}

const (
	maxDeaths  = 8 // claims in a row whose owner died
	maxResends = 3 // sends without a person's decision after an uncertain one
	keyTime    = 24 * time.Hour
)

// Inbox holds the rules of calls, questions and answers over a store. It is
// safe for concurrent use, and any number of them may work on one store.
type Inbox struct {
	store    Store
	keys     *Keys
	notifier Notifier
	options  Options
	machine  string // prefix of owner
	owner    string // machine and incarnation
	log      *slog.Logger
	watches  *watches

	unreadable unreadable
	ownLeases  ownLeases
}

// New returns an inbox over store. The keys seal what people, servers and
// models wrote: [OpenKeys] for one machine, [ReadKeys] for several.
func New(store Store, keys *Keys, options *Options) *Inbox {
	in := &Inbox{store: store, keys: keys}
	if options != nil {
		in.options = *options
	}
	o := &in.options
	if o.Owner == "" {
		o.Owner = randomID("")
	}
	orTime(&o.Lease, 30*time.Second)
	orTime(&o.Poll, 5*time.Second)
	orTime(&o.QuestionTime, 7*24*time.Hour)
	orTime(&o.HeldTime, time.Hour)
	orTime(&o.BlockedTime, 7*24*time.Hour)
	orTime(&o.ApprovalTime, 24*time.Hour)
	if o.Notice == 0 {
		o.Notice = 24 * time.Hour
	}
	if o.AuditRetention == 0 {
		o.AuditRetention = 365 * 24 * time.Hour
	}
	orTime(&o.Retention, 30*24*time.Hour)
	orInt(&o.OpenQuestions, 20)
	orInt(&o.QuestionsPerMinute, 10)
	orInt(&o.Rounds, 25)
	orInt(&o.Events, 10_000)
	in.notifier = o.Notifier
	if in.notifier == nil {
		in.notifier = NewLocal()
	}
	in.log = o.Log
	if in.log == nil {
		in.log = slog.New(slog.DiscardHandler)
	}
	in.watches = newWatches(in.notifier, in.log)
	in.machine = url.PathEscape(o.Owner) + "/"
	in.owner = in.machine + randomID("")
	return in
}

func orTime(field *time.Duration, standard time.Duration) {
	if *field <= 0 {
		*field = standard
	}
}

func orInt(field *int, standard int) {
	if *field <= 0 {
		*field = standard
	}
}

// randomID is prefix and 128 random bits.
func randomID(prefix string) string {
	var bits [16]byte
	rand.Read(bits[:]) // never fails
	return prefix + base64.RawURLEncoding.EncodeToString(bits[:])
}

// Subscribe delivers the hints of one person until ctx ends. See [Notifier]:
// hints may be lost, so also look now and then.
func (in *Inbox) Subscribe(ctx context.Context, p Principal) (<-chan Hint, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return in.notifier.Subscribe(ctx, p.Key())
}

// mostGroupHints bounds what one subscription costs.
const mostGroupHints = 100

// SubscribeApprover delivers the hints of one person and, with them, those about
// approvals that are assigned to their groups: look at [Inbox.Assigned] then.
// It is what a page's stream waits for; see [Inbox.Subscribe].
func (in *Inbox) SubscribeApprover(ctx context.Context, who Approver) (<-chan Hint, error) {
	own, err := in.Subscribe(ctx, who.Principal)
	if err != nil || len(who.Groups) == 0 {
		return own, err
	}
	if err := who.check(); err != nil {
		return nil, err
	}
	hints := make(chan Hint, 1) // one is enough: whoever gets it looks at everything
	pass := func(from <-chan Hint) {
		for hint := range from {
			select {
			case hints <- hint:
			default:
			}
		}
	}
	var all sync.WaitGroup
	all.Go(func() { pass(own) })
	groups := who.keys()[1:]
	for _, key := range groups[:min(len(groups), mostGroupHints)] { // those of the others come by polling
		from, err := in.notifier.Subscribe(ctx, key)
		if err != nil {
			in.log.Warn("inbox: no hints of a group, polling only", "err", err)
			continue
		}
		all.Go(func() { pass(from) })
	}
	go func() {
		all.Wait() // they end with ctx
		close(hints)
	}()
	return hints, nil
}

// SubscribeAll delivers the hints of everybody until ctx ends. It is for
// machines that look for calls to claim.
func (in *Inbox) SubscribeAll(ctx context.Context) (<-chan Hint, error) {
	return in.notifier.Subscribe(ctx, "")
}

// await runs look at once, after each hint about the call and at least every
// Options.Poll, until it reports true or fails.
func (in *Inbox) await(ctx context.Context, key string, id CallID, look func() (bool, error)) error {
	wake, leave, err := in.watches.join(ctx, key, id) // before the first look, so that no hint is missed
	if err != nil {
		return err
	}
	defer leave()
	timer := time.NewTimer(in.options.Poll)
	defer timer.Stop()
	for {
		var done bool
		aside.Do(func() { done, err = look() })
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
		case <-timer.C:
		}
		timer.Reset(in.options.Poll)
	}
}
