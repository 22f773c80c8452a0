package host_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/fakeprovider"
	"github.com/parley-mcp/parley/vault"
)

var okTool = map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("ok") }}

// What is forgotten is used no more, here and on other machines, and is revoked.
func TestSignOut(t *testing.T) {
	t.Parallel()
	g := guard(t, "", map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("ok") }}, nil)
	b := backends["memory"](t)
	r, other := g.machine(t, b, host.Options{}), g.machine(t, b, host.Options{})
	r.signIn()
	for _, m := range []*rig{r, other} { // both have a connection
		m.step(m.start("shop", "tool", "").ID, "")
	}
	calls := []*inbox.Call{r.start("shop", "tool", ""), r.start("shop", "tool", "")}
	if got, err := r.SignOut(t.Context(), ada, "shop"); err != nil || got != host.RevokedDone {
		t.Fatalf("%q, %v", got, err)
	}
	if st := r.Servers(ada)[0]; st.State != host.Idle {
		t.Errorf("the connection is %s", st.State)
	}
	for i, m := range []*rig{r, other} {
		if got := m.step(calls[i].ID, host.Blocked); got.Reason != inbox.ReasonSignIn || got.Sends != 0 {
			t.Errorf("machine %d: %s, %d sends", i, got.Reason, got.Sends)
		}
	}
	if got, err := r.SignOut(t.Context(), ada, "shop"); err != nil || got != host.RevokedNothing {
		t.Errorf("twice: %q, %v", got, err)
	}
}

// What became of it at the authorization server is said, and what it did not confirm is
// tried again by any machine, and is in the person's own trail.
func TestSignOutSaysWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		fault fakeprovider.Fault
		none  bool
		want  host.Revoked
	}{
		{"confirmed", fakeprovider.Fault{}, false, host.RevokedDone},
		{"away", fakeprovider.Fault{Status: 503, Body: "{secrets}"}, false, host.RevokedLater},
		{"no answer", fakeprovider.Fault{Drop: fakeprovider.BeforeCommit}, false, host.RevokedLater},
		{"not offered", fakeprovider.Fault{}, true, host.RevokedNot},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := guard(t, "", okTool, &fakeprovider.Options{NoRevoke: test.none})
			b := backends["memory"](t)
			r, other := g.machine(t, b, host.Options{}), g.machine(t, b, host.Options{})
			r.signIn()
			r.step(r.start("shop", "tool", "").ID, "")
			access := g.calls()[0]
			if test.want == host.RevokedLater {
				g.provider.Misbehave("revoke", test.fault)
			}
			ctx := inbox.WithSource(t.Context(), inbox.Source{Via: "page"})
			got, err := r.SignOut(ctx, ada, "shop")
			if err != nil || got != test.want {
				t.Errorf("%q, %v, want %q", got, err, test.want)
			}
			if _, err := r.vault.Token(t.Context(), vault.Principal(ada), g.URL, "", "test"); !errors.Is(err, vault.ErrNotFound) {
				t.Errorf("the vault still has it: %v", err)
			}
			_, valid := g.provider.Valid(access)
			if want := test.want != host.RevokedDone; valid != want {
				t.Errorf("the token is valid: %t, want %t", valid, want)
			}
			kinds := []string{"signed_in first", "signed_out "}
			if test.want == host.RevokedLater {
				kinds = append(kinds, "not_revoked pending")
				g.ahead.Store(int64(10 * time.Minute))
				if err := other.vault.Sweep(t.Context()); err != nil {
					t.Error(err)
				}
				if _, valid := g.provider.Valid(access); valid {
					t.Error("it was not tried again")
				}
			}
			if got := r.changes(); !slices.Equal(got, kinds) {
				t.Errorf("the trail says %q, want %q", got, kinds)
			}
		})
	}
}

// changes are the entries of Ada's trail about her sign-ins, oldest first.
func (r *rig) changes() []string {
	r.t.Helper()
	rows, err := r.in.Audit(r.t.Context(), ada, inbox.AuditFilter{Kinds: []inbox.AuditKind{inbox.AuditSignedIn, inbox.AuditSignedOut, inbox.AuditNotRevoked}})
	if err != nil {
		r.t.Fatal(err)
	}
	list := []string{}
	for _, e := range slices.Backward(rows) {
		if e.Server != "shop" || e.Kind == inbox.AuditSignedOut && e.Via != "page" {
			r.t.Errorf("%+v", e)
		}
		list = append(list, string(e.Kind)+" "+e.State)
	}
	return list
}

// What could not be revoked for a week is said once more.
func TestNeverRevoked(t *testing.T) {
	t.Parallel()
	g := guard(t, "", okTool, nil)
	r := g.machine(t, nil, host.Options{})
	r.signIn()
	g.provider.Misbehave("revoke", fakeprovider.Fault{Status: 503})
	if _, err := r.SignOut(inbox.WithSource(t.Context(), inbox.Source{Via: "page"}), ada, "shop"); err != nil {
		t.Fatal(err)
	}
	g.ahead.Store(int64(8 * 24 * time.Hour))
	if err := r.vault.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := r.changes(), []string{"signed_in first", "signed_out ", "not_revoked pending", "not_revoked gave_up"}; !slices.Equal(got, want) {
		t.Errorf("the trail says %q", got)
	}
}

// Who is erased leaves nothing that signs in, and somebody else's stays.
func TestForget(t *testing.T) {
	t.Parallel()
	g := guard(t, "", okTool, nil)
	b := backends["memory"](t)
	r, other := g.machine(t, b, host.Options{}), g.machine(t, b, host.Options{})
	r.signIn()
	r.signInAs(bob)
	r.step(r.start("shop", "tool", "").ID, "")
	access := g.calls()[0]
	call, elsewhere := r.start("shop", "tool", ""), other.start("shop", "tool", "")
	if err := r.vault.Want(t.Context(), vault.Principal(ada), g.URL, "", []string{"files:write"}); err != nil {
		t.Fatal(err)
	}
	reply := visit(t, r.page().URL) // a sign-in that is under way
	if err := r.Forget(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	if st := r.Servers(ada)[0]; st.State != host.Idle {
		t.Errorf("the connection is %s", st.State)
	}
	for i, m := range []*rig{r, other} {
		if got := m.step([]inbox.CallID{call.ID, elsewhere.ID}[i], host.Blocked); got.Reason != inbox.ReasonSignIn || got.Sends != 0 {
			t.Errorf("machine %d: %s, %d sends", i, got.Reason, got.Sends)
		}
		if st := m.signInState(); st.State != host.SignInNeeded || st.Kept || len(st.Missing) > 0 || len(st.Scopes) > 0 || st.Account != "" {
			t.Errorf("machine %d: %+v", i, st)
		}
	}
	if _, err := r.SignedIn(t.Context(), ada, reply); !errors.Is(err, host.ErrSignInOver) {
		t.Errorf("the sign-in that was under way: %v", err)
	}
	if err := other.vault.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if _, valid := g.provider.Valid(access); valid {
		t.Error("the token was not revoked")
	}
	if st, err := r.SignIns(t.Context(), bob); err != nil || st["shop"].State != host.SignInDone {
		t.Errorf("somebody else: %+v, %v", st["shop"], err)
	}
	if err := newRig(t, nil, nil, g.Server).Forget(t.Context(), ada); err != nil {
		t.Errorf("without a vault: %v", err)
	}
}
