package serve_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/store/memstore"
)

// One row that cannot be read takes nobody's page: all that is listed is still
// answered, with the row as one that cannot be read, the event stream goes on, and the
// person can stop its call.
func TestUnreadableRows(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	local, err := serve.OpenLocal(filepath.Join(t.TempDir(), "token"))
	if err != nil {
		t.Fatal(err)
	}
	b := setupIn(t, inbox.New(store, seal.NewRing(), nil), &serve.Options{Local: local}, script())
	p := serve.LocalPrincipal
	next, stop := b.stream(nil)
	defer stop()
	next() // hello
	good, bad := b.run("seat", map[string]any{}), b.run("page", map[string]any{})
	wire := b.run("two", map[string]any{}) // of which one question is damaged alone
	asks, own := asked(t, b.inbox, p, inbox.Ask{})
	ben := inbox.Principal{Issuer: "test", Subject: "ben"}
	_, others := asked(t, b.inbox, ben, inbox.Ask{Assignee: inbox.Assignee{Principal: p}})
	_, readable := asked(t, b.inbox, ben, inbox.Ask{Assignee: inbox.Assignee{Principal: p}})
	damage := func(key string, f func(inbox.Tx) error) {
		t.Helper()
		if err := store.Update(t.Context(), key, f); err != nil {
			t.Fatal(err)
		}
	}
	damage(p.Key(), func(tx inbox.Tx) error {
		c, err := tx.Call(inbox.CallID(bad.ID))
		if err != nil {
			return err
		}
		c.Content = []byte("damaged")
		if err := tx.PutCall(c); err != nil {
			return err
		}
		for _, id := range []string{bad.Questions[0], wire.Questions[0]} {
			q, err := tx.Question(inbox.QuestionID(id))
			if err != nil {
				return err
			}
			q.Content = nil
			if err := tx.PutQuestion(q); err != nil {
				return err
			}
		}
		a, err := tx.Approval(own.ID)
		if err != nil {
			return err
		}
		a.Detail = []byte("[1]")
		return tx.PutApproval(a)
	})
	damage(ben.Key(), func(tx inbox.Tx) error {
		a, err := tx.Approval(others.ID)
		if err != nil {
			return err
		}
		a.Content = []byte("damaged")
		return tx.PutApproval(a)
	})
	type row struct {
		ID, State, Text, Refused string
		Unreadable               bool
		Offer                    []string
		CanDecide                bool `json:"can_decide"`
		Can                      struct {
			Stop     bool
			RunAgain bool `json:"run_again"`
		}
	}
	var list struct{ Calls, Questions, Approvals []row }
	unreadable := func(rows []row) (ids []string) {
		for _, r := range rows {
			if r.Unreadable {
				ids = append(ids, r.ID)
			}
		}
		return ids
	}
	want := func(what string, rows []row, n int, ids ...string) {
		t.Helper()
		if got := unreadable(rows); len(rows) != n || strings.Join(got, " ") != strings.Join(ids, " ") {
			t.Errorf("%s: %d rows, of which cannot be read %q; want %d, %q", what, len(rows), got, n, ids)
		}
	}
	questions := []string{bad.Questions[0], wire.Questions[0]}
	b.get("/v1/questions").want(http.StatusOK).decode(&list)
	want("questions", list.Questions, 4, questions...)
	for _, q := range list.Questions {
		if q.Unreadable == (q.Refused == "") {
			t.Errorf("%+v", q)
		}
	}
	b.get("/v1/questions?state=open").want(http.StatusOK).decode(&list)
	want("open questions", list.Questions, 4, questions...)
	b.get("/v1/conversations").want(http.StatusOK)
	b.get("/v1/conversations/v_1").want(http.StatusOK).decode(&list)
	want("the conversation's questions", list.Questions, 4, questions...)
	want("its calls", list.Calls, 4, bad.ID)
	want("its approvals", list.Approvals, 1, string(own.ID))
	b.get("/v1/approvals?state=open").want(http.StatusOK).decode(&list)
	want("approvals", list.Approvals, 3, string(own.ID), string(others.ID))
	for _, a := range list.Approvals {
		if !a.CanDecide || a.Unreadable != (len(a.Offer) == 0) {
			t.Errorf("%+v", a)
		}
	}
	b.get("/v1/approvals").want(http.StatusOK)
	b.get("/v1/audit").want(http.StatusOK)
	b.get("/v1/approvals/" + string(others.ID)).want(http.StatusOK)
	b.get("/v1/questions/" + questions[0]).want(http.StatusOK)
	var one row
	b.get("/v1/calls/" + bad.ID + "?since=0&wait=20").want(http.StatusOK).decode(&one)
	if !one.Unreadable || !one.Can.Stop || one.Can.RunAgain || !strings.Contains(one.Text, "cannot be read") {
		t.Errorf("%+v", one)
	}

	// What needs the content says so; all else works.
	b.post("/v1/questions/"+questions[0]+"/answer", map[string]any{"action": "decline"}).want(http.StatusInternalServerError)
	b.post("/v1/questions/"+questions[0]+"/shown", map[string]any{"evidence": "card"}).want(http.StatusNoContent)
	b.post("/v1/approvals/"+string(others.ID), map[string]any{"allow": true}).want(http.StatusInternalServerError)
	b.post("/v1/approvals/"+string(others.ID), map[string]any{"allow": false}).want(http.StatusOK)
	b.post("/v1/approvals/"+string(readable.ID), map[string]any{"allow": true}).want(http.StatusOK)
	b.post("/v1/questions/"+good.Questions[0]+"/answer", map[string]any{"action": "decline"}).want(http.StatusOK)
	for _, id := range []string{bad.ID, wire.ID, string(asks.ID)} {
		b.post("/v1/calls/"+id+"/stop", nil).want(http.StatusOK).decode(&one)
		if one.State != "stopped" {
			t.Errorf("stopped: %+v", one)
		}
	}
	for { // the stream has gone past all of them
		e := next()
		if e.event != "call" {
			continue
		}
		if err := json.Unmarshal([]byte(e.data), &one); err != nil {
			t.Fatal(err)
		}
		if one.ID == string(asks.ID) && one.State == "stopped" {
			break
		}
	}
}
