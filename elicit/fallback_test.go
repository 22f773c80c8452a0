package elicit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

// TestManyChoices asks for several of a list that is as long as the oldest
// revision can have it, one field each, and of one that is longer: there nobody
// can be asked.
func TestManyChoices(t *testing.T) {
	t.Parallel()
	for n, can := range map[int]bool{10: true, 11: false} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
				var items []string
				for i := range n {
					items = append(items, fmt.Sprint("item ", i))
				}
				elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (string, error) {
					chosen, err := elicit.ChooseSeveral(ctx, call, "k", "Which?", items, asOption)
					return strings.Join(chosen, ", "), err
				})
				asked := 0
				client := elicittest.Connect(t, handler, revision, func(q elicittest.Question) elicittest.Answer {
					asked++
					if revision != "2025-06-18" {
						return elicittest.Accept(map[string]any{"choices": []string{"item 9"}})
					}
					content := map[string]bool{}
					for i := range n {
						content[fmt.Sprint("choices_", i+1)] = i == 9
					}
					return elicittest.Accept(content)
				}, nil)
				result, err := client.Call(t.Context(), "ask", none{})
				if err != nil {
					t.Fatal(err)
				}
				if !can && revision == "2025-06-18" {
					if !result.IsError || asked != 0 || !strings.Contains(result.Text, "cannot put the question") {
						t.Errorf("%d questions, result %s", asked, result.Raw)
					}
					return
				}
				if result.IsError || string(result.Structured) != `"item 9"` {
					t.Errorf("result %s", result.Raw)
				}
			})
		})
	}
}

// TestPanicElsewhere has prompts and resources panic, before and after an answer:
// the request ends with the id that is in the log, and the process lives.
func TestPanicElsewhere(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			var log lockedBuffer
			server, handler := newServer(t, &elicit.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			ask := func(ctx context.Context, call *elicit.Call) {
				if call.Request().Name != "early" && !strings.HasSuffix(call.Request().Name, "//early") {
					if _, err := elicit.Confirm(ctx, call, "sure", "Sure?"); errors.Is(err, elicit.ErrPending) {
						return
					}
				}
				panic("hunter2")
			}
			requests := map[string]map[string]any{}
			for _, name := range []string{"early", "late"} {
				elicit.AddPrompt(server, &mcp.Prompt{Name: name}, func(ctx context.Context, call *elicit.Call, _ map[string]string) (*mcp.GetPromptResult, error) {
					ask(ctx, call)
					return &mcp.GetPromptResult{}, nil
				})
				elicit.AddResource(server, &mcp.Resource{Name: name, URI: "note://" + name}, func(ctx context.Context, call *elicit.Call, _ string) ([]*mcp.ResourceContents, error) {
					ask(ctx, call)
					return nil, nil
				})
				requests["prompts/get "+name] = map[string]any{"name": name}
				requests["resources/read "+name] = map[string]any{"uri": "note://" + name}
			}
			client := elicittest.Connect(t, handler, revision, func(elicittest.Question) elicittest.Answer {
				return elicittest.Accept(map[string]any{"confirmed": true})
			}, nil)
			for what, params := range requests {
				method, _, _ := strings.Cut(what, " ")
				_, err := client.Do(t.Context(), method, maps.Clone(params))
				var refused *elicittest.Error
				if !errors.As(err, &refused) || refused.Code != -32603 {
					t.Fatalf("%s: %v", what, err)
				}
				_, id, _ := strings.Cut(refused.Message, "(error ")
				if id = strings.TrimSuffix(id, ")"); len(id) < 20 || !strings.Contains(log.String(), id) || strings.Contains(refused.Message, "hunter2") {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}
