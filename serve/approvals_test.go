package serve_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
)

type approval struct {
	ID, Call, State, Scope, Conversation, Reason string
	Mine, Standing                               bool
	CanDecide                                    bool `json:"can_decide"`
	Offer                                        []string
	Arguments                                    json.RawMessage
	Description                                  string
	Asker                                        struct{ Subject string }
	DecidedBy                                    *struct{ Subject string } `json:"decided_by"`
	ArgumentsSize                                int                       `json:"arguments_size"`
}

// asked composes a call of p that needs an approval.
func asked(t *testing.T, in *inbox.Inbox, p inbox.Principal, ask inbox.Ask) (*inbox.Call, *inbox.Approval) {
	t.Helper()
	ask.Rule, ask.Reason = "money", "Money leaves."
	if ask.Offer == nil {
		ask.Offer = []inbox.Scope{inbox.Always}
	}
	c, err := in.Compose(t.Context(), p, inbox.NewCall{
		Conversation: "v_1", Actor: inbox.Person, Server: "desk", Method: "tools/call", Name: "plain",
		Arguments: json.RawMessage(`{"n":9007199254740993}`), Ask: &ask,
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := in.Approvals(t.Context(), p, inbox.ApprovalFilter{Call: c.ID})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d approvals, %v", len(list), err)
	}
	return c, list[0]
}

func (b *bench) approvals(query string) []approval {
	b.t.Helper()
	var list struct{ Approvals []approval }
	b.get("/v1/approvals" + query).want(http.StatusOK).decode(&list)
	return list.Approvals
}

func TestApproval(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, a := asked(t, b.inbox, serve.LocalPrincipal, inbox.Ask{Fingerprint: "f", Description: "Pays\u202e."})
	list := b.approvals("?state=open")
	if len(list) != 1 || list[0].ID != string(a.ID) || !list[0].CanDecide || !list[0].Mine || list[0].Reason != "Money leaves." ||
		string(list[0].Arguments) != `{"n":9007199254740993}` || strings.Contains(list[0].Description, "\u202e") || strings.Join(list[0].Offer, " ") != "once always" {
		t.Fatalf("%+v", list)
	}
	var snapshot struct {
		Approvals []approval
		Calls     []call
	}
	b.get("/v1/conversations/v_1").want(http.StatusOK).decode(&snapshot)
	if len(snapshot.Approvals) != 1 || snapshot.Calls[0].State != "approving" {
		t.Errorf("%+v", snapshot)
	}
	path := "/v1/approvals/" + string(a.ID)
	b.post(path, map[string]any{"allow": true, "scope": "for ever"}).code(http.StatusBadRequest, "bad_request")
	b.post(path, map[string]any{"allow": true, "via": "mail"}).code(http.StatusBadRequest, "bad_request")
	key := http.Header{"Idempotency-Key": {"k1"}}
	var row approval
	for range 2 { // the same decision with the same key is made once
		b.do(http.MethodPost, path, map[string]any{"allow": true, "scope": "always", "via": "inbox"}, key).want(http.StatusOK).decode(&row)
	}
	if row.State != "allowed" || row.Scope != "always" || !row.Standing || row.CanDecide || row.DecidedBy.Subject != "operator" {
		t.Fatalf("%+v", row)
	}
	b.post(path, map[string]any{"allow": false}).code(http.StatusConflict, "approval_closed")
	var now call
	b.get("/v1/calls/" + string(c.ID)).want(http.StatusOK).decode(&now)
	if end := b.settle(now); end.State != "done" {
		t.Errorf("the call is %s", end.State)
	}
	if list := b.approvals("?state=standing"); len(list) != 1 {
		t.Errorf("standing: %+v", list)
	}
	b.post(path+"/revoke", nil).want(http.StatusOK)
	if list := b.approvals("?state=standing"); len(list) != 0 {
		t.Errorf("revoked: %+v", list)
	}
	b.get("/v1/approvals?state=odd").code(http.StatusBadRequest, "bad_request")
}

// A session of one conversation allows nothing for all of them, where nobody could list it
// or take it back. What it allows for its conversation it lists and takes back, also with
// another token of the conversation, and with none of another one.
func TestConversationAllowsNothingAlways(t *testing.T) {
	t.Parallel()
	e := embed(t)
	page := e.as(e.mint(e.acme, person("ann", "v_1", "read", "answer")).Token)
	ask := inbox.Ask{Fingerprint: "f", Offer: []inbox.Scope{inbox.ForConversation, inbox.Always}}
	_, a := asked(t, e.inbox, annOfAcme, ask)
	path := "/v1/approvals/" + string(a.ID)
	list := page.approvals("?state=open")
	if len(list) != 1 || strings.Join(list[0].Offer, " ") != "once conversation" {
		t.Fatalf("%+v", list)
	}
	var p struct{ Detail string }
	page.post(path, map[string]any{"allow": true, "scope": "always"}).code(http.StatusBadRequest, "bad_request").decode(&p)
	if !strings.Contains(p.Detail, "conversation") {
		t.Errorf("the page is told %q", p.Detail)
	}
	var row approval
	if page.get(path).want(http.StatusOK).decode(&row); row.State != "open" {
		t.Fatalf("%+v", row)
	}
	page.post(path, map[string]any{"allow": true, "scope": "conversation"}).want(http.StatusOK)
	again := e.as(e.mint(e.acme, person("ann", "v_1", "read", "answer")).Token)
	elsewhere := e.as(e.mint(e.acme, person("ann", "v_2", "read", "answer")).Token)
	if list := elsewhere.approvals("?state=standing"); len(list) != 0 {
		t.Errorf("another conversation lists %+v", list)
	}
	elsewhere.post(path+"/revoke", nil).code(http.StatusNotFound, "not_found")
	if list := again.approvals("?state=standing"); len(list) != 1 || list[0].ID != string(a.ID) {
		t.Fatalf("the conversation lists %+v", list)
	}
	again.post(path+"/revoke", nil).want(http.StatusOK).decode(&row)
	if list := again.approvals("?state=standing"); len(list) != 0 || row.Standing {
		t.Errorf("revoked: %+v, %+v", list, row)
	}
	// To deny is to deny, whatever is said beside it.
	_, other := asked(t, e.inbox, annOfAcme, ask)
	page.post("/v1/approvals/"+string(other.ID), map[string]any{"allow": false, "scope": "always"}).want(http.StatusOK)
}

// A group decides for others: its members see the approval, nobody else does, and the
// asker does not decide where the policy says so.
func TestApprovalOfGroup(t *testing.T) {
	t.Parallel()
	e := embed(t)
	ann := inbox.Principal{Issuer: "https://acme.example", Tenant: "eu", Subject: "ann"}
	member := func(subject, tenant, conversation string, groups ...string) *bench {
		return e.as(e.mint(e.acme, map[string]any{
			"tenant": tenant, "subject": subject, "conversation": conversation, "scopes": []string{"read", "answer"}, "groups": groups,
		}).Token)
	}
	_, a := asked(t, e.inbox, ann, inbox.Ask{Fingerprint: "f", Assignee: inbox.Assignee{Group: "finance"}, NotAsker: true})
	path := "/v1/approvals/" + string(a.ID)

	asker := member("ann", "eu", "v_1", "finance")
	var row approval
	asker.get(path).want(http.StatusOK).decode(&row)
	if row.CanDecide || !row.Mine || row.Conversation != "v_1" {
		t.Errorf("the asker sees %+v", row)
	}
	asker.post(path, map[string]any{"allow": true}).code(http.StatusForbidden, "not_decider")

	unknown := asker.get("/v1/approvals/nobody-has-this").code(http.StatusNotFound, "not_found")
	for who, b := range map[string]*bench{
		"no member":             member("bob", "eu", "v_1"),
		"another group":         member("bob", "eu", "v_1", "sales"),
		"another tenant":        member("bob", "us", "v_1", "finance"),
		"the operator":          e.bench,
		"bound to conversation": member("cay", "eu", "v_2", "finance"),
		"the asker elsewhere":   member("ann", "eu", "v_2", "finance"),
	} {
		for _, r := range []*reply{b.get(path), b.post(path, map[string]any{"allow": true}), b.post(path+"/revoke", nil)} {
			if r.status != http.StatusNotFound || string(r.body) != string(unknown.body) {
				t.Errorf("%s: %s gives %d %s", who, r.what, r.status, r.body)
			}
		}
		if list := b.approvals("?state=open"); len(list) != 0 {
			t.Errorf("%s sees %+v", who, list)
		}
	}
	// Pages that are bound to a conversation see none of other people's; a signed-in
	// person of the group does.
	in := e.inbox
	list, err := in.Assigned(t.Context(), inbox.Approver{Principal: inbox.Principal{Issuer: ann.Issuer, Tenant: "eu", Subject: "cay"}, Groups: []string{"finance"}}, inbox.AssignedFilter{})
	if err != nil || len(list) != 1 {
		t.Errorf("%d assigned, %v", len(list), err)
	}
}
