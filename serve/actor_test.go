package serve_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/serve/internal/conform"
	"github.com/parley-mcp/parley/store/memstore"
)

// annOfAcme is whom the tests of tokens mint them for.
var annOfAcme = inbox.Principal{Issuer: "https://acme.example", Tenant: "eu", Subject: "ann"}

// agent is the body of a request for a token of ann's agent.
func agent(scopes ...string) map[string]any {
	in := person("ann", "v_1", scopes...)
	in["actor"] = "model"
	return in
}

// plainCall is the body of a call that asks nothing.
func plainCall(more map[string]any) map[string]any {
	body := map[string]any{"conversation": "v_1", "server": "desk", "tool": "plain", "arguments": map[string]any{"n": 1}}
	maps.Copy(body, more)
	return body
}

// What a person composes runs; the policy asks the person about what a model does, also
// when it is run again.
func TestModelsCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	type row struct{ ID, State, Actor string }
	for name, body := range map[string]map[string]any{"nobody said who": plainCall(nil), "a person": plainCall(map[string]any{"actor": "person"})} {
		var c call
		var r row
		b.post("/v1/calls", body).want(http.StatusCreated).decode(&c).decode(&r)
		if r.Actor != "person" {
			t.Errorf("%s: the row says %q", name, r.Actor)
		}
		if c = b.settle(c); c.State != "done" {
			t.Errorf("%s: %s", name, c.State)
		}
	}
	if list := b.approvals(""); len(list) != 0 {
		t.Fatalf("asked about a person's own calls: %+v", list)
	}

	var c call
	var r row
	b.post("/v1/calls", plainCall(map[string]any{"actor": "model"})).want(http.StatusCreated).decode(&c).decode(&r)
	if c = b.settle(c); c.State != "approving" || r.Actor != "model" {
		t.Fatalf("%+v by %q", c, r.Actor)
	}
	list := b.approvals("?state=open")
	if len(list) != 1 || list[0].Call != c.ID || !list[0].CanDecide {
		t.Fatalf("%+v", list)
	}
	b.post("/v1/approvals/"+list[0].ID, map[string]any{"allow": true}).want(http.StatusOK)
	b.get("/v1/calls/" + c.ID).want(http.StatusOK).decode(&c)
	if c = b.settle(c); c.State != "done" {
		t.Errorf("allowed, and %s", c.State)
	}
	b.post("/v1/calls/"+c.ID+"/run-again", nil).want(http.StatusCreated).decode(&c).decode(&r)
	if c = b.settle(c); c.State != "approving" || r.Actor != "model" {
		t.Errorf("run again: %+v by %q", c, r.Actor)
	}

	key := http.Header{"Idempotency-Key": {"k1"}}
	b.do(http.MethodPost, "/v1/calls", plainCall(nil), key).want(http.StatusCreated)
	b.do(http.MethodPost, "/v1/calls", plainCall(map[string]any{"actor": "model"}), key).code(http.StatusConflict, "key_reused")
	for _, odd := range []string{"Model", "agent", "person "} {
		b.post("/v1/calls", plainCall(map[string]any{"actor": odd})).code(http.StatusBadRequest, "bad_request")
	}
}

