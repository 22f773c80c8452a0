package elicit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// response writes what the SDK would send: an event, or the text of an error
// with its HTTP status. An event is in the buffer that is given. Bare says that the result comes from the SDK, with no
// middleware of strangers on its way.
func (x *exchange) response(event *bytes.Buffer, m *callMessage, result mcp.Result, failure error, bare bool) (text []byte, status int) {
	if failure == nil && result == nil {
		failure = refuseWith(refuseFailed, "no result") // of middleware
	}
	if failure == nil {
		meta := result.GetMeta()
		if _, named := meta[mcp.MetaKeyServerInfo]; !named && x.info != nil {
			if meta == nil {
				meta = make(map[string]any)
			}
			meta[mcp.MetaKeyServerInfo] = x.info
			result.SetMeta(meta)
		}
		var plain any = result
		if bare {
			plain = plainResult(result)
		}
		if failure = m.encode(event, plain); failure == nil {
			return event.Bytes(), 0
		}
	}
	if wire, ok := errors.AsType[*jsonrpc.Error](failure); ok && wire.Code == jsonrpc.CodeMethodNotFound {
		failure = refuseWith(refuseMethod, fmt.Sprintf("%q", m.method)) // as the SDK words it
	}
	response := &jsonrpc.Response{ID: m.id, Error: failure}
	text, err := jsonrpc.EncodeMessage(response)
	if err != nil { // data of an error that is no JSON
		response.Error = refuseWith(refuseFailed, failure.Error())
		text, _ = jsonrpc.EncodeMessage(response) // a code and a text
	}
	if status = errorStatus(response); status == 0 {
		text = slices.Concat([]byte(eventStart), text, []byte(eventEnd))
	}
	return text, status
}

// errorStatus is the HTTP status of errors that have one (MCP 2026-07-28
// transports, "Error Handling"), else 0.
func errorStatus(r *jsonrpc.Response) int {
	var wire *jsonrpc.Error
	if !errors.As(r.Error, &wire) {
		return 0
	}
	switch wire.Code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeInvalidParams, mcp.CodeUnsupportedProtocolVersion, mcp.CodeMissingRequiredClientCapabilities:
		return http.StatusBadRequest
	}
	return 0
}

// encode appends the event of a response.
func (m *callMessage) encode(text *bytes.Buffer, result any) error {
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false) // as the SDK does
	text.WriteString(eventStart + `{"jsonrpc":"2.0","id":`)
	if err := encoder.Encode(m.id.Raw()); err != nil {
		return err
	}
	text.Truncate(text.Len() - 1) // Encode ends with a new line
	text.WriteString(`,"result":`)
	_, plain := result.(*toolResult)
	encoder.SetEscapeHTML(plain) // and here it does not
	if err := encoder.Encode(result); err != nil {
		return err
	}
	text.Truncate(text.Len() - 1)
	text.WriteString("}" + eventEnd)
	return nil
}

// toolResult is what the SDK writes for a [mcp.CallToolResult]. The methods of
// that and of its parts have each text written and read again up to four times.
type toolResult struct {
	Meta       mcp.Meta                `json:"_meta,omitempty"`
	Content    []any                   `json:"content"`
	Structured any                     `json:"structuredContent,omitempty"`
	IsError    bool                    `json:"isError,omitempty"`
	State      string                  `json:"requestState,omitempty"`
	Type       string                  `json:"resultType"`
	Requests   map[string]inputRequest `json:"inputRequests,omitempty"`
}

type inputRequest struct {
	Method string            `json:"method"`
	Params *mcp.ElicitParams `json:"params"`
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// plainResult returns what is written for a result: the result itself, unless
// it is an ordinary one of a tool.
func plainResult(result mcp.Result) any {
	r, ok := result.(*mcp.CallToolResult)
	if !ok {
		return result
	}
	plain := &toolResult{
		Meta: r.Meta, Content: make([]any, len(r.Content)), Structured: r.StructuredContent,
		IsError: r.IsError, State: r.RequestState, Type: "complete",
	}
	for i, block := range r.Content {
		plain.Content[i] = block
		if text, ok := block.(*mcp.TextContent); ok && text != nil && text.Meta == nil && text.Annotations == nil {
			plain.Content[i] = textBlock{"text", text.Text}
		}
	}
	switch {
	case !r.NeedsInput():
		return plain
	case len(r.InputRequests) == 0:
		return result // which says {}
	}
	plain.Type, plain.Requests = "input_required", make(map[string]inputRequest, len(r.InputRequests))
	for key, request := range r.InputRequests {
		params, ok := request.(*mcp.ElicitParams)
		if !ok || params == nil || params.Mode == "" {
			return result
		}
		plain.Requests[key] = inputRequest{"elicitation/create", params}
	}
	return plain
}
