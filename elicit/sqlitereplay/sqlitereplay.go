// Package sqlitereplay is an [elicit.ReplayGuard] in an SQLite file: for one
// machine, with every record on disk before its request runs.
//
// Several processes may have the file open; it must not be on a network file
// system. The tables are named elicit_*, so other parts of a program can keep
// theirs in the same file.
package sqlitereplay

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/internal/sqlitefile"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options of [Open]; zero fields are the defaults.
type Options struct {
	Now func() time.Time // default time.Now. All processes on a file share the clock of their machine
}

// Guard is one handle on a file. It is safe for concurrent use.
type Guard struct {
	path string
	now  func() time.Time
	db   *sql.DB
}

// Open opens the file at path, and makes it, with mode 0600, if it is not
// there. The directory has to be there. A file that is no database, is damaged
// or was written by a newer version gives an error that names it. Options may
// be nil.
func Open(path string, options *Options) (*Guard, error) {
	g := &Guard{path: path, now: time.Now}
	if options != nil && options.Now != nil {
		g.now = options.Now
	}
	var err error
	if g.db, err = sqlitefile.Open(context.Background(), path, "elicit_schema", migrations); err != nil {
		return nil, fmt.Errorf("sqlitereplay: %s: %w", path, err)
	}
	return g, nil
}

// Close closes the handle. The server that uses the guard must have ended.
func (g *Guard) Close() error { return g.db.Close() }

// Durable implements [elicit.ReplayGuard].
func (g *Guard) Durable() bool { return true }

// Take implements [elicit.ReplayGuard].
func (g *Guard) Take(ctx context.Context, record elicit.CallRecord, lease, keep time.Duration) (elicit.CallRecord, bool, error) {
	// What is there already needs no lock.
	found, ok, err := g.find(ctx, g.db, record.Key, g.now())
	if err != nil || ok {
		return found, false, g.wrap(err)
	}
	found, taken, err := g.take(ctx, record, lease, keep)
	return found, taken, g.wrap(err)
}

func (g *Guard) take(ctx context.Context, record elicit.CallRecord, lease, keep time.Duration) (elicit.CallRecord, bool, error) {
	// The driver reports a context that ends meanwhile also of a BEGIN that has run,
	// and the connection would stay in its transaction.
	tx, err := g.db.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return elicit.CallRecord{}, false, err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	now := g.now()
	found, ok, err := g.find(ctx, tx, record.Key, now)
	if err != nil || ok {
		return found, false, err
	}
	// Two that are over go with each that comes: the table never grows beyond
	// what counts, and nobody waits for a big clean-up.
	_, err = tx.ExecContext(ctx, `DELETE FROM elicit_records WHERE key = ?1
		OR fence IN (SELECT fence FROM elicit_records WHERE expires <= ?2 ORDER BY expires LIMIT 2)`, record.Key, now.UnixMicro())
	if err != nil {
		return elicit.CallRecord{}, false, err
	}
	record.Status, record.Outcome, record.Version = elicit.RecordRunning, nil, 1
	err = tx.QueryRowContext(ctx, `INSERT INTO elicit_records (key, principal, digest, status, lease, expires, continuation)
		VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING fence`, record.Key, record.Principal, record.Digest, record.Status,
		now.Add(lease).UnixMicro(), now.Add(max(keep, lease)).UnixMicro(), record.Continuation).Scan(&record.Fence)
	if err != nil {
		return elicit.CallRecord{}, false, err
	}
	if err := tx.Commit(); err != nil {
		return elicit.CallRecord{}, false, err
	}
	return record, true, nil
}

// find returns the record under the key, unless it is over.
func (g *Guard) find(ctx context.Context, db interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, key string, now time.Time) (elicit.CallRecord, bool, error) {
	record := elicit.CallRecord{Key: key}
	var lease int64
	err := db.QueryRowContext(ctx, `SELECT principal, digest, status, fence, lease, outcome, version, continuation FROM elicit_records
		WHERE key = ? AND expires > ?`, key, now.UnixMicro()).
		Scan(&record.Principal, &record.Digest, &record.Status, &record.Fence, &lease, &record.Outcome, &record.Version, &record.Continuation)
	if errors.Is(err, sql.ErrNoRows) {
		return elicit.CallRecord{}, false, nil
	}
	if err != nil {
		return elicit.CallRecord{}, false, err
	}
	if record.Status == elicit.RecordRunning && lease <= now.UnixMicro() {
		record.Status = elicit.RecordUnknown
	}
	return record, true, nil
}

// Renew implements [elicit.ReplayGuard].
func (g *Guard) Renew(ctx context.Context, key string, fence int64, lease time.Duration) error {
	return g.change(ctx, `UPDATE elicit_records SET lease = ?4, expires = max(expires, ?4)
		WHERE key = ?1 AND fence = ?2 AND status = ?3`, key, fence, elicit.RecordRunning, g.now().Add(lease).UnixMicro())
}

// Finish implements [elicit.ReplayGuard].
func (g *Guard) Finish(ctx context.Context, key string, fence int64, status elicit.RecordStatus, outcome []byte) error {
	return g.change(ctx, `UPDATE elicit_records SET status = ?4, outcome = ?5, version = version + 1
		WHERE key = ?1 AND fence = ?2 AND status = ?3`, key, fence, elicit.RecordRunning, status, outcome)
}

func (g *Guard) change(ctx context.Context, query string, args ...any) error {
	result, err := g.db.ExecContext(ctx, query, args...)
	if err != nil {
		return g.wrap(err)
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		return elicit.ErrFenced
	}
	return g.wrap(err)
}

// wrap names the file in errors of the database and leaves those of the context.
func (g *Guard) wrap(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("sqlitereplay: %s: %w", g.path, sqlitefile.Explain(err))
}

var _ elicit.ReplayGuard = (*Guard)(nil)
