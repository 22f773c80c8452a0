package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/parley-mcp/parley/internal/sqlitefile"
)

// A session is one connection with what was prepared on it. Whoever has it may
// use it, one at a time.
type session struct {
	conn       *sql.Conn // nil: not connected
	statements *statements
}

func (s *session) connect(ctx context.Context, db *sql.DB) error {
	if s.conn != nil {
		return nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	s.conn, s.statements = conn, newStatements(conn)
	return nil
}

// begin opens a transaction that writes, and waits for one of another process
// to end. The connection's own way to wait cannot be cut short.
func (s *session) begin(ctx context.Context) error {
	const longest = 50 * time.Millisecond
	end := time.Now().Add(sqlitefile.BusyTime)
	for pause := time.Millisecond; ; pause = min(2*pause, longest) {
		err := s.statements.exec(context.WithoutCancel(ctx), `BEGIN IMMEDIATE`)
		if err == nil || !sqlitefile.Busy(err) || time.Now().After(end) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *session) commit() error { return s.statements.exec(context.Background(), `COMMIT`) }

func (s *session) rollback() error { return s.statements.exec(context.Background(), `ROLLBACK`) }

func (s *session) close() error {
	if s.conn == nil {
		return nil
	}
	err := errors.Join(s.statements.close(), s.conn.Close())
	s.conn, s.statements = nil, nil
	return err
}

// statements keeps what was prepared: compiling a statement costs more than
// running most of them.
type statements struct {
	conn  *sql.Conn
	known map[string]*sql.Stmt
}

func newStatements(conn *sql.Conn) *statements {
	return &statements{conn: conn, known: map[string]*sql.Stmt{}}
}

func (s *statements) get(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt := s.known[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.conn.PrepareContext(context.WithoutCancel(ctx), query)
	if err != nil {
		return nil, err
	}
	s.known[query] = stmt
	return stmt, nil
}

func (s *statements) exec(ctx context.Context, query string) error {
	stmt, err := s.get(ctx, query)
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(ctx)
	return err
}

func (s *statements) close() error {
	var errs []error
	for _, stmt := range s.known {
		errs = append(errs, stmt.Close())
	}
	clear(s.known)
	return errors.Join(errs...)
}
