package elicittest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/parley-mcp/parley/elicit"
)

// modern is the first revision with multi round-trip requests.
const modern = "2026-07-28"

// maxRounds is where a client gives up, as real ones do.
const maxRounds = 30

// ErrGone is the error of a call whose person has disappeared, and their client
// with them: see [Disappear].
var ErrGone = errors.New("elicittest: the person has disappeared")

// Options of [Connect] and [ConnectPipes].
type Options struct {
	// Capabilities are the client's, as JSON. By default they are form mode
	// with a person, and empty without one.
	Capabilities json.RawMessage

	// Header goes with each HTTP request, such as Authorization.
	Header http.Header

	// Meta goes into the _meta of each request.
	Meta map[string]any
}

// Client is a connection to a server. It is safe for concurrent use.
type Client struct {
	revision     string
	capabilities json.RawMessage
	meta         map[string]any
	wire         wire
	ids          atomic.Int64

	mu     sync.Mutex // a person sees one question at a time
	person Person

	gone  atomic.Bool // the person has disappeared
	after afterwards
}

// afterwards is what a person does when a call has ended.
type afterwards struct {
	mu    sync.Mutex
	sends []func(context.Context) Reply
}

func (a *afterwards) add(send func(context.Context) Reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sends = append(a.sends, send)
}

func (a *afterwards) do(ctx context.Context) (replies []Reply) {
	a.mu.Lock()
	sends := a.sends
	a.sends = nil
	a.mu.Unlock()
	for _, send := range sends {
		replies = append(replies, send(ctx))
	}
	return replies
}

// wire carries messages to a server and back.
type wire interface {
	// request sends a request and passes on what comes until its response, with
	// the HTTP status, if there is one. receive says when that is. Header is
	// another user's, or nil.
	request(ctx context.Context, id string, message map[string]any, header http.Header, receive receiver) (json.RawMessage, error)

	// notify sends what has no response.
	notify(ctx context.Context, message map[string]any, header http.Header) error

	// leave ends the connection, as a client that goes away would.
	leave()

	// close does that, and waits until nothing runs any more.
	close()
}

// receiver handles one message; done says that it is the response to id.
type receiver func(ctx context.Context, text []byte, id string, status int) (result json.RawMessage, done bool, err error)

// Connect serves handler for the length of the test and connects to it over
// HTTP. A nil person is a client that cannot ask. Options may be nil.
func Connect(t testing.TB, handler http.Handler, revision string, person Person, options *Options) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	if options == nil {
		options = &Options{}
	}
	over := &httpWire{endpoint: server.URL, revision: revision, header: options.Header, client: server.Client()}
	return connect(t, over, revision, person, options)
}

// ConnectPipes serves the server for the length of the test as a program on
// stdio does ([elicit.Serve]), within this process, and connects to it. A nil
// person is a client that cannot ask. Options may be nil.
func ConnectPipes(t testing.TB, server *elicit.Server, revision string, person Person, options *Options) *Client {
	t.Helper()
	if options == nil {
		options = &Options{}
	}
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = elicit.Serve(context.Background(), server, serverIn, serverOut) // ends with the pipe
		_ = serverOut.Close()                                               // a pipe's end has no error
	}()
	over := newPipeWire(clientOut, clientIn)
	t.Cleanup(func() {
		over.close()
		<-served
	})
	return connect(t, over, revision, person, options)
}

func connect(t testing.TB, over wire, revision string, person Person, options *Options) *Client {
	t.Helper()
	c := &Client{
		revision:     revision,
		capabilities: options.Capabilities,
		meta:         maps.Clone(options.Meta),
		wire:         over,
		person:       person,
	}
	if c.capabilities == nil {
		c.capabilities = json.RawMessage(`{}`)
		if person != nil {
			// Legacy revisions have no modes, or read {} as form mode.
			c.capabilities = json.RawMessage(`{"elicitation":{}}`)
		}
	}
	if pipes, ok := over.(*pipeWire); ok {
		pipes.serve(func(ctx context.Context, text []byte) error {
			_, _, err := c.receive(ctx, text, "", 0)
			return err
		})
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
	Rounds     int             // sends of the call that the protocol wants; 1 before 2026-07-28
	Raw        json.RawMessage // the whole result
	Again      []Reply         // what came to sends that it does not want: see Twice and Replay
}

// Reply is a result, or the [*Error] in its place.
type Reply struct {
	Raw json.RawMessage
	Err error
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
	return c.do(ctx, "tools/call", map[string]any{"name": tool, "arguments": arguments})
}

// Do sends a request that can ask, such as prompts/get, has the person answer
// its questions, and returns the last result.
func (c *Client) Do(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	result, err := c.do(ctx, method, params)
	if err != nil {
		return nil, err
	}
	return result.Raw, nil
}

func (c *Client) do(ctx context.Context, method string, params map[string]any) (*Result, error) {
	params = maps.Clone(params)
	if params == nil {
		params = make(map[string]any)
	}
	result, err := c.finish(ctx, method, params)
	if c.gone.Load() {
		return nil, ErrGone
	}
	again := c.after.do(ctx)
	if err != nil {
		return nil, err
	}
	result.Again = again
	return result, nil
}

func readResult(raw json.RawMessage) (*Result, error) {
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
	return &Result{Text: strings.Join(lines, "\n"), Structured: result.Structured, IsError: result.IsError, Raw: raw}, nil
}

// Send sends one request and returns its result; for 2026-07-28 that may be
// one that asks. A JSON-RPC error is an [*Error]. Params must not have _meta.
func (c *Client) Send(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	return c.sendAs(ctx, nil, method, params)
}

// sendAs is Send with other headers, if there are some.
func (c *Client) sendAs(ctx context.Context, header http.Header, method string, params map[string]any) (json.RawMessage, error) {
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
	return c.wire.request(ctx, fmt.Sprint(id), map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}, header, c.receive)
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
	return c.wire.notify(ctx, map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"}, nil)
}

// Close ends a legacy session, or the connection over pipes, as a client that
// goes away would. It is done at the end of the test, too; over HTTP in
// 2026-07-28 there is nothing to end.
func (c *Client) Close() { c.wire.close() }

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
