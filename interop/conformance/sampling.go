//lint:file-ignore SA1019 the suite calls sampling and roots, which 2026-07-28 deprecates

package conformance

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addSampling adds what asks a model or for roots, alone or in one round with
// a question for a person. The kit asks people only, so these are plain go-sdk
// tools. So is the one that wants a field with enumNames: the kit writes the
// successor of that deprecated keyword.
func addSampling(server *mcp.Server) {
	mcp.AddTool(server, &mcp.Tool{Name: "test_sampling", Description: "Asks a model"}, sample)
	addTool(server, "test_elicitation_sep1330_enums", askEnums)
	addTool(server, "test_missing_capability", needSampling)
	addTool(server, "test_input_required_result_sampling", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer, ok := req.Params.InputResponses["capital_question"].(*mcp.CreateMessageWithToolsResult); ok {
			return result(answer.Content...), nil
		}
		return asks("", mcp.InputRequestMap{"capital_question": sampling("What is the capital of France?")}), nil
	})
	addTool(server, "test_input_required_result_list_roots", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer, ok := req.Params.InputResponses["client_roots"].(*mcp.ListRootsResult); ok {
			return result(text(fmt.Sprint("Roots: ", len(answer.Roots)))), nil
		}
		return asks("", mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}}), nil
	})
	addTool(server, "test_input_required_result_multiple_inputs", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answers := req.Params.InputResponses
		name, named := answers["user_name"].(*mcp.ElicitResult)
		_, greeted := answers["greeting"].(*mcp.CreateMessageWithToolsResult)
		roots, rooted := answers["client_roots"].(*mcp.ListRootsResult)
		if named && greeted && rooted && name.Action == "accept" {
			return result(text(fmt.Sprintf("Hello %v, with %d roots", name.Content["name"], len(roots.Roots)))), nil
		}
		return asks("all", mcp.InputRequestMap{
			"user_name":    askForName(),
			"greeting":     sampling("Generate a greeting"),
			"client_roots": &mcp.ListRootsParams{},
		}), nil
	})
	addTool(server, "test_input_required_result_capabilities", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(req.Params.InputResponses) > 0 {
			return result(text("Answered.")), nil
		}
		can, requests := req.ClientCapabilities(), mcp.InputRequestMap{}
		if can != nil && can.Elicitation != nil {
			requests["user_name"] = askForName()
		}
		if can != nil && can.Sampling != nil {
			requests["greeting"] = sampling("Generate a short greeting")
		}
		if len(requests) == 0 {
			return result(text("There is nobody to ask.")), nil
		}
		return asks("", requests), nil
	})
}

func asks(state string, requests mcp.InputRequestMap) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: requests, RequestState: state}
}

func sampling(prompt string) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{
		Messages:  []*mcp.SamplingMessage{{Role: "user", Content: text(prompt)}},
		MaxTokens: 100,
	}
}

func askForName() *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Message: "What is your name?",
		RequestedSchema: &jsonschema.Schema{
			Type: "object", Properties: map[string]*jsonschema.Schema{"name": {Type: "string"}}, Required: []string{"name"},
		},
	}
}

func sample(ctx context.Context, req *mcp.CallToolRequest, in struct {
	Prompt string `json:"prompt"`
}) (*mcp.CallToolResult, any, error) {
	answer, err := req.Session.CreateMessage(ctx, sampling(in.Prompt))
	if err != nil {
		return nil, nil, err
	}
	reply, _ := answer.Content.(*mcp.TextContent)
	if reply == nil {
		return nil, nil, fmt.Errorf("the model answered with %T", answer.Content)
	}
	return result(text("LLM response: " + reply.Text)), nil, nil
}

func askEnums(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer, err := req.Session.Elicit(ctx, &mcp.ElicitParams{
		Message: "Choose one or several.",
		RequestedSchema: json.RawMessage(`{"type": "object", "properties": {
			"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
			"titledSingle": {"type": "string", "oneOf": [
				{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]},
			"legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["One", "Two"]},
			"untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
			"titledMulti": {"type": "array", "items": {"anyOf": [
				{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]}}
		}}`),
	})
	if err != nil {
		return nil, err
	}
	return result(text(fmt.Sprintf("Elicitation: %s, %v", answer.Action, answer.Content))), nil
}

// needSampling refuses a client that has no model, as MCP 2026-07-28 wants it.
func needSampling(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if can := req.ClientCapabilities(); can != nil && can.Sampling != nil {
		return result(text("There is a model.")), nil
	}
	return nil, &jsonrpc.Error{
		Code:    mcp.CodeMissingRequiredClientCapabilities,
		Message: "this tool needs a client with sampling",
		Data:    json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`),
	}
}
