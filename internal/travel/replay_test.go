package travel_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
	"github.com/parley-mcp/parley/internal/travel"
)

// The desk deduplicates nothing: what keeps a booking from happening twice is
// the guard, and without one the last round books each time it is sent.
func TestReplay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		guard elicit.ReplayGuard
		want  int
	}{"guard": {elicit.NewMemoryGuard(nil), 1}, "none": {nil, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "travel.log")
			desk, err := travel.New(&travel.Options{LogFile: path, Kit: elicit.Options{Replay: test.guard}})
			if err != nil {
				t.Fatal(err)
			}
			defer desk.Close()
			client := elicittest.Connect(t, desk, "2026-07-28", elicittest.Script(t), nil)
			params := map[string]any{"name": "book_flight", "arguments": tokyo}
			for {
				raw, err := client.Send(t.Context(), "tools/call", params)
				if err != nil {
					t.Fatal(err)
				}
				questions, err := elicittest.Questions(raw)
				if err != nil {
					t.Fatal(err)
				}
				if len(questions) == 0 {
					break
				}
				answers := map[string]any{}
				for _, q := range questions {
					content := map[string]any{"confirmed": true}
					if bytes.Contains(q.Schema, []byte(`"flight"`)) {
						content = map[string]any{"flight": firstFlight(t, q), "bags": 1}
					} else if !bytes.Contains(q.Schema, []byte(`"confirmed"`)) {
						content = map[string]any{} // the defaults fill it
					}
					answers[q.Key] = map[string]any{"action": "accept", "content": content}
				}
				var result struct {
					State string `json:"requestState"`
				}
				if err := json.Unmarshal(raw, &result); err != nil {
					t.Fatal(err)
				}
				params["requestState"], params["inputResponses"] = result.State, answers
			}
			if _, err := client.Send(t.Context(), "tools/call", params); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := bytes.Count(text, []byte("\n")); got != test.want {
				t.Errorf("%d bookings, want %d:\n%s", got, test.want, text)
			}
		})
	}
}
