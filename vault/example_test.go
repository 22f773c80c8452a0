package vault_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/parley-mcp/parley/vault"
)

// minter is an authorization server that renews whatever it is asked to.
type minter struct{ n int }

func (m *minter) Refresh(_ context.Context, r vault.RefreshRequest) (vault.Tokens, error) {
	m.n++
	return vault.Tokens{
		Access: vault.NewSecret(fmt.Sprintf("access-%d", m.n)), Refresh: vault.NewSecret(fmt.Sprintf("refresh-%d", m.n)), Lifetime: time.Hour,
	}, nil
}

func (m *minter) Revoke(_ context.Context, r vault.RevokeRequest) error {
	fmt.Println("revoked:", r.Hint)
	return nil
}

func Example() {
	ctx := context.Background()
	v, err := vault.New(vault.NewMemory(nil), vault.NewKeys(), &vault.Options{
		Endpoint: &minter{},
		Audit: func(_ context.Context, e vault.Event) error {
			fmt.Println("audit:", e.Principal.Subject, e.Action, e.Kind)
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	ada := vault.Principal{Issuer: "https://id.example", Subject: "ada"}

	// A sign-in begins, and its callback comes.
	state, err := v.Begin(ctx, ada, vault.Flow{Name: "authorize", Provider: "https://mcp.example/", Verifier: vault.NewSecret("pkce")})
	if err != nil {
		log.Fatal(err)
	}
	flow, err := v.Take(ctx, ada, "authorize", state, "callback")
	if err != nil {
		log.Fatal(err)
	}
	_, err = v.Save(ctx, ada, vault.NewGrant{
		Provider: flow.Provider, Access: vault.NewSecret("access-0"), Refresh: vault.NewSecret("refresh-0"), Lifetime: time.Hour,
		Terms: vault.Terms{TokenEndpoint: "https://as.example/token", RevocationEndpoint: "https://as.example/revoke"},
	})
	if err != nil {
		log.Fatal(err)
	}

	// A call needs the token, and the server refuses it.
	token, err := v.Token(ctx, ada, "https://mcp.example/", "", "tools/call book")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(token, token.Reveal())
	token, err = v.Renew(ctx, ada, token, "tools/call book")
	fmt.Println(token.Reveal(), err)

	bob := vault.Principal{Issuer: "https://id.example", Subject: "bob"}
	_, err = v.Token(ctx, bob, "https://mcp.example/", "", "tools/call book")
	fmt.Println(errors.Is(err, vault.ErrNotFound))

	if err := v.Delete(ctx, ada, "https://mcp.example/", ""); err != nil {
		log.Fatal(err)
	}
	if err := v.Sweep(ctx); err != nil { // as Run does
		log.Fatal(err)
	}
	// Output:
	// audit: ada save flow
	// audit: ada read flow
	// audit: ada save grant
	// audit: ada read grant
	// (withheld) access-0
	// audit: ada renew grant
	// audit: ada read grant
	// access-1 <nil>
	// true
	// audit: ada delete grant
	// audit: ada revoke revocation
	// revoked: refresh_token
	// revoked: access_token
}
