package inboxtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

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

func auditRows(k *kit) {
	at := micro(k.clock.Now())
	want := []*inbox.AuditRow{
		{Principal: "p", At: at, Kind: inbox.AuditAsked, Call: "c_1", Detail: []byte(`{"a":1}`)},
		{Principal: "p", At: at.Add(time.Second), Kind: inbox.AuditShown, Detail: []byte(`{}`)},
		{Principal: "q", At: at, Kind: inbox.AuditAsked, Call: "c_1", Detail: []byte{0, 255}},
	}
	k.update("p", func(tx inbox.Tx) error {
		err := errors.Join(tx.AppendAudit(want[0]), tx.AppendAudit(want[1]))
		rows, err2 := tx.Audits(inbox.AuditQuery{}) // a transaction reads what it wrote
		if len(rows) != 2 {
			k.t.Errorf("%d rows in the transaction", len(rows))
		}
		return errors.Join(err, err2)
	})
	k.is("Update", k.store.Update(k.ctx, "p", func(tx inbox.Tx) error { return errors.Join(tx.AppendAudit(want[0]), errTest) }), errTest)
	k.update("q", func(tx inbox.Tx) error { return tx.AppendAudit(want[2]) })
	ids := cmpopts.IgnoreFields(inbox.AuditRow{}, "ID")
	for _, store := range []inbox.Store{k.store, k.handle()} {
		all, err := store.Audit(k.ctx, 0, 9)
		k.must("Audit", err)
		if diff := cmp.Diff(want, all, ids); diff != "" {
			k.t.Fatalf("rows (-want +got):\n%s", diff)
		}
		if !slices.IsSortedFunc(all, func(a, b *inbox.AuditRow) int { return int(a.ID - b.ID) }) || all[0].ID < 1 || all[0].ID == all[1].ID {
			k.t.Errorf("numbers %d, %d, %d", all[0].ID, all[1].ID, all[2].ID)
		}
		rest, err := store.Audit(k.ctx, all[0].ID, 1)
		if len(rest) != 1 || err != nil || rest[0].ID != all[1].ID {
			k.t.Errorf("the second: %+v, %v", rest, err)
		}
		for _, test := range []struct {
			q    inbox.AuditQuery
			want []int
		}{
			{inbox.AuditQuery{}, []int{1, 0}},
			{inbox.AuditQuery{Limit: 1}, []int{1}},
			{inbox.AuditQuery{Before: all[1].ID}, []int{0}},
			{inbox.AuditQuery{Call: "c_1"}, []int{0}},
			{inbox.AuditQuery{Kinds: []inbox.AuditKind{inbox.AuditShown, inbox.AuditErased}}, []int{1}},
			{inbox.AuditQuery{Call: "c_2"}, nil},
		} {
			k.must("View", store.View(k.ctx, "p", func(tx inbox.Tx) error {
				rows, err := tx.Audits(test.q)
				var got []int
				for _, row := range rows {
					got = append(got, slices.IndexFunc(all, func(r *inbox.AuditRow) bool { return r.ID == row.ID }))
				}
				if !slices.Equal(got, test.want) {
					k.t.Errorf("%+v: %v, want %v", test.q, got, test.want)
				}
				return err
			}))
		}
	}
}

func auditView(k *kit) {
	if err := k.store.View(k.ctx, "p", func(tx inbox.Tx) error { return tx.AppendAudit(&inbox.AuditRow{At: tx.Now()}) }); err == nil {
		k.t.Error("a view wrote an audit row")
	}
	if err := k.store.View(k.ctx, "p", func(tx inbox.Tx) error { return tx.SetDisabled(true) }); err == nil {
		k.t.Error("a view disabled somebody")
	}
	if rows, err := k.store.Audit(k.ctx, 0, 9); len(rows) != 0 || err != nil {
		k.t.Errorf("rows: %+v, %v", rows, err)
	}
}

// auditPages: what is written meanwhile moves no page, either way.
func auditPages(k *kit) {
	for range 5 {
		k.compose()
	}
	seen := map[int64]bool{}
	read := func(page []*inbox.AuditEntry, err error) []*inbox.AuditEntry {
		k.must("Audit", err)
		for _, e := range page {
			if seen[e.ID] {
				k.t.Errorf("entry %d came twice", e.ID)
			}
			seen[e.ID] = true
		}
		return page
	}
	page := read(k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Limit: 2}))
	k.compose()
	page = read(k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Limit: 2, Before: page[1].ID}))
	page = read(k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Limit: 2, Before: page[1].ID}))
	if len(page) != 1 || len(seen) != 5 {
		k.t.Errorf("%d on the last page, %d in all", len(page), len(seen))
	}
	clear(seen)
	_, err := k.in.Compose(k.ctx, k.bob, inbox.NewCall{Server: "s", Method: "m"})
	k.must("Compose", err)
	last := int64(0)
	for {
		page := read(k.in.AuditAll(k.ctx, last, 3))
		if len(page) == 0 {
			break
		}
		last = page[len(page)-1].ID
	}
	if len(seen) != 7 {
		k.t.Errorf("%d entries of everybody", len(seen))
	}
	if other, err := k.in.Audit(k.ctx, k.bob, inbox.AuditFilter{}); len(other) != 1 || err != nil || other[0].Principal != k.bob {
		k.t.Errorf("another person's: %+v, %v", other, err)
	}
}

