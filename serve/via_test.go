package serve_test

import (
	"maps"
	"net/http"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/serve/client"
)

// The trail says of all that a person does where they did it, in whichever words the
// request says so, and how sure the session was of them.
func TestVia(t *testing.T) {
	t.Parallel()
	type write struct {
		path string
		body map[string]any
		tell []inbox.AuditKind
	}
	stopping := func(b *bench) write {
		return write{"/v1/calls/" + b.run("seat", map[string]any{}).ID + "/stop", nil, []inbox.AuditKind{inbox.AuditStopped, inbox.AuditClosed}}
	}
	for name, prepare := range map[string]func(b *bench) write{
		"compose": func(*bench) write {
			return write{"/v1/calls", plainCall(nil), []inbox.AuditKind{inbox.AuditComposed}}
		},
		"compose, a model": func(*bench) write {
			return write{"/v1/calls", plainCall(map[string]any{"actor": "model"}), []inbox.AuditKind{inbox.AuditComposed}}
		},
		"run again": func(b *bench) write {
			return write{"/v1/calls/" + b.run("plain", map[string]any{"n": 1}).ID + "/run-again", nil, []inbox.AuditKind{inbox.AuditComposed}}
		},
		"stop": stopping,
		"stop, on the wire": func(b *bench) write {
			return write{"/v1/calls/" + string(onTheWire(t, b.inbox, serve.LocalPrincipal).ID) + "/stop", nil, []inbox.AuditKind{inbox.AuditStopped}}
		},
		"stop a server": func(b *bench) write {
			w := stopping(b)
			w.path = "/v1/servers/desk/stop"
			return w
		},
		"resolve": func(b *bench) write {
			id := string(uncertain(t, b.inbox, serve.LocalPrincipal, false).ID)
			return write{"/v1/calls/" + id + "/resolve", map[string]any{"how": "give_up"}, []inbox.AuditKind{inbox.AuditResolved, inbox.AuditFinished}}
		},
		"resolve, sent again": func(b *bench) write {
			id := string(uncertain(t, b.inbox, serve.LocalPrincipal, true).ID)
			return write{"/v1/calls/" + id + "/resolve", map[string]any{"how": "send_again"}, []inbox.AuditKind{inbox.AuditResolved, inbox.AuditComposed}}
		},
		"decline the rest": func(b *bench) write {
			return write{"/v1/calls/" + b.run("two", map[string]any{}).ID + "/decline-rest", nil, []inbox.AuditKind{inbox.AuditAnswered}}
		},
		"answer": func(b *bench) write {
			return write{"/v1/questions/" + b.run("seat", map[string]any{}).Questions[0] + "/answer", map[string]any{"action": "decline"}, []inbox.AuditKind{inbox.AuditAnswered}}
		},
		"take back": func(b *bench) write {
			id := b.run("two", map[string]any{}).Questions[0]
			b.post("/v1/questions/"+id+"/answer", map[string]any{"action": "decline"}).want(http.StatusOK)
			return write{"/v1/questions/" + id + "/take-back", nil, []inbox.AuditKind{inbox.AuditTakenBack}}
		},
		"shown": func(b *bench) write {
			return write{"/v1/questions/" + b.run("seat", map[string]any{}).Questions[0] + "/shown", map[string]any{"evidence": "x"}, []inbox.AuditKind{inbox.AuditShown}}
		},
		"open": func(b *bench) write {
			id := b.run("page", map[string]any{}).Questions[0]
			return write{"/v1/questions/" + id + "/open", map[string]any{"url_sha256": sha256Hex(b.question(id).URL.Href)}, []inbox.AuditKind{inbox.AuditOpened}}
		},
		"decide": func(b *bench) write {
			_, a := asked(t, b.inbox, serve.LocalPrincipal, inbox.Ask{Fingerprint: "f"})
			return write{"/v1/approvals/" + string(a.ID), map[string]any{"allow": false}, []inbox.AuditKind{inbox.AuditApprovalDecided, inbox.AuditDenied}}
		},
		"shown, an approval": func(b *bench) write {
			_, a := asked(t, b.inbox, serve.LocalPrincipal, inbox.Ask{Fingerprint: "f"})
			return write{"/v1/approvals/" + string(a.ID) + "/shown", map[string]any{"evidence": "x"}, []inbox.AuditKind{inbox.AuditShown}}
		},
		"revoke": func(b *bench) write {
			_, a := asked(t, b.inbox, serve.LocalPrincipal, inbox.Ask{Fingerprint: "f"})
			b.post("/v1/approvals/"+string(a.ID), map[string]any{"allow": true, "scope": "always"}).want(http.StatusOK)
			return write{"/v1/approvals/" + string(a.ID) + "/revoke", nil, []inbox.AuditKind{inbox.AuditApprovalRevoked}}
		},
		"disable": func(*bench) write {
			return write{"/v1/ops/people/disable", map[string]any{"issuer": "i", "subject": "ann"}, []inbox.AuditKind{inbox.AuditDisabled}}
		},
	} {
		for _, via := range []string{"inbox", ""} {
			t.Run(name+" by "+via, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				w := prepare(b)
				last := int64(0)
				for _, e := range trailOf(b) {
					last = e.ID
				}
				body, want := map[string]any{}, "api"
				maps.Copy(body, w.body)
				if via != "" {
					body["via"], want = via, via
				}
				if r := b.post(w.path, body); r.status >= 300 {
					t.Fatalf("%s: %d %s", r.what, r.status, r.body)
				}
				told := map[inbox.AuditKind]bool{}
				for _, e := range trailOf(b) {
					if e.ID <= last || e.Machine != "" {
						continue // of before, or what the host went on with
					}
					told[e.Kind] = true
					if e.Via != want || e.Assurance != "signed-in page" || e.Remote != "127.0.0.1" {
						t.Errorf("%s: via %q, assurance %q, from %q; want %q", e.Kind, e.Via, e.Assurance, e.Remote, want)
					}
				}
				for _, kind := range w.tell {
					if !told[kind] {
						t.Errorf("nothing tells that it was %s", kind)
					}
				}
				b.post(w.path, map[string]any{"via": "mail"}).code(http.StatusBadRequest, "bad_request")
				for _, odd := range []string{"via=chat", `{"via":"chat"`, `{"via":"chat"} {}`, `["chat"]`, `{"via":7}`, `{"via":"chat","via":"inbox"}`, `{"via":"chat","Via":"inbox"}`} {
					b.post(w.path, odd).code(http.StatusBadRequest, "bad_request")
				}
			})
		}
	}
}

