package clients

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	mcpgoclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// mcpGoPerson is an mcpgoclient.ElicitationHandler.
type mcpGoPerson func(context.Context, question) (answer, error)

func (p mcpGoPerson) Elicit(ctx context.Context, req mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	schema, err := json.Marshal(req.Params.RequestedSchema)
	if err != nil {
		return nil, err
	}
	reply, err := p(ctx, question{Mode: req.Params.Mode, Message: req.Params.Message, Schema: schema, URL: req.Params.URL})
	response := mcp.ElicitationResponse{Action: mcp.ElicitationResponseAction(reply.Action)}
	if reply.Content != nil {
		response.Content = reply.Content
	}
	return &mcp.ElicitationResult{ElicitationResponse: response}, err
}

func connectMCPGo(t *testing.T, l *link) func(request) outcome {
	t.Helper()
	var wire transport.Interface
	if l.server.Command != "" {
		wire = transport.NewStdio(l.server.Command, environment(l.server.Env), l.server.Args...)
	} else {
		http, err := transport.NewStreamableHTTP(l.server.URL)
		if err != nil {
			t.Fatal(err)
		}
		wire = http
	}
	options := []mcpgoclient.ClientOption{mcpgoclient.WithProtocolVersion(l.revision)}
	can := mcp.ClientCapabilities{}
	if len(l.canAsk) > 0 {
		options = append(options, mcpgoclient.WithElicitationHandler(mcpGoPerson(l.answer)))
		can.Elicitation = &mcp.ElicitationCapability{}
		for _, mode := range l.canAsk {
			switch mode {
			case "form":
				can.Elicitation.Form = &struct{}{}
			case "url":
				can.Elicitation.URL = &struct{}{}
			}
		}
	}
	session := mcpgoclient.NewClient(wire, append(options, mcpgoclient.WithClientCapabilities(can))...)
	if err := session.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	_, err := session.Initialize(t.Context(), mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: l.revision,
		ClientInfo:      mcp.Implementation{Name: "mcp-go", Version: "1.2.1"},
		Capabilities:    can,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := session.ProtocolVersion(); got != l.revision {
		t.Fatalf("negotiated %s, want %s", got, l.revision)
	}
	return func(r request) outcome {
		var res any
		var err error
		switch {
		case r.prompt != "":
			res, err = session.GetPrompt(t.Context(), mcp.GetPromptRequest{Params: mcp.GetPromptParams{Name: r.prompt}})
		case r.resource != "":
			res, err = session.ReadResource(t.Context(), mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: r.resource}})
		case r.list:
			res, err = session.ListTools(t.Context(), mcp.ListToolsRequest{})
		default:
			res, err = session.CallTool(t.Context(), mcp.CallToolRequest{Params: mcp.CallToolParams{Name: r.tool, Arguments: r.arguments}})
		}
		if _, ok := errors.AsType[mcp.MissingRequiredClientCapabilityError](err); ok {
			// The client keeps the code and drops the message.
			return outcome{Error: err.Error(), Code: mcp.MISSING_REQUIRED_CLIENT_CAPABILITY}
		}
		if err != nil {
			return outcome{Error: err.Error()}
		}
		text, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		return result(t, text)
	}
}
