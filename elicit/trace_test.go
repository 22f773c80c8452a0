package elicit_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

// A handler gets the trace context of its client in every revision and through
// every handler, and of a hostile client what is bounded text only.
func TestTraceReachesHandler(t *testing.T) {
	t.Parallel()
	const parent, state, baggage = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01", "vendor=1", "user=7"
	tests := map[string]struct {
		meta map[string]any
		want map[string]string
	}{
		"all":     {map[string]any{"traceparent": parent, "tracestate": state, "baggage": baggage}, map[string]string{"traceparent": parent, "tracestate": state, "baggage": baggage}},
		"one":     {map[string]any{"traceparent": parent, "other": "x"}, map[string]string{"traceparent": parent}},
		"none":    {nil, nil},
		"hostile": {map[string]any{"traceparent": 7, "tracestate": "", "baggage": strings.Repeat("a", 8193)}, nil},
	}
	handlers := map[string]func(*elicit.Server) (http.Handler, error){
		"ordinary": func(s *elicit.Server) (http.Handler, error) { return elicit.NewHTTPHandler(s, nil), nil },
		"direct":   func(s *elicit.Server) (http.Handler, error) { return elicit.NewDirectHTTPHandler(s, nil) },
	}
	for handler, open := range handlers {
		for _, revision := range elicittest.Revisions {
			if handler == "direct" && revision != "2026-07-28" {
				continue // it is for that revision only
			}
			for name, test := range tests {
				t.Run(handler+" "+revision+" "+name, func(t *testing.T) {
					t.Parallel()
					server, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil), nil)
					if err != nil {
						t.Fatal(err)
					}
					runs := 0
					elicit.AddTool(server, &mcp.Tool{Name: "look"}, func(ctx context.Context, call *elicit.Call, _ struct{}) (struct{}, error) {
						runs++
						if diff := cmp.Diff(test.want, call.Request().Trace); diff != "" {
							t.Errorf("run %d (-want +got):\n%s", runs, diff)
						}
						if got := call.Request().Trace; got != nil {
							got["traceparent"] = "changed"
						}
						_, err := elicit.Confirm(ctx, call, "sure", "Sure?")
						return struct{}{}, err
					})
					h, err := open(server)
					if err != nil {
						t.Fatal(err)
					}
					person := elicittest.Script(t, elicittest.Decline())
					client := elicittest.Connect(t, h, revision, person, &elicittest.Options{Meta: test.meta})
					if _, err := client.Call(t.Context(), "look", nil); err != nil {
						t.Fatal(err)
					}
					if runs == 0 {
						t.Error("the handler did not run")
					}
				})
			}
		}
	}
}
