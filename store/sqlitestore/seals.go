package sqlitestore

import (
	"context"
	"database/sql"

	"github.com/parley-mcp/parley/inbox"
)

// Seals implements [inbox.Store].
func (s *Store) Seals(ctx context.Context, limit int) (seals []inbox.Seal, err error) {
	err = s.read(ctx, func(t *tx) error {
		seals = nil
		return t.rows(`SELECT prefix, count(*) AS n FROM (
				SELECT substr(content, 1, 5) AS prefix FROM inbox_calls
				UNION ALL SELECT substr(content, 1, 5) FROM inbox_questions
				UNION ALL SELECT substr(content, 1, 5) FROM inbox_approvals)
			WHERE prefix <> x'' GROUP BY prefix ORDER BY n DESC, prefix LIMIT ?`, []any{limit}, func(rows *sql.Rows) error {
			var seal inbox.Seal
			err := rows.Scan(&seal.Prefix, &seal.Rows)
			seals = append(seals, seal)
			return err
		})
	})
	return seals, err
}

// Stale implements [inbox.Store]: one kind of rows after the other, each along its primary key.
func (s *Store) Stale(ctx context.Context, prefix []byte, after inbox.Ref, limit int) (refs []inbox.Ref, err error) {
	kinds := []struct{ table, columns string }{
		{`inbox_calls`, `r.id, '', ''`}, {`inbox_questions`, `r.call, r.id, ''`}, {`inbox_approvals`, `r.call, '', r.id`},
	}
	switch {
	case after.Question != "":
		kinds = kinds[1:]
	case after.Approval != "":
		kinds = kinds[2:]
	}
	from := after.ID()
	for _, kind := range kinds {
		more, err := s.refs(ctx, `SELECT p.key, `+kind.columns+`, NULL FROM `+kind.table+` r JOIN inbox_principals p ON p.id = r.principal
			WHERE r.id > ? AND r.content <> x'' AND substr(r.content, 1, 5) <> ? ORDER BY r.id LIMIT ?`, from, blob(prefix), limit-len(refs))
		if err != nil {
			return nil, err
		}
		if refs = append(refs, more...); len(refs) == limit {
			break
		}
		from = ""
	}
	return refs, nil
}
