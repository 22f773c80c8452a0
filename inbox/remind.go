package inbox

import "time"

// expiresAt sets when a question ends, and with it when that is told.
func (w *work) expiresAt(q *questionRecord, at time.Time) {
	q.ExpiresAt, q.remind = at, w.remindAt(at)
}

// remindAt is when it is told that something ends at the given time; zero: never.
func (w *work) remindAt(end time.Time) time.Time {
	left, notice := end.Sub(w.now), w.in.options.Notice
	if left <= 0 || notice <= 0 {
		return time.Time{}
	}
	return end.Add(-min(notice, left/4)).Truncate(time.Microsecond)
}

// remindDue tells of an open question that will expire soon, once. Nothing of the
// question changes that a person sees: it has had its time from the beginning.
func (w *work) remindDue(q *questionRecord) error {
	if q.State.Closed() || !w.passed(q.remind) {
		return nil
	}
	q.remind = time.Time{}
	w.touchQuestionQuietly(q)
	if w.passed(q.ExpiresAt) {
		return nil
	}
	return w.audit(w.auditQuestion(AuditExpiring, q))
}

// remindApprovalDue is remindDue for an approval that nobody has decided.
func (w *work) remindApprovalDue(a *approvalRecord) error {
	if a.State.Closed() || !w.passed(a.remind) {
		return nil
	}
	a.remind = time.Time{}
	w.touchApprovalQuietly(a)
	if w.passed(a.ExpiresAt) {
		return nil
	}
	return w.audit(w.auditApproval(AuditApprovalExpiring, a))
}
