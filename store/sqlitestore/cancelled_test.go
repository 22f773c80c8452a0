package sqlitestore_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

// TestViewsThatAreCancelled: a view whose context ends at any moment, also while
// its transaction begins, leaves its connection to those that come after it.
func TestViewsThatAreCancelled(t *testing.T) {
	t.Parallel()
	store, err := sqlitestore.Open(filepath.Join(t.TempDir(), "inbox.db"), nil)
	must(t, err)
	defer store.Close()
	look := func(ctx context.Context) error {
		return store.View(ctx, "ada", func(tx inbox.Tx) error {
			_, err := tx.Questions(inbox.QuestionQuery{Conversation: "c"})
			return err
		})
	}
	for range 20 {
		must(t, look(t.Context())) // statements are prepared
	}
	begun := time.Now()
	must(t, look(t.Context()))
	takes := time.Since(begun) // about
	const tries = 4_000
	var group sync.WaitGroup
	for n := range tries {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), takes*time.Duration(n)/tries*2)
			defer cancel()
			_ = look(ctx)
		})
		if n%8 == 7 {
			group.Wait()
		}
	}
	for range 20 { // each of the connections
		must(t, look(t.Context()))
	}
}
