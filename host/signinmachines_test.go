package host_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/fakeprovider"
)

// What a server misses is known to every machine: the sign-in on another one asks for
// it, and for all that was allowed before.
func TestStepUpOnAnotherMachine(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct{ method, code string }{
		"a call":              {"tools/call", "insufficient_scope"},
		"a call, by the SDK":  {"tools/call", "-"},
		"the tools":           {"tools/list", "insufficient_scope"},
		"a session":           {"initialize", "insufficient_scope"},
		"a session, by a SDK": {"initialize", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guard(t, "2025-11-25", okTool, nil)
			g.OAuth.Scopes = []string{"files:read"}
			b := backends["memory"](t)
			first, second := g.machine(t, b, host.Options{}), g.machine(t, b, host.Options{})
			first.signIn()
			call := first.start("shop", "tool", "")
			g.mu.Lock()
			g.needs, g.at, g.code = "files:write", at.method, at.code
			g.mu.Unlock()
			acting := first
			if at.method != "tools/call" { // the first one has its session
				acting = g.machine(t, b, host.Options{})
			}
			got := acting.step(call.ID, host.Blocked)
			if got.Reason != inbox.ReasonSignIn || got.Detail != "shop wants you to sign in again and allow it more: files:write." {
				t.Errorf("%s: %s", got.Reason, got.Detail)
			}
			if st := acting.Servers(ada)[0]; st.State != host.SignInFirst || st.Error != got.Detail {
				t.Errorf("the list says %s: %s", st.State, st.Error)
			}
			if st := second.signInState(); st.State != host.SignInNeeded || !slices.Equal(st.Missing, []string{"files:write"}) {
				t.Errorf("the second machine: %+v", st)
			}
			if st, err := second.SignIns(t.Context(), bob); err != nil || st["shop"].State != host.SignInNone || len(st["shop"].Missing) > 0 {
				t.Errorf("somebody else: %+v, %v", st["shop"], err)
			}
			page := second.page()
			if !slices.Equal(page.Scopes, []string{"files:read", "files:write"}) {
				t.Errorf("the second machine asks for %q", page.Scopes)
			}
			if got, err := second.SignedIn(t.Context(), ada, visit(t, page.URL)); err != nil || got.Resumed != 1 {
				t.Fatalf("%+v, %v", got, err)
			}
			// Any machine says so, the one too that was refused.
			for i, m := range []*rig{first, second, acting} {
				if st := m.signInState(); st.State != host.SignInDone || len(st.Missing) > 0 {
					t.Errorf("machine %d: %+v", i, st)
				}
			}
			acting.step(call.ID, "")
		})
	}
}

