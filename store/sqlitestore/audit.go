package sqlitestore

import (
	"context"
	"database/sql"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

func (t *tx) AppendAudit(row *inbox.AuditRow) error { return t.appendAudit(t.principal, row) }

func (t *tx) appendAudit(principal any, row *inbox.AuditRow) error {
	return t.exec(`INSERT INTO inbox_audit (principal, at, kind, call, detail) VALUES (?, ?, ?, ?, ?)`,
		principal, toMicros(row.At), row.Kind, row.Call, blob(row.Detail))
}

func scanAudit(list *[]*inbox.AuditRow) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		row := &inbox.AuditRow{}
		*list = append(*list, row)
		return rows.Scan(&row.ID, &row.Principal, column{&row.At}, &row.Kind, &row.Call, &row.Detail)
	}
}

const auditAndPrincipals = `SELECT a.id, coalesce(p.key, ''), a.at, a.kind, a.call, a.detail
	FROM inbox_audit a LEFT JOIN inbox_principals p ON p.id = a.principal`

func (t *tx) Audits(q inbox.AuditQuery) ([]*inbox.AuditRow, error) {
	f := &filter{}
	f.add(`a.principal = ?`, t.principal)
	f.text(`a.call`, string(q.Call))
	in(f, `a.kind`, q.Kinds)
	if q.Before != 0 {
		f.add(`a.id < ?`, q.Before)
	}
	query := auditAndPrincipals + f.conditions() + ` ORDER BY a.id DESC`
	if q.Limit > 0 {
		query += ` LIMIT ?`
		f.args = append(f.args, q.Limit)
	}
	var list []*inbox.AuditRow
	err := t.rows(query, f.args, scanAudit(&list))
	return list, err
}

// Audit implements [inbox.Store]. Transactions that write run one after another,
// so the numbers are in the order of the commits.
func (s *Store) Audit(ctx context.Context, after int64, limit int) (list []*inbox.AuditRow, err error) {
	err = s.read(ctx, func(t *tx) error {
		list = nil
		return t.rows(auditAndPrincipals+` WHERE a.id > ? ORDER BY a.id LIMIT ?`, []any{after, limit}, scanAudit(&list))
	})
	return list, err
}

// TrimAudit implements [inbox.Store].
func (s *Store) TrimAudit(ctx context.Context, age time.Duration, limit int) (removed int, err error) {
	end := s.clock().Add(-age).UnixMicro()
	// Most sweeps find nothing, and need not wait for those that write.
	var due bool
	err = s.read(ctx, func(t *tx) error {
		return t.row(`SELECT EXISTS (SELECT 1 FROM (SELECT at FROM inbox_audit ORDER BY id LIMIT ?) WHERE at <= ?)`, []any{limit, end}, &due)
	})
	if err != nil || !due {
		return 0, err
	}
	err = s.Update(ctx, nobody, func(any inbox.Tx) error {
		t := any.(*tx) //nolint:forcetypeassert // of this store
		err := t.exec(`DELETE FROM inbox_audit WHERE id IN (SELECT id FROM inbox_audit ORDER BY id LIMIT ?) AND at <= ?`, limit, end)
		if err != nil {
			return err
		}
		return t.row(`SELECT changes()`, nil, &removed)
	})
	return removed, err
}
