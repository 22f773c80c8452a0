package pgvault_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/store/pgstore"
	"github.com/parley-mcp/parley/vault"
	"github.com/parley-mcp/parley/vault/pgvault"
)

// everyMethod makes the store run every statement that it has.
func everyMethod(t *testing.T, s vault.Store) {
	t.Helper()
	err := s.Update(t.Context(), "p", func(tx vault.Tx) error {
		return tx.Put(&vault.Row{Kind: vault.KindGrant, ID: "g", Provider: "s", Name: "n", Key: 1, Due: tx.Now()})
	})
	for _, q := range queries {
		q.Kind, q.Limit = vault.KindGrant, 9
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
	namesPrincipal = regexp.MustCompile(`WHERE (old\.)?principal = \$1\b`)
	byPrincipal    = regexp.MustCompile(`Index Cond: \(\((vault_rows\.)?principal = `)
)

// TestStatements: every statement but those of sweeps has the principal in its
// condition, and PostgreSQL finds its rows by an index that begins with it.
func TestStatements(t *testing.T) {
	t.Parallel()
	address := servicetest.Postgres(t)
	s, err := pgvault.Open(t.Context(), address, &pgvault.Options{Connections: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	everyMethod(t, s)
	statements, err := s.Statements(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn := servicetest.Conn(t, address)
	// Plans mean nothing on an empty table.
	_, err = conn.Exec(t.Context(), `INSERT INTO vault_rows (principal, kind, id, provider, name, status, version, key, due, detail, content)
		SELECT 'principal ' || i / 20, CASE i % 4 WHEN 0 THEN 'flow' ELSE 'grant' END, i, 'https://mcp.example/' || i % 50, 'label ' || i % 3, 'alive', 1, 7,
			CASE i % 100 WHEN 0 THEN now() END, '', '' FROM generate_series(1, 20000) AS i;
		ANALYZE vault_rows`)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, query := range statements {
		if !strings.Contains(query, "vault_rows\"") || strings.Contains(query, "pg_") {
			continue // of transactions
		}
		seen++
		switch {
		case slices.Contains(s.Sweeps(), query):
			if strings.Contains(query, "due <=") {
				if plan := explain(t, conn, strings.Replace(query, ">= $2", "> '-infinity'", 1)); !strings.Contains(plan, "vault_rows_due") {
					t.Errorf("not by its index: %s\n%s", query, plan)
				}
			}
		case !namesPrincipal.MatchString(query):
			t.Errorf("without the principal in its condition: %s", query)
		case strings.Contains(query, "INSERT"):
		default:
			if plan := explain(t, conn, query); !byPrincipal.MatchString(plan) || strings.Contains(plan, "Seq Scan") {
				t.Errorf("not by an index of the principal: %s\n%s", query, plan)
			}
		}
	}
	if seen < 21 { // 16 that read, two that write, three of sweeps
		t.Errorf("only %d statements of %d: the test does not see them all", seen, len(statements))
	}
}

// explain asks for the plan with arguments of no row.
func explain(t *testing.T, conn *pgx.Conn, query string) string {
	t.Helper()
	if limit := regexp.MustCompile(`LIMIT \$\d+`).FindString(query); limit != "" {
		query = strings.Replace(query, limit, "LIMIT 9", 1)
	}
	query = strings.Replace(query, "> ($2, ", "> ('-infinity', ", 1)
	query = regexp.MustCompile(`\$\d+`).ReplaceAllString(query, `'grant'`)
	rows, err := conn.Query(t.Context(), `EXPLAIN `+query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return strings.Join(lines, "\n")
}

// TestSharesASchema: an inbox may keep its tables beside the vault's.
func TestSharesASchema(t *testing.T) {
	t.Parallel()
	address := servicetest.Postgres(t)
	questions, err := pgstore.Open(t.Context(), address, &pgstore.Options{Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := questions.Close(); err != nil {
			t.Error(err)
		}
	})
	s := open(t, address)
	err = questions.Update(t.Context(), "p", func(tx inbox.Tx) error {
		return tx.Remember("k", []byte("v"), tx.Now().Add(time.Hour))
	})
	if err != nil {
		t.Fatal(err)
	}
	everyMethod(t, s)
	rows, err := servicetest.Conn(t, address).Query(t.Context(),
		`SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND left(tablename, 6) <> 'inbox_' ORDER BY tablename`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if fmt.Sprint(names) != "[vault_rows vault_schema]" || err != nil {
		t.Errorf("the vault made %q, %v", names, err)
	}
}

// TestCommitIsOnDisk: whatever a database is set to.
func TestCommitIsOnDisk(t *testing.T) {
	t.Parallel()
	address := servicetest.Postgres(t)
	s, err := pgvault.Open(t.Context(), address+"&synchronous_commit=off", &pgvault.Options{Connections: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	var set string
	err = s.Update(t.Context(), "p", func(tx vault.Tx) error {
		return pgvault.Query(tx, `SELECT current_setting('synchronous_commit')`, &set)
	})
	if err != nil || set != "on" {
		t.Errorf("synchronous_commit is %q, %v", set, err)
	}
}
