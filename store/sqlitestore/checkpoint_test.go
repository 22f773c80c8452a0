package sqlitestore_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/storebench"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

// TestLogIsBounded: the log begins anew however busy the writers are, and also
// after a reader that went on for long.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inbox.db")
	const step, bound, kept = 20, 160, 320 // pages
	store, err := sqlitestore.OpenSized(path, step, bound, kept)
	must(t, err)
	defer store.Close()
	in := storebench.New(store)
	n := 0
	commit := func() {
		storebench.Waiting(t, in, storebench.Person(n), n)
		n++
	}
	pages := func() int {
		info, err := os.Stat(path + "-wal")
		must(t, err)
		return int(info.Size() / 4096)
	}

	// Without a bound it would be some 5,000. How far past the bound the writers get
	// depends on when the other goroutine runs, which may be kept from it for a while.
	longest := 0
	for try := 0; try == 0 || try < 10 && longest > 10*bound; try++ {
		longest = 0
		for range 150 {
			commit()
			longest = max(longest, pages())
		}
	}
	if longest > 10*bound {
		t.Errorf("the log became %d pages long; the bound is %d", longest, bound)
	}

	must(t, store.View(context.Background(), storebench.Person(0).Key(), func(tx inbox.Tx) error {
		for range 100 { // what this reader sees stays as it is
			commit()
		}
		_, err := tx.Calls(inbox.CallQuery{})
		return err
	}))
	if pages() < 10*bound {
		t.Errorf("beside a reader the log became %d pages long: too little to prove anything", pages())
	}
	for range 3_000 { // some seconds, if the other goroutine is kept from running
		if commit(); pages() <= kept+bound {
			return
		}
	}
	t.Errorf("after the reader the log's file is still %d pages long", pages())
}

// TestLogIsMoved: what a process left in the log that was killed is moved too.
func TestLogIsMoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inbox.db")
	first, err := sqlitestore.OpenSized(path, 1<<30, 1<<30, 1<<20) // moves nothing
	must(t, err)
	defer first.Close()
	keys := inbox.NewKeys()
	for n := range 20 {
		storebench.Waiting(t, inbox.New(first, keys, nil), storebench.Person(n), n)
	}
	second, err := sqlitestore.OpenSized(path, 20, 160, 320)
	must(t, err)
	defer second.Close()
	for {
		pages, moved, err := sqlitestore.Log(t.Context(), path)
		must(t, err)
		if pages > 20 && moved == pages {
			break // or the time of the tests ends
		}
	}
	list, err := inbox.New(second, keys, nil).Questions(t.Context(), storebench.Person(3), inbox.QuestionFilter{})
	must(t, err)
	if len(list) != 1 || list[0].State != inbox.Open {
		t.Errorf("after the log was moved the person has %d questions: %+v", len(list), list)
	}
}
