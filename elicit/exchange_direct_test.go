package elicit_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

// newDirect returns a server with a tool "ask" that returns how many sessions
// the MCP server has, and what the kit logs.
func newDirect(t *testing.T, options *mcp.ServerOptions) (own *mcp.Server, server *elicit.Server, log *lockedBuffer) {
	t.Helper()
	log = &lockedBuffer{}
	own = mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, options)
	server, err := elicit.NewServer(own, &elicit.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(context.Context, *elicit.Call, none) (int, error) {
		sessions := 0
		for range own.Sessions() {
			sessions++
		}
		return sessions, nil
	})
	return own, server, log
}

var askHeaders = map[string]string{"Mcp-Protocol-Version": modern, "Mcp-Method": "tools/call", "Mcp-Name": "ask"}

// sessionsSeen calls "ask" and returns how many sessions there were meanwhile.
func sessionsSeen(t *testing.T, url string) string {
	t.Helper()
	status, body := request(t, "POST", url, askHeaders, askModern)
	_, text, ok := strings.Cut(body, `"structuredContent":`)
	if status != http.StatusOK || !ok {
		t.Fatalf("HTTP %d %s", status, body)
	}
	return text[:1]
}

func passOn(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		return next(ctx, method, req)
	}
}

func TestDirect(t *testing.T) {
	t.Parallel()
	_, server, _ := newDirect(t, nil)
	direct, err := elicit.NewDirectHTTPHandler(server, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := sessionsSeen(t, serve(t, direct)); got != "0" {
		t.Errorf("%s sessions during a call of a direct handler", got)
	}
	if got := sessionsSeen(t, serve(t, elicit.NewHTTPHandler(server, nil))); got != "1" {
		t.Errorf("%s sessions during a call of the other handler", got)
	}
}

func TestDirectRefusesMiddleware(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*mcp.Server) error{
		"receiving, before the kit": func(own *mcp.Server) error {
			own.AddReceivingMiddleware(passOn)
			_, err := elicit.NewServer(own, nil)
			return err
		},
		"sending, before the kit": func(own *mcp.Server) error {
			own.AddSendingMiddleware(passOn)
			_, err := elicit.NewServer(own, nil)
			return err
		},
	}
	for name, add := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, nil)
			if err := add(own); err != nil {
				t.Fatal(err)
			}
			server, err := elicit.NewServer(own, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := elicit.NewDirectHTTPHandler(server, nil); err == nil || !strings.Contains(err.Error(), "middleware") {
				t.Errorf("error %v", err)
			}
		})
	}
	for name, add := range map[string]func(*mcp.Server){
		"receiving": func(own *mcp.Server) { own.AddReceivingMiddleware(passOn) },
		"sending":   func(own *mcp.Server) { own.AddSendingMiddleware(passOn) },
	} {
		t.Run(name+", after the kit", func(t *testing.T) {
			t.Parallel()
			own, server, _ := newDirect(t, nil)
			add(own)
			if _, err := elicit.NewDirectHTTPHandler(server, nil); err == nil || !strings.Contains(err.Error(), "middleware") {
				t.Errorf("error %v", err)
			}
		})
		t.Run(name+", later", func(t *testing.T) {
			t.Parallel()
			own, server, log := newDirect(t, nil)
			direct, err := elicit.NewDirectHTTPHandler(server, nil)
			if err != nil {
				t.Fatal(err)
			}
			url := serve(t, direct)
			if got := sessionsSeen(t, url); got != "0" {
				t.Errorf("%s sessions before", got)
			}
			add(own)
			for range 2 {
				if got := sessionsSeen(t, url); got != "1" {
					t.Errorf("%s sessions after", got)
				}
			}
			if got := strings.Count(log.String(), "middleware was added"); got != 1 {
				t.Errorf("told %d times: %s", got, log)
			}
		})
	}
}

// TestDirectReplaced: the MCP server is its author's, who may take a tool away
// or put one of the SDK's own in its place.
func TestDirectReplaced(t *testing.T) {
	t.Parallel()
	own, server, _ := newDirect(t, nil)
	direct, err := elicit.NewDirectHTTPHandler(server, nil)
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, direct)
	mcp.AddTool(own, &mcp.Tool{Name: "ask"}, func(_ context.Context, req *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, int, error) {
		sessions := 0
		for range own.Sessions() {
			sessions++
		}
		return nil, sessions, nil
	})
	for _, want := range []string{"0", "1"} { // the first call shows what it is
		if got := sessionsSeen(t, url); got != want {
			t.Errorf("%s sessions, want %s", got, want)
		}
	}
	own.RemoveTools("ask")
	if status, body := request(t, "POST", url, askHeaders, askModern); status != http.StatusBadRequest || !strings.Contains(body, `unknown tool`) {
		t.Errorf("HTTP %d %s", status, body)
	}
}

