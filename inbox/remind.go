package inbox

import "time"

// expiresAt sets when a question ends, and with it when that is told.
func (w *work) expiresAt(q *questionRecord, at time.Time) {
	q.ExpiresAt, q.remind = at, time.Time{}
	if left, notice := at.Sub(w.now), w.in.options.Notice; left > 0 && notice > 0 {
		q.remind = at.Add(-min(notice, left/4)).Truncate(time.Microsecond)
	}
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
