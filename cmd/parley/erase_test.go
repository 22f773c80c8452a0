package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/store/pgstore"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

// One person is erased, and nobody else; before, somebody has to mean it. It
// takes the lock of a file many times in this process, so it does not run
// beside tests that start programs: between fork and exec these have it too.
func TestErase(t *testing.T) {
	sqlite := func(t *testing.T) (string, func() erasable) {
		path := filepath.Join(t.TempDir(), "a.db")
		return "sqlite:" + path, func() erasable {
			store, err := sqlitestore.Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			return store
		}
	}
	postgres := func(t *testing.T) (string, func() erasable) {
		dsn := servicetest.Postgres(t)
		return dsn, func() erasable {
			store, err := pgstore.Open(context.WithoutCancel(t.Context()), dsn, nil)
			if err != nil {
				t.Fatal(err)
			}
			return store
		}
	}
	for name, place := range map[string]func(t *testing.T) (string, func() erasable){"SQLite": sqlite, "PostgreSQL": postgres} {
		t.Run(name, func(t *testing.T) {
			at, open := place(t)
			ada := inbox.Principal{Issuer: "https://login.example", Subject: "ada+1|x"}
			bob := inbox.Principal{Issuer: "https://login.example", Subject: "bob"}
			store := open()
			keys := inbox.NewKeys()
			in := inbox.New(store, keys, nil)
			claim := parked(t, in, ada)
			parked(t, in, bob)
			if name == "SQLite" { // belongs to one process
				store.Close()
			} else {
				defer store.Close()
			}
			erase := func(stdin string, more ...string) (int, string, string) {
				var out, errs bytes.Buffer
				code := run(t.Context(), append([]string{"erase", "--principal", "https://login.example||ada+1%7Cx"}, more...), &environment{
					stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs,
					lookup: func(name string) (string, bool) { return at, name == "PARLEY_STORE" },
				})
				return code, out.String(), errs.String()
			}
			for _, answer := range []string{"", "\n", "y\n", "yes\n", "erase it\n", strings.Repeat("erase ", 1000)} {
				code, out, errs := erase(answer)
				if code != exitUsage || !strings.Contains(out, "2 calls (2 not ended) and 1 question") || !strings.Contains(errs, "nothing was removed") {
					t.Errorf("answered %.20q: code %d, %s%s", answer, code, out, errs)
				}
			}
			if code, out, errs := erase("erase\n"); code != exitOK || !strings.Contains(out, "It was removed.") {
				t.Fatalf("code %d, %s%s", code, out, errs)
			}
			if code, _, errs := erase("", "--yes"); code != exitFindings || !strings.Contains(errs, `nothing is stored of issuer "https://login.example", subject "ada+1|x"`) {
				t.Errorf("once more: code %d, %s", code, errs)
			}
			if name == "SQLite" {
				store = open()
				defer store.Close()
				in = inbox.New(store, keys, nil)
			}
			// A machine that has one of the calls has lost it.
			if _, err := in.Finish(t.Context(), claim, inbox.Outcome{State: inbox.Done}); !errors.Is(err, inbox.ErrFenced) {
				t.Errorf("the claim of a machine: %v, want ErrFenced", err)
			}
			for p, want := range map[inbox.Principal]int{ada: 0, bob: 2} {
				list, err := in.Calls(t.Context(), p, inbox.CallFilter{})
				if err != nil || len(list) != want {
					t.Errorf("%s has %d calls, want %d (%v)", p.Subject, len(list), want, err)
				}
			}
		})
	}
}

// parked gives a person one call that waits with a question, and one that is
// sent, whose claim it returns.
func parked(t *testing.T, in *inbox.Inbox, p inbox.Principal) *inbox.Claim {
	t.Helper()
	var claim *inbox.Claim
	for i := range 2 {
		c, err := in.Compose(t.Context(), p, inbox.NewCall{Server: "s", Method: "tools/call", Name: fmt.Sprint("tool", i)})
		if err != nil {
			t.Fatal(err)
		}
		if claim, _, err = in.Claim(t.Context(), p, c.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Mark(t.Context(), claim, inbox.Binding{Era: inbox.Modern}); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			continue
		}
		if _, err := in.Park(t.Context(), claim, inbox.Asked{Questions: []inbox.NewQuestion{{
			Key: "q", Params: json.RawMessage(`{"message":"Sure?","requestedSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`),
		}}}); err != nil {
			t.Fatal(err)
		}
	}
	return claim
}

// A file that a host has open is left alone. Not parallel: see above.
func TestEraseWhileServing(t *testing.T) {
	dir := t.TempDir()
	release, err := lockData(dir)
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlitestore.Open(filepath.Join(dir, storeFile), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	code, out, errs := runCommand(t, nil, "erase", "--data", dir, "--principal", "local||operator", "--yes")
	if code != exitUsage || !strings.Contains(errs, "is in use by another parley") {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
	release()
	if code, out, errs := runCommand(t, nil, "erase", "--data", dir, "--principal", "local||operator", "--yes"); code != exitFindings {
		t.Errorf("when it has ended: code %d, %s%s", code, out, errs)
	}
}
