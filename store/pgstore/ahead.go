package pgstore

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-mcp/parley/inbox"
)

// ahead holds what a transaction read as it began: rows that it has not asked
// for yet. Each is given away once, and all are forgotten with the first write
// of a row, so that a transaction reads what it wrote.
type ahead struct {
	call     *inbox.CallRow
	question *inbox.QuestionRow

	of        inbox.CallID // whose questions
	questions []*inbox.QuestionRow
	listed    bool

	server       string // of the counts
	open, recent int
	since        time.Time
	counted      bool
}

// fetch queues what the transaction is said to read. It knows the principal by
// its key only: the row's id is still on its way.
func (t *tx) fetch(batch *pgx.Batch, key string, want inbox.Ahead) {
	if !storable(string(want.Question)) || !storable(string(want.Of)) {
		return
	}
	tables := t.store.tables
	mine := `principal = (SELECT id FROM ` + tables.principals + ` WHERE key = $1)`
	if want.Question != "" {
		batch.Queue(`SELECT `+questionColumns+` FROM `+tables.questions+` WHERE id = $2 AND `+mine,
			key, string(want.Question)).Query(func(rows pgx.Rows) error {
			return each(rows, func() error {
				t.ahead.question = &inbox.QuestionRow{}
				return rows.Scan(scanQuestion(t.ahead.question)...)
			})
		})
	}
	of, id := `$2::text`, string(want.Of)
	if id == "" {
		of, id = `(SELECT call FROM `+tables.questions+` WHERE id = $2 AND `+mine+`)`, string(want.Question)
	}
	if id == "" {
		return
	}
	if want.Call {
		batch.Queue(`SELECT `+callColumns+` FROM `+tables.calls+` WHERE id = `+of+` AND `+mine, key, id).Query(func(rows pgx.Rows) error {
			return each(rows, func() error {
				t.ahead.call = &inbox.CallRow{}
				return rows.Scan(scanCall(t.ahead.call)...)
			})
		})
	}
	if want.Questions {
		batch.Queue(`SELECT `+questionColumns+` FROM `+tables.questions+` WHERE call = `+of+` AND `+mine+` ORDER BY seq DESC`,
			key, id).Query(func(rows pgx.Rows) error {
			switch {
			case want.Of != "":
				t.ahead.of, t.ahead.listed = want.Of, true
			case t.ahead.question != nil:
				t.ahead.of, t.ahead.listed = t.ahead.question.Call, true
			}
			return each(rows, func() error {
				row := &inbox.QuestionRow{}
				t.ahead.questions = append(t.ahead.questions, row)
				return rows.Scan(scanQuestion(row)...)
			})
		})
	}
	if want.Recent > 0 {
		server := `(SELECT server FROM ` + tables.calls + ` WHERE id = ` + of + ` AND ` + mine + `)`
		counted := ` FROM ` + tables.questions + ` WHERE ` + mine + ` AND left(server, 64) = left(` + server + `, 64) AND server = ` + server + ` AND `
		// The time is read anew, and t.now set to it: what is recent is counted from it.
		batch.Queue(`SELECT `+server+`, now, now - $3 * interval '1 microsecond',
				(SELECT count(*)`+counted+`state IN ('open', 'opened')), (SELECT count(*)`+counted+`created >= now - $3 * interval '1 microsecond')
			FROM (SELECT `+clockTime(`$4`)+` AS now OFFSET 0) AS clock`,
			key, id, want.Recent.Microseconds(), t.store.clock()).QueryRow(func(row pgx.Row) error {
			var server *string
			err := row.Scan(&server, column{&t.now}, column{&t.ahead.since}, &t.ahead.open, &t.ahead.recent)
			if server != nil {
				t.ahead.server, t.ahead.counted = *server, true
			}
			return err
		})
	}
}

func each(rows pgx.Rows, scan func() error) error {
	for rows.Next() {
		if err := scan(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// These give away what was read. After them the row is not there any more.

func (a *ahead) takeCall(id inbox.CallID) *inbox.CallRow {
	row := a.call
	if row == nil || row.ID != id {
		return nil
	}
	a.call = nil
	return row
}

func (a *ahead) takeQuestion(id inbox.QuestionID) *inbox.QuestionRow {
	row := a.question
	if row == nil || row.ID != id {
		return nil
	}
	a.question = nil
	return row
}

// takeQuestions answers a query for the questions of one call and nothing else.
func (a *ahead) takeQuestions(q inbox.QuestionQuery) ([]*inbox.QuestionRow, bool) {
	if !a.listed || q.Call != a.of || q.Conversation != "" || q.Server != "" || len(q.States) > 0 || q.Before != 0 {
		return nil, false
	}
	rows := a.questions
	if q.Limit > 0 {
		rows = rows[:min(q.Limit, len(rows))]
	}
	a.listed, a.questions = false, nil
	return rows, true
}

func (a *ahead) takeCounts(server string, since time.Time) (open, recent int, ok bool) {
	if !a.counted || server != a.server || !since.Equal(a.since) {
		return 0, 0, false
	}
	return a.open, a.recent, true
}