// auditStable reads on while many write, and misses none.
func auditStable(k *kit) {
	const people, each = 6, 8
	var wg sync.WaitGroup
	for i := range people {
		p := inbox.Principal{Issuer: "i", Subject: fmt.Sprint(i)}
		in := k.on(k.store, fmt.Sprint("m", i))
		wg.Go(func() {
			for range each {
				if _, err := in.Compose(k.ctx, p, inbox.NewCall{Server: "s", Method: "m"}); err != nil {
					k.t.Errorf("Compose: %v", err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { wg.Wait(); close(written) }()
	store := k.handle()
	last, n := int64(0), 0
	for done := false; ; {
		rows, err := store.Audit(k.ctx, last, 5)
		if err != nil {
			k.t.Fatalf("Audit: %v", err)
		}
		for _, row := range rows {
			last, n = row.ID, n+1
		}
		if len(rows) == 0 && done {
			break
		}
		select {
		case <-written:
			done = true
		default:
		}
	}
	if n != people*each {
		k.t.Errorf("%d rows were read, %d were written", n, people*each)
	}
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
	_, err := k.in.Deliver(k.ctx, claim, questions[0].ID)
	k.must("Deliver", err)
	k.must("Withdraw", k.in.Withdraw(k.ctx, claim, questions[1].ID, ""))
	k.stop(c.ID)
	_, err = k.in.Uncertain(k.ctx, claim, "")
	k.must("Uncertain", err)
	_, err = k.in.Resolve(k.ctx, k.ann, c.ID, inbox.GiveUp)
	k.must("Resolve", err)
	k.wantTrail(c.ID, "composed", "asked", "asked", "asked", "answered accepted", "delivered accepted", "closed withdrawn",
		"stopped sent", "closed withdrawn", "uncertain uncertain", "resolved", "finished failed")
}

// auditEnds: for every end there is an entry that says so, and by whom.
func auditEnds(k *kit) {
	ended := func(id inbox.CallID, kind inbox.AuditKind, state inbox.CallState, reason, machine string) {
		k.t.Helper()
		k.state(id, state)
		entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Call: id, Limit: 1})
		k.must("Audit", err)
		if e := entries[0]; e.Kind != kind || e.State != string(state) || e.Reason != reason || e.Machine != machine || e.Server != "flights" {
			k.t.Errorf("%s: %+v", state, e)
		}
	}
	for _, state := range []inbox.CallState{inbox.Done, inbox.Failed, inbox.Lapsed} {
		claim, c := k.sent(inbox.Modern)
		_, err := k.in.Finish(k.ctx, claim, inbox.Outcome{State: state, Reason: "r"})
		k.must("Finish", err)
		ended(c.ID, inbox.AuditFinished, state, "r", "one")
	}
	c := k.compose()
	k.stop(c.ID)
	ended(c.ID, inbox.AuditStopped, inbox.Stopped, inbox.ReasonStopped, "")
	claim, c := k.claim()
	_, err := k.in.Deny(k.ctx, claim, inbox.Denial{Rule: "r"})
	k.must("Deny", err)
	ended(c.ID, inbox.AuditDenied, inbox.Denied, inbox.ReasonDenied, "one")
	claim, c, _ = k.held(seat("", "A?"))
	_, err = k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Interrupted, Reason: inbox.ReasonHostStopped})
	k.must("Finish", err)
	ended(c.ID, inbox.AuditFinished, inbox.Interrupted, inbox.ReasonHostStopped, "one")
	k.clock.advance(time.Minute) // of new questions
	_, c, _ = k.waiting(seat("a", "B?"))
	k.clock.advance(7 * 24 * time.Hour)
	k.sweep()
	ended(c.ID, inbox.AuditFinished, inbox.CallExpired, inbox.ReasonUnanswered, "one")
}

func auditApprovals(k *kit) {
	a := ask()
	a.Assignee, a.NotAsker = inbox.Assignee{Principal: k.bob}, true
	c, open := k.approving(a)
	_, err := k.in.Decide(inbox.WithSource(k.ctx, inbox.Source{Remote: "192.0.2.7"}), inbox.Approver{Principal: k.bob}, open.ID, inbox.Decision{Via: "inbox", Assurance: "signed-in page"})
	k.must("Decide", err)
	k.wantTrail(c.ID, "composed", "approval_asked open", "approval_decided denied", "denied denied")
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
	k.wantTrail(c.ID, "composed", "approval_asked open", "approval_closed withdrawn", "stopped stopped")
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
	_, err = in.DeclineRest(k.ctx, k.ann, c.ID, "")
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

func auditShown(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"))
	on := func(via string) context.Context { return inbox.WithSource(k.ctx, inbox.Source{Via: via}) }
	for _, via := range []string{"chat", "inbox", "chat", ""} {
		k.must("Shown", k.in.Shown(on(via), k.ann, questions[0].ID, "drawn in full"))
	}
	entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Call: c.ID, Kinds: []inbox.AuditKind{inbox.AuditShown}})
	if err != nil || len(entries) != 3 || entries[2].Via != "chat" || entries[2].Evidence != "drawn in full" {
		k.t.Errorf("shown: %+v, %v", entries, err)
	}
	if q := k.asked(questions[0].ID, inbox.Open); q.Version != questions[0].Version {
		k.t.Errorf("showing it made version %d", q.Version)
	}
	k.is("Shown to another", k.in.Shown(k.ctx, k.bob, questions[0].ID, ""), inbox.ErrNotFound)
	k.is("too much evidence", k.in.Shown(k.ctx, k.ann, questions[0].ID, strings.Repeat("x", 600)), inbox.ErrInvalid)
	for i := range 30 { // whoever makes surfaces up
		k.must("Shown", k.in.Shown(on(fmt.Sprint("s", i)), k.ann, questions[0].ID, ""))
	}
	entries, err = k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Call: c.ID, Kinds: []inbox.AuditKind{inbox.AuditShown}})
	if err != nil || len(entries) != 16 {
		k.t.Errorf("%d surfaces, %v", len(entries), err)
	}
	k.accept(questions[0])
	k.must("Shown when it is closed", k.in.Shown(on("late"), k.ann, questions[0].ID, ""))
}

