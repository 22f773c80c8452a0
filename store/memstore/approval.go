package memstore

import (
	"cmp"
	"slices"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

func copyApproval(row *inbox.ApprovalRow) *inbox.ApprovalRow {
	a := *row
	a.Detail, a.Content = slices.Clone(a.Detail), slices.Clone(a.Content)
	for _, t := range []*time.Time{&a.Due, &a.Created, &a.Closed} {
		*t = stored(*t)
	}
	return &a
}

func (t *tx) Approval(id inbox.ApprovalID) (*inbox.ApprovalRow, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	if t.added != nil {
		if row := t.added.approvals[id]; row != nil {
			return copyApproval(row), nil
		}
	}
	if row := t.base.approvals[id]; row != nil {
		return copyApproval(row), nil
	}
	return nil, inbox.ErrNotFound
}

func (t *tx) PutApproval(row *inbox.ApprovalRow) error {
	if err := t.writable(); err != nil {
		return err
	}
	t.added.approvals[row.ID] = copyApproval(row)
	return nil
}

func (t *tx) addedApprovals() map[inbox.ApprovalID]*inbox.ApprovalRow {
	if t.added == nil {
		return nil
	}
	return t.added.approvals
}

func (t *tx) Approvals(q inbox.ApprovalQuery) ([]*inbox.ApprovalRow, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	var list []*inbox.ApprovalRow
	both(t.base.approvals, t.addedApprovals(), func(r *inbox.ApprovalRow) {
		if (q.Call == "" || r.Call == q.Call) &&
			(q.Conversation == "" || r.Conversation == q.Conversation) &&
			(len(q.States) == 0 || slices.Contains(q.States, r.State)) &&
			(len(q.Standing) == 0 || r.Standing != "" && slices.Contains(q.Standing, r.Standing)) &&
			(!q.Stands || r.Standing != "") &&
			(q.Before == 0 || r.Seq < q.Before) {
			list = append(list, r)
		}
	})
	slices.SortFunc(list, func(a, b *inbox.ApprovalRow) int { return cmp.Compare(b.Seq, a.Seq) })
	if q.Limit > 0 {
		list = list[:min(q.Limit, len(list))]
	}
	for i, r := range list {
		list[i] = copyApproval(r)
	}
	return list, nil
}
