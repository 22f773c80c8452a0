package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/fakeprovider"
	"github.com/parley-mcp/parley/vault"
)

// The whole way in both eras: nothing goes without a sign-in, a sign-in that ended
// blocks what is parked when it goes on, and another one lets it go on, with the
// answers that were given.
func TestSignIn(t *testing.T) {
	t.Parallel()
	ok := func(x *hosttest.Exchange) { x.Text("ok") }
	for revision, tools := range map[string]map[string]hosttest.Tool{
		"2026-07-28": {"tool": ok, "park": func(x *hosttest.Exchange) {
			if x.State == nil {
				x.Asks("{"+request("q", askName)+"}", "s")
			} else {
				x.Text(string(x.Responses["q"]))
			}
		}},
		"2025-11-25": {"tool": ok, "park": func(x *hosttest.Exchange) {
			var r struct{ Result json.RawMessage }
			_ = json.Unmarshal(x.Elicit(askName), &r)
			x.Text(string(r.Result))
		}},
	} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			g := guard(t, revision, tools, nil)
			r := g.machine(t, nil, host.Options{})
			r.run()
			if _, err := r.Tools(t.Context(), ada, "shop"); !errors.Is(err, host.ErrSignIn) {
				t.Fatalf("Tools: %v, want ErrSignIn", err)
			}
			if st := r.signInState(); st.State != host.SignInNeeded || !st.Can {
				t.Errorf("before: %+v", st)
			}
			page := r.page()
			if page.Issuer != g.issuer {
				t.Errorf("issuer %s", page.Issuer)
			}
			got, err := r.SignedIn(t.Context(), ada, visit(t, page.URL))
			if err != nil || got.Outcome != host.SignedInDone || got.Server != "shop" {
				t.Fatalf("%+v, %v", got, err)
			}
			if form := g.provider.Form("token"); form.Get("resource") != g.URL || form.Get("redirect_uri") != back {
				t.Errorf("resource %q, redirect_uri %q", form.Get("resource"), form.Get("redirect_uri"))
			}
			if st := r.signInState(); st.State != host.SignInDone {
				t.Errorf("after: %+v", st)
			}
			call := r.start("shop", "park", "")
			q := r.next(call.ID)
			if revision == "2026-07-28" {
				// While the person thinks the grant ends.
				g.refuse(g.calls()...)
				g.provider.Misbehave("token", fakeprovider.Fault{Status: 400, Body: `{"error":"invalid_grant"}`})
				r.answer(q, inbox.Accept, `{"name":"Ada"}`)
				blocked := r.until(call.ID, inbox.Blocked)
				if blocked.Reason != inbox.ReasonSignIn || blocked.Detail != "shop wants you to sign in first." {
					t.Errorf("blocked %s: %s", blocked.Reason, blocked.Detail)
				}
				if st := r.signInState(); st.State != host.SignInNeeded {
					t.Errorf("meanwhile: %+v", st)
				}
				if got := r.signIn(); got.Resumed != 1 {
					t.Errorf("%d calls go on", got.Resumed)
				}
			} else {
				r.answer(q, inbox.Accept, `{"name":"Ada"}`)
			}
			if done := r.until(call.ID, inbox.Done); text(t, done) != `{"action":"accept","content":{"name":"Ada"}}` {
				t.Errorf("%s", done.Result)
			}
			if len(g.calls()) == 0 || slices.Contains(g.calls(), "") {
				t.Errorf("calls without a token: %q", g.calls())
			}
		})
	}
}

// A token that has ended is renewed before anything is sent.
func TestTokenIsRenewedBeforeTheMark(t *testing.T) {
	t.Parallel()
	g := guard(t, "", map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("ok") }}, nil)
	r := g.machine(t, nil, host.Options{})
	r.signIn()
	r.step(r.start("shop", "tool", "").ID, "")
	call := r.start("shop", "tool", "")
	g.ahead.Store(int64(2 * time.Hour))
	done := r.step(call.ID, "")
	seen := g.calls()
	if done.Sends != 1 || len(seen) != 2 || seen[0] == seen[1] || g.provider.Counts().Refreshed != 1 {
		t.Errorf("%d sends, tokens %d, refreshed %d", done.Sends, len(seen), g.provider.Counts().Refreshed)
	}
	rows, err := r.in.Audit(t.Context(), ada, inbox.AuditFilter{Call: call.ID, Kinds: []inbox.AuditKind{inbox.AuditCredentialRead}})
	if err != nil || len(rows) == 0 || rows[0].Server != "shop" {
		t.Errorf("the audit of the call: %d rows, %v", len(rows), err)
	}
}

