package pgstore_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/store/pgstore"
)

// crashURL makes the test binary the process that TestKilled kills.
const crashURL = "PGSTORE_CRASH_URL"

// TestKilled kills a process that writes, again and again, and looks whether
// everything is there of which it had said that it was stored.
func TestKilled(t *testing.T) {
	if dsn := os.Getenv(crashURL); dsn != "" {
		writeUntilKilled(dsn)
	}
	t.Parallel()
	dsn := servicetest.Postgres(t)
	store := mustOpen(t, dsn, nil)
	stored := 0
	for life := range 3 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), crashURL+"="+dsn)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		said := 0
		for said < 10+life && lines.Scan() {
			said++
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // said before the kill arrived
			if strings.HasPrefix(lines.Text(), "stored") {
				said++
			}
		}
		cmd.Wait()
		stored += said
		// Behind the lock that a transaction of the dead process may still have.
		err = store.Update(t.Context(), "p", func(tx inbox.Tx) error {
			first, last, err := tx.EventBounds()
			if err != nil {
				return err
			}
			calls, err := tx.Calls(inbox.CallQuery{})
			if err != nil {
				return err
			}
			// One more may be stored than it had time to say, in each life.
			if first != 1 || int(last) != len(calls) || len(calls) < stored || len(calls) > stored+1 {
				t.Errorf("life %d: %d calls, events %d to %d; %d were said to be stored", life, len(calls), first, last, stored)
			}
			stored = len(calls)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func writeUntilKilled(dsn string) {
	ctx := context.Background()
	store, err := pgstore.Open(ctx, dsn, nil)
	for i := 0; err == nil; i++ {
		err = store.Update(ctx, "p", func(tx inbox.Tx) error {
			id := fmt.Sprint("c_", time.Now().UnixNano(), "_", i)
			seq, err := tx.Append(inbox.CallEvent, id)
			if err != nil {
				return err
			}
			return tx.PutCall(&inbox.CallRow{ID: inbox.CallID(id), Seq: seq, Created: tx.Now(), Updated: tx.Now()})
		})
		if err == nil {
			os.Stdout.WriteString("stored\n")
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
