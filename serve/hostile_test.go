package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/store/memstore"
	"github.com/parley-mcp/parley/web"
)

// A token of a page never becomes more than it is: an address that signs in the person
// of the machine would make it an operator's.
func TestEmbedTokenIsNoSignIn(t *testing.T) {
	t.Parallel()
	e := embed(t)
	page := e.as(e.mint(e.acme, person("ann", "v_1", "read", "answer", "call")).Token)
	page.post("/v1/sign-in/addresses", nil).code(http.StatusForbidden, "scope")
	e.post("/v1/sign-in/addresses", nil).want(http.StatusCreated)
}

// An endless answer ends with the session that it was given to.
func TestStreamsEndWithTheSession(t *testing.T) {
	t.Parallel()
	ann := inbox.Principal{Issuer: "https://acme.example", Tenant: "eu", Subject: "ann"}
	for name, end := range map[string]func(e *embedding, id string){
		"revoked": func(e *embedding, id string) {
			e.as(e.acme).post("/v1/embed-tokens/revoke", map[string]any{"tenant": "eu", "subject": "ann", "id": id}).want(http.StatusNoContent)
		},
		"erased":   func(e *embedding, _ string) { e.post("/v1/ops/people/erase", ann).want(http.StatusNoContent) },
		"disabled": func(e *embedding, _ string) { e.post("/v1/ops/people/disable", ann).want(http.StatusNoContent) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := embed(t)
			token := e.mint(e.acme, person("ann", "v_1", "read", "call"))
			e.as(token.Token).run("seat", map[string]any{}) // which ends when the person is disabled
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.base+"/v1/events", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token.Token)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			lines := bufio.NewReader(resp.Body)
			if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, "id: ") {
				t.Fatalf("%q, %v", line, err)
			}
			end(e, token.ID)
			// Something happens to the person, which the stream would bring.
			if _, err := e.inbox.Compose(t.Context(), ann, inbox.NewCall{Conversation: "v_1", Server: "desk", Method: "tools/call", Name: "later"}); err != nil && name != "disabled" {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(lines)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(rest), "event: call") {
				t.Errorf("the stream went on: %s", rest)
			}
		})
	}
}

// A stream on which nothing happens ends, too.
func TestQuietStreamsEndWithTheSession(t *testing.T) {
	t.Parallel()
	in := inbox.New(memstore.New(nil), seal.NewRing(), nil)
	h, err := host.New(in, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	signedIn := make(chan bool, 1)
	signedIn <- true
	s := serve.New(h, in, &serve.Options{Identify: func(*http.Request) (*serve.Session, error) {
		yes := <-signedIn
		signedIn <- yes
		if !yes {
			return nil, serve.ErrSignedOut
		}
		return &serve.Session{Principal: inbox.Principal{Issuer: "i", Subject: "ann"}}, nil
	}})
	s.SetKeepAlive(time.Millisecond)
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/v1/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	<-signedIn
	signedIn <- false
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Errorf("the stream of who signed out: %v", err)
	}
}

