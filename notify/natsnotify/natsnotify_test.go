package natsnotify_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/inbox/inboxtest"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/notify/natsnotify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustOpen(t *testing.T, address, prefix string) *natsnotify.Notifier {
	t.Helper()
	n, err := natsnotify.Open(t.Context(), address, &natsnotify.Options{Prefix: prefix})
	if err != nil {
		t.Fatalf("this test needs NATS: run `make deps-services`, which starts one, or name one in %s: %v", servicetest.NATSVariable, err)
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
		prefix := servicetest.Name()
		return mustOpen(t, servicetest.NATS(t), prefix), mustOpen(t, servicetest.NATS(t), prefix)
	})
}
