package inboxtest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
)

// wantAllowed compares what the trail of a call says of what allowed it: of each entry the
// kind, the rule, and the approval by its name.
func (k *kit) wantAllowed(id inbox.CallID, names map[inbox.ApprovalID]string, want ...string) {
	k.t.Helper()
	entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Call: id})
	k.must("Audit", err)
	var got []string
	for _, e := range slices.Backward(entries) {
		switch e.Kind {
		case inbox.AuditAsked, inbox.AuditAnswered: // nothing is allowed by them
			continue
		case inbox.AuditAllowed:
			if e.Machine == "" || e.Server != "flights" || e.Tool != "book" {
				k.t.Errorf("allowed: %+v", e)
			}
		}
		text := string(e.Kind) + "/" + e.Rule + "/" + names[e.Approval]
		if e.Approval != "" && names[e.Approval] == "" {
			text += "unknown"
		}
		got = append(got, strings.TrimRight(text, "/"))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		k.t.Errorf("allowed (-want +got):\n%s", diff)
	}
}

// leaves claims a call and marks it as the policy allows.
func (k *kit) leaves(id inbox.CallID, by *inbox.Allowed) *inbox.Claim {
	k.t.Helper()
	claim, _, err := k.in.Claim(k.ctx, k.ann, id)
	k.must("Claim", err)
	_, err = k.in.Mark(k.ctx, claim, inbox.Binding{Era: inbox.Modern, Allowed: by})
	k.must("Mark", err)
	return claim
}

func byRule(name string) *inbox.Allowed { return &inbox.Allowed{Rule: name} }

func (k *kit) underRule(name string) *inbox.Call {
	k.t.Helper()
	c, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "flights", Method: "tools/call", Name: "book", Rule: name})
	k.must("Compose", err)
	return c
}

// auditAllowedByRule: the rule that allows a call stands where it was composed, with each
// answer that leaves, and once more where another one allows it.
func auditAllowedByRule(k *kit) {
	c := k.underRule("readers")
	claim := k.leaves(c.ID, byRule("readers"))
	_, _, questions := k.park(claim, seat("a", "by rule?"))
	k.accept(questions[0])
	claim = k.leaves(c.ID, byRule("readers"))
	_, err := k.in.NothingRan(k.ctx, claim, "")
	k.must("NothingRan", err)
	k.finish(k.leaves(c.ID, byRule("writers")), inbox.Done, "")
	k.wantAllowed(c.ID, nil, "composed/readers", "delivered/readers", "delivered/writers", "finished")

	// A send without answers is told where something else allows it.
	c = k.underRule("readers")
	for _, rule := range []string{"readers", "writers", "writers", "readers"} {
		_, err = k.in.NothingRan(k.ctx, k.leaves(c.ID, byRule(rule)), "")
		k.must("NothingRan", err)
	}
	claim, _, err = k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	_, err = k.in.Deny(k.ctx, claim, inbox.Denial{Rule: "never"})
	k.must("Deny", err)
	k.wantAllowed(c.ID, nil, "composed/readers", "allowed/writers", "allowed/readers", "denied/never")

	// What is run again is judged before it is sent, and not before.
	again, err := k.in.RunAgain(k.ctx, k.ann, c.ID, "")
	k.must("RunAgain", err)
	k.finish(k.leaves(again.ID, byRule("readers")), inbox.Done, "")
	k.wantAllowed(again.ID, nil, "composed", "allowed/readers", "finished")

	claim, c, questions = k.held(seat("", "held by rule?"), seat("", "held by another?"))
	for i, rule := range []string{"readers", "writers"} {
		k.accept(questions[i])
		_, err = k.in.Deliver(k.ctx, claim, questions[i].ID, byRule(rule))
		k.must("Deliver", err)
	}
	k.finish(claim, inbox.Done, "")
	k.wantAllowed(c.ID, nil, "composed", "delivered/readers", "delivered/writers", "finished")

	_, err = k.in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "s", Method: "m", Rule: "r", Ask: ask()})
	k.is("Compose of what is allowed and asked about", err, inbox.ErrInvalid)
	claim, _ = k.claim()
	_, err = k.in.Mark(k.ctx, claim, inbox.Binding{Allowed: byRule("\xff")})
	k.is("Mark by what is no name", err, inbox.ErrInvalid)
}

