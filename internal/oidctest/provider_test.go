package oidctest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/parley-mcp/parley/internal/oidctest"
)

// A stranger's client, the x/oauth2 and go-oidc libraries, signs in with the provider
// as it does with real ones, and is refused what real ones refuse.
func TestProvider(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.RawQuery) }))
	t.Cleanup(back.Close)
	provider, err := oidc.NewProvider(t.Context(), p.URL)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := provider.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	config := oauth2.Config{ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, Endpoint: endpoint, RedirectURL: back.URL + "/"}
	authorize := func(verifier string) string {
		resp, err := http.Get(config.AuthCodeURL("s", oidc.Nonce("n"), oauth2.S256ChallengeOption(verifier)))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		query, err := url.ParseQuery(string(raw))
		if err != nil || query.Get("state") != "s" {
			t.Fatalf("%s, %v", raw, err)
		}
		return query.Get("code")
	}
	code := authorize("verifier-one")
	tokens, err := config.Exchange(context.Background(), code, oauth2.VerifierOption("verifier-one"))
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: oidctest.ClientID}).Verify(t.Context(), raw)
	if err != nil || id.Subject != "ann" || id.Nonce != "n" {
		t.Fatalf("%+v, %v", id, err)
	}
	if _, err := config.Exchange(context.Background(), code, oauth2.VerifierOption("verifier-one")); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
		t.Errorf("a code twice: %v", err)
	}
	if _, err := config.Exchange(context.Background(), authorize("one"), oauth2.VerifierOption("two")); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
		t.Errorf("another verifier: %v", err)
	}
	config.ClientSecret = "wrong"
	if _, err := config.Exchange(context.Background(), authorize("one"), oauth2.VerifierOption("one")); err == nil || !strings.Contains(err.Error(), "invalid_client") {
		t.Errorf("another secret: %v", err)
	}
	if p.Requests() != 4 {
		t.Errorf("%d requests", p.Requests())
	}
}
