package sqlitestore_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

// TestFull fills a file to its last page. All who write at that moment are told
// what it is, nothing is half stored, reading goes on, and so does writing once
// there is room.
func TestFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := mustOpen(t, filepath.Join(dir, "inbox.db"))
	pages := func(n int) {
		t.Helper()
		err := store.Update(t.Context(), "p", func(tx inbox.Tx) error { return sqlitestore.MaxPages(tx, n) })
		if err != nil {
			t.Fatal(err)
		}
	}
	count := func() int {
		t.Helper()
		n := 0
		err := store.View(t.Context(), "p", func(tx inbox.Tx) error {
			_, last, err := tx.EventBounds()
			if err != nil {
				return err
			}
			calls, err := tx.Calls(inbox.CallQuery{})
			if n = len(calls); err == nil && int(last) != n {
				t.Errorf("%d calls and %d events", n, last)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	pages(60)
	var mu sync.Mutex
	var stored, refused int
	var wg sync.WaitGroup
	for writer := range 8 {
		wg.Go(func() {
			for i := range 20 { // 3,000 bytes each: 160 of them are twice what there is room for
				err := put(t.Context(), store, fmt.Sprint("c_", writer, "_", i))
				mu.Lock()
				if err == nil {
					stored++
				} else if refused++; !errors.Is(err, inbox.ErrStoreFull) || !strings.Contains(err.Error(), "no room is left in "+dir) {
					t.Errorf("a full file: %v", err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if stored == 0 || refused == 0 || count() != stored {
		t.Fatalf("%d stored, %d refused, %d are there", stored, refused, count())
	}
	pages(1 << 20)
	if err := put(t.Context(), store, "c_later"); err != nil || count() != stored+1 {
		t.Errorf("with room again: %v, %d calls", err, count())
	}
}
