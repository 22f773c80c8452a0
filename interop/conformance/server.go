package conformance

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
)

// NewServer returns a server with everything that the suite calls. Options may
// be nil.
func NewServer(options *elicit.Options) (*elicit.Server, error) {
	plain := mcp.NewServer(&mcp.Implementation{Name: "parley-conformance", Version: "1.0.0"}, &mcp.ServerOptions{
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	server, err := elicit.NewServer(plain, options)
	if err != nil {
		return nil, err
	}
	addAsking(server)
	addTools(plain)
	addSampling(plain)
	addResources(plain)
	addPrompts(plain)
	return server, nil
}
