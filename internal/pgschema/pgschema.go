// Package pgschema opens PostgreSQL databases, version 15 or later, the way the
// stores of this module do: tables in a schema of their own that every statement
// names, so that connections may go through a pooler; numbered migrations under
// an advisory lock; and errors that do not repeat the connection string.
package pgschema

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	defaultSchema      = "parley"
	defaultConnections = 10

	oldestServer = 150000 // of PostgreSQL
	lockWait     = 10 * time.Second
)

// Options of [Open]; zero fields are the defaults.
type Options struct {
	Schema      string // default: the search_path of the connection string if it has one, else "parley"
	Connections int    // at most; default 10, or pool_max_conns of the connection string

	// Table is the one that keeps the versions; it also names the lock.
	Table string

	// Migrations has the files migrations/*.sql, numbered from 1 without gaps and
	// only ever added to. The first line of each names the oldest version of the
	// tables whose programs can still use them afterwards ("-- oldest: 1").
	Migrations fs.FS
}

// Open connects to the database, makes the schema and its tables, or brings them
// up to date, and returns the schema's name. Several machines may do so at once.
// A database that is newer than this program is left alone, if this program can
// use it, and refused otherwise. ctx bounds the opening, not the life of the pool.
func Open(ctx context.Context, dsn string, options Options) (*pgxpool.Pool, string, error) {
	config, schema, err := configure(dsn, options)
	if err != nil {
		return nil, "", err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, "", err
	}
	conn, err := pool.Acquire(ctx)
	if err == nil {
		_, _, err = migrate(ctx, conn.Conn(), schema, options)
		conn.Release()
	}
	if err != nil {
		pool.Close()
		return nil, "", err
	}
	return pool, schema, nil
}

// Migrate is Open without a pool. It returns the versions of the tables that it
// found and left; 0 is none.
func Migrate(ctx context.Context, dsn string, options Options) (from, to int, err error) {
	config, schema, err := configure(dsn, options)
	if err != nil {
		return 0, 0, err
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return migrate(ctx, conn, schema, options)
}

// errSource stands for all errors of the connection string: those of its
// parser may repeat a part of it, and it holds a password.
var errSource = errors.New("the connection string cannot be read: write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE")

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)

func configure(dsn string, options Options) (*pgxpool.Config, string, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, "", errSource
	}
	if options.Connections > 0 {
		config.MaxConns = int32(min(options.Connections, 1000))
	} else if !strings.Contains(dsn, "pool_max_conns") {
		config.MaxConns = defaultConnections
	}
	config.MinConns = min(config.MinConns, config.MaxConns)
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	// The schema is named by each statement: poolers do not take a search_path.
	params := config.ConnConfig.RuntimeParams
	path, given := params["search_path"]
	delete(params, "search_path")
	switch {
	case options.Schema != "":
		if len(options.Schema) > 63 || !utf8.ValidString(options.Schema) || strings.ContainsRune(options.Schema, 0) {
			return nil, "", errors.New("the schema's name is longer than 63 bytes or no text")
		}
		return config, options.Schema, nil
	case !given:
		return config, defaultSchema, nil
	case !plainName.MatchString(path):
		return nil, "", errors.New("search_path has to name one schema, without quotes")
	}
	return config, strings.ToLower(path), nil // as PostgreSQL reads a name without quotes
}

type migrator struct {
	conn         *pgx.Conn
	schema, name string
	steps        []migration
}

func (m *migrator) table() string { return pgx.Identifier{m.schema, m.name}.Sanitize() }

func migrate(ctx context.Context, conn *pgx.Conn, schema string, options Options) (from, to int, err error) {
	steps, err := readMigrations(options.Migrations)
	if err != nil {
		return 0, 0, err
	}
	m := &migrator{conn: conn, schema: schema, name: options.Table, steps: steps}
	return m.migrate(ctx)
}

func (m *migrator) migrate(ctx context.Context) (from, to int, err error) {
	var server int
	var encoding string
	err = m.conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding')`).Scan(&server, &encoding)
	switch {
	case err != nil:
		return 0, 0, err
	case server < oldestServer:
		return 0, 0, fmt.Errorf("the server is PostgreSQL %d; version %d or later is needed", server/10000, oldestServer/10000)
	case encoding != "UTF8":
		return 0, 0, fmt.Errorf("the database's encoding is %s; UTF8 is needed", encoding)
	}
	// First without a lock and without rights to change anything.
	from, err = m.version(ctx)
	if err != nil || from >= len(m.steps) {
		return from, from, err
	}
	tx, err := m.conn.Begin(ctx)
	if err != nil {
		return from, from, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // does nothing after the commit
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('parley ' || $1 || ' ' || $2, 0))`, m.name, m.schema); err != nil {
		return from, from, err
	}
	if from, err = m.version(ctx); err != nil || from >= len(m.steps) { // another may have done it meanwhile
		return from, from, err
	}
	if err := m.prepare(ctx, tx); err != nil {
		return from, from, err
	}
	for i := from; i < len(m.steps); i++ {
		// Without arguments several statements may stand in one text.
		if _, err := tx.Exec(ctx, m.steps[i].text); err != nil {
			return from, from, fmt.Errorf("migration %d: %w", i+1, err)
		}
		if _, err := tx.Exec(ctx, `INSERT INTO `+m.table()+` (version, oldest) VALUES ($1, $2)`, i+1, m.steps[i].oldest); err != nil {
			return from, from, err
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return from, from, err
	}
	return from, len(m.steps), nil
}

// prepare makes what the migrations need, under the lock.
func (m *migrator) prepare(ctx context.Context, tx pgx.Tx) error {
	var there bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`, m.schema).Scan(&there); err != nil {
		return err
	}
	quoted := pgx.Identifier{m.schema}.Sanitize()
	if !there { // IF NOT EXISTS would ask for the right to make one even where it is there
		// Another store may make it at the same time, under a lock of its own.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('parley schema ' || $1, 0))`, m.schema); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+quoted); err != nil {
			return err
		}
	}
	// A change of a table that has to wait must not keep machines waiting behind it for long.
	_, err := tx.Exec(ctx, `SELECT set_config('search_path', $1, true), set_config('lock_timeout', $2, true)`,
		quoted, strconv.FormatInt(lockWait.Milliseconds(), 10))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS `+m.table()+` (
		version int PRIMARY KEY, oldest int NOT NULL, applied timestamptz NOT NULL DEFAULT now())`)
	return err
}

// version reads which version the tables have. The error says if this program
// is too old for them.
func (m *migrator) version(ctx context.Context) (version int, err error) {
	var there bool
	// Not to_regclass: it may answer from what the connection remembers, which
	// is that there was no such schema before it waited for the lock.
	err = m.conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = $2)`, m.schema, m.name).Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	var oldest int
	err = m.conn.QueryRow(ctx, `SELECT coalesce(max(version), 0), coalesce(max(oldest), 0) FROM `+m.table()).Scan(&version, &oldest)
	if err == nil && oldest > len(m.steps) {
		err = fmt.Errorf("the tables have version %d and can be used by programs that know version %d; this program knows versions up to %d: use a newer program", version, oldest, len(m.steps))
	}
	return version, err
}

type migration struct {
	text   string
	oldest int
}

var firstLine = regexp.MustCompile(`\A-- oldest: ([0-9]+)\n`)

// readMigrations reads the files in the order of their names.
func readMigrations(from fs.FS) ([]migration, error) {
	files, err := fs.Glob(from, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var list []migration
	for _, file := range files {
		text, err := fs.ReadFile(from, file)
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
