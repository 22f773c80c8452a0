package elicit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	segjson "github.com/segmentio/encoding/json"
)

// typedTool is a tool with a schema for each of its Go types. It does what
// [mcp.AddTool] does around a handler, for two reasons: the SDK decodes each
// value with a buffer of 32 KiB, which was a third of the cost of a call, and
// it hands on what it has validated, in which numbers are floats.
type typedTool[In, Out any] struct {
	tool          *mcp.Tool // with both schemas
	input, output *contract // output is nil for a tool without one
}

// contract is a JSON schema that is ready to validate with.
type contract struct {
	resolved *jsonschema.Resolved
	object   bool // only objects fit
	defaults bool // somewhere in it
}

// newTypedTool returns what is to be added to the server. The author's tool
// stays as it is.
func newTypedTool[In, Out any](tool *mcp.Tool) (*typedTool[In, Out], error) {
	t := &typedTool[In, Out]{tool: new(*tool)}
	in, out := reflect.TypeFor[In](), reflect.TypeFor[Out]()
	if t.tool.InputSchema == nil && in == reflect.TypeFor[any]() {
		t.tool.InputSchema = &jsonschema.Schema{Type: "object"}
	}
	var err error
	if t.input, err = newContract(&t.tool.InputSchema, in); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if t.tool.OutputSchema == nil && out == reflect.TypeFor[any]() {
		return t, nil
	}
	if t.output, err = newContract(&t.tool.OutputSchema, out); err != nil {
		return nil, fmt.Errorf("output schema: %w", err)
	}
	return t, nil
}

// newContract reads the schema, or makes and sets one for the type if there is
// none.
func newContract(schema *any, t reflect.Type) (*contract, error) {
	var read *jsonschema.Schema
	switch given := (*schema).(type) {
	case nil:
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		var err error
		if read, err = jsonschema.ForType(t, &jsonschema.ForOptions{}); err != nil {
			return nil, err
		}
		*schema = read
	case *jsonschema.Schema:
		read = given
	default:
		text, err := json.Marshal(given)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &read); err != nil {
			return nil, err
		}
	}
	if read == nil {
		return nil, errors.New("it is null")
	}
	resolved, err := read.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(read)
	if err != nil {
		return nil, err
	}
	return &contract{resolved: resolved, object: read.Type == "object", defaults: bytes.Contains(text, []byte(`"default"`))}, nil
}

// fill validates the value of text and returns its text with the defaults that
// the schema has. The validator knows numbers as floats; what is returned has
// them as they are spelled.
func (c *contract) fill(text json.RawMessage, value any) (json.RawMessage, error) {
	if !c.defaults {
		return text, c.resolved.Validate(value)
	}
	exact := value
	if lossy(value) {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&exact); err != nil {
			return nil, err
		}
	}
	for _, filled := range []*any{&value, &exact} {
		if err := c.resolved.ApplyDefaults(filled); err != nil {
			return nil, err
		}
	}
	if err := c.resolved.Validate(value); err != nil {
		return nil, err
	}
	return json.Marshal(exact)
}

// read returns the arguments as the handler takes them. The error is for the
// client.
func (t *typedTool[In, Out]) read(arguments json.RawMessage) (in In, err error) {
	text := arguments
	if len(text) == 0 || string(text) == "null" {
		text = json.RawMessage("{}")
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return in, fmt.Errorf("validating \"arguments\": unmarshaling arguments: %w", err)
	}
	if text, err = t.input.fill(text, value); err != nil {
		return in, fmt.Errorf("validating \"arguments\": %w", err)
	}
	return in, decodeExact(text, &in)
}

// decodeExact reads JSON as the SDK does, into members of exactly the same
// name: encoding/json would take "TO" for "to", which the schema has not seen.
func decodeExact(text []byte, into any) error {
	return decodeWith(text, into, segjson.DontMatchCaseInsensitiveStructFields)
}

// decodeShared is decodeExact without copying raw messages out of text, which
// must stay as it is.
func decodeShared(text []byte, into any) error {
	return decodeWith(text, into, segjson.DontMatchCaseInsensitiveStructFields|segjson.DontCopyRawMessage)
}

func decodeWith(text []byte, into any, flags segjson.ParseFlags) error {
	rest, err := segjson.Parse(text, into, flags)
	if err == nil && len(bytes.TrimSpace(rest)) > 0 {
		err = errors.New("more than one JSON value")
	}
	return err
}

// result returns what the client gets for the handler's output and content.
// An error is a mistake of the tool.
func (t *typedTool[In, Out]) result(out Out, content []mcp.Content) (*mcp.CallToolResult, error) {
	result := &mcp.CallToolResult{Content: content}
	value := reflect.ValueOf(&out).Elem()
	if value.Kind() == reflect.Pointer && value.IsNil() {
		// A schema that was made for a pointer is one of what it points to.
		value = reflect.Zero(value.Type().Elem())
	}
	if value.Kind() == reflect.Interface && value.IsNil() {
		return result, nil
	}
	text, err := json.Marshal(value.Interface())
	if err != nil {
		return nil, fmt.Errorf("marshaling output: %w", err)
	}
	if t.output != nil {
		if t.output.object && string(text) == "null" {
			text = []byte("{}") // a nil map
		}
		var read any
		if err := json.Unmarshal(text, &read); err != nil {
			return nil, fmt.Errorf("validating tool output: %w", err)
		}
		if text, err = t.output.fill(text, read); err != nil {
			return nil, fmt.Errorf("validating tool output: %w", err)
		}
	}
	result.StructuredContent = json.RawMessage(text)
	// MCP tools, "Structured Content": the same as text, for clients that read
	// nothing else.
	switch {
	case len(content) == 0:
		result.Content = []mcp.Content{&mcp.TextContent{Text: string(text)}}
	case text[0] != '{':
		result.Content = append(slices.Clip(content), &mcp.TextContent{Text: string(text)})
	}
	return result, nil
}

// errorResult is how a tool tells an error: to the model, in a result. A
// JSON-RPC error stays one if it is not wrapped.
func errorResult(err error) (*mcp.CallToolResult, error) {
	if wire, ok := err.(*jsonrpc.Error); ok { //nolint:errorlint // of a wrapped one the SDK would keep the code alone
		return nil, wire
	}
	result := &mcp.CallToolResult{}
	result.SetError(err)
	return result, nil
}
