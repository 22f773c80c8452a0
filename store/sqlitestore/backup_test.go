package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

// TestBackup copies the file with VACUUM INTO while writers are at work, and
// looks whether the copy is one moment of it: every person's rows and events
// belong together, and work goes on from there.
func TestBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "inbox.db"), filepath.Join(dir, "copy.db")
	store := mustOpen(t, from)
	keys := inbox.NewKeys()
	in := inbox.New(store, keys, nil)
	const writers = 4
	people := make([]inbox.Principal, writers)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var work, begun sync.WaitGroup
	begun.Add(writers)
	for i := range people {
		people[i] = inbox.Principal{Issuer: "i", Subject: fmt.Sprint(i)}
		work.Go(func() {
			for n := 0; ; n++ {
				if n == 3 {
					begun.Done()
				}
				if err := round(ctx, in, people[i]); err != nil {
					if ctx.Err() == nil {
						t.Errorf("writer %d: %v", i, err)
					}
					if n < 3 {
						begun.Done()
					}
					return
				}
			}
		})
	}
	begun.Wait()
	db, err := sql.Open("sqlite", from)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `VACUUM INTO ?`, to); err != nil {
		t.Fatal(err)
	}
	stop()
	work.Wait()

	// What SQLite itself says of the copy.
	copied, err := sql.Open("sqlite", to)
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	var verdict string
	if err := copied.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("integrity check: %s, %v", verdict, err)
	}
	if err := copied.Close(); err != nil {
		t.Fatal(err)
	}
	restored := mustOpen(t, to)
	in = inbox.New(restored, keys, nil)
	for _, p := range people {
		checkRestored(t, in, restored, p)
		if err := round(t.Context(), in, p); err != nil {
			t.Errorf("going on: %v", err)
		}
	}
}

// round is one call that asks, is answered and ends.
func round(ctx context.Context, in *inbox.Inbox, p inbox.Principal) error {
	c, err := in.Compose(ctx, p, inbox.NewCall{Conversation: "v", Server: p.Subject, Method: "tools/call", Arguments: []byte(`{}`)})
	if err != nil {
		return err
	}
	claim, _, err := in.Claim(ctx, p, c.ID)
	if err != nil {
		return err
	}
	if _, err := in.Mark(ctx, claim, inbox.Binding{Era: inbox.Modern}); err != nil {
		return err
	}
	_, err = in.Park(ctx, claim, inbox.Asked{RequestState: "s", Questions: []inbox.NewQuestion{{Key: "a", Params: []byte(
		`{"message":"A?","requestedSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`)}}})
	if err != nil {
		return err
	}
	if _, err := in.DeclineRest(ctx, p, c.ID, inbox.Answer{Via: "chat"}); err != nil {
		return err
	}
	if claim, _, err = in.Claim(ctx, p, c.ID); errors.Is(err, inbox.ErrState) {
		return nil // ten questions a minute were asked: it has failed
	} else if err != nil {
		return err
	}
	if _, err := in.Mark(ctx, claim, inbox.Binding{}); err != nil {
		return err
	}
	_, err = in.Finish(ctx, claim, inbox.Outcome{State: inbox.Done})
	return err
}

// checkRestored holds what is stored of a person against itself: each change
// of a row made one event.
func checkRestored(t *testing.T, in *inbox.Inbox, store *sqlitestore.Store, p inbox.Principal) {
	t.Helper()
	err := store.View(t.Context(), p.Key(), func(tx inbox.Tx) error {
		first, last, err := tx.EventBounds()
		if err != nil {
			return err
		}
		events, err := tx.Events(0, int(last)+1)
		if err != nil {
			return err
		}
		calls, err := tx.Calls(inbox.CallQuery{})
		if err != nil {
			return err
		}
		questions, err := tx.Questions(inbox.QuestionQuery{})
		if err != nil {
			return err
		}
		versions := int64(0) // and what was refused, which changes no row
		for _, e := range events {
			if e.Kind == inbox.RefusalEvent {
				versions++
			}
		}
		for _, c := range calls {
			versions += c.Version
		}
		for _, q := range questions {
			versions += q.Version
			if _, err := tx.Call(q.Call); err != nil {
				return fmt.Errorf("the call of question %s: %w", q.ID, err)
			}
		}
		if first != 1 || int64(len(events)) != last || versions != last || len(calls) < 3 {
			t.Errorf("%d calls, %d versions, events %d to %d, of which %d are there", len(calls), versions, first, last, len(events))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := in.Calls(t.Context(), p, inbox.CallFilter{}); err != nil { // the seals open
		t.Error(err)
	}
}
