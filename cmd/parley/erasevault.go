package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/vault"
)

// eraser is a store of which a person is removed: the inbox, and the vault beside it.
type eraser struct {
	inbox erasable
	vault vault.Store
	ring  *seal.Ring // opens nothing if there are no keys
	keys  bool       // there are
}

func (e *eraser) Close() error { return errors.Join(e.vault.Close(), e.inbox.Close()) }

// openEraser opens a store that is there. Keys that are named have to be its
// own; others are taken if they are there, and do not matter otherwise.
func openEraser(ctx context.Context, flags *storeFlags, data string) (_ *eraser, err error) {
	path, file, err := flags.sqlitePath(data)
	if err != nil {
		return nil, err
	}
	if !file {
		path = flags.store
	}
	e := &eraser{}
	if e.inbox, err = openToErase(ctx, flags, data); err != nil {
		return nil, err
	}
	if e.ring, e.keys, err = keysToErase(ctx, e.inbox, flags.keys, data); err == nil {
		e.vault, err = openVaultStore(ctx, path, file)
	}
	if err != nil {
		return nil, errors.Join(err, e.inbox.Close())
	}
	return e, nil
}

func keysToErase(ctx context.Context, store inbox.Store, keys, data string) (_ *seal.Ring, found bool, err error) {
	if keys != "" {
		ring, err := readKeys(keys)
		if err != nil {
			return nil, false, err
		}
		return ring, true, checkKeys(ctx, store, ring)
	}
	keys = filepath.Join(data, keysFile)
	if _, err := os.Stat(keys); err == nil { // Open would make one
		if ring, err := seal.Open(keys); err == nil {
			return ring, true, nil
		}
	}
	return seal.NewRing(), false, nil
}

// credentials are what the vault has of a person.
type credentials struct {
	grants, flows int
	closed        int // of both, those that the keys do not open: what is in them cannot be revoked
	revocations   int // tokens that are to be revoked already
}

func (c credentials) String() string {
	return count(c.grants, "grant") + " and " + count(c.flows, "sign-in") + " to servers"
}

func (e *eraser) credentialsOf(ctx context.Context, p vault.Principal) (c credentials, err error) {
	opens := map[uint32]bool{0: true} // nothing is sealed
	for _, key := range opening(e.ring) {
		opens[key] = true
	}
	for kind, n := range map[vault.Kind]*int{vault.KindGrant: &c.grants, vault.KindFlow: &c.flows, vault.KindRevocation: &c.revocations} {
		for after, more := "", true; more; {
			rows, _, err := e.vault.Rows(ctx, p.Key(), vault.Query{Kind: kind, After: after, Limit: holdingsPage})
			if err != nil {
				return c, fmt.Errorf("the vault: %w", err)
			}
			for _, row := range rows {
				*n++
				if !opens[row.Key] && kind != vault.KindRevocation {
					c.closed++
				}
				after = row.ID
			}
			more = len(rows) == holdingsPage
		}
	}
	return c, nil
}

// eraseCredentials removes what the vault has of a person, and returns how many
// tokens are left to be revoked.
func (e *eraser) eraseCredentials(ctx context.Context, env *environment, p vault.Principal) (left int, err error) {
	v, err := vault.New(e.vault, e.ring, &vault.Options{Log: slog.New(slog.NewTextHandler(env.stderr, nil))})
	if err != nil {
		return 0, usageError("", "the keys: %w", err)
	}
	if err := errors.Join(v.Erase(ctx, p), v.Close()); err != nil {
		return 0, fmt.Errorf("the vault: %w", err)
	}
	c, err := e.credentialsOf(ctx, p)
	return c.revocations, err
}
