package serve_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/serve/client"
	"github.com/parley-mcp/parley/serve/internal/conform"
)

// A twice is a request that arrives twice, as one does whose answer was lost.
type twice struct {
	// before makes what the request needs, and returns the id in its path and its body.
	before        func(e *embedding) (id string, body any)
	first, second int
	bearer        func(e *embedding) string // default: the person's
	tells         bool                      // the trail has both: the second erases what came meanwhile
}

const (
	ok, created, none = http.StatusOK, http.StatusCreated, http.StatusNoContent
	conflict          = http.StatusConflict
)

func nothing(*embedding) (string, any) { return "", map[string]any{} }

// twices are all routes that change something. Those that take an idempotency key get
// one; the others are harmless twice as they are.
var twices = map[string]twice{
	"POST /v1/calls":                {before: func(*embedding) (string, any) { return "", plainCall(nil) }, first: created, second: created},
	"POST /v1/calls/{id}/run-again": {before: func(e *embedding) (string, any) { return e.run("plain", map[string]any{"n": 1}).ID, nil }, first: created, second: created},
	"POST /v1/calls/{id}/stop":      {before: func(e *embedding) (string, any) { return e.run("seat", map[string]any{}).ID, nil }, first: ok, second: ok},
	"POST /v1/calls/{id}/resolve": {before: func(e *embedding) (string, any) {
		return string(uncertain(e.t, e.inbox, serve.LocalPrincipal, true).ID), map[string]any{"how": "send_again"}
	}, first: ok, second: ok},
	"POST /v1/calls/{id}/decline-rest": {before: func(e *embedding) (string, any) { return e.run("two", map[string]any{}).ID, nil }, first: ok, second: ok},

	"POST /v1/questions/{id}/answer": {before: func(e *embedding) (string, any) {
		return e.run("seat", map[string]any{}).Questions[0], map[string]any{"action": "decline"}
	}, first: ok, second: ok},
	"POST /v1/questions/{id}/check": {before: func(e *embedding) (string, any) {
		return e.run("seat", map[string]any{}).Questions[0], map[string]any{"input": map[string]any{"seat": "a", "bags": "1"}}
	}, first: ok, second: ok},
	"POST /v1/questions/{id}/take-back": {before: func(e *embedding) (string, any) {
		id := e.run("two", map[string]any{}).Questions[0]
		e.post("/v1/questions/"+id+"/answer", map[string]any{"action": "decline"}).want(ok)
		return id, nil
	}, first: ok, second: conflict}, // there is no answer any more
	"POST /v1/questions/{id}/shown": {before: func(e *embedding) (string, any) {
		return e.run("seat", map[string]any{}).Questions[0], map[string]any{"evidence": "in view"}
	}, first: none, second: none},
	"POST /v1/questions/{id}/open": {before: func(e *embedding) (string, any) {
		id := e.run("page", map[string]any{}).Questions[0]
		return id, map[string]any{"url_sha256": sha256Hex(e.question(id).URL.Href)}
	}, first: ok, second: ok},

	"POST /v1/approvals/{id}": {before: func(e *embedding) (string, any) {
		return anApproval(e), map[string]any{"allow": true, "scope": "always"}
	}, first: ok, second: ok},
	"POST /v1/approvals/{id}/shown": {before: func(e *embedding) (string, any) { return anApproval(e), map[string]any{"evidence": "in view"} }, first: none, second: none},
	"POST /v1/approvals/{id}/revoke": {before: func(e *embedding) (string, any) {
		id := anApproval(e)
		e.post("/v1/approvals/"+id, map[string]any{"allow": true, "scope": "always"}).want(ok)
		return id, nil
	}, first: ok, second: ok},

	"POST /v1/refusals/clear": {before: func(e *embedding) (string, any) {
		if err := e.inbox.Refused(e.t.Context(), serve.LocalPrincipal, "desk", 3); err != nil {
			e.t.Fatal(err)
		}
		return "", map[string]any{"server": "desk"}
	}, first: none, second: none},
	"POST /v1/servers/{id}/stop": {before: func(e *embedding) (string, any) { e.run("seat", map[string]any{}); return "desk", nil }, first: ok, second: ok},
	"POST /v1/servers/{id}/tools/seen": {before: func(e *embedding) (string, any) {
		var list struct{ Tools []map[string]any }
		e.get("/v1/servers/desk/tools").want(ok).decode(&list)
		return "desk", map[string]any{"tools": []any{map[string]any{"name": list.Tools[0]["name"], "fingerprint": list.Tools[0]["fingerprint"]}}}
	}, first: none, second: none},

	// These are in TestServerSignInTwice: this host has no server to sign in to.
	"POST /v1/servers/{id}/sign-in":        {before: func(*embedding) (string, any) { return "desk", nil }, first: conflict, second: conflict},
	"POST /v1/servers/{id}/sign-out":       {before: func(*embedding) (string, any) { return "desk", nil }, first: conflict, second: conflict},
	"POST /v1/servers/{id}/account":        {before: func(*embedding) (string, any) { return "desk", map[string]any{"decision": "x"} }, first: conflict, second: conflict},
	"POST /v1/servers/sign-in/callback":    {before: func(*embedding) (string, any) { return "", map[string]any{"state": "x"} }, first: conflict, second: conflict},
	"POST /v1/ops/webhooks/{id}/redeliver": {before: func(*embedding) (string, any) { return "x", nil }, first: http.StatusNotFound, second: http.StatusNotFound},
	"POST /v1/ops/people/disable":          {before: somebody, first: none, second: none},
	"POST /v1/ops/people/enable":           {before: somebody, first: none, second: none},
	"POST /v1/ops/people/erase":            {before: somebody, first: none, second: none, tells: true},

	// One more one-time token, or token of a page, is one that ends unused.
	"POST /v1/sign-in":             {before: func(e *embedding) (string, any) { return "", map[string]any{"token": e.local.OneTime()} }, first: ok, second: http.StatusUnauthorized},
	"POST /v1/sign-in/addresses":   {before: nothing, first: created, second: created},
	"POST /v1/embed-tokens":        {before: func(*embedding) (string, any) { return "", person("ann", "v_1", "read") }, first: created, second: created, bearer: apiKey},
	"POST /v1/embed-tokens/revoke": {before: func(*embedding) (string, any) { return "", map[string]any{"tenant": "eu", "subject": "ann"} }, first: none, second: none, bearer: apiKey},
}

