package vaulttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/vault"
)

func testDue(t *testing.T, store Store) {
	s := store.Open(t, store.New(t))
	_, now, err := s.Rows(t.Context(), ada, vault.Query{Kind: vault.KindFlow, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	past := func(d time.Duration) time.Time { return now.Add(-d).Truncate(time.Microsecond) }
	flow := func(id string, due time.Time) *vault.Row {
		return &vault.Row{Kind: vault.KindFlow, ID: id, Name: "n", Due: due}
	}
	putRows(t, s, bob, flow("1", past(time.Hour)), flow("3", past(time.Minute)), flow("6", now.Add(time.Hour)), flow("7", time.Time{}))
	putRows(t, s, ada, flow("2", past(time.Hour)), flow("4", past(time.Minute)), flow("5", past(time.Minute)),
		&vault.Row{Kind: vault.KindMachine, ID: "0", Name: "n", Due: past(time.Hour)})
	want := []vault.Ref{
		{Principal: ada, Kind: vault.KindFlow, ID: "2", Due: past(time.Hour)},
		{Principal: bob, Kind: vault.KindFlow, ID: "1", Due: past(time.Hour)},
		{Principal: ada, Kind: vault.KindFlow, ID: "4", Due: past(time.Minute)},
		{Principal: ada, Kind: vault.KindFlow, ID: "5", Due: past(time.Minute)},
		{Principal: bob, Kind: vault.KindFlow, ID: "3", Due: past(time.Minute)},
	}
	for _, page := range []int{1, 2, 5, 100} {
		var got []vault.Ref
		for after := (vault.Ref{}); ; {
			refs, err := s.Due(t.Context(), vault.KindFlow, after, page)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, refs...)
			if len(refs) < page || len(got) > 20 {
				break
			}
			after = refs[len(refs)-1]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Due in pages of %d: (-want +got)\n%s", page, diff)
		}
	}
}

func testStale(t *testing.T, store Store) {
	s := store.Open(t, store.New(t))
	const high = 1<<32 - 2
	sealed := func(kind vault.Kind, id string, key uint32) *vault.Row {
		return &vault.Row{Kind: kind, ID: id, Name: "n", Key: key, Content: []byte("x")}
	}
	putRows(t, s, bob, sealed(vault.KindGrant, "1", 1), sealed(vault.KindGrant, "2", 2), sealed(vault.KindFlow, "3", high))
	putRows(t, s, ada, sealed(vault.KindGrant, "4", 1), sealed(vault.KindMachine, "5", 0), sealed(vault.KindClient, "6", 1))
	want := []vault.Ref{
		{Principal: ada, Kind: vault.KindClient, ID: "6"},
		{Principal: ada, Kind: vault.KindGrant, ID: "4"},
		{Principal: bob, Kind: vault.KindFlow, ID: "3"},
		{Principal: bob, Kind: vault.KindGrant, ID: "1"},
	}
	for _, page := range []int{1, 3, 100} {
		var got []vault.Ref
		for after := (vault.Ref{}); ; {
			refs, err := s.Stale(t.Context(), 2, after, page)
			if err != nil {
				t.Fatal(err)
			}
			for _, ref := range refs {
				after = ref
				ref.Due = time.Time{}
				got = append(got, ref)
			}
			if len(refs) < page || len(got) > 20 {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Stale in pages of %d: (-want +got)\n%s", page, diff)
		}
	}
}

func testCounts(t *testing.T, store Store) {
	s := store.Open(t, store.New(t))
	if counts, err := s.Counts(t.Context(), vault.Count{}, 9); len(counts) != 0 || err != nil {
		t.Errorf("an empty store counts %v, %v", counts, err)
	}
	n := 0
	add := func(principal string, kind vault.Kind, provider, status string, key uint32) {
		n++
		putRows(t, s, principal, &vault.Row{Kind: kind, ID: fmt.Sprint(n), Name: "n", Provider: provider, Status: status, Key: key})
	}
	add(ada, vault.KindGrant, "p", "alive", 1)
	add(bob, vault.KindGrant, "p", "alive", 1)
	add(bob, vault.KindGrant, "p", "alive", 2)
	add(bob, vault.KindGrant, "p", "dead", 1<<32-1)
	add(ada, vault.KindGrant, "P", "alive", 1)
	add(ada, vault.KindFlow, "", "", 3)
	want := []vault.Count{
		{Kind: vault.KindFlow, Key: 3, N: 1},
		{Kind: vault.KindGrant, Provider: "P", Status: "alive", Key: 1, N: 1},
		{Kind: vault.KindGrant, Provider: "p", Status: "alive", Key: 1, N: 2},
		{Kind: vault.KindGrant, Provider: "p", Status: "alive", Key: 2, N: 1},
		{Kind: vault.KindGrant, Provider: "p", Status: "dead", Key: 1<<32 - 1, N: 1},
	}
	for _, page := range []int{1, 2, 100} {
		var got []vault.Count
		for after := (vault.Count{}); ; {
			counts, err := s.Counts(t.Context(), after, page)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, counts...)
			if len(counts) < page || len(got) > 20 {
				break
			}
			after = counts[len(counts)-1]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Counts in pages of %d: (-want +got)\n%s", page, diff)
		}
	}
}

// testPagesWhileChanged: a walk through Stale that takes every row out of the
// list as it goes meets each exactly once.
func testPagesWhileChanged(t *testing.T, store Store) {
	s := store.Open(t, store.New(t))
	for i := range 10 {
		principal := fmt.Sprintf("i||%d", i%3)
		putRows(t, s, principal, &vault.Row{Kind: vault.KindGrant, ID: fmt.Sprint(i), Name: "n", Key: 1})
	}
	met := map[string]int{}
	for after := (vault.Ref{}); ; {
		refs, err := s.Stale(t.Context(), 2, after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, ref := range refs {
			after = ref
			met[ref.ID]++
			update(t, s, ref.Principal, func(tx vault.Tx) error {
				return tx.Put(&vault.Row{Kind: ref.Kind, ID: ref.ID, Name: "n", Key: 2})
			})
		}
		if len(refs) < 3 {
			break
		}
	}
	if len(met) != 10 {
		t.Errorf("met %v", met)
	}
}
