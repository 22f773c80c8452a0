package inboxtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-mcp/parley/inbox"
)

func auditRows(k *kit) {
	at := micro(k.clock.Now())
	want := []*inbox.AuditRow{
		{Principal: "p", At: at, Kind: inbox.AuditAsked, Call: "c_1", Detail: []byte(`{"a":1}`)},
		{Principal: "p", At: at.Add(time.Second), Kind: inbox.AuditShown, Detail: []byte(`{}`)},
		{Principal: "q", At: at, Kind: inbox.AuditAsked, Call: "c_1", Detail: []byte{0, 255}},
	}
	k.update("p", func(tx inbox.Tx) error {
		err := errors.Join(tx.AppendAudit(want[0]), tx.AppendAudit(want[1]))
		rows, err2 := tx.Audits(inbox.AuditQuery{}) // a transaction reads what it wrote
		if len(rows) != 2 {
			k.t.Errorf("%d rows in the transaction", len(rows))
		}
		return errors.Join(err, err2)
	})
	k.is("Update", k.store.Update(k.ctx, "p", func(tx inbox.Tx) error { return errors.Join(tx.AppendAudit(want[0]), errTest) }), errTest)
	k.update("q", func(tx inbox.Tx) error { return tx.AppendAudit(want[2]) })
	ids := cmpopts.IgnoreFields(inbox.AuditRow{}, "ID")
	for _, store := range []inbox.Store{k.store, k.handle()} {
		all, err := store.Audit(k.ctx, 0, 9)
		k.must("Audit", err)
		if diff := cmp.Diff(want, all, ids); diff != "" {
			k.t.Fatalf("rows (-want +got):\n%s", diff)
		}
		if !slices.IsSortedFunc(all, func(a, b *inbox.AuditRow) int { return int(a.ID - b.ID) }) || all[0].ID < 1 || all[0].ID == all[1].ID {
			k.t.Errorf("numbers %d, %d, %d", all[0].ID, all[1].ID, all[2].ID)
		}
		rest, err := store.Audit(k.ctx, all[0].ID, 1)
		if len(rest) != 1 || err != nil || rest[0].ID != all[1].ID {
			k.t.Errorf("the second: %+v, %v", rest, err)
		}
		for _, test := range []struct {
			q    inbox.AuditQuery
			want []int
		}{
			{inbox.AuditQuery{}, []int{1, 0}},
			{inbox.AuditQuery{Limit: 1}, []int{1}},
			{inbox.AuditQuery{Before: all[1].ID}, []int{0}},
			{inbox.AuditQuery{Call: "c_1"}, []int{0}},
			{inbox.AuditQuery{Kinds: []inbox.AuditKind{inbox.AuditShown, inbox.AuditErased}}, []int{1}},
			{inbox.AuditQuery{Call: "c_2"}, nil},
		} {
			k.must("View", store.View(k.ctx, "p", func(tx inbox.Tx) error {
				rows, err := tx.Audits(test.q)
				var got []int
				for _, row := range rows {
					got = append(got, slices.IndexFunc(all, func(r *inbox.AuditRow) bool { return r.ID == row.ID }))
				}
				if !slices.Equal(got, test.want) {
					k.t.Errorf("%+v: %v, want %v", test.q, got, test.want)
				}
				return err
			}))
		}
	}
}

func auditView(k *kit) {
	if err := k.store.View(k.ctx, "p", func(tx inbox.Tx) error { return tx.AppendAudit(&inbox.AuditRow{At: tx.Now()}) }); err == nil {
		k.t.Error("a view wrote an audit row")
	}
	if err := k.store.View(k.ctx, "p", func(tx inbox.Tx) error { return tx.SetDisabled(true) }); err == nil {
		k.t.Error("a view disabled somebody")
	}
	if rows, err := k.store.Audit(k.ctx, 0, 9); len(rows) != 0 || err != nil {
		k.t.Errorf("rows: %+v, %v", rows, err)
	}
}

