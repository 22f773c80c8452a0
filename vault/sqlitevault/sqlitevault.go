// Package sqlitevault is a [vault.Store] in an SQLite file: for one machine,
// without a server, with every commit on disk before it is reported.
//
// One connection writes and a few read; the file is in WAL mode, so readers and
// the writer do not wait for each other. Several handles, also of several
// processes, may be open on one file; it must not be on a network file system.
// The time is that of the machine, which all of them share.
//
// The tables are named vault_*, so other parts of a program, such as an inbox,
// can keep theirs in the same file. What is deleted is overwritten in the
// database; the journal (-wal) keeps it until it is written over.
package sqlitevault

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"sync"
	"time"

	"modernc.org/sqlite"

	"github.com/parley-mcp/parley/internal/sqlitefile"
	"github.com/parley-mcp/parley/vault"
)

//go:embed migrations/*.sql
var migrations embed.FS

// ErrStoreClosed is the answer of a store that was closed.
var ErrStoreClosed = errors.New("sqlitevault: closed")

// readers is how many read at the same time.
const readers = 4

// Options of [Open]; zero fields are the defaults.
type Options struct {
	Now func() time.Time // default time.Now. All processes on a file share the clock of their machine
}

// Store is one handle on a file. It is safe for concurrent use.
type Store struct {
	path string
	now  func() time.Time

	writer *sql.DB
	conn   *sql.Conn     // of the writer
	turn   chan struct{} // holds a token while nobody writes
	writes *statements

	readers *sql.DB
	reads   *statements

	done   chan struct{} // closed by Close
	once   sync.Once
	closed error

	mu   sync.Mutex
	last time.Time
}

// Open opens the file at path, and makes it, with mode 0600, if it is not
// there. The directory has to be there. A file that is no database, is damaged
// or was written by a newer version gives an error that names it. Options may
// be nil.
func Open(path string, options *Options) (*Store, error) {
	s, err := open(path, options)
	if err != nil {
		return nil, fmt.Errorf("sqlitevault: %s: %w", path, sqlitefile.Explain(err))
	}
	return s, nil
}

func open(path string, options *Options) (_ *Store, err error) {
	if err := sqlitefile.Prepare(path); err != nil {
		return nil, err
	}
	s := &Store{path: path, now: time.Now, turn: make(chan struct{}, 1), done: make(chan struct{})}
	if options != nil && options.Now != nil {
		s.now = options.Now
	}
	defer func() {
		if err != nil {
			_ = s.closeAll() // err says why
		}
	}()
	if s.writer, err = sql.Open("sqlite", sqlitefile.Source(path, "synchronous(full)", "secure_delete(1)")); err != nil {
		return nil, err
	}
	s.writer.SetMaxOpenConns(1)
	ctx := context.Background()
	if s.conn, err = sqlitefile.Connect(ctx, s.writer); err != nil {
		return nil, err
	}
	if err := sqlitefile.Migrate(ctx, s.conn, "vault_schema", migrations); err != nil {
		return nil, err
	}
	if s.readers, err = sql.Open("sqlite", sqlitefile.Source(path, "query_only(1)")); err != nil {
		return nil, err
	}
	s.readers.SetMaxOpenConns(readers)
	s.readers.SetMaxIdleConns(readers)
	s.writes, s.reads = newStatements(s.conn.PrepareContext), newStatements(s.readers.PrepareContext)
	s.turn <- struct{}{}
	return s, nil
}

// Close waits for the transaction that runs and closes the handle.
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.done)
		<-s.turn // and nobody gets it again
		s.closed = s.closeAll()
	})
	return s.closed
}

func (s *Store) closeAll() error {
	var errs []error
	for _, statements := range []*statements{s.reads, s.writes} {
		if statements != nil {
			errs = append(errs, statements.close())
		}
	}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	for _, db := range []*sql.DB{s.readers, s.writer} {
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

// explain puts the reason in the place of its consequences, since an ended
// context and a closed handle show in several ways; names the file in errors of
// SQLite; and leaves the others as they are.
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
	if _, ok := errors.AsType[*sqlite.Error](err); ok {
		return fmt.Errorf("sqlitevault: %s: %w", s.path, sqlitefile.Explain(err))
	}
	return err
}

// clock is the time to the microsecond, as it is stored. It does not go back
// when the machine's does.
func (s *Store) clock() time.Time {
	now := time.UnixMicro(s.now().UnixMicro()).UTC()
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.After(s.last) {
		s.last = now
	}
	return s.last
}

var _ vault.Store = (*Store)(nil)
