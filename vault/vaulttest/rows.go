package vaulttest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/vault"
)

func testRows(t *testing.T, store Store) {
	t.Parallel()
	run(t, store, map[string]func(*testing.T, Store){
		"round trip":          testRoundTrip,
		"principals":          testPrincipals,
		"queries":             testQueries,
		"roll back":           testRollBack,
		"own writes":          testOwnWrites,
		"one after another":   testOneAfterAnother,
		"due":                 testDue,
		"stale":               testStale,
		"counts":              testCounts,
		"time":                testTime,
		"contexts":            testContexts,
		"long texts":          testLongTexts,
		"rows of the caller":  testCallersRows,
		"pages while changed": testPagesWhileChanged,
	})
}

const ada, bob = "https%3A%2F%2Fid.example||ada", "https%3A%2F%2Fid.example||bob"

// byBytes compares large contents fast, and none like empty.
var byBytes = cmp.Comparer(bytes.Equal)

func update(t *testing.T, s vault.Store, principal string, f func(vault.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), principal, f); err != nil {
		t.Fatalf("Update: %v", err)
	}
}

func putRows(t *testing.T, s vault.Store, principal string, rows ...*vault.Row) {
	t.Helper()
	update(t, s, principal, func(tx vault.Tx) error {
		for _, row := range rows {
			if err := tx.Put(row); err != nil {
				return err
			}
		}
		return nil
	})
}

func read(t *testing.T, s vault.Store, principal string, q vault.Query) []*vault.Row {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 1000
	}
	rows, _, err := s.Rows(t.Context(), principal, q)
	if err != nil {
		t.Fatalf("Rows(%+v): %v", q, err)
	}
	return rows
}

func ids(rows []*vault.Row) string {
	var all []string
	for _, row := range rows {
		all = append(all, row.ID)
	}
	return strings.Join(all, " ")
}

func testRoundTrip(t *testing.T, store Store) {
	address := store.New(t)
	s, other := store.Open(t, address), store.Open(t, address)
	at := time.Date(2026, 2, 3, 4, 5, 6, 789012000, time.UTC)
	full := &vault.Row{
		Kind: vault.KindGrant, ID: "g_1", Provider: "https://mcp.example/ü?x=%27'\"\\", Name: "Büro 日本", Status: "alive", Version: 1 << 60,
		Key: 1<<32 - 1, Due: at, Created: at.Add(time.Microsecond), Updated: at.Add(time.Hour),
		Detail: []byte(`{"a":"\u0000 ü"}`), Content: slices.Concat([]byte{0, 1, 255}, bytes.Repeat([]byte{0}, 1<<20-3)),
	}
	empty := &vault.Row{Kind: vault.KindFlow, ID: "f", Name: "n"}
	putRows(t, s, ada, full, empty)
	for name, handle := range map[string]vault.Store{"same": s, "other": other} {
		if diff := cmp.Diff([]*vault.Row{full}, read(t, handle, ada, vault.Query{Kind: vault.KindGrant}), byBytes); diff != "" {
			t.Errorf("%s handle: (-put +read)\n%.2000s", name, diff)
		}
		got := read(t, handle, ada, vault.Query{Kind: vault.KindFlow})
		if len(got) != 1 || !got[0].Due.IsZero() || !got[0].Created.IsZero() || len(got[0].Detail)+len(got[0].Content) != 0 || got[0].Key != 0 {
			t.Errorf("%s handle: the empty row came back as %+v", name, got)
		}
	}
	full.Content, full.Due, full.Status, full.Key = []byte("x"), time.Time{}, "dead", 7
	putRows(t, other, ada, full)
	if diff := cmp.Diff([]*vault.Row{full}, read(t, s, ada, vault.Query{Kind: vault.KindGrant, ID: "g_1"}), byBytes); diff != "" {
		t.Errorf("after replacing it: (-put +read)\n%s", diff)
	}
	update(t, s, ada, func(tx vault.Tx) error {
		return errors.Join(tx.Delete(vault.KindGrant, "g_1"), tx.Delete(vault.KindGrant, "not there"))
	})
	if rows := read(t, other, ada, vault.Query{Kind: vault.KindGrant}); len(rows) != 0 {
		t.Errorf("deleted rows came back: %+v", rows)
	}
	if rows := read(t, other, ada, vault.Query{Kind: vault.KindFlow}); len(rows) != 1 {
		t.Errorf("deleting one row left %d others, want 1", len(rows))
	}
}

