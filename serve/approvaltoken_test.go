package serve_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
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

// ofFinance is what a policy says that wants a second person, of a group.
var ofFinance = inbox.Ask{Fingerprint: "f", Assignee: inbox.Assignee{Group: "finance"}, NotAsker: true}

// decider is the body of a request for a token of one approval.
func decider(subject string, a *inbox.Approval, groups ...string) map[string]any {
	return map[string]any{"tenant": "eu", "subject": subject, "approval": string(a.ID), "groups": groups, "scopes": []string{"read", "answer"}}
}

// A person of a product decides for another one, with a token of that approval, and the
// other's call goes on. Who decides stays the policy's matter: the asker is refused where
// it says so, and nobody else finds anything.
func TestApprovalToken(t *testing.T) {
	t.Parallel()
	e := embed(t)
	c, a := asked(t, e.inbox, annOfAcme, ofFinance)
	path := "/v1/approvals/" + string(a.ID)
	var minted struct{ Token, Conversation, Approval string }
	e.as(e.acme).post("/v1/embed-tokens", decider("bob", a, "finance")).want(http.StatusCreated).decode(&minted)
	if minted.Approval != string(a.ID) || minted.Conversation != "" {
		t.Errorf("minted for %+v", minted)
	}
	bob := e.as(minted.Token)
	var session struct {
		Conversation, Approval string
		Scopes                 []string
	}
	bob.get("/v1/session").want(http.StatusOK).decode(&session)
	if session.Approval != string(a.ID) || session.Conversation != "" || !slices.Equal(session.Scopes, []string{"read", "answer"}) {
		t.Errorf("%+v", session)
	}
	var row approval
	bob.get(path).want(http.StatusOK).decode(&row)
	if !row.CanDecide || row.Mine || row.Conversation != "" || row.Asker.Subject != "ann" || !slices.Equal(row.Offer, []string{"once"}) {
		t.Fatalf("%+v", row)
	}
	bob.post(path+"/shown", map[string]any{"evidence": "x"}).want(http.StatusNoContent)

	unknown := bob.get("/v1/approvals/nobody-has-this").code(http.StatusNotFound, "not_found")
	for who, in := range map[string]map[string]any{
		"no member":        decider("bob", a),
		"another group":    decider("bob", a, "sales"),
		"another tenant":   {"tenant": "us", "subject": "bob", "groups": []string{"finance"}, "approval": string(a.ID), "scopes": []string{"read", "answer"}},
		"another approval": decider("bob", &inbox.Approval{ID: "a_0"}, "finance"),
	} {
		b := e.as(e.mint(e.acme, in).Token)
		for _, r := range []*reply{b.get(path), b.post(path, map[string]any{"allow": true}), b.post(path+"/shown", map[string]any{"evidence": "x"}), b.post(path+"/revoke", nil)} {
			if r.status != http.StatusNotFound || !bytes.Equal(r.body, unknown.body) {
				t.Errorf("%s: %s gives %d %s", who, r.what, r.status, r.body)
			}
		}
	}
	e.as(e.mint(e.other, map[string]any{"subject": "bob", "groups": []string{"finance"}, "approval": string(a.ID), "scopes": []string{"read"}}).Token).
		get(path).code(http.StatusNotFound, "not_found")
	ann := e.as(e.mint(e.acme, decider("ann", a, "finance")).Token)
	if ann.get(path).want(http.StatusOK).decode(&row); row.CanDecide || !row.Mine {
		t.Errorf("the asker sees %+v", row)
	}
	ann.post(path, map[string]any{"allow": true}).code(http.StatusForbidden, "not_decider")
	e.as(e.mint(e.acme, map[string]any{"tenant": "eu", "subject": "bob", "groups": []string{"finance"}, "approval": string(a.ID), "scopes": []string{"read"}}).Token).
		post(path, map[string]any{"allow": true}).code(http.StatusForbidden, "scope")

	bob.post(path, map[string]any{"allow": true}).want(http.StatusOK).decode(&row)
	if row.State != "allowed" || row.DecidedBy.Subject != "bob" {
		t.Errorf("%+v", row)
	}
	page := e.as(e.mint(e.acme, person("ann", "v_1", "read")).Token)
	var now call
	page.get("/v1/calls/" + string(c.ID)).want(http.StatusOK).decode(&now)
	if end := page.settle(now); end.State != "done" {
		t.Errorf("allowed, and the call is %s", end.State)
	}
	bob.get(path).want(http.StatusOK)
	ann.get("/v1/calls/"+string(c.ID)).code(http.StatusNotFound, "not_found") // her own call, with the approval's token

	e.as(e.acme).post("/v1/embed-tokens/revoke", map[string]any{"tenant": "eu", "subject": "bob"}).want(http.StatusNoContent)
	bob.get(path).code(http.StatusUnauthorized, "signed_out")
}

