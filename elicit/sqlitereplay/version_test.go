package sqlitereplay_test

import (
	"os"
	"testing"
	"time"

	"github.com/parley-mcp/parley/elicit"
)

// TestVersionBefore has a program of version 1 make records before the file was
// brought up to date and, still running, afterwards.
func TestVersionBefore(t *testing.T) {
	t.Parallel()
	path := store.New(t)
	first, err := os.ReadFile("migrations/0001.sql")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := direct(t, path)
	for _, statement := range []string{
		string(first),
		`CREATE TABLE elicit_schema (version INTEGER NOT NULL) STRICT`,
		`INSERT INTO elicit_schema (version) VALUES (1)`,
	} {
		if _, err := before.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	insert := func(key string) {
		t.Helper()
		// As version 1 wrote it.
		_, err := before.Exec(`INSERT INTO elicit_records (key, principal, digest, status, lease, expires)
			VALUES (?, ?, ?, ?, ?, ?)`, key, "p", "d", "running", time.Now().Add(time.Hour).UnixMicro(), time.Now().Add(time.Hour).UnixMicro())
		if err != nil {
			t.Fatal(err)
		}
	}
	insert("old")
	guard := store.Open(t, path)
	insert("beside")
	for _, key := range []string{"old", "beside"} {
		record, taken, err := guard.Take(t.Context(), elicit.CallRecord{Key: key}, time.Hour, time.Hour)
		if err != nil || taken || record.Status != elicit.RecordRunning || record.Version != 1 || record.Continuation != nil {
			t.Fatalf("record %+v, taken %t, error %v", record, taken, err)
		}
		// Version 1 ends it, and this one sees that.
		if _, err := before.Exec(`UPDATE elicit_records SET status = ?, outcome = ? WHERE key = ? AND fence = ?`, "finished", []byte("x"), key, record.Fence); err != nil {
			t.Fatal(err)
		}
		if record, _, err = guard.Take(t.Context(), elicit.CallRecord{Key: key}, time.Hour, time.Hour); err != nil || string(record.Outcome) != "x" {
			t.Errorf("record %+v, error %v", record, err)
		}
	}
}
