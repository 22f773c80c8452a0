// Package pgvault is a [vault.Store] in PostgreSQL, version 15 or later: for any
// number of machines that share one database.
//
// A write transaction takes a lock on its principal first (an advisory one, so
// that nothing stays of a principal without rows): those of one principal run
// one after another, and those of two do not wait for each other. Its time is
// the database's, read once the lock is taken: the clocks of machines do not
// matter. Writes are collected and travel with the commit, or with the next
// statement that reads. Transactions that PostgreSQL aborts for its own reasons (a
// deadlock, a lost connection before the commit) run again, a few times. If a
// connection is lost during the commit, nobody knows whether the transaction is
// stored: Update returns an error then, never nil.
//
// The tables are named vault_* and live in a schema, which other parts of a
// program, such as an inbox, may share. Every statement names it, and nothing is
// kept in a session between transactions, so connections may go through a
// pooler; one that does not know prepared statements needs
// default_query_exec_mode=exec in the connection string.
package pgvault

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-mcp/parley/internal/pgschema"
	"github.com/parley-mcp/parley/vault"
)

//go:embed migrations/*.sql
var migrations embed.FS

// ErrStoreClosed is the answer of a store that was closed.
var ErrStoreClosed = errors.New("pgvault: closed")

// Options of [Open]; zero fields are the defaults.
type Options struct {
	// Schema holds the tables. Default: the search_path of the connection
	// string if it has one, else "parley". It is made if it is not there.
	Schema string

	// Connections is how many the store opens at most; default 10, or
	// pool_max_conns of the connection string.
	Connections int
}

// Store is one handle on a database. It is safe for concurrent use.
type Store struct {
	pool  *pgxpool.Pool
	sql   statements
	turns turns

	done   chan struct{} // closed by Close
	ended  chan struct{} // closed when all connections are
	closer sync.Once
}

// Open connects to the database and makes the tables, or brings them up to
// date. dsn is a URL (postgres://USER:PASSWORD@HOST:PORT/DATABASE) or key=value
// pairs, with the parameters of libpq and the variables PG*; no error repeats
// it. ctx bounds the opening, not the life of the store. Options may be nil.
func Open(ctx context.Context, dsn string, options *Options) (*Store, error) {
	if options == nil {
		options = &Options{}
	}
	pool, schema, err := pgschema.Open(ctx, dsn, pgschema.Options{
		Schema: options.Schema, Connections: options.Connections, Table: "vault_schema", Migrations: migrations,
	})
	if err != nil {
		return nil, fmt.Errorf("pgvault: %w", err)
	}
	return &Store{
		pool: pool, sql: newStatements(pgx.Identifier{schema, "vault_rows"}.Sanitize()),
		turns: newTurns(), done: make(chan struct{}), ended: make(chan struct{}),
	}, nil
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

// explain puts the reason in the place of its consequences: an ended context
// or a closed handle shows in several ways. Errors of f stay as they are.
func (s *Store) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if reason := s.check(ctx); reason != nil {
		if errors.Is(err, reason) {
			return err
		}
		return fmt.Errorf("%w (%v)", reason, err)
	}
	_, server := errors.AsType[*pgconn.PgError](err)
	_, connect := errors.AsType[*pgconn.ConnectError](err)
	if _, unknown := errors.AsType[*unknownError](err); !unknown && (server || connect) {
		return fmt.Errorf("pgvault: %w", err)
	}
	return err
}

var _ vault.Store = (*Store)(nil)
