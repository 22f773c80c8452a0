package pgnotify_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/inbox/inboxtest"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/notify/pgnotify"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

func mustOpen(t *testing.T, dsn, channel string) *pgnotify.Notifier {
	t.Helper()
	n, err := pgnotify.Open(t.Context(), dsn, &pgnotify.Options{Channel: channel})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return n
}

func TestNotifier(t *testing.T) {
	t.Parallel()
	inboxtest.TestNotifier(t, func(t *testing.T) (a, b inbox.Notifier) {
		dsn := servicetest.Postgres(t)
		channel := servicetest.Name()
		return mustOpen(t, dsn, channel), mustOpen(t, dsn, channel)
	})
}

// next is the next hint. A notifier that loses all fails.
func next(t *testing.T, ch <-chan inbox.Hint) inbox.Hint {
	t.Helper()
	select {
	case h := <-ch:
		return h
	case <-time.After(30 * time.Second):
		t.Fatal("no hint")
		return inbox.Hint{}
	}
}

// cut ends the connections of the channel's listeners.
func cut(t *testing.T, dsn, channel string) {
	t.Helper()
	var n int
	err := servicetest.Conn(t, dsn).QueryRow(t.Context(),
		`SELECT count(*) FILTER (WHERE pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE query = 'LISTEN "' || $1 || '"'`, channel).Scan(&n)
	if err != nil || n == 0 {
		t.Fatalf("%d connections were cut, %v", n, err)
	}
}

// TestReconnect loses the connection: everybody is told to look, and hints
// arrive again.
func TestReconnect(t *testing.T) {
	t.Parallel()
	dsn, channel := servicetest.Postgres(t), servicetest.Name()
	a, b := mustOpen(t, dsn, channel), mustOpen(t, dsn, channel)
	ann, err := b.Subscribe(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	all, err := b.Subscribe(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		cut(t, dsn, channel)
		if h := next(t, ann); h.Principal != "ann" {
			t.Errorf("ann got %+v", h)
		}
		for next(t, all) != (inbox.Hint{Ready: true}) { // the hints of ann come here too
		}
		want := inbox.Hint{Principal: "ann", Call: "c_1", Ready: true}
		if err := a.Notify(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		for _, ch := range []<-chan inbox.Hint{ann, all} {
			for got := (inbox.Hint{}); got != want; {
				if got = next(t, ch); got != want && got.Call != "" { // woken once more than needed is no fault
					t.Errorf("got %+v", got)
				}
			}
		}
	}
}

// TestForeignMessages: who can write to the channel can wake people, and no more.
func TestForeignMessages(t *testing.T) {
	t.Parallel()
	dsn, channel := servicetest.Postgres(t), servicetest.Name()
	n := mustOpen(t, dsn, channel)
	ann, err := n.Subscribe(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	conn := servicetest.Conn(t, dsn)
	for _, message := range []string{"", "{", `[{"p":"bob","c":"c_9"}]`, `[{"p":"ann","c":"c_1"}]`} {
		if _, err := conn.Exec(t.Context(), `SELECT pg_notify($1, $2)`, channel, message); err != nil {
			t.Fatal(err)
		}
	}
	for h := (inbox.Hint{}); h.Call != "c_1"; {
		if h = next(t, ann); h.Principal != "ann" {
			t.Errorf("ann got %+v", h)
		}
	}
}

// TestErrors: none repeats the password, or hangs.
func TestErrors(t *testing.T) {
	t.Parallel()
	const password = "s3ntinel"
	for _, dsn := range []string{
		"postgres://parley:" + password + "@127.0.0.1:1/x?sslmode=disable",
		"postgres://parley:" + password + "@127.0.0.1:port/x",
		"host=127.0.0.1 password=" + password + " sslmode=wrong",
	} {
		n, err := pgnotify.Open(t.Context(), dsn, nil)
		if err == nil {
			n.Close()
			t.Errorf("%s was opened", dsn)
		} else if strings.Contains(err.Error(), password) {
			t.Errorf("the error repeats the password: %v", err)
		}
	}
	if n, err := pgnotify.Open(t.Context(), servicetest.Postgres(t), &pgnotify.Options{Channel: strings.Repeat("c", 64)}); err == nil {
		n.Close()
		t.Error("a channel that is too long was taken")
	}
	n := mustOpen(t, servicetest.Postgres(t), `odd "name"; DROP`)
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if err := n.Notify(t.Context(), inbox.Hint{}); !errors.Is(err, pgnotify.ErrClosed) {
		t.Errorf("Notify after Close: %v", err)
	}
	if _, err := n.Subscribe(t.Context(), ""); !errors.Is(err, pgnotify.ErrClosed) {
		t.Errorf("Subscribe after Close: %v", err)
	}
}

// TestPool takes the connection string of a store with all that is meant for its pool.
func TestPool(t *testing.T) {
	t.Parallel()
	mustOpen(t, servicetest.Postgres(t)+"&pool_max_conns=3&pool_max_conn_lifetime=1h", servicetest.Name())
}
