package elicit

import (
	"bytes"
	"encoding/json"
)

// message is a JSON-RPC message, as far as this package looks into it.
type message struct {
	fields map[string]json.RawMessage
	method string
}

func parseMessage(text []byte) (message, bool) {
	var m message
	if json.Unmarshal(text, &m.fields) != nil || m.fields == nil {
		return message{}, false
	}
	if raw, ok := m.fields["method"]; ok && json.Unmarshal(raw, &m.method) != nil {
		return message{}, false
	}
	return m, true
}

// version returns the protocol version in the _meta of a request.
func (m message) version() string {
	var params struct {
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	_ = decodeExact(m.fields["params"], &params)
	return params.Meta.Version
}

// rewrite moves answers out of the SDK's reach before it sees a message. The
// SDK decodes numbers in them as floats, and refuses the whole request if one
// entry has an unknown shape. The exact bytes go on as a string in _meta.
//
// It returns the text unchanged unless there is an answer in it, in a retry of
// something that was added here or in a response to elicitation/create, or the
// handshake is to be mended.
func (s *Server) rewrite(text []byte, m message) []byte {
	return m.text(text, s.mend(m))
}

// mend does what rewrite says to the fields of a message, and reports whether
// it did anything.
func (s *Server) mend(m message) bool {
	switch {
	case m.canAsk():
		return s.rewriteRetry(m)
	case m.method == "initialize":
		return rewriteInitialize(m)
	case m.isResponse():
		return rewriteResult(m)
	}
	return false
}

// text is the message as it is now.
func (m message) text(text []byte, changed bool) []byte {
	if !changed {
		return text
	}
	rewritten, err := json.Marshal(m.fields)
	if err != nil {
		return text
	}
	return rewritten
}

// rewriteInitialize takes a legacy handshake that names a modern revision back
// to the newest one that has this handshake. The SDK answers with that anyway,
// but goes on as if the client were modern.
func rewriteInitialize(m message) bool {
	var params map[string]json.RawMessage
	var version string
	if json.Unmarshal(m.fields["params"], &params) != nil ||
		json.Unmarshal(params["protocolVersion"], &version) != nil || version < modernRevision {
		return false
	}
	return put(params, "protocolVersion", "2025-11-25") && put(m.fields, "params", params)
}

func (s *Server) rewriteRetry(m message) bool {
	text := m.fields["params"]
	if !bytes.Contains(text, []byte("inputResponses")) && !bytes.Contains(text, []byte(metaRaw)) &&
		bytes.IndexByte(text, '\\') < 0 { // which may spell either of them
		return false
	}
	var params, meta map[string]json.RawMessage
	var name string
	member := "name"
	if m.method == methodResource {
		member = "uri"
	}
	if json.Unmarshal(text, &params) != nil ||
		json.Unmarshal(params[member], &name) != nil || !s.has(m.method, name) {
		return false
	}
	if raw, ok := params["_meta"]; ok && json.Unmarshal(raw, &meta) != nil {
		return false
	}
	if meta == nil {
		meta = make(map[string]json.RawMessage)
	}
	raw, answers := params["inputResponses"]
	if _, set := meta[metaRaw]; !set && !answers {
		return false
	}
	delete(meta, metaRaw) // nobody outside may set it
	if answers {
		delete(params, "inputResponses")
		meta[metaRaw] = appendString(nil, string(raw))
	}
	return put(params, "_meta", meta) && put(m.fields, "params", params)
}

// rewriteResult keeps the result as it is, for tools that ask on their own,
// and adds its bytes.
func rewriteResult(m message) bool {
	var result, meta map[string]json.RawMessage
	var action string
	raw := m.fields["result"]
	if json.Unmarshal(raw, &result) != nil {
		return false
	}
	_ = json.Unmarshal(result["_meta"], &meta)
	if json.Unmarshal(result["action"], &action) != nil {
		if _, set := meta[metaRaw]; !set {
			return false
		}
		delete(meta, metaRaw) // nobody outside may set it
		return put(result, "_meta", meta) && put(m.fields, "result", result)
	}
	if meta == nil {
		meta = make(map[string]json.RawMessage)
	}
	meta[metaRaw] = appendString(nil, string(raw))
	var content map[string]any
	if json.Unmarshal(result["content"], &content) != nil {
		// The SDK would refuse the whole result, and quote it.
		delete(result, "content")
	}
	return put(result, "_meta", meta) && put(m.fields, "result", result)
}

// canAsk reports whether a server may answer the message with questions.
func (m message) canAsk() bool {
	return m.method == methodTool || m.method == methodPrompt || m.method == methodResource
}

// isResponse reports whether the message answers a request of the server.
func (m message) isResponse() bool { return m.method == "" && m.fields["result"] != nil }

func put(object map[string]json.RawMessage, key string, value any) bool {
	text, err := json.Marshal(value)
	if err != nil {
		return false
	}
	object[key] = text
	return true
}