// testPrincipals: the same kind and id belongs to several principals, and no
// operation of one reaches the row of another.
func testPrincipals(t *testing.T, store Store) {
	s := store.Open(t, store.New(t))
	principals := []string{ada, bob, "https%3A%2F%2Fid.example|tenant|ada", strings.ToUpper(ada), ada + " ", "%", "_", "'"}
	row := func(principal string) *vault.Row {
		return &vault.Row{Kind: vault.KindGrant, ID: "g", Provider: "p", Name: "n", Status: "alive", Version: 1, Content: []byte(principal)}
	}
	for _, p := range principals {
		putRows(t, s, p, row(p))
	}
	check := func(present func(string) bool) {
		t.Helper()
		for _, p := range principals {
			for _, q := range []vault.Query{{Kind: vault.KindGrant}, {Kind: vault.KindGrant, ID: "g"}, {Kind: vault.KindGrant, Provider: "p", Name: "n"}} {
				rows := read(t, s, p, q)
				if !present(p) {
					if len(rows) != 0 {
						t.Errorf("%q sees %d rows", p, len(rows))
					}
					continue
				}
				if len(rows) != 1 || string(rows[0].Content) != p {
					t.Errorf("%q reads %+v", p, rows)
				}
				update(t, s, p, func(tx vault.Tx) error {
					q.Limit = 9
					rows, err := tx.Rows(q)
					if len(rows) != 1 || string(rows[0].Content) != p {
						t.Errorf("in its transaction %q reads %+v", p, rows)
					}
					return err
				})
			}
		}
	}
	check(func(string) bool { return true })
	update(t, s, ada, func(tx vault.Tx) error { return tx.Delete(vault.KindGrant, "g") })
	check(func(p string) bool { return p != ada })
	for _, p := range []string{"", "nobody"} {
		if rows := read(t, s, p, vault.Query{Kind: vault.KindGrant}); len(rows) != 0 {
			t.Errorf("%q sees %d rows", p, len(rows))
		}
	}
}

func testQueries(t *testing.T, store Store) {
	s := store.Open(t, store.New(t))
	// Ids sort by bytes: capitals, then small letters, then what is not ASCII.
	putRows(t, s, ada,
		&vault.Row{Kind: vault.KindGrant, ID: "b", Provider: "p1", Name: "home"},
		&vault.Row{Kind: vault.KindGrant, ID: "a", Provider: "p1", Name: "work"},
		&vault.Row{Kind: vault.KindGrant, ID: "ä", Provider: "p2", Name: "home"},
		&vault.Row{Kind: vault.KindGrant, ID: "B", Provider: "P1", Name: "Home"},
		&vault.Row{Kind: vault.KindGrant, ID: "_", Provider: "%", Name: "_"},
		&vault.Row{Kind: vault.KindFlow, ID: "a", Provider: "p1", Name: "home"},
	)
	tests := map[string]vault.Query{
		"B _ a b ä": {Kind: vault.KindGrant, Limit: 9},
		"B _":       {Kind: vault.KindGrant, Limit: 2},
		"b ä":       {Kind: vault.KindGrant, After: "a", Limit: 9},
		"b":         {Kind: vault.KindGrant, After: "a", Limit: 1},
		"a b":       {Kind: vault.KindGrant, Provider: "p1", Limit: 9},
		"b ":        {Kind: vault.KindGrant, Provider: "p1", Name: "home", Limit: 9},
		"_":         {Kind: vault.KindGrant, Provider: "%", Limit: 9},
		"B":         {Kind: vault.KindGrant, Name: "Home", Limit: 9},
		"a":         {Kind: vault.KindGrant, ID: "a", Limit: 9},
		" a":        {Kind: vault.KindFlow, Limit: 9},
		"":          {Kind: vault.KindGrant, ID: "a", Provider: "p2", Limit: 9},
		"  ":        {Kind: vault.KindGrant, ID: "a", After: "a", Limit: 9},
		"   ":       {Kind: vault.KindRevocation, Limit: 9},
	}
	for want, q := range tests {
		want = strings.TrimSpace(want)
		if got := ids(read(t, s, ada, q)); got != want {
			t.Errorf("Rows(%+v) = %q, want %q", q, got, want)
		}
		update(t, s, ada, func(tx vault.Tx) error {
			rows, err := tx.Rows(q)
			if got := ids(rows); got != want {
				t.Errorf("in a transaction Rows(%+v) = %q, want %q", q, got, want)
			}
			return err
		})
	}
}

