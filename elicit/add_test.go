package elicit_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

type greeting struct {
	Name string `json:"name" elicit:"min=2"`
}

// addAskers adds a prompt, a resource and a template that ask for a name, and
// returns a request for each.
func addAskers(s *elicit.Server) map[string]map[string]any {
	greet := func(ctx context.Context, call *elicit.Call, what string) (string, error) {
		got, err := elicit.Ask[greeting](ctx, call, "who", "Who reads "+what+"?")
		if err != nil {
			return "", err
		}
		sure, err := elicit.Confirm(ctx, call, "sure", "Really "+got.Name+"?")
		if err != nil {
			return "", err
		}
		return what + " for " + got.Name + ": " + sure.String(), nil
	}
	elicit.AddPrompt(s, &mcp.Prompt{Name: "letter", Arguments: []*mcp.PromptArgument{{Name: "name"}, {Name: "topic"}}},
		func(ctx context.Context, call *elicit.Call, arguments map[string]string) (*mcp.GetPromptResult, error) {
			text, err := greet(ctx, call, arguments["topic"])
			if err != nil {
				return nil, err
			}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
		})
	read := func(ctx context.Context, call *elicit.Call, uri string) ([]*mcp.ResourceContents, error) {
		text, err := greet(ctx, call, uri)
		if err != nil {
			return nil, err
		}
		return []*mcp.ResourceContents{{Text: text}}, nil
	}
	elicit.AddResource(s, &mcp.Resource{Name: "note", URI: "note://one"}, read)
	elicit.AddResourceTemplate(s, &mcp.ResourceTemplate{Name: "page", URITemplate: "page://{n}"}, read)
	return map[string]map[string]any{
		"prompts/get note":        {"name": "letter", "arguments": map[string]string{"topic": "poems"}},
		"resources/read resource": {"uri": "note://one"},
		"resources/read template": {"uri": "page://7"},
	}
}

func TestPromptsAndResources(t *testing.T) {
	t.Parallel()
	inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
		for what, params := range addAskers(server) {
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				method, _, _ := strings.Cut(what, " ")
				var keys []string
				answers := []elicittest.Answer{
					elicittest.Accept(greeting{Name: "A"}),
					{Raw: json.RawMessage(`{"roots":[]}`)}, // the SDK alone would take this for an answer
					elicittest.Accept(greeting{Name: "Ada"}),
					elicittest.Accept(map[string]any{"confirmed": true}),
				}
				client := elicittest.Connect(t, handler, revision, func(q elicittest.Question) elicittest.Answer {
					keys = append(keys, q.Key)
					return answers[len(keys)-1]
				}, nil)
				raw, err := client.Do(t.Context(), method, params)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(string(raw), "for Ada: yes") {
					t.Errorf("result %s", raw)
				}
				if diff := cmp.Diff([]string{"who", "who#2", "who#3", "sure"}, keys); revision == modern && diff != "" {
					t.Errorf("wire keys (-want +got):\n%s", diff)
				}
				if method == "resources/read" && revision == modern && !strings.Contains(string(raw), `"cacheScope":"private"`) {
					t.Errorf("an answer of one person may be cached for others: %s", raw)
				}
			})
		}
	})
}

// TestRequestErrors are the errors where there are no error results.
func TestRequestErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		person elicittest.Person
		reason string
	}{
		{"declined", func(elicittest.Question) elicittest.Answer { return elicittest.Decline() }, "declined"},
		{"cancelled", func(elicittest.Question) elicittest.Answer { return elicittest.Cancel() }, "cancelled"},
		{"invalid", func(elicittest.Question) elicittest.Answer { return elicittest.Accept(greeting{}) }, "invalid"},
		{"nobody", nil, "unanswerable"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
				for what, params := range addAskers(server) {
					method, _, _ := strings.Cut(what, " ")
					client := elicittest.Connect(t, handler, revision, test.person, nil)
					_, err := client.Do(t.Context(), method, params)
					var refused *elicittest.Error
					if !errors.As(err, &refused) {
						t.Fatalf("%s: %v", what, err)
					}
					if test.person == nil && revision == modern {
						if refused.Code != -32021 || refused.Status != http.StatusBadRequest {
							t.Errorf("%s: %v", what, refused)
						}
						continue
					}
					if refused.Code != -32000 || string(refused.Data) != `{"reason":"`+test.reason+`"}` {
						t.Errorf("%s: %v, data %s", what, refused, refused.Data)
					}
				}
			})
		})
	}
}

// TestStateOfAnother uses a prompt's state for a resource and the other way.
func TestStateOfAnother(t *testing.T) {
	t.Parallel()
	server, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "x"}, &mcp.ServerOptions{
		// Clients cache what has a time to live, and would never send answers.
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs = 60_000 },
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	requests := addAskers(server)
	client := elicittest.Connect(t, elicit.NewHTTPHandler(server, nil), modern, elicittest.Script(t), nil)
	for from, first := range requests {
		method, _, _ := strings.Cut(from, " ")
		raw, err := client.Send(t.Context(), method, first)
		if err != nil {
			t.Fatal(err)
		}
		var interim struct {
			State string `json:"requestState"`
			TTL   int    `json:"ttlMs"`
		}
		if err := json.Unmarshal(raw, &interim); err != nil || interim.State == "" || interim.TTL != 0 {
			t.Fatalf("interim result %s", raw)
		}
		for to, second := range requests {
			if to == from {
				continue
			}
			params := map[string]any{"requestState": interim.State}
			maps.Copy(params, second)
			method, _, _ := strings.Cut(to, " ")
			var refused *elicittest.Error
			if _, err := client.Send(t.Context(), method, params); !errors.As(err, &refused) || refused.Code != -32602 {
				t.Errorf("state of %s for %s: %v", from, to, err)
			}
		}
	}
}
