package wiretap_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/internal/wiretap"
)

// A server that asks in the middle of a call, in the legacy era.
func serve() http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "inn", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "book", InputSchema: map[string]any{"type": "object"}},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			res, err := req.Session.Elicit(ctx, &mcp.ElicitParams{
				Message:         "How many nights?",
				RequestedSchema: json.RawMessage(`{"type":"object","properties":{"nights":{"type":"integer"},"bed":{"type":"string"}}}`),
			})
			if err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint("nights: ", res.Content["nights"])}}}, nil
		})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
}

func Example() {
	srv := httptest.NewServer(serve())
	defer srv.Close()
	ctx := context.Background()

	tap := wiretap.New(nil)
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			q := tap.Question(req.Params.GetMeta())
			fmt.Printf("call %s asks: %s\n", q.Exchanges[0].Call, q.Params)
			q.Answer(json.RawMessage(`{"action":"accept","content":{"nights":3}}`), func(context.Context) error {
				fmt.Println("mark: answer")
				return nil
			})
			return &mcp.ElicitResult{Action: "cancel"}, nil // a placeholder
		},
	})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: srv.URL, HTTPClient: &http.Client{Transport: tap.RoundTripper(nil)}, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()

	x := &wiretap.Exchange{Call: "c1", BeforeSend: func(context.Context) error {
		fmt.Println("mark: sent")
		return nil
	}}
	if _, err := session.CallTool(wiretap.With(ctx, x), &mcp.CallToolParams{Name: "book"}); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("reply: %s\n", x.Outcome().Reply.Result)
	// Output:
	// mark: sent
	// call c1 asks: {"mode":"form","message":"How many nights?","requestedSchema":{"type":"object","properties":{"nights":{"type":"integer"},"bed":{"type":"string"}}}}
	// mark: answer
	// reply: {"content":[{"type":"text","text":"nights: 3"}]}
}
