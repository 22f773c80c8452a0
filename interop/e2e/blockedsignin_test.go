package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/fakeprovider"
	"github.com/parley-mcp/parley/interop/browsertest"
	httpapi "github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/store/memstore"
	"github.com/parley-mcp/parley/vault"
)

// newGuardedOffice is an office whose server wants the tokens of a provider.
func newGuardedOffice(t *testing.T) (*office, *fakeprovider.Server) {
	t.Helper()
	provider, issuer := fakeprovider.Start(t, nil)
	desk := hosttest.NewServer(t, &hosttest.Script{
		Tools: map[string]hosttest.Tool{"note": func(x *hosttest.Exchange) {
			if x.State == nil {
				x.Asks(`{"q":{"method":"elicitation/create","params":{"message":"Which note?","requestedSchema":{"type":"object","properties":{"note":{"type":"string","title":"Note"}},"required":["note"]}}}}`, "s")
			} else {
				x.Text("noted " + string(x.Responses["q"]))
			}
		}},
		Intercept: func(w http.ResponseWriter, r *http.Request, _ string) bool {
			passed := false
			provider.Protect(issuer, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true })).ServeHTTP(w, r)
			return !passed
		},
	})
	servers := []*host.Server{{ID: "desk", URL: desk.URL}}
	ring := inbox.NewKeys()
	in := inbox.New(memstore.New(nil), ring, nil)
	endpoint, err := host.VaultEndpoint(servers)
	if err != nil {
		t.Fatal(err)
	}
	v, err := vault.New(vault.NewMemory(nil), ring, &vault.Options{Endpoint: endpoint, Audit: host.VaultAudit(in, servers)})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(in, servers, &host.Options{Vault: v})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- h.Run(ctx) }()
	api := httptest.NewServer(httpapi.New(h, in, &httpapi.Options{
		Identify: byCookie, SignIn: http.HandlerFunc(officeDoor), Keys: ring, Version: "test",
	}).Handler())
	t.Cleanup(func() {
		cancel()
		<-ran
		api.CloseClientConnections() // ends the streams
		api.Close()
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return &office{t: t, base: api.URL, inbox: in, host: h}, provider
}

// admit signs somebody in to the server without a browser.
func (o *office) admit(subject string) {
	o.t.Helper()
	page, err := o.host.SignIn(o.t.Context(), someone(subject), "desk", o.base+"/sign-in/servers/callback")
	if err != nil {
		o.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(o.t.Context(), http.MethodGet, page.URL, http.NoBody)
	if err != nil {
		o.t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		o.t.Fatal(err)
	}
	q := to.Query()
	if _, err := o.host.SignedIn(o.t.Context(), someone(subject), host.SignInReply{State: host.NewSecret(q.Get("state")), Code: host.NewSecret(q.Get("code")), Issuer: q.Get("iss")}); err != nil {
		o.t.Fatal(err)
	}
}

// state waits until the call of somebody is in the state.
func (o *office) state(subject string, id inbox.CallID, state inbox.CallState) *inbox.Call {
	o.t.Helper()
	var c *inbox.Call
	eventually(o.t, string(state), func() bool {
		got, err := o.inbox.Call(o.t.Context(), someone(subject), id)
		c = got
		return err == nil && got.State == state
	})
	return c
}

// signedOutSound looks at the page, whose console has the tools that could not be listed.
func signedOutSound(t *testing.T, page *browsertest.Page) {
	t.Helper()
	for _, finding := range page.Axe() {
		t.Errorf("axe: %s", finding)
	}
	for _, fault := range faults(page) {
		if !strings.Contains(fault, "502") || !strings.Contains(fault, "/v1/servers/desk/tools") {
			t.Errorf("the console: %s", fault)
		}
	}
}

// A call that is blocked for want of a sign-in says so on its own card. The sign-in that
// begins there lets every call of that person to that server go on, with the answers that
// were given before, and nobody else's. The browser's session is a cookie throughout.
func TestBlockedCallsSignIn(t *testing.T) {
	t.Parallel()
	o, provider := newGuardedOffice(t)
	note := func(subject, conversation string) inbox.CallID {
		c, err := o.host.Start(t.Context(), someone(subject), host.NewCall{Conversation: conversation, Server: "desk", Name: "note", Arguments: json.RawMessage(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		o.state(subject, c.ID, inbox.Waiting)
		return c.ID
	}
	for _, subject := range []string{"ann", "bob"} {
		o.admit(subject)
	}
	first, second, bobs := note("ann", "v_1"), note("ann", "v_2"), note("bob", "v_1")
	for _, subject := range []string{"ann", "bob"} { // while the questions are open the sign-ins end
		if _, err := o.host.SignOut(t.Context(), someone(subject), "desk"); err != nil {
			t.Fatal(err)
		}
	}
	answer := func(subject string, id inbox.CallID, note string) {
		list, err := o.inbox.Questions(t.Context(), someone(subject), inbox.QuestionFilter{Call: id})
		if err != nil || len(list) != 1 {
			t.Fatalf("%d questions, %v", len(list), err)
		}
		if _, err := o.inbox.Answer(t.Context(), someone(subject), list[0].ID, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"note":"` + note + `"}`)}); err != nil {
			t.Fatal(err)
		}
		o.state(subject, id, inbox.Blocked)
	}
	answer("ann", second, "the other one")
	answer("bob", bobs, "of bob")

	ann := o.enter("ann")
	ann.Goto(o.base + "/?c=v_1")
	ann.Fill("Note", "the blue one")
	ann.Click(button("Send to desk"))
	o.state("ann", first, inbox.Blocked)
	card := byCSS(`[data-call] [data-part="sign-in"] [data-action="sign-in"]`)
	ann.WaitText("desk wants you to sign in first.")
	ann.WaitFor(card)
	ann.WaitText("wants a sign-in") // in the list of servers, where it does not count as out of reach
	if text := ann.Text(browsertest.Query{}); strings.Contains(text, "cannot be reached") {
		t.Errorf("the page says that the server cannot be reached:\n%s", text)
	}
	signedOutSound(t, ann)
	ann.Click(card)
	ann.WaitText("Check that this is where you have your account.")
	signedOutSound(t, ann)
	address := browsertest.Eval[string](ann, `(() => {`+walk+` return find((e) => e.dataset?.action === 'leave' ? e : null).href })()`)

	// Somebody else who goes there takes nothing away, and gets nothing.
	bob := o.enter("bob")
	astray := bob.Tab(address)
	astray.WaitText("was begun by somebody else. This request changed nothing.")
	o.state("ann", first, inbox.Blocked)
	o.state("bob", bobs, inbox.Blocked)

	tab := ann.Tab(address)
	tab.WaitText("You are signed in to desk")
	tab.WaitText("2 calls that waited for it go on.")
	ann.WaitText("noted")
	if got := o.state("ann", first, inbox.Done); !strings.Contains(string(got.Result), "the blue one") {
		t.Errorf("%s", got.Result)
	}
	if got := o.state("ann", second, inbox.Done); !strings.Contains(string(got.Result), "the other one") {
		t.Errorf("%s", got.Result)
	}
	if got := o.state("bob", bobs, inbox.Blocked); got.Reason != inbox.ReasonSignIn {
		t.Errorf("bob's call: %s", got.Reason)
	}
	if n := provider.Counts().Exchange; n != 3 {
		t.Errorf("%d codes were exchanged", n)
	}
	ann.WaitGone(card)

	// And out again, from the list of servers.
	tab.Click(byCSS(`[data-action=back]`))
	tab.Click(button("Sign out of desk"))
	tab.WaitText("it has confirmed that what you allowed has ended")
	if n := tab.Count(button("Sign out of desk")); n != 0 {
		t.Error("one can sign out twice")
	}
	signedOutSound(t, tab)
	if st, err := o.host.SignIns(t.Context(), someone("ann")); err != nil || st["desk"].Kept {
		t.Errorf("%+v, %v", st["desk"], err)
	}
	tab.Goto(o.base + "/?view=trail")
	tab.WaitText("You signed out of desk")
	tab.WaitText("You signed in to desk")
}
