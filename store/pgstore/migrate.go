package pgstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
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

const (
	oldestServer = 150000 // of PostgreSQL
	lockWait     = 10 * time.Second
)

// Migrate makes the schema and its tables, or brings them up to date, and
// returns the versions that it found and left; 0 is none. Machines may run
// meanwhile, and several may migrate at once: an advisory lock lets one of them
// work. A database that is newer than this program is left alone, if this
// program can use it, and refused otherwise.
func Migrate(ctx context.Context, dsn string, options *Options) (from, to int, err error) {
	from, to, err = connectAndMigrate(ctx, dsn, options)
	if err != nil {
		return from, to, fmt.Errorf("pgstore: %w", err)
	}
	return from, to, nil
}

func connectAndMigrate(ctx context.Context, dsn string, options *Options) (from, to int, err error) {
	config, schema, err := configure(dsn, options)
	if err != nil {
		return 0, 0, err
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return migrate(ctx, conn, schema)
}

func migrate(ctx context.Context, conn *pgx.Conn, schema string) (from, to int, err error) {
	steps, err := readMigrations()
	if err != nil {
		return 0, 0, err
	}
	var server int
	var encoding string
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding')`).Scan(&server, &encoding)
	switch {
	case err != nil:
		return 0, 0, err
	case server < oldestServer:
		return 0, 0, fmt.Errorf("the server is PostgreSQL %d; version %d or later is needed", server/10000, oldestServer/10000)
	case encoding != "UTF8":
		return 0, 0, fmt.Errorf("the database's encoding is %s; UTF8 is needed", encoding)
	}
	// First without a lock and without rights to change anything.
	from, oldest, err := version(ctx, conn, schema)
	if err != nil {
		return 0, 0, err
	}
	if from >= len(steps) {
		return from, from, usable(from, oldest, len(steps))
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return from, from, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // does nothing after the commit
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('parley inbox ' || $1, 0))`, schema); err != nil {
		return from, from, err
	}
	if from, oldest, err = version(ctx, conn, schema); err != nil { // another may have done it meanwhile
		return 0, 0, err
	}
	if from >= len(steps) {
		return from, from, usable(from, oldest, len(steps))
	}
	if err := prepare(ctx, tx, schema); err != nil {
		return from, from, err
	}
	for i := from; i < len(steps); i++ {
		// Without arguments several statements may stand in one text.
		if _, err := tx.Exec(ctx, steps[i].text); err != nil {
			return from, from, fmt.Errorf("migration %d: %w", i+1, err)
		}
		if _, err := tx.Exec(ctx, `INSERT INTO `+name(schema).schema+` (version, oldest) VALUES ($1, $2)`, i+1, steps[i].oldest); err != nil {
			return from, from, err
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return from, from, err
	}
	return from, len(steps), nil
}

// prepare makes what the migrations need, under the lock.
func prepare(ctx context.Context, tx pgx.Tx, schema string) error {
	var there bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`, schema).Scan(&there); err != nil {
		return err
	}
	quoted := pgx.Identifier{schema}.Sanitize()
	if !there { // IF NOT EXISTS would ask for the right to make one even where it is there
		if _, err := tx.Exec(ctx, `CREATE SCHEMA `+quoted); err != nil {
			return err
		}
	}
	// A change of a table that has to wait must not keep machines waiting behind it for long.
	_, err := tx.Exec(ctx, `SELECT set_config('search_path', $1, true), set_config('lock_timeout', $2, true)`,
		quoted, strconv.FormatInt(lockWait.Milliseconds(), 10))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS `+name(schema).schema+` (
		version int PRIMARY KEY, oldest int NOT NULL, applied timestamptz NOT NULL DEFAULT now())`)
	return err
}

// version reads which version the tables have, and the oldest whose programs can use them.
func version(ctx context.Context, conn *pgx.Conn, schema string) (version, oldest int, err error) {
	var there bool
	// Not to_regclass: behind the lock it may remember from before it that there is no such schema.
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = 'inbox_schema')`, schema).Scan(&there)
	if err != nil || !there {
		return 0, 0, err
	}
	err = conn.QueryRow(ctx, `SELECT coalesce(max(version), 0), coalesce(max(oldest), 0) FROM `+name(schema).schema).Scan(&version, &oldest)
	return version, oldest, err
}

func usable(version, oldest, known int) error {
	if oldest > known {
		return fmt.Errorf("the tables have version %d and can be used by programs that know version %d; this program knows versions up to %d: use a newer program", version, oldest, known)
	}
	return nil
}

type migration struct {
	text   string
	oldest int
}

var firstLine = regexp.MustCompile(`\A-- oldest: ([0-9]+)\n`)

// readMigrations reads the embedded files in the order of their names.
func readMigrations() ([]migration, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var list []migration
	for _, file := range files {
		text, err := migrations.ReadFile(file)
		if err != nil {
			return nil, err
		}
		match := firstLine.FindSubmatch(text)
		if match == nil {
			return nil, errors.New(file + ` does not begin with "-- oldest: N"`)
		}
		oldest, err := strconv.Atoi(string(match[1]))
		if err != nil {
			return nil, err
		}
		list = append(list, migration{text: string(text), oldest: oldest})
	}
	return list, nil
}
