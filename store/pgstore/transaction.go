package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-mcp/parley/inbox"
)

const (
	maxTries   = 5
	firstPause = 5 * time.Millisecond // doubled with each try
	endTime    = 30 * time.Second     // how long a commit may take

	// idleTime is how long a transaction waits for a machine that does nothing,
	// such as one that was suspended: its principal is locked meanwhile.
	idleTime = 30 * time.Second
)

var (
	errReadOnly = errors.New("pgstore: writing in a view")
	errVanished = errors.New("pgstore: the principal's row was removed again")
	errMissed   = errors.New("pgstore: a view reads more than it was said to")
	errAborted  = errors.New("pgstore: the transaction was rolled back, since a statement in it failed")
)

// An unknownError is a commit that was sent and not answered.
type unknownError struct{ err error }

func (e *unknownError) Error() string {
	return fmt.Sprintf("pgstore: whether the transaction is stored is not known: %v", e.err)
}

func (e *unknownError) Unwrap() error { return e.err }

// Update implements [inbox.Store].
func (s *Store) Update(ctx context.Context, principal string, f func(inbox.Tx) error) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	if err := texts(principal); err != nil {
		return err
	}
	leave, err := s.turns.take(ctx, principal, s.done)
	if err != nil {
		return err
	}
	defer leave()
	return s.retry(ctx, func() (bool, error) { return s.transaction(ctx, true, principal, f) })
}

// View implements [inbox.Store].
func (s *Store) View(ctx context.Context, principal string, f func(inbox.Tx) error) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	return s.retry(ctx, func() (bool, error) { return s.transaction(ctx, false, principal, f) })
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
		if unknown := (*unknownError)(nil); n == maxTries || errors.As(err, &unknown) || !again && !transient(err) {
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
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return pgconn.SafeToRetry(err) || errors.Is(err, errVanished)
	}
	switch e.Code {
	case "40001", "40P01", // serialisation failure, deadlock
		"57P01", "57P02", "57P03": // the server stops, or starts
		return true
	}
	return false
}

// explain puts the reason in the place of its consequences: an ended context
// or a closed handle shows in several ways. Errors of f stay as they are.
func (s *Store) explain(ctx context.Context, err error) error {
	if reason := s.check(ctx); reason != nil {
		if errors.Is(err, reason) {
			return err
		}
		return fmt.Errorf("%w (%v)", reason, err)
	}
	var server *pgconn.PgError
	var connect *pgconn.ConnectError
	if unknown := (*unknownError)(nil); !errors.As(err, &unknown) && (errors.As(err, &server) || errors.As(err, &connect)) {
		if server != nil && server.Code == diskFull {
			return fmt.Errorf("pgstore: %w: %w", inbox.ErrStoreFull, err)
		}
		return fmt.Errorf("pgstore: %w", err)
	}
	return err
}

// diskFull is PostgreSQL's code for no room on its disk, or in a quota of it.
// The others of its class (memory, connections) pass by themselves.
const diskFull = "53100"

// transaction runs f once. lost says that the connection was lost before the commit.
func (s *Store) transaction(ctx context.Context, write bool, principal string, f func(inbox.Tx) error) (lost bool, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	// Destroys the connection if it is still in a transaction then.
	defer conn.Release()
	committing := false
	defer func() {
		lost = err != nil && !committing && conn.Conn().IsClosed() && ctx.Err() == nil
	}()
	t, err := s.begin(ctx, conn.Conn(), write, principal, inbox.AheadOf(ctx))
	defer func() {
		if t != nil {
			t.rollback() // also when f panics; does nothing after the end
		}
	}()
	if err != nil {
		return false, err
	}
	err = f(t)
	if t.missed { // whatever f made of it
		if t, err = s.begin(ctx, conn.Conn(), write, principal, inbox.Ahead{}); err != nil {
			return false, err
		}
		err = f(t)
	}
	if err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if !write { // it has what it wanted
		return false, nil
	}
	committing = true
	return false, t.commit()
}

