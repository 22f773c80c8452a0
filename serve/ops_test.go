package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/inbox"
)

type entry struct {
	ID                                   int64
	Kind, Question, Via, Assurance       string
	Remote, UserAgent, Evidence, Machine string
	Principal                            struct{ Issuer, Subject string }
	By                                   struct{ Subject string }
}

func (b *bench) audit(query string) []entry {
	b.t.Helper()
	var list struct{ Entries []entry }
	b.get("/v1/audit" + query).want(http.StatusOK).decode(&list)
	return list.Entries
}

// The person's own trail: who did what, from where, and no content.
func TestAudit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.run("seat", map[string]any{})
	b.post("/v1/questions/"+c.Questions[0]+"/shown", map[string]any{"evidence": "in view for 2 s", "via": "inbox"}).want(http.StatusNoContent)
	b.post("/v1/questions/"+c.Questions[0]+"/shown", map[string]any{"evidence": strings.Repeat("x", 600)}).code(http.StatusBadRequest, "bad_request")
	b.do(http.MethodPost, "/v1/questions/"+c.Questions[0]+"/answer", map[string]any{"action": "accept", "content": map[string]any{"seat": "a", "bags": 90071992547409}, "via": "inbox"},
		http.Header{"User-Agent": {"a test's browser"}}).want(http.StatusOK)
	raw := b.get("/v1/audit?call=" + c.ID).want(http.StatusOK)
	if strings.Contains(string(raw.body), "90071992547409") {
		t.Errorf("an answer is in the audit log: %s", raw.body)
	}
	kinds := map[string]entry{}
	for _, e := range b.audit("?call=" + c.ID) {
		kinds[e.Kind] = e
	}
	if e := kinds["shown"]; e.Evidence != "in view for 2 s" || e.Via != "inbox" {
		t.Errorf("shown: %+v", e)
	}
	if e := kinds["answered"]; e.Via != "inbox" || e.Assurance != "signed-in page" || !strings.HasPrefix(e.Remote, "127.0.0.1") || e.Question != c.Questions[0] {
		t.Errorf("answered: %+v", e)
	}
	if all := b.audit(""); len(all) < 4 || all[0].ID < all[1].ID {
		t.Errorf("%d entries, not the newest first", len(all))
	}
	b.get("/v1/audit?before=x").code(http.StatusBadRequest, "bad_request")
}

// What an operator does is refused to everybody else, and their name is in the trail.
func TestOperator(t *testing.T) {
	t.Parallel()
	e := embed(t)
	ann := inbox.Principal{Issuer: "https://acme.example", Tenant: "eu", Subject: "ann"}
	row := map[string]any{"issuer": ann.Issuer, "tenant": ann.Tenant, "subject": ann.Subject}
	page := e.as(e.mint(e.acme, person("ann", "v_1", "read", "answer", "call")).Token)
	c := page.run("seat", map[string]any{})
	for _, path := range []string{"/v1/ops/people/disable", "/v1/ops/people/enable", "/v1/ops/people/erase", "/v1/ops/webhooks/x/redeliver"} {
		page.post(path, row).code(http.StatusForbidden, "scope")
	}
	page.get("/v1/ops/audit").code(http.StatusForbidden, "scope")
	page.get("/v1/ops/webhooks").code(http.StatusForbidden, "scope")

	e.post("/v1/ops/people/disable", row).want(http.StatusNoContent)
	page.get("/v1/questions").code(http.StatusForbidden, "disabled")
	fresh := e.as(e.mint(e.acme, person("ann", "v_1", "read")).Token)
	fresh.get("/v1/calls/"+c.ID).code(http.StatusForbidden, "disabled")
	call, err := e.inbox.Call(t.Context(), ann, inbox.CallID(c.ID))
	if err != nil || call.State != inbox.Denied {
		t.Errorf("the parked call is %v, %v", call.State, err)
	}
	e.post("/v1/ops/people/disable", map[string]any{"issuer": "local", "tenant": "", "subject": "operator"}).code(http.StatusBadRequest, "bad_request")
	e.post("/v1/ops/people/enable", row).want(http.StatusNoContent)
	page.get("/v1/questions").want(http.StatusOK)

	var list struct{ Entries []entry }
	e.get("/v1/ops/audit").want(http.StatusOK).decode(&list)
	seen := false
	for _, one := range list.Entries {
		seen = seen || one.Kind == "disabled" && one.By.Subject == "operator" && one.Principal.Subject == "ann"
	}
	if !seen {
		t.Errorf("nothing tells who disabled: %+v", list.Entries)
	}
	e.post("/v1/ops/people/erase", row).want(http.StatusNoContent)
	page.get("/v1/calls/"+c.ID).code(http.StatusUnauthorized, "signed_out")
	back := e.as(e.mint(e.acme, person("ann", "v_1", "read")).Token)
	back.get("/v1/calls/"+c.ID).code(http.StatusNotFound, "not_found")
}