func auditShownApproval(k *kit) {
	a := ask()
	a.Assignee.Group = "admins"
	_, open := k.approving(a)
	bob := inbox.Approver{Principal: k.bob, Groups: []string{"admins"}}
	for range 2 {
		k.must("ShownApproval", k.in.ShownApproval(k.ctx, bob, open.ID, "drawn"))
		k.must("ShownApproval", k.in.ShownApproval(k.ctx, inbox.Approver{Principal: k.ann}, open.ID, "drawn"))
	}
	k.is("to no member", k.in.ShownApproval(k.ctx, inbox.Approver{Principal: k.bob}, open.ID, ""), inbox.ErrNotFound)
	entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Kinds: []inbox.AuditKind{inbox.AuditShown}})
	if err != nil || len(entries) != 2 || entries[1].By != k.bob || entries[0].By != (inbox.Principal{}) || entries[0].Approval != open.ID {
		k.t.Errorf("shown: %+v, %v", entries, err)
	}
	if got := k.approval(open.ID, inbox.ApprovalOpen); got.Version != open.Version {
		k.t.Errorf("showing it made version %d", got.Version)
	}
}

func auditSource(k *kit) {
	c := k.compose()
	ctx := inbox.WithSource(k.ctx, inbox.Source{
		By: k.bob, Via: "ops", Assurance: "signed-in page", Remote: "192.0.2.7", UserAgent: strings.Repeat("Mozilla ", 99),
	})
	_, err := k.in.Stop(ctx, k.ann, c.ID)
	k.must("Stop", err)
	entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Kinds: []inbox.AuditKind{inbox.AuditStopped}})
	k.must("Audit", err)
	e := entries[0]
	if e.By != k.bob || e.Via != "ops" || e.Assurance != "signed-in page" || e.Remote != "192.0.2.7" || e.Machine != "" ||
		!strings.HasPrefix(e.UserAgent, "Mozilla Mozilla") || len(e.UserAgent) > 100 {
		k.t.Errorf("stopped: %+v", e)
	}
	// The form in which it is exported reads back.
	text, err := json.Marshal(e)
	k.must("Marshal", err)
	var back inbox.AuditEntry
	k.must("Unmarshal", json.Unmarshal(text, &back))
	if diff := cmp.Diff(e, &back); diff != "" {
		k.t.Errorf("exported and read (-want +got):\n%s", diff)
	}
}

