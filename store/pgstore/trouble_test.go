package pgstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/store/pgstore"
)

func dropSchema(t *testing.T, dsn, schema string) {
	t.Helper()
	conn := servicetest.Conn(t, dsn)
	if _, err := conn.Exec(context.Background(), `DROP SCHEMA `+pgx.Identifier{schema}.Sanitize()+` CASCADE`); err != nil {
		t.Errorf("dropping %q: %v", schema, err)
	}
}

// TestDatabaseTime: the clock is the database's, and does not run backwards from
// one transaction of a principal to the next.
func TestDatabaseTime(t *testing.T) {
	t.Parallel()
	dsn := servicetest.Postgres(t)
	stores := []*pgstore.Store{mustOpen(t, dsn, nil), mustOpen(t, dsn, nil)}
	var wg sync.WaitGroup
	var times []time.Time // in the order of the transactions, since they hold the lock
	for i := range 40 {
		wg.Go(func() {
			err := stores[i%2].Update(t.Context(), "p", func(tx inbox.Tx) error {
				times = append(times, tx.Now())
				if now := tx.Now(); now.Location() != time.UTC || now.Nanosecond()%1000 != 0 {
					t.Errorf("Now = %v", now)
				}
				return nil
			})
			if err != nil {
				t.Errorf("Update: %v", err)
			}
		})
	}
	wg.Wait()
	for i := 1; i < len(times); i++ {
		if times[i].Before(times[i-1]) {
			t.Errorf("the time went from %v to %v", times[i-1], times[i])
		}
	}
	var now time.Time
	if err := servicetest.Conn(t, dsn).QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&now); err != nil {
		t.Fatal(err)
	}
	if d := now.Sub(times[0]); d < 0 || d > time.Minute {
		t.Errorf("the first transaction is %v old", d)
	}
}

