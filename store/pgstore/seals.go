package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-mcp/parley/inbox"
)

// Seals implements [inbox.Store]. Of a content that is stored apart the server
// reads the first piece only.
func (s *Store) Seals(ctx context.Context, limit int) (seals []inbox.Seal, err error) {
	err = s.read(ctx, func(conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, `SELECT prefix, count(*) AS n FROM (
				SELECT substr(content, 1, 5) AS prefix FROM `+s.tables.calls+`
				UNION ALL SELECT substr(content, 1, 5) FROM `+s.tables.questions+`
				UNION ALL SELECT substr(content, 1, 5) FROM `+s.tables.approvals+`) AS contents
			WHERE prefix <> '' GROUP BY prefix ORDER BY n DESC, prefix LIMIT $1`, limit)
		if err != nil {
			return err
		}
		seals, err = pgx.CollectRows(rows, pgx.RowToStructByPos[inbox.Seal])
		return err
	})
	return seals, err
}

// Stale implements [inbox.Store]: one kind of rows after the other, each along its primary key.
func (s *Store) Stale(ctx context.Context, prefix []byte, after inbox.Ref, limit int) (refs []inbox.Ref, err error) {
	if err := texts(after.ID()); err != nil {
		return nil, err
	}
	kinds := []struct{ table, columns string }{
		{s.tables.calls, `r.id, '', ''`}, {s.tables.questions, `r.call, r.id, ''`}, {s.tables.approvals, `r.call, '', r.id`},
	}
	switch {
	case after.Question != "":
		kinds = kinds[1:]
	case after.Approval != "":
		kinds = kinds[2:]
	}
	from := after.ID()
	for _, kind := range kinds {
		more, err := s.refs(ctx, `SELECT p.key, `+kind.columns+`, NULL::timestamptz FROM `+kind.table+` r JOIN `+s.tables.principals+` p ON p.id = r.principal
			WHERE r.id > $1 AND substr(r.content, 1, 5) NOT IN ('', $2) ORDER BY r.id LIMIT $3`, from, blob(prefix), limit-len(refs))
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
