package hosttest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
)

// A Script is what a server does. The zero value has no tools and speaks
// revision 2026-07-28.
type Script struct {
	// Revision is what the server speaks: 2026-07-28, 2025-11-25 or 2025-06-18.
	Revision string
	Tools    map[string]Tool
	// Schemas holds the input schema of a tool, where it is not {"type":"object"}.
	Schemas map[string]string
	// Titles holds the title of a tool, where it has one.
	Titles map[string]string
	// Capabilities is what the server declares, raw; empty means tools alone.
	Capabilities string
	// SilentDiscover makes a legacy server say nothing at all to
	// server/discover, as some programs do with requests they do not know.
	SilentDiscover bool
	// JSON makes an HTTP server answer with plain JSON where it can.
	JSON bool
	// Sessionless makes a legacy HTTP server hand out no session id.
	Sessionless bool
	// QuietStream keeps the header of the standalone stream of a legacy HTTP
	// server back until its first message, as servers do that never flush it.
	QuietStream bool
	// Intercept sees every HTTP request first. If it returns true it has
	// answered, and the script goes no further.
	Intercept func(w http.ResponseWriter, r *http.Request, method string) bool
	// Methods plays requests other than tools/call, in place of what the script
	// would answer by itself.
	Methods map[string]Tool
	// Listed is called for each tools/list with the number of earlier ones,
	// and returns the tools member of the result; nil means the tools of Tools.
	Listed func(n int) string
	// ListTTL is the ttlMs of tools/list: how long a client may keep it.
	ListTTL int
	// AtStart runs before a program reads its first message.
	AtStart func(p *Pipe)

	inOrder bool // a program plays one request after the other: after one that ends it, it reads no more
}

// A Tool plays one call of a tool, or another request.
type Tool func(x *Exchange)

// plays is what the script does with a request; nil: it is housekeeping.
func (s *Script) plays(m message) Tool {
	if m.Method != "tools/call" {
		return s.Methods[m.Method]
	}
	if tool := s.Tools[toolName(m.Params)]; tool != nil {
		return tool
	}
	return func(x *Exchange) { x.Error(-32602, "unknown tool", "") }
}

// counted is the name under which requests like this one are counted.
func counted(m message) string {
	if m.Method != "tools/call" {
		return " " + m.Method // no tool's name begins so
	}
	return toolName(m.Params)
}

func (s *Script) revision() string {
	if s.Revision == "" {
		return "2026-07-28"
	}
	return s.Revision
}

func (s *Script) capabilities() string {
	if s.Capabilities == "" {
		return `{"tools":{}}`
	}
	return s.Capabilities
}

func (s *Script) modern() bool { return s.revision() >= "2026-07-28" }

// An Exchange is one call of a tool, as the server sees it. Its methods write
// what they are told to the wire, sensible or not; they may be called from one
// goroutine at a time.
type Exchange struct {
	Context   context.Context // ends when the client cancels the call, or its connection ends
	ID        json.RawMessage // of the request
	Params    json.RawMessage
	Arguments json.RawMessage
	Responses map[string]json.RawMessage // inputResponses; nil if there were none
	State     *string                    // requestState; nil if there was none
	Meta      map[string]json.RawMessage
	Header    http.Header // HTTP only
	N         int         // calls of this tool, or requests of this method, before this one, in this process

	wire   wire
	script *Script
	asking *askings
}

// wire is one transport's way of writing to the client.
type wire interface {
	send(msg []byte)                // a whole message of the server, not the reply to the call
	reply(msg []byte)               // the reply
	raw(b []byte)                   // bytes that may be no message
	status(code int, h http.Header) // HTTP only
	die()                           // the connection, or the process, is gone
}

// askings are the requests of the server that wait for an answer.
type askings struct {
	mu   sync.Mutex
	next atomic.Int64
	wait map[string]chan json.RawMessage
}

func newAskings() *askings { return &askings{wait: map[string]chan json.RawMessage{}} }

func (a *askings) expect(ids ...string) chan json.RawMessage {
	c := make(chan json.RawMessage, 4)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range ids {
		a.wait[id] = c
	}
	return c
}

// answered delivers a client's response; msg is the whole of it.
func (a *askings) answered(id string, msg json.RawMessage) {
	a.mu.Lock()
	c := a.wait[id]
	a.mu.Unlock()
	if c == nil {
		return
	}
	select {
	case c <- msg:
	default:
	}
}

// Result ends the call with the raw result.
func (x *Exchange) Result(result string) {
	x.wire.reply(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, x.ID, result))
}

// Text ends the call with one text, in the shape of the script's revision.
func (x *Exchange) Text(text string) {
	quoted, _ := json.Marshal(text)
	kind := ""
	if x.script.modern() {
		kind = `"resultType":"complete",`
	}
	x.Result(fmt.Sprintf(`{%s"content":[{"type":"text","text":%s}]}`, kind, quoted))
}

