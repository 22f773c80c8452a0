package sqlitestore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/parley-mcp/parley/inbox"
)

// A fullError is that the file, or what SQLite keeps beside it, cannot grow.
type fullError struct {
	dir string
	err error
}

func (e *fullError) Error() string { return fmt.Sprintf("no room is left in %s: %v", e.dir, e.err) }
func (e *fullError) Unwrap() error { return e.err }

// Is makes it match [inbox.ErrStoreFull].
func (e *fullError) Is(target error) bool { return target == inbox.ErrStoreFull }

// full reports whether err says that there is no room for path. SQLite has a code
// for a write that found none. Where it reserves room (the shared memory of the
// log, a checkpoint) it reports an I/O error that may mean anything and loses the
// system's reason, so that room is looked for again.
func full(path string, err error) bool {
	if noRoom(err) {
		return true
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return true
	case sqlite3.SQLITE_IOERR:
		return noRoom(probe(filepath.Dir(path)))
	}
	return false
}

func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// probe writes as much as SQLite reserves at a time, and takes it away again.
func probe(dir string) error {
	f, err := os.CreateTemp(dir, ".room-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, 64<<10))
	return errors.Join(err, f.Close())
}