// A token of one approval has no route but those of the approval, the session and the
// stream: all others, also lists, and rows that are the person's own or that the person
// decides, are not there.
func TestApprovalTokenSeesOneRow(t *testing.T) {
	t.Parallel()
	e := embed(t)
	_, a := asked(t, e.inbox, annOfAcme, ofFinance)
	_, other := asked(t, e.inbox, annOfAcme, ofFinance)
	own := e.as(e.mint(e.acme, person("bob", "v_1", "read", "answer", "call")).Token)
	seat := own.run("seat", map[string]any{})
	bobs := inbox.Principal{Issuer: annOfAcme.Issuer, Tenant: "eu", Subject: "bob"}
	_, mine := asked(t, e.inbox, bobs, inbox.Ask{Fingerprint: "f"})
	bob := e.as(e.mint(e.acme, decider("bob", a, "finance")).Token)
	unknown := bob.get("/v1/approvals/nobody-has-this").code(http.StatusNotFound, "not_found")
	ids := map[string][]string{
		"calls": {seat.ID}, "questions": seat.Questions, "conversations": {"v_1"}, "servers": {"desk"}, "ops": {"a-webhook"},
		"approvals": {string(other.ID), string(mine.ID)},
	}
	tried := 0
	for path, methods := range conform.Read(t).Paths {
		for method, op := range methods {
			if len(op.Security) == 0 || op.Security[0]["apiKey"] != nil || path == "/v1/session" || path == "/v1/events" {
				continue
			}
			list := []string{path}
			if strings.Contains(path, "{id}") {
				if list = nil; len(ids[strings.Split(path, "/")[2]]) == 0 {
					t.Fatalf("no row of %s is made by this test", path)
				}
				for _, id := range append(slices.Clone(ids[strings.Split(path, "/")[2]]), "nobody-has-this") {
					list = append(list, strings.Replace(path, "{id}", id, 1))
				}
			}
			for _, at := range list {
				tried++
				if r := bob.do(strings.ToUpper(method), at, map[string]any{}, nil); r.status != http.StatusNotFound || !bytes.Equal(r.body, unknown.body) {
					t.Errorf("%s: %d %s", r.what, r.status, r.body)
				}
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d tries", tried)
	}
	var now call
	if own.get("/v1/calls/" + seat.ID).want(http.StatusOK).decode(&now); now.Version != seat.Version {
		t.Errorf("it changed %+v to %+v", seat, now)
	}
	bob.get("/v1/approvals/" + string(a.ID)).want(http.StatusOK)
}

// The stream of such a token brings that approval alone, at once and when it changes:
// whether it is assigned to a group, to the person, or to nobody else than the asker.
func TestApprovalTokenEvents(t *testing.T) {
	t.Parallel()
	bobs := inbox.Principal{Issuer: annOfAcme.Issuer, Tenant: "eu", Subject: "bob"}
	for name, test := range map[string]struct {
		ask inbox.Ask
		who string
	}{
		"a group":  {ofFinance, "bob"},
		"a person": {inbox.Ask{Fingerprint: "f", Assignee: inbox.Assignee{Principal: bobs}}, "bob"},
		"the own":  {inbox.Ask{Fingerprint: "f"}, "ann"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := embed(t)
			c, a := asked(t, e.inbox, annOfAcme, test.ask)
			page := e.as(e.mint(e.acme, decider(test.who, a, "finance")).Token)
			next, stop := page.stream(nil)
			defer stop()
			hello := next()
			if hello.event != "hello" {
				t.Fatalf("the first event is %+v", hello)
			}
			if row := rowOf(t, next()); row.ID != string(a.ID) || row.State != "open" {
				t.Fatalf("%+v", row)
			}
			_, other := asked(t, e.inbox, annOfAcme, test.ask)
			asked(t, e.inbox, bobs, inbox.Ask{Fingerprint: "f"})
			if _, err := e.inbox.Stop(t.Context(), annOfAcme, other.Call); err != nil {
				t.Fatal(err)
			}
			if _, err := e.inbox.Stop(t.Context(), annOfAcme, c.ID); err != nil {
				t.Fatal(err)
			}
			if row := rowOf(t, next()); row.ID != string(a.ID) || row.State != "withdrawn" {
				t.Fatalf("%+v", row)
			}
			// A reader that comes back is told what it is now, whatever it saw.
			again, stopAgain := page.stream(http.Header{"Last-Event-Id": {hello.id}})
			defer stopAgain()
			if row := rowOf(t, again()); row.ID != string(a.ID) || row.State != "withdrawn" {
				t.Fatalf("%+v", row)
			}
		})
	}
}

// The stream of one that does not see its approval, whether there is such a row or not,
// brings nothing but hello: that there is none is no outage, after which a page would
// come back for ever.
func TestApprovalTokenEventsOfNothing(t *testing.T) {
	t.Parallel()
	key, row, err := serve.NewAPIKey("acme", annOfAcme.Issuer, []string{"eu", "us"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	in := inbox.New(memstore.New(nil), seal.NewRing(), nil)
	h, err := host.New(in, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	nobody := func(*http.Request) (*serve.Session, error) { return nil, serve.ErrSignedOut }
	s := serve.New(h, in, &serve.Options{Identify: nobody, APIKeys: []*serve.APIKey{row}, Keys: inbox.NewKeys()})
	s.SetKeepAlive(time.Millisecond)
	s.SetAssignedPace(0)
	api := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		api.CloseClientConnections() // ends the streams
		api.Close()
	})
	as := func(token string) *bench { return &bench{t: t, base: api.URL, token: token} }
	_, a := asked(t, in, annOfAcme, ofFinance)
	for who, body := range map[string]map[string]any{
		"no member":        decider("bob", a),
		"another group":    decider("bob", a, "sales"),
		"another tenant":   {"tenant": "us", "subject": "bob", "groups": []string{"finance"}, "approval": string(a.ID), "scopes": []string{"read", "answer"}},
		"another approval": decider("bob", &inbox.Approval{ID: "a_0"}, "finance"),
	} {
		var token embedToken
		as(key).post("/v1/embed-tokens", body).want(http.StatusCreated).decode(&token)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, api.URL+"/v1/events", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token.Token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", who, resp.Status)
			continue
		}
		events, comments := "", 0
		lines := bufio.NewScanner(resp.Body)
		for comments < 3 && lines.Scan() { // each comes after a look at all there is
			if strings.HasPrefix(lines.Text(), ":") {
				comments++
			} else if strings.TrimSpace(lines.Text()) != "" {
				events += lines.Text() + "\n"
			}
		}
		if comments < 3 || events != "id: 0\nevent: hello\nretry: 2000\ndata: {\"seq\":0}\n" {
			t.Errorf("%s: %d comments, %v, events\n%s", who, comments, lines.Err(), events)
		}
	}
}

func TestApprovalTokenRefused(t *testing.T) {
	t.Parallel()
	e := embed(t)
	good := map[string]any{"tenant": "eu", "subject": "bob", "approval": "a_1", "scopes": []string{"read", "answer"}}
	for name, change := range map[string]map[string]any{
		"a conversation too": {"conversation": "v_1"},
		"neither":            {"approval": ""},
		"a model":            {"actor": "model", "scopes": []string{"read"}},
		"calls":              {"scopes": []string{"read", "call"}},
		"controls":           {"approval": "a_\x001"},
		"a long one":         {"approval": strings.Repeat("a", 101)},
		"no scope":           {"scopes": []string{}},
	} {
		in := maps.Clone(good)
		maps.Copy(in, change)
		if r := e.as(e.acme).post("/v1/embed-tokens", in); r.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	in := maps.Clone(good)
	in["tenant"] = "asia"
	e.as(e.acme).post("/v1/embed-tokens", in).code(http.StatusForbidden, "namespace")

	// A machine of an older version, to which it names no conversation and so all of them,
	// does not open it.
	sealed, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(e.mint(e.acme, good).Token, "parley_embed_"))
	if err != nil {
		t.Fatal(err)
	}
	for _, purpose := range []string{"embed token", "embed token of a model"} {
		if _, err := e.keys.Open(purpose, nil, sealed); err == nil {
			t.Errorf("it opens as %q", purpose)
		}
	}
}

// It ends like any other, and one that a host bound to nothing is none.
func TestApprovalTokenEnds(t *testing.T) {
	t.Parallel()
	key, row, err := serve.NewAPIKey("acme", "https://acme.example", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var later atomic.Int64 // of the store
	in := inbox.New(memstore.New(&memstore.Options{Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }}), seal.NewRing(), nil)
	h, err := host.New(in, []*host.Server{{ID: "desk", URL: "http://127.0.0.1:1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	keys := inbox.NewKeys()
	nobody := func(*http.Request) (*serve.Session, error) { return nil, serve.ErrSignedOut }
	api := httptest.NewServer(serve.New(h, in, &serve.Options{Identify: nobody, APIKeys: []*serve.APIKey{row}, Keys: keys}).Handler())
	defer api.Close()
	as := func(token string) *bench { return &bench{t: t, base: api.URL, token: token} }
	_, a := asked(t, in, inbox.Principal{Issuer: "https://acme.example", Subject: "ann"}, ofFinance)
	path := "/v1/approvals/" + string(a.ID)
	var token embedToken
	as(key).post("/v1/embed-tokens", map[string]any{"subject": "bob", "groups": []string{"finance"}, "approval": string(a.ID), "scopes": []string{"read", "answer"}}).
		want(http.StatusCreated).decode(&token)
	as(token.Token).get(path).want(http.StatusOK)

	sealed, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token.Token, "parley_embed_"))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := keys.Open("embed token of an approval", nil, sealed)
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := json.Unmarshal(plain, &content); err != nil {
		t.Fatal(err)
	}
	delete(content, "approval")
	unbound := "parley_embed_" + base64.RawURLEncoding.EncodeToString(keys.Seal("embed token of an approval", nil, []byte(jsonText(content))))
	as(unbound).get("/v1/session").code(http.StatusUnauthorized, "signed_out")

	later.Add(int64(serve.EmbedLife))
	as(token.Token).get(path).code(http.StatusUnauthorized, "signed_out")
	as(token.Token).post(path, map[string]any{"allow": true}).code(http.StatusUnauthorized, "signed_out")
}