// The authorization server is away, and the token has ended: nothing is sent, and it is
// no fault of the person.
func TestNoFreshToken(t *testing.T) {
	t.Parallel()
	g := guard(t, "", map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("ok") }}, nil)
	r := g.machine(t, nil, host.Options{})
	r.signIn()
	call := r.start("shop", "tool", "")
	g.ahead.Store(int64(2 * time.Hour))
	g.provider.Misbehave("token", fakeprovider.Fault{Status: 503})
	got := r.step(call.ID, host.Blocked)
	if got.Reason != inbox.ReasonUnreachable || got.Sends != 0 || got.NotBefore.IsZero() ||
		got.Detail != "shop cannot be reached: its authorization server gives no fresh token at the moment." {
		t.Errorf("%s, %d sends, %s", got.Reason, got.Sends, got.Detail)
	}
}

// A 401 to a call is answered with one fresh token and one more send.
func TestRefusedTokenIsRenewedOnce(t *testing.T) {
	t.Parallel()
	for _, always := range []bool{false, true} {
		t.Run(fmt.Sprintf("always %v", always), func(t *testing.T) {
			t.Parallel()
			g := guard(t, "", map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("ok") }}, nil)
			r := g.machine(t, nil, host.Options{})
			r.signIn()
			r.step(r.start("shop", "tool", "").ID, "")
			call := r.start("shop", "tool", "")
			g.refuse(g.calls()...)
			g.all.Store(always)
			why := host.Why("")
			if always {
				why = host.Blocked
			}
			got := r.step(call.ID, why)
			if n := g.provider.Counts().Refreshed; n != 1 || len(g.calls()) != 3 {
				t.Errorf("%d renewals, %d calls on the wire", n, len(g.calls()))
			}
			if always && got.Reason != inbox.ReasonSignIn {
				t.Errorf("blocked %s", got.Reason)
			}
		})
	}
}

// A server asks for more than was allowed: the person is told what, and the next
// sign-in asks for it beside all that was allowed before.
func TestStepUp(t *testing.T) {
	t.Parallel()
	g := guard(t, "", map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("ok") }}, nil)
	g.OAuth.Scopes = []string{"files:read"}
	r := g.machine(t, nil, host.Options{})
	r.signIn()
	call := r.start("shop", "tool", "")
	g.mu.Lock()
	g.needs = "files:write"
	g.mu.Unlock()
	got := r.step(call.ID, host.Blocked)
	if got.Reason != inbox.ReasonSignIn || got.Detail != "shop wants you to sign in again and allow it more: files:write." {
		t.Errorf("%s: %s", got.Reason, got.Detail)
	}
	if st := r.signInState(); st.State != host.SignInNeeded || !slices.Equal(st.Missing, []string{"files:write"}) {
		t.Errorf("%+v", st)
	}
	page := r.page()
	if !slices.Equal(page.Scopes, []string{"files:read", "files:write"}) {
		t.Errorf("asks for %q", page.Scopes)
	}
	if got, err := r.SignedIn(t.Context(), ada, visit(t, page.URL)); err != nil || got.Resumed != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	r.step(call.ID, "")
	if st := r.signInState(); st.State != host.SignInDone || len(st.Missing) > 0 {
		t.Errorf("%+v", st)
	}
}

// Who answers is compared byte for byte, before anything else of the answer counts.
func TestIssuerOfTheAnswer(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*host.SignInReply){
		"another":                  func(r *host.SignInReply) { r.Issuer = "https://evil.example" },
		"a slash":                  func(r *host.SignInReply) { r.Issuer += "/" },
		"upper case":               func(r *host.SignInReply) { r.Issuer = strings.ToUpper(r.Issuer) },
		"missing, though promised": func(r *host.SignInReply) { r.Issuer = "" },
		"another, with an error":   func(r *host.SignInReply) { r.Issuer, r.Error = "https://evil.example", "access_denied" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guard(t, "", nil, nil)
			r := g.machine(t, nil, host.Options{})
			reply := visit(t, r.page().URL)
			change(&reply)
			_, err := r.SignedIn(t.Context(), ada, reply)
			if e, ok := errors.AsType[*host.SignInError](err); !ok || strings.Contains(e.Error(), "evil") {
				t.Errorf("%v, want a SignInError without the stranger's name", err)
			}
			if g.provider.Counts().Exchange != 0 {
				t.Error("the code was sent")
			}
		})
	}
	t.Run("not promised, and missing", func(t *testing.T) {
		t.Parallel()
		g := guard(t, "", nil, &fakeprovider.Options{NoIss: true})
		if got := g.machine(t, nil, host.Options{}).signIn(); got.Outcome != host.SignedInDone {
			t.Errorf("%+v", got)
		}
	})
}

