package pgvault_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/vault"
	"github.com/parley-mcp/parley/vault/pgvault"
	"github.com/parley-mcp/parley/vault/vaulttest"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

func open(t testing.TB, address string) *pgvault.Store {
	t.Helper()
	s, err := pgvault.Open(t.Context(), address, &pgvault.Options{Connections: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) { suite(t, "") }

// Roles may have another isolation level by default.
func TestStoreSerializable(t *testing.T) { suite(t, "&default_transaction_isolation=serializable") }

// places bounds how many tests of the suite have a database at the same time, on
// however many processors: each opens up to six handles, and a server has a
// hundred connections, which other packages' tests want too.
var places = make(chan struct{}, 4)

func suite(t *testing.T, parameter string) {
	t.Parallel()
	vaulttest.TestStore(t, vaulttest.Store{
		New: func(t *testing.T) string {
			places <- struct{}{}
			t.Cleanup(func() { <-places }) // after the handles are closed
			return servicetest.Postgres(t) + parameter
		},
		Open: func(t *testing.T, address string) vault.Store { return open(t, address) },
	})
}

func TestOpenTogether(t *testing.T) {
	t.Parallel()
	address := servicetest.Postgres(t)
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() { open(t, address) })
	}
	group.Wait()
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	address := servicetest.Postgres(t)
	open(t, address)
	conn := servicetest.Conn(t, address)
	if _, err := conn.Exec(t.Context(), `INSERT INTO vault_schema (version, oldest) VALUES (98, 1)`); err != nil {
		t.Fatal(err)
	}
	open(t, address) // newer, but this program can use it
	if _, err := conn.Exec(t.Context(), `INSERT INTO vault_schema (version, oldest) VALUES (99, 99)`); err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"too new":         address,
		"no address":      "postgres://ada:secret@127.0.0.1:port/x",
		"nobody there":    "postgres://ada:secret@127.0.0.1:1/x",
		"several schemas": strings.Replace(address, "search_path=", "search_path=a,", 1),
	}
	for name, dsn := range tests {
		s, err := pgvault.Open(t.Context(), dsn, nil)
		if err == nil {
			s.Close()
			t.Errorf("%s: no error", name)
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error repeats the password: %v", name, err)
		}
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	s, err := pgvault.Open(t.Context(), servicetest.Postgres(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), "p", func(vault.Tx) error { t.Error("it ran"); return nil }); !errors.Is(err, pgvault.ErrStoreClosed) {
		t.Errorf("Update: %v", err)
	}
	if _, _, err := s.Rows(t.Context(), "p", vault.Query{Kind: vault.KindGrant, Limit: 1}); !errors.Is(err, pgvault.ErrStoreClosed) {
		t.Errorf("Rows: %v", err)
	}
}

// TestModes runs every statement in each of pgx's ways to send it: poolers ask
// for those without prepared statements.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := open(t, servicetest.Postgres(t)+"&default_query_exec_mode="+mode)
			content := []byte{0, '\'', '\\', 0xff}
			err := s.Update(t.Context(), "p", func(tx vault.Tx) error {
				return tx.Put(&vault.Row{
					Kind: vault.KindGrant, ID: `g_'\`, Provider: "s", Name: "n", Status: "alive", Version: 1, Key: 1<<32 - 1, Due: tx.Now(), Content: content,
				})
			})
			if err != nil {
				t.Fatalf("Update: %v", err)
			}
			for _, q := range queries {
				q.Kind, q.Limit = vault.KindGrant, 9
				if q.ID != "" {
					q.ID = `g_'\`
				}
				rows, now, err := s.Rows(t.Context(), "p", q)
				if len(rows) != 1 || err != nil || string(rows[0].Content) != string(content) || rows[0].Key != 1<<32-1 || now.Before(rows[0].Due) {
					t.Errorf("Rows(%+v) = %+v, %v, %v", q, rows, now, err)
				}
			}
			if rows, now, err := s.Rows(t.Context(), "q", vault.Query{Kind: vault.KindGrant, Limit: 1}); len(rows) != 0 || now.IsZero() || err != nil {
				t.Errorf("Rows of nobody = %v, %v, %v", rows, now, err)
			}
			if refs, err := s.Due(t.Context(), vault.KindGrant, vault.Ref{}, 9); len(refs) != 1 || err != nil {
				t.Errorf("Due = %v, %v", refs, err)
			}
			if refs, err := s.Stale(t.Context(), 5, vault.Ref{}, 9); len(refs) != 1 || err != nil {
				t.Errorf("Stale = %v, %v", refs, err)
			}
			if counts, err := s.Counts(t.Context(), vault.Count{}, 9); len(counts) != 1 || err != nil {
				t.Errorf("Counts = %v, %v", counts, err)
			}
			err = s.Update(t.Context(), "p", func(tx vault.Tx) error {
				rows, err := tx.Rows(vault.Query{Kind: vault.KindGrant, Limit: 9})
				if len(rows) != 1 {
					t.Errorf("in a transaction: %v", rows)
				}
				return errors.Join(err, tx.Delete(vault.KindGrant, `g_'\`))
			})
			if err != nil {
				t.Errorf("Update: %v", err)
			}
			if counts, err := s.Counts(t.Context(), vault.Count{}, 9); len(counts) != 0 || err != nil {
				t.Errorf("Counts = %v, %v", counts, err)
			}
		})
	}
}

// queries are all combinations of fields that select the row "g" of "s", "n".
var queries = func() (all []vault.Query) {
	for bits := range 16 {
		pick := func(bit int, text string) string {
			if bits&bit == 0 {
				return ""
			}
			return text
		}
		all = append(all, vault.Query{ID: pick(1, "g"), Provider: pick(2, "s"), Name: pick(4, "n"), After: pick(8, "a")})
	}
	return all
}()

func Example() {
	ctx := context.Background()
	store, err := pgvault.Open(ctx, "postgres://parley@127.0.0.1:1/parley", nil)
	if err != nil {
		fmt.Println("no database there")
		return
	}
	defer store.Close()
	_, _ = vault.New(store, vault.NewKeys(), nil) // on each machine, with the keys that all of them have
	// Output: no database there
}
