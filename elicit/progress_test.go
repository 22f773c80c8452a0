package elicit_test

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
)

// TestProgressWhileVisiting: the same while the person is on a page.
func TestProgressWhileVisiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		desk := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		server, err := elicit.NewServer(desk, nil)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
			return none{}, elicit.Visit(ctx, call, "k", "Pay.", "https://pay.example/", func(context.Context, elicit.Principal) (bool, error) {
				return time.Since(begin) > 100*time.Second, nil
			})
		})
		serverSide, clientSide := mcp.NewInMemoryTransports()
		if _, err := desk.Connect(t.Context(), serverSide, nil); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		reports := 0
		session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, &mcp.ClientOptions{
			Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept"}, nil
			},
			ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
				mu.Lock()
				defer mu.Unlock()
				reports++
			},
		}).Connect(t.Context(), clientSide, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		params := &mcp.CallToolParams{Name: "ask", Arguments: none{}}
		params.SetProgressToken("t")
		if result, err := session.CallTool(t.Context(), params); err != nil || result.IsError {
			t.Errorf("error %v, result %+v", err, result)
		}
		synctest.Wait()
		if reports != 6 {
			t.Errorf("%d reports in 100 s, want 6", reports)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestProgressWhileAsked: a client that gives up on a call without progress
// hears some while the person thinks, and values only rise.
func TestProgressWhileAsked(t *testing.T) {
	t.Parallel()
	for _, before := range []float64{math.NaN(), 0, 0.5, 1e17} { // NaN: none
		synctest.Test(t, func(t *testing.T) {
			desk := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
			server, err := elicit.NewServer(desk, nil)
			if err != nil {
				t.Fatal(err)
			}
			elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
				call.Progress(ctx, before, 1, "before")
				_, err := elicit.Confirm(ctx, call, "sure", "Sure?")
				call.Progress(ctx, before, 1, "again") // no more than before: left out
				call.Progress(ctx, 2e17, 1, "after")
				return none{}, err
			})
			serverSide, clientSide := mcp.NewInMemoryTransports()
			if _, err := desk.Connect(t.Context(), serverSide, nil); err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			var values []float64
			var messages []string
			session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, &mcp.ClientOptions{
				Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					time.Sleep(100 * time.Second) //nolint:forbidigo // synctest: of the bubble's clock
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirmed": true}}, nil
				},
				ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
					mu.Lock()
					defer mu.Unlock()
					values, messages = append(values, req.Params.Progress), append(messages, req.Params.Message)
				},
			}).Connect(t.Context(), clientSide, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
			if err != nil {
				t.Fatal(err)
			}
			call := func(token any) {
				params := &mcp.CallToolParams{Name: "ask", Arguments: none{}}
				if token != nil {
					params.SetProgressToken(token)
				}
				if result, err := session.CallTool(t.Context(), params); err != nil || result.IsError {
					t.Errorf("error %v, result %+v", err, result)
				}
				synctest.Wait()
			}
			call("t")
			want := slices.Repeat([]string{"waiting for an answer"}, 6)
			if !math.IsNaN(before) {
				want = append([]string{"before"}, want...)
			}
			want = append(want, "after")
			if !slices.Equal(messages, want) {
				t.Errorf("messages %q, want %q", messages, want)
			}
			for i := range len(values) - 1 {
				if values[i+1] <= values[i] {
					t.Errorf("values %v do not rise", values)
				}
			}
			values, messages = nil, nil
			call(nil)
			if len(values) > 0 {
				t.Errorf("progress %q without a token", messages)
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
