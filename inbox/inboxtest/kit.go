package inboxtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// Fresh makes an empty database whose stores take the time from now, and
// returns a function that opens another handle on it. A handle that is not
// closed before the next one is opened stands for a process that crashed or
// for another one.
type Fresh func(t *testing.T, now func() time.Time) func() inbox.Store

// clock is a time that only moves when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 7, 28, 9, 30, 0, 123456789, time.FixedZone("away", 5*3600+1800))}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// kit is a database with one inbox on it and a person.
type kit struct {
	t     *testing.T
	ctx   context.Context
	clock *clock
	keys  *inbox.Keys
	open  func() inbox.Store
	store inbox.Store
	in    *inbox.Inbox
	ann   inbox.Principal
	bob   inbox.Principal
}

func newKit(t *testing.T, fresh Fresh) *kit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // a store that hangs fails
	t.Cleanup(cancel)
	k := &kit{
		t: t, ctx: ctx, clock: newClock(), keys: inbox.NewKeys(),
		ann: inbox.Principal{Issuer: "https://id.example", Tenant: "north", Subject: "ann"},
		bob: inbox.Principal{Issuer: "https://id.example", Tenant: "north", Subject: "bob"},
	}
	k.open = fresh(t, k.clock.Now)
	k.store = k.handle()
	k.in = k.machine("one")
	return k
}

// handle opens a store that the test closes.
func (k *kit) handle() inbox.Store {
	k.t.Helper()
	store := k.open()
	k.t.Cleanup(func() {
		if err := store.Close(); err != nil {
			k.t.Errorf("Close: %v", err)
		}
	})
	return store
}

// machine is an inbox on the kit's handle. It polls quickly, so that a lost
// hint does not make a test slow.
func (k *kit) machine(owner string) *inbox.Inbox { return k.on(k.store, owner) }

func (k *kit) on(store inbox.Store, owner string) *inbox.Inbox {
	return inbox.New(store, k.keys, &inbox.Options{Owner: owner, Poll: 20 * time.Millisecond})
}

func (k *kit) compose() *inbox.Call {
	k.t.Helper()
	c, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{
		Conversation: "v_trip", Server: "flights", Endpoint: "https://flights.example/mcp", Fingerprint: "f1",
		Era: inbox.Modern, Method: "tools/call", Name: "book", Arguments: json.RawMessage(`{"to": "Oslo"}`),
	})
	k.must("Compose", err)
	return c
}

func (k *kit) must(op string, err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatalf("%s: %v", op, err)
	}
}

// is checks an error by meaning.
func (k *kit) is(op string, err, want error) {
	k.t.Helper()
	if !errors.Is(err, want) {
		k.t.Errorf("%s: error %v, want %v", op, err, want)
	}
}

func (k *kit) state(id inbox.CallID, want inbox.CallState) *inbox.Call {
	k.t.Helper()
	c, err := k.in.Call(k.ctx, k.ann, id)
	k.must("Call", err)
	if c.State != want {
		k.t.Errorf("call is %s (%s), want %s", c.State, c.Reason, want)
	}
	return c
}

func (k *kit) asked(id inbox.QuestionID, want inbox.QuestionState) *inbox.Question {
	k.t.Helper()
	q, err := k.in.Question(k.ctx, k.ann, id)
	k.must("Question", err)
	if q.State != want {
		k.t.Errorf("question is %s (by %s), want %s", q.State, q.ClosedBy, want)
	}
	return q
}

// claim composes a call and claims it.
func (k *kit) claim() (*inbox.Claim, *inbox.Call) {
	k.t.Helper()
	c := k.compose()
	claim, c, err := k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	return claim, c
}

// sent brings a call to the wire.
func (k *kit) sent(era inbox.Era) (*inbox.Claim, *inbox.Call) {
	k.t.Helper()
	c, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{
		Conversation: "v_trip", Server: "flights", Method: "tools/call", Name: "book", Arguments: json.RawMessage(`{}`),
	})
	k.must("Compose", err)
	claim, _, err := k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	c, err = k.in.Mark(k.ctx, claim, inbox.Binding{Era: era, Endpoint: "https://flights.example/mcp", Fingerprint: "f1"})
	k.must("Mark", err)
	return claim, c
}

