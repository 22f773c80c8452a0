package elicit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parley-mcp/parley/elicit"
)

type in struct {
	To string `json:"to"`
}
type out struct {
	Flight string `json:"flight"`
	Bags   int64  `json:"bags"`
	N      int
}
type pick struct {
	Flight string `json:"flight" title:"Connecting flight"`
	Bags   int64  `json:"bags" title:"Bags" elicit:"min=0,default=1"`
	Aisle  *bool  `json:"aisle" title:"Aisle"`
}

func TestFirst(t *testing.T) {
	ms := mcp.NewServer(&mcp.Implementation{Name: "t"}, nil)
	s, err := elicit.NewServer(ms, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	elicit.AddTool(s, &mcp.Tool{Name: "book"}, func(ctx context.Context, call *elicit.Call, in in) (out, error) {
		offers, err := elicit.Memo(ctx, call, "offers", time.Minute, func(context.Context) ([]string, error) { n++; return []string{"A", "B"}, nil })
		if err != nil {
			return out{}, err
		}
		p, err := elicit.Ask[pick](ctx, call, "pick", "Which?", elicit.Choices("flight", offers, func(s string) elicit.Option { return elicit.Option{s, "Flight " + s} }))
		if err != nil {
			return out{}, err
		}
		ok, err := elicit.Confirm(ctx, call, "ok", "Book "+p.Flight+"?")
		if err != nil {
			return out{}, err
		}
		if ok != elicit.Yes {
			return out{}, fmt.Errorf("no")
		}
		return out{p.Flight, p.Bags, n}, nil
	})
	srv := httptest.NewServer(elicit.NewHTTPHandler(s, nil))
	defer srv.Close()
	for _, v := range []string{"2025-06-18", "2025-11-25", ""} {
		c := mcp.NewClient(&mcp.Implementation{Name: "c"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
			ElicitationHandler: func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				b, _ := json.Marshal(req.Params)
				t.Log(string(b))
				if req.Params.Message == "Which?" {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"flight": "B", "bags": 9007199254740992}}, nil
				}
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirmed": true}}, nil
			}})
		cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: srv.URL, MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: v})
		if err != nil {
			t.Fatal(err)
		}
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "book", Arguments: map[string]any{"to": "x"}})
		b, _ := json.Marshal(res)
		t.Log(cs.InitializeResult().ProtocolVersion, string(b), err)
		cs.Close()
	}
}
