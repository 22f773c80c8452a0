//go:build proof

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/store/pgstore"
)

// TestBackupPostgres does what docs/operations.md says: it dumps a store that is
// written to, restores the dump on another server, and goes on from it.
func TestBackupPostgres(t *testing.T) {
	t.Parallel()
	from, to := servicetest.NewOwnPostgres(t, nil), servicetest.NewOwnPostgres(t, nil)
	keysPath, dump := filepath.Join(t.TempDir(), keysFile), filepath.Join(t.TempDir(), "parley.dump")
	open := func(server *servicetest.OwnPostgres) (*inbox.Inbox, *pgstore.Store) {
		keys, err := inbox.OpenKeys(keysPath)
		if err != nil {
			t.Fatal(err)
		}
		store, err := pgstore.Open(t.Context(), server.DSN("", "parley"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return inbox.New(store, keys, nil), store
	}
	in, store := open(from)
	defer store.Close()
	claim := parked(t, in, serve.LocalPrincipal) // a call that waits with its question, and one that is sent

	var work sync.WaitGroup
	stop, wrote := make(chan struct{}), make(chan struct{})
	var once sync.Once
	for i := range 2 {
		work.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := in.Compose(t.Context(), serve.LocalPrincipal, inbox.NewCall{Server: "s", Method: "tools/call", Name: fmt.Sprint(i, " ", n)}); err != nil {
					t.Error(err)
					return
				}
				once.Do(func() { close(wrote) })
			}
		})
	}
	<-wrote
	out, err := exec.Command(from.Program("pg_dump"), "--format=custom", "--schema=parley", "--file="+dump, from.URL()).CombinedOutput()
	close(stop)
	work.Wait()
	if err != nil {
		t.Fatalf("pg_dump: %v\n%s", err, out)
	}
	if out, err := exec.Command(to.Program("pg_restore"), "--exit-on-error", "--dbname="+to.URL(), dump).CombinedOutput(); err != nil {
		t.Fatalf("pg_restore: %v\n%s", err, out)
	}

	in, restored := open(to)
	defer restored.Close()
	questions, err := in.Questions(t.Context(), serve.LocalPrincipal, inbox.QuestionFilter{})
	if err != nil || len(questions) != 1 || questions[0].Message != "Sure?" || questions[0].State != inbox.Open {
		t.Fatalf("the questions: %+v, %v", questions, err)
	}
	// It is one moment: the events are without a gap up to the last, and every
	// call that they name can be read.
	last, err := in.LastEvent(t.Context(), serve.LocalPrincipal)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]bool{}
	for seq := int64(0); seq < last; {
		events, err := in.Events(t.Context(), serve.LocalPrincipal, seq, 500)
		if err != nil || len(events) == 0 {
			t.Fatalf("events after %d of %d: %d, %v", seq, last, len(events), err)
		}
		for _, e := range events {
			if seq++; e.Seq != seq {
				t.Fatalf("event %d is missing", seq)
			}
			if e.Kind == inbox.CallEvent {
				calls[e.ID] = true
			}
		}
	}
	if len(calls) < 3 {
		t.Errorf("%d calls in the events, want the first two and some that were written during the backup", len(calls))
	}
	for id := range calls {
		if _, err := in.Call(t.Context(), serve.LocalPrincipal, inbox.CallID(id)); err != nil {
			t.Errorf("the call %s: %v", id, err)
		}
	}
	// What was on the wire at the backup is nobody's after its lease; an answer is taken.
	if _, err := in.Answer(t.Context(), serve.LocalPrincipal, questions[0].ID, inbox.Answer{Action: inbox.Decline, Via: "test"}); err != nil {
		t.Errorf("an answer in the restored store: %v", err)
	}
	if c, err := in.Call(t.Context(), serve.LocalPrincipal, claim.Call); err != nil || c.State != inbox.Sent {
		t.Errorf("the call that was on the wire: %+v, %v", c, err)
	}
}
