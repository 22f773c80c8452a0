package elicit

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// outputKey is the context key of an *output.
type outputKey struct{}

// output is the structured result as the handler's own type writes it.
type output struct{ exact json.RawMessage }

// keepOutput notes a result that the SDK would round: it validates output as
// floats and sends those on.
func keepOutput(ctx context.Context, out any) {
	slot, ok := ctx.Value(outputKey{}).(*output)
	if !ok {
		return
	}
	text, err := json.Marshal(out)
	if err != nil {
		return // the SDK reports it
	}
	var value any
	if json.Unmarshal(text, &value) == nil && lossy(value) {
		slot.exact = text
	}
}

// mendResults is a receiving middleware that puts the exact numbers back after
// the SDK has validated a result, and keeps questions out of caches.
func mendResults(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != methodTool {
			result, err := next(ctx, method, req)
			if read, ok := result.(*mcp.ReadResourceResult); ok && read != nil && read.NeedsInput() {
				// Clients cache by URI, and would never send the answers.
				read.TTLMs = 0
			}
			return result, err
		}
		slot := &output{}
		result, err := next(context.WithValue(ctx, outputKey{}, slot), method, req)
		call, ok := result.(*mcp.CallToolResult)
		if err != nil || !ok || slot.exact == nil || call.StructuredContent == nil {
			return result, err
		}
		rounded, _ := call.StructuredContent.(json.RawMessage)
		for _, block := range call.Content {
			// The SDK's own copy for clients that read text only.
			if text, ok := block.(*mcp.TextContent); ok && text.Text == string(rounded) {
				text.Text = string(slot.exact)
			}
		}
		call.StructuredContent = slot.exact
		return call, nil
	}
}
