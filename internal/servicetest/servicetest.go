// Package servicetest gives tests their place in a PostgreSQL and a NATS that
// run beside them. A test that finds none fails and says how to start one: a
// test that is skipped proves nothing.
//
//	func TestStore(t *testing.T) {
//		store, err := pgstore.Open(t.Context(), servicetest.Postgres(t), nil)
package servicetest

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Where the services are, unless the variable says otherwise.
const (
	PostgresVariable = "PARLEY_TEST_POSTGRES"
	NATSVariable     = "PARLEY_TEST_NATS"

	postgres = "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable"
	nats     = "nats://127.0.0.1:4222"
)

// Name is a name for a schema, a channel or a subject that no other test has.
func Name() string { return "parley_test_" + strings.ToLower(rand.Text()) }

// Postgres returns the URL of the test's own schema, which does not exist yet
// and is dropped when the test ends.
func Postgres(t testing.TB) string {
	t.Helper()
	base := os.Getenv(PostgresVariable)
	if base == "" {
		base = postgres
	}
	address, err := url.Parse(base)
	if err != nil {
		t.Fatalf("%s is no URL", PostgresVariable)
	}
	if err := connect(t, base).Close(context.Background()); err != nil { // it answers; others need the connection
		t.Fatalf("PostgreSQL: %v", err)
	}
	schema := Name()
	t.Cleanup(func() {
		conn := connect(t, base)
		for _, statement := range []string{
			`SET lock_timeout = '20s'`, `DROP SCHEMA IF EXISTS ` + pgx.Identifier{schema}.Sanitize() + ` CASCADE`,
		} {
			if _, err := conn.Exec(context.Background(), statement); err != nil {
				t.Errorf("dropping the test's schema: %v", err)
			}
		}
	})
	query := address.Query()
	query.Set("search_path", schema)
	address.RawQuery = query.Encode()
	return address.String()
}

// Conn opens a connection for statements of the test's own, closed when it ends.
func Conn(t testing.TB, url string) *pgx.Conn { return connect(t, url) }

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatalf("this test needs PostgreSQL: run `make deps-services`, which starts one, or name one in %s: %v", PostgresVariable, err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// NATS returns the URL of the server.
func NATS(t testing.TB) string {
	t.Helper()
	if url := os.Getenv(NATSVariable); url != "" {
		return url
	}
	return nats
}
