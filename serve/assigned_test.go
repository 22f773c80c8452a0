package serve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/store/memstore"
)

// staff is a host whose bearers are a name and, after a slash, groups.
func staff(t *testing.T, notifier inbox.Notifier, keepAlive time.Duration) (as func(bearer string) *bench) {
	t.Helper()
	in := inbox.New(memstore.New(nil), seal.NewRing(), &inbox.Options{Notifier: notifier})
	h, err := host.New(in, []*host.Server{{ID: "desk", URL: "http://127.0.0.1:1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := serve.New(h, in, &serve.Options{Identify: func(r *http.Request) (*serve.Session, error) {
		name, groups, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "/")
		return &serve.Session{
			Principal: inbox.Principal{Issuer: "https://id.example", Tenant: "eu", Subject: name}, Groups: strings.FieldsFunc(groups, func(r rune) bool { return r == ',' }),
			Scopes: []serve.Scope{serve.ScopeRead, serve.ScopeAnswer, serve.ScopeCall},
		}, nil
	}})
	s.SetKeepAlive(keepAlive)
	s.SetAssignedPace(time.Millisecond)
	api := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		api.CloseClientConnections()
		api.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(bearer string) *bench { return &bench{t: t, base: api.URL, token: bearer, inbox: in} }
}

// deaf loses all hints.
type deaf struct{}

func (deaf) Notify(context.Context, inbox.Hint) error { return nil }
func (deaf) Subscribe(ctx context.Context, _ string) (<-chan inbox.Hint, error) {
	hints := make(chan inbox.Hint)
	context.AfterFunc(ctx, func() { close(hints) })
	return hints, nil
}

func rowOf(t *testing.T, e sse) (row approval) {
	t.Helper()
	if e.event != "approval" {
		t.Fatalf("the event is %+v", e)
	}
	(&reply{t: t, body: []byte(e.data)}).decode(&row)
	return row
}

// Members of a group hear of what is assigned to it, and of what became of it, without
// asking: by a hint, and without one by looking. Nobody else does.
func TestGroupsHaveEvents(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		notifier  inbox.Notifier
		keepAlive time.Duration
	}{
		"hints":    {nil, time.Hour},
		"no hints": {deaf{}, 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := staff(t, test.notifier, test.keepAlive)
			ann := inbox.Principal{Issuer: "https://id.example", Tenant: "eu", Subject: "ann"}
			bob, sales := as("bob/pilots,finance"), as("dee/sales")
			next, stop := bob.stream(nil)
			defer stop()
			other, stopOther := sales.stream(nil)
			defer stopOther()
			if e := next(); e.event != "hello" {
				t.Fatalf("the first event is %+v", e)
			}
			if e := other(); e.event != "hello" {
				t.Fatalf("the first event is %+v", e)
			}
			group := inbox.Ask{Fingerprint: "f", Assignee: inbox.Assignee{Group: "finance"}}
			_, a := asked(t, bob.inbox, ann, group)
			if row := rowOf(t, next()); row.ID != string(a.ID) || row.State != "open" || !row.CanDecide || row.Mine || row.Conversation != "" {
				t.Fatalf("%+v", row)
			}
			// One that comes later gets what is open, at once.
			late, stopLate := as("cay/finance").stream(http.Header{"Last-Event-Id": {"0"}})
			if row := rowOf(t, late()); row.ID != string(a.ID) {
				t.Fatalf("%+v", row)
			}
			stopLate()
			as("cay/finance").post("/v1/approvals/"+string(a.ID), map[string]any{"allow": false}).want(http.StatusOK)
			if row := rowOf(t, next()); row.ID != string(a.ID) || row.State != "denied" || row.CanDecide {
				t.Fatalf("%+v", row)
			}
			// A second one, that is then withdrawn: the call is stopped.
			c, b := asked(t, bob.inbox, ann, group)
			if row := rowOf(t, next()); row.ID != string(b.ID) {
				t.Fatalf("%+v", row)
			}
			if _, err := bob.inbox.Stop(t.Context(), ann, c.ID); err != nil {
				t.Fatal(err)
			}
			if row := rowOf(t, next()); row.ID != string(b.ID) || row.State != "withdrawn" {
				t.Fatalf("%+v", row)
			}
			// The other group's first event is its own.
			_, own := asked(t, bob.inbox, ann, inbox.Ask{Fingerprint: "f", Assignee: inbox.Assignee{Group: "sales"}})
			if row := rowOf(t, other()); row.ID != string(own.ID) {
				t.Fatalf("%+v", row)
			}
		})
	}
}

// Questions over a limit are told of as they are refused, and when they are cleared.
func TestRefusalsAreEvents(t *testing.T) {
	t.Parallel()
	as := staff(t, nil, time.Hour)
	ann := as("ann")
	next, stop := ann.stream(nil)
	defer stop()
	next()
	p := inbox.Principal{Issuer: "https://id.example", Tenant: "eu", Subject: "ann"}
	if err := ann.inbox.Refused(t.Context(), p, "desk", 3); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{3, 0} {
		var row struct {
			Server string
			Count  int
		}
		e := next()
		(&reply{t: t, body: []byte(e.data)}).decode(&row)
		if e.event != "refusal" || row.Server != "desk" || row.Count != want {
			t.Fatalf("%+v", e)
		}
		if want > 0 {
			ann.post("/v1/refusals/clear", map[string]any{"server": "desk"}).want(http.StatusNoContent)
		}
	}
}