// A token of an agent is a model's, whatever it says, and does nothing that a person does.
func TestModelToken(t *testing.T) {
	t.Parallel()
	e := embed(t)
	var minted struct{ Token, Actor string }
	e.as(e.acme).post("/v1/embed-tokens", agent("read", "call")).want(http.StatusCreated).decode(&minted)
	if minted.Actor != "model" {
		t.Errorf("minted for %q", minted.Actor)
	}
	model := e.as(minted.Token)
	ann := e.as(e.mint(e.acme, person("ann", "v_1", "read", "answer", "call")).Token)
	var session struct {
		Actor  string
		Scopes []string
	}
	if model.get("/v1/session").want(http.StatusOK).decode(&session); session.Actor != "model" || !slices.Equal(session.Scopes, []string{"read", "call"}) {
		t.Errorf("%+v", session)
	}

	model.post("/v1/calls", plainCall(map[string]any{"actor": "person"})).code(http.StatusForbidden, "scope")
	for _, more := range []map[string]any{nil, {"actor": "model"}, {"actor": ""}} {
		var c call
		var r struct{ Actor string }
		model.post("/v1/calls", plainCall(more)).want(http.StatusCreated).decode(&c).decode(&r)
		if c = model.settle(c); c.State != "approving" || r.Actor != "model" {
			t.Errorf("%v: %+v by %q", more, c, r.Actor)
		}
	}
	list := ann.approvals("?state=open")
	if len(list) != 3 {
		t.Fatalf("%+v", list)
	}
	model.post("/v1/approvals/"+list[0].ID, map[string]any{"allow": true}).code(http.StatusForbidden, "scope")
	ann.post("/v1/approvals/"+list[0].ID, map[string]any{"allow": true}).want(http.StatusOK)
	var own call
	ann.get("/v1/calls/" + list[0].Call).want(http.StatusOK).decode(&own)
	ann.settle(own)

	// What it may run again is its own: the person's would run as the person's.
	asks := ann.run("seat", map[string]any{})
	ann.post("/v1/calls/"+asks.ID+"/stop", nil).want(http.StatusOK)
	model.post("/v1/calls/"+asks.ID+"/run-again", nil).code(http.StatusForbidden, "scope")
	model.post("/v1/calls/nobody-has-this/run-again", nil).code(http.StatusNotFound, "not_found")
	var again call
	model.post("/v1/calls/"+own.ID+"/run-again", nil).want(http.StatusCreated).decode(&again)
	if again = model.settle(again); again.State != "approving" {
		t.Errorf("%+v", again)
	}
}

// Of what changes something a model has nothing but its calls, whatever its scopes and
// however it was let in.
func TestModelWrites(t *testing.T) {
	t.Parallel()
	e := embed(t)
	in := inbox.New(memstore.New(nil), inbox.NewKeys(), nil)
	h, err := host.New(in, []*host.Server{{ID: "desk", URL: "http://127.0.0.1:1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(serve.New(h, in, &serve.Options{Identify: func(r *http.Request) (*serve.Session, error) {
		return &serve.Session{Principal: annOfAcme, Actor: inbox.Actor(r.Header.Get("Actor")), Operator: true}, nil
	}}).Handler())
	t.Cleanup(func() {
		api.Close()
		h.Close()
	})
	token := e.as(e.mint(e.acme, agent("read", "call")).Token)
	product := &bench{t: t, base: api.URL}
	writes := 0
	for path, methods := range conform.Read(t).Paths {
		for method, op := range methods {
			if op.Scope == "" && !strings.HasPrefix(path, "/v1/session") {
				continue // signs people in
			}
			at := strings.Replace(path, "{id}", "x", 1)
			for name, send := range map[string]func() *reply{
				"a token": func() *reply { return token.do(strings.ToUpper(method), at, map[string]any{}, nil) },
				"a model": func() *reply {
					return product.do(strings.ToUpper(method), at, map[string]any{}, http.Header{"Actor": {"model"}})
				},
				"an actor": func() *reply {
					return product.do(strings.ToUpper(method), at, map[string]any{}, http.Header{"Actor": {"robot"}})
				},
			} {
				if path == "/v1/events" {
					continue // it has no end
				}
				status := send().status
				if status == http.StatusNotFound && path == "/v1/sign-in/addresses" {
					continue // there is none beside Identify
				}
				refused := status == http.StatusForbidden
				if refused == op.Model && method == "post" || refused && op.Model && name != "a token" {
					t.Errorf("%s %s by %s: refused: %v", method, path, name, refused)
				}
			}
			if method == "post" && op.Model {
				writes++
			}
		}
	}
	if writes != 2 {
		t.Errorf("a model has %d routes that change something, want POST /v1/calls and run-again", writes)
	}
	var session struct {
		Actor    string
		Operator bool
		Scopes   []string
	}
	product.do(http.MethodGet, "/v1/session", nil, http.Header{"Actor": {"model"}}).decode(&session)
	if session.Actor != "model" || session.Operator || !slices.Equal(session.Scopes, []string{"read", "call"}) {
		t.Errorf("%+v", session)
	}
	product.do(http.MethodGet, "/v1/ops/audit", nil, http.Header{"Actor": {"model"}}).code(http.StatusForbidden, "scope")
	product.do(http.MethodGet, "/v1/ops/audit", nil, nil).want(http.StatusOK)
}

