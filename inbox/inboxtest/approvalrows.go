package inboxtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
)

func fullApproval(at time.Time) *inbox.ApprovalRow {
	return &inbox.ApprovalRow{
		ID: "a_1", Seq: 9, Call: "c_1", Conversation: "v_1", Server: "s", State: inbox.ApprovalOpen, Version: 2,
		Assignee: "i|t|bob", Standing: "d", Due: at.Add(time.Second), Created: at, Closed: at.Add(time.Hour), Detail: []byte(`{}`), Content: []byte{0, 255},
	}
}

func approvalFields(k *kit) {
	at := micro(k.clock.Now())
	row := fullApproval(at)
	for range 2 { // the second time replaces
		k.update("p", func(tx inbox.Tx) error { return tx.PutApproval(row) })
		for _, store := range []inbox.Store{k.store, k.handle()} {
			k.must("View", store.View(k.ctx, "p", func(tx inbox.Tx) error {
				got, err := tx.Approval("a_1")
				if err == nil {
					if diff := cmp.Diff(row, got); diff != "" {
						k.t.Errorf("approval (-want +got):\n%s", diff)
					}
				}
				return err
			}))
		}
		row = &inbox.ApprovalRow{
			ID: "a_1", Seq: 10, Call: "c_2", Conversation: "v_2", Server: "s2", State: inbox.ApprovalDenied, Version: 3,
			Created: at.Add(time.Second), Detail: []byte(`{"b":2}`), Content: []byte{3},
		}
	}
	// Another principal does not see it, and cannot write over it.
	k.update("q", func(tx inbox.Tx) error {
		_, err := tx.Approval("a_1")
		k.is("Approval of another principal", err, inbox.ErrNotFound)
		return tx.PutApproval(fullApproval(at))
	})
	k.view("p", func(tx inbox.Tx) error {
		got, err := tx.Approval("a_1")
		if err == nil && got.Seq != 10 {
			k.t.Errorf("another principal wrote %+v", got)
		}
		return err
	})
	if err := k.store.View(k.ctx, "p", func(tx inbox.Tx) error { return tx.PutApproval(row) }); err == nil {
		k.t.Error("a view wrote an approval")
	}
	k.update("p", func(tx inbox.Tx) error { return tx.Erase(&inbox.AuditRow{At: at}) })
	k.view("p", func(tx inbox.Tx) error {
		_, err := tx.Approval("a_1")
		k.is("Approval after Erase", err, inbox.ErrNotFound)
		return nil
	})
}

func approvalFilters(k *kit) {
	at := micro(k.clock.Now())
	k.update("p", func(tx inbox.Tx) error {
		for i := range int64(6) {
			row := &inbox.ApprovalRow{
				ID: inbox.ApprovalID(fmt.Sprintf("a_%d", 9-i)), Seq: 10 + i, Call: inbox.CallID(fmt.Sprint("c_", i%2)),
				Conversation: fmt.Sprint("v", i%3), State: inbox.ApprovalAllowed, Created: at,
			}
			if i == 5 {
				row.State = inbox.ApprovalOpen
			}
			if i < 3 {
				row.Standing = fmt.Sprint("d", i%2)
			}
			if err := tx.PutApproval(row); err != nil {
				return err
			}
		}
		return nil
	})
	for _, test := range []struct {
		q    inbox.ApprovalQuery
		want []int64
	}{
		{inbox.ApprovalQuery{}, []int64{15, 14, 13, 12, 11, 10}},
		{inbox.ApprovalQuery{Limit: 2}, []int64{15, 14}},
		{inbox.ApprovalQuery{Limit: 2, Before: 14}, []int64{13, 12}},
		{inbox.ApprovalQuery{Call: "c_1"}, []int64{15, 13, 11}},
		{inbox.ApprovalQuery{Conversation: "v1"}, []int64{14, 11}},
		{inbox.ApprovalQuery{States: []inbox.ApprovalState{inbox.ApprovalOpen, inbox.ApprovalDenied}}, []int64{15}},
		{inbox.ApprovalQuery{Standing: []string{"d0", "d9"}}, []int64{12, 10}},
		{inbox.ApprovalQuery{Standing: []string{""}}, nil},
		{inbox.ApprovalQuery{Stands: true}, []int64{12, 11, 10}},
		{inbox.ApprovalQuery{Stands: true, States: []inbox.ApprovalState{inbox.ApprovalOpen}}, nil},
	} {
		k.update("p", func(tx inbox.Tx) error {
			list, err := tx.Approvals(test.q)
			var got []int64
			for _, row := range list {
				got = append(got, row.Seq)
			}
			if !slices.Equal(got, test.want) {
				k.t.Errorf("%+v: %v, want %v", test.q, got, test.want)
			}
			return err
		})
	}
}

