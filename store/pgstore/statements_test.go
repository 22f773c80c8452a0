package pgstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
)

// TestTexts: what PostgreSQL cannot store is refused before it is sent, and
// what is long is no reason to refuse.
func TestTexts(t *testing.T) {
	t.Parallel()
	store := mustOpen(t, servicetest.Postgres(t), nil)
	for _, bad := range []string{"a\x00b", "\xff"} {
		if err := store.Update(t.Context(), bad, func(inbox.Tx) error { return nil }); !errors.Is(err, inbox.ErrInvalid) {
			t.Errorf("principal %q: %v", bad, err)
		}
		err := store.Update(t.Context(), "p", func(tx inbox.Tx) error {
			for name, err := range map[string]error{
				"id":           tx.PutCall(&inbox.CallRow{ID: inbox.CallID(bad)}),
				"conversation": tx.PutCall(&inbox.CallRow{ID: "c", Conversation: bad}),
				"server":       tx.PutQuestion(&inbox.QuestionRow{ID: "q", Server: bad}),
			} {
				if !errors.Is(err, inbox.ErrInvalid) {
					t.Errorf("%s %q: %v", name, bad, err)
				}
			}
			return nil // none of it was sent, so the transaction is well
		})
		if err != nil {
			t.Errorf("Update: %v", err)
		}
		for _, find := range []func() ([]inbox.Ref, error){
			func() ([]inbox.Ref, error) { return store.Ready(t.Context(), []string{bad}, inbox.Ref{}, 9) },
			func() ([]inbox.Ref, error) { return store.Owned(t.Context(), bad, "", 9) },
			func() ([]inbox.Ref, error) { return store.Find(t.Context(), bad, inbox.Ready, "", 9) },
		} {
			if refs, err := find(); len(refs) != 0 || err != nil {
				t.Errorf("found %v, %v", refs, err)
			}
		}
	}
	// Random, or it would be compressed below the limit of an index entry.
	long := noise(4096)
	err := store.Update(t.Context(), "p", func(tx inbox.Tx) error {
		row := &inbox.CallRow{ID: "c_long", Seq: 1, Conversation: long, Server: long, Owner: long, State: inbox.Ready, Created: tx.Now(), Updated: tx.Now(), Content: bytes.Repeat([]byte(long), 2048)}
		question := &inbox.QuestionRow{ID: "q_long", Seq: 2, Call: "c_long", Conversation: long, Server: long, State: inbox.Open, Created: tx.Now()}
		return errors.Join(tx.PutCall(row), tx.PutQuestion(question), tx.Remember(long, []byte("v"), tx.Now().Add(time.Hour)))
	})
	if err != nil {
		t.Fatalf("long texts: %v", err)
	}
	err = store.View(t.Context(), "p", func(tx inbox.Tx) error {
		calls, err := tx.Calls(inbox.CallQuery{Conversation: long, Server: long})
		if len(calls) != 1 || err != nil || len(calls[0].Content) != 8<<20 {
			t.Errorf("Calls: %d rows, %v", len(calls), err)
		}
		open, recent, err := tx.CountQuestions(long, time.Unix(0, 0))
		if open != 1 || recent != 1 || err != nil {
			t.Errorf("CountQuestions = %d, %d, %v", open, recent, err)
		}
		// The same beginning and another end.
		if calls, err := tx.Calls(inbox.CallQuery{Server: long[:4000]}); len(calls) != 0 || err != nil {
			t.Errorf("found %d calls of another server, %v", len(calls), err)
		}
		_, err = tx.Remembered(long)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func noise(n int) string {
	var b strings.Builder
	for i := uint32(1); b.Len() < n; i++ {
		x := i * 2654435761
		x ^= x >> 13
		fmt.Fprintf(&b, "%08x", x*2246822519)
	}
	return b.String()[:n]
}

// TestModes runs every statement in each of pgx's ways to send it: poolers ask
// for those without prepared statements.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			store := mustOpen(t, servicetest.Postgres(t)+"&default_query_exec_mode="+mode, nil)
			content := []byte{0, '\'', '\\', 0xff}
			var now time.Time
			err := store.Update(t.Context(), "p", func(tx inbox.Tx) error {
				now = tx.Now()
				call := &inbox.CallRow{ID: `c_'\`, Seq: 1, Server: "s", State: inbox.Ready, Owner: "m/1", Due: now, Ended: now, Created: now, Updated: now, Content: content}
				question := &inbox.QuestionRow{ID: "q_1", Seq: 2, Call: call.ID, Server: "s", State: inbox.Open, Due: now.Add(time.Hour), Created: now, Content: content}
				_, err := tx.Append(inbox.CallEvent, string(call.ID))
				approval := &inbox.ApprovalRow{ID: "a_1", Call: call.ID, State: inbox.ApprovalOpen, Assignee: "q", Standing: "d", Created: now, Content: content}
				audit := &inbox.AuditRow{At: now, Kind: inbox.AuditAsked, Call: call.ID, Detail: content}
				return errors.Join(err, tx.PutApproval(approval), tx.AppendAudit(audit), tx.SetDisabled(true), tx.PutCall(call), tx.PutQuestion(question), tx.Remember("k", content, now.Add(time.Hour)), tx.TrimEvents(1))
			})
			if err != nil {
				t.Fatalf("Update: %v", err)
			}
			err = store.View(t.Context(), "p", func(tx inbox.Tx) error {
				calls, err := tx.Calls(inbox.CallQuery{Server: "s", States: []inbox.CallState{inbox.Ready, inbox.Sent}, Before: 9, Limit: 9})
				if len(calls) != 1 || err != nil || !bytes.Equal(calls[0].Content, content) || !calls[0].Due.Equal(now) {
					t.Errorf("Calls = %+v, %v", calls, err)
				}
				questions, err := tx.Questions(inbox.QuestionQuery{Call: `c_'\`, States: []inbox.QuestionState{inbox.Open}})
				if len(questions) != 1 || err != nil || !bytes.Equal(questions[0].Content, content) {
					t.Errorf("Questions = %+v, %v", questions, err)
				}
				if rows, err := tx.Audits(inbox.AuditQuery{Call: `c_'\`, Kinds: []inbox.AuditKind{inbox.AuditAsked}, Before: 99, Limit: 9}); len(rows) != 1 || err != nil {
					t.Errorf("Audits = %+v, %v", rows, err)
				}
				if disabled, err := tx.Disabled(); !disabled || err != nil {
					t.Errorf("Disabled = %t, %v", disabled, err)
				}
				if approvals, err := tx.Approvals(inbox.ApprovalQuery{Call: `c_'\`, Standing: []string{"d", "e"}}); len(approvals) != 1 || err != nil {
					t.Errorf("Approvals = %+v, %v", approvals, err)
				}
				if value, err := tx.Remembered("k"); !bytes.Equal(value, content) || err != nil {
					t.Errorf("Remembered = %q, %v", value, err)
				}
				if open, recent, err := tx.CountQuestions("s", now); open != 1 || recent != 1 || err != nil {
					t.Errorf("CountQuestions = %d, %d, %v", open, recent, err)
				}
				if events, err := tx.Events(0, 9); len(events) != 1 || err != nil {
					t.Errorf("Events = %v, %v", events, err)
				}
				if first, last, err := tx.EventBounds(); first != 1 || last != 1 || err != nil {
					t.Errorf("EventBounds = %d, %d, %v", first, last, err)
				}
				return nil
			})
			if err != nil {
				t.Fatalf("View: %v", err)
			}
			for name, find := range map[string]func() ([]inbox.Ref, error){
				"Ready": func() ([]inbox.Ref, error) { return store.Ready(t.Context(), []string{"r", "s"}, inbox.Ref{}, 9) },
				"Ready next": func() ([]inbox.Ref, error) {
					return store.Ready(t.Context(), []string{"r", "s"}, inbox.Ref{Call: "a", Due: now.Add(-time.Hour)}, 9)
				},
				"Due":      func() ([]inbox.Ref, error) { return store.Due(t.Context(), inbox.Ref{}, 9) },
				"Due next": func() ([]inbox.Ref, error) { return store.Due(t.Context(), inbox.Ref{Call: "a", Due: now}, 9) },
				"Owned":    func() ([]inbox.Ref, error) { return store.Owned(t.Context(), "m/", "", 9) },
				"Find":     func() ([]inbox.Ref, error) { return store.Find(t.Context(), "s", inbox.Ready, "", 9) },
				"Ended":    func() ([]inbox.Ref, error) { return store.Ended(t.Context(), 0, inbox.Ref{}, 9) },
			} {
				if refs, err := find(); len(refs) != 1 || err != nil || refs[0].Call != `c_'\` {
					t.Errorf("%s = %+v, %v", name, refs, err)
				}
			}
			if refs, err := store.Ended(t.Context(), time.Hour, inbox.Ref{}, 9); len(refs) != 0 || err != nil {
				t.Errorf("Ended an hour ago = %+v, %v", refs, err)
			}
			if next, err := store.NextDue(t.Context()); next <= 50*time.Minute || next > time.Hour || err != nil {
				t.Errorf("NextDue = %v, %v", next, err)
			}
			if rows, err := store.Audit(t.Context(), 0, 9); len(rows) != 1 || err != nil || rows[0].Principal != "p" || !bytes.Equal(rows[0].Detail, content) || !rows[0].At.Equal(now) {
				t.Errorf("Audit = %+v, %v", rows, err)
			}
			if refs, err := store.Assigned(t.Context(), inbox.AssignedQuery{Assignees: []string{"q", "r"}, Open: true, After: "a", AfterTime: now.Add(-time.Hour), Limit: 9}); len(refs) != 1 || err != nil || refs[0].Approval != "a_1" {
				t.Errorf("Assigned = %+v, %v", refs, err)
			}
			if seals, err := store.Seals(t.Context(), 9); len(seals) != 1 || err != nil || !bytes.Equal(seals[0].Prefix, content) || seals[0].Rows != 3 {
				t.Errorf("Seals = %+v, %v", seals, err)
			}
			if refs, err := store.Stale(t.Context(), []byte{1, 0, 0, 0, 9}, inbox.Ref{Call: "a"}, 9); len(refs) != 3 || err != nil || refs[2].Approval != "a_1" {
				t.Errorf("Stale = %+v, %v", refs, err)
			}
			if n, err := store.TrimAudit(t.Context(), time.Hour, 9); n != 0 || err != nil {
				t.Errorf("TrimAudit = %d, %v", n, err)
			}
			err = store.Update(t.Context(), "p", func(tx inbox.Tx) error { return tx.Erase(&inbox.AuditRow{At: now}) })
			if err != nil {
				t.Errorf("Erase: %v", err)
			}
			if refs, err := store.Owned(t.Context(), "", "", 9); len(refs) != 0 || err != nil {
				t.Errorf("after Erase: %+v, %v", refs, err)
			}
		})
	}
}