// auditPages: what is written meanwhile moves no page, either way.
func auditPages(k *kit) {
	for range 5 {
		k.compose()
	}
	seen := map[int64]bool{}
	read := func(page []*inbox.AuditEntry, err error) []*inbox.AuditEntry {
		k.must("Audit", err)
		for _, e := range page {
			if seen[e.ID] {
				k.t.Errorf("entry %d came twice", e.ID)
			}
			seen[e.ID] = true
		}
		return page
	}
	page := read(k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Limit: 2}))
	k.compose()
	page = read(k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Limit: 2, Before: page[1].ID}))
	page = read(k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Limit: 2, Before: page[1].ID}))
	if len(page) != 1 || len(seen) != 5 {
		k.t.Errorf("%d on the last page, %d in all", len(page), len(seen))
	}
	clear(seen)
	_, err := k.in.Compose(k.ctx, k.bob, inbox.NewCall{Server: "s", Method: "m"})
	k.must("Compose", err)
	last := int64(0)
	for {
		page := read(k.in.AuditAll(k.ctx, last, 3))
		if len(page) == 0 {
			break
		}
		last = page[len(page)-1].ID
	}
	if len(seen) != 7 {
		k.t.Errorf("%d entries of everybody", len(seen))
	}
	if other, err := k.in.Audit(k.ctx, k.bob, inbox.AuditFilter{}); len(other) != 1 || err != nil || other[0].Principal != k.bob {
		k.t.Errorf("another person's: %+v, %v", other, err)
	}
}

