package vault_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-mcp/parley/vault"
)

// slow is a server that takes its time, also to revoke.
type slow struct {
	minter
	takes   time.Duration
	revoked atomic.Int64
}

func (s *slow) Refresh(ctx context.Context, r vault.RefreshRequest) (vault.Tokens, error) {
	select {
	case <-time.After(s.takes):
		return s.minter.Refresh(ctx, r)
	case <-ctx.Done():
		return vault.Tokens{}, ctx.Err()
	}
}

func (s *slow) Revoke(context.Context, vault.RevokeRequest) error {
	s.revoked.Add(1)
	return nil
}

func grantAt(t *testing.T, v *vault.Vault, lifetime time.Duration) vault.Principal {
	t.Helper()
	p := vault.Principal{Issuer: "i", Subject: "s"}
	_, err := v.Save(t.Context(), p, vault.NewGrant{
		Provider: "p", Access: vault.NewSecret("access-0"), Refresh: vault.NewSecret("refresh-0"), Lifetime: lifetime,
		Terms: vault.Terms{TokenEndpoint: "t", RevocationEndpoint: "r", Renewal: vault.Renewal{Rotation: vault.RotationNever}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLifeCountsFromTheRequest: a slow answer makes a token shorter, never longer.
func TestLifeCountsFromTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, err := vault.New(vault.NewMemory(nil), vault.NewKeys(), &vault.Options{Endpoint: &slow{takes: 10 * time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		p := grantAt(t, v, time.Minute)
		time.Sleep(2 * time.Minute) //nolint:forbidigo // synctest
		began := time.Now()
		token, err := v.Token(t.Context(), p, "p", "", "test")
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("it took %v", took)
		}
		if want := began.Add(time.Hour); !token.Expires().Equal(want.UTC()) {
			t.Errorf("the token ends %v after the request, want an hour", token.Expires().Sub(began))
		}
	})
}

// TestEndpointThatHangs: a request is bounded, and so is what depends on it.
func TestEndpointThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, err := vault.New(vault.NewMemory(nil), vault.NewKeys(), &vault.Options{Endpoint: &slow{takes: 1000 * time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		p := grantAt(t, v, time.Minute)
		time.Sleep(2 * time.Minute) //nolint:forbidigo // synctest
		began := time.Now()
		if _, err := v.Token(t.Context(), p, "p", "", "test"); !errors.Is(err, vault.ErrUnavailable) {
			t.Errorf("Token: %v", err)
		}
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("it took %v, want the time-out of a request", took)
		}
		// A caller with less time waits less.
		time.Sleep(time.Hour) //nolint:forbidigo // synctest
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := v.Token(ctx, p, "p", "", "test"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Token: %v", err)
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Hour+time.Minute {
			t.Errorf("Close took until %v", took)
		}
	})
}

// pausing is a store on a machine that is suspended after some transactions.
type pausing struct {
	vault.Store
	after int
}

func (p *pausing) Update(ctx context.Context, principal string, f func(vault.Tx) error) error {
	err := p.Store.Update(ctx, principal, f)
	if p.after--; p.after == 0 {
		time.Sleep(30 * time.Second) //nolint:forbidigo // synctest
	}
	return err
}

// TestSuspendedBeforeSending: a machine that was suspended after its intent was
// committed, and may have lost its lease, sends nothing and says so.
func TestSuspendedBeforeSending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &slow{}
		store := &pausing{Store: vault.NewMemory(nil)}
		v, err := vault.New(store, vault.NewKeys(), &vault.Options{Endpoint: server})
		if err != nil {
			t.Fatal(err)
		}
		p := grantAt(t, v, time.Minute)
		time.Sleep(2 * time.Minute) //nolint:forbidigo // synctest
		store.after = 2             // the lease, and the intent
		if _, err := v.Token(t.Context(), p, "p", "", "test"); !errors.Is(err, vault.ErrUnavailable) || server.n != 0 {
			t.Errorf("Token: %v, with %d requests", err, server.n)
		}
		time.Sleep(time.Minute) //nolint:forbidigo // synctest
		if token, err := v.Token(t.Context(), p, "p", "", "test"); err != nil || token.Reveal() != "access-1" {
			t.Errorf("Token = %q, %v", token.Reveal(), err)
		}
	})
}

// TestPatience: the user of a token that is still valid does not wait for long.
func TestPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, err := vault.New(vault.NewMemory(nil), vault.NewKeys(), &vault.Options{Endpoint: &slow{takes: 15 * time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		p := grantAt(t, v, time.Hour)
		time.Sleep(59*time.Minute + 10*time.Second) //nolint:forbidigo // synctest
		began := time.Now()
		token, err := v.Token(t.Context(), p, "p", "", "test")
		if err != nil || token.Reveal() != "access-0" || time.Since(began) != 2*time.Second {
			t.Errorf("Token = %q, %v, after %v", token.Reveal(), err, time.Since(began))
		}
		time.Sleep(15 * time.Second) //nolint:forbidigo // synctest
		if token, err := v.Token(t.Context(), p, "p", "", "test"); err != nil || token.Reveal() != "access-1" {
			t.Errorf("Token = %q, %v", token.Reveal(), err)
		}
	})
}

// TestRunRevokesAtOnce: what is deleted is revoked as soon as it can be, not
// at the next poll.
func TestRunRevokesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &slow{}
		v, err := vault.New(vault.NewMemory(nil), vault.NewKeys(), &vault.Options{Endpoint: server, Poll: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- v.Run(ctx) }()
		synctest.Wait()
		p := grantAt(t, v, time.Hour)
		if err := v.Delete(ctx, p, "p", ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := server.revoked.Load(); n != 2 {
			t.Errorf("%d tokens were revoked", n)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
