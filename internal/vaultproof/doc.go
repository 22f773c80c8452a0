// Package vaultproof holds tests and benchmarks of the vault as a whole and no
// code: package vault with its stores on disk, the client of token endpoints and
// an authorization server over HTTP, in processes of their own that are killed.
//
// What a single process can show is in package vaulttest. docs/vault-proof.md
// and docs/benchmarks-vault.md have the results.
package vaultproof
