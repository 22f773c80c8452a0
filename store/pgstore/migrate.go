package pgstore

import (
	"context"
	"embed"
	"fmt"

	"github.com/parley-mcp/parley/internal/pgschema"
)

// Migrations are numbered from 1 without gaps and only ever added to. Machines
// of version N and N+1 run on one database while an upgrade goes on, so a
// migration expands: it adds tables, columns with a default, indexes. What is
// no longer used is taken away, by a contracting migration, one version later.
// The first line of each names the oldest version of the tables whose programs
// can still use them afterwards ("-- oldest: 1"): an expanding one leaves it,
// a contracting one raises it.
//
//go:embed migrations/*.sql
var migrations embed.FS

// Migrate makes the schema and its tables, or brings them up to date, and
// returns the versions that it found and left; 0 is none. Machines may run
// meanwhile, and several may migrate at once: an advisory lock lets one of them
// work. A database that is newer than this program is left alone, if this
// program can use it, and refused otherwise.
func Migrate(ctx context.Context, dsn string, options *Options) (from, to int, err error) {
	from, to, err = pgschema.Migrate(ctx, dsn, options.schema())
	if err != nil {
		return from, to, fmt.Errorf("pgstore: %w", err)
	}
	return from, to, nil
}

func (o *Options) schema() pgschema.Options {
	p := pgschema.Options{Table: "inbox_schema", Migrations: migrations}
	if o != nil {
		p.Schema, p.Connections = o.Schema, o.Connections
	}
	return p
}