func auditCredential(k *kit) {
	use := inbox.CredentialUse{Call: "c_1", Server: "flights", Credential: "refresh token", Purpose: "send"}
	k.must("CredentialRead", k.in.CredentialRead(k.ctx, k.ann, use))
	entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Call: "c_1"})
	if err != nil || len(entries) != 1 || entries[0].Kind != inbox.AuditCredentialRead || entries[0].Server != "flights" {
		k.t.Errorf("read: %+v, %v", entries, err)
	}
	k.is("CredentialRead of nobody", k.in.CredentialRead(k.ctx, inbox.Principal{}, use), inbox.ErrInvalid)
	use.Purpose = "\xff"
	k.is("CredentialRead for no text", k.in.CredentialRead(k.ctx, k.ann, use), inbox.ErrInvalid)
}

const year = 365 * 24 * time.Hour

func auditRetention(k *kit) {
	old := k.compose()
	k.stop(old.ID)
	k.clock.advance(time.Second)
	young := k.compose()
	k.clock.advance(year - time.Second - time.Microsecond)
	k.sweep()
	if all, err := k.in.AuditAll(k.ctx, 0, 0); err != nil || len(all) != 3 {
		k.t.Errorf("too early: %d entries, %v", len(all), err)
	}
	k.clock.advance(time.Microsecond)
	k.sweep()
	all, err := k.in.AuditAll(k.ctx, 0, 0)
	if err != nil || len(all) != 1 || all[0].Call != young.ID {
		k.t.Errorf("after a year: %+v, %v", all, err)
	}
	k.state(old.ID, inbox.Stopped) // a record of its own
	// A few at a time.
	for range 5 {
		k.compose()
	}
	k.clock.advance(2 * year)
	for _, want := range []int{2, 2, 2, 0} {
		if n, err := k.store.TrimAudit(k.ctx, year, 2); n != want || err != nil {
			k.t.Errorf("TrimAudit = %d, %v; want %d", n, err, want)
		}
	}
}

func auditForEver(k *kit) {
	k.compose()
	k.in = inbox.New(k.store, k.keys, &inbox.Options{AuditRetention: -1})
	k.clock.advance(20 * year)
	k.sweep()
	if all, err := k.in.AuditAll(k.ctx, 0, 0); err != nil || len(all) != 1 {
		k.t.Errorf("%d entries, %v", len(all), err)
	}
}

func auditErased(k *kit) {
	k.compose()
	_, err := k.in.Compose(k.ctx, k.bob, inbox.NewCall{Server: "s", Method: "m"})
	k.must("Compose", err)
	before, err := k.in.AuditAll(k.ctx, 0, 0)
	k.must("AuditAll", err)
	ctx := inbox.WithSource(k.ctx, inbox.Source{By: k.bob, Via: "ops", Remote: "192.0.2.7"})
	k.must("Erase", k.in.Erase(ctx, k.ann))
	all, err := k.in.AuditAll(k.ctx, 0, 0)
	k.must("AuditAll", err)
	if len(all) != 2 || all[0].Principal != k.bob || all[1].Kind != inbox.AuditErased || all[1].ID <= before[len(before)-1].ID {
		k.t.Fatalf("after Erase: %+v", all)
	}
	e := all[1]
	if e.Principal != (inbox.Principal{}) || e.By != k.bob || e.Via != "ops" || e.Remote != "" || !e.At.Equal(micro(k.clock.Now())) {
		k.t.Errorf("erased: %+v", e)
	}
	if !k.keys.SameDigest(e.Digest, inbox.AuditPurpose, nil, []byte(k.ann.Key())) {
		k.t.Error("whoever has the keys cannot tell who was erased")
	}
	rows, err := k.store.Audit(k.ctx, 0, 9)
	k.must("Audit", err)
	for _, row := range rows {
		if strings.Contains(string(row.Detail), "ann") {
			k.t.Errorf("%s: %s", row.Kind, row.Detail)
		}
	}
	if mine, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{}); len(mine) != 0 || err != nil {
		k.t.Errorf("who comes back finds %+v, %v", mine, err)
	}
}

func auditErasedApprover(k *kit) {
	a := ask()
	a.Assignee, a.NotAsker = inbox.Assignee{Principal: k.bob}, true
	c, open := k.approving(a)
	k.must("Erase", k.in.Erase(k.ctx, k.bob))
	k.approval(open.ID, inbox.ApprovalExpired)
	if got := k.state(c.ID, inbox.CallExpired); got.Reason != inbox.ReasonNotDecided {
		k.t.Errorf("expired: %+v", got)
	}
	if last, err := k.in.LastEvent(k.ctx, k.bob); last != 0 || err != nil {
		k.t.Errorf("who was erased has event %d, %v", last, err)
	}
	k.sweep()
	if last, err := k.in.LastEvent(k.ctx, k.bob); last != 0 || err != nil {
		k.t.Errorf("who was erased has event %d, %v", last, err)
	}
}
