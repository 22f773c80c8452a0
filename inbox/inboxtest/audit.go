package inboxtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-mcp/parley/inbox"
)

var auditTests = map[string]func(*kit){
	"rows":                     auditRows,
	"views write none":         auditView,
	"pages":                    auditPages,
	"none is missed":           auditStable,
	"a call from end to end":   auditTrail,
	"held":                     auditHeld,
	"ends":                     auditEnds,
	"approvals":                auditApprovals,
	"allowed by a rule":        auditAllowedByRule,
	"allowed by an approval":   auditAllowedByApproval,
	"allowed by nobody":        auditAllowedByNobody,
	"fails closed":             auditFailsClosed,
	"no content":               auditNoContent,
	"digests":                  auditDigests,
	"refused answers":          auditChecks,
	"shown once":               auditShown,
	"shown to an approver":     auditShownApproval,
	"where it comes from":      auditSource,
	"credentials":              auditCredential,
	"retention":                auditRetention,
	"for ever":                 auditForEver,
	"erased":                   auditErased,
	"erased while they decide": auditErasedApprover,
}

// trail are the kinds of a call's entries, oldest first, each with the state
// that it led to.
func (k *kit) trail(id inbox.CallID) (list []string) {
	k.t.Helper()
	entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Call: id})
	k.must("Audit", err)
	for _, e := range slices.Backward(entries) {
		text := string(e.Kind)
		if e.State != "" {
			text += " " + e.State
		}
		list = append(list, text)
	}
	return list
}

func (k *kit) wantTrail(id inbox.CallID, want ...string) {
	k.t.Helper()
	if diff := cmp.Diff(want, k.trail(id)); diff != "" {
		k.t.Errorf("trail (-want +got):\n%s", diff)
	}
}

func auditTrail(k *kit) {
	claim, c := k.sent(inbox.Modern)
	_, _, questions := k.park(claim, seat("a", "A?"), visit("b", "https://air.example/1"))
	k.must("Shown", k.in.Shown(k.ctx, k.ann, questions[0].ID, "visible for 3 s"))
	k.accept(questions[0])
	_, err := k.in.TakeBack(k.ctx, k.ann, questions[0].ID)
	k.must("TakeBack", err)
	k.decline(questions[0])
	_, err = k.in.Open(k.ctx, k.ann, questions[1].ID, sum("https://air.example/1"))
	k.must("Open", err)
	k.answer(questions[1], inbox.Answer{Action: inbox.Accept, Via: "chat", Assurance: "signed-in page"})
	claim = k.again(c.ID)
	_, err = k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Done, Result: json.RawMessage(`{}`)})
	k.must("Finish", err)
	k.wantTrail(c.ID, "composed", "asked", "asked", "shown", "answered accepted", "taken_back", "answered declined", "opened",
		"answered accepted", "delivered", "finished done")
	entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Call: c.ID, Kinds: []inbox.AuditKind{inbox.AuditAnswered}, Limit: 1})
	k.must("Audit", err)
	want := []*inbox.AuditEntry{{
		At: micro(k.clock.Now()), Kind: inbox.AuditAnswered, Principal: k.ann, Call: c.ID, Question: questions[1].ID, Server: "flights",
		Mode: inbox.URL, Round: 1, Via: "chat", Assurance: "signed-in page", State: "accepted",
	}}
	if diff := cmp.Diff(want, entries, cmpopts.IgnoreFields(inbox.AuditEntry{}, "ID")); diff != "" {
		k.t.Errorf("answered (-want +got):\n%s", diff)
	}
	entries, err = k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Call: c.ID, Kinds: []inbox.AuditKind{inbox.AuditDelivered, inbox.AuditFinished}})
	if err != nil || len(entries) != 2 || entries[0].Count != 2 || entries[0].Machine != "one" || entries[0].Tool != "book" || entries[1].Count != 2 || entries[1].Machine != "one" {
		k.t.Errorf("by the machine: %+v, %v", entries, err)
	}
}

