package inboxtest

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

var groupTests = map[string]func(*kit){
	"renewed":                   groupsRenewed,
	"beside an earlier version": groupsOfBefore,
}

const day = 24 * time.Hour

func (k *kit) groups(when string, want ...string) {
	k.t.Helper()
	if got, err := k.in.Groups(k.ctx, k.ann); err != nil || !slices.Equal(got, want) {
		k.t.Errorf("%s: groups %q, %v; want %q", when, got, err, want)
	}
}

// Groups count for a week after they were confirmed last, and not after they appeared.
func groupsRenewed(k *kit) {
	staff := []string{"staff", "audit"}
	remember := func(in *inbox.Inbox) { k.must("RememberGroups", in.RememberGroups(k.ctx, k.ann, staff)) }
	remember(k.in)
	for range 2 {
		k.clock.advance(3 * day)
		remember(k.in)
	}
	k.clock.advance(5 * day)
	k.groups("11 days after they appeared, and 5 after they were confirmed", staff...)
	k.clock.advance(3 * day)
	k.groups("8 days after they were confirmed")

	// Calls are many: the same groups are written once a day.
	remember(k.in)
	full := k.on(&refusing{Store: k.store, principal: k.ann.Key()}, "reading")
	k.clock.advance(23 * time.Hour)
	remember(full)
	k.clock.advance(2 * time.Hour)
	k.is("RememberGroups of yesterday", full.RememberGroups(k.ctx, k.ann, staff), errTest)
	k.is("RememberGroups of others", full.RememberGroups(k.ctx, k.ann, staff[:1]), errTest)
	k.must("RememberGroups", k.in.RememberGroups(k.ctx, k.ann, []string{}))
	k.groups("in none")
	k.clock.advance(2 * day)
	k.must("RememberGroups of none, which end as none", full.RememberGroups(k.ctx, k.ann, []string{}))
}

// A version that knows no moment reads and writes a plain list, and its list counts as old.
func groupsOfBefore(k *kit) {
	const name = "groups" // of before
	earlier := func(groups ...string) {
		value, err := json.Marshal(groups)
		k.must("Marshal", err)
		k.update(k.ann.Key(), func(tx inbox.Tx) error { return tx.Remember(name, value, tx.Now().Add(7*day)) })
	}
	earlier("staff")
	k.clock.advance(6 * day)
	k.groups("of the version before", "staff")
	k.must("RememberGroups", k.in.RememberGroups(k.ctx, k.ann, []string{"staff"}))
	k.clock.advance(2 * day)
	k.groups("renewed by this version", "staff")
	k.must("View", k.store.View(k.ctx, k.ann.Key(), func(tx inbox.Tx) error {
		value, err := tx.Remembered(name)
		var list []string
		if err == nil {
			err = json.Unmarshal(value, &list)
		}
		if !slices.Equal(list, []string{"staff"}) {
			k.t.Errorf("the version before reads %q", list)
		}
		return err
	}))
	earlier("audit")
	k.clock.advance(6 * day)
	k.must("RememberGroups", k.in.RememberGroups(k.ctx, k.ann, []string{"audit"}))
	k.clock.advance(6 * day)
	k.groups("after both have written", "audit")
}
