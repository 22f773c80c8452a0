package inbox

import (
	"context"
	"slices"
)

// Shown records that a surface ([Source], Via) has shown an open question, with
// its own evidence of that: at most 512 bytes, and nothing of what was entered.
// It is recorded once for each surface, and anew when the server asks again.
// Who has seen it is no state: a question that nobody has seen can be answered.
func (in *Inbox) Shown(ctx context.Context, p Principal, id QuestionID, evidence string) error {
	if err := checkEvidence(evidence); err != nil {
		return err
	}
	return in.update(withAhead(ctx, Ahead{Question: id}), p.Key(), func(w *work) error {
		q, err := w.anyQuestion(id)
		if err != nil || q.fault != nil || q.State.Closed() { // what cannot be read was not shown
			return err
		}
		if fresh := seenBy(&q.shown, clip(w.source.Via)); !fresh {
			return nil
		}
		w.touchQuestionQuietly(q)
		e := w.auditQuestion(AuditShown, q)
		e.Evidence = evidence
		return w.audit(e)
	})
}

// ShownApproval is Shown for an approval, to the asker or to who decides.
func (in *Inbox) ShownApproval(ctx context.Context, who Approver, id ApprovalID, evidence string) error {
	if err := checkEvidence(evidence); err != nil {
		return err
	}
	owner, err := in.locate(ctx, who, id)
	if err != nil {
		return err
	}
	return in.update(ctx, owner, func(w *work) error {
		a, err := w.anyApproval(id)
		switch {
		case err != nil:
			return err
		case a.Principal != who.Principal && !a.MayDecide(who):
			return ErrNotFound
		case a.fault != nil, a.State.Closed():
			return nil //nolint:nilerr // nobody saw what cannot be read
		}
		surface := clip(w.source.Via)
		if a.Principal != who.Principal {
			surface = who.Principal.Key() + " " + surface
		}
		if fresh := seenBy(&a.shown, surface); !fresh {
			return nil
		}
		w.touchApprovalQuietly(a)
		e := w.auditApproval(AuditShown, a)
		e.By, e.Evidence = who.Principal, evidence
		return w.audit(e)
	})
}

// seenBy adds the surface, and reports whether it was not there. There are a
// few; whoever makes up more is not recorded.
func seenBy(list *[]string, surface string) bool {
	if len(*list) >= maxSurfaces || slices.Contains(*list, surface) {
		return false
	}
	*list = append(*list, surface)
	return true
}