// trailOf is all that the audit log of the host has.
func trailOf(b *bench) []*inbox.AuditEntry {
	b.t.Helper()
	var list client.AuditList
	b.get("/v1/ops/audit").want(http.StatusOK).decode(&list)
	return list.Entries
}

// onTheWire is a call that was sent, by nobody who would reply.
func onTheWire(t *testing.T, in *inbox.Inbox, p inbox.Principal) *inbox.Call {
	t.Helper()
	c, err := in.Compose(t.Context(), p, inbox.NewCall{Conversation: "v_1", Server: "away", Method: "tools/call", Name: "book"})
	if err != nil {
		t.Fatal(err)
	}
	claim, _, err := in.Claim(t.Context(), p, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = in.Mark(t.Context(), claim, inbox.Binding{Era: inbox.Modern}); err != nil {
		t.Fatal(err)
	}
	return c
}

// What a person does about a sign-in to a server has its place too.
func TestViaOfSignIn(t *testing.T) {
	t.Parallel()
	s := newSignInSite(t, "")
	page, err := s.client.SignIn(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	reply := signInReply(s.consent(page))
	reply.Via = "chat"
	if _, err := s.client.SignedIn(t.Context(), reply); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.SignOut(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	entries, err := s.client.Audit(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[inbox.AuditKind]string{inbox.AuditSignedIn: "chat", inbox.AuditSignedOut: "api"}
	for _, e := range entries {
		if via, known := want[e.Kind]; known && e.Via != via {
			t.Errorf("%s via %q, want %q", e.Kind, e.Via, via)
		}
		delete(want, e.Kind)
	}
	if len(want) > 0 {
		t.Errorf("nothing tells of %v", want)
	}
}
