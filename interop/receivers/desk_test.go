package receivers_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/memstore"
	"github.com/parley-mcp/parley/webhook"
)

// A desk is an inbox in which servers ask, and whose time the test moves.
type desk struct {
	t     *testing.T
	inbox *inbox.Inbox

	mu    sync.Mutex
	ahead time.Duration
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t}
	d.inbox = inbox.New(memstore.New(&memstore.Options{Now: d.now}), inbox.NewKeys(), nil)
	return d
}

func (d *desk) now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Now().Add(d.ahead)
}

// later lets time pass.
func (d *desk) later(by time.Duration) {
	d.t.Helper()
	d.mu.Lock()
	d.ahead += by
	d.mu.Unlock()
	if _, err := d.inbox.Sweep(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

// send runs a sender to the address until stop.
func (d *desk) send(t *testing.T, url string) (outcomes <-chan webhook.Outcome, stop func()) {
	t.Helper()
	came := make(chan webhook.Outcome, 100)
	store := &begun{Store: memstore.New(nil), begun: make(chan struct{})}
	sender, err := webhook.New(d.inbox, store, []*webhook.Endpoint{{ID: "guide", URL: url, Secret: secret}}, &webhook.Options{
		PublicURL: "https://parley.example.com", Poll: 20 * time.Millisecond,
		Observe: func(_ string, o webhook.Outcome) { came <- o },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		if err := sender.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	<-store.begun // what happened before is not told
	return came, func() {
		cancel()
		<-ran
	}
}

// begun tells when its sender has begun.
type begun struct {
	inbox.Store
	begun chan struct{}
	once  sync.Once
}

func (b *begun) Update(ctx context.Context, principal string, f func(inbox.Tx) error) error {
	err := b.Store.Update(ctx, principal, f)
	if err == nil {
		b.once.Do(func() { close(b.begun) })
	}
	return err
}

// approve lets a policy ask for an approval of a call of p's.
func (d *desk) approve(p inbox.Principal, who inbox.Assignee) (approval string) {
	d.t.Helper()
	c, err := d.inbox.Compose(d.t.Context(), p, inbox.NewCall{
		Conversation: "c 4/é", Server: "bank", Method: "tools/call", Name: "pay", Actor: inbox.Model, Ask: &inbox.Ask{Rule: "payments", Reason: "It is much.", Assignee: who},
	})
	if err != nil || c.Approval == "" {
		d.t.Fatal(c, err)
	}
	return string(c.Approval)
}

// decide denies approvals of ann's calls that are others' to decide.
func (d *desk) decide(approvals []string) {
	d.t.Helper()
	bob := inbox.Approver{Principal: inbox.Principal{Issuer: ann.Issuer, Subject: "bob"}, Groups: []string{"directors"}}
	for _, id := range approvals {
		if _, err := d.inbox.Decide(d.t.Context(), bob, inbox.ApprovalID(id), inbox.Decision{}); err != nil {
			d.t.Fatal(err)
		}
	}
}

// ask lets a server ask somebody something.
func (d *desk) ask(p inbox.Principal) (question string) {
	d.t.Helper()
	ctx := d.t.Context()
	c, err := d.inbox.Compose(ctx, p, inbox.NewCall{Conversation: "c 4/é", Server: "travel", Method: "tools/call", Name: "book"})
	if err != nil {
		d.t.Fatal(err)
	}
	claim, _, err := d.inbox.Claim(ctx, p, c.ID)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.inbox.Mark(ctx, claim, inbox.Binding{Era: inbox.Modern}); err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.inbox.Park(ctx, claim, inbox.Asked{Questions: []inbox.NewQuestion{{
		Key: "q", Params: json.RawMessage(`{"message":"Sure?","requestedSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`),
	}}}); err != nil {
		d.t.Fatal(err)
	}
	list, err := d.inbox.Questions(ctx, p, inbox.QuestionFilter{Call: c.ID})
	if err != nil || len(list) != 1 {
		d.t.Fatal(list, err)
	}
	return string(list[0].ID)
}

// answer declines what somebody is asked.
func (d *desk) answer(p inbox.Principal) {
	d.t.Helper()
	list, err := d.inbox.Questions(d.t.Context(), p, inbox.QuestionFilter{})
	if err != nil || len(list) != 1 {
		d.t.Fatal(list, err)
	}
	if _, err := d.inbox.Answer(d.t.Context(), p, list[0].ID, inbox.Answer{Action: inbox.Decline}); err != nil {
		d.t.Fatal(err)
	}
}

// block ends the waiting of the one call that waits.
func (d *desk) block() {
	d.t.Helper()
	if n, err := d.inbox.BlockWaiting(d.t.Context(), "travel", inbox.ReasonServerRemoved, ""); n != 1 || err != nil {
		d.t.Fatal(n, err)
	}
}

// stop ends the call that an approval is of, so that nobody is told of it again.
func (d *desk) stop(p inbox.Principal, approval string) {
	d.t.Helper()
	a, err := d.inbox.Approval(d.t.Context(), inbox.Approver{Principal: p}, inbox.ApprovalID(approval))
	if err == nil {
		_, err = d.inbox.Stop(d.t.Context(), p, a.Call)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}
