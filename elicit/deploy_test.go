package elicit_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

// shop is one version of a program that books what a person agreed to.
type shop func(ctx context.Context, call *elicit.Call) (booked string, err error)

// TestDeploy replaces the program while a call waits for its second answer. What
// was agreed to goes on, what changed is asked again, and nothing is booked that
// the person was not shown.
func TestDeploy(t *testing.T) {
	t.Parallel()
	type seat struct {
		Seat string `json:"seat"`
	}
	type seatAndMeal struct {
		Seat string `json:"seat"`
		Meal string `json:"meal"`
	}
	before := shop(func(ctx context.Context, call *elicit.Call) (string, error) {
		price, err := elicit.Memo(ctx, call, "price", time.Hour, func(context.Context) (int, error) { return 10, nil })
		if err != nil {
			return "", err
		}
		where, err := elicit.Ask[seat](ctx, call, "seat", "Which seat?")
		if err != nil {
			return "", err
		}
		if consent, err := elicit.Confirm(ctx, call, "pay", fmt.Sprintf("Pay %d for %s?", price, where.Seat)); err != nil || consent != elicit.Yes {
			return "", err
		}
		return fmt.Sprintf("%s for %d", where.Seat, price), nil
	})
	for name, test := range map[string]struct {
		after     shop
		questions []string // in all
		booked    string
	}{
		"nothing changed": {before, []string{"Which seat?", "Pay 10 for 1A?"}, "1A for 10"},
		"dearer": {func(ctx context.Context, call *elicit.Call) (string, error) {
			where, err := elicit.Ask[seat](ctx, call, "seat", "Which seat?")
			if err != nil {
				return "", err
			}
			if consent, err := elicit.Confirm(ctx, call, "pay", "Pay 1000 for "+where.Seat+"?"); err != nil || consent != elicit.Yes {
				return "", err
			}
			return where.Seat + " for 1000", nil
		}, []string{"Which seat?", "Pay 10 for 1A?", "Pay 1000 for 1A?"}, ""},
		"more fields": {func(ctx context.Context, call *elicit.Call) (string, error) {
			where, err := elicit.Ask[seatAndMeal](ctx, call, "seat", "Which seat?")
			if err != nil {
				return "", err
			}
			return where.Seat + " and " + where.Meal, nil
		}, []string{"Which seat?", "Pay 10 for 1A?", "Which seat?"}, "1A and rice"},
		"another type under the memo's key": {func(ctx context.Context, call *elicit.Call) (string, error) {
			price, err := elicit.Memo(ctx, call, "price", time.Hour, func(context.Context) (map[string]int, error) { return map[string]int{"EUR": 20}, nil })
			if err != nil {
				return "", err
			}
			if consent, err := elicit.Confirm(ctx, call, "pay", fmt.Sprintf("Pay %d EUR?", price["EUR"])); err != nil || consent != elicit.Yes {
				return "", err
			}
			return fmt.Sprintf("for %d", price["EUR"]), nil
		}, []string{"Which seat?", "Pay 10 for 1A?", "Pay 20 EUR?"}, ""},
		"the answer is not needed any more": {func(context.Context, *elicit.Call) (string, error) {
			return "any seat", nil
		}, []string{"Which seat?", "Pay 10 for 1A?"}, "any seat"},
		"the keys change places": {func(ctx context.Context, call *elicit.Call) (string, error) {
			if consent, err := elicit.Confirm(ctx, call, "seat", "Send spam?"); err != nil || consent != elicit.Yes {
				return "", err
			}
			return "spam", nil
		}, []string{"Which seat?", "Pay 10 for 1A?", "Send spam?"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys := filepath.Join(t.TempDir(), "keys.json")
			var mu sync.Mutex
			var questions []string
			booked := ""
			deploy := func(version shop) *elicittest.Client {
				server, handler := newServer(t, &elicit.Options{KeysFile: keys, Audience: "shop"})
				elicit.AddTool(server, &mcp.Tool{Name: "book"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
					what, err := version(ctx, call)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						booked = what
					}
					return none{}, err
				})
				return elicittest.Connect(t, handler, modern, elicittest.Script(t), nil)
			}
			client := deploy(before)
			params := map[string]any{"name": "book", "arguments": none{}}
			for round := range 5 {
				raw, err := client.Send(t.Context(), "tools/call", params)
				if err != nil {
					t.Fatal(err)
				}
				asked, err := elicittest.Questions(raw)
				if err != nil {
					t.Fatal(err)
				}
				if len(asked) == 0 {
					break
				}
				answers := map[string]any{}
				for _, q := range asked {
					text := question(q.Message)
					questions = append(questions, text)
					content := map[string]any{"confirmed": text == "Pay 10 for 1A?"} // to nothing else
					if text == "Which seat?" {
						content = map[string]any{"seat": "1A", "meal": "rice"}
					}
					answers[q.Key] = map[string]any{"action": "accept", "content": content}
				}
				if round == 1 {
					client = deploy(test.after)
				}
				params = map[string]any{"name": "book", "arguments": none{}, "requestState": stateOf(t, raw), "inputResponses": answers}
			}
			if diff := cmp.Diff(test.questions, questions); diff != "" {
				t.Errorf("questions (-want +got):\n%s", diff)
			}
			if booked != test.booked {
				t.Errorf("booked %q, want %q", booked, test.booked)
			}
		})
	}
}
