package main

import (
	"context"
	"errors"
	"flag"
	"path/filepath"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/vault"
	"github.com/parley-mcp/parley/vault/pgvault"
	"github.com/parley-mcp/parley/vault/sqlitevault"
)

var vaultCommand = command{
	name: "vault", args: "status|rotate ...", short: "what the vault holds, and a change of its keys",
	long: `
The vault (docs/vault.md) keeps the credentials of people at MCP servers and providers,
sealed with keys that are not in the store.

  parley vault status     say how many rows there are, and which keys they need
  parley vault rotate     change the key that seals, while all goes on

"parley vault status --help" and "parley vault rotate --help" say more.

Examples:
  parley vault status --data /var/lib/parley
  PARLEY_STORE=postgres://parley@db.example/parley parley vault rotate --keys keys.json`,
	setup: func(*flag.FlagSet) func(context.Context, *environment) error {
		return func(ctx context.Context, env *environment) error {
			if len(env.args) == 0 {
				return usageError("parley vault status, or parley vault rotate", "vault needs a word more")
			}
			word := env.args[0]
			for _, cmd := range []command{vaultStatusCommand, vaultRotateCommand} {
				if cmd.name == "vault "+word {
					return runWithin(ctx, cmd, env)
				}
			}
			return usageError("it is status or rotate", "there is no subcommand %q", "vault "+word)
		}
	},
}

// vaultFlags say where a vault and its keys are.
type vaultFlags struct {
	store storeFlags
	data  string
}

func (f *vaultFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&f.store.store, "store", "", storeUsage)
	fs.StringVar(&f.store.keys, "keys", "", keysUsage)
	fs.StringVar(&f.data, "data", defaultData, "`DIRECTORY` of the host, where no --store is named")
}

// openedVault is a vault on a store that is there, for an operator.
type openedVault struct {
	*vault.Vault
	inbox  *inbox.Inbox // beside it, with the same keys
	beside erasable     // the inbox's store
	store  vault.Store
	ring   *seal.Ring
	keys   string // path
	shared bool   // other machines may run on the store
}

func (o *openedVault) Close() error {
	return errors.Join(o.Vault.Close(), o.store.Close(), o.beside.Close())
}

// open opens the vault of a store that is there, with keys that are there. A
// file of SQLite is locked: no host runs on it.
func (f *vaultFlags) open(ctx context.Context) (_ *openedVault, err error) {
	path, file, err := f.store.sqlitePath(f.data)
	if err != nil {
		return nil, err
	}
	o := &openedVault{keys: f.store.keys, shared: !file}
	if o.keys == "" {
		if !file {
			return nil, usageError("name the file with --keys FILE or PARLEY_KEYS", "a store in PostgreSQL needs the keys that its machines share")
		}
		o.keys = filepath.Join(f.data, keysFile)
	}
	if o.beside, err = openToErase(ctx, &f.store, f.data); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.beside.Close())
		}
	}()
	if o.ring, err = readKeys(o.keys); err != nil {
		return nil, err
	}
	if err := checkKeys(ctx, o.beside, o.ring); err != nil {
		return nil, err
	}
	o.inbox = inbox.New(o.beside, o.ring, nil)
	if !file {
		path = f.store.store
	}
	if o.store, err = openVaultStore(ctx, path, file); err != nil {
		return nil, err
	}
	if o.Vault, err = vault.New(o.store, o.ring, nil); err != nil {
		return nil, errors.Join(usageError("", "the keys: %w", err), o.store.Close())
	}
	return o, nil
}

// openVaultStore opens the vault's tables in a file of SQLite, or at an address
// of PostgreSQL, and makes them if they are not there.
func openVaultStore(ctx context.Context, place string, file bool) (vault.Store, error) {
	if file {
		store, err := sqlitevault.Open(place, nil)
		if err != nil {
			return nil, usageError("", "the vault: %w", err)
		}
		return store, nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	store, err := pgvault.Open(ctx, place, &pgvault.Options{Connections: vaultConnections})
	if err != nil {
		return nil, databaseError("the vault", err)
	}
	return store, nil
}

// vaultConnections is how many connections a machine opens for the vault: a use
// of a token is one statement.
const vaultConnections = 4
