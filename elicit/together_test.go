package elicit_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
)

// fragile is a value of the author's whose reading panics.
type fragile string

func (*fragile) UnmarshalText([]byte) error { panic("what an answer") }

// TestTogether has two questions of a legacy call open at once where the author
// says that the client can, and one where not.
func TestTogether(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2025-06-18", "2025-11-25"} {
		for name, want := range map[string]int{"able": 2, "unknown": 1} {
			t.Run(revision+"/"+name, func(t *testing.T) {
				t.Parallel()
				server, handler := newServer(t, &elicit.Options{
					Limits:   elicit.Limits{Rounds: 1},
					Together: func(client, version string) bool { return client == "able" && version == "7" },
				})
				elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (string, error) {
					a, b := elicit.NewQuestion[int]("a", "A?"), elicit.NewQuestion[int]("b", "B?")
					err := elicit.AskAll(ctx, call, a, b)
					return fmt.Sprint(a.Value, b.Value), err
				})
				var mu sync.Mutex
				open, most := 0, 0
				both := make(chan struct{})
				session, err := mcp.NewClient(&mcp.Implementation{Name: name, Version: "7"}, &mcp.ClientOptions{
					Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
					ElicitationHandler: func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						mu.Lock()
						open++
						if most = max(most, open); open == 2 {
							close(both)
						}
						mu.Unlock()
						if want == 2 {
							<-both
						}
						mu.Lock()
						defer mu.Unlock()
						open--
						return &mcp.ElicitResult{Action: "accept", Content: map[string]any{strings.ToLower(req.Params.Message[:1]): int(req.Params.Message[0])}}, nil
					},
				}).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: serve(t, handler), MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { session.Close() })
				result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask", Arguments: none{}})
				if err != nil || result.IsError || result.StructuredContent != "65 66" || most != want {
					t.Errorf("%d open at once, want %d; error %v, result %+v", most, want, err, result)
				}
			})
		}
	}
}

// TestTogetherPanics has the author's own code panic while two answers are read:
// the call ends, not the process.
func TestTogetherPanics(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{false, true} {
		var log lockedBuffer
		server, handler := newServer(t, &elicit.Options{
			Together: func(string, string) bool { return together },
			Logger:   slog.New(slog.NewTextHandler(&log, nil)),
		})
		elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
			return none{}, elicit.AskAll(ctx, call, elicit.NewQuestion[fragile]("a", "A?"), elicit.NewQuestion[fragile]("b", "B?"))
		})
		session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, &mcp.ClientOptions{
			Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
			ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{strings.ToLower(req.Params.Message[:1]): "x"}}, nil
			},
		}).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: serve(t, handler), MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { session.Close() })
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask", Arguments: none{}})
		if err != nil || !result.IsError || !slices.ContainsFunc(result.Content, func(c mcp.Content) bool {
			text, ok := c.(*mcp.TextContent)
			return ok && strings.Contains(text.Text, "failed unexpectedly")
		}) || !strings.Contains(log.String(), "what an answer") {
			t.Errorf("error %v, result %+v, log %s", err, result, log.String())
		}
	}
}
