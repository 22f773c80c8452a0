// Package pgreplay is an [elicit.ReplayGuard] in PostgreSQL, version 15 or
// later: for any number of machines that share one database.
//
// A record is taken by one transaction, which goes to the database and back once,
// and its times are the database's: the
// clocks of machines do not matter. If a connection is lost while a record is
// taken, nobody knows whether it is; Take returns an error then, nothing runs,
// and a repetition may be told that the outcome is unknown.
//
// The tables are named elicit_* and live in a schema of their own. Every
// statement names it, and nothing is kept in a session, so connections may go
// through a pooler; one that does not know prepared statements needs
// default_query_exec_mode=exec in the connection string.
package pgreplay

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/internal/pgschema"
)

//go:embed migrations/*.sql
var migrations embed.FS

// attempts is how often a statement runs that PostgreSQL aborts for reasons of
// its own.
const attempts = 8

// Options of [Open]; zero fields are the defaults.
type Options struct {
	// Schema holds the tables. Default: the search_path of the connection
	// string if it has one, else "parley". It is made if it is not there.
	Schema string

	// Connections is how many the guard opens at most; default 10, or
	// pool_max_conns of the connection string.
	Connections int
}

// Guard is one handle on a database. It is safe for concurrent use.
type Guard struct {
	pool  *pgxpool.Pool
	table string
}

// Open connects to the database and makes the tables, or brings them up to
// date. dsn is a URL (postgres://USER:PASSWORD@HOST:PORT/DATABASE) or key=value
// pairs, with the parameters of libpq and the variables PG*; no error repeats
// it. ctx bounds the opening, not the life of the guard. Options may be nil.
func Open(ctx context.Context, dsn string, options *Options) (*Guard, error) {
	if options == nil {
		options = &Options{}
	}
	pool, schema, err := pgschema.Open(ctx, dsn, pgschema.Options{
		Schema: options.Schema, Connections: options.Connections, Table: "elicit_schema", Migrations: migrations,
	})
	if err != nil {
		return nil, fmt.Errorf("pgreplay: %w", err)
	}
	return &Guard{pool: pool, table: pgx.Identifier{schema, "elicit_records"}.Sanitize()}, nil
}

// Close closes the connections. The server that uses the guard must have ended.
func (g *Guard) Close() error {
	g.pool.Close()
	return nil
}

// Durable implements [elicit.ReplayGuard].
func (g *Guard) Durable() bool { return true }

// Take implements [elicit.ReplayGuard].
func (g *Guard) Take(ctx context.Context, record elicit.CallRecord, lease, keep time.Duration) (elicit.CallRecord, bool, error) {
	var err error
	for range attempts {
		var taken bool
		var found elicit.CallRecord
		if found, taken, err = g.take(ctx, record, lease, keep); err == nil {
			return found, taken, nil
		}
		// Gone between two statements, or aborted.
		if !errors.Is(err, pgx.ErrNoRows) && !aborted(err) {
			break
		}
	}
	return elicit.CallRecord{}, false, wrap(err)
}

// after is a time so many microseconds from now.
const after = `clock_timestamp() + %s::float8 * interval '1 microsecond'`

func (g *Guard) take(ctx context.Context, record elicit.CallRecord, lease, keep time.Duration) (found elicit.CallRecord, taken bool, err error) {
	err = g.transact(ctx, func(batch *pgx.Batch) {
		batch.Queue(`INSERT INTO `+g.table+` AS old (key, principal, digest, status, lease, expires, continuation)
			VALUES ($1, $2, $3, $4, `+fmt.Sprintf(after, `$5`)+`, `+fmt.Sprintf(after, `$6`)+`, $7)
			ON CONFLICT (key) DO UPDATE SET principal = excluded.principal, digest = excluded.digest, status = excluded.status,
				fence = DEFAULT, lease = excluded.lease, expires = excluded.expires, outcome = NULL,
				version = 1, continuation = excluded.continuation
				WHERE old.expires <= now()`,
			record.Key, record.Principal, record.Digest, string(elicit.RecordRunning), micros(lease), micros(max(keep, lease)), record.Continuation,
		).Exec(func(tag pgconn.CommandTag) error {
			taken = tag.RowsAffected() > 0
			return nil
		})
		// Two that are over go with each that comes: the table never grows beyond
		// what counts. Only the first statement waits for others, and it holds
		// nothing yet, so there is no deadlock.
		batch.Queue(`DELETE FROM `+g.table+` WHERE key = ANY (ARRAY(
			SELECT key FROM `+g.table+` WHERE expires <= now() AND key <> $1 ORDER BY expires LIMIT 2 FOR UPDATE SKIP LOCKED))`, record.Key)
		batch.Queue(`SELECT key, principal, digest, fence, outcome, version, continuation,
			CASE WHEN status = $2 AND lease <= now() THEN $3 ELSE status END
			FROM `+g.table+` WHERE key = $1`, record.Key, string(elicit.RecordRunning), string(elicit.RecordUnknown),
		).QueryRow(func(row pgx.Row) error {
			return row.Scan(&found.Key, &found.Principal, &found.Digest, &found.Fence, &found.Outcome, &found.Version, &found.Continuation, &found.Status)
		})
	})
	if taken {
		found.Status = elicit.RecordRunning // however short its lease is
	}
	return found, taken, err
}

// transact sends a transaction as a whole: one way to the database and back. It
// names the isolation level, since a role may have another by default.
func (g *Guard) transact(ctx context.Context, queue func(*pgx.Batch)) error {
	batch := &pgx.Batch{}
	batch.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`)
	queue(batch)
	batch.Queue(`COMMIT`)
	return g.pool.SendBatch(ctx, batch).Close()
}

// Renew implements [elicit.ReplayGuard].
func (g *Guard) Renew(ctx context.Context, key string, fence int64, lease time.Duration) error {
	end := fmt.Sprintf(after, `$4`)
	return g.change(ctx, `UPDATE `+g.table+` SET lease = `+end+`, expires = greatest(expires, `+end+`)
		WHERE key = $1 AND fence = $2 AND status = $3`, key, fence, string(elicit.RecordRunning), micros(lease))
}

// Finish implements [elicit.ReplayGuard].
func (g *Guard) Finish(ctx context.Context, key string, fence int64, status elicit.RecordStatus, outcome []byte) error {
	return g.change(ctx, `UPDATE `+g.table+` SET status = $4, outcome = $5, version = version + 1
		WHERE key = $1 AND fence = $2 AND status = $3`, key, fence, string(elicit.RecordRunning), string(status), outcome)
}

func (g *Guard) change(ctx context.Context, query string, args ...any) error {
	var err error
	for range attempts {
		changed := false
		err = g.transact(ctx, func(batch *pgx.Batch) {
			batch.Queue(query, args...).Exec(func(tag pgconn.CommandTag) error {
				changed = tag.RowsAffected() > 0
				return nil
			})
		})
		if err == nil && !changed {
			return elicit.ErrFenced
		}
		if !aborted(err) {
			break
		}
	}
	return wrap(err)
}

// aborted reports whether PostgreSQL gave up a transaction for a reason of its
// own. It has not happened then.
func aborted(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && len(e.Code) == 5 && e.Code[:2] == "40"
}

func micros(d time.Duration) float64 { return float64(d.Microseconds()) }

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("pgreplay: %w", err)
}

var _ elicit.ReplayGuard = (*Guard)(nil)
