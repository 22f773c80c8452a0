package host

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/internal/exact"
)

// A capture keeps the bytes of one reply, because the SDK reads schemas into
// maps and the order of their fields is gone.
type capture struct {
	method string

	mu  sync.Mutex
	raw json.RawMessage // the result member
	buf bytes.Buffer    // HTTP: the response so far
}

const maxCapture = 16 << 20 // bytes; the wiretap's bound of one message is below

type captureKey struct{}

func withCapture(ctx context.Context, c *capture) context.Context {
	return context.WithValue(ctx, captureKey{}, c)
}

func captureOf(ctx context.Context) *capture {
	c, _ := ctx.Value(captureKey{}).(*capture)
	return c
}

// result is the result member of the reply; nil if none was seen.
func (c *capture) result() json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.raw != nil {
		return c.raw
	}
	// A response is one message, over as many lines as the server likes, or an
	// event stream as the wiretap writes it.
	if body := bytes.TrimSpace(c.buf.Bytes()); bytes.HasPrefix(body, []byte("{")) {
		return resultOf(body)
	}
	var e eventData
	for line := range bytes.Lines(c.buf.Bytes()) {
		if result := resultOf(e.line(line)); result != nil {
			return result
		}
	}
	return nil
}

// eventData reads an event stream as the wiretap writes it: a message has as many
// "data: " lines as it had, and an empty line ends it.
type eventData struct{ so []byte }

// line takes the next line, and returns the message that it ends; nil if it ends none.
func (e *eventData) line(line []byte) (msg []byte) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
		e.so = append(append(e.so, data...), '\n')
	} else if len(line) == 0 {
		msg, e.so = bytes.TrimSpace(e.so), nil
	}
	return msg
}

// resultOf is the result member of a reply; nil if it is another message.
func resultOf(msg []byte) json.RawMessage {
	var m struct {
		Method *string         `json:"method"`
		Result json.RawMessage `json:"result"`
	}
	if exact.Unmarshal(msg, &m) != nil || m.Method != nil {
		return nil
	}
	return m.Result
}

// captureBody copies what is read from a response's body.
type captureBody struct {
	io.ReadCloser
	to *capture
}

func (b *captureBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.to.mu.Lock()
	if b.to.buf.Len()+n <= maxCapture {
		b.to.buf.Write(p[:n])
	}
	b.to.mu.Unlock()
	return n, err
}

// captureTransport does for pipes what captureBody does for HTTP.
type captureTransport struct{ mcp.Transport }

func (t captureTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &captureConnection{Connection: c, open: map[jsonrpc.ID]*capture{}}, nil
}

type captureConnection struct {
	mcp.Connection
	mu   sync.Mutex
	open map[jsonrpc.ID]*capture
}

func (c *captureConnection) Write(ctx context.Context, msg jsonrpc.Message) error {
	req, ok := msg.(*jsonrpc.Request)
	to := captureOf(ctx)
	if ok && to != nil && req.Method == to.method && req.IsCall() {
		c.mu.Lock()
		c.open[req.ID] = to
		c.mu.Unlock()
		context.AfterFunc(ctx, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.open, req.ID)
		})
	}
	return c.Connection.Write(ctx, msg)
}

func (c *captureConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if resp, ok := msg.(*jsonrpc.Response); ok && err == nil {
		c.mu.Lock()
		to := c.open[resp.ID]
		delete(c.open, resp.ID)
		c.mu.Unlock()
		if to != nil {
			to.mu.Lock()
			to.raw = resp.Result
			to.mu.Unlock()
		}
	}
	return msg, err
}
