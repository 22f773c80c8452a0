package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

func copyAudit(row *inbox.AuditRow) *inbox.AuditRow {
	a := *row
	a.Detail = slices.Clone(a.Detail)
	a.At = stored(a.At)
	return &a
}

// append gives the row, which nobody else has, its number and its place.
func (db *database) append(principal string, row *inbox.AuditRow) {
	db.audited++
	row.ID, row.Principal = db.audited, principal
	db.audit = append(db.audit, row)
}

func (t *tx) AppendAudit(row *inbox.AuditRow) error {
	if err := t.writable(); err != nil {
		return err
	}
	t.audit = append(t.audit, copyAudit(row))
	return nil
}

func (t *tx) Audits(q inbox.AuditQuery) ([]*inbox.AuditRow, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	all := slices.Clip(t.db.audit)
	for i, row := range t.audit { // the numbers that they will get
		added := *row
		added.ID, added.Principal = t.db.audited+int64(i)+1, t.principal
		all = append(all, &added)
	}
	var list []*inbox.AuditRow
	for _, r := range slices.Backward(all) {
		if r.Principal == t.principal && (q.Call == "" || r.Call == q.Call) &&
			(len(q.Kinds) == 0 || slices.Contains(q.Kinds, r.Kind)) && (q.Before == 0 || r.ID < q.Before) {
			if list = append(list, copyAudit(r)); len(list) == q.Limit {
				break
			}
		}
	}
	return list, nil
}

// Audit implements [inbox.Store].
func (s *Store) Audit(ctx context.Context, after int64, limit int) ([]*inbox.AuditRow, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	var list []*inbox.AuditRow
	for _, r := range s.db.audit {
		if len(list) == limit {
			break
		}
		if r.ID > after {
			list = append(list, copyAudit(r))
		}
	}
	return list, nil
}

// TrimAudit implements [inbox.Store].
func (s *Store) TrimAudit(ctx context.Context, age time.Duration, limit int) (int, error) {
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.unlock()
	end, n := s.clock().Add(-age), min(limit, len(s.db.audit))
	kept := slices.DeleteFunc(slices.Clone(s.db.audit[:n]), func(r *inbox.AuditRow) bool { return !r.At.After(end) })
	removed := n - len(kept)
	if removed > 0 {
		s.db.audit = slices.Concat(kept, s.db.audit[n:])
	}
	return removed, nil
}
