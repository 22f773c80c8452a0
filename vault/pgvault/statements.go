package pgvault

import (
	"strconv"
	"strings"

	"github.com/parley-mcp/parley/vault"
)

const columns = `kind, id, provider, name, status, version, key, due, created, updated, detail, content`

// statements are the texts for one schema. Every one but the last three, which
// are those of sweeps, has the principal in its condition.
type statements struct {
	table, put, remove string
	due, stale, counts string
}

func newStatements(table string) statements {
	return statements{
		table: table,
		put: `INSERT INTO ` + table + ` AS old (principal, ` + columns + `)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
			ON CONFLICT (principal, kind, id) DO UPDATE SET
				provider = excluded.provider, name = excluded.name, status = excluded.status, version = excluded.version,
				key = excluded.key, due = excluded.due, created = excluded.created, updated = excluded.updated,
				detail = excluded.detail, content = excluded.content
			WHERE old.principal = $1`,
		remove: `DELETE FROM ` + table + ` WHERE principal = $1 AND kind = $2 AND id = $3`,
		due: `SELECT principal, kind, id, due FROM ` + table + `
			WHERE kind = $1 AND due <= clock_timestamp() AND due >= $2 AND (due, principal, id) > ($2, $3, $4)
			ORDER BY due, principal, id LIMIT $5`,
		stale: `SELECT principal, kind, id, due FROM ` + table + `
			WHERE key <> 0 AND key <> $1 AND (principal, kind, id) > ($2, $3, $4) ORDER BY principal, kind, id LIMIT $5`,
		counts: `SELECT kind, provider, status, key, count(*) FROM ` + table + `
			WHERE (kind, provider, status, key) > ($1, $2, $3, $4) GROUP BY kind, provider, status, key
			ORDER BY kind, provider, status, key LIMIT $5`,
	}
}

// clock is asked for the time where no row brings it.
const clock = `SELECT clock_timestamp()`

// rows writes the query for the fields that are set, so that each of the few
// statements has the index that fits it. The time comes first.
func (s *statements) rows(principal string, q vault.Query) (query string, args []any) {
	var b strings.Builder
	b.Grow(400)
	b.WriteString(`SELECT clock_timestamp(), ` + columns + ` FROM `)
	b.WriteString(s.table)
	b.WriteString(` WHERE principal = $1 AND kind = $2`)
	args = append(make([]any, 0, 7), principal, string(q.Kind))
	add := func(condition, value string) {
		if value != "" {
			args = append(args, value)
			b.WriteString(strings.ReplaceAll(condition, `?`, `$`+strconv.Itoa(len(args))))
		}
	}
	add(` AND id = ?`, q.ID)
	add(` AND left(provider, 64) = left(?, 64) AND provider = ?`, q.Provider)
	add(` AND name = ?`, q.Name)
	add(` AND id > ?`, q.After)
	args = append(args, max(q.Limit, 0))
	b.WriteString(` ORDER BY id LIMIT $` + strconv.Itoa(len(args)))
	return b.String(), args
}
