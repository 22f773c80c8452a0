package elicittest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
	"github.com/parley-mcp/parley/internal/servicetest"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

type name struct {
	Last  string `json:"last"`
	First string `json:"first"`
}

type none struct{}

// greeter is a server with one tool that asks for a name.
func greeter(t testing.TB) *elicit.Server {
	t.Helper()
	server, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1"}, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	elicit.AddTool(server, &mcp.Tool{Name: "greet"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
		who, err := elicit.Ask[name](ctx, call, "who", "Who are you?")
		if err != nil {
			return none{}, err
		}
		call.Content(&mcp.TextContent{Text: "Hello " + who.First})
		return none{}, nil
	})
	return server
}

// The usual test of a tool: one script, every revision.
func TestGreet(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			person := elicittest.Script(t, elicittest.Accept(name{First: "Ada", Last: "Lovelace"}))
			client := elicittest.Connect(t, elicit.NewHTTPHandler(greeter(t), nil), revision, person, nil)
			result, err := client.Call(t.Context(), "greet", nil)
			if err != nil {
				t.Fatal(err)
			}
			if result.IsError || result.Text != "Hello Ada" {
				t.Errorf("result %s", result.Raw)
			}
		})
	}
}

// TestQuestion shows a question as it was sent, with its fields in order.
func TestQuestion(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			var got elicittest.Question
			client := elicittest.Connect(t, elicit.NewHTTPHandler(greeter(t), nil), revision, func(q elicittest.Question) elicittest.Answer {
				got = q
				return elicittest.Decline()
			}, nil)
			if _, err := client.Call(t.Context(), "greet", nil); err != nil {
				t.Fatal(err)
			}
			want := elicittest.Question{
				Mode: "form", Message: "Who are you?",
				Schema: json.RawMessage(`{"type":"object","properties":{"last":{"type":"string"},"first":{"type":"string"}},"required":["last","first"]}`),
			}
			if revision == "2026-07-28" {
				want.Key = "who"
			}
			if !strings.Contains(string(got.Params), string(got.Schema)) {
				t.Errorf("params %s", got.Params)
			}
			got.Params = nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("question (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNobody is a client that cannot ask.
func TestNobody(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			client := elicittest.Connect(t, elicit.NewHTTPHandler(greeter(t), nil), revision, nil, nil)
			result, err := client.Call(t.Context(), "greet", nil)
			var refused *elicittest.Error
			if errors.As(err, &refused) != (revision == "2026-07-28") {
				t.Errorf("error %v", err)
			}
			if err == nil && !result.IsError {
				t.Errorf("result %s", result.Raw)
			}
		})
	}
}

// TestNoAnswer leaves a question alone: a modern server asks again, a legacy
// one gets an error.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			asked := 0
			client := elicittest.Connect(t, elicit.NewHTTPHandler(greeter(t), nil), revision, func(elicittest.Question) elicittest.Answer {
				asked++
				if asked == 1 {
					return elicittest.Answer{Absent: true}
				}
				return elicittest.Accept(name{First: "Ada"})
			}, nil)
			result, err := client.Call(t.Context(), "greet", nil)
			if err != nil {
				t.Fatal(err)
			}
			if wantError := revision != "2026-07-28"; result.IsError != wantError {
				t.Errorf("result %s", result.Raw)
			}
		})
	}
}

// recorder is a test that fails without failing the real one.
type recorder struct {
	testing.TB
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()                   {}
func (r *recorder) Cleanup(f func())          { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Failed() bool              { return len(r.failures) > 0 }
func (r *recorder) Errorf(f string, a ...any) { r.failures = append(r.failures, fmt.Sprintf(f, a...)) }

func (r *recorder) end() {
	for _, f := range r.cleanups {
		f()
	}
}

func TestScript(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		answers, asked int
		fails          string
	}{
		{"as many", 2, 2, ""},
		{"too few answers", 1, 2, "no answer left"},
		{"too many answers", 2, 1, "1 of 2 answers were not asked for"},
		{"no question", 1, 0, "1 of 1 answers"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{TB: t}
			person := elicittest.Script(r, make([]elicittest.Answer, test.answers)...)
			for range test.asked {
				person(elicittest.Question{Message: "?"})
			}
			r.end()
			got := strings.Join(r.failures, "\n")
			if (got == "") != (test.fails == "") || !strings.Contains(got, test.fails) {
				t.Errorf("failures %q, want %q", got, test.fails)
			}
		})
	}
}

func ExampleConnect() {
	// In a test:
	_ = func(t *testing.T, server *elicit.Server) {
		for _, revision := range elicittest.Revisions {
			person := elicittest.Script(t,
				elicittest.Accept(map[string]any{"first": "Ada", "last": "Lovelace"}),
				elicittest.Decline())
			client := elicittest.Connect(t, elicit.NewHTTPHandler(server, nil), revision, person, nil)
			result, err := client.Call(t.Context(), "greet", map[string]any{})
			if err != nil {
				t.Fatal(err)
			}
			if !result.IsError {
				t.Error("the second question was declined")
			}
		}
	}
	// Output:
}