// What is not allowed in a sign-in stays known.
func TestStepUpNotAllowed(t *testing.T) {
	t.Parallel()
	g := guard(t, "", okTool, nil)
	g.OAuth.Scopes = []string{"files:read"}
	r := g.machine(t, nil, host.Options{})
	r.signIn()
	g.mu.Lock()
	g.needs = "files:write"
	g.mu.Unlock()
	r.step(r.start("shop", "tool", "").ID, host.Blocked)
	// The page of the authorization server, with a box that was not ticked.
	page := r.page().URL
	narrow := withQuery(t, page, "scope", "files:read")
	got, err := r.SignedIn(t.Context(), ada, visit(t, narrow))
	if err != nil || got.Outcome != host.SignedInDone || !slices.Equal(got.Missing, []string{"files:write"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if st := r.signInState(); st.State != host.SignInNeeded || !slices.Equal(st.Missing, []string{"files:write"}) {
		t.Errorf("%+v", st)
	}
	if again := r.page(); !slices.Equal(again.Scopes, []string{"files:read", "files:write"}) {
		t.Errorf("the next one asks for %q", again.Scopes)
	}
}

// A sign-in on one machine is seen on another, which had been refused before.
func TestSignInIsSeenElsewhere(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"nothing", "a grant that is refused"} {
		t.Run(before, func(t *testing.T) {
			t.Parallel()
			g := guard(t, "", okTool, nil)
			b := backends["memory"](t)
			refused, other := g.machine(t, b, host.Options{}), g.machine(t, b, host.Options{})
			if before != "nothing" {
				other.signIn()
				g.all.Store(true)
			}
			if _, err := refused.Tools(t.Context(), ada, "shop"); err == nil {
				t.Fatal("it was not refused")
			}
			state := func(want host.State, in host.SignInState) {
				t.Helper()
				if st := refused.signInState(); st.State != in {
					t.Errorf("%+v, want %s", st, in)
				}
				st := refused.Servers(ada)[0]
				if st.State != want || (st.Error != "") != (want == host.SignInFirst) {
					t.Errorf("%+v, want %s", st, want)
				}
				if want == host.SignInFirst && st.Error != "shop wants you to sign in first." {
					t.Errorf("%q", st.Error)
				}
			}
			state(host.SignInFirst, host.SignInNeeded)
			state(host.SignInFirst, host.SignInNeeded) // looking changes nothing
			g.all.Store(false)
			other.signIn()
			state(host.Idle, host.SignInDone)
			if _, err := refused.Tools(t.Context(), ada, "shop"); err != nil {
				t.Error(err)
			}
			state(host.Connected, host.SignInDone)
		})
	}
}

// A person who signs in while the server refuses a call has done so for that call too.
func TestSignedInMeanwhile(t *testing.T) {
	t.Parallel()
	g := guard(t, "2025-11-25", okTool, nil)
	b := backends["memory"](t)
	r, acting, other := g.machine(t, b, host.Options{}), g.machine(t, b, host.Options{}), g.machine(t, b, host.Options{})
	r.signIn()
	call := r.start("shop", "tool", "")
	if _, err := r.SignOut(t.Context(), ada, "shop"); err != nil {
		t.Fatal(err)
	}
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	g.mu.Lock()
	g.hold = func(method, access string) {
		if method == "initialize" && access == "" {
			once.Do(func() { close(held); <-release })
		}
	}
	g.mu.Unlock()
	acting.run()
	<-held
	// The sign-in on another machine has come to its end before the refusal arrives.
	if got := other.signIn(); got.Resumed != 0 {
		t.Errorf("%d calls go on: it was blocked already", got.Resumed)
	}
	close(release)
	if done := r.until(call.ID, inbox.Done); text(t, done) != "ok" {
		t.Errorf("%s", done.Result)
	}
}

// The servers file has another secret than before: what was signed in to with the old one
// is renewed with the new one.
func TestSecretOfTheFileChanges(t *testing.T) {
	t.Parallel()
	g := guard(t, "", okTool, nil)
	client := fakeprovider.Client{ID: "parley-1", Secret: "old", Method: "client_secret_basic", RedirectURIs: []string{back}}
	g.provider.AddClient(client)
	g.OAuth = host.OAuth{ClientID: "parley-1", ClientSecret: host.NewSecret("old"), Issuer: g.issuer}
	b := backends["memory"](t)
	before := g.machine(t, b, host.Options{})
	before.signIn()
	before.step(before.start("shop", "tool", "").ID, "")
	call := before.start("shop", "tool", "")

	client.Secret = "new"
	g.provider.AddClient(client)
	next := *g.Server
	next.OAuth.ClientSecret = host.NewSecret("new")
	g.Server = &next
	after := g.machine(t, b, host.Options{})
	g.ahead.Store(int64(2 * time.Hour)) // the token has ended
	after.run()
	if done := after.until(call.ID, inbox.Done); text(t, done) != "ok" || done.Sends != 1 {
		t.Errorf("%s, %d sends", done.Result, done.Sends)
	}
	if n := g.provider.Counts(); n.Refreshed != 1 || n.Refresh != 1 || n.Register != 0 {
		t.Errorf("%+v", n)
	}
}
