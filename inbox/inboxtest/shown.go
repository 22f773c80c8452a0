package inboxtest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
)

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
		!strings.HasPrefix(e.UserAgent, "Mozilla Mozilla") || len(e.UserAgent) > 100 { //nolint:dupword // a long one
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

	change := inbox.CredentialChange{Kind: inbox.AuditSignedOut, Server: "flights", State: "pending"}
	ctx := inbox.WithSource(k.ctx, inbox.Source{Via: "page"})
	k.must("CredentialChanged", k.in.CredentialChanged(ctx, k.ann, change))
	entries, err = k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Kinds: []inbox.AuditKind{inbox.AuditSignedOut}})
	if err != nil || len(entries) != 1 || entries[0].Server != "flights" || entries[0].State != "pending" || entries[0].Via != "page" || entries[0].Principal != k.ann {
		k.t.Errorf("changed: %+v, %v", entries, err)
	}
	if entries, err := k.in.Audit(k.ctx, k.bob, inbox.AuditFilter{}); err != nil || len(entries) != 0 {
		k.t.Errorf("somebody else reads %+v, %v", entries, err)
	}
	k.is("CredentialChanged of nobody", k.in.CredentialChanged(k.ctx, inbox.Principal{}, change), inbox.ErrInvalid)
	k.is("CredentialChanged to no text", k.in.CredentialChanged(k.ctx, k.ann, inbox.CredentialChange{Kind: inbox.AuditSignedIn, Server: "\xff"}), inbox.ErrInvalid)
	k.is("CredentialChanged as an answer", k.in.CredentialChanged(k.ctx, k.ann, inbox.CredentialChange{Kind: inbox.AuditAnswered, Server: "flights"}), inbox.ErrInvalid)
}
