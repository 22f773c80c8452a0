// Package pgstore is an [inbox.Store] in PostgreSQL, version 15 or later: for
// any number of machines that share one database.
//
// A write transaction takes the row of its principal first, so those of one
// principal run one after another, and those of two do not wait for each other.
// Its time is the database's, read once the row is taken: the clocks of machines
// do not matter. Writes are collected and travel with the commit, or with the
// next statement that reads; rows that the transaction is said to read
// ([inbox.Ahead]) come with its beginning. Transactions that PostgreSQL aborts for its own
// reasons (a deadlock, a lost connection before the commit) run again, a few
// times. If a connection is lost during the commit, nobody knows whether the
// transaction is stored: Update returns an error then, never nil.
//
// The tables are named inbox_* and live in a schema of their own. Every
// statement names it, and nothing is kept in a session between transactions,
// so connections may go through a pooler; one that does not know prepared
// statements needs default_query_exec_mode=exec in the connection string.
package pgstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/pgschema"
)

// ErrStoreClosed is the answer of a store that was closed.
var ErrStoreClosed = errors.New("pgstore: closed")

// Options of a [Store]; zero fields are the defaults.
type Options struct {
	// Schema holds the tables. Default: the search_path of the connection
	// string if it has one, else "parley". It is made if it is not there.
	Schema string

	// Connections is how many the store opens at most; default 10, or
	// pool_max_conns of the connection string.
	Connections int

	// Now replaces the clock of the database, for tests.
	Now func() time.Time
}

// Store is one handle on a database. It is safe for concurrent use.
type Store struct {
	pool   *pgxpool.Pool
	schema string
	tables tables
	now    func() time.Time // nil: the database's
	turns  turns

	done   chan struct{} // closed by Close
	ended  chan struct{} // closed when all connections are
	closer sync.Once
}

// tables are the names as statements write them.
type tables struct{ principals, calls, questions, approvals, keys, events, audit string }

// Open connects to the database and brings its tables up to date, as [Migrate]
// does, if they are older than this program. dsn is a URL
// (postgres://USER:PASSWORD@HOST:PORT/DATABASE) or key=value pairs, with the
// parameters of libpq and the variables PG*; no error repeats it. ctx bounds
// the opening, not the life of the store.
func Open(ctx context.Context, dsn string, options *Options) (*Store, error) {
	pool, schema, err := pgschema.Open(ctx, dsn, options.schema())
	if err != nil {
		return nil, fmt.Errorf("pgstore: %w", err)
	}
	s := &Store{pool: pool, schema: schema, tables: name(schema), turns: newTurns(), done: make(chan struct{}), ended: make(chan struct{})}
	if options != nil {
		s.now = options.Now
	}
	return s, nil
}

// Schema is the name of the schema that holds the tables.
func (s *Store) Schema() string { return s.schema }

func name(schema string) tables {
	in := func(table string) string { return pgx.Identifier{schema, table}.Sanitize() }
	return tables{
		principals: in("inbox_principals"), calls: in("inbox_calls"),
		questions: in("inbox_questions"), approvals: in("inbox_approvals"), keys: in("inbox_keys"), events: in("inbox_events"), audit: in("inbox_audit"),
	}
}

// Close waits for the transactions that run and closes the handle.
func (s *Store) Close() error {
	s.closer.Do(func() {
		close(s.done)
		s.pool.Close()
		close(s.ended)
	})
	<-s.ended
	return nil
}

func (s *Store) check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.done:
		return ErrStoreClosed
	default:
		return nil
	}
}

var _ inbox.Store = (*Store)(nil)