func testRollBack(t *testing.T, store Store) {
	s := store.Open(t, store.New(t))
	putRows(t, s, ada, &vault.Row{Kind: vault.KindGrant, ID: "kept", Name: "n", Status: "before"})
	mine := errors.New("mine")
	err := s.Update(t.Context(), ada, func(tx vault.Tx) error {
		return errors.Join(
			tx.Put(&vault.Row{Kind: vault.KindGrant, ID: "new", Name: "n"}),
			tx.Put(&vault.Row{Kind: vault.KindGrant, ID: "kept", Name: "n", Status: "after"}),
			tx.Delete(vault.KindGrant, "kept"), mine)
	})
	if !errors.Is(err, mine) {
		t.Errorf("Update returned %v, want the function's own error", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = s.Update(t.Context(), ada, func(tx vault.Tx) error {
			_ = tx.Delete(vault.KindGrant, "kept")
			panic("the function's")
		})
	}()
	rows := read(t, s, ada, vault.Query{Kind: vault.KindGrant})
	if len(rows) != 1 || rows[0].Status != "before" {
		t.Errorf("a transaction that failed left %+v", rows)
	}
	// The principal is not locked for ever.
	putRows(t, s, ada, &vault.Row{Kind: vault.KindGrant, ID: "later", Name: "n"})
}

func testOwnWrites(t *testing.T, store Store) {
	s := store.Open(t, store.New(t))
	putRows(t, s, ada, &vault.Row{Kind: vault.KindGrant, ID: "a", Name: "n"}, &vault.Row{Kind: vault.KindGrant, ID: "b", Name: "n"})
	update(t, s, ada, func(tx vault.Tx) error {
		err := errors.Join(tx.Delete(vault.KindGrant, "a"), tx.Put(&vault.Row{Kind: vault.KindGrant, ID: "c", Name: "n"}), tx.Put(&vault.Row{Kind: vault.KindGrant, ID: "b", Name: "m"}))
		rows, readErr := tx.Rows(vault.Query{Kind: vault.KindGrant, Limit: 9})
		if ids(rows) != "b c" || rows[0].Name != "m" {
			t.Errorf("the transaction reads %q", ids(rows))
		}
		return errors.Join(err, readErr)
	})
}

// testOneAfterAnother: write transactions of one principal do not overlap, also
// through several handles, so that what one reads stays true until it commits.
func testOneAfterAnother(t *testing.T, store Store) {
	address := store.New(t)
	handles := []vault.Store{store.Open(t, address), store.Open(t, address)}
	const workers, rounds = 4, 10
	var wait sync.WaitGroup
	for i := range workers {
		wait.Go(func() {
			for range rounds {
				for _, principal := range []string{ada, bob} {
					err := handles[i%2].Update(t.Context(), principal, func(tx vault.Tx) error {
						rows, err := tx.Rows(vault.Query{Kind: vault.KindGrant, Limit: 1})
						if err != nil {
							return err
						}
						row := &vault.Row{Kind: vault.KindGrant, ID: "count", Name: "n"}
						if len(rows) == 1 {
							row = rows[0]
						}
						row.Version++
						return tx.Put(row)
					})
					if err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wait.Wait()
	for _, principal := range []string{ada, bob} {
		rows := read(t, handles[0], principal, vault.Query{Kind: vault.KindGrant})
		if len(rows) != 1 || rows[0].Version != workers*rounds {
			t.Errorf("%d increments of %s are %+v", workers*rounds, principal, rows)
		}
	}
}

func testTime(t *testing.T, store Store) {
	address := store.New(t)
	handles := []vault.Store{store.Open(t, address), store.Open(t, address)}
	var last time.Time
	for i := range 10 {
		update(t, handles[i%2], ada, func(tx vault.Tx) error {
			now := tx.Now()
			if now.Before(last) {
				t.Errorf("a later transaction has the earlier time %v, after %v", now, last)
			}
			if now.Location() != time.UTC || now.Nanosecond()%1000 != 0 || now.IsZero() {
				t.Errorf("the time is %v: want UTC, to the microsecond", now)
			}
			if !tx.Now().Equal(now) {
				t.Error("the time passes within a transaction")
			}
			last = now
			return tx.Put(&vault.Row{Kind: vault.KindGrant, ID: "g", Name: "n", Updated: now})
		})
		rows, now, err := handles[(i+1)%2].Rows(t.Context(), ada, vault.Query{Kind: vault.KindGrant, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if now.Location() != time.UTC || now.Before(last.Add(-time.Second)) || now.After(last.Add(time.Hour)) {
			t.Errorf("Rows has the time %v, a transaction before it %v", now, last)
		}
		if len(rows) != 1 || !rows[0].Updated.Equal(last) {
			t.Errorf("a stored time came back as %+v, want %v", rows, last)
		}
	}
}

func testContexts(t *testing.T, store Store) {
	s := store.Open(t, store.New(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	called := false
	if err := s.Update(ctx, ada, func(vault.Tx) error { called = true; return nil }); !errors.Is(err, context.Canceled) || called {
		t.Errorf("Update with an ended context: %v, function called: %v", err, called)
	}
	if _, _, err := s.Rows(ctx, ada, vault.Query{Kind: vault.KindGrant, Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("Rows with an ended context: %v", err)
	}
	if _, err := s.Due(ctx, vault.KindFlow, vault.Ref{}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Due with an ended context: %v", err)
	}
}

// testLongTexts: the longest texts, of random bytes, which do not compress.
func testLongTexts(t *testing.T, store Store) {
	s := store.Open(t, store.New(t))
	random := rand.New(rand.NewPCG(1, 2))
	long := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('!' + random.IntN(94))
		}
		return string(b)
	}
	principal := long(1024)
	row := &vault.Row{
		Kind: vault.Kind(long(256)), ID: long(256), Provider: long(vault.MaxText), Name: long(256), Status: long(256), Key: 5,
		Detail: []byte(long(64 << 10)), Content: []byte(long(1 << 20)), Due: time.Unix(1, 0).UTC(),
	}
	twin := *row
	twin.ID, twin.Provider, twin.Name = row.ID[:255]+" ", row.Provider[:vault.MaxText-1]+" ", row.Name[:255]+" "
	putRows(t, s, principal, row, &twin)
	for _, q := range []vault.Query{
		{Kind: row.Kind, ID: row.ID}, {Kind: row.Kind, Provider: row.Provider}, {Kind: row.Kind, Name: row.Name}, {Kind: row.Kind, Provider: row.Provider, Name: row.Name},
	} {
		if got := read(t, s, principal, q); len(got) != 1 || !cmp.Equal(got[0], row, byBytes) {
			t.Errorf("long texts: %d rows are found", len(got))
		}
	}
	if got := read(t, s, principal[:1023]+" ", vault.Query{Kind: row.Kind}); len(got) != 0 {
		t.Error("a principal with the same beginning sees the row")
	}
	refs, err := s.Due(t.Context(), row.Kind, vault.Ref{}, 9)
	if err != nil || len(refs) != 2 {
		t.Errorf("Due: %d rows, %v", len(refs), err)
	}
	counts, err := s.Counts(t.Context(), vault.Count{}, 9)
	if err != nil || len(counts) != 2 {
		t.Errorf("Counts: %d, %v", len(counts), err)
	}
}

// testCallersRows: who changes a row that it was given, or gave, changes nothing stored.
func testCallersRows(t *testing.T, store Store) {
	s := store.Open(t, store.New(t))
	row := &vault.Row{Kind: vault.KindGrant, ID: "g", Name: "n", Status: "alive", Detail: []byte("{}"), Content: []byte("abc")}
	spoil := func(row *vault.Row) { row.Status, row.Detail[0], row.Content[0] = "spoilt", 'X', 'X' }
	putRows(t, s, ada, row)
	spoil(row)
	spoil(read(t, s, ada, vault.Query{Kind: vault.KindGrant})[0])
	update(t, s, ada, func(tx vault.Tx) error {
		rows, err := tx.Rows(vault.Query{Kind: vault.KindGrant, Limit: 1})
		spoil(rows[0])
		return err
	})
	got := read(t, s, ada, vault.Query{Kind: vault.KindGrant})
	if got[0].Status != "alive" || string(got[0].Detail) != "{}" || string(got[0].Content) != "abc" {
		t.Errorf("the stored row was changed from outside: %+v", got[0])
	}
}