// Whoever decides sees what they decide on, whole. Lists and events say how large it is.
func TestLargeArgumentsOfApproval(t *testing.T) {
	t.Parallel()
	as := staff(t, nil, time.Hour)
	ann := as("ann")
	bob := as("bob/finance")
	next, stop := bob.stream(nil)
	defer stop()
	next()
	arguments := json.RawMessage(`{"text":"` + strings.Repeat("a", 300<<10) + `"}`)
	c, err := ann.inbox.Compose(t.Context(), inbox.Principal{Issuer: "https://id.example", Tenant: "eu", Subject: "ann"}, inbox.NewCall{
		Conversation: "v_1", Actor: inbox.Model, Server: "desk", Method: "tools/call", Name: "plain", Arguments: arguments,
		Ask: &inbox.Ask{Fingerprint: "f", Rule: "r", Reason: "Large.", Assignee: inbox.Assignee{Group: "finance"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	row := rowOf(t, next())
	list := bob.approvals("?state=open")
	if len(list) != 1 || string(list[0].Arguments) != "null" || list[0].ArgumentsSize != len(arguments) || row.ArgumentsSize != len(arguments) || string(row.Arguments) != "null" {
		t.Fatalf("%d rows, sizes %d and %d", len(list), list[0].ArgumentsSize, row.ArgumentsSize)
	}
	var whole approval
	bob.get("/v1/approvals/" + row.ID).want(http.StatusOK).decode(&whole)
	if string(whole.Arguments) != string(arguments) || whole.ArgumentsSize != 0 {
		t.Errorf("%d bytes of %d, said to be %d", len(whole.Arguments), len(arguments), whole.ArgumentsSize)
	}
	as("dee/sales").get("/v1/approvals/"+row.ID).code(http.StatusNotFound, "not_found")
	bob.get("/v1/calls/"+string(c.ID)).code(http.StatusNotFound, "not_found")
	var mine struct{ Actor string }
	ann.get("/v1/calls/" + string(c.ID)).want(http.StatusOK).decode(&mine)
	if mine.Actor != "model" {
		t.Errorf("the call was composed by %q", mine.Actor)
	}
}

// A counted notifier counts subscriptions by whose hints they are for.
type counted struct {
	inbox.Notifier

	mu   sync.Mutex
	subs map[string]int
}

func (n *counted) Subscribe(ctx context.Context, who string) (<-chan inbox.Hint, error) {
	n.mu.Lock()
	n.subs[who]++
	n.mu.Unlock()
	return n.Notifier.Subscribe(ctx, who)
}

// A looked store counts looks at what is assigned.
type looked struct {
	inbox.Store

	n atomic.Int64
}

func (s *looked) Assigned(ctx context.Context, q inbox.AssignedQuery) ([]inbox.Ref, error) {
	s.n.Add(1)
	return s.Store.Assigned(ctx, q)
}

// A stream of one conversation gets nothing that is assigned to groups, so it costs no
// subscription of one either. Any other looks at what is assigned at its own pace,
// however often that, or what is the person's own, changes.
func TestStreamsOfGroupsAreCheap(t *testing.T) {
	t.Parallel()
	notifier, store := &counted{Notifier: &inbox.Local{}, subs: map[string]int{}}, &looked{Store: memstore.New(nil)}
	in := inbox.New(store, seal.NewRing(), &inbox.Options{Notifier: notifier})
	h, err := host.New(in, []*host.Server{{ID: "desk", URL: "http://127.0.0.1:1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := serve.New(h, in, &serve.Options{Identify: func(r *http.Request) (*serve.Session, error) {
		return &serve.Session{
			Principal: inbox.Principal{Issuer: "https://id.example", Tenant: "eu", Subject: "bob"}, Groups: []string{"finance", "pilots"},
			Conversation: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer in:"), Scopes: []serve.Scope{serve.ScopeRead},
		}, nil
	}})
	s.SetKeepAlive(time.Hour)
	s.SetAssignedPace(time.Hour)
	api := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		api.CloseClientConnections()
		api.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	open := func(conversation string) (next func() sse, stop func()) {
		return (&bench{t: t, base: api.URL, token: "in:" + conversation, inbox: in}).stream(nil)
	}
	next, stop := open("v_1")
	defer stop()
	next()
	notifier.mu.Lock()
	if len(notifier.subs) != 1 {
		t.Errorf("a stream of a conversation is subscribed to %v", notifier.subs)
	}
	notifier.mu.Unlock()
	all, stopAll := open("")
	defer stopAll()
	all()
	bob := inbox.Principal{Issuer: "https://id.example", Tenant: "eu", Subject: "bob"}
	for range 20 {
		asked(t, in, inbox.Principal{Issuer: "https://id.example", Tenant: "eu", Subject: "ann"}, inbox.Ask{Fingerprint: "f", Assignee: inbox.Assignee{Group: "finance"}})
		_, a := asked(t, in, bob, inbox.Ask{Fingerprint: "f"})
		for e := all(); e.event != "approval" || rowOf(t, e).ID != string(a.ID); e = all() {
		}
	}
	if n := store.n.Load(); n != 1 {
		t.Errorf("one stream has looked %d times at what is assigned", n)
	}
}
