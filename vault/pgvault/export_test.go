package pgvault

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-mcp/parley/vault"
)

// Statements are the texts of all statements that the handle's one connection
// has prepared, which are all that it has run.
func (s *Store) Statements(ctx context.Context) ([]string, error) {
	var all []string
	err := s.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, `SELECT statement FROM pg_prepared_statements`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				return err
			}
			all = append(all, text)
		}
		return rows.Err()
	})
	return all, err
}

// Sweeps are the statements that cross principals.
func (s *Store) Sweeps() []string { return []string{s.sql.due, s.sql.stale, s.sql.counts} }

// Query runs a statement within the transaction.
func Query(of vault.Tx, query string, into ...any) error {
	t := of.(*tx)
	return t.conn.QueryRow(t.ctx, query).Scan(into...)
}
