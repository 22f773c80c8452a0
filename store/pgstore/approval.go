package pgstore

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"

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
	if !storable(string(id)) {
		return nil, inbox.ErrNotFound
	}
	row := &inbox.ApprovalRow{}
	err := t.row(`SELECT `+approvalColumns+` FROM `+t.store.tables.approvals+` WHERE id = $1 AND principal = $2`,
		[]any{string(id), t.principal}, scanApproval(row)...)
	if err != nil {
		return nil, err
	}
	return row, nil
}

func (t *tx) PutApproval(row *inbox.ApprovalRow) error {
	if err := texts(string(row.ID), string(row.Call), row.Conversation, row.Server, string(row.State), row.Assignee, row.Standing); err != nil {
		return err
	}
	return t.exec(`INSERT INTO `+t.store.tables.approvals+` AS old (principal, `+approvalColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
		ON CONFLICT (id) DO UPDATE SET
			call = excluded.call, seq = excluded.seq, conversation = excluded.conversation, server = excluded.server,
			state = excluded.state, version = excluded.version, assignee = excluded.assignee, standing = excluded.standing,
			due = excluded.due, created = excluded.created, closed = excluded.closed,
			detail = excluded.detail, content = excluded.content
		WHERE old.principal = excluded.principal`,
		t.principal, string(row.ID), string(row.Call), row.Seq, row.Conversation, row.Server, string(row.State), row.Version,
		row.Assignee, row.Standing, moment(row.Due), always(row.Created), moment(row.Closed), blob(row.Detail), blob(row.Content))
}

func (t *tx) Approvals(q inbox.ApprovalQuery) ([]*inbox.ApprovalRow, error) {
	f := &filter{}
	f.add(`principal = ?`, t.principal)
	f.text(`call`, string(q.Call))
	f.text(`conversation`, q.Conversation)
	in(f, `state`, q.States)
	in(f, `standing`, q.Standing)
	if q.Stands || len(q.Standing) > 0 {
		f.where = append(f.where, `standing <> ''`)
	}
	query := f.newest(q.Before, q.Limit)
	if f.nothing {
		return nil, t.ctx.Err()
	}
	var list []*inbox.ApprovalRow
	err := t.rows(`SELECT `+approvalColumns+` FROM `+t.store.tables.approvals+query, f.args, func(rows pgx.Rows) error {
		row := &inbox.ApprovalRow{}
		list = append(list, row)
		return rows.Scan(scanApproval(row)...)
	})
	return list, err
}

// Assigned implements [inbox.Store].
func (s *Store) Assigned(ctx context.Context, q inbox.AssignedQuery) ([]inbox.Ref, error) {
	f := &filter{where: []string{`a.assignee <> ''`}}
	in(f, `a.assignee`, q.Assignees)
	f.text(`a.id`, string(q.ID))
	if q.Open {
		f.where = append(f.where, `a.state = 'open'`)
	}
	if f.nothing || len(q.Assignees) == 0 {
		return nil, s.check(ctx)
	}
	if q.After != "" {
		if err := texts(string(q.After)); err != nil {
			return nil, err
		}
		f.args = append(f.args, always(q.AfterTime), string(q.After))
		f.where = append(f.where, `(a.created, a.id) > ($`+strconv.Itoa(len(f.args)-1)+`, $`+strconv.Itoa(len(f.args))+`)`)
	}
	f.args = append(f.args, q.Limit)
	return s.refs(ctx, `SELECT p.key, a.call, '', a.id, a.created FROM `+s.tables.approvals+` a JOIN `+s.tables.principals+` p ON p.id = a.principal`+
		f.conditions()+` ORDER BY a.created, a.id LIMIT $`+strconv.Itoa(len(f.args)), f.args...)
}
