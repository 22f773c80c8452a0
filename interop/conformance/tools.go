//lint:file-ignore SA1019 the suite calls logging and roots, which 2026-07-28 deprecates

package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addTools adds tools that ask nobody, as any server on the go-sdk has them.
func addTools(server *mcp.Server) {
	addContent(server, "test_simple_text", text("This is a simple text response for testing."))
	addContent(server, "test_image_content", &mcp.ImageContent{Data: onePixel, MIMEType: "image/png"})
	addContent(server, "test_audio_content", &mcp.AudioContent{Data: silence, MIMEType: "audio/wav"})
	addContent(server, "test_embedded_resource", embedded("test://embedded-resource"))
	addContent(server, "test_multiple_content_types", text("Text, a picture and a resource:"),
		&mcp.ImageContent{Data: onePixel, MIMEType: "image/png"}, embedded("test://mixed-content-resource"))

	addTool(server, "test_error_handling", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("this tool intentionally returns an error for testing")
	})
	addTool(server, "test_tool_with_logging", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: line}); err != nil {
				return nil, err
			}
		}
		return result(text("logged")), nil
	})
	addTool(server, "test_logging_tool", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "unasked"})
		return result(text("The SDK sends this to those who asked for it.")), err
	})
	addTool(server, "test_tool_with_progress", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		token := req.Params.GetProgressToken()
		for _, done := range []float64{0, 50, 100} {
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: done, Total: 100, Message: fmt.Sprintf("Step %.0f of 100", done),
			})
			if err != nil {
				return nil, err
			}
		}
		return result(text(fmt.Sprint(token))), nil
	})
	addTool(server, "test_reconnection", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Extra != nil && req.Extra.CloseSSEStream != nil {
			req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		}
		// The client is to come back for the rest.
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
		return result(text("Reconnected.")), nil
	})
	// Adding a tool or prompt, even again, tells subscribers that the list changed.
	addTool(server, "test_trigger_tool_change", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		addContent(server, "passing_tool", text("here for a moment"))
		return result(text("The list of tools changed.")), nil
	})
	addTool(server, "test_trigger_prompt_change", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		server.AddPrompt(&mcp.Prompt{Name: "passing_prompt", Description: "Here for a moment"},
			func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{userText("here for a moment")}}, nil
			})
		return result(text("The list of prompts changed.")), nil
	})
	mcp.AddTool(server, &mcp.Tool{
		Name: "test_x_mcp_header", Description: "Has an argument that travels in a header too",
		InputSchema: json.RawMessage(`{"type":"object","properties":{
			"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`),
	}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		return result(text("Header and argument agree.")), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{
		Name: "json_schema_2020_12_tool", Description: "Has a schema that uses much of JSON Schema 2020-12",
		InputSchema: json.RawMessage(schema202012),
	}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		return result(text("The arguments fit.")), nil, nil
	})
}

const schema202012 = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {
		"address": {
			"$anchor": "addressDef",
			"type": "object",
			"properties": {"street": {"type": "string"}, "city": {"type": "string"}}
		}
	},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`

func addTool(server *mcp.Server, name string, handler func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
	mcp.AddTool(server, &mcp.Tool{Name: name, Description: "A tool that the conformance suite calls"},
		func(ctx context.Context, req *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			result, err := handler(ctx, req)
			return result, nil, err
		})
}

func addContent(server *mcp.Server, name string, content ...mcp.Content) {
	addTool(server, name, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return result(content...), nil
	})
}

func result(content ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: content} }

func text(s string) *mcp.TextContent { return &mcp.TextContent{Text: s} }

func embedded(uri string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "A resource within a result"}}
}