func apiKey(e *embedding) string { return e.acme }

func anApproval(e *embedding) string {
	_, a := asked(e.t, e.inbox, serve.LocalPrincipal, inbox.Ask{Fingerprint: "f"})
	return string(a.ID)
}

// somebody is the body of what operators do to a person.
func somebody(e *embedding) (string, any) {
	if _, err := e.inbox.Compose(e.t.Context(), annOfAcme, inbox.NewCall{Conversation: "v_1", Server: "away", Method: "tools/call", Name: "book"}); err != nil {
		e.t.Fatal(err)
	}
	return "", map[string]any{"issuer": annOfAcme.Issuer, "tenant": annOfAcme.Tenant, "subject": annOfAcme.Subject}
}

// world is all that the person and an operator see, once nothing moves any more.
func (e *embedding) world() (rows, trail string) {
	e.t.Helper()
	var list struct {
		Calls []struct {
			call

			Server string
		}
	}
	e.get("/v1/conversations/v_1").want(ok).decode(&list)
	for _, c := range list.Calls {
		if c.Server != "away" { // nobody carries it on
			e.settle(c.call)
		}
	}
	var all strings.Builder
	for _, path := range []string{"/v1/conversations/v_1", "/v1/approvals", "/v1/approvals?state=standing", "/v1/refusals", "/v1/servers/desk/tools"} {
		all.Write(e.get(path).want(ok).body)
	}
	return all.String(), string(e.get("/v1/ops/audit").want(ok).body)
}

// Whatever is sent twice is done once.
func TestTwice(t *testing.T) {
	t.Parallel()
	d := conform.Read(t)
	for path, methods := range d.Paths {
		for method := range methods {
			if _, known := twices[strings.ToUpper(method)+" "+path]; method != "get" && !known {
				t.Errorf("%s %s: nobody has looked at what happens if it is sent twice", method, path)
			}
		}
	}
	for pattern, test := range twices {
		t.Run(strings.NewReplacer("POST /v1/", "", "/", " ").Replace(pattern), func(t *testing.T) {
			t.Parallel()
			e := embed(t)
			method, path, _ := strings.Cut(pattern, " ")
			header := http.Header{}
			if slices.ContainsFunc(d.Paths[path]["post"].Parameters, func(p conform.Parameter) bool { return p.Name == "Idempotency-Key" }) {
				header.Set("Idempotency-Key", "k1")
			}
			id, body := test.before(e)
			path = strings.Replace(path, "{id}", id, 1)
			sender := e.bench
			if test.bearer != nil {
				sender = e.as(test.bearer(e))
			}
			untouched, _ := e.world()
			first := sender.do(method, path, body, header).want(test.first)
			before, told := e.world()
			second := sender.do(method, path, body, header).want(test.second)
			if after, tells := e.world(); after != before || tells != told && !test.tells {
				t.Errorf("the second one changed something.\nbefore: %s%s\nafter: %s%s", before, told, after, tells)
			}
			if len(header) == 0 {
				return
			}
			var one, two struct{ ID string }
			first.decode(&one)
			if second.decode(&two); one != two || before == untouched {
				t.Errorf("%s, then %s", first.body, second.body)
			}
		})
	}
}