// TestDirectOtherRevisions: a server that is told not to speak the revision says
// so in the SDK's words.
func TestDirectOtherRevisions(t *testing.T) {
	t.Parallel()
	own, server, _ := newDirect(t, &mcp.ServerOptions{SupportedProtocolVersions: []string{"2025-11-25"}})
	direct, err := elicit.NewDirectHTTPHandler(server, nil)
	if err != nil {
		t.Fatal(err)
	}
	sdk := serve(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return own }, &mcp.StreamableHTTPOptions{Stateless: true}))
	wantStatus, want := request(t, "POST", sdk, askHeaders, askModern)
	if wantStatus == http.StatusOK {
		t.Fatal(want)
	}
	for name, handler := range map[string]http.Handler{"direct": direct, "kit": elicit.NewHTTPHandler(server, nil)} {
		if status, got := request(t, "POST", serve(t, handler), askHeaders, askModern); status != wantStatus || got != want {
			t.Errorf("%s: HTTP %d %s, the SDK says %d %s", name, status, got, wantStatus, want)
		}
	}
}

// TestDirectDisconnect is TestDisconnect for a direct handler.
func TestDirectDisconnect(t *testing.T) {
	t.Parallel()
	server, _ := newServer(t, nil)
	running, ended := make(chan struct{}), make(chan error, 1)
	elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, _ *elicit.Call, _ none) (none, error) {
		close(running)
		<-ctx.Done()
		ended <- ctx.Err()
		return none{}, ctx.Err()
	})
	direct, err := elicit.NewDirectHTTPHandler(server, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := elicittest.Connect(t, direct, modern, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-running
		cancel()
	}()
	if _, err := client.Call(ctx, "ask", none{}); err == nil {
		t.Error("a cancelled call succeeded")
	}
	if err := <-ended; err == nil {
		t.Error("the handler's context is alive")
	}
}

// TestToolArguments: what a handler gets is what the schema has seen, exactly.
func TestToolArguments(t *testing.T) {
	t.Parallel()
	type in struct {
		To string `json:"to"`
		N  int64  `json:"n"`
	}
	server, handler := newServer(t, nil)
	elicit.AddTool(server, &mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object","properties":{
		"to":{"enum":["Oslo","Rome"],"default":"Rome"},"n":{"type":"integer","maximum":9e18}}}`)},
		func(_ context.Context, _ *elicit.Call, got in) (in, error) { return got, nil })
	url := serve(t, handler)
	tests := []struct{ name, arguments, want string }{
		{"default", `{}`, `{"to":"Rome","n":0}`},
		{"given", `{"to":"Oslo"}`, `{"to":"Oslo","n":0}`},
		{"another spelling is another name", `{"TO":"Bergen","To":"Bergen"}`, `{"to":"Rome","n":0}`},
		{"another spelling beside a large number", `{"to":"Oslo","TO":"Bergen","n":9007199254740993}`, `{"to":"Oslo","n":9007199254740993}`},
		{"large number", `{"to":"Oslo","n":9007199254740993}`, `{"to":"Oslo","n":9007199254740993}`},
		{"large number and default", `{"n":9007199254740993}`, `{"to":"Rome","n":9007199254740993}`},
		{"null", `null`, `{"to":"Rome","n":0}`},
		{"not allowed", `{"to":"Bergen"}`, ``},
		{"too large for the schema", `{"n":9223372036854775807}`, ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			status, body := request(t, "POST", url, askHeaders, strings.Replace(askModern, `"arguments":{}`, `"arguments":`+test.arguments, 1))
			if status != http.StatusOK {
				t.Fatalf("HTTP %d %s", status, body)
			}
			if test.want == "" {
				if !strings.Contains(body, `"isError":true`) {
					t.Errorf("%s, want an error", body)
				}
				return
			}
			if !strings.Contains(body, `"structuredContent":`+test.want) {
				t.Errorf("%s, want %s", body, test.want)
			}
		})
	}
}
