package elicit

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The requests that a server may answer with questions (MCP 2026-07-28 mrtr,
// "Supported Requests" S1).
const (
	methodTool     = "tools/call"
	methodPrompt   = "prompts/get"
	methodResource = "resources/read"
)

// incoming is a request of any of these methods.
type incoming struct {
	method    string
	name      string // of the tool or prompt; the URI of a resource
	arguments json.RawMessage
	inputs    []string // names of arguments that it takes

	meta    mcp.Meta
	state   string
	answers mcp.InputResponseMap // as the SDK decoded them, if it did
	token   any                  // for progress

	session      *mcp.ServerSession
	extra        *mcp.RequestExtra
	version      string
	capabilities *mcp.ClientCapabilities
	client       *mcp.Implementation
}

func newIncoming[P mcp.Params](method string, req *mcp.ServerRequest[P]) incoming {
	return incoming{
		method:       method,
		meta:         req.Params.GetMeta(),
		session:      req.Session,
		extra:        req.Extra,
		version:      req.ProtocolVersion(),
		capabilities: req.ClientCapabilities(),
		client:       req.ClientInfo(),
	}
}

func toolIncoming(req *mcp.CallToolRequest, inputs []string) incoming {
	in := newIncoming(methodTool, req)
	in.name, in.arguments, in.inputs = req.Params.Name, req.Params.Arguments, inputs
	in.state, in.answers, in.token = req.Params.RequestState, req.Params.InputResponses, req.Params.GetProgressToken()
	return in
}

func promptIncoming(req *mcp.GetPromptRequest, prompt *mcp.Prompt) (incoming, error) {
	in := newIncoming(methodPrompt, req)
	in.name = req.Params.Name
	in.state, in.answers, in.token = req.Params.RequestState, req.Params.InputResponses, req.Params.GetProgressToken()
	for _, argument := range prompt.Arguments {
		in.inputs = append(in.inputs, argument.Name)
	}
	if len(req.Params.Arguments) == 0 {
		return in, nil
	}
	var err error
	in.arguments, err = json.Marshal(req.Params.Arguments)
	return in, err
}

func resourceIncoming(req *mcp.ReadResourceRequest) incoming {
	in := newIncoming(methodResource, req)
	in.name = req.Params.URI
	in.state, in.answers, in.token = req.Params.RequestState, req.Params.InputResponses, req.Params.GetProgressToken()
	return in
}

// progress returns the sink of progress notifications, or nil if the client
// wants none.
func (in incoming) progress() func(context.Context, float64, float64, string) {
	if in.token == nil {
		return nil
	}
	token, session := in.token, in.session
	return func(ctx context.Context, done, total float64, message string) {
		_ = session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: done, Total: total, Message: message,
		})
	}
}