func approvalAssigned(k *kit) {
	at := micro(k.clock.Now())
	put := func(principal, id, assignee string, state inbox.ApprovalState, created, due time.Time) {
		k.update(principal, func(tx inbox.Tx) error {
			return tx.PutApproval(&inbox.ApprovalRow{ID: inbox.ApprovalID(id), Call: "c", State: state, Assignee: assignee, Created: created, Due: due})
		})
	}
	put("p", "a_1", "bob", inbox.ApprovalOpen, at.Add(time.Second), at.Add(time.Minute))
	put("q", "a_2", "bob", inbox.ApprovalOpen, at, time.Time{})
	put("p", "a_3", "group", inbox.ApprovalOpen, at.Add(2*time.Second), at)
	put("p", "a_4", "bob", inbox.ApprovalAllowed, at.Add(3*time.Second), time.Time{})
	put("q", "a_5", "", inbox.ApprovalOpen, at, time.Time{})
	find := func(q inbox.AssignedQuery) (ids []inbox.ApprovalID, last inbox.Ref) {
		refs, err := k.store.Assigned(k.ctx, q)
		k.must("Assigned", err)
		for _, ref := range refs {
			if ref.Call != "c" || ref.ID() != string(ref.Approval) {
				k.t.Errorf("found %+v", ref)
			}
			ids, last = append(ids, ref.Approval), ref
		}
		return ids, last
	}
	both := []string{"bob", "group"}
	for _, test := range []struct {
		q    inbox.AssignedQuery
		want []inbox.ApprovalID
	}{
		{inbox.AssignedQuery{Assignees: both, Limit: 9}, []inbox.ApprovalID{"a_2", "a_1", "a_3", "a_4"}},
		{inbox.AssignedQuery{Assignees: both, Open: true, Limit: 9}, []inbox.ApprovalID{"a_2", "a_1", "a_3"}},
		{inbox.AssignedQuery{Assignees: both, Open: true, Limit: 2}, []inbox.ApprovalID{"a_2", "a_1"}},
		{inbox.AssignedQuery{Assignees: both, After: "a_2", AfterTime: at, Limit: 9}, []inbox.ApprovalID{"a_1", "a_3", "a_4"}},
		{inbox.AssignedQuery{Assignees: both, ID: "a_4", Limit: 9}, []inbox.ApprovalID{"a_4"}},
		{inbox.AssignedQuery{Assignees: []string{"group"}, ID: "a_4", Limit: 9}, nil},
		{inbox.AssignedQuery{Assignees: []string{"", "carol"}, Limit: 9}, nil},
		{inbox.AssignedQuery{Limit: 9}, nil},
	} {
		if got, _ := find(test.q); !slices.Equal(got, test.want) {
			k.t.Errorf("%+v: %v, want %v", test.q, got, test.want)
		}
	}
	if _, ref := find(inbox.AssignedQuery{Assignees: both, ID: "a_2", Limit: 1}); ref.Principal != "q" || !ref.Due.Equal(at) {
		t := ref
		k.t.Errorf("found %+v", t)
	}
	due, err := k.store.Due(k.ctx, inbox.Ref{}, 9)
	if len(due) != 1 || err != nil || due[0].Approval != "a_3" || due[0].Principal != "p" {
		k.t.Errorf("Due = %+v, %v", due, err)
	}
	if next, err := k.store.NextDue(k.ctx); next != time.Minute || err != nil {
		k.t.Errorf("NextDue = %v, %v", next, err)
	}
}
