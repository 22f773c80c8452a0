package sqlitestore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/parley-mcp/parley/inbox"
)

const approvalColumns = `id, call, seq, conversation, server, state, version, assignee, standing, due, created, closed, detail, content`

func scanApproval(row *inbox.ApprovalRow) []any {
	return []any{
		&row.ID, &row.Call, &row.Seq, &row.Conversation, &row.Server, &row.State, &row.Version, &row.Assignee, &row.Standing,
		column{&row.Due}, column{&row.Created}, column{&row.Closed}, &row.Detail, &row.Content,
	}
}

func (t *tx) Approval(id inbox.ApprovalID) (*inbox.ApprovalRow, error) {
	row := &inbox.ApprovalRow{}
	err := t.row(`SELECT `+approvalColumns+` FROM inbox_approvals WHERE id = ? AND principal = ?`, []any{id, t.principal}, scanApproval(row)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, inbox.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return row, nil
}

func (t *tx) PutApproval(row *inbox.ApprovalRow) error {
	return t.exec(`INSERT INTO inbox_approvals (principal, `+approvalColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET
			call = excluded.call, seq = excluded.seq, conversation = excluded.conversation, server = excluded.server,
			state = excluded.state, version = excluded.version, assignee = excluded.assignee, standing = excluded.standing,
			due = excluded.due, created = excluded.created, closed = excluded.closed,
			detail = excluded.detail, content = excluded.content
		WHERE principal = excluded.principal`,
		t.principal, row.ID, row.Call, row.Seq, row.Conversation, row.Server, row.State, row.Version, row.Assignee, row.Standing,
		toMicros(row.Due), toMicros(row.Created), toMicros(row.Closed), blob(row.Detail), blob(row.Content))
}

func (t *tx) Approvals(q inbox.ApprovalQuery) ([]*inbox.ApprovalRow, error) {
	f := &filter{}
	f.add(`principal = ?`, t.principal)
	f.text(`call`, string(q.Call))
	f.text(`conversation`, q.Conversation)
	in(f, `state`, q.States)
	in(f, `standing`, q.Standing)
	if q.Stands || len(q.Standing) > 0 {
		f.add(`standing <> ''`)
	}
	var list []*inbox.ApprovalRow
	err := t.rows(`SELECT `+approvalColumns+` FROM `+along(`inbox_approvals`, `inbox_approvals_call`, string(q.Call))+f.newest(q.Before, q.Limit), f.args, func(rows *sql.Rows) error {
		row := &inbox.ApprovalRow{}
		list = append(list, row)
		return rows.Scan(scanApproval(row)...)
	})
	return list, err
}

// Assigned implements [inbox.Store].
func (s *Store) Assigned(ctx context.Context, q inbox.AssignedQuery) ([]inbox.Ref, error) {
	if len(q.Assignees) == 0 {
		return nil, s.check(ctx)
	}
	f := &filter{}
	f.add(`a.assignee <> ''`)
	in(f, `a.assignee`, q.Assignees)
	f.text(`a.id`, string(q.ID))
	if q.Open {
		f.add(`a.state = 'open'`)
	}
	if q.After != "" {
		f.add(`(a.created, a.id) > (?, ?)`, toMicros(q.AfterTime), q.After)
	}
	f.args = append(f.args, q.Limit)
	return s.refs(ctx, `SELECT p.key, a.call, '', a.id, a.created FROM inbox_approvals a JOIN inbox_principals p ON p.id = a.principal`+
		f.conditions()+` ORDER BY a.created, a.id LIMIT ?`, f.args...)
}
