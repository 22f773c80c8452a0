package pgreplay_test

import (
	"os"
	"testing"
	"time"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/internal/servicetest"
)

// TestVersionBefore has a program of version 1 make and end records before the
// database was brought up to date, and beside a program of this version.
func TestVersionBefore(t *testing.T) {
	t.Parallel()
	address := servicetest.Postgres(t)
	first, err := os.ReadFile("migrations/0001.sql")
	if err != nil {
		t.Fatal(err)
	}
	before := servicetest.Conn(t, address) // its search_path is the schema
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := before.Exec(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	var schema string
	if err := before.QueryRow(t.Context(), `SHOW search_path`).Scan(&schema); err != nil {
		t.Fatal(err)
	}
	exec(`CREATE SCHEMA ` + schema)
	exec(string(first))
	exec(`CREATE TABLE elicit_schema (version int PRIMARY KEY, oldest int NOT NULL, applied timestamptz NOT NULL DEFAULT now())`)
	exec(`INSERT INTO elicit_schema (version, oldest) VALUES (1, 1)`)
	take := func(key string) {
		t.Helper()
		// As version 1 wrote it.
		exec(`INSERT INTO elicit_records AS old (key, principal, digest, status, lease, expires)
			VALUES ($1, 'p', 'd', 'running', now() + interval '1 hour', now() + interval '1 hour')
			ON CONFLICT (key) DO UPDATE SET principal = excluded.principal, digest = excluded.digest, status = excluded.status,
				fence = DEFAULT, lease = excluded.lease, expires = excluded.expires, outcome = NULL
				WHERE old.expires <= now()`, key)
	}
	take("old")
	guard := open(t, address)
	take("beside")
	for _, key := range []string{"old", "beside"} {
		record, taken, err := guard.Take(t.Context(), elicit.CallRecord{Key: key}, time.Hour, time.Hour)
		if err != nil || taken || record.Status != elicit.RecordRunning || record.Version != 1 || record.Continuation != nil {
			t.Fatalf("record %+v, taken %t, error %v", record, taken, err)
		}
		// Version 1 ends it, and this one sees that.
		exec(`UPDATE elicit_records SET status = 'finished', outcome = $3 WHERE key = $1 AND fence = $2`, key, record.Fence, []byte("x"))
		if record, _, err = guard.Take(t.Context(), elicit.CallRecord{Key: key}, time.Hour, time.Hour); err != nil || string(record.Outcome) != "x" {
			t.Errorf("record %+v, error %v", record, err)
		}
	}
	// What this version took, version 1 finds.
	record, taken, err := guard.Take(t.Context(), elicit.CallRecord{Key: "new", Principal: "p", Digest: "d", Continuation: []byte("sealed")}, time.Hour, time.Hour)
	if err != nil || !taken {
		t.Fatal(taken, err)
	}
	take("new")
	var fence int64
	if err := before.QueryRow(t.Context(), `SELECT fence FROM elicit_records WHERE key = 'new' AND status = 'running'`).Scan(&fence); err != nil || fence != record.Fence {
		t.Errorf("fence %d, want %d, error %v", fence, record.Fence, err)
	}
}
