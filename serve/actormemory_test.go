package serve_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/serve/internal/conform"
	"github.com/parley-mcp/parley/store/memstore"
)

// noting is a store that notes what is remembered of people.
type noting struct {
	inbox.Store
	mu   sync.Mutex
	keys []string
}

type notingTx struct {
	inbox.Tx
	store *noting
}

func (n *noting) Update(ctx context.Context, principal string, f func(inbox.Tx) error) error {
	return n.Store.Update(ctx, principal, func(tx inbox.Tx) error { return f(&notingTx{tx, n}) })
}

func (tx *notingTx) Remember(key string, value []byte, expires time.Time) error {
	tx.store.mu.Lock()
	tx.store.keys = append(tx.store.keys, key)
	tx.store.mu.Unlock()
	return tx.Tx.Remember(key, value, expires)
}

// taken is what was remembered since the last look.
func (n *noting) taken() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	keys := n.keys
	n.keys = nil
	return keys
}

// Whatever a model asks for, by any route and with whatever groups, it changes nothing of
// what is known of its person: neither what they have seen of tools nor their groups. And
// approvals of others that its person decides are not for it.
func TestModelLeavesMemoryAlone(t *testing.T) {
	t.Parallel()
	local, err := serve.OpenLocal(filepath.Join(t.TempDir(), "token"))
	if err != nil {
		t.Fatal(err)
	}
	store := &noting{Store: memstore.New(nil)}
	b := setupIn(t, inbox.New(store, seal.NewRing(), nil), &serve.Options{Local: local}, script())
	api := httptest.NewServer(serve.New(b.host, b.inbox, &serve.Options{Identify: func(r *http.Request) (*serve.Session, error) {
		s := &serve.Session{Principal: annOfAcme, Actor: inbox.Actor(r.Header.Get("Actor"))}
		if groups := r.Header.Get("Groups"); groups != "" {
			s.Groups = strings.FieldsFunc(groups, func(r rune) bool { return r == ',' })
		}
		return s, nil
	}}).Handler())
	t.Cleanup(func() {
		api.CloseClientConnections()
		api.Close()
	})
	b = &bench{t: t, base: api.URL, inbox: b.inbox, host: b.host}
	if err := b.inbox.RememberGroups(t.Context(), annOfAcme, []string{"staff"}); err != nil {
		t.Fatal(err)
	}
	bob := inbox.Principal{Issuer: "https://acme.example", Tenant: "eu", Subject: "bob"}
	_, grouped := asked(t, b.inbox, bob, inbox.Ask{Assignee: inbox.Assignee{Group: "finance"}})
	_, named := asked(t, b.inbox, bob, inbox.Ask{Assignee: inbox.Assignee{Principal: annOfAcme}})
	c, own := asked(t, b.inbox, annOfAcme, inbox.Ask{})
	seat := string(uncertain(t, b.inbox, annOfAcme, false).ID)
	store.taken()

	bodies := map[string]any{"/v1/calls": plainCall(nil), "/v1/servers/{id}/tools/seen": map[string]any{"tools": []any{}}}
	ids := map[string]string{"servers": "desk", "calls": seat, "approvals": string(own.ID), "conversations": "v_1"}
	walked := 0
	for path, methods := range conform.Read(t).Paths {
		id := ids[strings.Split(path, "/")[2]]
		if id == "" {
			id = "x"
		}
		for method := range methods {
			for _, groups := range []string{"", ",", "finance,removed"} {
				header := http.Header{"Actor": {"model"}, "Groups": {groups}}
				at := strings.Replace(path, "{id}", id, 1)
				if path == "/v1/events" {
					b.firstEvent(at, header)
				} else {
					b.do(strings.ToUpper(method), at, bodies[path], header)
				}
				walked++
				for _, key := range store.taken() {
					if key == "groups" || strings.HasPrefix(key, "tools ") {
						t.Errorf("%s %s with groups %q: %q was written", method, path, groups, key)
					}
				}
				if now, err := b.inbox.Groups(t.Context(), annOfAcme); err != nil || !slices.Equal(now, []string{"staff"}) {
					t.Fatalf("%s %s with groups %q: the person's groups are %q, %v", method, path, groups, now, err)
				}
			}
		}
	}
	if walked < 100 {
		t.Errorf("only %d requests", walked)
	}

	read := func(header http.Header, path string) *reply { return b.do(http.MethodGet, path, nil, header) }
	model := http.Header{"Actor": {"model"}, "Groups": {"finance"}}
	var list struct{ Approvals []approval }
	read(model, "/v1/approvals?state=open").want(http.StatusOK).decode(&list)
	mine := false
	for _, a := range list.Approvals {
		mine = mine || a.Call == string(c.ID)
		if !a.Mine || a.CanDecide {
			t.Errorf("a model is shown %+v", a)
		}
	}
	if !mine {
		t.Error("a model is not shown that its person is asked")
	}
	for _, a := range []*inbox.Approval{grouped, named} {
		read(model, "/v1/approvals/"+string(a.ID)).code(http.StatusNotFound, "not_found")
		var row approval
		read(http.Header{"Groups": {"finance"}}, "/v1/approvals/"+string(a.ID)).want(http.StatusOK).decode(&row)
		if !row.CanDecide {
			t.Errorf("the person: %+v", row)
		}
	}
	// What the person does is remembered, as before.
	store.taken()
	read(http.Header{"Groups": {"finance"}}, "/v1/servers/desk/tools").want(http.StatusOK)
	b.do(http.MethodPost, "/v1/calls", plainCall(nil), http.Header{"Groups": {"finance"}}).want(http.StatusCreated)
	if keys := store.taken(); !slices.Contains(keys, "tools desk") || !slices.Contains(keys, "groups") {
		t.Errorf("of the person was remembered %q", keys)
	}
}

// firstEvent reads the beginning of a stream and leaves it.
func (b *bench) firstEvent(path string, header http.Header) {
	b.t.Helper()
	ctx, leave := context.WithCancel(b.t.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header = header
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	if line, err := bufio.NewReader(answer.Body).ReadString('\n'); err != nil || answer.StatusCode != http.StatusOK {
		b.t.Fatalf("%d %q, %v", answer.StatusCode, line, err)
	}
}

// A stream that a person opened does not go on as a model's.
func TestStreamEndsWithActor(t *testing.T) {
	t.Parallel()
	in := inbox.New(memstore.New(nil), inbox.NewKeys(), nil)
	h, err := host.New(in, []*host.Server{{ID: "desk", URL: "http://127.0.0.1:1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var model atomic.Bool
	s := serve.New(h, in, &serve.Options{Identify: func(*http.Request) (*serve.Session, error) {
		session := &serve.Session{Principal: annOfAcme, Scopes: []serve.Scope{serve.ScopeRead}}
		if model.Load() {
			session.Actor = inbox.Model
		}
		return session, nil
	}})
	s.SetKeepAlive(time.Millisecond)
	api := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		api.CloseClientConnections()
		api.Close()
		h.Close()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, api.URL+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	if !lines.Scan() {
		t.Fatal(lines.Err())
	}
	model.Store(true)
	for lines.Scan() {
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the stream goes on: %v", err)
	}
}
