package conformance

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A picture of one red pixel, and a sound of no length.
var (
	onePixel = decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	silence  = decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
)

func decode(s string) []byte {
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return data
}

func addResources(server *mcp.Server) {
	add := func(uri, mimeType string, contents mcp.ResourceContents) {
		contents.URI, contents.MIMEType = uri, mimeType
		server.AddResource(&mcp.Resource{Name: uri, URI: uri, MIMEType: mimeType}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&contents}}, nil
		})
	}
	add("test://static-text", "text/plain", mcp.ResourceContents{Text: "This is the content of the static text resource."})
	add("test://static-binary", "image/png", mcp.ResourceContents{Blob: onePixel})
	add("test://watched-resource", "text/plain", mcp.ResourceContents{Text: "Watched resource content"})

	const prefix, suffix = "test://template/", "/data"
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "template", URITemplate: prefix + "{id}" + suffix, MIMEType: "application/json"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, prefix), suffix)
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
				URI: req.Params.URI, MIMEType: "application/json",
				Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":%q}`, id, "Data for ID: "+id),
			}}}, nil
		})
}

func addPrompts(server *mcp.Server) {
	add := func(prompt *mcp.Prompt, messages func(map[string]string) []*mcp.PromptMessage) {
		server.AddPrompt(prompt, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: messages(req.Params.Arguments)}, nil
		})
	}
	add(&mcp.Prompt{Name: "test_simple_prompt", Description: "A prompt"}, func(map[string]string) []*mcp.PromptMessage {
		return []*mcp.PromptMessage{userText("This is a simple prompt for testing.")}
	})
	add(&mcp.Prompt{Name: "test_prompt_with_arguments", Description: "A prompt with arguments", Arguments: []*mcp.PromptArgument{
		{Name: "arg1", Description: "The first", Required: true}, {Name: "arg2", Description: "The second", Required: true},
	}}, func(arguments map[string]string) []*mcp.PromptMessage {
		return []*mcp.PromptMessage{userText(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", arguments["arg1"], arguments["arg2"]))}
	})
	add(&mcp.Prompt{Name: "test_prompt_with_embedded_resource", Description: "A prompt with a resource", Arguments: []*mcp.PromptArgument{
		{Name: "resourceUri", Description: "Which resource", Required: true},
	}}, func(arguments map[string]string) []*mcp.PromptMessage {
		return []*mcp.PromptMessage{{Role: "user", Content: embedded(arguments["resourceUri"])}, userText("Read the resource above.")}
	})
	add(&mcp.Prompt{Name: "test_prompt_with_image", Description: "A prompt with a picture"}, func(map[string]string) []*mcp.PromptMessage {
		return []*mcp.PromptMessage{{Role: "user", Content: &mcp.ImageContent{Data: onePixel, MIMEType: "image/png"}}, userText("What do you see?")}
	})
}

func userText(s string) *mcp.PromptMessage {
	return &mcp.PromptMessage{Role: "user", Content: text(s)}
}
