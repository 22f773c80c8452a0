package metrics_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve/metrics"
	"github.com/parley-mcp/parley/store/memstore"
)

var ada = inbox.Principal{Issuer: "https://id.example", Subject: "ada-9f31"}

// page is what a collector gets.
func page(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	b, err := io.ReadAll(w.Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d, %v", w.Code, err)
	}
	return string(b)
}

func wants(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("there is no line %q in:\n%s", line, ours(text))
		}
	}
}

// ours are the lines that are not Go's.
func ours(text string) string {
	var list []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "parley_") {
			list = append(list, line)
		}
	}
	return strings.Join(list, "")
}

// A call is asked, answered and done; another is parked; a third one denied.
func TestLife(t *testing.T) {
	t.Parallel()
	m := metrics.New(&metrics.Options{Servers: []string{"hotel", "quiet"}})
	in := inbox.New(memstore.New(nil), inbox.NewKeys(), &inbox.Options{Observe: m.Observe})
	m.Watch(in, nil)
	wants(t, page(t, m), "parley_questions_open 0", `parley_calls{server="quiet",state="waiting"} 0`)

	m2 := metrics.New(&metrics.Options{Servers: []string{"hotel", "quiet"}})
	m2.Watch(in, nil) // figures of the store are not asked for twice in half a minute: another page
	ask := func(server string) *inbox.Question {
		t.Helper()
		c, err := in.Compose(t.Context(), ada, inbox.NewCall{Server: server, Method: "tools/call", Name: "book"})
		if err != nil {
			t.Fatal(err)
		}
		claim, _, err := in.Claim(t.Context(), ada, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Mark(t.Context(), claim, inbox.Binding{Era: inbox.Modern}); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Park(t.Context(), claim, inbox.Asked{Questions: []inbox.NewQuestion{{
			Key: "q", Params: json.RawMessage(`{"message":"Sure?","requestedSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`),
		}}}); err != nil {
			t.Fatal(err)
		}
		list, err := in.Questions(t.Context(), ada, inbox.QuestionFilter{Call: c.ID})
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0]
	}
	ask("hotel")
	q := ask("hotel")
	if err := in.Shown(t.Context(), ada, q.ID, "card in sight"); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Answer(t.Context(), ada, q.ID, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"x":7}`)}); err == nil {
		t.Fatal("a number is no string")
	}
	if _, err := in.Answer(t.Context(), ada, q.ID, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"x":"y"}`)}); err != nil {
		t.Fatal(err)
	}
	claim, _, err := in.Claim(t.Context(), ada, q.Call)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Mark(t.Context(), claim, inbox.Binding{Era: inbox.Modern}); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Finish(t.Context(), claim, inbox.Outcome{State: inbox.Failed, Reason: "my-own-words-77"}); err != nil {
		t.Fatal(err)
	}
	ask("stranger-chosen")
	if _, err := in.Compose(t.Context(), ada, inbox.NewCall{Server: "hotel", Method: "tools/call", Actor: inbox.Model, Deny: &inbox.Denial{Rule: "r"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Compose(t.Context(), ada, inbox.NewCall{Server: "hotel", Method: "tools/call", Ask: &inbox.Ask{Reason: "why"}}); err != nil {
		t.Fatal(err)
	}

	text := page(t, m)
	wants(t, text,
		`parley_calls_composed_total{actor="model",server="hotel"} 1`,
		`parley_calls_composed_total{actor="person",server="other"} 1`,
		`parley_calls_ended_total{era="modern",reason="other",server="hotel",state="failed"} 1`,
		`parley_calls_ended_total{era="unknown",reason="denied_by_policy",server="hotel",state="denied"} 1`,
		`parley_questions_asked_total{mode="form",server="hotel"} 2`,
		`parley_questions_shown_total{mode="form"} 1`,
		`parley_questions_closed_total{mode="form",server="hotel",state="accepted"} 1`,
		`parley_question_wait_seconds_count{mode="form"} 1`,
		`parley_answers_refused_total{server="hotel"} 1`,
		`parley_deliveries_total{server="hotel"} 1`,
		`parley_approvals_asked_total{server="hotel"} 1`,
		`parley_questions_open 0`, // of the first page
	)
	wants(t, page(t, m2), `parley_questions_open 2`, `parley_calls{server="hotel",state="waiting"} 1`, `parley_calls{server="hotel",state="approving"} 1`)
	for _, private := range []string{"ada-9f31", "stranger", "my-own", "book", string(q.ID), string(q.Call), "Sure"} {
		if strings.Contains(ours(text), private) {
			t.Errorf("the page has %q", private)
		}
	}
}

// However many words strangers make up, the page stays as long as it is.
func TestBounded(t *testing.T) {
	t.Parallel()
	m := metrics.New(nil)
	each := func(word string) {
		for _, kind := range []inbox.AuditKind{
			inbox.AuditComposed, inbox.AuditAsked, inbox.AuditShown, inbox.AuditAnswered, inbox.AuditClosed, inbox.AuditChecked,
			inbox.AuditDelivered, inbox.AuditBlocked, inbox.AuditUncertain, inbox.AuditFinished, inbox.AuditApprovalAsked,
			inbox.AuditApprovalDecided, inbox.AuditApprovalClosed, inbox.AuditCredentialRead, inbox.AuditRefused, inbox.AuditKind(word),
		} {
			m.Limited(word)
			for _, state := range []string{word, string(inbox.Done)} {
				m.Observe(&inbox.AuditEntry{
					Kind: kind, Server: word, Tool: word, Reason: word, State: state, Era: inbox.Era(word), Mode: inbox.Mode(word),
					Actor: inbox.Actor(word), Question: "q", Waited: -5, Rule: word, Scope: inbox.Scope(word),
				})
			}
		}
	}
	each("first")
	before := strings.Count(ours(page(t, m)), "\n")
	for i := range 100 {
		each(fmt.Sprint("word", i, "\xff\n\""))
	}
	if after := strings.Count(ours(page(t, m)), "\n"); after != before || before == 0 {
		t.Errorf("%d lines became %d", before, after)
	}
}

type brokenStore struct{ inbox.Store }

func (brokenStore) CountQuestions(context.Context, int) (int, error) {
	return 0, errors.New("the disk of postgres://u:7c1f@db is gone")
}

// What the store cannot say is left out and counted, and nobody is told why.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	m := metrics.New(nil)
	m.Watch(inbox.New(brokenStore{memstore.New(nil)}, inbox.NewKeys(), nil), nil)
	page(t, m)
	text := page(t, m)
	if strings.Contains(text, "parley_store_errors_total 0") || !strings.Contains(text, "parley_store_errors_total ") {
		t.Error(ours(text))
	}
	if strings.Contains(text, "\nparley_questions_open ") || strings.Contains(text, "7c1f") {
		t.Error(ours(text))
	}
}
