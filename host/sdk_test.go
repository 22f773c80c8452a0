package host_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
)

const sdkSchema = `{"type":"object","properties":{"name":{"type":"string","title":"Name"}},"required":["name"]}`

// sdkServer is a server on the official SDK that asks a person in the way of
// its revision.
func sdkServer(revision string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{
		SupportedProtocolVersions: []string{revision},
	})
	question := &mcp.ElicitParams{Mode: "form", Message: "Who are you?", RequestedSchema: json.RawMessage(sdkSchema)}
	hello := func(answer *mcp.ElicitResult) *mcp.CallToolResult {
		name, _ := answer.Content["name"].(string)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer.Action + " " + name}}}
	}
	s.AddTool(&mcp.Tool{Name: "greet", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if revision < "2026-07-28" {
				answer, err := req.Session.Elicit(ctx, question)
				if err != nil {
					return nil, err
				}
				return hello(answer), nil
			}
			if answer, ok := req.Params.InputResponses["who"].(*mcp.ElicitResult); ok && req.Params.RequestState == "s" {
				return hello(answer), nil
			}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"who": question}, RequestState: "s"}, nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "poem"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "a poem"}}}}, nil
	})
	s.AddResource(&mcp.Resource{Name: "r", URI: "test://r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test://r", Text: "a text"}}}, nil
	})
	return s
}

var revisions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

func init() {
	for _, revision := range revisions {
		otherPrograms["sdk "+revision] = func() error {
			return sdkServer(revision).Run(context.Background(), &mcp.StdioTransport{})
		}
	}
}

func TestOfficialSDK(t *testing.T) {
	t.Parallel()
	for _, revision := range revisions {
		for _, kind := range []host.Kind{host.HTTP, host.Stdio} {
			t.Run(revision+" "+string(kind), func(t *testing.T) {
				t.Parallel()
				var s *host.Server
				if kind == host.HTTP {
					sdk := sdkServer(revision)
					web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk },
						&mcp.StreamableHTTPOptions{Stateless: revision >= "2026-07-28"}))
					t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
					s = &host.Server{ID: "sdk", URL: web.URL}
				} else {
					s = program(t, "sdk", "sdk "+revision)
				}
				r := newRig(t, nil, nil, s)
				call := r.start("sdk", "greet", "")
				why := host.Asked
				if revision < "2026-07-28" {
					why = host.Held
				}
				r.step(call.ID, why)
				r.answer(r.one(call.ID), inbox.Accept, `{"name":"Ada"}`)
				if got := text(t, r.end(call.ID)); got != "accept Ada" {
					t.Errorf("got %q", got)
				}
				if st := r.Servers(ada)[0]; st.State != host.Connected || st.Revision != revision || !st.Local {
					t.Errorf("status %+v, want connected with %s", st, revision)
				}
				for method, name := range map[string]string{"prompts/get": "poem", "resources/read": "test://r"} {
					c, err := r.Start(t.Context(), ada, host.NewCall{Server: "sdk", Method: method, Name: name})
					if err != nil {
						t.Fatal(err)
					}
					for range 2 { // the SDK's cache must not stand between
						if end := r.end(c.ID); end.State != inbox.Done || len(end.Result) < 20 {
							t.Errorf("%s: %s %s", method, end.State, end.Result)
						}
					}
				}
			})
		}
	}
}
