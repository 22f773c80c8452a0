package host_test

import (
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/fakeprovider"
)

// heldOver is a held call of a server that wants tokens. The one that it was sent with
// counts as over afterwards.
func heldOver(t *testing.T, tool string, faults ...fakeprovider.Fault) (r *rig, g *guarded, call *inbox.Call, over func()) {
	t.Helper()
	g = guard(t, "2025-11-25", legacyTools, nil)
	// Connections ask the vault each time: by their clock the token is over at once.
	g.ahead.Store(-int64(time.Hour))
	r = g.machine(t, nil, host.Options{})
	r.signIn()
	call = r.start("shop", tool, "")
	r.step(call.ID, host.Held)
	return r, g, call, func() {
		g.provider.Misbehave("token", faults...)
		g.ahead.Store(int64(2 * time.Hour))
	}
}

// An answer that no fresh token can be had for waits until there is one. It is not marked before.
func TestHeldAnswerWaitsForAToken(t *testing.T) {
	t.Parallel()
	r, g, call, over := heldOver(t, "ask", fakeprovider.Fault{Status: 503})
	over()
	r.answer(r.one(call.ID), inbox.Accept, `{"n":1}`)
	if got := text(t, r.until(call.ID, inbox.Done)); got != `{"action":"accept","content":{"n":1}}` {
		t.Errorf("the server got %s", got)
	}
	if n := g.provider.Counts().Refreshed; n != 1 {
		t.Errorf("%d refreshes", n)
	}
}

// An answer that the person has to sign in for ends the call: the session belongs to the
// sign-in before. The answer is kept.
func TestHeldAnswerOfASignInThatEnded(t *testing.T) {
	t.Parallel()
	r, _, call, over := heldOver(t, "ask", fakeprovider.Fault{Status: 400, Body: `{"error":"invalid_grant"}`})
	over()
	q := r.one(call.ID)
	r.answer(q, inbox.Accept, `{"n":1}`)
	end := r.until(call.ID, inbox.Interrupted)
	if want := "shop wants you to sign in first. No answer was delivered; your answers are kept for another run."; end.Reason != inbox.ReasonSignIn || end.Detail != want || end.Delivered != 0 {
		t.Errorf("%s, %q, %d delivered", end.Reason, end.Detail, end.Delivered)
	}
	if q, err := r.in.Question(t.Context(), ada, q.ID); err != nil || q.Answer == nil || q.Delivery == inbox.Marked || q.Delivery == inbox.Delivered {
		t.Errorf("the question is %+v, %v", q, err)
	}
}

// After an answer that was delivered the call has run in part.
func TestSecondAnswerOfASignInThatEnded(t *testing.T) {
	t.Parallel()
	r, _, call, over := heldOver(t, "twice", fakeprovider.Fault{Status: 400, Body: `{"error":"invalid_grant"}`})
	first := r.one(call.ID)
	r.answer(first, inbox.Accept, `{"name":"Ada"}`)
	r.settled(first)
	second := r.next(call.ID)
	over()
	r.answer(second, inbox.Accept, `{"n":1}`)
	if end := r.until(call.ID, inbox.Uncertain); !strings.HasPrefix(end.Detail, "shop wants you to sign in first. ") || end.Delivered != 1 {
		t.Errorf("%q, %d delivered", end.Detail, end.Delivered)
	}
}

// A call that was sent with another sign-in than that of now does not want one.
func TestHeldAnswerAfterAnotherSignIn(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"out": false, "out and in": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tools := map[string]hosttest.Tool{"pay": func(x *hosttest.Exchange) {
				if x.N == 0 {
					x.Error(-32042, "pay first", payFirst)
					return
				}
				x.Text(say(read(x.Elicit(askSize))))
			}, "ask": legacyTools["ask"]}
			g := guard(t, "2025-11-25", tools, nil)
			g.ahead.Store(-int64(time.Hour)) // connections ask the vault each time
			r := g.machine(t, nil, host.Options{})
			r.signIn()
			paid := r.start("shop", "pay", "")
			r.step(paid.ID, host.Asked)
			r.reply(t.Context(), r.one(paid.ID))
			r.step(paid.ID, host.Held)
			asked := r.start("shop", "ask", "")
			r.step(asked.ID, host.Held)
			if _, err := r.SignOut(t.Context(), ada, "shop"); err != nil {
				t.Fatal(err)
			}
			if again {
				r.signIn()
			}
			for call, nothing := range map[*inbox.Call]string{paid: "Nothing more", asked: "No answer"} {
				r.answer(r.openN(call.ID, 1)[0], inbox.Accept, `{"n":1}`)
				want := "The sign-in to shop that this call was sent with has ended. " + nothing + " was delivered; your answers are kept for another run."
				if end := r.until(call.ID, inbox.Interrupted); end.Reason != inbox.ReasonSignIn || end.Detail != want {
					t.Errorf("%s, %q", end.Reason, end.Detail)
				}
			}
		})
	}
}
