package sqlitestore

import (
	"context"
	"database/sql"
	"time"
)

// logSizes bound the write-ahead log, in pages of 4 KiB.
type logSizes struct {
	step  int // so much is moved into the file at a time
	bound int // a log that is longer begins anew as soon as no reader needs it: a writer waits for that
	kept  int // what is left of the log's file when it begins anew
}

// lookEvery bounds how often the log is looked at, and with it by how little what
// is committed meanwhile can pass a bound.
const lookEvery = 5 * time.Millisecond

var standardSizes = logSizes{step: 1_000, bound: 8_000, kept: 16_000}

// A checkpointer moves what the log has into the file, on a connection of its own. Left to itself SQLite does that in the
// commit that finds the log long, and whoever commits waits for the pages to be read, written where they belong and
// synced. Every commit is on disk in the log before it is reported, whenever it is moved.
type checkpointer struct {
	sizes   logSizes
	db      *sql.DB
	session session
	tried   int // pages of the log at the last try
}

// log is what there is of the log, in pages, and how many of these are in the file already.
type log struct{ pages, moved int }

// committed has the log looked at.
func (s *Store) committed() {
	select {
	case s.grown <- struct{}{}:
	default: // it will be looked at
	}
}

// checkpoint is the goroutine that moves what was committed. It ends after Close.
func (s *Store) checkpoint() {
	defer close(s.moved)
	pause := time.NewTimer(0) // between looks, each of which costs as much as a short commit
	defer pause.Stop()
	for {
		select {
		case <-pause.C:
		case <-s.done:
			return
		}
		select {
		case <-s.grown:
			// As where SQLite does it, an error leaves the log as it is: it only grows until a later try. What is
			// wrong with the disk is told to whoever commits.
			_ = s.move(context.Background())
			pause.Reset(lookEvery)
		case <-s.done:
			return
		}
	}
}

func (s *Store) move(ctx context.Context) error {
	c := &s.checkpoints
	if err := c.session.connect(ctx, c.db); err != nil {
		return err
	}
	now, err := c.run(ctx, `PRAGMA wal_checkpoint(NOOP)`)
	if err != nil || now.pages-now.moved < c.sizes.step {
		return err
	}
	if now.pages >= c.tried && now.pages < c.tried+c.sizes.step {
		return nil // a reader needs what the file had
	}
	c.tried = now.pages
	const passive = `PRAGMA wal_checkpoint(PASSIVE)` //nolint:gosec // no password: it waits for nobody, and nobody for it
	if now, err = c.run(ctx, passive); err != nil || now.pages < c.sizes.bound {
		return err
	}
	// A transaction that began before all was moved makes the log longer instead of beginning it anew. With busy
	// writers that is always so: once, none goes on.
	select {
	case w := <-s.writing:
		defer func() { s.writing <- w }()
		_, err = c.run(ctx, passive) // what is left is little
		return err
	case <-s.done:
		return nil
	}
}

func (c *checkpointer) run(ctx context.Context, pragma string) (l log, err error) {
	stmt, err := c.session.statements.get(ctx, pragma)
	if err != nil {
		return l, err
	}
	var busy bool // another process moves it
	err = stmt.QueryRowContext(ctx).Scan(&busy, &l.pages, &l.moved)
	return l, err
}