// Error ends the call with a JSON-RPC error; data is raw and may be empty.
func (x *Exchange) Error(code int, message, data string) {
	quoted, _ := json.Marshal(message)
	if data != "" {
		data = `,"data":` + data
	}
	x.wire.reply(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s%s}}`, x.ID, code, quoted, data))
}

// Asks ends the round with input_required. Both members are raw except that
// requestState is quoted here; an empty one is left out.
func (x *Exchange) Asks(inputRequests, requestState string) {
	result := `{"resultType":"input_required"`
	if inputRequests != "" {
		result += `,"inputRequests":` + inputRequests
	}
	if requestState != "" {
		quoted, _ := json.Marshal(requestState)
		result += `,"requestState":` + string(quoted)
	}
	x.Result(result + "}")
}

// Request sends a request of the server (legacy) with the raw id and params
// and returns the client's whole response, or nil if the call's connection
// ended first.
func (x *Exchange) Request(id, method, params string) json.RawMessage {
	answer := x.asking.expect(id)
	x.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return x.Await(answer)
}

// Elicit asks one question (legacy) and returns the client's whole response.
func (x *Exchange) Elicit(params string) json.RawMessage {
	return x.Request(fmt.Sprintf(`"ask-%d"`, x.asking.next.Add(1)), "elicitation/create", params)
}

// Expect registers for the answers to requests with these raw ids that the
// script will send itself, for scripts that do something between asking and waiting.
func (x *Exchange) Expect(ids ...string) <-chan json.RawMessage { return x.asking.expect(ids...) }

// Await waits for an answer from Expect; nil if the connection ended first.
func (x *Exchange) Await(answer <-chan json.RawMessage) json.RawMessage {
	select {
	case msg := <-answer:
		return msg
	case <-x.Context.Done():
	}
	select { // it may have come right before the end
	case msg := <-answer:
		return msg
	default:
		return nil
	}
}

// Send writes a message that is not the reply.
func (x *Exchange) Send(msg string) { x.wire.send([]byte(msg)) }

// Notify sends a notification.
func (x *Exchange) Notify(method, params string) {
	x.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

// Raw writes bytes that need not be a message: on HTTP into the event stream,
// in a program onto standard output.
func (x *Exchange) Raw(b string) { x.wire.raw([]byte(b)) }

// Status ends an HTTP call with a bare status and headers.
func (x *Exchange) Status(code int, header http.Header) { x.wire.status(code, header) }

// Die ends the connection of an HTTP call, or the whole program, at once.
func (x *Exchange) Die() { x.wire.die() }

// message is any JSON-RPC message, for reading.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func (s *Script) exchange(ctx context.Context, m message, n int, w wire, a *askings) *Exchange {
	x := &Exchange{Context: ctx, ID: m.ID, Params: m.Params, N: n, wire: w, script: s, asking: a}
	var p struct {
		Arguments json.RawMessage            `json:"arguments"`
		Responses map[string]json.RawMessage `json:"inputResponses"`
		State     *string                    `json:"requestState"`
		Meta      map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &p)
	x.Arguments, x.Responses, x.State, x.Meta = p.Arguments, p.Responses, p.State, p.Meta
	return x
}

// toolName reads the tool that a tools/call names.
func toolName(params json.RawMessage) string {
	var p struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(params, &p)
	return p.Name
}

// housekeeping answers what is not a call of a tool; ok is false for a
// request the server does not know.
func (s *Script) housekeeping(m message, lists int) (result string, ok bool) {
	switch m.Method {
	case "server/discover":
		if !s.modern() {
			return "", false
		}
		return fmt.Sprintf(`{"resultType":"complete","supportedVersions":[%q],"capabilities":%s,"ttlMs":0}`, s.revision(), s.capabilities()), true
	case "initialize":
		if s.modern() {
			return "", false
		}
		return fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"hosttest","version":"1"}}`, s.revision(), s.capabilities()), true
	case "ping":
		return `{}`, true
	case "tools/list":
		tools := ""
		if s.Listed != nil {
			tools = s.Listed(lists)
		}
		if tools == "" {
			tools = s.list()
		}
		kind := ""
		if s.modern() {
			kind = fmt.Sprintf(`"resultType":"complete","ttlMs":%d,"cacheScope":"private",`, s.ListTTL)
		}
		return fmt.Sprintf(`{%s"tools":%s}`, kind, tools), true
	}
	return "", false
}

func (s *Script) list() string {
	type tool struct {
		Name        string          `json:"name"`
		Title       string          `json:"title,omitempty"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	list := []tool{}
	for name := range s.Tools {
		schema := s.Schemas[name]
		if schema == "" {
			schema = `{"type":"object"}`
		}
		list = append(list, tool{name, s.Titles[name], "scripted", json.RawMessage(schema)})
	}
	b, err := json.Marshal(list)
	if err != nil {
		panic("hosttest: a script with a schema that is no JSON: " + err.Error())
	}
	return string(b)
}
