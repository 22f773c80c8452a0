package pgreplay_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/pgreplay"
	"github.com/parley-mcp/parley/elicit/replaytest"
	"github.com/parley-mcp/parley/internal/servicetest"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

func open(t testing.TB, address string) elicit.ReplayGuard {
	guard, err := pgreplay.Open(t.Context(), address, &pgreplay.Options{Connections: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := guard.Close(); err != nil {
			t.Error(err)
		}
	})
	return guard
}

func TestGuard(t *testing.T) {
	suite(t, "")
}

// Roles may have another isolation level by default.
func TestGuardSerializable(t *testing.T) {
	suite(t, "&default_transaction_isolation=serializable")
}

func suite(t *testing.T, parameter string) {
	store := replaytest.Store{
		New:  func(t testing.TB) string { return servicetest.Postgres(t) + parameter },
		Open: open,
		Count: func(t testing.TB, address string) (n int) {
			conn := servicetest.Conn(t, address) // its search_path is the schema
			if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM elicit_records`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		},
	}
	replaytest.Child(t, store)
	t.Parallel()
	replaytest.Run(t, store)
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
	if _, err := conn.Exec(t.Context(), `INSERT INTO elicit_schema (version, oldest) VALUES (98, 1)`); err != nil {
		t.Fatal(err)
	}
	open(t, address) // newer, but this program can use it
	if _, err := conn.Exec(t.Context(), `INSERT INTO elicit_schema (version, oldest) VALUES (99, 99)`); err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"too new":          address,
		"no address":       "postgres://ada:secret@127.0.0.1:port/x",
		"nobody there":     "postgres://ada:secret@127.0.0.1:1/x",
		"several schemas":  strings.Replace(address, "search_path=", "search_path=a,", 1),
		"a schema too far": strings.Replace(address, "search_path=", "search_path="+strings.Repeat("a", 64), 1),
	}
	for name, dsn := range tests {
		guard, err := pgreplay.Open(t.Context(), dsn, nil)
		if err == nil {
			guard.Close()
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
	guard, err := pgreplay.Open(t.Context(), servicetest.Postgres(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := guard.Close(); err != nil {
		t.Fatal(err)
	}
	if _, taken, err := guard.Take(t.Context(), elicit.CallRecord{Key: "k"}, 0, 0); err == nil || taken {
		t.Errorf("taken %t, error %v", taken, err)
	}
	if err := guard.Finish(t.Context(), "k", 1, elicit.RecordFinished, nil); err == nil || errors.Is(err, elicit.ErrFenced) {
		t.Errorf("error %v", err)
	}
}

func Example() {
	ctx := context.Background()
	guard, err := pgreplay.Open(ctx, "postgres://parley@127.0.0.1:1/parley", nil)
	if err != nil {
		fmt.Println("no database there")
		return
	}
	defer guard.Close()
	_ = &elicit.Options{Replay: guard} // on each machine, with the keys that all of them have
	// Output: no database there
}
