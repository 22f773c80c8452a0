// Package sqlitefile opens SQLite files the way all stores of this module do:
// made with mode 0600, in WAL mode, with every commit on disk, with numbered
// migrations, and with errors that say in plain words what is wrong. Several
// parts of a program can keep their tables in one file.
package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// BusyTime is how long a transaction waits for one of another process.
const BusyTime = 10 * time.Second

// Open opens the file at path for writing, over one connection, and makes it if
// it is not there; the directory has to be there. Transactions take the lock for
// writing when they begin. It then runs the migrations (see [Migrate]). Errors
// do not name the path.
func Open(ctx context.Context, path, table string, migrations fs.FS) (*sql.DB, error) {
	if err := Prepare(path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", Source(path, "synchronous(full)")+"&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := Connect(ctx, db)
	if err == nil {
		err = errors.Join(Migrate(ctx, conn, table, migrations), conn.Close())
	}
	if err != nil {
		db.Close()
		return nil, Explain(err)
	}
	return db, nil
}

// Prepare makes the file with the right mode, since SQLite would use the
// umask, and looks at the first bytes of one that is there, since SQLite's own
// message does not say which file it means.
func Prepare(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		if pathError := (*os.PathError)(nil); errors.As(err, &pathError) {
			return pathError.Err // the caller names the path
		}
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	if info.Size() == 0 {
		return nil
	}
	const magic = "SQLite format 3\x00"
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(file, head); err != nil || string(head) != magic {
		return errors.New("not an SQLite database")
	}
	return nil
}

// Source is the data source name for the path, which may contain ? or %.
func Source(path string, pragmas ...string) string {
	query := url.Values{"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", BusyTime.Milliseconds()), "foreign_keys(1)"}, pragmas...)}
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?" + query.Encode()
}

// Connect takes a connection and switches the file to WAL. SQLite does not wait
// while two processes switch a new file at once: so this does.
func Connect(ctx context.Context, db *sql.DB) (*sql.Conn, error) {
	for end := time.Now().Add(BusyTime); ; {
		conn, err := db.Conn(ctx)
		if err == nil {
			var mode string
			err = conn.QueryRowContext(ctx, `PRAGMA journal_mode = wal`).Scan(&mode)
			if err == nil && mode != "wal" {
				err = fmt.Errorf("the file system does not allow WAL mode (it stays %s)", mode)
			}
			if err == nil {
				return conn, nil
			}
			_ = conn.Close()
		}
		if !Busy(err) || time.Now().After(end) {
			return nil, err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Migrate brings the tables up to date, in one transaction: of two processes
// that start at once, one finds the work done. The files migrations/*.sql are
// numbered from 1 without gaps and only ever added to, so that a version and
// the next one can share a file. The table keeps the number of the last.
func Migrate(ctx context.Context, conn *sql.Conn, table string, migrations fs.FS) error {
	files, err := fs.Glob(migrations, "migrations/*.sql") // in the order of their names
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	defer func() { _, _ = conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`) }() // does nothing after the commit
	if _, err := conn.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+table+` (version INTEGER NOT NULL) STRICT`); err != nil {
		return err
	}
	var version int
	if err := conn.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM `+table).Scan(&version); err != nil {
		return err
	}
	if version > len(files) {
		return fmt.Errorf("the database has version %d and this program knows versions up to %d; use the newer program", version, len(files))
	}
	for i := version; i < len(files); i++ {
		text, err := fs.ReadFile(migrations, files[i])
		if err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, string(text)); err != nil {
			return fmt.Errorf("migration %d: %w", i+1, err)
		}
		if _, err := conn.ExecContext(ctx, `INSERT INTO `+table+` (version) VALUES (?)`, i+1); err != nil { //nolint:gosec // the table is a constant of the caller
			return err
		}
	}
	_, err = conn.ExecContext(ctx, `COMMIT`)
	return err
}

// ErrOtherVersion: the tables are not of this program's version.
var ErrOtherVersion = errors.New("the tables are of another version")

// Check changes nothing and wants the tables to be as [Migrate] would leave them. It is
// for a program that only reads: whoever writes the file meanwhile may be of an older
// version, and is not to find its tables changed.
func Check(ctx context.Context, db *sql.DB, table string, migrations fs.FS) error {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	var there bool
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?`, table).Scan(&there); err != nil {
		return err
	}
	if !there {
		return errors.New("the database has no such tables")
	}
	var version int
	if err := db.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM `+table).Scan(&version); err != nil {
		return err
	}
	if version != len(files) {
		return fmt.Errorf("%w: the database has version %d and this program reads version %d", ErrOtherVersion, version, len(files))
	}
	return nil
}

// Explain says in plain words what SQLite says in its own. Errors of others it
// leaves as they are.
func Explain(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("the database is damaged; restore it from a backup: %w", err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("another process kept the database locked for %v: %w", BusyTime, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("the disk is full: %w", err)
	case sqlite3.SQLITE_READONLY:
		return fmt.Errorf("the database cannot be written: %w", err)
	}
	return err
}

// Busy reports whether another process held the lock for too long.
func Busy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_BUSY || e.Code()&0xff == sqlite3.SQLITE_LOCKED)
}
