package elicittest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// modern is the first revision with multi round-trip requests.
const modern = "2026-07-28"

// maxRounds is where a client gives up, as real ones do.
const maxRounds = 30

// Options of [Connect].
type Options struct {
	// Capabilities are the client's, as JSON. By default they are form mode
	// with a person, and empty without one.
	Capabilities json.RawMessage

	// Header goes with each request, such as Authorization.
	Header http.Header

	// Meta goes into the _meta of each request.
	Meta map[string]any
}

// Client is a connection to a server. It is safe for concurrent use.
type Client struct {
	endpoint     string
	revision     string
	capabilities json.RawMessage
	header       http.Header
	meta         map[string]any
	http         *http.Client
	session      string
	ids          atomic.Int64

	mu     sync.Mutex // a person sees one question at a time
	person Person
}

// Connect serves handler for the length of the test and connects to it. A nil
// person is a client that cannot ask. Options may be nil.
func Connect(t testing.TB, handler http.Handler, revision string, person Person, options *Options) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	if options == nil {
		options = &Options{}
	}
	c := &Client{
		endpoint:     server.URL,
		revision:     revision,
		capabilities: options.Capabilities,
		header:       options.Header,
		meta:         maps.Clone(options.Meta),
		http:         server.Client(),
		person:       person,
	}
	if c.capabilities == nil {
		c.capabilities = json.RawMessage(`{}`)
		if person != nil {
			// Legacy revisions have no modes, or read {} as form mode.
			c.capabilities = json.RawMessage(`{"elicitation":{}}`)
		}
	}
	if revision < modern {
		if err := c.initialize(t.Context()); err != nil {
			t.Fatalf("elicittest: connecting with %s: %v", revision, err)
		}
		t.Cleanup(c.Close)
	}
	return c
}

// Result is the end of a call.
type Result struct {
	Text       string          // all text blocks, a line each
	Structured json.RawMessage // structuredContent
	IsError    bool
	Rounds     int             // sends of the call; 1 before 2026-07-28
	Raw        json.RawMessage // the whole result
}

// Error is a JSON-RPC error of the server.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
	Status  int             `json:"-"` // of the HTTP response
}

func (e *Error) Error() string {
	return fmt.Sprintf("elicittest: error %d (HTTP %d): %s", e.Code, e.Status, e.Message)
}

// Call calls a tool and has the person answer its questions, until the end.
func (c *Client) Call(ctx context.Context, tool string, arguments any) (*Result, error) {
	raw, rounds, err := c.do(ctx, "tools/call", map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		return nil, err
	}
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, fmt.Errorf("elicittest: reading a result: %w", err)
	}
	var lines []string
	for _, block := range result.Content {
		lines = append(lines, block.Text)
	}
	return &Result{
		Text:       strings.Join(lines, "\n"),
		Structured: result.Structured,
		IsError:    result.IsError,
		Rounds:     rounds,
		Raw:        raw,
	}, nil
}

// Do sends a request that can ask, such as prompts/get, has the person answer
// its questions, and returns the last result.
func (c *Client) Do(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	raw, _, err := c.do(ctx, method, params)
	return raw, err
}

func (c *Client) do(ctx context.Context, method string, params map[string]any) (raw json.RawMessage, rounds int, err error) {
	params = maps.Clone(params)
	if params == nil {
		params = make(map[string]any)
	}
	for rounds = 1; rounds <= maxRounds; rounds++ {
		if raw, err = c.Send(ctx, method, params); err != nil {
			return nil, rounds, err
		}
		var result struct {
			ResultType   string `json:"resultType"`
			RequestState string `json:"requestState"`
		}
		if err := json.Unmarshal(raw, &result); err != nil {
			return nil, rounds, fmt.Errorf("elicittest: reading a result: %w", err)
		}
		if result.ResultType != "input_required" {
			return raw, rounds, nil
		}
		answers, err := c.answerAll(raw)
		if err != nil {
			return nil, rounds, err
		}
		params["inputResponses"], params["requestState"] = answers, result.RequestState
	}
	return nil, maxRounds, fmt.Errorf("elicittest: no end after %d rounds", maxRounds)
}

// Questions reads the questions of an input_required result, in the order of
// the bytes.
func Questions(result json.RawMessage) ([]Question, error) {
	var body struct {
		InputRequests json.RawMessage `json:"inputRequests"`
	}
	if err := json.Unmarshal(result, &body); err != nil {
		return nil, fmt.Errorf("elicittest: reading input requests: %w", err)
	}
	if body.InputRequests == nil {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(body.InputRequests))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.New("elicittest: inputRequests is not an object")
	}
	var questions []Question
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string) // all keys are
		var request struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := decoder.Decode(&request); err != nil {
			return nil, err
		}
		if request.Method != "elicitation/create" {
			return nil, fmt.Errorf("elicittest: input request %q is a %q", key, request.Method)
		}
		question, err := newQuestion(key, request.Params)
		if err != nil {
			return nil, err
		}
		questions = append(questions, question)
	}
	return questions, nil
}

