package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/sqlitefile"
)

// MaxPages bounds the file of the transaction's connection: SQLite then finds no
// room, as on a full disk. It never goes below what the file has already.
func MaxPages(t inbox.Tx, n int) error {
	return t.(*tx).row(fmt.Sprintf(`PRAGMA max_page_count = %d`, n), nil, &n)
}

// OpenSized is Open with other sizes of the log, in pages.
func OpenSized(path string, step, bound, kept int) (*Store, error) {
	return open(path, nil, logSizes{step: step, bound: bound, kept: kept})
}

// Log is how long the log is, and how much of it is in the file, in pages.
func Log(ctx context.Context, path string) (pages, moved int, err error) {
	db, err := sql.Open("sqlite", sqlitefile.Source(path))
	if err != nil {
		return 0, 0, err
	}
	var busy bool
	err = db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(NOOP)`).Scan(&busy, &pages, &moved)
	return pages, moved, errors.Join(err, db.Close())
}

// Finds are the texts of the statements that the handle has run outside of
// transactions that write.
func (s *Store) Finds() map[string]bool {
	all := map[string]bool{}
	var sessions []*session
	for range cap(s.reading) { // nobody reads now
		one := <-s.reading
		sessions = append(sessions, one)
		if one.statements == nil {
			continue
		}
		for query := range one.statements.known {
			all[query] = true
		}
	}
	for _, one := range sessions {
		s.reading <- one
	}
	return all
}
