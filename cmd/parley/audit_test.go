package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/sqlitefile"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

// A run goes on after the entry that another one ended with, and with --follow tells
// what happens while it runs, each entry once.
func TestAuditGoesOn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	store, err := sqlitestore.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	in := inbox.New(store, inbox.NewKeys(), nil)
	happens := func() inbox.CallID {
		t.Helper()
		c, err := in.Compose(t.Context(), inbox.Principal{Issuer: "i", Subject: "ada"}, inbox.NewCall{Server: "s", Method: "tools/call", Name: "n"})
		if err != nil {
			t.Fatal(err)
		}
		return c.ID
	}
	first, second := happens(), happens()
	type entry struct {
		ID   int64
		Call inbox.CallID
	}
	code, out, errs := call(t, "audit", "--store", "sqlite:"+path, "--json", "--after", "1")
	var got entry
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK || got.Call != second || got.ID != 2 {
		t.Fatalf("after the first: code %d, %q, %q, %v", code, out, errs, err)
	}
	if code, out, errs := call(t, "audit", "--store", "sqlite:"+path, "--after", "2"); code != exitOK || out != "" {
		t.Errorf("after the last: code %d, %q, %q", code, out, errs)
	}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	done := make(chan int, 1)
	var trouble bytes.Buffer
	go func() {
		done <- run(ctx, []string{"audit", "--store", "sqlite:" + path, "--json", "--follow"}, &environment{
			stdin: strings.NewReader(""), stdout: w, stderr: &trouble, lookup: func(string) (string, bool) { return "", false },
		})
		w.Close()
	}()
	lines := bufio.NewScanner(r)
	for i, want := range []inbox.CallID{first, second, ""} {
		if want == "" {
			want = happens() // while it runs
		}
		var e entry
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &e) != nil || e.Call != want || e.ID != int64(i+1) {
			t.Fatalf("line %d: %q, want call %s", i+1, lines.Text(), want)
		}
	}
	stop()
	if lines.Scan() {
		t.Errorf("one line more: %q", lines.Text())
	}
	if code := <-done; code != exitOK {
		t.Errorf("code %d, %s", code, trouble.String())
	}
}

// It runs beside hosts, also those of an older version: tables of another version stay
// as they are, and it says what to do.
func TestAuditKeepsTables(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	store, err := sqlitestore.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", sqlitefile.Source(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	version := func() (v int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), `SELECT max(version) FROM inbox_schema`).Scan(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	now := version()
	if _, err := db.ExecContext(t.Context(), `DELETE FROM inbox_schema WHERE version = ?`, now); err != nil {
		t.Fatal(err)
	}
	code, out, errs := call(t, "audit", "--store", "sqlite:"+path)
	if code != exitUsage || out != "" || !strings.Contains(errs, "the tables are of another version") || !strings.Contains(errs, "use the parley that the host runs") {
		t.Errorf("code %d, %q, %q", code, out, errs)
	}
	if v := version(); v != now-1 {
		t.Errorf("version %d, was %d", v, now-1)
	}
}
