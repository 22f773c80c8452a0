package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/serve/client"
	"github.com/parley-mcp/parley/serve/internal/conform"
	"github.com/parley-mcp/parley/store/memstore"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

// A site is a host behind a door that notes what was asked and can cut connections.
type site struct {
	*httptest.Server
	token, key string
	inbox      *inbox.Inbox

	mu    sync.Mutex
	asked map[string]bool // "GET /v1/calls/{id}"
	cut   func()          // ends the event streams that are open
	cuts  context.Context
}

const page = `{"mode":"url","message":"Sign in","url":"https://example.com/a"}`

func newSite(t *testing.T) *site {
	t.Helper()
	ask := func(params string) hosttest.Tool {
		return func(x *hosttest.Exchange) {
			if x.Responses == nil {
				x.Asks(`{"q":{"method":"elicitation/create","params":`+params+`}}`, "state")
				return
			}
			x.Text(string(x.Responses["q"]))
		}
	}
	server := hosttest.NewServer(t, &hosttest.Script{Tools: map[string]hosttest.Tool{
		"name": ask(`{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","minLength":2}},"required":["name"]}}`),
		"page": ask(page),
		"fail": func(x *hosttest.Exchange) { x.Error(-32000, "no", "") },
	}})
	local, err := serve.OpenLocal(filepath.Join(t.TempDir(), "token"))
	if err != nil {
		t.Fatal(err)
	}
	key, row, err := serve.NewAPIKey("acme", "https://acme.example", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	in := inbox.New(memstore.New(nil), inbox.NewKeys(), &inbox.Options{QuestionsPerMinute: 1000})
	h, err := host.New(in, []*host.Server{{ID: "desk", URL: server.URL}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- h.Run(ctx) }()
	api := serve.New(h, in, &serve.Options{Local: local, APIKeys: []*serve.APIKey{row}, Keys: inbox.NewKeys()}).Handler()
	api = conform.Handler(t, api)
	s := &site{key: key, inbox: in, asked: map[string]bool{}}
	s.cuts, s.cut = context.WithCancel(context.Background())
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked[r.Method+" "+template(r.URL.Path)] = true
		cuts := s.cuts
		s.mu.Unlock()
		if r.URL.Path == "/v1/events" {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(cuts, cancel)()
			r = r.WithContext(ctx)
		}
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		stop()
		<-ran
		s.CloseClientConnections()
		s.Close()
	})
	var signedIn client.SignedIn
	resp, err := http.Post(s.URL+"/v1/sign-in", "application/json", strings.NewReader(`{"token":"`+local.OneTime()+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&signedIn); err != nil {
		t.Fatal(err)
	}
	s.token = signedIn.Token
	return s
}

func template(path string) string {
	parts := strings.Split(path, "/")
	if len(parts) > 3 && parts[2] != "sign-in" && parts[2] != "embed-tokens" && parts[2] != "refusals" && parts[2] != "ops" {
		parts[3] = "{id}"
	}
	if path == "/v1/servers/sign-in/callback" {
		return path
	}
	if len(parts) > 4 && parts[2] == "ops" && parts[3] == "webhooks" {
		parts[4] = "{id}"
	}
	return strings.Join(parts, "/")
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// settle follows a call until it waits for the person or has ended.
func settle(t *testing.T, c *client.Client, call *client.Call) *client.Call {
	t.Helper()
	for call.State == "ready" || call.State == "claimed" || call.State == "sent" {
		call = must[*client.Call](t)(c.Wait(t.Context(), call.ID, call.Version, 30e9))
	}
	return call
}

func compose(t *testing.T, c *client.Client, tool string) *client.Call {
	t.Helper()
	return settle(t, c, must[*client.Call](t)(c.Compose(t.Context(), client.NewCall{
		Conversation: "v_1", Server: "desk", Tool: tool, Arguments: json.RawMessage(`{}`),
	}, "")))
}

// A walk through the API uses every route of the document, so that none is forgotten.
func TestEveryRoute(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c, ctx := client.New(s.URL, client.Bearer(s.token)), t.Context()

	if who := must[*client.Session](t)(c.Session(ctx)); who.Principal.Subject != "operator" || !who.Operator {
		t.Errorf("%+v", who)
	}
	if list := must[[]client.Server](t)(c.Servers(ctx)); len(list) != 1 || list[0].ID != "desk" {
		t.Errorf("%+v", list)
	}
	tools := must[[]client.Tool](t)(c.Tools(ctx, "desk"))
	if len(tools) != 3 {
		t.Errorf("%+v", tools)
	}
	if err := c.SeenTools(ctx, "desk", client.SeenTools{Tools: []client.SeenTool{{Name: tools[0].Name, Fingerprint: tools[0].Fingerprint}}}); err != nil {
		t.Errorf("seen: %v", err)
	}

	call := compose(t, c, "name")
	open := must[[]*client.Question](t)(c.OpenQuestions(ctx))
	if len(open) != 1 || open[0].Call != call.ID || open[0].View.Fields[0].Name != "name" {
		t.Fatalf("%+v", open)
	}
	_, err := c.Check(ctx, open[0].ID, client.Entries{Input: form.Input{"name": form.Typed("x")}})
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Code != "check_failed" || len(e.Errors) != 1 || e.Errors[0].Field != "name" {
		t.Errorf("a short name: %v", err)
	}
	checked := must[*client.Checked](t)(c.Check(ctx, open[0].ID, client.Entries{Input: form.Input{"name": form.Typed("Ann")}}))
	if string(checked.Content) != `{"name":"Ann"}` {
		t.Errorf("%s", checked.Content)
	}
	must[*client.Question](t)(c.Question(ctx, open[0].ID))
	must[*client.Question](t)(c.Answer(ctx, open[0].ID, client.NewAnswer{Action: inbox.Accept, Content: checked.Content}, "key"))
	if _, err := c.Answer(ctx, open[0].ID, client.NewAnswer{Action: inbox.Decline}, ""); client.Code(err) != "question_closed" {
		t.Errorf("a second answer: %v", err)
	}
	if _, err := c.TakeBack(ctx, open[0].ID); err != nil && client.Code(err) != "too_late" {
		t.Errorf("taking back: %v", err)
	}

	call = compose(t, c, "page")
	q := must[*client.Question](t)(c.Question(ctx, call.Questions[0]))
	if _, err := c.Open(ctx, q.ID, client.Consent{URLSHA256: "0"}); client.Code(err) != "url_changed" {
		t.Errorf("another address: %v", err)
	}
	call = must[*client.Call](t)(c.DeclineRest(ctx, call.ID, ""))
	settle(t, c, call)

	call = compose(t, c, "name")
	call = must[*client.Call](t)(c.Stop(ctx, call.ID))
	again := must[*client.Call](t)(c.RunAgain(ctx, call.ID, ""))
	if again.Replaces != call.ID {
		t.Errorf("%+v", again)
	}
	if _, err := c.Resolve(ctx, call.ID, client.NewResolution{How: inbox.GiveUp}, ""); client.Code(err) != "wrong_state" {
		t.Errorf("resolving what is certain: %v", err)
	}
	again = settle(t, c, must[*client.Call](t)(c.Call(ctx, again.ID)))

	asked := must[*inbox.Call](t)(s.inbox.Compose(ctx, serve.LocalPrincipal, inbox.NewCall{
		Conversation: "v_1", Server: "desk", Method: "tools/call", Name: "fail", Ask: &inbox.Ask{Fingerprint: "f", Offer: []inbox.Scope{inbox.Always}},
	}))
	approvals := must[[]*client.Approval](t)(c.OpenApprovals(ctx))
	if len(approvals) != 1 || approvals[0].Call != asked.ID {
		t.Fatalf("%+v", approvals)
	}
	must[*client.Approval](t)(c.Decide(ctx, approvals[0].ID, client.NewDecision{Allow: true, Scope: inbox.Always}, ""))
	must[*client.Approval](t)(c.Revoke(ctx, approvals[0].ID))
	if err := func() error { _, err := c.Approval(ctx, "a_none"); return err }(); client.Code(err) != "not_found" {
		t.Errorf("an approval that is not there: %v", err)
	}

	must[[]*client.Conversation](t)(c.Conversations(ctx))
	if snapshot := must[*client.Snapshot](t)(c.Conversation(ctx, "v_1")); len(snapshot.Calls) != 5 || snapshot.Event == 0 {
		t.Errorf("%d calls, event %d", len(snapshot.Calls), snapshot.Event)
	}
	must[*client.FreshToken](t)(c.FreshAddress(ctx))
	backend := client.New(s.URL, client.Bearer(s.key))
	minted := must[*client.EmbedToken](t)(backend.MintToken(ctx, client.TokenRequest{Subject: "u-1", Conversation: "v", Scopes: []client.Scope{client.ScopeRead}}))
	page := client.New(s.URL, client.Bearer(minted.Token))
	must[[]*client.Question](t)(page.OpenQuestions(ctx))
	if err := backend.RevokeTokens(ctx, client.Revocation{Subject: "u-1"}); err != nil {
		t.Error(err)
	}
	if _, err := page.OpenQuestions(ctx); client.Code(err) != "signed_out" {
		t.Errorf("a revoked token: %v", err)
	}
	for _, err := range c.Events(ctx, 0) {
		if err != nil {
			t.Error(err)
		}
		break
	}

	q = must[*client.Question](t)(c.Question(ctx, again.Questions[0]))
	if err := c.Shown(ctx, q.ID, client.Evidence{Evidence: "drawn"}); err != nil {
		t.Error(err)
	}
	if err := c.ShownApproval(ctx, approvals[0].ID, client.Evidence{Evidence: "drawn"}); err != nil && client.Code(err) != "approval_closed" {
		t.Error(err)
	}
	if list := must[[]client.Refusal](t)(c.Refusals(ctx)); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	if err := c.ClearRefusals(ctx, ""); err != nil {
		t.Error(err)
	}
	if n := must[int](t)(c.StopServer(ctx, "desk")); n == 0 {
		t.Error("nothing was stopped")
	}
	if list := must[[]*inbox.AuditEntry](t)(c.Audit(ctx, again.ID, 0)); len(list) == 0 || list[0].Call != again.ID {
		t.Errorf("%+v", list)
	}
	if list := must[[]*inbox.AuditEntry](t)(c.AuditAll(ctx, 0)); len(list) < 10 {
		t.Errorf("%d entries", len(list))
	}
	bob := client.Principal{Issuer: "https://acme.example", Subject: "bob"}
	for _, do := range []func(context.Context, client.Principal) error{c.Disable, c.Enable, c.Erase} {
		if err := do(ctx, bob); err != nil {
			t.Error(err)
		}
	}
	if list, err := c.Webhooks(ctx); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := c.Redeliver(ctx, "none"); client.Code(err) != "not_found" {
		t.Error(err)
	}

	// What is a sign-in to a server is proven with one that wants it (serve/serversignin_test.go).
	if _, err := c.SignIn(ctx, "desk"); client.Code(err) != "no_sign_in" {
		t.Error(err)
	}
	if _, err := c.SignedIn(ctx, client.SignInReply{State: "x", Code: "y"}); client.Code(err) != "no_sign_in" {
		t.Error(err)
	}
	if _, err := c.ChooseAccount(ctx, "desk", client.AccountChoice{Decision: "x"}); client.Code(err) != "no_sign_in" {
		t.Error(err)
	}
	if _, err := c.SignOut(ctx, "desk"); client.Code(err) != "no_sign_in" {
		t.Error(err)
	}

	var document struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(serve.OpenAPI(), &document); err != nil {
		t.Fatal(err)
	}
	for path, methods := range document.Paths {
		for method := range methods {
			route := strings.ToUpper(method) + " " + path
			if !s.asked[route] && path != "/v1/openapi.json" {
				t.Errorf("nothing asks %s", route)
			}
		}
	}
}

// A stream that breaks goes on where it was: nothing is missed, nothing comes twice.
func TestEventsComeBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := client.New(s.URL, client.Bearer(s.token))
	last, ended := int64(0), map[inbox.CallID]bool{}
	var calls []*client.Call
	for e, err := range c.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq < last || e.Seq == last && e.Kind != "hello" {
			t.Fatalf("event %d after %d", e.Seq, last)
		}
		last = e.Seq
		row, err := e.Row()
		if err != nil {
			t.Fatal(err)
		}
		if call, ok := row.(*client.Call); ok && call.State == "failed" {
			ended[call.ID] = true
		}
		if e.Kind == "hello" || len(ended) == len(calls) && len(calls) < 3 {
			s.mu.Lock() // the connection ends, and what happens meanwhile is not lost
			s.cut()
			s.cuts, s.cut = context.WithCancel(context.Background())
			s.mu.Unlock()
			calls = append(calls, compose(t, c, "fail"))
		}
		if len(ended) == 3 {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut()
}

// What is no host is told from one, and a bearer goes nowhere else.
func TestNoHost(t *testing.T) {
	t.Parallel()
	stolen := make(chan string, 10)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen <- r.Header.Get("Authorization") }))
	t.Cleanup(thief.Close)
	for name, answer := range map[string]http.HandlerFunc{
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
		},
		"a page": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
		"an error page": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			io.WriteString(w, "<html>")
		},
		"an odd problem": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"title":"x"}`)
		},
		"the wrong type":   func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `[1]`) },
		"half an answer":   func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"principal":{`) },
		"a cut connection": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		server := httptest.NewServer(answer)
		t.Cleanup(server.Close)
		_, err := client.New(server.URL, client.Bearer("sentinel-bearer")).Session(t.Context())
		if err == nil || strings.Contains(err.Error(), "sentinel") {
			t.Errorf("%s: %v", name, err)
		}
	}
	select {
	case got := <-stolen:
		t.Errorf("the bearer went elsewhere: %q", got)
	default:
	}
}