func auditHeld(k *kit) {
	claim, c, questions := k.held(seat("", "A?"), seat("", "B?"), seat("", "C?"))
	k.accept(questions[0])
	_, err := k.in.Deliver(k.ctx, claim, questions[0].ID, nil)
	k.must("Deliver", err)
	k.must("Withdraw", k.in.Withdraw(k.ctx, claim, questions[1].ID, ""))
	k.stop(c.ID)
	_, err = k.in.Uncertain(k.ctx, claim, "")
	k.must("Uncertain", err)
	_, err = k.in.Resolve(k.ctx, k.ann, c.ID, inbox.GiveUp, "")
	k.must("Resolve", err)
	k.wantTrail(c.ID, "composed", "asked", "asked", "asked", "answered accepted", "delivered accepted", "closed withdrawn",
		"stopped sent", "closed withdrawn", "uncertain uncertain", "resolved", "finished failed") //nolint:dupword // kind and state
}

func auditApprovals(k *kit) {
	a := ask()
	a.Assignee, a.NotAsker = inbox.Assignee{Principal: k.bob}, true
	c, open := k.approving(a)
	_, err := k.in.Decide(inbox.WithSource(k.ctx, inbox.Source{Remote: "192.0.2.7"}), inbox.Approver{Principal: k.bob}, open.ID, inbox.Decision{Via: "inbox", Assurance: "signed-in page"})
	k.must("Decide", err)
	k.wantTrail(c.ID, "composed", "approval_asked open", "approval_decided denied", "denied denied") //nolint:dupword // kind and state
	entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Kinds: []inbox.AuditKind{inbox.AuditApprovalDecided}})
	if err != nil || len(entries) != 1 || entries[0].By != k.bob || entries[0].Rule != "models ask" || entries[0].Remote != "192.0.2.7" || entries[0].Via != "inbox" {
		k.t.Errorf("decided: %+v, %v", entries, err)
	}
	c, open = k.approving(ask())
	k.decide(k.ann, open.ID, inbox.Decision{Allow: true, Scope: inbox.Always})
	_, err = k.in.Revoke(k.ctx, k.ann, open.ID)
	k.must("Revoke", err)
	k.wantTrail(c.ID, "composed", "approval_asked open", "approval_decided allowed", "approval_revoked allowed")
	c, _ = k.approving(ask())
	k.stop(c.ID)
	k.wantTrail(c.ID, "composed", "approval_asked open", "approval_closed withdrawn", "stopped stopped") //nolint:dupword // kind and state
}

// failing is a store whose audit rows cannot be written.
type failing struct{ inbox.Store }

func (f failing) Update(ctx context.Context, principal string, g func(inbox.Tx) error) error {
	return f.Store.Update(ctx, principal, func(tx inbox.Tx) error { return g(noAudit{tx}) })
}

type noAudit struct{ inbox.Tx }

func (noAudit) AppendAudit(*inbox.AuditRow) error { return errTest }

// auditFailsClosed: what cannot be recorded does not happen.
func auditFailsClosed(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"))
	_, open := k.approving(ask())
	in := k.on(failing{k.store}, "two")
	_, err := in.Answer(k.ctx, k.ann, questions[0].ID, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"seat":"12A"}`)})
	k.is("Answer", err, errTest)
	_, err = in.Answer(k.ctx, k.ann, questions[0].ID, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{}`)})
	k.is("Answer that does not fit", err, errTest)
	_, err = in.DeclineRest(k.ctx, k.ann, c.ID, inbox.Answer{})
	k.is("DeclineRest", err, errTest)
	_, err = in.Decide(k.ctx, inbox.Approver{Principal: k.ann}, open.ID, inbox.Decision{Allow: true})
	k.is("Decide", err, errTest)
	_, err = in.Stop(k.ctx, k.ann, c.ID)
	k.is("Stop", err, errTest)
	_, err = in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "s", Method: "m"})
	k.is("Compose", err, errTest)
	k.is("CredentialRead", in.CredentialRead(k.ctx, k.ann, inbox.CredentialUse{Server: "s"}), errTest)
	if q := k.asked(questions[0].ID, inbox.Open); q.Answer != nil || q.Version != questions[0].Version {
		k.t.Errorf("changed without a record: %+v", q)
	}
	k.state(c.ID, inbox.Waiting)
	k.approval(open.ID, inbox.ApprovalOpen)
	if calls, err := k.in.Calls(k.ctx, k.ann, inbox.CallFilter{}); len(calls) != 2 || err != nil {
		k.t.Errorf("%d calls, %v", len(calls), err)
	}
}

const sentinel = "xyzzy-sentinel-4711"

