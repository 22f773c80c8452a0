package oidc_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/oidctest"
	"github.com/parley-mcp/parley/store/memstore"
)

// An awayStore fails on demand: all reads, or one write after a number of them.
type awayStore struct {
	inbox.Store
	reads  atomic.Bool  // fail
	writes atomic.Int64 // before the one that does; below 0: none does
}

var errAway = errors.New("postgres: connection refused")

func (s *awayStore) View(ctx context.Context, p string, f func(inbox.Tx) error) error {
	if s.reads.Load() {
		return errAway
	}
	return s.Store.View(ctx, p, f)
}

func (s *awayStore) Update(ctx context.Context, p string, f func(inbox.Tx) error) error {
	if s.writes.Add(-1) == -1 {
		return errAway
	}
	return s.Store.Update(ctx, p, f)
}

func newAwaySite(t *testing.T) (*site, *awayStore) {
	t.Helper()
	away := &awayStore{Store: memstore.New(nil)}
	away.writes.Store(-1)
	s := &site{t: t, provider: oidctest.New(t), keys: inbox.NewKeys(), store: away, log: &syncBuffer{}}
	s.open(nil)
	return s, away
}

// answer is what the browser gets, without following where it is sent.
func (b *browser) answer(method, path string) (status int, body string, header http.Header) {
	b.site.t.Helper()
	still := *b.Client
	still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, err := http.NewRequestWithContext(b.site.t.Context(), method, b.site.url+path, http.NoBody)
	if err != nil {
		b.site.t.Fatal(err)
	}
	resp, err := still.Do(r)
	if err != nil {
		b.site.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		b.site.t.Fatal(err)
	}
	return resp.StatusCode, string(raw), resp.Header
}

// A store that is away ends no session: the page and the API say that the host has
// trouble, nobody is sent to the provider, and a sign-out that failed says so.
func TestOutageSignsNobodyOut(t *testing.T) {
	t.Parallel()
	s, away := newAwaySite(t)
	b := s.browser()
	b.get("/")
	if _, in := b.session(); !in {
		t.Fatal("not signed in")
	}
	away.reads.Store(true)
	for _, path := range []string{"/v1/session", "/v1/events", "/", "/sign-in"} {
		status, body, header := b.answer(http.MethodGet, path)
		if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || header.Get("Location") != "" {
			t.Errorf("%s: %d %v", path, status, header)
		}
		if strings.Contains(body, "postgres") || strings.Contains(body, "not signed in") {
			t.Errorf("%s: %s", path, body)
		}
	}
	if status, body, _ := b.answer(http.MethodPost, "/sign-out"); status != http.StatusServiceUnavailable || strings.Contains(body, "signed out") {
		t.Errorf("a sign-out without a store: %d %s", status, body)
	}
	away.reads.Store(false)
	away.writes.Store(0)
	if status, body, _ := b.answer(http.MethodPost, "/sign-out"); status != http.StatusServiceUnavailable || !strings.Contains(body, "You are still signed in") {
		t.Errorf("a sign-out that cannot be stored: %d %s", status, body)
	}
	away.writes.Store(-1)
	if _, in := b.session(); !in {
		t.Error("the outage ended the session")
	}
	if status, _, _ := s.browser().answer(http.MethodGet, "/v1/session"); status != http.StatusUnauthorized {
		t.Errorf("nobody: %d", status)
	}
}

// Where a sign-in fails by the store, the provider is not blamed.
func TestOutageInASignIn(t *testing.T) {
	t.Parallel()
	for name, writes := range map[string]int64{"at its beginning": 0, "coming back": 1, "when the session gets its name": 2} {
		s, away := newAwaySite(t)
		b := s.browser()
		away.writes.Store(writes)
		status, body, at := b.get("/sign-in")
		if status != http.StatusServiceUnavailable || !strings.Contains(body, "That did not work") {
			t.Errorf("%s: %d at %s: %s", name, status, at.Path, body)
		}
		away.writes.Store(-1)
		if _, in := b.session(); in {
			t.Errorf("%s: signed in", name)
		}
	}
}