func newQuestion(key string, params json.RawMessage) (Question, error) {
	q := Question{Key: key, Params: params}
	var body struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		URL     string          `json:"url"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}
	if err := json.Unmarshal(params, &body); err != nil {
		return Question{}, fmt.Errorf("elicittest: reading a question: %w", err)
	}
	q.Mode, q.Message, q.URL, q.Schema = body.Mode, body.Message, body.URL, body.Schema
	if q.Mode == "" {
		q.Mode = "form"
	}
	return q, nil
}

func (c *Client) ask(q Question) Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.person == nil {
		return Answer{Absent: true}
	}
	return c.person(q)
}

func (c *Client) answerAll(result json.RawMessage) (map[string]json.RawMessage, error) {
	questions, err := Questions(result)
	if err != nil {
		return nil, err
	}
	answers := make(map[string]json.RawMessage)
	for _, q := range questions {
		if answer := c.ask(q); !answer.Absent {
			answers[q.Key] = answer.result()
		}
	}
	return answers, nil
}

// Send sends one request and returns its result; for 2026-07-28 that may be
// one that asks. A JSON-RPC error is an [*Error]. Params must not have _meta.
func (c *Client) Send(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	meta := maps.Clone(c.meta)
	if c.revision >= modern {
		if meta == nil {
			meta = make(map[string]any)
		}
		meta["io.modelcontextprotocol/protocolVersion"] = c.revision
		meta["io.modelcontextprotocol/clientInfo"] = map[string]string{"name": "elicittest", "version": "1"}
		meta["io.modelcontextprotocol/clientCapabilities"] = c.capabilities
	}
	if meta != nil {
		with := map[string]any{"_meta": meta}
		maps.Copy(with, params)
		params = with
	}
	id := c.ids.Add(1)
	response, err := c.post(ctx, map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return c.await(ctx, response, fmt.Sprint(id))
}

func (c *Client) initialize(ctx context.Context) error {
	_, err := c.Send(ctx, "initialize", map[string]any{
		"protocolVersion": c.revision,
		"capabilities":    c.capabilities,
		"clientInfo":      map[string]string{"name": "elicittest", "version": "1"},
	})
	if err != nil {
		return err
	}
	response, err := c.post(ctx, map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// Close ends a legacy session, as a client that goes away would. [Connect] does
// it at the end of the test; in 2026-07-28 there is nothing to end.
func (c *Client) Close() {
	if c.session == "" {
		return
	}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodDelete, c.endpoint, nil)
	if err != nil {
		return
	}
	c.setHeader(request)
	if response, err := c.http.Do(request); err == nil {
		response.Body.Close()
	}
}

func (c *Client) setHeader(request *http.Request) {
	for key, values := range c.header {
		request.Header[key] = slices.Clone(values)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if c.revision >= modern || c.session != "" {
		request.Header.Set("Mcp-Protocol-Version", c.revision)
	}
	if c.session != "" {
		request.Header.Set("Mcp-Session-Id", c.session)
	}
}

func (c *Client) post(ctx context.Context, message map[string]any) (*http.Response, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("elicittest: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("elicittest: %w", err)
	}
	c.setHeader(request)
	if c.revision >= modern {
		// MCP 2026-07-28 transports, "Standard Request Headers".
		method, _ := message["method"].(string)
		request.Header.Set("Mcp-Method", method)
		if params, ok := message["params"].(map[string]any); ok {
			for _, key := range []string{"name", "uri"} {
				if name, ok := params[key].(string); ok {
					request.Header.Set("Mcp-Name", name)
				}
			}
		}
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("elicittest: %w", err)
	}
	if id := response.Header.Get("Mcp-Session-Id"); id != "" && c.session == "" {
		c.session = id
	}
	return response, nil
}

// await reads messages until the response to the request comes, and answers
// what the server asks meanwhile.
func (c *Client) await(ctx context.Context, response *http.Response, id string) (json.RawMessage, error) {
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch media {
	case "application/json":
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, fmt.Errorf("elicittest: %w", err)
		}
		result, _, err := c.receive(ctx, body, id, response.StatusCode)
		return result, err
	case "text/event-stream":
	default:
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return nil, fmt.Errorf("elicittest: HTTP %d: %s", response.StatusCode, bytes.TrimSpace(body))
	}
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("elicittest: the stream ended without a response: %w", err)
		}
		data, ok := strings.CutPrefix(line, "data:")
		if data = strings.TrimSpace(data); !ok || data == "" {
			continue
		}
		result, done, err := c.receive(ctx, []byte(data), id, response.StatusCode)
		if done || err != nil {
			return result, err
		}
	}
}

// receive handles one message; done says that it is the response to id.
func (c *Client) receive(ctx context.Context, text []byte, id string, status int) (result json.RawMessage, done bool, err error) {
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  *Error          `json:"error"`
	}
	if err := json.Unmarshal(text, &message); err != nil {
		return nil, false, fmt.Errorf("elicittest: reading a message: %w", err)
	}
	if message.Method != "" {
		if message.ID == nil {
			return nil, false, nil // a notification
		}
		return nil, false, c.reply(ctx, message.ID, message.Method, message.Params)
	}
	if message.Error != nil {
		message.Error.Status = status
		return nil, true, message.Error
	}
	return message.Result, string(message.ID) == id, nil
}

// reply answers a request of a legacy server.
func (c *Client) reply(ctx context.Context, id json.RawMessage, method string, params json.RawMessage) error {
	reply := map[string]any{"jsonrpc": "2.0", "id": id}
	switch {
	case method != "elicitation/create":
		reply["error"] = map[string]any{"code": -32601, "message": "elicittest: only elicitation is answered"}
	default:
		question, err := newQuestion("", params)
		if err != nil {
			return err
		}
		if answer := c.ask(question); answer.Absent {
			reply["error"] = map[string]any{"code": -32603, "message": "elicittest: no answer"}
		} else {
			reply["result"] = answer.result()
		}
	}
	response, err := c.post(ctx, reply)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 400 {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return fmt.Errorf("elicittest: the answer was refused: HTTP %d: %s", response.StatusCode, bytes.TrimSpace(text))
	}
	return nil
}
