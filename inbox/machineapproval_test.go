package inbox_test

import (
	"slices"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-mcp/parley/inbox"
)

// asks draws what a policy asks for: in all conversations one of two tools.
func asks(t *rapid.T) *inbox.Ask {
	return &inbox.Ask{
		Fingerprint: rapid.SampledFrom([]string{"f1", "f2"}).Draw(t, "fingerprint"),
		Offer:       []inbox.Scope{inbox.Always},
	}
}

// permissionSteps are those of policies, of people who decide, and of operators.
func (m *machine) permissionSteps(steps map[string]func(*rapid.T) error) {
	approval := func(t *rapid.T, want func(*inbox.Approval) bool) (inbox.ApprovalID, error) {
		var list []*inbox.Approval
		for _, a := range m.approvals {
			if want(a) {
				list = append(list, a)
			}
		}
		if len(list) == 0 {
			return "", errSkip
		}
		slices.SortFunc(list, func(a, b *inbox.Approval) int { return int(b.Seq - a.Seq) })
		return rapid.SampledFrom(list[:min(3, len(list))]).Draw(t, "approval").ID, nil
	}
	steps["compose under a policy"] = func(t *rapid.T) error {
		if len(m.calls) > 8 {
			return errSkip
		}
		n := inbox.NewCall{Server: "s", Method: "tools/call"}
		if rapid.IntRange(0, 4).Draw(t, "deny") == 0 {
			n.Deny = &inbox.Denial{Rule: "r"}
		} else {
			n.Ask = asks(t)
		}
		_, err := m.any(t).Compose(m.ctx, m.ann, n)
		return err
	}
	steps["ask"] = func(t *rapid.T) error {
		c, err := m.claim(t, inbox.Claimed, inbox.Sent)
		if err != nil {
			return err
		}
		_, err = c.in.Ask(m.ctx, c.claim, *asks(t))
		return err
	}
	steps["deny"] = func(t *rapid.T) error {
		c, err := m.claim(t, inbox.Claimed, inbox.Sent)
		if err != nil || rapid.IntRange(0, 2).Draw(t, "really") > 0 {
			return err
		}
		_, err = c.in.Deny(m.ctx, c.claim, inbox.Denial{Rule: "r"})
		return err
	}
	steps["decide"] = func(t *rapid.T) error {
		id, err := approval(t, func(a *inbox.Approval) bool {
			return a.State == inbox.ApprovalOpen || rapid.IntRange(0, 9).Draw(t, "closed") == 0
		})
		if err != nil {
			return err
		}
		d := inbox.Decision{Allow: rapid.IntRange(0, 3).Draw(t, "allow") > 0, Scope: rapid.SampledFrom([]inbox.Scope{inbox.Once, inbox.Always}).Draw(t, "scope")}
		_, err = m.any(t).Decide(m.ctx, inbox.Approver{Principal: m.ann}, id, d)
		return err
	}
	steps["revoke"] = func(t *rapid.T) error {
		id, err := approval(t, func(a *inbox.Approval) bool { return a.Standing })
		if err != nil {
			return err
		}
		_, err = m.any(t).Revoke(m.ctx, m.ann, id)
		return err
	}
	steps["disable"] = func(t *rapid.T) error {
		if rapid.IntRange(0, 5).Draw(t, "really") > 0 {
			return errSkip
		}
		m.disabled = true
		return m.any(t).Disable(m.ctx, m.ann)
	}
	steps["enable"] = func(t *rapid.T) error {
		if !m.disabled {
			return errSkip
		}
		m.disabled = false
		return m.any(t).Enable(m.ctx, m.ann)
	}
}

func (m *machine) checkApproval(t *rapid.T, a *inbox.Approval) (changes int64) {
	old, c := m.approvals[a.ID], m.calls[a.Call]
	m.approvals[a.ID] = a
	decided := a.State == inbox.ApprovalAllowed || a.State == inbox.ApprovalDenied
	switch {
	case (a.State == inbox.ApprovalOpen) != (c.State == inbox.Approving && c.Approval == a.ID):
		t.Fatalf("%s: an approval is %s and its call %s", m.op, a.State, c.State)
	case decided != (a.DecidedBy == m.ann), a.State.Closed() != !a.Closed.IsZero():
		t.Fatalf("%s: %s, decided by %+v at %v", m.op, a.State, a.DecidedBy, a.Closed)
	case a.Standing && a.Scope != inbox.Always:
		t.Fatalf("%s: an approval that was given %s stands", m.op, a.Scope)
	}
	if old == nil {
		if a.State != inbox.ApprovalOpen || a.Version != 1 {
			t.Fatalf("%s made %+v", m.op, a)
		}
		return 1
	}
	if a.Removed && !old.Removed {
		if m.op != "sweep" || !c.Removed || a.Arguments != nil {
			t.Fatalf("%s removed %+v", m.op, a)
		}
		return 0
	}
	m.arrow(t, "approval", inbox.ApprovalArrows(), string(old.State), string(a.State))
	switch {
	case cmp.Equal(old, a):
		return 0
	case a.Version != old.Version+1:
		t.Fatalf("%s went from version %d to %d:\n%s", m.op, old.Version, a.Version, cmp.Diff(old, a))
	case old.State.Closed() && m.op != "revoke", a.Standing && !old.Standing && m.op != "decide":
		t.Fatalf("%s changed a closed approval:\n%s", m.op, cmp.Diff(old, a))
	}
	return 1
}
