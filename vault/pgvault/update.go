package pgvault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/parley-mcp/parley/vault"
)

const (
	maxTries   = 5
	firstPause = 5 * time.Millisecond // doubled with each try
	endTime    = 30 * time.Second     // how long a commit may take

	// idleTime is how long a transaction waits for a machine that does nothing,
	// such as one that was suspended: its principal is locked meanwhile.
	idleTime = 30 * time.Second
)

var errAborted = errors.New("pgvault: the transaction was rolled back, since a statement in it failed")

// An unknownError is a commit that was sent and not answered.
type unknownError struct{ err error }

func (e *unknownError) Error() string {
	return fmt.Sprintf("pgvault: whether the transaction is stored is not known: %v", e.err)
}

func (e *unknownError) Unwrap() error { return e.err }

// Update implements [vault.Store].
func (s *Store) Update(ctx context.Context, principal string, f func(vault.Tx) error) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	leave, err := s.turns.take(ctx, principal, s.done)
	if err != nil {
		return err
	}
	defer leave()
	return s.retry(ctx, func() (bool, error) { return s.transaction(ctx, principal, f) })
}

// retry runs try again while it fails for a reason that may pass; again says
// that its connection was lost before anything could be stored.
func (s *Store) retry(ctx context.Context, try func() (again bool, err error)) error {
	pause := firstPause
	for n := 1; ; n++ {
		again, err := try()
		if err == nil {
			return nil
		}
		if _, unknown := errors.AsType[*unknownError](err); n == maxTries || unknown || !again && !transient(err) {
			return s.explain(ctx, err)
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)): //nolint:gosec // so that two do not meet again
		case <-ctx.Done():
			return s.explain(ctx, err)
		case <-s.done:
			return ErrStoreClosed
		}
		pause *= 2
	}
}

// transient reports what PostgreSQL aborts for reasons that have nothing to do
// with the transaction.
func transient(err error) bool {
	e, server := errors.AsType[*pgconn.PgError](err)
	if !server {
		return pgconn.SafeToRetry(err)
	}
	switch e.Code {
	case "40001", "40P01", // serialisation failure, deadlock
		"57P01", "57P02", "57P03": // the server stops, or starts
		return true
	}
	return false
}

// transaction runs f once. lost says that the connection was lost before the commit.
func (s *Store) transaction(ctx context.Context, principal string, f func(vault.Tx) error) (lost bool, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	// Destroys the connection if it is still in a transaction then.
	defer conn.Release()
	t := &tx{store: s, ctx: ctx, conn: conn.Conn(), principal: principal, open: true, pending: &pgx.Batch{}}
	defer t.rollback() // also when f panics; does nothing after the end
	committing := false
	defer func() {
		lost = err != nil && !committing && t.conn.IsClosed() && ctx.Err() == nil
	}()
	if err := t.begin(); err != nil {
		return false, err
	}
	if err := f(t); err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	committing = true
	return false, t.commit()
}

// tx implements [vault.Tx].
type tx struct {
	store     *Store
	ctx       context.Context
	conn      *pgx.Conn
	principal string
	now       time.Time
	open      bool
	pending   *pgx.Batch // writes
}

// begin opens the transaction, waits for the principal's lock and reads the
// time, in one way to the database and back. It names the isolation level, since
// a role may have another by default; and makes the session do what the package
// promises, whatever its database is set to: a commit that is reported is on
// disk.
func (t *tx) begin() error {
	batch := &pgx.Batch{}
	batch.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`)
	batch.Queue(`SELECT pg_advisory_xact_lock(hashtextextended('parley vault ' || $1 || ' ' || $2, 0))`, t.store.sql.table, t.principal)
	// A statement of its own: what waits is older than the end of its wait.
	batch.Queue(clock+`, set_config('idle_in_transaction_session_timeout', $1, true),
		CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END`,
		strconv.FormatInt(idleTime.Milliseconds(), 10),
	).QueryRow(func(row pgx.Row) error {
		var now pgtype.Timestamptz
		err := row.Scan(&now, nil, nil)
		t.now = utc(now)
		return err
	})
	return t.conn.SendBatch(t.ctx, batch).Close()
}

func (t *tx) Now() time.Time { return t.now }

func (t *tx) Rows(q vault.Query) (list []*vault.Row, err error) {
	batch := t.take()
	query, args := t.store.sql.rows(t.principal, q)
	batch.Queue(query, args...).Query(func(rows pgx.Rows) (err error) {
		list, _, err = scanRows(rows)
		return errors.Join(err, rows.Err())
	})
	if err := t.conn.SendBatch(t.ctx, batch).Close(); err != nil {
		return nil, err
	}
	return list, nil
}

func (t *tx) Put(row *vault.Row) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	// The texts and bytes are copied when they are sent, which may be later.
	detail, content := append([]byte{}, row.Detail...), append([]byte{}, row.Content...)
	t.pending.Queue(t.store.sql.put, t.principal, string(row.Kind), row.ID, row.Provider, row.Name, row.Status, row.Version, int64(row.Key),
		stamp(row.Due), stamp(row.Created), stamp(row.Updated), detail, content)
	return nil
}

func (t *tx) Delete(kind vault.Kind, id string) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	t.pending.Queue(t.store.sql.remove, t.principal, string(kind), id)
	return nil
}

// take takes the writes that are pending.
func (t *tx) take() *pgx.Batch {
	batch := t.pending
	t.pending = &pgx.Batch{}
	return batch
}

// commit sends what is pending with the commit. The caller's context does not
// cut it off: its outcome would not be known.
func (t *tx) commit() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), endTime)
	defer cancel()
	batch := t.take()
	writes := batch.Len()
	batch.Queue(`COMMIT`)
	results := t.conn.SendBatch(ctx, batch)
	var tag pgconn.CommandTag
	var err error
	for range writes + 1 {
		if tag, err = results.Exec(); err != nil {
			break
		}
	}
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	server, answered := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil && tag.String() == "COMMIT":
		t.open = false
		return nil
	case err == nil: // PostgreSQL answers ROLLBACK to the commit of a failed transaction
		t.open = false
		return errAborted
	case answered && server.Severity != "FATAL" && server.Severity != "PANIC":
		return err // the server goes on and has refused it
	}
	return &unknownError{err}
}

func (t *tx) rollback() {
	if !t.open || t.conn.IsClosed() {
		return
	}
	t.open = false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), endTime)
	defer cancel()
	// If it fails the connection is not used again, and the server rolls back.
	_, _ = t.conn.Exec(ctx, `ROLLBACK`)
}
