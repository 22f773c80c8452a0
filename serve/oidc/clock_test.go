package oidc_test

import (
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/oidctest"
	"github.com/parley-mcp/parley/store/memstore"
)

// People sign in at a machine whose clock is another one than the store's.
func TestSignInByTheStoresClock(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{15 * time.Minute, -15 * time.Minute} {
		s := &site{
			t: t, provider: oidctest.New(t), keys: inbox.NewKeys(), log: &syncBuffer{},
			store: memstore.New(&memstore.Options{Now: func() time.Time { return time.Now().Add(off) }}),
		}
		s.open(nil)
		b := s.browser()
		status, body, at := b.get("/")
		if _, in := b.session(); !in {
			t.Errorf("the store is %v ahead, and nobody is signed in: %d at %s\n%.300s", off, status, at, body)
		}
	}
}
