//lint:file-ignore SA1019 servers go on to log, which 2026-07-28 deprecates

package elicit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

// question is a message without the notice that may follow it.
func question(message string) string {
	text, _, _ := strings.Cut(message, "\n")
	return text
}

func stateOf(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	var result struct {
		State string `json:"requestState"`
	}
	if err := json.Unmarshal(raw, &result); err != nil || result.State == "" {
		t.Fatalf("no request state in %s", raw)
	}
	return result.State
}

// TestMiddleware has the SDK's own middleware see, change and end calls.
func TestMiddleware(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			own := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, nil)
			server, err := elicit.NewServer(own, &elicit.Options{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			type who struct{}
			var mu sync.Mutex
			var seen []string
			own.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if call, ok := req.(*mcp.CallToolRequest); ok && call.Params.Name == "forbidden" {
						return nil, fmt.Errorf("not by this middleware")
					}
					result, err := next(context.WithValue(ctx, who{}, "ada"), method, req)
					if method == "tools/call" {
						mu.Lock()
						defer mu.Unlock()
						seen = append(seen, fmt.Sprint(method, " ", err))
					}
					return result, err
				}
			})
			ran := false
			elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (string, error) {
				if _, err := elicit.Confirm(ctx, call, "sure", "Sure?"); err != nil {
					return "", err
				}
				return fmt.Sprint(ctx.Value(who{})), nil
			})
			elicit.AddTool(server, &mcp.Tool{Name: "forbidden"}, func(context.Context, *elicit.Call, none) (none, error) {
				ran = true
				return none{}, nil
			})
			client := elicittest.Connect(t, elicit.NewHTTPHandler(server, nil), revision, elicittest.Script(t, elicittest.Accept(map[string]any{"confirmed": true})), nil)
			result, err := client.Call(t.Context(), "ask", none{})
			if err != nil || string(result.Structured) != `"ada"` {
				t.Fatal(err, result)
			}
			want := []string{"tools/call <nil>"}
			if revision == modern {
				want = append(want, want[0]) // a round is a request
			}
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Errorf("seen (-want +got):\n%s", diff)
			}
			if _, err := client.Call(t.Context(), "forbidden", none{}); err == nil || ran {
				t.Errorf("ran %t, error %v", ran, err)
			}
		})
	}
}

// TestLogging sends log messages to the client while a call runs, on its stream.
func TestLogging(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			own := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, nil)
			server, err := elicit.NewServer(own, &elicit.Options{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			type sessionKey struct{}
			own.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					return next(context.WithValue(ctx, sessionKey{}, req.GetSession()), method, req)
				}
			})
			elicit.AddTool(server, &mcp.Tool{Name: "work"}, func(ctx context.Context, _ *elicit.Call, _ none) (none, error) {
				session, _ := ctx.Value(sessionKey{}).(*mcp.ServerSession)
				return none{}, session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Data: "hot"}) //nolint:staticcheck // for servers that still do
			})
			got := make(chan any, 1)
			session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, &mcp.ClientOptions{
				Capabilities:          &mcp.ClientCapabilities{},
				LoggingMessageHandler: func(_ context.Context, req *mcp.LoggingMessageRequest) { got <- req.Params.Data },
			}).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: serve(t, elicit.NewHTTPHandler(server, nil)), MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { session.Close() })
			params := &mcp.CallToolParams{Name: "work", Arguments: none{}}
			if revision == modern {
				params.Meta = mcp.Meta{"io.modelcontextprotocol/logLevel": "info"}
			} else if err := session.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil { //nolint:staticcheck // likewise
				t.Fatal(err)
			}
			if result, err := session.CallTool(t.Context(), params); err != nil || result.IsError {
				t.Fatal(err, result)
			}
			if data := <-got; data != "hot" {
				t.Errorf("logged %v", data)
			}
		})
	}
}

// TestRoundsWarn warns in the log when a call gets near to where clients on the
// go-sdk give up, once.
func TestRoundsWarn(t *testing.T) {
	t.Parallel()
	for rounds, want := range map[int]int{7: 0, 8: 1, 12: 1} {
		t.Run(fmt.Sprint(rounds), func(t *testing.T) {
			t.Parallel()
			var log lockedBuffer
			server, handler := newServer(t, &elicit.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
				for i := range rounds {
					if _, err := elicit.Confirm(ctx, call, fmt.Sprint("k", i), "Sure?"); err != nil {
						return none{}, err
					}
				}
				return none{}, nil
			})
			client := elicittest.Connect(t, handler, modern, func(elicittest.Question) elicittest.Answer {
				return elicittest.Accept(map[string]any{"confirmed": true})
			}, nil)
			result, err := client.Call(t.Context(), "ask", none{})
			if err != nil || result.IsError || result.Rounds != rounds+1 {
				t.Fatal(err, result)
			}
			if got := strings.Count(log.String(), "clients on go-sdk give up"); got != want {
				t.Errorf("%d warnings, want %d: %s", got, want, log.String())
			}
		})
	}
}

// TestLongNotice keeps the message within its limit when a question comes again
// with a reason.
func TestLongNotice(t *testing.T) {
	t.Parallel()
	inEach(t, &elicit.Options{Limits: elicit.Limits{Message: 30}}, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
		elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
			_, err := elicit.Ask[size](ctx, call, "size", "What size is it, then?")
			return none{}, err
		})
		person := elicittest.Script(t, elicittest.Wrong(), elicittest.Accept(map[string]any{"width": 2}))
		client := elicittest.Connect(t, handler, revision, func(q elicittest.Question) elicittest.Answer {
			if len(q.Message) > 30 {
				t.Errorf("a message of %d bytes", len(q.Message))
			}
			return person(q)
		}, nil)
		if result, err := client.Call(t.Context(), "ask", none{}); err != nil || result.IsError {
			t.Error(err, result)
		}
	})
}
