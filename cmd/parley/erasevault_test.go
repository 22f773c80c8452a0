package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/store/pgstore"
	"github.com/parley-mcp/parley/vault"
)

// A person's credentials go with them and nobody else's do; with the keys, their
// tokens are left to be revoked. Not parallel, like TestErase.
func TestEraseVault(t *testing.T) {
	for name, file := range map[string]bool{"SQLite": true, "PostgreSQL": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			keys, at, place := filepath.Join(dir, "k.json"), "", ""
			if file {
				place = filepath.Join(dir, "a.db")
				at = "sqlite:" + place
			} else {
				at = servicetest.Postgres(t)
				place = at
			}
			if code, _, errs := call(t, "migrate", "--store", at, "--keys", keys); code != 0 {
				t.Fatal(errs)
			}
			ring, err := seal.Open(keys)
			if err != nil {
				t.Fatal(err)
			}
			strange := filepath.Join(dir, "strange.json")
			if _, err := seal.Open(strange); err != nil {
				t.Fatal(err)
			}
			person := func(name string) vault.Principal {
				return vault.Principal{Issuer: "https://id.example", Tenant: "north", Subject: name}
			}
			inVault := func(f func(v *vault.Vault, store vault.Store)) {
				t.Helper()
				store, err := openVaultStore(context.WithoutCancel(t.Context()), place, file)
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				v, err := vault.New(store, ring, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer v.Close()
				f(v, store)
			}
			inVault(func(v *vault.Vault, _ vault.Store) {
				for _, who := range []string{"ada", "bob", "eve"} {
					for i := range 2 {
						if _, err := v.Save(t.Context(), person(who), vault.NewGrant{
							Provider: fmt.Sprint("https://mcp.example/", i), Access: vault.NewSecret(vaultSecret), Refresh: vault.NewSecret(vaultSecret),
							Terms: vault.Terms{TokenEndpoint: "https://as.example/token", RevocationEndpoint: "https://as.example/revoke"},
						}); err != nil {
							t.Fatal(err)
						}
					}
				}
			})
			erase := func(want int, says string, who string, more ...string) {
				t.Helper()
				code, out, errs := call(t, append([]string{"erase", "--store", at, "--data", dir, "--principal", "https://id.example|north|" + who}, more...)...)
				if code != want || !strings.Contains(out+errs, says) {
					t.Fatalf("erase %s %q: code %d, want %d with %q:\n%s%s", who, more, code, want, says, out, errs)
				}
				if strings.Contains(out+errs, "SENTINEL") {
					t.Errorf("a secret came out:\n%s%s", out, errs)
				}
			}
			has := func(who string, grants, revocations int) {
				t.Helper()
				inVault(func(v *vault.Vault, store vault.Store) {
					list, err := v.Grants(t.Context(), person(who), "")
					if err != nil || len(list) != grants {
						t.Errorf("%s has %d grants, want %d (%v)", who, len(list), grants, err)
					}
					rows, _, err := store.Rows(t.Context(), person(who).Key(), vault.Query{Kind: vault.KindRevocation, Limit: 9})
					if err != nil || len(rows) != revocations {
						t.Errorf("%s has %d revocations, want %d (%v)", who, len(rows), revocations, err)
					}
					for _, row := range rows {
						if bytes.Contains(row.Content, []byte(vaultSecret)) {
							t.Error("a token lies open")
						}
					}
				})
			}
			// A sign-in of before.
			before := time.Now().Add(-time.Minute)
			ended := func(who string, want bool) {
				t.Helper()
				store, err := openToErase(context.WithoutCancel(t.Context()), &storeFlags{store: at}, dir)
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				p := inbox.Principal(person(who))
				if got, err := inbox.New(store, ring, nil).TokenEnded(t.Context(), p, inbox.Token{Issued: before}); got != want || err != nil {
					t.Errorf("a sign-in of %s has ended: %v, %v", who, got, err)
				}
			}
			erase(exitUsage, "nothing was removed", "ada", "--keys", keys)
			erase(exitUsage, "do not fit the store", "ada", "--keys", strange, "--yes")
			erase(exitUsage, "no keys file", "ada", "--keys", filepath.Join(dir, "none.json"), "--yes")
			has("ada", 2, 0)
			erase(exitOK, "In the vault: 2 grants and 0 sign-ins to servers.", "ada", "--keys", keys, "--yes")
			has("ada", 0, 2)
			ended("ada", true)
			erase(exitFindings, "nothing is stored of", "ada", "--keys", keys, "--yes")
			has("ada", 0, 2)
			has("bob", 2, 0)

			erase(exitUsage, "2 of these need keys that are not here (--keys): their tokens cannot be revoked.", "bob")
			has("bob", 2, 0)
			erase(exitOK, "Without the keys (--keys) nothing ends the sign-ins", "bob", "--yes")
			has("bob", 0, 0)
			ended("bob", false)
			has("eve", 2, 0)

			// Of somebody who only looked around nothing is counted, and it goes all the same.
			remembered := func(f func(in *inbox.Inbox, v *vault.Vault)) {
				t.Helper()
				store, err := openToErase(context.WithoutCancel(t.Context()), &storeFlags{store: at}, dir)
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				inVault(func(v *vault.Vault, _ vault.Store) { f(inbox.New(store, ring, nil), v) })
			}
			changes := func(in *inbox.Inbox, description string) int {
				t.Helper()
				list, err := in.ToolChanges(t.Context(), inbox.Principal(person("dan")), "desk", []inbox.ToolText{{Name: "book", Description: description}})
				if err != nil {
					t.Fatal(err)
				}
				return len(list)
			}
			remembered(func(in *inbox.Inbox, v *vault.Vault) {
				if err := v.Want(t.Context(), person("dan"), "https://mcp.example/1", "", []string{"files"}); err != nil {
					t.Fatal(err)
				}
				changes(in, "as it was")
			})
			erase(exitFindings, "--yes removes what else is remembered of them", "dan", "--keys", keys)
			remembered(func(in *inbox.Inbox, _ *vault.Vault) {
				if n := changes(in, "another"); n != 1 {
					t.Errorf("%d tools differ from what was seen, want 1", n)
				}
			})
			erase(exitFindings, "nothing is stored of", "dan", "--keys", keys, "--yes")
			remembered(func(in *inbox.Inbox, v *vault.Vault) {
				if wanted, err := v.Wanted(t.Context(), person("dan"), "", ""); err != nil || len(wanted) != 0 {
					t.Errorf("the vault has %v, %v", wanted, err)
				}
				if n := changes(in, "another"); n != 0 {
					t.Error("the tools that an erased person has seen are known")
				}
			})
			ended("dan", true)
			if file {
				return
			}
			// Who has calls as well is told of both.
			store, err := pgstore.Open(context.WithoutCancel(t.Context()), at, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			parked(t, inbox.New(store, ring, nil), inbox.Principal{Issuer: "https://id.example", Tenant: "north", Subject: "eve"})
			erase(exitOK, "2 calls (2 not ended) and 1 question.\nIn the vault: 2 grants", "eve", "--keys", keys, "--yes")
			has("eve", 0, 2)
		})
	}
}
