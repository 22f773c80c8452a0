package wiretap

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	v2025 = "2025-11-25"
	v2026 = "2026-07-28"
)

// testCtx ends a test that hangs; nothing waits for it otherwise.
func testCtx(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

type elicitFunc func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)

// newClient is a client as the host makes it.
func newClient(handler elicitFunc) *mcp.Client {
	opts := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		}},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	}
	if handler != nil {
		opts.ElicitationHandler = handler
	}
	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
}

// overHTTP connects to url through tap.
func overHTTP(t *testing.T, tap *Tap, url, version string, handler elicitFunc, change ...func(*mcp.StreamableClientTransport)) *mcp.ClientSession {
	t.Helper()
	base := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(base.CloseIdleConnections)
	transport := &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: tap.RoundTripper(base)},
		DisableStandaloneSSE: true, MaxRetries: -1,
	}
	for _, f := range change {
		f(transport)
	}
	cs, err := newClient(handler).Connect(testCtx(t), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() {
		cs.Close()
		tap.Close()
	})
	return cs
}

func callTool(t *testing.T, cs *mcp.ClientSession, x *Exchange, tool string) (*mcp.CallToolResult, error) {
	t.Helper()
	return cs.CallTool(With(testCtx(t), x), &mcp.CallToolParams{Name: tool})
}

func wait(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-testCtx(t).Done():
		t.Fatalf("timed out waiting for %s", what)
	}
}

// sdkServer is a go-sdk server with one tool of each kind.
func sdkServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "srv", Version: "1"}, nil)
	add := func(name string, h mcp.ToolHandler) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, h)
	}
	add("plain", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})
	// ask calls back, as servers do in the legacy era.
	add("ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "How many?", RequestedSchema: json.RawMessage(askSchema)})
		if err != nil {
			return nil, err
		}
		b, err := json.Marshal(res.Content)
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: res.Action + string(b)}}}, nil
	})
	// round returns what it needs, as servers do in the modern era.
	add("round", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.RequestState == "" {
			return &mcp.CallToolResult{RequestState: "s1", InputRequests: mcp.InputRequestMap{
				"n": &mcp.ElicitParams{Message: "How many?", RequestedSchema: json.RawMessage(askSchema)},
			}}, nil
		}
		res, ok := req.Params.InputResponses["n"].(*mcp.ElicitResult)
		if !ok {
			return nil, errors.New("no answer")
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: res.Action}}}, nil
	})
	return s
}

// askSchema has an order of fields and a number that a map of float64 loses.
const askSchema = `{"type":"object","properties":{"zebra":{"type":"integer","maximum":9007199254740993},"apple":{"type":"string"}},"required":["zebra"]}`