// A host without a place for one who waits is asked again: as long as there is time to
// wait, and then once without waiting. Any other refusal is one.
func TestWaitForAPlace(t *testing.T) {
	t.Parallel()
	const limit = `{"code":"limit","title":"That is more than this host takes at once.","status":429}`
	for name, test := range map[string]struct {
		free bool // from the second request on
		wait time.Duration
	}{"a place after a while": {true, time.Minute}, "no place in time": {false, time.Second}, "no time": {false, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.Query().Get("wait"))
				if wait := asked[len(asked)-1]; wait != "0.000" && (!test.free || len(asked) == 1) {
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(http.StatusTooManyRequests)
					io.WriteString(w, limit)
					return
				}
				io.WriteString(w, `{"id":"c_1","state":"done"}`)
			}))
			t.Cleanup(server.Close)
			call, err := client.New(server.URL, nil).Wait(t.Context(), "c_1", 1, test.wait)
			if err != nil || call.State != "done" {
				t.Fatalf("%+v, %v", call, err)
			}
			if want := 2; test.wait > 0 && len(asked) < want || test.free && len(asked) != want {
				t.Errorf("asked with wait=%q", asked)
			}
		})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, limit)
	}))
	t.Cleanup(server.Close)
	if _, err := client.New(server.URL, nil).Wait(t.Context(), "c_1", 1, time.Millisecond); client.Code(err) != "limit" {
		t.Errorf("a host that never has time: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.New(server.URL, nil).Wait(ctx, "c_1", 1, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up: %v", err)
	}
}