// A state is one person's, and good once: who comes later hears what came of it.
func TestStateOfASignIn(t *testing.T) {
	t.Parallel()
	g := guard(t, "", nil, nil)
	r := g.machine(t, nil, host.Options{})
	reply := visit(t, r.page().URL)
	if _, err := r.SignedIn(t.Context(), bob, reply); !errors.Is(err, host.ErrSignInOver) {
		t.Errorf("somebody else: %v", err)
	}
	state := reply.State.Reveal()
	for i := range len(state) {
		edited := reply
		edited.State = host.NewSecret(state[:i] + string(rune(state[i]^1)) + state[i+1:])
		if _, err := r.SignedIn(t.Context(), ada, edited); !errors.Is(err, host.ErrSignInOver) {
			t.Fatalf("edited at %d: %v", i, err)
		}
	}
	var done, over atomic.Int32 // over: while the first is at it
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			switch _, err := r.SignedIn(context.Background(), ada, reply); {
			case err == nil:
				done.Add(1)
			case errors.Is(err, host.ErrSignInOver):
				over.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if done.Load() < 1 || g.provider.Counts().Exchange != 1 {
		t.Errorf("done %d, over %d, exchanged %d", done.Load(), over.Load(), g.provider.Counts().Exchange)
	}
	if st, err := r.SignIns(t.Context(), bob); err != nil || st["shop"].State != host.SignInNone {
		t.Errorf("somebody else: %+v, %v", st["shop"], err)
	}
	if got, err := r.SignedIn(t.Context(), ada, reply); err != nil || got.Outcome != host.SignedInDone || got.Server != "shop" || got.Resumed != 0 {
		t.Errorf("again: %+v, %v", got, err)
	}
	if _, err := r.SignedIn(t.Context(), bob, reply); !errors.Is(err, host.ErrSignInOver) {
		t.Errorf("somebody else, afterwards: %v", err)
	}
	if _, err := r.SignOut(t.Context(), ada, "shop"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.SignedIn(t.Context(), ada, reply); !errors.Is(err, host.ErrSignInOver) {
		t.Errorf("again, signed out: %v", err)
	}
	reply = visit(t, r.page().URL)
	g.ahead.Store(int64(11 * time.Minute))
	if _, err := r.SignedIn(t.Context(), ada, reply); !errors.Is(err, host.ErrSignInOver) {
		t.Errorf("after eleven minutes: %v", err)
	}
}

// The person says no: nothing changes, and calls wait on.
func TestSignInDenied(t *testing.T) {
	t.Parallel()
	g := guard(t, "", nil, &fakeprovider.Options{Deny: true})
	r := g.machine(t, nil, host.Options{})
	if got := r.signIn(); got.Outcome != host.SignInDenied || got.Resumed != 0 {
		t.Errorf("%+v", got)
	}
	if g.provider.Counts().Exchange != 0 {
		t.Error("something was exchanged")
	}
}

// Two machines that register at the same time end with one registration.
func TestMachinesRegisterOnce(t *testing.T) {
	t.Parallel()
	g := guard(t, "", nil, nil)
	b := backends["memory"](t)
	machines := []*rig{g.machine(t, b, host.Options{}), g.machine(t, b, host.Options{})}
	pages := make([]string, 8)
	var group sync.WaitGroup
	for i := range pages {
		group.Go(func() {
			page, err := machines[i%2].SignIn(context.Background(), ada, "shop", back)
			if err != nil {
				t.Error(err)
				return
			}
			pages[i] = page.URL
		})
	}
	group.Wait()
	ids := map[string]bool{}
	for _, page := range pages {
		u, err := url.Parse(page)
		if err != nil {
			t.Fatal(err)
		}
		ids[u.Query().Get("client_id")] = true
	}
	if n := g.provider.Counts().Register; len(ids) != 1 || n > 2 {
		t.Errorf("%d clients of %d registrations", len(ids), n)
	}
	// Begun on one machine, finished on the other.
	if got, err := machines[1].SignedIn(t.Context(), ada, visit(t, pages[0])); err != nil || got.Outcome != host.SignedInDone {
		t.Errorf("%+v, %v", got, err)
	}
}

// A registration that the authorization server has forgotten is made anew.
func TestForgottenRegistration(t *testing.T) {
	t.Parallel()
	g := guard(t, "", nil, nil)
	r := g.machine(t, nil, host.Options{})
	reply := visit(t, r.page().URL)
	g.provider.Misbehave("token", fakeprovider.Fault{Status: 401, Body: `{"error":"invalid_client"}`})
	if _, err := r.SignedIn(t.Context(), ada, reply); err == nil || !strings.Contains(err.Error(), "does not know this host any more") {
		t.Errorf("%v", err)
	}
	r.signIn()
	if n := g.provider.Counts().Register; n != 2 {
		t.Errorf("%d registrations", n)
	}
}

// Where no token goes, whatever anybody says.
func TestNoSignIn(t *testing.T) {
	t.Parallel()
	g := guard(t, "", nil, nil)
	static := &host.Server{ID: "static", URL: g.URL, Headers: map[string]host.Secret{"authorization": host.NewSecret("Bearer of-the-file")}}
	plain := &host.Server{ID: "plain", URL: "http://mcp.example.com/mcp"}
	v, err := vault.New(g.rows, g.keys, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	r := newRig(t, nil, &rigOptions{host: host.Options{Vault: v}}, static, plain, program(t, "program", "travel"))
	for _, id := range []string{"static", "plain", "program"} {
		if _, err := r.SignIn(t.Context(), ada, id, back); !errors.Is(err, host.ErrNoSignIn) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := r.SignIn(t.Context(), ada, "none", back); !errors.Is(err, host.ErrNoServer) {
		t.Errorf("unknown: %v", err)
	}
	without := newRig(t, nil, nil, g.Server)
	if _, err := without.SignIn(t.Context(), ada, "shop", back); !errors.Is(err, host.ErrNoSignIn) {
		t.Errorf("no vault: %v", err)
	}
	for _, to := range []string{"", "/relative", "http://parley.example.com/x", "javascript:alert(1)", "https://u@parley.example.com/", "https://parley.example.com/#f"} {
		if _, err := g.machine(t, nil, host.Options{}).SignIn(t.Context(), ada, "shop", to); !errors.Is(err, host.ErrInvalid) {
			t.Errorf("back to %q: %v", to, err)
		}
	}
}

// The token goes to the server's own origin, and over no redirect.
func TestTokenStaysAtItsOrigin(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	g := guard(t, "", map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) {
		x.Status(307, http.Header{"Location": {other.URL}})
	}}, nil)
	r := g.machine(t, nil, host.Options{})
	r.signIn()
	stop, err := r.Step(t.Context(), ada, r.start("shop", "tool", "").ID)
	if err != nil || elsewhere.Load() != 0 {
		t.Errorf("%d requests went elsewhere (%+v, %v)", elsewhere.Load(), stop, err)
	}
}

// lockedBuffer is a log that several goroutines write to.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// No secret of a sign-in is in a log, an error, a call, a status, a row of the audit.
func TestSignInSaysNoSecret(t *testing.T) {
	t.Parallel()
	g := guard(t, "", map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("ok") }}, nil)
	var log lockedBuffer
	var said bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r := g.machine(t, nil, host.Options{Log: logger})
	say := func(v any, err error) { fmt.Fprintf(&said, "%+v %#v %v\n", v, v, err) }

	say(r.Tools(t.Context(), ada, "shop"))
	for _, f := range []fakeprovider.Fault{
		{Shape: fakeprovider.NotHTTP}, {Shape: fakeprovider.ErrorObject}, {Shape: fakeprovider.TokenNone},
		{Status: 400, Body: `{"error":"{secrets}"}`}, {Status: 500, Body: "{secrets}"}, {Drop: fakeprovider.InAnswer},
	} {
		reply := visit(t, r.page().URL)
		g.provider.Misbehave("token", f)
		say(r.SignedIn(t.Context(), ada, reply))
		say(reply, nil)
	}
	say(r.signIn(), nil)
	g.provider.Misbehave("register", fakeprovider.Fault{Status: 400, Body: `{"error":"secret_x","error_description":"secret_y"}`})
	say(r.SignIn(t.Context(), ada, "shop", back+"2"))
	say(r.step(r.start("shop", "tool", "").ID, ""), nil)
	g.refuse(g.calls()...)
	g.provider.Misbehave("token", fakeprovider.Fault{Status: 400, Body: `{"error":"invalid_grant","error_description":"{secrets}"}`})
	say(r.step(r.start("shop", "tool", "").ID, host.Blocked), nil)
	say(r.SignIns(t.Context(), ada))
	say(r.Servers(ada), nil)
	say(r.Host, nil)
	say(r.in.AuditAll(t.Context(), 0, 500))
	for _, text := range []string{log.String(), said.String()} {
		for _, secret := range []string{"access.", "refresh.", "code.", "secret_"} {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%q: …%s…", secret, text[max(0, i-100):min(len(text), i+100)])
			}
		}
	}
}