// Erasing a person ends what they had in their hands, and gives nobody their access back.
func TestErasedTokens(t *testing.T) {
	t.Parallel()
	e := embed(t)
	row := map[string]any{"issuer": "https://acme.example", "tenant": "eu", "subject": "ann"}
	token := func() *bench {
		return e.as(e.mint(e.acme, person("ann", "v_1", "read", "call")).Token)
	}
	minted := e.mint(e.acme, person("ann", "v_1", "read", "call"))
	revoked, page := e.as(minted.Token), token()
	e.as(e.acme).post("/v1/embed-tokens/revoke", map[string]any{"tenant": "eu", "subject": "ann", "id": minted.ID}).want(http.StatusNoContent)
	page.get("/v1/questions").want(http.StatusOK)
	e.post("/v1/ops/people/erase", row).want(http.StatusNoContent)
	for what, b := range map[string]*bench{"one of before": page, "one that was revoked": revoked} {
		if r := b.get("/v1/questions"); r.status != http.StatusUnauthorized {
			t.Errorf("%s: %d", what, r.status)
		}
		b.post("/v1/calls", map[string]any{"conversation": "v_1", "server": "desk", "tool": "plain", "arguments": map[string]any{}}).want(http.StatusUnauthorized)
	}
	ann := inbox.Principal{Issuer: "https://acme.example", Tenant: "eu", Subject: "ann"}
	if calls, err := e.inbox.Calls(t.Context(), ann, inbox.CallFilter{}); len(calls) > 0 || err != nil {
		t.Errorf("who was erased has %d calls, %v", len(calls), err)
	}
	e.post("/v1/ops/people/disable", row).want(http.StatusNoContent)
	e.post("/v1/ops/people/erase", row).want(http.StatusNoContent)
	token().get("/v1/questions").code(http.StatusForbidden, "disabled")
}

// A server that asks too much: the person learns of it, and stops all of it at once.
func TestStopServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.inbox.Refused(t.Context(), inbox.Principal{Issuer: "local", Subject: "operator"}, "desk", 3); err != nil {
		t.Fatal(err)
	}
	var list struct {
		Refusals []struct {
			Server string
			Count  int
		}
	}
	b.get("/v1/refusals").want(http.StatusOK).decode(&list)
	if len(list.Refusals) != 1 || list.Refusals[0].Server != "desk" || list.Refusals[0].Count != 3 {
		t.Errorf("%+v", list)
	}
	b.post("/v1/refusals/clear", map[string]any{"server": "desk"}).want(http.StatusNoContent)
	b.get("/v1/refusals").want(http.StatusOK).decode(&list)
	if len(list.Refusals) != 0 {
		t.Errorf("%+v", list)
	}
	one, two := b.run("seat", map[string]any{}), b.run("two", map[string]any{})
	var out struct{ Stopped int }
	b.post("/v1/servers/desk/stop", nil).want(http.StatusOK).decode(&out)
	if out.Stopped != 2 {
		t.Errorf("%d stopped", out.Stopped)
	}
	for _, id := range []string{one.ID, two.ID} {
		var c call
		if b.get("/v1/calls/" + id).want(http.StatusOK).decode(&c); c.State != "stopped" {
			t.Errorf("%s is %s", id, c.State)
		}
	}
}