// An event stream that is not one ends with an error and not with the memory.
func TestHostileStream(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"an odd number": "id: x\ndata: {}\n\n",
		"no end":        "id: 1\ndata: " + strings.Repeat("x", 1<<20),
	} {
		asked := 0
		ctx, cancel := context.WithCancel(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked++; asked > 1 {
				cancel() // it came back: the first stream was given up
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, text)
		}))
		t.Cleanup(server.Close)
		for e, err := range client.New(server.URL, nil).Events(ctx, 5) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
		cancel()
	}
	// One that the host refuses ends the loop.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"code":"signed_out","title":"You are not signed in.","status":401}`)
	}))
	t.Cleanup(server.Close)
	n := 0
	for _, err := range client.New(server.URL, nil).Events(t.Context(), 0) {
		if n++; client.Code(err) != "signed_out" {
			t.Errorf("%v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d errors", n)
	}
}

func Example() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"questions":[{"id":"q_1","server":"travel","message":"Which connection do you want?"}]}`)
	}))
	defer api.Close()
	c := client.New(api.URL, client.Bearer("the token of the data directory"))
	questions, err := c.OpenQuestions(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, q := range questions {
		fmt.Println(q.Server, "asks:", q.Message)
	}
	// Output: travel asks: Which connection do you want?
}