const (
	beginWrite = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`
	beginRead  = `BEGIN READ ONLY, ISOLATION LEVEL REPEATABLE READ`
)

// settle makes a session do what the package promises, whatever its database
// is set to: a commit that is reported is on disk.
const settle = `set_config('idle_in_transaction_session_timeout', $2, true),
	CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END`

// clockTime is the time at this moment; arg is [Store.clock].
func clockTime(arg string) string { return `coalesce(` + arg + `::timestamptz, clock_timestamp())` }

// take queues what finds the principal's row, and takes it if the transaction
// writes, and reads the time: after the row was waited for, since the time of
// a transaction is not before that of the last one.
func (t *tx) take(batch *pgx.Batch, key string) {
	lock := ``
	if t.write {
		lock = ` FOR UPDATE`
	}
	idle := strconv.FormatInt(idleTime.Milliseconds(), 10)
	batch.Queue(`WITH mine AS MATERIALIZED (SELECT id, last_event, disabled FROM `+t.store.tables.principals+` WHERE key = $3`+lock+`)
		SELECT coalesce(mine.id, 0), coalesce(mine.last_event, 0), coalesce(mine.disabled, false), `+clockTime(`$1`)+`, `+settle+`
		FROM (SELECT 1) AS one LEFT JOIN mine ON true`, t.store.clock(), idle, key).QueryRow(func(row pgx.Row) error {
		return row.Scan(&t.principal, &t.last, &t.disabled, column{&t.now}, nil, nil)
	})
}

// begin opens the transaction, takes the principal's row, reads the time and
// what the transaction is said to read, in one round trip. The row is made if
// an update finds none. A view of which the reads are known is over with it.
func (s *Store) begin(ctx context.Context, conn *pgx.Conn, write bool, principal string, want inbox.Ahead) (*tx, error) {
	t := &tx{store: s, ctx: ctx, conn: conn, write: write, open: true, pending: &pgx.Batch{}}
	begin := beginRead
	if write {
		begin = beginWrite
	}
	if !storable(principal) {
		principal = "" // nobody's
	}
	batch := &pgx.Batch{}
	batch.Queue(begin)
	t.take(batch, principal)
	t.fetch(batch, principal, want)
	whole := !write && want != inbox.Ahead{}
	if whole {
		batch.Queue(`COMMIT`)
	}
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return t, err
	}
	t.open = !whole
	if write && t.principal == 0 {
		t.ahead = ahead{} // another may have made the row meanwhile, and more
		batch := &pgx.Batch{}
		batch.Queue(`INSERT INTO `+s.tables.principals+` (key) VALUES ($1) ON CONFLICT DO NOTHING`, principal)
		t.take(batch, principal)
		if err := conn.SendBatch(ctx, batch).Close(); err != nil {
			return t, err
		}
		if t.principal == 0 {
			return t, errVanished // by an Erase in between
		}
	}
	return t, nil
}

// commit sends what is pending with the commit. The caller's context does not
// cut it off: its outcome would not be known.
func (t *tx) commit() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), endTime)
	defer cancel()
	batch := t.writes()
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
	var server *pgconn.PgError
	switch {
	case err == nil && tag.String() == "COMMIT":
		t.open = false
		return nil
	case err == nil: // PostgreSQL answers ROLLBACK to the commit of a failed transaction
		t.open = false
		return errAborted
	case errors.As(err, &server) && server.Severity != "FATAL" && server.Severity != "PANIC":
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

// refs runs a statement outside of principals' transactions.
func (s *Store) refs(ctx context.Context, query string, args ...any) (refs []inbox.Ref, err error) {
	err = s.read(ctx, func(conn *pgxpool.Conn) error {
		refs = nil
		rows, err := conn.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var ref inbox.Ref
			if err := rows.Scan(&ref.Principal, &ref.Call, &ref.Question, &ref.Approval, column{&ref.Due}); err != nil {
				return err
			}
			refs = append(refs, ref)
		}
		return rows.Err()
	})
	return refs, err
}

func (s *Store) read(ctx context.Context, f func(*pgxpool.Conn) error) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	return s.retry(ctx, func() (bool, error) {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return false, err
		}
		defer conn.Release()
		err = f(conn)
		return err != nil && conn.Conn().IsClosed() && ctx.Err() == nil, err
	})
}
