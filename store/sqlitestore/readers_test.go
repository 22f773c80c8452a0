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

// Statements are prepared when they are needed for the first time, also by
// transactions that hold all the connections there are for reading.
func TestManyReadersWithNewStatements(t *testing.T) {
	t.Parallel()
	store, err := sqlitestore.Open(filepath.Join(t.TempDir(), "inbox.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	const readers = 4
	var inside, ended sync.WaitGroup
	inside.Add(readers)
	for range readers {
		ended.Go(func() {
			err := store.View(ctx, "ada", func(tx inbox.Tx) error {
				inside.Done()
				inside.Wait()
				_, err := tx.Questions(inbox.QuestionQuery{Conversation: "c"})
				return err
			})
			if err != nil {
				t.Errorf("View: %v", err)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		ended.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("four readers wait for each other")
	}
}
