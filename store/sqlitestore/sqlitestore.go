// Package sqlitestore is an [inbox.Store] in an SQLite file: for one machine,
// without a server, with every commit on disk before it is reported.
//
// One connection writes and a few read; the file is in WAL mode, so readers
// and the writer do not wait for each other. Transactions that wait for the
// writer at the same time share one commit, and so one fsync, each with a
// savepoint of its own. What is committed moves from the log into the file beside
// the writer, not in its commits. Several handles, also of several processes, may be open
// on one file; it must not be on a network file system.
//
// The tables are named inbox_*, so other parts of a program can keep theirs in
// the same file.
package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/sqlitefile"
)

// ErrStoreClosed is the answer of a store that was closed.
var ErrStoreClosed = errors.New("sqlitestore: closed")

// Options of a [Store]; zero fields are the defaults.
type Options struct {
	Now func() time.Time // default time.Now. All processes on a file share the clock of their machine

	// KeepTables has Open neither make a file nor change its tables, and refuse those of
	// another version than this program's. It is for who only reads, beside a program
	// that may be of an older version.
	KeepTables bool
}

// Store is one handle on a file. It is safe for concurrent use.
type Store struct {
	path    string
	now     func() time.Time
	writer  *sql.DB
	readers *sql.DB
	reading chan *session // those that nobody reads with
	writing chan *session // the one that writes, while nobody does

	queue chan *update  // to the goroutine that writes for those who found it taken
	done  chan struct{} // closed by Close
	ended chan struct{} // closed when that goroutine has ended

	checkpoints checkpointer
	grown       chan struct{} // has room for one: something was committed
	moved       chan struct{} // closed when the checkpointer's goroutine has ended

	once   sync.Once
	closed error
}

// Open opens the file at path, and makes it, with mode 0600, if it is not
// there. The directory has to be there. A file that is no database, is damaged
// or was written by a newer version gives an error that names it.
func Open(path string, options *Options) (*Store, error) {
	s, err := open(path, options, standardSizes)
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: %s: %w", path, explain(path, err))
	}
	return s, nil
}

func open(path string, options *Options, sizes logSizes) (_ *Store, err error) {
	keep := options != nil && options.KeepTables
	if keep {
		if _, err := os.Stat(path); err != nil {
			return nil, errors.Unwrap(err) // the caller names the path
		}
	}
	if err := sqlitefile.Prepare(path); err != nil {
		return nil, err
	}
	s := &Store{
		path: path, now: time.Now,
		writing: make(chan *session, 1), queue: make(chan *update), done: make(chan struct{}), ended: make(chan struct{}),
		reading: make(chan *session, 4), grown: make(chan struct{}, 1), moved: make(chan struct{}),
	}
	if options != nil && options.Now != nil {
		s.now = options.Now
	}
	defer func() {
		if err != nil {
			_ = s.closeFiles() // err says why
		}
	}()
	if s.writer, err = sql.Open("sqlite", sqlitefile.Source(path, "synchronous(full)", "wal_autocheckpoint(0)",
		fmt.Sprintf("journal_size_limit(%d)", sizes.kept*4096))); err != nil {
		return nil, err
	}
	s.writer.SetMaxOpenConns(1)
	s.checkpoints.sizes = sizes
	if s.checkpoints.db, err = sql.Open("sqlite", sqlitefile.Source(path, "synchronous(full)")); err != nil {
		return nil, err
	}
	s.checkpoints.db.SetMaxOpenConns(1)
	if s.readers, err = sql.Open("sqlite", sqlitefile.Source(path, "query_only(1)")); err != nil {
		return nil, err
	}
	s.readers.SetMaxOpenConns(cap(s.reading))
	for range cap(s.reading) {
		s.reading <- &session{} // connected when it is first used
	}

	ctx := context.Background()
	if keep { // before Connect, which would switch a file of somebody else's to WAL
		if err := sqlitefile.Check(ctx, s.writer, "inbox_schema", migrations); err != nil {
			return nil, err
		}
	}
	conn, err := sqlitefile.Connect(ctx, s.writer)
	if err != nil {
		return nil, err
	}
	if !keep {
		err = sqlitefile.Migrate(ctx, conn, "inbox_schema", migrations)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	// From here on [session.begin] waits.
	if _, err := conn.ExecContext(ctx, `PRAGMA busy_timeout = 0`); err != nil {
		conn.Close()
		return nil, err
	}
	s.writing <- &session{conn: conn, statements: newStatements(conn)}
	go s.write()
	go s.checkpoint()
	s.committed() // a process that was killed may have left a long log
	return s, nil
}

// explain says in plain words what SQLite says in its own.
func explain(path string, err error) error {
	if full(path, err) {
		return &fullError{dir: filepath.Dir(path), err: err}
	}
	return sqlitefile.Explain(err)
}

// wrap names the file in errors of SQLite and leaves the others as they are.
func (s *Store) wrap(err error) error {
	if _, ok := errors.AsType[*sqlite.Error](err); ok {
		return fmt.Errorf("sqlitestore: %s: %w", s.path, explain(s.path, err))
	}
	return err
}

// Close waits for the transactions that run and closes the handle.
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.done)
		<-s.ended
		<-s.moved
		errs := []error{s.checkpoints.session.close(), (<-s.writing).close()} // for good
		for range cap(s.reading) {
			errs = append(errs, (<-s.reading).close())
		}
		s.closed = errors.Join(append(errs, s.closeFiles())...)
	})
	return s.closed
}

func (s *Store) closeFiles() error {
	var errs []error
	for _, db := range []*sql.DB{s.readers, s.checkpoints.db, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
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

// clock is the time to the microsecond, as it is stored.
func (s *Store) clock() time.Time { return toTime(toMicros(s.now())) }

var _ inbox.Store = (*Store)(nil)
