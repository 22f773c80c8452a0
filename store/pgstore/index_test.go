package pgstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
)

// TestIndexes asks the database's statistics how it answered on a full table:
// what machines and pages ask all the time has an index.
func TestIndexes(t *testing.T) {
	t.Parallel()
	dsn := servicetest.Postgres(t)
	store := mustOpen(t, dsn, nil)
	if err := put(t, store, "p", "c_first"); err != nil {
		t.Fatal(err)
	}
	conn := servicetest.Conn(t, dsn)
	// Calls of the past, and of each kind that is looked for a few.
	execute(t, conn, `INSERT INTO inbox_calls SELECT 'c_' || i, p.id, i, 'v_' || i % 200, 's_' || i % 200,
		CASE i % 1000 WHEN 0 THEN 'ready' WHEN 1 THEN 'sent' ELSE 'done' END, 1, CASE i % 1000 WHEN 1 THEN 'm/1' ELSE '' END,
		CASE i % 1000 WHEN 1 THEN now() END, CASE i % 2000 WHEN 0 THEN now() + interval '1 hour' END, now(), now(),
		CASE WHEN i % 1000 > 990 THEN now() END, '', ''
		FROM inbox_principals p, generate_series(1, 20000) i`)
	execute(t, conn, `INSERT INTO inbox_questions SELECT 'q_' || i, p.id, 'c_' || i, i, 'v_' || i % 200, 's_' || i % 200,
		CASE i % 1000 WHEN 0 THEN 'open' ELSE 'accepted' END, 1, CASE i % 1000 WHEN 0 THEN now() END, now() - i * interval '1 second', now(), '', ''
		FROM inbox_principals p, generate_series(1, 20000) i`)
	execute(t, conn, `INSERT INTO inbox_approvals SELECT 'a_' || i, p.id, 'c_' || i, i, 'v_' || i % 200, 's',
		CASE i % 100 WHEN 0 THEN 'open' ELSE 'allowed' END, 1, CASE i % 50 WHEN 0 THEN 'x_' || i % 1000 ELSE '' END,
		CASE i % 100 WHEN 1 THEN 'd_' || i ELSE '' END, CASE i % 1000 WHEN 0 THEN now() END, now() - i * interval '1 second', NULL, '', ''
		FROM inbox_principals p, generate_series(1, 20000) i`)
	execute(t, conn, `INSERT INTO inbox_principals (key) VALUES ('q')`)
	execute(t, conn, `INSERT INTO inbox_audit (principal, at, kind, call, detail) SELECT p.id, now(), 'asked', 'c_' || i, ''
		FROM generate_series(1, 20000) i JOIN inbox_principals p ON p.key = CASE i % 1000 WHEN 0 THEN 'p' ELSE 'q' END`)
	execute(t, conn, `ANALYZE inbox_calls, inbox_questions, inbox_principals, inbox_approvals, inbox_audit`)
	execute(t, conn, `SELECT pg_stat_reset()`)

	for range 10 { // PostgreSQL may change its plan after five
		for name, find := range map[string]func() ([]inbox.Ref, error){
			"Ready": func() ([]inbox.Ref, error) { return store.Ready(t.Context(), nil, inbox.Ref{}, 8) },
			"Ready of servers": func() ([]inbox.Ref, error) {
				return store.Ready(t.Context(), []string{"s_0", "s_3"}, inbox.Ref{Call: "c", Due: time.Unix(0, 0)}, 8)
			},
			"Due":   func() ([]inbox.Ref, error) { return store.Due(t.Context(), inbox.Ref{}, 8) },
			"Owned": func() ([]inbox.Ref, error) { return store.Owned(t.Context(), "m/", "", 8) },
			"Find":  func() ([]inbox.Ref, error) { return store.Find(t.Context(), "s_3", "done", "", 8) },
			"Assigned": func() ([]inbox.Ref, error) {
				return store.Assigned(t.Context(), inbox.AssignedQuery{Assignees: []string{"x_0", "y"}, Open: true, Limit: 8})
			},
			"Assigned ever": func() ([]inbox.Ref, error) {
				return store.Assigned(t.Context(), inbox.AssignedQuery{Assignees: []string{"x_50"}, Limit: 8})
			},
			"Ended": func() ([]inbox.Ref, error) { return store.Ended(t.Context(), 0, inbox.Ref{}, 8) },
		} {
			if refs, err := find(); len(refs) != 8 || err != nil {
				t.Fatalf("%s: %d, %v", name, len(refs), err)
			}
		}
		if rows, err := store.Audit(t.Context(), 19000, 20); len(rows) != 20 || err != nil {
			t.Fatalf("Audit: %d, %v", len(rows), err)
		}
		if n, err := store.TrimAudit(t.Context(), time.Hour, 20); n != 0 || err != nil {
			t.Fatalf("TrimAudit: %d, %v", n, err)
		}
		if _, err := store.NextDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := store.Update(t.Context(), "p", func(tx inbox.Tx) error {
			page, err := tx.Calls(inbox.CallQuery{Limit: 20})
			mine, err2 := tx.Calls(inbox.CallQuery{Conversation: "v_7", Limit: 20})
			questions, err3 := tx.Questions(inbox.QuestionQuery{Call: "c_77"})
			standing, err5 := tx.Approvals(inbox.ApprovalQuery{Standing: []string{"d_101", "d_0"}, Limit: 1})
			mine2, err6 := tx.Approvals(inbox.ApprovalQuery{Call: "c_77"})
			audit, err7 := tx.Audits(inbox.AuditQuery{Limit: 20})
			if len(standing) != 1 || len(mine2) != 1 || len(audit) < 10 {
				t.Errorf("%d, %d approvals and %d audit rows", len(standing), len(mine2), len(audit))
			}
			_, recent, err4 := tx.CountQuestions("s_3", tx.Now().Add(-time.Minute))
			if len(page) != 20 || len(mine) != 20 || len(questions) != 1 || recent > 1 {
				t.Errorf("%d, %d calls and %d, %d questions", len(page), len(mine), len(questions), recent)
			}
			return errors.Join(err, err2, err3, err4, err5, err6, err7)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil { // sessions that end hand in their statistics
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		used := map[string]int64{}
		rows, err := conn.Query(t.Context(), `SELECT indexrelname, idx_scan FROM pg_stat_user_indexes WHERE schemaname = current_schema()
			UNION ALL SELECT 'all of ' || relname, seq_tup_read FROM pg_stat_user_tables WHERE schemaname = current_schema()`)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var name string
			var n int64
			if err := rows.Scan(&name, &n); err != nil {
				t.Fatal(err)
			}
			used[name] = n
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		var missing []string
		for _, index := range []string{
			"inbox_calls_ready", "inbox_calls_later", "inbox_calls_due", "inbox_calls_owner", "inbox_calls_server", "inbox_calls_ended",
			"inbox_approvals_due", "inbox_approvals_assigned", "inbox_approvals_undecided", "inbox_approvals_standing", "inbox_approvals_call", "inbox_audit_page", "inbox_audit_pkey",
			"inbox_calls_page", "inbox_calls_conversation", "inbox_questions_call", "inbox_questions_due", "inbox_questions_recent",
		} {
			if used[index] == 0 {
				missing = append(missing, index)
			}
		}
		if len(missing) == 0 {
			for _, table := range []string{"all of inbox_calls", "all of inbox_questions", "all of inbox_approvals", "all of inbox_audit"} {
				if used[table] > 0 {
					t.Errorf("%s: %d rows were read one after the other", table, used[table])
				}
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not used: %v", missing)
		}
		execute(t, conn, `SELECT pg_sleep(0.1), pg_stat_clear_snapshot()`)
	}
}
