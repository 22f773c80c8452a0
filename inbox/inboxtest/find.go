package inboxtest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
)

var findTests = map[string]func(*kit){
	"ready": readyCalls,
	"due":   dueRows,
	"owned": ownedCalls,
	"find":  findCalls,
}

func readyCalls(k *kit) {
	now := micro(k.clock.Now())
	put := func(principal, id, server string, state inbox.CallState, updated, notBefore time.Time) {
		k.update(principal, func(tx inbox.Tx) error {
			return tx.PutCall(&inbox.CallRow{ID: inbox.CallID(id), Server: server, State: state, Created: now, Updated: updated, NotBefore: notBefore})
		})
	}
	put("p", "c_new", "s", inbox.Ready, now, time.Time{})
	put("p", "c_old", "s", inbox.Ready, now.Add(-time.Hour), time.Time{})
	put("o", "c_mid", "t", inbox.Ready, now.Add(-time.Minute), now)
	put("p", "c_later", "s", inbox.Ready, now.Add(-time.Hour), now.Add(time.Second))
	put("p", "c_sent", "s", inbox.Sent, now.Add(-time.Hour), time.Time{})
	after := inbox.Ref{}
	check := func(servers []string, limit int, want ...inbox.Ref) {
		k.t.Helper()
		got, err := k.store.Ready(k.ctx, servers, after, limit)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			k.t.Errorf("Ready(%v, %v, %d): %v (-want +got):\n%s", servers, after, limit, err, diff)
		}
	}
	old, mid, fresh := inbox.Ref{Principal: "p", Call: "c_old", Due: now.Add(-time.Hour)},
		inbox.Ref{Principal: "o", Call: "c_mid", Due: now.Add(-time.Minute)}, inbox.Ref{Principal: "p", Call: "c_new", Due: now}
	check(nil, 10, old, mid, fresh)
	check(nil, 2, old, mid)
	check([]string{"t", "u"}, 10, mid)
	check([]string{"s"}, 10, old, fresh)
	put("o", "c_next", "s", inbox.Ready, now.Add(-time.Minute), time.Time{}) // at the same time as another
	next := inbox.Ref{Principal: "o", Call: "c_next", Due: mid.Due}
	after = old
	check(nil, 2, mid, next)
	check([]string{"s"}, 2, next, fresh)
	after = mid
	check(nil, 2, next, fresh)
	after = fresh
	check(nil, 2)
	after = inbox.Ref{}
	if next, err := k.store.NextDue(k.ctx); next != time.Second || err != nil {
		k.t.Errorf("NextDue = %v, %v; want %v, until the next NotBefore", next, err, time.Second)
	}
	k.clock.advance(time.Second)
	check([]string{"s"}, 1, inbox.Ref{Principal: "p", Call: "c_later", Due: old.Due})
	if next, err := k.store.NextDue(k.ctx); next != 0 || err != nil {
		k.t.Errorf("NextDue = %v, %v; want none", next, err)
	}
}

func dueRows(k *kit) {
	now := micro(k.clock.Now())
	var want []inbox.Ref
	for i := range 7 {
		principal := fmt.Sprint("p", i%3)
		due := now.Add(time.Duration(i/2-3) * time.Second) // pairs share a time
		call, question := inbox.CallID(fmt.Sprint("c_", i)), inbox.QuestionID(fmt.Sprint("q_", i))
		k.update(principal, func(tx inbox.Tx) error {
			return errors.Join(
				tx.PutCall(&inbox.CallRow{ID: call, State: inbox.Sent, Due: due, Created: now, Updated: now}),
				tx.PutQuestion(&inbox.QuestionRow{ID: question, Call: call, State: inbox.Open, Due: due, Created: now}))
		})
		want = append(want, inbox.Ref{Principal: principal, Call: call, Due: due}, inbox.Ref{Principal: principal, Call: call, Question: question, Due: due})
	}
	k.update("p", func(tx inbox.Tx) error {
		return errors.Join(
			tx.PutCall(&inbox.CallRow{ID: "never", Created: now, Updated: now}),
			tx.PutCall(&inbox.CallRow{ID: "soon", Due: now.Add(5 * time.Second), Created: now, Updated: now}),
			tx.PutQuestion(&inbox.QuestionRow{ID: "sooner", Due: now.Add(3 * time.Second), Created: now}))
	})
	slices.SortFunc(want, func(a, b inbox.Ref) int {
		if c := a.Due.Compare(b.Due); c != 0 {
			return c
		}
		return slices.Compare([]byte(a.ID()), []byte(b.ID()))
	})
	var got []inbox.Ref
	for after := (inbox.Ref{}); ; {
		page, err := k.store.Due(k.ctx, after, 3)
		k.must("Due", err)
		got = append(got, page...)
		if len(page) < 3 {
			break
		}
		after = page[2]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		k.t.Errorf("Due in pages (-want +got):\n%s", diff)
	}
	if next, err := k.store.NextDue(k.ctx); next != 3*time.Second || err != nil {
		k.t.Errorf("NextDue = %v, %v; want %v", next, err, 3*time.Second)
	}
}

func ownedCalls(k *kit) {
	now := micro(k.clock.Now())
	for i, owner := range []string{"m%_/1", "m%_/2", "mXY/1", "", "m%_2/1"} {
		k.update(fmt.Sprint("p", i), func(tx inbox.Tx) error {
			return tx.PutCall(&inbox.CallRow{ID: inbox.CallID(fmt.Sprint("c_", i)), Owner: owner, Created: now, Updated: now})
		})
	}
	got, err := k.store.Owned(k.ctx, "m%_/", "", 10)
	want := []inbox.Ref{{Principal: "p0", Call: "c_0"}, {Principal: "p1", Call: "c_1"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		k.t.Errorf("Owned: %v (-want +got):\n%s", err, diff)
	}
	got, err = k.store.Owned(k.ctx, "m%_/", "c_0", 1)
	if diff := cmp.Diff(want[1:], got); diff != "" || err != nil {
		k.t.Errorf("Owned after the first: %v (-want +got):\n%s", err, diff)
	}
}

func findCalls(k *kit) {
	now := micro(k.clock.Now())
	for i, state := range []inbox.CallState{inbox.Blocked, inbox.Waiting, inbox.Blocked, inbox.Blocked} {
		server := "s"
		if i == 3 {
			server = "t"
		}
		k.update(fmt.Sprint("p", i), func(tx inbox.Tx) error {
			return tx.PutCall(&inbox.CallRow{ID: inbox.CallID(fmt.Sprint("c_", i)), Server: server, State: state, Created: now, Updated: now})
		})
	}
	got, err := k.store.Find(k.ctx, "s", inbox.Blocked, "", 10)
	want := []inbox.Ref{{Principal: "p0", Call: "c_0"}, {Principal: "p2", Call: "c_2"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		k.t.Errorf("Find: %v (-want +got):\n%s", err, diff)
	}
	got, err = k.store.Find(k.ctx, "s", inbox.Blocked, "c_0", 1)
	if diff := cmp.Diff(want[1:], got); diff != "" || err != nil {
		k.t.Errorf("Find after the first: %v (-want +got):\n%s", err, diff)
	}
}