func TestModelTokenRefused(t *testing.T) {
	t.Parallel()
	e := embed(t)
	e.as(e.acme).post("/v1/embed-tokens", agent("read", "answer", "call")).code(http.StatusBadRequest, "bad_request")
	odd := person("ann", "v_1", "call")
	odd["actor"] = "agent"
	e.as(e.acme).post("/v1/embed-tokens", odd).code(http.StatusBadRequest, "bad_request")
	odd["actor"] = "person"
	e.as(e.acme).post("/v1/embed-tokens", odd).want(http.StatusCreated)
}

// A machine of a version that knows no agents, and reads past what it does not know, does
// not take their tokens for a person's: they are sealed for another purpose.
func TestModelTokenOnOlderMachine(t *testing.T) {
	t.Parallel()
	e := embed(t)
	for name, test := range map[string]struct {
		in   map[string]any
		want bool
	}{"a person's": {person("ann", "v_1", "call"), true}, "an agent's": {agent("call"), false}} {
		sealed, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(e.mint(e.acme, test.in).Token, "parley_embed_"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.keys.Open("embed token", nil, sealed); (err == nil) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// uncertain makes a call of p's of which nobody knows the end, on a server that the
// host does not have, and delivers an answer of it before, if it is held.
func uncertain(t *testing.T, in *inbox.Inbox, p inbox.Principal, held bool) *inbox.Call {
	t.Helper()
	ctx := t.Context()
	c, err := in.Compose(ctx, p, inbox.NewCall{Conversation: "v_1", Server: "away", Method: "tools/call", Name: "book", Arguments: json.RawMessage(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	claim, _, err := in.Claim(ctx, p, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	era := inbox.Modern
	if held {
		era = inbox.Legacy
	}
	if _, err := in.Mark(ctx, claim, inbox.Binding{Era: era}); err != nil {
		t.Fatal(err)
	}
	if held {
		q, err := in.Hold(ctx, claim, inbox.NewQuestion{Params: json.RawMessage(`{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}`)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Answer(ctx, p, q.ID, inbox.Answer{Action: inbox.Accept}); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Deliver(ctx, claim, q.ID, nil); err != nil {
			t.Fatal(err)
		}
	}
	if c, err = in.Uncertain(ctx, claim, "It is gone."); err != nil {
		t.Fatal(err)
	}
	return c
}

// To send again is to call: after an answer that was delivered it is a new call. Who may
// only answer can say what happened.
func TestSendAgainIsACall(t *testing.T) {
	t.Parallel()
	e := embed(t)
	answers := e.as(e.mint(e.acme, person("ann", "v_1", "read", "answer")).Token)
	calls := e.as(e.mint(e.acme, person("ann", "v_1", "answer", "call")).Token)
	for _, held := range []bool{true, false} {
		c := uncertain(t, e.inbox, annOfAcme, held)
		path := "/v1/calls/" + string(c.ID) + "/resolve"
		answers.post(path, map[string]any{"how": "send_again"}).code(http.StatusForbidden, "scope")
		if now, err := e.inbox.Call(t.Context(), annOfAcme, c.ID); err != nil || now.State != inbox.Uncertain || now.Version != c.Version {
			t.Fatalf("held %v: %+v, %v", held, now, err)
		}
		var row call
		calls.post(path, map[string]any{"how": "send_again"}).want(http.StatusOK).decode(&row)
		if row.State != "ready" || (row.ID != string(c.ID)) != held {
			t.Errorf("held %v: %+v", held, row)
		}
		other := uncertain(t, e.inbox, annOfAcme, held)
		answers.post("/v1/calls/"+string(other.ID)+"/resolve", map[string]any{"how": "it_happened"}).want(http.StatusOK)
	}
}