// auditNoContent: what people, servers and models wrote is in no audit row.
func auditNoContent(k *kit) {
	say := func(text string) string { return text + " " + sentinel }
	a := ask()
	a.Description, a.Reason = say("about"), say("since")
	c, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{
		Server: "flights", Method: "tools/call", Name: "book", Arguments: json.RawMessage(`{"to":"` + sentinel + `"}`), Ask: a,
		Endpoint: "https://" + sentinel + ".example", Key: sentinel,
	})
	k.must("Compose", err)
	k.decide(k.ann, c.Approval, inbox.Decision{Allow: true, Key: sentinel})
	claim, _, err := k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	_, err = k.in.Mark(k.ctx, claim, inbox.Binding{Era: inbox.Modern})
	k.must("Mark", err)
	free := inbox.NewQuestion{Key: sentinel, Params: json.RawMessage(fmt.Sprintf(
		`{"message":%q,"requestedSchema":{"type":"object","properties":{"x":{"type":"string","maxLength":100}}}}`, say("A?")))}
	c, err = k.in.Park(k.ctx, claim, inbox.Asked{RequestState: sentinel, Questions: []inbox.NewQuestion{free, visit("u", "https://air.example/"+sentinel)}})
	k.must("Park", err)
	questions := k.round(c)
	for _, wrong := range []string{
		`{"x":["` + sentinel + `"]}`, `{"` + sentinel + `":1}`, `{"x":"` + strings.Repeat(sentinel, 9) + `"}`, sentinel,
	} {
		_, err = k.in.Answer(k.ctx, k.ann, questions[0].ID, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(wrong)})
		if err == nil {
			k.t.Errorf("%s was taken", wrong)
		}
	}
	k.answer(questions[0], inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"x":"` + sentinel + `"}`), Key: sentinel})
	_, err = k.in.Open(k.ctx, k.ann, questions[1].ID, sum("https://air.example/"+sentinel))
	k.must("Open", err)
	k.decline(questions[1])
	_, err = k.in.Finish(k.ctx, k.again(c.ID), inbox.Outcome{State: inbox.Done, Detail: say("done"), Result: json.RawMessage(`{"r":"` + sentinel + `"}`)})
	k.must("Finish", err)
	_, held, more := k.held(inbox.NewQuestion{Params: free.Params})
	k.answer(more[0], inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"x":"` + sentinel + `"}`)})
	k.stop(held.ID)

	rows, err := k.store.Audit(k.ctx, 0, 500)
	k.must("Audit", err)
	if len(rows) < 15 {
		k.t.Errorf("only %d rows", len(rows))
	}
	for _, row := range rows {
		if strings.Contains(fmt.Sprintf("%s %s", row.Detail, row.Call), sentinel) {
			k.t.Errorf("%s: %s", row.Kind, row.Detail)
		}
	}
}

func auditDigests(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"), seat("b", "B?"))
	k.accept(questions[0])
	k.accept(questions[1])
	entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Call: c.ID})
	k.must("Audit", err)
	digests := map[string]bool{}
	for _, e := range entries {
		if e.Kind == inbox.AuditAnswered {
			digests[e.Digest] = true
			if !k.keys.SameDigest(e.Digest, inbox.AuditPurpose, []string{k.ann.Key(), string(e.Question)}, []byte(`{"seat":"12A"}`)) {
				k.t.Errorf("the digest is of something else: %+v", e)
			}
		}
	}
	if len(digests) != 2 {
		k.t.Error("the same answer to two questions has the same digest")
	}
}

func auditChecks(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"))
	for range 25 {
		_, err := k.in.Answer(k.ctx, k.ann, questions[0].ID, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"bags":"many"}`), Via: "chat"})
		k.is("Answer", err, inbox.ErrCheck)
	}
	entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Call: c.ID, Kinds: []inbox.AuditKind{inbox.AuditChecked}})
	if err != nil || len(entries) != 20 {
		k.t.Fatalf("%d entries, %v; want the first 20", len(entries), err)
	}
	if e := entries[0]; len(e.Codes) != 2 || e.Question != questions[0].ID || e.Via != "chat" {
		k.t.Errorf("checked: %+v", e)
	}
	if q := k.asked(questions[0].ID, inbox.Open); q.Version != questions[0].Version {
		k.t.Errorf("a refused answer made version %d", q.Version)
	}
}
