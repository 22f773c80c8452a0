package elicit

import (
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

	session *mcp.ServerSession
	extra   *mcp.RequestExtra
	version string
	modes   modes
	client  mcp.Implementation // as far as it says
}

func newIncoming[P mcp.Params](method string, req *mcp.ServerRequest[P]) incoming {
	in := incoming{
		method:  method,
		meta:    req.Params.GetMeta(),
		session: req.Session,
		extra:   req.Extra,
		version: req.ProtocolVersion(),
	}
	in.modes = askable(req)
	if in.version >= modernRevision {
		in.client = modernClient(in.meta)
		return in
	}
	if client := req.ClientInfo(); client != nil {
		in.client = *client
	}
	return in
}

// askable returns the modes in which the client of a request can be asked.
func askable[P mcp.Params](req *mcp.ServerRequest[P]) modes {
	version := req.ProtocolVersion()
	if version >= modernRevision {
		return modernModes(req.Params.GetMeta())
	}
	can := declaredModes(req.ClientCapabilities())
	if revisionOf(version) == rev20250618 {
		can.url = false // whatever the client says: the revision has no URL mode
	}
	return can
}

// modernClient reads what a modern request says about its client, and what the
// SDK has checked. The SDK's own methods for it encode and decode the values
// again, at the cost of a whole decoder each.
func modernClient(meta mcp.Meta) (client mcp.Implementation) {
	info, _ := meta[mcp.MetaKeyClientInfo].(map[string]any)
	client.Name, _ = info["name"].(string)
	client.Version, _ = info["version"].(string)
	return client
}

// modernModes is the same for what the client declares.
func modernModes(meta mcp.Meta) modes {
	capabilities, _ := meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	elicitation, ok := capabilities["elicitation"].(map[string]any)
	if !ok {
		return modes{}
	}
	_, form := elicitation["form"].(map[string]any)
	_, url := elicitation["url"].(map[string]any)
	// An empty object is form mode alone: see declaredModes.
	return modes{form: form || !url, url: url}
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
