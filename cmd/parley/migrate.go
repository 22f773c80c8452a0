package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/store/pgstore"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

var migrateCommand = command{
	name: "migrate", short: "make the tables of a store, or bring them up to date",
	long: `
Makes the schema and the tables of the store, or changes those of an older version,
and says which versions it found and left. Serve does it too when it starts; use this
where serve's database user may not change tables, or before an upgrade of several
machines: those of the version before go on working meanwhile.

With --keys it also makes the file with the keys that all machines share, if it is
not there. Copy it to every machine, with mode 0600, and keep a copy: without it
nobody can read the store.

A connection string holds a password: better in the variable PARLEY_STORE, or
without one and with PGPASSFILE.

Examples:
  PARLEY_STORE=postgres://parley@db.example/parley parley migrate --keys keys.json
  parley migrate --store sqlite:/var/lib/parley/parley.db`,
	setup: func(fs *flag.FlagSet) func(context.Context, *environment) error {
		var flags storeFlags
		fs.StringVar(&flags.store, "store", "", "`STORE`: sqlite:PATH or postgres://USER@HOST/DATABASE")
		fs.StringVar(&flags.keys, "keys", "", "`FILE` for keys that several machines share; made if it is not there")
		return func(ctx context.Context, env *environment) error {
			if err := noArgs(env); err != nil {
				return err
			}
			if flags.store == "" {
				return usageError("--store sqlite:PATH, or --store postgres://USER@HOST:PORT/DATABASE", "no store was named")
			}
			return migrate(ctx, env, &flags)
		}
	},
}

func migrate(ctx context.Context, env *environment, flags *storeFlags) error {
	path, file, err := flags.sqlitePath("")
	if err != nil {
		return err
	}
	if flags.keys != "" {
		if _, err := seal.Open(flags.keys); err != nil {
			return usageError("", "the keys: %w", err)
		}
		fmt.Fprintf(env.stdout, "Keys: %s\n", flags.keys)
	}
	if file {
		// The tables are not changed under a host, which may be of an older version.
		release, err := lockStore(path)
		if err != nil {
			return err
		}
		defer release()
		store, err := sqlitestore.Open(path, nil) // does it
		if err != nil {
			return usageError("", "the store: %w", err)
		}
		if err := errors.Join(store.Close(), migrateVault(ctx, path, file)); err != nil {
			return err
		}
		fmt.Fprintln(env.stdout, "The tables are up to date.")
		return nil
	}
	from, to, err := pgstore.Migrate(ctx, flags.store, nil)
	if err != nil {
		return databaseError("the store", err)
	}
	if err := migrateVault(ctx, flags.store, file); err != nil {
		return err
	}
	switch {
	case from == to:
		fmt.Fprintf(env.stdout, "The tables are up to date (version %d).\n", to)
	case from == 0:
		fmt.Fprintf(env.stdout, "The tables were made (version %d).\n", to)
	default:
		fmt.Fprintf(env.stdout, "The tables went from version %d to %d.\n", from, to)
	}
	return nil
}

// migrateVault makes the vault's tables, or brings them up to date.
func migrateVault(ctx context.Context, place string, file bool) error {
	store, err := openVaultStore(ctx, place, file) // does it
	if err != nil {
		return err
	}
	return store.Close()
}
