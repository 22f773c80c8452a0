package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve/metrics"
	"github.com/parley-mcp/parley/vault"
)

// The metrics count what the vault asks authorization servers for, by the name of the
// server in the file: here nothing is sent, since the address is not to be dialled.
func TestVaultIsCounted(t *testing.T) {
	t.Parallel()
	log := newLog(&environment{stderr: &bytes.Buffer{}})
	kept, err := openStorage(t.Context(), &storeFlags{}, t.TempDir(), log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	}()
	counts := metrics.New(&metrics.Options{Servers: []string{"hotel"}})
	in := inbox.New(kept.store, kept.ring, nil)
	servers := []*host.Server{{ID: "hotel", URL: "https://hotel.example/mcp"}}
	if err := kept.openVault(t.Context(), in, servers, counts, log); err != nil {
		t.Fatal(err)
	}
	var provider string
	for provider = range host.VaultServers(servers) { // there is one
	}
	ann := vault.Principal{Issuer: "https://id.example", Subject: "ann"}
	if _, err := kept.vault.Save(t.Context(), ann, vault.NewGrant{
		Provider: provider, Access: vault.NewSecret("a"), Refresh: vault.NewSecret("r"),
		Terms: vault.Terms{TokenEndpoint: "https://127.0.0.1/token"},
	}); err != nil {
		t.Fatal(err)
	}
	token, err := kept.vault.Token(t.Context(), ann, provider, "", "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kept.vault.Renew(t.Context(), ann, token, "test"); !errors.Is(err, vault.ErrUnavailable) {
		t.Fatalf("Renew: %v", err)
	}
	w := httptest.NewRecorder()
	counts.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if want := `parley_credentials_renewed_total{outcome="not_sent",server="hotel"} 1` + "\n"; !strings.Contains(w.Body.String(), want) {
		t.Errorf("the page does not have %s", want)
	}
}
