package serve_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/store/memstore"
)

// A moodyStore can be made to fail, or to hang until the reader gives up.
type moodyStore struct {
	inbox.Store
	mood atomic.Value // string
}

func (s *moodyStore) View(ctx context.Context, p string, f func(inbox.Tx) error) error {
	switch s.mood.Load() {
	case "fails":
		return errors.New("postgres://u:7c1f@db: connection refused")
	case "hangs":
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Store.View(ctx, p, f)
}

// Probes are answered to whoever asks by any name, and tell nothing but yes or no.
func TestProbes(t *testing.T) {
	t.Parallel()
	store := &moodyStore{Store: memstore.New(nil)}
	store.mood.Store("well")
	in := inbox.New(store, seal.NewRing(), nil)
	h, err := host.New(in, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	local, err := serve.OpenLocal(filepath.Join(t.TempDir(), "token"))
	if err != nil {
		t.Fatal(err)
	}
	handler := serve.New(h, in, &serve.Options{Local: local}).Handler()
	probe := func(method, path string, want int) {
		t.Helper()
		r := httptest.NewRequest(method, path, nil)
		r.Host = "10.1.2.3:8420" // of the kubelet
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s %s: %d, want %d", method, path, w.Code, want)
		}
		if body := w.Body.String(); strings.Contains(body, "7c1f") || len(body) > 20 {
			t.Errorf("%s %s says %q", method, path, body)
		}
	}
	probe("GET", "/healthz", 200)
	probe("HEAD", "/healthz", 200)
	probe("POST", "/healthz", 405)
	probe("GET", "/readyz", 503) // the host does not run yet

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	for !h.Running() {
		select {
		case err := <-ended:
			t.Fatalf("the host ended: %v", err)
		default:
		}
	}
	probe("GET", "/readyz", 200)
	probe("HEAD", "/readyz", 200)
	store.mood.Store("fails")
	probe("GET", "/readyz", 503)
	probe("GET", "/healthz", 200)
	store.mood.Store("hangs")
	probe("GET", "/readyz", 503) // after two seconds
	store.mood.Store("well")
	probe("GET", "/readyz", 200)

	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	probe("GET", "/readyz", 503)
	probe("GET", "/healthz", 200)

	r := httptest.NewRequest(http.MethodGet, "/healthz/more", nil)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if w.Code == http.StatusOK {
		t.Error("a path below is a probe")
	}
}