// auditAllowedByApproval: so does the approval, and an earlier one that stood for it.
func auditAllowedByApproval(k *kit) {
	const rule = "models ask"
	by := &inbox.Allowed{Ask: ask()}
	first, always := k.approving(ask())
	k.decide(k.ann, always.ID, inbox.Decision{Allow: true, Scope: inbox.Always})
	k.finish(k.leaves(first.ID, by), inbox.Done, "")
	names := map[inbox.ApprovalID]string{always.ID: "always"}
	k.wantAllowed(first.ID, names, "composed", "approval_asked/"+rule+"/always", "approval_decided/"+rule+"/always", "finished//always")

	covered := k.under(ask())
	claim := k.leaves(covered.ID, by)
	other := k.under(ask())
	k.finish(k.leaves(other.ID, byRule("all may")), inbox.Done, "")
	_, _, questions := k.park(claim, seat("a", "still?"))
	k.accept(questions[0])
	_, err := k.in.Revoke(k.ctx, k.ann, always.ID)
	k.must("Revoke", err)
	claim, _, err = k.in.Claim(k.ctx, k.ann, covered.ID)
	k.must("Claim", err)
	c, err := k.in.Ask(k.ctx, claim, *ask())
	k.must("Ask", err)
	names[c.Approval] = "anew"
	k.decide(k.ann, c.Approval, inbox.Decision{Allow: true})
	k.finish(k.leaves(covered.ID, by), inbox.Done, "")
	k.wantAllowed(covered.ID, names, "composed/"+rule+"/always", "approval_asked/"+rule+"/anew", "approval_decided/"+rule+"/anew",
		"delivered/"+rule+"/anew", "finished//anew")
	k.wantAllowed(other.ID, names, "composed/"+rule+"/always", "allowed/all may", "finished")

	// A version that told nothing of it left the approval with its calls.
	c, once := k.approving(ask())
	names[once.ID] = "once"
	k.decide(k.ann, once.ID, inbox.Decision{Allow: true})
	claim, _, err = k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	k.update(k.ann.Key(), func(tx inbox.Tx) error {
		row, err := tx.Call(c.ID)
		if err != nil {
			return err
		}
		var detail map[string]any
		if err := json.Unmarshal(row.Detail, &detail); err != nil {
			return err
		}
		for _, name := range []string{"allowed_by", "allowed_under"} {
			if detail[name] == nil {
				k.t.Errorf("the row has no %s", name)
			}
			delete(detail, name)
		}
		if row.Detail, err = json.Marshal(detail); err != nil {
			return err
		}
		return tx.PutCall(row)
	})
	_, err = k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Failed})
	k.must("Finish", err)
	k.wantAllowed(c.ID, names, "composed", "approval_asked/"+rule+"/once", "approval_decided/"+rule+"/once", "finished//once")
}

// auditAllowedByNobody: an approval that was asked for and not given is named where it ended
// the call, and not where the call ends for what left before.
func auditAllowedByNobody(k *kit) {
	const rule = "models ask"
	asked := func() (*inbox.Call, map[inbox.ApprovalID]string) {
		c := k.underRule("readers")
		claim := k.leaves(c.ID, byRule("readers"))
		_, err := k.in.Uncertain(k.ctx, claim, "")
		k.must("Uncertain", err)
		_, err = k.in.Resend(k.ctx, claim, 0, 0)
		k.must("Resend", err)
		c, err = k.in.Ask(k.ctx, k.claimed(c.ID), *ask())
		k.must("Ask", err)
		return c, map[inbox.ApprovalID]string{c.Approval: "late"}
	}
	c, names := asked()
	k.clock.advance(24 * time.Hour)
	k.sweep()
	_, err := k.in.Resolve(k.ctx, k.ann, c.ID, inbox.ItHappened, "")
	k.must("Resolve", err)
	k.wantAllowed(c.ID, names, "composed/readers", "uncertain", "approval_asked/"+rule+"/late", "approval_closed/"+rule+"/late", "uncertain//late", "resolved", "finished")

	c, names = asked()
	k.decide(k.ann, c.Approval, inbox.Decision{})
	k.wantAllowed(c.ID, names, "composed/readers", "uncertain", "approval_asked/"+rule+"/late", "approval_decided/"+rule+"/late", "denied//late")
}