// What a stream has read when its session ends is not sent: it may have happened since.
func TestStreamsSendNothingAfterTheSession(t *testing.T) {
	t.Parallel()
	ann := inbox.Principal{Issuer: "i", Subject: "ann"}
	bob := inbox.Principal{Issuer: "i", Subject: "bob"}
	in := inbox.New(memstore.New(nil), seal.NewRing(), nil)
	h, err := host.New(in, []*host.Server{{ID: "desk", URL: "http://127.0.0.1:1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	_, a := asked(t, in, ann, inbox.Ask{Fingerprint: "f", Assignee: inbox.Assignee{Group: "finance"}})
	for name, test := range map[string]struct {
		session serve.Session
		event   string
	}{
		"own":      {serve.Session{Principal: ann}, "event: call"},
		"assigned": {serve.Session{Principal: bob, Groups: []string{"finance"}}, "event: approval"},
		"bound":    {serve.Session{Principal: bob, Groups: []string{"finance"}, Approval: a.ID}, "event: approval"},
	} {
		for _, looks := range []int32{2, 1 << 20} { // as the request comes, and as the stream begins to read
			t.Run(fmt.Sprintf("%s/%d", name, looks), func(t *testing.T) {
				t.Parallel()
				var n atomic.Int32
				s := serve.New(h, in, &serve.Options{Identify: func(*http.Request) (*serve.Session, error) {
					if n.Add(1) > looks {
						return nil, serve.ErrSignedOut
					}
					session := test.session
					session.Scopes = []serve.Scope{serve.ScopeRead}
					return &session, nil
				}})
				api := httptest.NewServer(s.Handler())
				defer api.Close()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, api.URL+"/v1/events?after=0", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				lines, sent := bufio.NewScanner(resp.Body), false
				for !sent && lines.Scan() {
					sent = lines.Text() == test.event
				}
				if sent != (looks > 2) {
					t.Errorf("sent %v, %v", sent, lines.Err())
				}
			})
		}
	}
}

// Who waits for a call when their token is revoked gets nothing of it.
func TestWaitEndsWithTheSession(t *testing.T) {
	t.Parallel()
	e := embed(t)
	token := e.mint(e.acme, person("ann", "v_1", "read", "call"))
	page := e.as(token.Token)
	c := page.run("seat", map[string]any{})
	got := make(chan int, 1)
	go func() { got <- page.try("/v1/calls/" + c.ID + "?wait=30&since=" + jsonText(c.Version)) }()
	e.as(e.acme).post("/v1/embed-tokens/revoke", map[string]any{"tenant": "eu", "subject": "ann", "id": token.ID}).want(http.StatusNoContent)
	if _, err := e.inbox.Stop(t.Context(), inbox.Principal{Issuer: "https://acme.example", Tenant: "eu", Subject: "ann"}, inbox.CallID(c.ID)); err != nil {
		t.Fatal(err)
	}
	if status := <-got; status != http.StatusUnauthorized {
		t.Errorf("status %d", status)
	}
}

// A request that says neither yes nor no decides nothing: a denial is for good.
func TestDecisionLeftOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, a := asked(t, b.inbox, serve.LocalPrincipal, inbox.Ask{})
	for _, body := range []string{`{}`, `null`, `{"allow":null}`, `{"allowed":true}`, `{"scope":"once"}`} {
		b.post("/v1/approvals/"+string(a.ID), body).code(http.StatusBadRequest, "bad_request")
	}
	if now, err := b.inbox.Approval(t.Context(), inbox.Approver{Principal: serve.LocalPrincipal}, a.ID); err != nil || now.State != inbox.ApprovalOpen {
		t.Errorf("%+v, %v", now, err)
	}
}

// Groups that a person is not in any more let nothing go on.
func TestGroupsOfNow(t *testing.T) {
	t.Parallel()
	e := embed(t)
	ann := inbox.Principal{Issuer: "https://acme.example", Tenant: "eu", Subject: "ann"}
	in := map[string]any{"tenant": "eu", "subject": "ann", "conversation": "v_1", "scopes": []string{"read", "answer", "call"}, "groups": []string{"admins"}}
	c := e.as(e.mint(e.acme, in).Token).run("seat", map[string]any{})
	if groups, err := e.inbox.Groups(t.Context(), ann); err != nil || len(groups) != 1 {
		t.Fatalf("%v, %v", groups, err)
	}
	later := e.as(e.mint(e.acme, person("ann", "v_1", "read", "answer")).Token)
	later.post("/v1/questions/"+c.Questions[0]+"/answer", map[string]any{"action": "decline"}).want(http.StatusOK)
	if groups, err := e.inbox.Groups(t.Context(), ann); err != nil || groups == nil || len(groups) != 0 {
		t.Errorf("the person is still in %v, %v", groups, err)
	}
}

// An API key that was made of nothing opens to nobody, above all not to nobody's request.
func TestAPIKeyOfNothing(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/keys.json"
	const ofNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	writeFile(t, file, `{"keys":[{"id":"a","issuer":"https://a.example","sha256":"`+ofNothing+`"}]}`)
	if _, err := serve.ReadAPIKeys(file); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("%v", err)
	}
	_, row, err := serve.NewAPIKey("a", "https://a.example", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, `{"keys":[{"id":"a","issuer":"https://a.example","sha256":"`+row.SHA256+`"}]} {"keys":[]}`)
	if _, err := serve.ReadAPIKeys(file); err == nil || !strings.Contains(err.Error(), "goes on") {
		t.Errorf("two values: %v", err)
	}
	for _, origin := range []string{"https://App.example.com", "https://app.example.com:443", "http://app.example.com:80", "https://app.example.com/"} {
		if _, _, err := serve.NewAPIKey("a", "https://a.example", nil, []string{origin}); err == nil {
			t.Errorf("%s: no browser sends that, and it is taken", origin)
		}
	}
}

// Pages of products that share the host's site get no cookie's power: not to sign a
// person out, and not to be somebody.
func TestProductsDoNotSignOut(t *testing.T) {
	t.Parallel()
	_, row, err := serve.NewAPIKey("acme", "https://acme.example", nil, []string{"https://app.acme.example"})
	if err != nil {
		t.Fatal(err)
	}
	in := inbox.New(memstore.New(nil), seal.NewRing(), nil)
	h, err := host.New(in, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ann := inbox.Principal{Issuer: "https://id.example", Subject: "ann"}
	handler := serve.New(h, in, &serve.Options{
		Identify: func(r *http.Request) (*serve.Session, error) {
			if r.Header.Get("Cookie") == "" {
				return nil, serve.ErrSignedOut
			}
			return &serve.Session{Principal: inbox.Principal{Issuer: r.Header.Get("Cookie"), Subject: "ann"}}, nil
		},
		SignIn:  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "done") }),
		APIKeys: []*serve.APIKey{row}, Keys: inbox.NewKeys(),
	}).Handler()
	ask := func(method, path string, header http.Header) int {
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader("{}"))
		r.Header = header
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	elsewhere := http.Header{"Origin": {"https://app.acme.example"}, "Sec-Fetch-Site": {"same-site"}, "Cookie": {ann.Issuer}}
	if got := ask(http.MethodPost, "/sign-out", elsewhere); got != http.StatusForbidden {
		t.Errorf("a product signs a person out: %d", got)
	}
	if got := ask(http.MethodGet, "/v1/session", elsewhere); got != http.StatusUnauthorized {
		t.Errorf("a product is a person: %d", got)
	}
	// A person whose issuer an API key has would be whoever the product says.
	if got := ask(http.MethodGet, "/v1/session", http.Header{"Cookie": {"https://acme.example"}}); got != http.StatusUnauthorized {
		t.Errorf("a person in a product's namespace: %d", got)
	}
	// One whose access was taken away is told so, and not sent to sign in once more.
	if got := ask(http.MethodGet, "/", http.Header{"Cookie": {ann.Issuer}}); got != http.StatusOK {
		t.Errorf("the page: %d", got)
	}
	if err := in.Disable(t.Context(), ann); err != nil {
		t.Fatal(err)
	}
	if got := ask(http.MethodGet, "/", http.Header{"Cookie": {ann.Issuer}}); got != http.StatusForbidden {
		t.Errorf("the page of a disabled person: %d", got)
	}
	for there, button := range map[bool]int{true: 1, false: 0} {
		text := string(web.DisabledPage(there))
		if strings.Count(text, `action="/sign-out"`) != button || strings.Contains(text, "<script") || !strings.Contains(text, "taken your access away") {
			t.Errorf("the page of a disabled person is\n%s", text)
		}
	}
}

