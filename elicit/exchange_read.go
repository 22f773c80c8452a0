//lint:file-ignore SA1019 clients go on to say what they do about roots and logging, which 2026-07-28 deprecates

package elicit

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLevels bounds the depth of what is read here; the SDK refuses what has more
// than a thousand levels.
const maxLevels = 900

// callMessage is a modern request that may be answered with questions, read
// from its bytes.
type callMessage struct {
	id     jsonrpc.ID
	method string
	name   string // of the tool or prompt; the URI of a resource

	arguments json.RawMessage   // of a tool
	strings   map[string]string // arguments of a prompt
	meta      mcp.Meta
	state     string

	capabilities *mcp.ClientCapabilities
	client       *mcp.Implementation // nil if it says nothing
	level        mcp.LoggingLevel    // of the log that it wants, if any
}

// readCall reads a message with the SDK's decoder, but without its buffers.
// Whatever is not an ordinary request of a modern client is refused here: the
// SDK has the right error for it.
func readCall(body []byte) (*callMessage, bool) {
	// Depth costs stack. Brackets in texts count too, which is rare enough.
	if bytes.Count(body, []byte("{"))+bytes.Count(body, []byte("[")) > maxLevels {
		return nil, false
	}
	var envelope struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	if decodeShared(body, &envelope) != nil || envelope.Version != "2.0" {
		return nil, false
	}
	m := &callMessage{method: envelope.Method}
	if !(message{method: m.method}).canAsk() {
		return nil, false
	}
	var ok bool
	if m.id, ok = requestID(envelope.ID); !ok {
		return nil, false
	}
	var params struct {
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      json.RawMessage `json:"_meta"`
		Answers   json.RawMessage `json:"inputResponses"`
		State     string          `json:"requestState"`
	}
	if decodeShared(envelope.Params, &params) != nil || !m.readMeta(params.Meta) {
		return nil, false
	}
	m.name, m.state = params.Name, params.State
	switch m.method {
	case methodTool:
		m.arguments = params.Arguments
	case methodPrompt:
		if len(params.Arguments) > 0 && decodeExact(params.Arguments, &m.strings) != nil {
			return nil, false
		}
	case methodResource:
		m.name = params.URI
	}
	if params.Answers != nil {
		m.meta[metaRaw] = string(params.Answers) // see rewrite
	}
	return m, m.name != ""
}

// readMeta reads what every modern request says of its client (MCP 2026-07-28
// basic, "_meta"), if it is said as the SDK wants it.
func (m *callMessage) readMeta(raw json.RawMessage) bool {
	var said struct {
		Version      string              `json:"io.modelcontextprotocol/protocolVersion"`
		Client       *mcp.Implementation `json:"io.modelcontextprotocol/clientInfo"`
		Capabilities *struct {
			mcp.ClientCapabilities
			Roots *mcp.RootCapabilities `json:"roots"` // shadows an older field
		} `json:"io.modelcontextprotocol/clientCapabilities"`
	}
	if len(raw) == 0 || decodeExact(raw, &said) != nil || said.Version != modernRevision || said.Capabilities == nil {
		return false
	}
	// encoding/json makes no map larger than what goes into it.
	var meta any
	if json.Unmarshal(raw, &meta) != nil {
		return false
	}
	m.meta, _ = meta.(map[string]any) // it has been read as an object
	if _, given := m.meta[mcp.MetaKeyClientInfo]; given && said.Client == nil {
		return false
	}
	m.client, m.capabilities = said.Client, &said.Capabilities.ClientCapabilities
	if said.Capabilities.Roots != nil { // as the SDK does
		m.capabilities.RootsV2, m.capabilities.Roots = said.Capabilities.Roots, *said.Capabilities.Roots
	}
	delete(m.meta, metaRaw) // nobody outside may set it
	level, _ := m.meta[mcp.MetaKeyLogLevel].(string)
	m.level = mcp.LoggingLevel(level)
	return true
}

// session is what a session of this request begins with.
func (m *callMessage) session() *mcp.ServerSessionOptions {
	return &mcp.ServerSessionOptions{State: &mcp.ServerSessionState{
		LogLevel:         m.level,
		InitializeParams: &mcp.InitializeParams{ProtocolVersion: modernRevision, Capabilities: m.capabilities, ClientInfo: m.client},
	}}
}

// request is the message as the SDK's methods take it.
func (m *callMessage) request(session *mcp.ServerSession, extra *mcp.RequestExtra) mcp.Request {
	switch m.method {
	case methodTool:
		return &mcp.CallToolRequest{Session: session, Extra: extra, Params: &mcp.CallToolParamsRaw{
			Meta: m.meta, Name: m.name, Arguments: m.arguments, RequestState: m.state,
		}}
	case methodPrompt:
		return &mcp.GetPromptRequest{Session: session, Extra: extra, Params: &mcp.GetPromptParams{
			Meta: m.meta, Name: m.name, Arguments: m.strings, RequestState: m.state,
		}}
	}
	return &mcp.ReadResourceRequest{Session: session, Extra: extra, Params: &mcp.ReadResourceParams{
		Meta: m.meta, URI: m.name, RequestState: m.state,
	}}
}

// requestID reads an id that comes back as it was sent.
func requestID(raw json.RawMessage) (jsonrpc.ID, bool) {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		if n <= -1<<53 || n >= 1<<53 || strconv.FormatInt(n, 10) != string(raw) {
			return jsonrpc.ID{}, false
		}
		id, err := jsonrpc.MakeID(float64(n))
		return id, err == nil
	}
	var text *string
	if json.Unmarshal(raw, &text) != nil || text == nil {
		return jsonrpc.ID{}, false
	}
	id, err := jsonrpc.MakeID(*text)
	return id, err == nil
}
