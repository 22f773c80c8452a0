package sqlitevault_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/sqlitestore"
	"github.com/parley-mcp/parley/vault"
	"github.com/parley-mcp/parley/vault/sqlitevault"
)

// everyMethod makes the store run every statement that it has.
func everyMethod(t *testing.T, s vault.Store) {
	t.Helper()
	err := s.Update(t.Context(), "p", func(tx vault.Tx) error {
		return tx.Put(&vault.Row{Kind: vault.KindGrant, ID: "g", Provider: "s", Name: "n", Key: 1, Due: tx.Now()})
	})
	for bits := range 16 {
		pick := func(bit int, text string) string {
			if bits&bit == 0 {
				return ""
			}
			return text
		}
		q := vault.Query{Kind: vault.KindGrant, ID: pick(1, "g"), Provider: pick(2, "s"), Name: pick(4, "n"), After: pick(8, "a"), Limit: 9}
		rows, _, err := s.Rows(t.Context(), "p", q)
		if len(rows) != 1 || err != nil {
			t.Errorf("Rows(%+v) = %v, %v", q, rows, err)
		}
		if err := s.Update(t.Context(), "p", func(tx vault.Tx) error { _, err := tx.Rows(q); return err }); err != nil {
			t.Error(err)
		}
	}
	_, err1 := s.Due(t.Context(), vault.KindGrant, vault.Ref{}, 9)
	_, err2 := s.Stale(t.Context(), 2, vault.Ref{}, 9)
	_, err3 := s.Counts(t.Context(), vault.Count{}, 9)
	err4 := s.Update(t.Context(), "p", func(tx vault.Tx) error { return tx.Delete(vault.KindGrant, "g") })
	if err := errors.Join(err, err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
}

var (
	namesPrincipal = regexp.MustCompile(`WHERE principal = (\?|excluded\.principal)`)
	byPrincipal    = regexp.MustCompile(`SEARCH vault_rows USING (COVERING )?INDEX \w+ \(principal=\? AND kind=\?`)
)

// TestStatements: every statement but those of sweeps has the principal in its
// condition, and SQLite finds its rows by an index that begins with it. Sweeps
// walk along an index.
func TestStatements(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "vault.db")
	s := open(t, path)
	everyMethod(t, s)
	db := direct(t, path)
	statements := s.Statements()
	if len(statements) < 21 { // 16 that read, two that write, three of sweeps
		t.Errorf("only %d statements: the test does not see them all", len(statements))
	}
	for query := range statements {
		if strings.Contains(query, "INSERT") {
			if !namesPrincipal.MatchString(query) {
				t.Errorf("writes without the principal in its condition: %s", query)
			}
			continue
		}
		plan := explain(t, db, query)
		switch {
		case sqlitevault.Sweeps[query]:
			if !strings.Contains(plan, "INDEX vault_rows_") || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("a sweep without an index: %s\n%s", query, plan)
			}
		case !namesPrincipal.MatchString(query):
			t.Errorf("without the principal in its condition: %s", query)
		case !byPrincipal.MatchString(plan) || strings.Contains(plan, "SCAN"):
			t.Errorf("not by an index of the principal: %s\n%s", query, plan)
		}
	}
}

func explain(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	args := make([]any, strings.Count(query, "?"))
	if strings.Contains(query, "?1") {
		args = make([]any, 6)
	}
	rows, err := db.Query(`EXPLAIN QUERY PLAN `+query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(detail + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}

// TestSharesAFile: an inbox may keep its tables in the same file.
func TestSharesAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	questions, err := sqlitestore.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := questions.Close(); err != nil {
			t.Error(err)
		}
	})
	s := open(t, path)
	err = questions.Update(t.Context(), "p", func(tx inbox.Tx) error {
		return tx.Remember("k", []byte("v"), tx.Now().Add(time.Hour))
	})
	if err != nil {
		t.Fatal(err)
	}
	everyMethod(t, s)
	var names []string
	rows, err := direct(t, path).Query(`SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' AND name NOT LIKE 'inbox%' ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "vault_") {
			t.Errorf("the vault made %s", name)
		}
	}
	if len(names) < 6 || rows.Err() != nil {
		t.Errorf("tables and indexes %q, %v", names, rows.Err())
	}
}
