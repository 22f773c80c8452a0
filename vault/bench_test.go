package vault_test

import (
	"testing"

	"github.com/parley-mcp/parley/vault"
)

// BenchmarkToken is what a use of a token costs beside the store's read.
func BenchmarkToken(b *testing.B) {
	v, err := vault.New(vault.NewMemory(nil), vault.NewKeys(), nil)
	if err != nil {
		b.Fatal(err)
	}
	p := vault.Principal{Issuer: "https://id.example", Tenant: "acme", Subject: "ada"}
	_, err = v.Save(b.Context(), p, vault.NewGrant{
		Provider: "https://mcp.example/", Access: vault.NewSecret("access-0123456789abcdef"), Refresh: vault.NewSecret("refresh"), Asked: []string{"read", "write"},
		Terms: vault.Terms{Issuer: "https://as.example", TokenEndpoint: "https://as.example/token", RevocationEndpoint: "https://as.example/revoke"},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Token(b.Context(), p, "https://mcp.example/", "", "bench"); err != nil {
			b.Fatal(err)
		}
	}
}
