package pgstore

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-mcp/parley/inbox"
)

func (t *tx) AppendAudit(row *inbox.AuditRow) error {
	if !t.write {
		return errReadOnly
	}
	if err := t.ctx.Err(); err != nil {
		return err
	}
	if err := texts(string(row.Kind), string(row.Call)); err != nil {
		return err
	}
	added := *row
	added.Detail = blob(append([]byte(nil), row.Detail...))
	t.audited = append(t.audited, &added)
	return t.bound()
}

// queueAudit puts the audit rows that were appended behind what is pending, as
// one statement for all.
func (t *tx) queueAudit() {
	if len(t.audited) == 0 {
		return
	}
	n := len(t.audited)
	at, kinds, calls, details := make([]time.Time, n), make([]string, n), make([]string, n), make([][]byte, n)
	for i, row := range t.audited {
		at[i], kinds[i], calls[i], details[i] = row.At.UTC().Truncate(time.Microsecond), string(row.Kind), string(row.Call), row.Detail
	}
	t.audited = nil
	t.pending.Queue(`INSERT INTO `+t.store.tables.audit+` (principal, at, kind, call, detail)
		SELECT $1, a.at, a.kind, a.call, a.detail
		FROM unnest($2::timestamptz[], $3::text[], $4::text[], $5::bytea[]) WITH ORDINALITY AS a (at, kind, call, detail, n) ORDER BY a.n`,
		t.principal, at, kinds, calls, details)
}

func scanAudit(row *inbox.AuditRow) []any {
	return []any{&row.ID, &row.Principal, column{&row.At}, &row.Kind, &row.Call, &row.Detail}
}

func (s *Store) auditAndPrincipals() string {
	return `SELECT a.id, coalesce(p.key, ''), a.at, a.kind, a.call, a.detail
		FROM ` + s.tables.audit + ` a LEFT JOIN ` + s.tables.principals + ` p ON p.id = a.principal`
}

func (t *tx) Audits(q inbox.AuditQuery) ([]*inbox.AuditRow, error) {
	f := &filter{}
	f.add(`a.principal = ?`, t.principal)
	f.text(`a.call`, string(q.Call))
	in(f, `a.kind`, q.Kinds)
	if q.Before != 0 {
		f.add(`a.id < ?`, q.Before)
	}
	if f.nothing {
		return nil, t.ctx.Err()
	}
	query := t.store.auditAndPrincipals() + f.conditions() + ` ORDER BY a.id DESC`
	if q.Limit > 0 {
		f.args = append(f.args, q.Limit)
		query += ` LIMIT $` + strconv.Itoa(len(f.args))
	}
	var list []*inbox.AuditRow
	err := t.rows(query, f.args, func(rows pgx.Rows) error {
		row := &inbox.AuditRow{}
		list = append(list, row)
		return rows.Scan(scanAudit(row)...)
	})
	return list, err
}

// auditWait bounds how long a reader waits for those who write, and so how long
// those who come after it wait behind it.
const auditWait = 5 * time.Second

// Audit implements [inbox.Store]. A transaction that has a number and is not
// committed yet would be missed by a reader who has read a higher one. So the
// reader looks up the highest number behind a lock that all of them let go with
// their commit, and lets it go at once.
func (s *Store) Audit(ctx context.Context, after int64, limit int) (list []*inbox.AuditRow, err error) {
	err = s.read(ctx, func(conn *pgxpool.Conn) error {
		list = nil
		var last int64
		err := pgx.BeginFunc(ctx, conn.Conn(), func(tx pgx.Tx) error {
			batch := &pgx.Batch{}
			batch.Queue(`SELECT set_config('lock_timeout', $1, true)`, strconv.FormatInt(auditWait.Milliseconds(), 10))
			batch.Queue(`LOCK TABLE ` + s.tables.audit + ` IN SHARE MODE`)
			if err := tx.SendBatch(ctx, batch).Close(); err != nil {
				return err
			}
			// A statement of its own, whose snapshot is taken behind the lock.
			return tx.QueryRow(ctx, `SELECT coalesce(max(id), 0) FROM `+s.tables.audit).Scan(&last)
		})
		if err != nil {
			return err
		}
		rows, err := conn.Query(ctx, s.auditAndPrincipals()+` WHERE a.id > $1 AND a.id <= $2 ORDER BY a.id LIMIT $3`, after, last, limit)
		if err != nil {
			return err
		}
		defer rows.Close()
		return each(rows, func() error {
			row := &inbox.AuditRow{}
			list = append(list, row)
			return rows.Scan(scanAudit(row)...)
		})
	})
	return list, err
}

// TrimAudit implements [inbox.Store]. Numbers rise nearly with the time, so the
// oldest rows are among those with the lowest.
func (s *Store) TrimAudit(ctx context.Context, age time.Duration, limit int) (removed int, err error) {
	err = s.read(ctx, func(conn *pgxpool.Conn) error {
		tag, err := conn.Exec(ctx, `DELETE FROM `+s.tables.audit+` WHERE id IN (SELECT id FROM `+s.tables.audit+` ORDER BY id LIMIT $2)
			AND at <= `+atNow+` - $3 * interval '1 microsecond'`, s.clock(), limit, age.Microseconds())
		removed = int(tag.RowsAffected())
		return err
	})
	return removed, err
}