// again claims and marks a call that is ready.
func (k *kit) again(id inbox.CallID) *inbox.Claim {
	k.t.Helper()
	claim, _, err := k.in.Claim(k.ctx, k.ann, id)
	k.must("Claim", err)
	_, err = k.in.Mark(k.ctx, claim, inbox.Binding{})
	k.must("Mark", err)
	return claim
}

// waiting parks a call with the questions.
func (k *kit) waiting(questions ...inbox.NewQuestion) (*inbox.Claim, *inbox.Call, []*inbox.Question) {
	k.t.Helper()
	claim, _ := k.sent(inbox.Modern)
	return k.park(claim, questions...)
}

func (k *kit) park(claim *inbox.Claim, questions ...inbox.NewQuestion) (*inbox.Claim, *inbox.Call, []*inbox.Question) {
	k.t.Helper()
	c, err := k.in.Park(k.ctx, claim, inbox.Asked{RequestState: "opaque", Questions: questions})
	k.must("Park", err)
	if c.State != inbox.Waiting {
		k.t.Fatalf("parked call is %s (%s)", c.State, c.Reason)
	}
	return claim, c, k.round(c)
}

// round returns the questions of the call's round in their order.
func (k *kit) round(c *inbox.Call) []*inbox.Question {
	k.t.Helper()
	all, err := k.in.Questions(k.ctx, c.Principal, inbox.QuestionFilter{Call: c.ID})
	k.must("Questions", err)
	list := make([]*inbox.Question, len(all))
	n := 0
	for _, q := range all {
		if q.Round == c.Round {
			list[q.Position] = q
			n++
		}
	}
	return list[:n]
}

// held asks on an open connection.
func (k *kit) held(questions ...inbox.NewQuestion) (*inbox.Claim, *inbox.Call, []*inbox.Question) {
	k.t.Helper()
	claim, c := k.sent(inbox.Legacy)
	var list []*inbox.Question
	for _, n := range questions {
		q, err := k.in.Hold(k.ctx, claim, n)
		k.must("Hold", err)
		list = append(list, q)
	}
	return claim, c, list
}

// seat is a form question; the message tells them apart.
func seat(key, message string) inbox.NewQuestion {
	return inbox.NewQuestion{Key: key, Params: json.RawMessage(fmt.Sprintf(
		`{"mode": "form", "message": %q, "requestedSchema": {"type": "object", "properties": {"seat": {"type": "string", "maxLength": 3}, "bags": {"type": "integer"}}, "required": ["seat"]}}`, message))}
}

func visit(key, address string) inbox.NewQuestion {
	return inbox.NewQuestion{Key: key, Params: json.RawMessage(fmt.Sprintf(
		`{"mode": "url", "message": "Sign in to the airline", "url": %q, "elicitationId": "e1"}`, address))}
}

func (k *kit) accept(q *inbox.Question) *inbox.Question {
	k.t.Helper()
	return k.answer(q, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"seat":"12A"}`), Via: "chat"})
}

func (k *kit) decline(q *inbox.Question) {
	k.t.Helper()
	k.answer(q, inbox.Answer{Action: inbox.Decline, Via: "chat"})
}

func (k *kit) answer(q *inbox.Question, a inbox.Answer) *inbox.Question {
	k.t.Helper()
	got, err := k.in.Answer(k.ctx, k.ann, q.ID, a)
	k.must("Answer", err)
	return got
}

// sweep returns when the next row becomes due, in the store's time; zero: never.
func (k *kit) sweep() time.Time {
	k.t.Helper()
	wait, err := k.in.Sweep(k.ctx)
	k.must("Sweep", err)
	return k.after(wait)
}

// after is the time after a wait that an inbox has told; zero: none.
func (k *kit) after(wait time.Duration) time.Time {
	if wait == 0 {
		return time.Time{}
	}
	return micro(k.clock.Now()).Add(wait)
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// refusing is a store that fails for one principal.
type refusing struct {
	inbox.Store
	principal string
}

func (r *refusing) Update(ctx context.Context, principal string, f func(inbox.Tx) error) error {
	if principal == r.principal {
		return errTest
	}
	return r.Store.Update(ctx, principal, f)
}
