package host_test

import (
	"net/http"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
)

// withStatus has a tool answer in a response with this status and challenge.
func withStatus(status int, challenge string, then hosttest.Tool) hosttest.Tool {
	return func(x *hosttest.Exchange) {
		h := http.Header{"Content-Type": {"application/json"}}
		if challenge != "" {
			h.Set("WWW-Authenticate", challenge)
		}
		x.Status(status, h)
		then(x)
	}
}

func turnsAway(x *hosttest.Exchange) { x.Error(-32001, "Unauthorized", "") }

// A server that wants a sign-in says so by its status, also where it words that as an
// error of the call.
func TestTurnedAwayInWords(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tool   hosttest.Tool
		legacy bool // and no modern server
		modern bool // and no legacy one
		state  inbox.CallState
		reason string
	}{
		"401": {tool: withStatus(401, "Bearer", turnsAway), state: inbox.Blocked, reason: inbox.ReasonSignIn},
		"403": {
			tool:  withStatus(403, `Bearer error="insufficient_scope", scope="files:write"`, turnsAway),
			state: inbox.Blocked, reason: inbox.ReasonSignIn,
		},
		"403 without a challenge": {tool: withStatus(403, "", turnsAway), state: inbox.Failed, reason: host.ReasonServerError},
		"a page to open": {
			tool:   withStatus(401, "Bearer", func(x *hosttest.Exchange) { x.Error(-32042, "there", `{"elicitations":[`+askPage+`]}`) }),
			legacy: true, state: inbox.Waiting,
		},
		"a page to open, which the revision does not know": {
			tool:   withStatus(401, "Bearer", func(x *hosttest.Exchange) { x.Error(-32042, "there", `{"elicitations":[`+askPage+`]}`) }),
			modern: true, state: inbox.Blocked, reason: inbox.ReasonSignIn,
		},
		"a result": {tool: withStatus(401, "Bearer", func(x *hosttest.Exchange) { x.Text("ok") }), state: inbox.Blocked, reason: inbox.ReasonSignIn},
	} {
		for _, revision := range []string{"2026-07-28", "2025-11-25"} {
			if test.legacy && revision == "2026-07-28" || test.modern && revision != "2026-07-28" {
				continue
			}
			t.Run(name+", "+revision, func(t *testing.T) {
				t.Parallel()
				s, wire := web(t, "shop", &hosttest.Script{Revision: revision, JSON: true, Tools: map[string]hosttest.Tool{"tool": test.tool}})
				r := newRig(t, nil, nil, s)
				stop, err := r.Step(t.Context(), ada, r.start("shop", "tool", "").ID)
				if err != nil {
					t.Fatal(err)
				}
				if got := stop.Call; got.State != test.state || got.Reason != test.reason || len(wire.Calls()) != 1 {
					t.Errorf("%s (%s, %q) after %d sends, want %s (%s)", got.State, got.Reason, got.Detail, len(wire.Calls()), test.state, test.reason)
				}
			})
		}
	}
}

// A token that is refused in an error of the call is renewed, and the call sent once more.
func TestRefusedTokenInWords(t *testing.T) {
	t.Parallel()
	g := guard(t, "", map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) {
		if x.N == 0 {
			withStatus(401, "Bearer", turnsAway)(x)
		} else {
			x.Text("ok")
		}
	}}, nil)
	r := g.machine(t, nil, host.Options{})
	r.signIn()
	done := r.step(r.start("shop", "tool", "").ID, "")
	if seen := g.calls(); done.State != inbox.Done || len(seen) != 2 || seen[0] == seen[1] || g.provider.Counts().Refreshed != 1 {
		t.Errorf("%s (%s), %d calls on the wire, refreshed %d", done.State, done.Reason, len(seen), g.provider.Counts().Refreshed)
	}
}