// TestRunsAgain: what PostgreSQL aborts for its own reasons, and connections
// that are lost before the commit, are tried again and nobody notices.
func TestRunsAgain(t *testing.T) {
	t.Parallel()
	dsn := servicetest.Postgres(t)
	store := mustOpen(t, dsn, &pgstore.Options{Connections: 2})
	conn := servicetest.Conn(t, dsn)
	for name, abort := range map[string]func(tx inbox.Tx) error{
		"the connection is cut": func(tx inbox.Tx) error {
			cut(t, conn, dsn)
			_, err := tx.Calls(inbox.CallQuery{})
			return err
		},
		"cut between the writes and the commit": func(tx inbox.Tx) error {
			// A read sends what is pending.
			if _, err := tx.Calls(inbox.CallQuery{}); err != nil {
				return err
			}
			cut(t, conn, dsn)
			_, _, err := tx.EventBounds()
			return err
		},
	} {
		tries := 0
		id := inbox.CallID(strings.ReplaceAll(name, " ", "_"))
		err := store.Update(t.Context(), "p", func(tx inbox.Tx) error {
			tries++
			if err := tx.PutCall(&inbox.CallRow{ID: id, Created: tx.Now(), Updated: tx.Now()}); err != nil {
				return err
			}
			if tries == 1 {
				return abort(tx)
			}
			return nil
		})
		if tries != 2 || err != nil {
			t.Errorf("%s: %d tries, %v", name, tries, err)
		}
		err = store.View(t.Context(), "p", func(tx inbox.Tx) error { _, err := tx.Call(id); return err })
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Bounded.
	tries := 0
	err := store.Update(t.Context(), "p", func(tx inbox.Tx) error {
		tries++
		cut(t, conn, dsn)
		_, err := tx.Calls(inbox.CallQuery{})
		return err
	})
	if err == nil || tries < 2 || tries > 10 {
		t.Errorf("a connection that is always cut: %d tries, %v", tries, err)
	}
	if _, err := store.NextDue(t.Context()); err != nil { // on whatever connection
		t.Errorf("NextDue: %v", err)
	}
}

// cut ends the connections of the schema's store that are in a transaction.
func cut(t *testing.T, conn *pgx.Conn, dsn string) {
	t.Helper()
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	err = conn.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE pg_terminate_backend(pid, 5000)) FROM pg_stat_activity a
		WHERE pid <> pg_backend_pid() AND EXISTS (SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
			JOIN pg_namespace n ON n.oid = c.relnamespace WHERE l.pid = a.pid AND n.nspname = $1)`,
		address.Query().Get("search_path")).Scan(&n)
	if err != nil || n == 0 {
		t.Errorf("%d connections were cut, %v", n, err)
	}
}

// TestDeadlock lets two transactions of two handles wait for each other, by a
// row that a careless operator has locked.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	dsn := servicetest.Postgres(t)
	store := mustOpen(t, dsn, nil)
	for _, p := range []string{"ann", "bob"} {
		if err := put(t, store, p, "c_"+p); err != nil {
			t.Fatal(err)
		}
	}
	operator := servicetest.Conn(t, dsn)
	execute(t, operator, `BEGIN`)
	execute(t, operator, `UPDATE inbox_calls SET version = version WHERE id = 'c_ann'`)
	var tries atomic.Int32
	updated := make(chan error, 1)
	inside := make(chan struct{})
	go func() {
		updated <- store.Update(t.Context(), "ann", func(tx inbox.Tx) error {
			if tries.Add(1) == 1 {
				close(inside)
			}
			if err := tx.PutCall(&inbox.CallRow{ID: "c_ann", Version: 7, Created: tx.Now(), Updated: tx.Now()}); err != nil {
				return err
			}
			_, err := tx.Call("c_ann") // sends the write, which waits for the operator
			return err
		})
	}()
	<-inside
	// Whichever PostgreSQL ends: the update comes through.
	_, err := operator.Exec(t.Context(), `UPDATE inbox_principals SET last_event = last_event WHERE key = 'ann'`)
	t.Logf("the operator: %v", err)
	execute(t, operator, `ROLLBACK`)
	if err := <-updated; err != nil {
		t.Errorf("Update after %d tries: %v", tries.Load(), err)
	}
	err = store.View(t.Context(), "ann", func(tx inbox.Tx) error {
		row, err := tx.Call("c_ann")
		if err == nil && row.Version != 7 {
			t.Errorf("version %d", row.Version)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSwallowed: a transaction whose statement failed is not stored, also if
// its function looks away.
func TestSwallowed(t *testing.T) {
	t.Parallel()
	dsn := servicetest.Postgres(t)
	store := mustOpen(t, dsn, nil)
	if err := put(t, store, "p", "c_1"); err != nil {
		t.Fatal(err)
	}
	execute(t, servicetest.Conn(t, dsn), `ALTER TABLE inbox_questions ADD CHECK (server <> 'forbidden')`)
	err := store.Update(t.Context(), "p", func(tx inbox.Tx) error {
		tx.PutCall(&inbox.CallRow{ID: "c_2", Created: tx.Now(), Updated: tx.Now()})
		tx.PutQuestion(&inbox.QuestionRow{ID: "q", Server: "forbidden", Created: tx.Now()})
		if _, err := tx.Calls(inbox.CallQuery{}); err == nil {
			t.Error("a read behind a write that fails reports success")
		}
		return nil
	})
	if err == nil {
		t.Error("Update reports success")
	}
	err = store.View(t.Context(), "p", func(tx inbox.Tx) error {
		if _, err := tx.Call("c_2"); !errors.Is(err, inbox.ErrNotFound) {
			t.Errorf("Call: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for range 20 { // no connection was left in a transaction
		if err := put(t, store, "p", "c_1"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGoexit ends a goroutine inside a transaction, as t.FailNow does.
func TestGoexit(t *testing.T) {
	t.Parallel()
	store := mustOpen(t, servicetest.Postgres(t), &pgstore.Options{Connections: 1})
	var wg sync.WaitGroup
	wg.Go(func() {
		store.Update(t.Context(), "p", func(tx inbox.Tx) error {
			tx.PutCall(&inbox.CallRow{ID: "c_lost", Created: tx.Now(), Updated: tx.Now()})
			runtime.Goexit()
			return nil
		})
	})
	wg.Wait()
	err := store.Update(t.Context(), "p", func(tx inbox.Tx) error {
		if _, err := tx.Call("c_lost"); !errors.Is(err, inbox.ErrNotFound) {
			t.Errorf("Call: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Errorf("the next Update: %v", err)
	}
}

// TestOnePersonDoesNotBlockOthers: many transactions of one principal that wait
// for each other take one connection.
func TestOnePersonDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	store := mustOpen(t, servicetest.Postgres(t), &pgstore.Options{Connections: 2})
	inside, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	var once sync.Once
	for range 20 {
		wg.Go(func() {
			err := store.Update(t.Context(), "busy", func(inbox.Tx) error {
				once.Do(func() { close(inside) })
				<-leave
				return nil
			})
			if err != nil {
				t.Errorf("Update: %v", err)
			}
		})
	}
	<-inside
	if err := put(t, store, "other", "c_1"); err != nil {
		t.Errorf("Update of another: %v", err)
	}
	close(leave)
	wg.Wait()
}

// TestCommitUnknown loses the connection after the commit was sent: nobody
// knows, so it is an error, and the function does not run again.
func TestCommitUnknown(t *testing.T) {
	t.Parallel()
	dsn := servicetest.Postgres(t)
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	proxy := newProxy(t, address.Host)
	address.Host = proxy.address
	store := mustOpen(t, address.String(), &pgstore.Options{Connections: 1})
	if err := put(t, store, "p", "c_1"); err != nil {
		t.Fatal(err)
	}
	tries := 0
	err = store.Update(t.Context(), "p", func(tx inbox.Tx) error {
		tries++
		if err := tx.PutCall(&inbox.CallRow{ID: "c_2", Created: tx.Now(), Updated: tx.Now()}); err != nil {
			return err
		}
		proxy.swallow.Store(true) // what the server answers from here on
		return nil
	})
	if err == nil || tries != 1 || !strings.Contains(err.Error(), "not known") {
		t.Errorf("Update: %d tries, %v", tries, err)
	}
	proxy.swallow.Store(false)
	// It was stored, as it happens; and the store goes on.
	err = store.View(t.Context(), "p", func(tx inbox.Tx) error { _, err := tx.Call("c_2"); return err })
	if err != nil {
		t.Errorf("View: %v", err)
	}
}

// proxy leads to the database until it swallows: then it takes what is sent
// there, and ends the connection when the answer comes.
type proxy struct {
	address string
	swallow atomic.Bool
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: ln.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil {
				in.Close()
				continue
			}
			wg.Go(func() {
				defer out.Close()
				_, _ = io.Copy(out, in)
			})
			wg.Go(func() {
				defer in.Close()
				buf := make([]byte, 64<<10)
				for {
					n, err := out.Read(buf)
					if err != nil || p.swallow.Load() {
						return
					}
					if _, err := in.Write(buf[:n]); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		wg.Wait()
	})
	return p
}

// TestSecrets: a connection string holds a password. No error and nothing that
// prints a store repeats it.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const password = "s3ntinel"
	for _, dsn := range []string{
		"postgres://parley:" + password + "@127.0.0.1:1/x?sslmode=disable",
		"postgres://parley:" + password + "@127.0.0.1:port/x",
		"postgres://parley:" + password + "@[::1/x",
		"postgres://parley:" + password + "%zz@host/x",
		"postgres://parley:x@127.0.0.1:1/x?sslpassword=" + password + "&sslmode=wrong",
		"host=127.0.0.1 port=1 password=" + password + " sslmode=disable user='",
		"password=" + password + " pool_max_conns=many",
		password,
	} {
		store, err := pgstore.Open(t.Context(), dsn, nil)
		if err == nil {
			store.Close()
			t.Errorf("%s was opened", dsn)
		} else if strings.Contains(err.Error(), password) {
			t.Errorf("the error repeats the password: %v", err)
		}
		if _, _, err := pgstore.Migrate(t.Context(), dsn, nil); err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("Migrate: %v", err)
		}
	}
	address, err := url.Parse(servicetest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.UserPassword(address.User.Username(), password) // trusted, so it is not asked for
	store := mustOpen(t, address.String(), nil)
	var out bytes.Buffer
	for _, v := range []any{store, struct{ private any }{store}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		if b, err := json.Marshal(v); err == nil {
			out.Write(b)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("m", "v", v)
	}
	if strings.Contains(out.String(), password) {
		t.Errorf("a store prints its password: %s", out.String())
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := pgstore.Open(ctx, "postgres://postgres@127.0.0.1:1/postgres?sslmode=disable", nil); err == nil || ctx.Err() != nil {
		t.Errorf("Open where nobody listens: %v", err)
	}
	// Somebody listens and says nothing.
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	short, stop := context.WithTimeout(ctx, 100*time.Millisecond)
	defer stop()
	if _, err := pgstore.Open(short, "postgres://postgres@"+ln.Addr().String()+"/postgres?sslmode=disable", nil); err == nil || ctx.Err() != nil {
		t.Errorf("Open where nobody answers: %v", err)
	}
}
