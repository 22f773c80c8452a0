package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"
)

// statements keeps what was prepared: compiling a statement costs more than
// running most of them.
type statements struct {
	prepare func(ctx context.Context, query string) (*sql.Stmt, error)
	mu      sync.Mutex
	known   map[string]*sql.Stmt
}

func newStatements(prepare func(context.Context, string) (*sql.Stmt, error)) *statements {
	return &statements{prepare: prepare, known: map[string]*sql.Stmt{}}
}

func (s *statements) get(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt := s.known[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.prepare(context.WithoutCancel(ctx), query)
	if err != nil {
		return nil, err
	}
	s.known[query] = stmt
	return stmt, nil
}

func (s *statements) exec(ctx context.Context, query string, args ...any) error {
	stmt, err := s.get(ctx, query)
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(ctx, args...)
	return err
}

func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, stmt := range s.known {
		errs = append(errs, stmt.Close())
	}
	clear(s.known)
	return errors.Join(errs...)
}

// toMicros is a time as it is stored; nil is none.
func toMicros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func toTime(micros any) time.Time {
	if m, ok := micros.(int64); ok {
		return time.UnixMicro(m).UTC()
	}
	return time.Time{}
}

// column scans a stored time.
type column struct{ to *time.Time }

// Scan implements sql.Scanner.
func (c column) Scan(value any) error {
	*c.to = toTime(value)
	return nil
}
