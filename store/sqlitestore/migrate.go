package sqlitestore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
)

// Migrations are numbered from 1 without gaps and only ever added to, so that a
// version and the next one can share a file.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the tables up to date, in one transaction: of two processes
// that start at once, one finds the work done.
func migrate(ctx context.Context, conn *sql.Conn) error {
	files, err := fs.Glob(migrations, "migrations/*.sql") // in the order of their names
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	defer func() { _, _ = conn.ExecContext(ctx, `ROLLBACK`) }() // does nothing after the commit
	if _, err := conn.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS inbox_schema (version INTEGER NOT NULL) STRICT`); err != nil {
		return err
	}
	var version int
	if err := conn.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM inbox_schema`).Scan(&version); err != nil {
		return err
	}
	if version > len(files) {
		return fmt.Errorf("the database has version %d and this program knows versions up to %d; use the newer program", version, len(files))
	}
	for i := version; i < len(files); i++ {
		text, err := migrations.ReadFile(files[i])
		if err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, string(text)); err != nil {
			return fmt.Errorf("migration %d: %w", i+1, err)
		}
		if _, err := conn.ExecContext(ctx, `INSERT INTO inbox_schema (version) VALUES (?)`, i+1); err != nil {
			return err
		}
	}
	_, err = conn.ExecContext(ctx, `COMMIT`)
	return err
}