// auditStable reads on while many write, and misses none.
func auditStable(k *kit) {
	const people, each = 6, 8
	var wg sync.WaitGroup
	for i := range people {
		p := inbox.Principal{Issuer: "i", Subject: fmt.Sprint(i)}
		in := k.on(k.store, fmt.Sprint("m", i))
		wg.Go(func() {
			for range each {
				if _, err := in.Compose(k.ctx, p, inbox.NewCall{Server: "s", Method: "m"}); err != nil {
					k.t.Errorf("Compose: %v", err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { wg.Wait(); close(written) }()
	store := k.handle()
	last, n := int64(0), 0
	for done := false; ; {
		rows, err := store.Audit(k.ctx, last, 5)
		if err != nil {
			k.t.Fatalf("Audit: %v", err)
		}
		for _, row := range rows {
			last, n = row.ID, n+1
		}
		if len(rows) == 0 && done {
			break
		}
		select {
		case <-written:
			done = true
		default:
		}
	}
	if n != people*each {
		k.t.Errorf("%d rows were read, %d were written", n, people*each)
	}
}

const year = 365 * 24 * time.Hour

func auditRetention(k *kit) {
	old := k.compose()
	k.stop(old.ID)
	k.clock.advance(time.Second)
	young := k.compose()
	k.clock.advance(year - time.Second - time.Microsecond)
	k.sweep()
	if all, err := k.in.AuditAll(k.ctx, 0, 0); err != nil || len(all) != 3 {
		k.t.Errorf("too early: %d entries, %v", len(all), err)
	}
	k.clock.advance(time.Microsecond)
	k.sweep()
	all, err := k.in.AuditAll(k.ctx, 0, 0)
	if err != nil || len(all) != 1 || all[0].Call != young.ID {
		k.t.Errorf("after a year: %+v, %v", all, err)
	}
	k.state(old.ID, inbox.Stopped) // a record of its own
	// A few at a time.
	for range 5 {
		k.compose()
	}
	k.clock.advance(2 * year)
	for _, want := range []int{2, 2, 2, 0} {
		if n, err := k.store.TrimAudit(k.ctx, year, 2); n != want || err != nil {
			k.t.Errorf("TrimAudit = %d, %v; want %d", n, err, want)
		}
	}
}

func auditForEver(k *kit) {
	k.compose()
	k.in = inbox.New(k.store, k.keys, &inbox.Options{AuditRetention: -1})
	k.clock.advance(20 * year)
	k.sweep()
	if all, err := k.in.AuditAll(k.ctx, 0, 0); err != nil || len(all) != 1 {
		k.t.Errorf("%d entries, %v", len(all), err)
	}
}

func auditErased(k *kit) {
	k.compose()
	_, err := k.in.Compose(k.ctx, k.bob, inbox.NewCall{Server: "s", Method: "m"})
	k.must("Compose", err)
	before, err := k.in.AuditAll(k.ctx, 0, 0)
	k.must("AuditAll", err)
	ctx := inbox.WithSource(k.ctx, inbox.Source{By: k.bob, Via: "ops", Remote: "192.0.2.7"})
	k.must("Erase", k.in.Erase(ctx, k.ann))
	all, err := k.in.AuditAll(k.ctx, 0, 0)
	k.must("AuditAll", err)
	if len(all) != 2 || all[0].Principal != k.bob || all[1].Kind != inbox.AuditErased || all[1].ID <= before[len(before)-1].ID {
		k.t.Fatalf("after Erase: %+v", all)
	}
	e := all[1]
	if e.Principal != (inbox.Principal{}) || e.By != k.bob || e.Via != "ops" || e.Remote != "" || !e.At.Equal(micro(k.clock.Now())) {
		k.t.Errorf("erased: %+v", e)
	}
	if !k.keys.SameDigest(e.Digest, inbox.AuditPurpose, nil, []byte(k.ann.Key())) {
		k.t.Error("whoever has the keys cannot tell who was erased")
	}
	rows, err := k.store.Audit(k.ctx, 0, 9)
	k.must("Audit", err)
	for _, row := range rows {
		// With what stands beside the name: an id may hold its letters by chance.
		if text := string(row.Detail); strings.Contains(text, `"ann"`) || strings.Contains(text, "|ann") {
			k.t.Errorf("%s: %s", row.Kind, row.Detail)
		}
	}
	if mine, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{}); len(mine) != 0 || err != nil {
		k.t.Errorf("who comes back finds %+v, %v", mine, err)
	}
}

func auditErasedApprover(k *kit) {
	a := ask()
	a.Assignee, a.NotAsker = inbox.Assignee{Principal: k.bob}, true
	_, decided := k.approving(a)
	k.decide(k.bob, decided.ID, inbox.Decision{Allow: true})
	c, open := k.approving(a)
	// Whoever erases need not have the keys.
	k.must("Erase", inbox.New(k.store, inbox.NewKeys(), nil).Erase(k.ctx, k.bob))
	for _, id := range []inbox.ApprovalID{decided.ID, open.ID} {
		got, err := k.in.Approval(k.ctx, inbox.Approver{Principal: k.ann}, id)
		k.must("Approval", err)
		if got.Assignee.Principal == k.bob || got.Assignee.IsZero() || got.DecidedBy == k.bob {
			k.t.Errorf("who was erased: %+v", got)
		}
		_, err = k.in.Approval(k.ctx, inbox.Approver{Principal: k.bob}, id)
		k.is("Approval by who comes back", err, inbox.ErrNotFound)
	}
	// Nobody decides it, not the asker either.
	_, err := k.in.Decide(k.ctx, inbox.Approver{Principal: k.ann}, open.ID, inbox.Decision{Allow: true})
	k.is("Decide by the asker", err, inbox.ErrNotDecider)
	k.clock.advance(24 * time.Hour)
	k.sweep()
	k.approval(open.ID, inbox.ApprovalExpired)
	if got := k.state(c.ID, inbox.CallExpired); got.Reason != inbox.ReasonNotDecided {
		k.t.Errorf("expired: %+v", got)
	}
	k.sweep()
	if last, err := k.in.LastEvent(k.ctx, k.bob); last != 0 || err != nil {
		k.t.Errorf("who was erased has event %d, %v", last, err)
	}
}
