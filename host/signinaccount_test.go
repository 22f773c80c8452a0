package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/vault"
)

// Another account than before replaces nothing until the person says so.
func TestOtherAccount(t *testing.T) {
	t.Parallel()
	for _, replace := range []bool{true, false} {
		t.Run(fmt.Sprint("replace ", replace), func(t *testing.T) {
			t.Parallel()
			g := guard(t, "", map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("ok") }}, nil)
			g.OAuth.Scopes = []string{"openid"}
			r := g.machine(t, nil, host.Options{})
			if got := r.signIn(); got.Account != "ada@id.example" {
				t.Fatalf("%+v", got)
			}
			r.step(r.start("shop", "tool", "").ID, "")
			g.provider.SetSubject("work")
			got := r.signIn()
			if got.Outcome != host.OtherAccount || got.Account != "work@id.example" || got.Before != "ada@id.example" {
				t.Fatalf("%+v", got)
			}
			if st := r.signInState(); st.Account != "ada@id.example" {
				t.Errorf("meanwhile: %+v", st)
			}
			if _, err := r.ChooseAccount(t.Context(), bob, "shop", got.Decision, true); !errors.Is(err, host.ErrSignInOver) {
				t.Errorf("somebody else: %v", err)
			}
			end, err := r.ChooseAccount(t.Context(), ada, "shop", got.Decision, replace)
			if err != nil {
				t.Fatal(err)
			}
			want := map[bool]string{true: "work", false: "ada"}[replace]
			if st := r.signInState(); st.Account != want+"@id.example" {
				t.Errorf("in the end: %+v, %+v", st, end)
			}
			told := []string{"signed_in first"}
			if replace {
				told = append(told, "signed_in other_account")
			}
			if got := r.changes(); !slices.Equal(got, told) {
				t.Errorf("the audit tells %q, want %q", got, told)
			}
			r.step(r.start("shop", "tool", "").ID, "")
			seen := g.calls()
			if subject, _ := g.provider.Valid(seen[len(seen)-1]); subject != want {
				t.Errorf("the last call went as %q", subject)
			}
		})
	}
}

// The page is closed in the middle: what was given is kept, and calls go on.
func TestPageClosedDuringASignIn(t *testing.T) {
	t.Parallel()
	g := guard(t, "", okTool, nil)
	g.OAuth.Scopes = []string{"openid"}
	var leave context.CancelFunc
	var when vault.Action
	g.audited = func(e vault.Event) {
		if e.Action == when && e.Kind != vault.KindClient {
			leave()
		}
	}
	r := g.machine(t, nil, host.Options{})
	r.signIn()
	call := r.start("shop", "tool", "")
	if _, err := r.SignOut(t.Context(), ada, "shop"); err != nil {
		t.Fatal(err)
	}
	r.step(call.ID, host.Blocked)
	leaving := func(at vault.Action, f func(context.Context) (*host.SignInResult, error)) *host.SignInResult {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		leave, when = cancel, at
		got, err := f(ctx)
		if err != nil || ctx.Err() == nil {
			t.Fatalf("%v (the page: %v)", err, ctx.Err())
		}
		leave, when = nil, ""
		return got
	}
	finish := func() *host.SignInResult {
		t.Helper()
		reply := visit(t, r.page().URL)
		return leaving(vault.ActionSave, func(ctx context.Context) (*host.SignInResult, error) { return r.SignedIn(ctx, ada, reply) })
	}
	if got := finish(); got.Outcome != host.SignedInDone || got.Resumed != 1 {
		t.Errorf("%+v", got)
	}
	r.step(call.ID, "")
	g.provider.SetSubject("work")
	got := finish()
	if got.Outcome != host.OtherAccount {
		t.Fatalf("%+v", got)
	}
	got = leaving(vault.ActionDecide, func(ctx context.Context) (*host.SignInResult, error) {
		return r.ChooseAccount(ctx, ada, "shop", got.Decision, true)
	})
	if st := r.signInState(); got.Outcome != host.SignedInDone || st.Account != "work@id.example" {
		t.Errorf("%+v, %+v", got, st)
	}
}

// The file may name an address twice: what waits for either goes on with one sign-in, and
// a choice that comes again is answered for the server that it was made for.
func TestOneSignInOfTwoServers(t *testing.T) {
	t.Parallel()
	g := guard(t, "", okTool, nil)
	g.OAuth.Scopes = []string{"openid"}
	twin := *g.Server
	twin.ID = "twin"
	g.also = []*host.Server{&twin}
	r := g.machine(t, nil, host.Options{})
	r.signIn()
	one, two := r.start("shop", "tool", ""), r.start("twin", "tool", "")
	if _, err := r.SignOut(t.Context(), ada, "shop"); err != nil {
		t.Fatal(err)
	}
	r.step(one.ID, host.Blocked)
	r.step(two.ID, host.Blocked)
	if got := r.signIn(); got.Outcome != host.SignedInDone || got.Server != "shop" || got.Resumed != 2 {
		t.Errorf("%+v", got)
	}
	r.step(one.ID, "")
	r.step(two.ID, "")
	g.provider.SetSubject("work")
	choice := r.signIn()
	for range 2 {
		got, err := r.ChooseAccount(t.Context(), ada, "shop", choice.Decision, true)
		if err != nil || got.Outcome != host.SignedInDone || got.Server != "shop" {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// A provider that does not say who signed in gives nothing to compare: the newest
// sign-in counts, and the audit has both.
func TestAccountUnknown(t *testing.T) {
	t.Parallel()
	g := guard(t, "", map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) { x.Text("ok") }}, nil)
	r := g.machine(t, nil, host.Options{})
	for _, subject := range []string{"ada", "work"} {
		g.provider.SetSubject(subject)
		if got := r.signIn(); got.Outcome != host.SignedInDone || got.Account != "" {
			t.Fatalf("%+v", got)
		}
		r.step(r.start("shop", "tool", "").ID, "")
		seen := g.calls()
		if as, _ := g.provider.Valid(seen[len(seen)-1]); as != subject {
			t.Errorf("after %s had signed in the call went as %q", subject, as)
		}
	}
	if got, want := r.changes(), []string{"signed_in first", "signed_in again"}; !slices.Equal(got, want) {
		t.Errorf("the audit tells %q, want %q", got, want)
	}
}
