package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/store/memstore"
)

// A fullStore reads and does not write.
type fullStore struct{ inbox.Store }

func (fullStore) Update(context.Context, string, func(inbox.Tx) error) error {
	return fmt.Errorf("/private/parley.db: %w", inbox.ErrStoreFull)
}

// A full disk is no fault of the program: the person is told what it is, and so is
// the operator.
func TestStorageFull(t *testing.T) {
	t.Parallel()
	in := inbox.New(fullStore{memstore.New(nil)}, seal.NewRing(), nil)
	h, err := host.New(in, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	api := serve.New(h, in, &serve.Options{
		Identify: func(*http.Request) (*serve.Session, error) {
			return &serve.Session{Principal: serve.LocalPrincipal}, nil
		},
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	}).Handler()
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost/v1/calls/x/stop", http.NoBody))
	var p struct{ Code, Title, Detail string }
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	if w.Code != http.StatusInsufficientStorage || p.Code != "storage_full" || p.Title == "" || p.Detail == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if strings.Contains(w.Body.String(), "/private") || !strings.Contains(log.String(), "/private/parley.db") {
		t.Errorf("the path belongs into the log %q, not into %s", &log, w.Body)
	}
}