// A request that is refused is told what to do next, and none of it comes back.
func TestProblemsSayWhatNext(t *testing.T) {
	t.Parallel()
	e := embed(t)
	for _, test := range []struct {
		key, body, code, want string
	}{
		{"", "{}", "api_key", "parley apikey"},
		{e.acme, `{"subject":"sentinel",`, "bad_request", "too early"},
		{e.acme, `{"subject":sentinel}`, "bad_request", "at byte 12"},
		{e.acme, `{"scopes":"sentinel"}`, "bad_request", "another kind of value"},
		{e.acme, `{"subject":"ann","conversation":"c","scopes":["read"],"Subject":"sentinel"}`, "bad_request", "in two ways"},
		{e.acme, `{"subject":"ann","conversation":"c","scopes":["read"],"subject":"sentinel"}`, "bad_request", "in two ways"},
		{e.acme, `{"subject":"ann","conversation":"c","scopes":["read"],"\u017fubject":"sentinel"}`, "bad_request", "in two ways"},
		{e.acme, `{"subject":"ann","tenant":"sentinel","conversation":"c","scopes":["read"]}`, "namespace", "tenants"},
	} {
		r := e.as(test.key).post("/v1/embed-tokens", test.body)
		var p struct{ Code, Detail string }
		if r.decode(&p); p.Code != test.code || !strings.Contains(p.Detail, test.want) || strings.Contains(string(r.body), "sentinel") {
			t.Errorf("%s: %s", test.body, r.body)
		}
	}
}

// What is minted and what is revoked is compared in the time of the store, whatever the
// clocks of the machines say.
func TestTokenTime(t *testing.T) {
	t.Parallel()
	key, row, err := serve.NewAPIKey("acme", "https://acme.example", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ahead := range []time.Duration{0, 30 * time.Second, time.Hour, -30 * time.Second, -time.Hour} {
		var later atomic.Int64 // of the store
		store := memstore.New(&memstore.Options{Now: func() time.Time { return time.Now().Add(-ahead + time.Duration(later.Load())) }})
		in := inbox.New(store, seal.NewRing(), nil)
		h, err := host.New(in, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		nobody := func(*http.Request) (*serve.Session, error) { return nil, serve.ErrSignedOut }
		server := serve.New(h, in, &serve.Options{Identify: nobody, APIKeys: []*serve.APIKey{row}, Keys: inbox.NewKeys()})
		ask := func(method, path, bearer, body string, want int) []byte {
			t.Helper()
			r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+bearer)
			w := httptest.NewRecorder()
			if server.Handler().ServeHTTP(w, r); w.Code != want {
				t.Errorf("a machine that is %v ahead: %s: %d, want %d", ahead, path, w.Code, want)
			}
			return w.Body.Bytes()
		}
		mint := func() (out embedToken) {
			t.Helper()
			if err := json.Unmarshal(ask(http.MethodPost, "/v1/embed-tokens", key, `{"subject":"ann","conversation":"c","scopes":["read"]}`, http.StatusCreated), &out); err != nil {
				t.Fatal(err)
			}
			return out
		}
		token := mint()
		ask(http.MethodGet, "/v1/questions", token.Token, "", http.StatusOK)
		ask(http.MethodPost, "/v1/embed-tokens/revoke", key, `{"subject":"ann"}`, http.StatusNoContent)
		ask(http.MethodGet, "/v1/questions", token.Token, "", http.StatusUnauthorized)
		later.Add(int64(time.Second))
		token = mint()
		ask(http.MethodGet, "/v1/questions", token.Token, "", http.StatusOK)
		later.Add(int64(serve.EmbedLife))
		ask(http.MethodGet, "/v1/questions", token.Token, "", http.StatusUnauthorized)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