// What is sent again long after, when there is something to do again, does nothing either:
// the page's key for one press of a button.
func TestRunAgainTwice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old := b.run("plain", map[string]any{"n": 1})
	key := http.Header{"Idempotency-Key": {"k1"}}
	var first, second, third call
	b.do(http.MethodPost, "/v1/calls/"+old.ID+"/run-again", nil, key).want(created).decode(&first)
	if first = b.settle(first); first.State != "done" {
		t.Fatalf("%+v", first)
	}
	b.do(http.MethodPost, "/v1/calls/"+old.ID+"/run-again", nil, key).want(created).decode(&second)
	if second.ID != first.ID || second.State != "done" {
		t.Errorf("the same press made %+v beside %+v", second, first)
	}
	b.do(http.MethodPost, "/v1/calls/"+first.ID+"/run-again", nil, key).code(conflict, "key_reused")
	b.post("/v1/calls/"+old.ID+"/run-again", nil).want(created).decode(&third)
	if third.ID == first.ID {
		t.Error("another press ran nothing")
	}
	b.settle(third)
}

// The key of declining the rest reaches the store: with the same one nothing is declined
// that came later.
func TestDeclineRestTwice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := http.Header{"Idempotency-Key": {"k1"}}
	one, two := b.run("two", map[string]any{}), b.run("two", map[string]any{})
	b.do(http.MethodPost, "/v1/calls/"+one.ID+"/decline-rest", nil, key).want(ok)
	b.do(http.MethodPost, "/v1/calls/"+two.ID+"/decline-rest", nil, key).code(conflict, "key_reused")
	if q := b.question(two.Questions[0]); q.State != "open" {
		t.Errorf("%+v", q)
	}
}

// Signing in and out: what comes twice ends with the first one's answer.
func TestServerSignInTwice(t *testing.T) {
	t.Parallel()
	s := newSignInSite(t, "")
	ctx := t.Context()
	told := func() (list []string) {
		t.Helper()
		entries, err := s.client.Audit(ctx, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range slices.Backward(entries) {
			if e.Kind != inbox.AuditCredentialRead {
				list = append(list, string(e.Kind)+" "+e.State)
			}
		}
		return list
	}
	begin := func() *client.SignInPage {
		t.Helper()
		page, err := s.client.SignIn(ctx, "shop")
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	begin() // its answer was lost
	page := begin()
	if list := told(); len(list) != 0 {
		t.Errorf("to begin writes %q", list)
	}
	reply := signInReply(s.consent(page))
	if got, err := s.client.SignedIn(ctx, reply); err != nil || got.Outcome != "done" {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err := s.client.SignedIn(ctx, reply); err != nil || got.Outcome != "done" || got.Server != "shop" || got.Resumed != 0 {
		t.Errorf("the same answer again: %+v, %v", got, err)
	}
	s.provider.SetSubject("work")
	got, err := s.client.SignedIn(ctx, signInReply(s.consent(begin())))
	if err != nil || got.Outcome != "other_account" {
		t.Fatalf("%+v, %v", got, err)
	}
	choice := client.AccountChoice{Decision: got.Decision, Replace: true}
	if got, err := s.client.ChooseAccount(ctx, "shop", choice); err != nil || got.Account != "work@id.example" {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err := s.client.ChooseAccount(ctx, "shop", choice); err != nil || got.Outcome != "done" || got.Account != "work@id.example" {
		t.Errorf("the same choice again: %+v, %v", got, err)
	}
	if _, err := s.client.SignedIn(ctx, reply); client.Code(err) != "sign_in_over" {
		t.Errorf("the answer of the account before: %v", err)
	}
	for _, want := range []string{"revoked", "nothing"} {
		if out, err := s.client.SignOut(ctx, "shop"); err != nil || out.Revoked != want {
			t.Errorf("%+v, %v; want %s", out, err, want)
		}
	}
	if got, want := told(), []string{"signed_in first", "signed_in other_account", "signed_out "}; !slices.Equal(got, want) {
		t.Errorf("the trail: %q, want %q", got, want)
	}
}

func sha256Hex(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
