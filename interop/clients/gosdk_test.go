package clients

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func connectGoSDK(t *testing.T, l *link) func(request) outcome {
	t.Helper()
	options := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	if len(l.canAsk) > 0 {
		can := &mcp.ElicitationCapabilities{}
		for _, mode := range l.canAsk {
			switch mode {
			case "form":
				can.Form = &mcp.FormElicitationCapabilities{}
			case "url":
				can.URL = &mcp.URLElicitationCapabilities{}
			}
		}
		options.Capabilities.Elicitation = can
		options.ElicitationHandler = func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			schema, err := json.Marshal(req.Params.RequestedSchema)
			if err != nil {
				return nil, err
			}
			reply, err := l.answer(ctx, question{Mode: req.Params.Mode, Message: req.Params.Message, Schema: schema, URL: req.Params.URL})
			return &mcp.ElicitResult{Action: reply.Action, Content: reply.Content}, err
		}
	}
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: l.server.URL}
	if l.server.Command != "" {
		command := exec.Command(l.server.Command, l.server.Args...)
		command.Env = append(os.Environ(), environment(l.server.Env)...)
		command.Stderr = t.Output()
		transport = &mcp.CommandTransport{Command: command}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1.8.0"}, options).
		Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: l.revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != l.revision {
		t.Fatalf("negotiated %s, want %s", got, l.revision)
	}
	return func(r request) outcome {
		var res any
		var err error
		switch {
		case r.prompt != "":
			res, err = session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: r.prompt})
		case r.resource != "":
			res, err = session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: r.resource})
		case r.list:
			res, err = session.ListTools(t.Context(), nil)
		default:
			res, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: r.tool, Arguments: r.arguments})
		}
		if err != nil {
			o := outcome{Error: err.Error()}
			if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
				o.Code, o.Error = int(wire.Code), wire.Message
			}
			return o
		}
		text, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		return result(t, text)
	}
}

func environment(env map[string]string) []string {
	var list []string
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}
