package pgnotify_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/inbox/inboxtest"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/notify/pgnotify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
