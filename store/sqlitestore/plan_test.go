package sqlitestore_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/sqlitefile"
	"github.com/parley-mcp/parley/store/sqlitestore"
)

// TestPlans: what machines and pages ask again and again is answered along an
// index, in its order. Where SQLite sorts by itself, it reads everything behind
// the page for each page.
func TestPlans(t *testing.T) {
	t.Parallel()
	view := func(f func(tx inbox.Tx) error) func(s *sqlitestore.Store) ([]inbox.Ref, error) {
		return func(s *sqlitestore.Store) ([]inbox.Ref, error) {
			return nil, errors.Join(put(t.Context(), s, "c_1"), s.View(t.Context(), "p", f))
		}
	}
	for _, find := range []struct {
		name  string
		run   func(s *sqlitestore.Store) ([]inbox.Ref, error)
		along []string // indexes
		sorts string   // what it may sort: no more than a page
	}{
		{"Ready", func(s *sqlitestore.Store) ([]inbox.Ref, error) { return s.Ready(t.Context(), nil, inbox.Ref{}, 9) }, []string{"inbox_calls_ready"}, ""},
		{"Ready of servers", func(s *sqlitestore.Store) ([]inbox.Ref, error) {
			return s.Ready(t.Context(), []string{"a", "b"}, inbox.Ref{Call: "c", Due: time.Now()}, 9)
		}, []string{"inbox_calls_ready"}, ""},
		{"Due", func(s *sqlitestore.Store) ([]inbox.Ref, error) { return s.Due(t.Context(), inbox.Ref{}, 9) },
			[]string{"inbox_calls_due", "inbox_questions_due", "inbox_approvals_due"}, "USE TEMP B-TREE FOR ORDER BY"}, // of the three pages
		{"Owned", func(s *sqlitestore.Store) ([]inbox.Ref, error) { return s.Owned(t.Context(), "m/", "", 9) }, []string{"inbox_calls_owner"}, ""},
		{"Find", func(s *sqlitestore.Store) ([]inbox.Ref, error) { return s.Find(t.Context(), "s", inbox.Waiting, "", 9) }, []string{"inbox_calls_server"}, ""},
		{"Ended", func(s *sqlitestore.Store) ([]inbox.Ref, error) {
			return s.Ended(t.Context(), time.Hour, inbox.Ref{}, 9)
		},
			[]string{"inbox_calls_ended"}, "USE TEMP B-TREE FOR LAST TERM OF ORDER BY"}, // of those that ended in one microsecond
		{"Assigned", func(s *sqlitestore.Store) ([]inbox.Ref, error) {
			return s.Assigned(t.Context(), inbox.AssignedQuery{Assignees: []string{"x"}, Open: true, Limit: 9})
		}, []string{"inbox_approvals_undecided"}, ""},
		{"Assigned to several", func(s *sqlitestore.Store) ([]inbox.Ref, error) {
			return s.Assigned(t.Context(), inbox.AssignedQuery{Assignees: []string{"x", "y"}, Open: true, Limit: 9})
		}, []string{"inbox_approvals_undecided"}, "USE TEMP B-TREE FOR ORDER BY"}, // of what is undecided
		{"Questions of a call", view(func(tx inbox.Tx) error {
			_, err := tx.Questions(inbox.QuestionQuery{Call: "c_1", Limit: 9})
			return err
		}), []string{"inbox_questions_call"}, ""},
		{"Open questions of a call", view(func(tx inbox.Tx) error {
			_, err := tx.Questions(inbox.QuestionQuery{Call: "c_1", States: []inbox.QuestionState{inbox.Open, inbox.Opened}, Limit: 9})
			return err
		}), []string{"inbox_questions_call"}, ""},
		{"Questions of a conversation", view(func(tx inbox.Tx) error {
			_, err := tx.Questions(inbox.QuestionQuery{Conversation: "v", Limit: 9})
			return err
		}), []string{"inbox_questions_conversation"}, ""},
		{"Calls of a conversation", view(func(tx inbox.Tx) error {
			_, err := tx.Calls(inbox.CallQuery{Conversation: "v", Limit: 9})
			return err
		}), []string{"inbox_calls_conversation"}, ""},
		{"Approvals of a call", view(func(tx inbox.Tx) error {
			_, err := tx.Approvals(inbox.ApprovalQuery{Call: "c_1", Limit: 9})
			return err
		}), []string{"inbox_approvals_call"}, ""},
		{"Approvals that stand", view(func(tx inbox.Tx) error {
			_, err := tx.Approvals(inbox.ApprovalQuery{Standing: []string{"x"}, Limit: 9})
			return err
		}), []string{"inbox_approvals_standing"}, ""},
		{"Assigned ever", func(s *sqlitestore.Store) ([]inbox.Ref, error) {
			return s.Assigned(t.Context(), inbox.AssignedQuery{Assignees: []string{"x"}, Limit: 9})
		}, []string{"inbox_approvals_assigned"}, ""},
	} {
		t.Run(find.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "parley.db")
			s, err := sqlitestore.Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			if _, err := find.run(s); err != nil {
				t.Fatal(err)
			}
			plan := ""
			for query := range s.Finds() {
				if strings.HasPrefix(query, "SELECT") {
					plan += explain(t, path, query)
				}
			}
			var along []string
			sorts := ""
			for line := range strings.Lines(plan) {
				if _, index, ok := strings.Cut(line, "INDEX inbox_"); ok {
					along = append(along, "inbox_"+strings.Fields(index)[0])
				}
				if strings.Contains(line, "TEMP B-TREE") {
					sorts += strings.TrimSpace(line)
				}
			}
			// A part of a union with a page of its own is run by itself, and so is the union.
			if n := strings.Count(plan, "CO-ROUTINE"); len(find.along) > 1 && n != len(find.along)+1 {
				t.Errorf("%d parts have a page of their own, want %d:\n%s", n-1, len(find.along), plan)
			}
			if !slices.Equal(along, find.along) || sorts != find.sorts {
				t.Errorf("along %q, want %q; sorts %q, want %q:\n%s", along, find.along, sorts, find.sorts, plan)
			}
		})
	}
}

func explain(t *testing.T, path, query string) string {
	t.Helper()
	db, err := sql.Open("sqlite", sqlitefile.Source(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	args := make([]any, strings.Count(query, "?"))
	for n := 1; strings.Contains(query, "?"+strconv.Itoa(n)); n++ {
		args = make([]any, n)
	}
	rows, err := db.Query(`EXPLAIN QUERY PLAN `+query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(detail + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
