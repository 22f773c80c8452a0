package elicit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
)

// TestSameAsSDK holds modern requests against the SDK's own stateless handler
// over the same server: the kit reads ordinary requests itself, and nobody may
// see a difference, least of all one that gets past a check of the SDK.
func TestSameAsSDK(t *testing.T) {
	t.Parallel()
	own := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1", Title: "Own & <only>"}, &mcp.ServerOptions{
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs = 7 },
	})
	server, err := elicit.NewServer(own, &elicit.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
		call.Progress(ctx, 1, 2, "half")
		_, err := elicit.Confirm(ctx, call, "sure", "Sure?")
		return none{}, err
	}
	elicit.AddTool(server, &mcp.Tool{Name: "ask"}, ask)
	elicit.AddTool(server, &mcp.Tool{Name: "header", InputSchema: map[string]any{
		"type": "object", "properties": map[string]any{"region": map[string]any{"type": "string", "x-mcp-header": "Region"}},
	}}, func(context.Context, *elicit.Call, map[string]any) (none, error) { return none{}, nil })
	elicit.AddTool(server, &mcp.Tool{Name: "typed"}, func(ctx context.Context, call *elicit.Call, in typedIn) (typedOut, error) {
		call.Content(&mcp.TextContent{Text: "<b>&"}, &mcp.ImageContent{Data: []byte("image"), MIMEType: "image/png"})
		switch in.To {
		case "panic":
			panic("typed")
		case "error":
			return typedOut{}, errors.New("<wrong>")
		case "wire":
			return typedOut{}, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "of its own", Data: json.RawMessage(`{"a":1}`)}
		case "wrapped":
			return typedOut{}, fmt.Errorf("wrapped: %w", &jsonrpc.Error{Code: 7, Message: "seven"})
		case "nil map":
			return typedOut{}, nil
		}
		return typedOut{Seen: in.To + "<>&", Many: map[string]int{"n": in.N}}, nil
	})
	elicit.AddTool(server, &mcp.Tool{Name: "list"}, func(context.Context, *elicit.Call, none) ([]string, error) { return nil, nil })
	elicit.AddTool(server, &mcp.Tool{Name: "schema", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":9,"default":3}}}`)},
		func(_ context.Context, _ *elicit.Call, in struct {
			N int `json:"n"`
		}) (any, error) {
			return in, nil
		})
	elicit.AddPrompt(server, &mcp.Prompt{Name: "prompt", Arguments: []*mcp.PromptArgument{{Name: "a", Required: true}}}, func(ctx context.Context, call *elicit.Call, arguments map[string]string) (*mcp.GetPromptResult, error) {
		if arguments["a"] == "" {
			return nil, errors.New("no <a>")
		}
		_, err := elicit.Confirm(ctx, call, "sure", "Sure of "+arguments["a"]+"?")
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{}}, err
	})
	elicit.AddResource(server, &mcp.Resource{URI: "test://plain", Name: "plain", MIMEType: "text/plain"}, func(_ context.Context, _ *elicit.Call, uri string) ([]*mcp.ResourceContents, error) {
		return []*mcp.ResourceContents{{Text: "<plain>"}}, nil
	})
	elicit.AddResourceTemplate(server, &mcp.ResourceTemplate{URITemplate: "test://of/{who}", Name: "of"}, func(_ context.Context, _ *elicit.Call, uri string) ([]*mcp.ResourceContents, error) {
		return []*mcp.ResourceContents{{URI: uri, Blob: []byte("blob")}}, nil
	})
	mcp.AddTool(own, &mcp.Tool{Name: "sdk"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, none, error) {
		return nil, none{}, nil
	})
	elicit.AddResource(server, &mcp.Resource{URI: "test://r", Name: "r"}, func(ctx context.Context, call *elicit.Call, uri string) ([]*mcp.ResourceContents, error) {
		_, err := elicit.Confirm(ctx, call, "sure", "Sure?")
		return []*mcp.ResourceContents{{URI: uri, Text: "read"}}, err
	})
	direct, err := elicit.NewDirectHTTPHandler(server, nil)
	if err != nil {
		t.Fatal(err)
	}
	kits := map[string]string{"kit": serve(t, elicit.NewHTTPHandler(server, nil)), "direct": serve(t, direct)}
	sdk := serve(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return own }, &mcp.StreamableHTTPOptions{Stateless: true}))

	headers := map[string]string{"Mcp-Protocol-Version": modern, "Mcp-Method": "tools/call", "Mcp-Name": "ask"}
	with := func(pairs ...string) map[string]string {
		changed := maps.Clone(headers)
		for i := 0; i < len(pairs); i += 2 {
			changed[pairs[i]] = pairs[i+1]
		}
		return changed
	}
	tool := func(name, arguments string) (map[string]string, string) {
		return with("Mcp-Name", name), strings.NewReplacer(`"ask"`, `"`+name+`"`, `"arguments":{}`, `"arguments":`+arguments).Replace(askModern)
	}
	type message struct {
		name   string
		header map[string]string
		body   string
	}
	typed := func(name, tooled, arguments string) message {
		header, body := tool(tooled, arguments)
		return message{name, header, body}
	}
	read := func(name, uri string) message {
		return message{name, with("Mcp-Method", "resources/read", "Mcp-Name", uri), strings.NewReplacer(`tools/call`, `resources/read`, `"name":"ask","arguments":{}`, `"uri":"`+uri+`"`).Replace(askModern)}
	}
	prompt := func(name, arguments string) message {
		return message{name, with("Mcp-Method", "prompts/get", "Mcp-Name", "prompt"), strings.NewReplacer(`tools/call`, `prompts/get`, `"ask"`, `"prompt"`, `"arguments":{}`, `"arguments":`+arguments).Replace(askModern)}
	}
	body := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(askModern) }
	tests := []message{
		typed("arguments", "typed", `{"to":"Oslo","n":2}`),
		typed("an argument of a wrong type", "typed", `{"to":1,"n":2}`),
		typed("an argument out of range", "typed", `{"to":"Oslo","n":1e30}`),
		typed("an argument missing", "typed", `{"n":2}`),
		typed("an argument in capitals", "typed", `{"TO":"Oslo","n":2}`),
		typed("an argument too many", "typed", `{"to":"Oslo","n":2,"x":1}`),
		typed("an argument twice", "typed", `{"to":"Oslo","to":"Rome","n":2}`),
		typed("arguments null", "typed", `null`),
		typed("panic", "typed", `{"to":"panic","n":2}`),
		typed("error", "typed", `{"to":"error","n":2}`),
		typed("JSON-RPC error", "typed", `{"to":"wire","n":2}`),
		typed("JSON-RPC error, wrapped", "typed", `{"to":"wrapped","n":2}`),
		typed("result that does not fit", "typed", `{"to":"nil map","n":2}`),
		typed("result that is no object", "list", `{}`),
		typed("default", "schema", `{}`),
		typed("beyond the schema", "schema", `{"n":10}`),
		read("plain resource", "test://plain"),
		read("resource of a template", "test://of/ada"),
		read("unknown resource", "test://none"),
		prompt("prompt", `{"a":"b"}`),
		prompt("prompt with an error", `{}`),
		prompt("prompt without arguments", `null`),
		prompt("prompt with a number", `{"a":1}`),
		{"unknown prompt", with("Mcp-Method", "prompts/get", "Mcp-Name", "none"), body(`tools/call`, `prompts/get`, `"ask"`, `"none"`)},
		{"prompt without capability", with("Mcp-Method", "prompts/get", "Mcp-Name", "prompt"), body(`tools/call`, `prompts/get`, `"ask"`, `"prompt"`, `"arguments":{}`, `"arguments":{"a":"b"}`, `{"elicitation":{}}`, `{}`)},
		{"log level", with(), body(`"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"debug",`)},
		{"log level of a wrong type", with(), body(`"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":7,`)},
		{"roots", with(), body(`{"elicitation":{}}`, `{"elicitation":{},"roots":{"listChanged":true}}`)},
		{"roots of a wrong type", with(), body(`{"elicitation":{}}`, `{"elicitation":{},"roots":1}`)},
		{"null as client info", with(), body(`"_meta":{`, `"_meta":{"io.modelcontextprotocol/clientInfo":null,`)},
		{"null as capabilities", with(), body(`{"elicitation":{}}`, `null`)},
		{"resumed stream", with("Last-Event-Id", "1"), askModern},
		{"session id", with("Mcp-Session-Id", "1"), askModern},
		{"something behind it", with(), askModern + "x"},
		{"two messages", with(), askModern + askModern},
		{"answers that are null", with(), body(`"arguments":{}`, `"arguments":{},"inputResponses":null`)},
		{"answers nobody asked for", with(), body(`"arguments":{}`, `"arguments":{},"inputResponses":{"sure":{"action":"accept"}}`)},
		{"the kit's own field", with(), body(`"_meta":{`, `"_meta":{"io.github.parley-mcp/raw":"{}",`)},
		{"list of tools", with("Mcp-Method", "tools/list"), body(`tools/call`, `tools/list`)},
		{"discover", with("Mcp-Method", "server/discover"), body(`tools/call`, `server/discover`)},
		{"as it should be", with(), askModern},
		{"progress", with(), body(`"_meta":{`, `"_meta":{"progressToken":"p",`)},
		{"white space", with(), body(`"arguments":{}`, "\n\t\"arguments\" : { }")},
		{"text as id", with(), body(`"id":1`, `"id":"a \u00e9 \" b"`)},
		{"long id", with(), body(`"id":1`, `"id":9007199254740993`)},
		{"id with a fraction", with(), body(`"id":1`, `"id":1.5`)},
		{"id with an exponent", with(), body(`"id":1`, `"id":1e2`)},
		{"null as id", with(), body(`"id":1`, `"id":null`)},
		{"no id", with(), body(`"id":1,`, ``)},
		{"boolean as id", with(), body(`"id":1`, `"id":true`)},
		{"no jsonrpc", with(), body(`"jsonrpc":"2.0",`, ``)},
		{"other jsonrpc", with(), body(`"2.0"`, `"1.0"`)},
		{"no params", with(), `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`},
		{"params of a wrong type", with(), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`},
		{"no meta", with(), askHeadless},
		{"no version in meta", with(), body(`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`, ``)},
		{"other version in meta", with(), body(`:"2026-07-28"`, `:"2025-11-25"`)},
		{"no capabilities", with(), body(`,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`, ``)},
		{"capabilities of a wrong type", with(), body(`{"elicitation":{}}`, `{"elicitation":[]}`)},
		{"no elicitation", with(), body(`{"elicitation":{}}`, `{}`)},
		{"null as elicitation", with(), body(`{"elicitation":{}}`, `{"elicitation":null}`)},
		{"form mode", with(), body(`{"elicitation":{}}`, `{"elicitation":{"form":{}}}`)},
		{"url mode alone", with(), body(`{"elicitation":{}}`, `{"elicitation":{"url":{}}}`)},
		{"both modes", with(), body(`{"elicitation":{}}`, `{"elicitation":{"url":{},"form":{}}}`)},
		{"null as form mode", with(), body(`{"elicitation":{}}`, `{"elicitation":{"form":null}}`)},
		{"client info", with(), body(`"_meta":{`, `"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"c","version":"2"},`)},
		{"client info of a wrong type", with(), body(`"_meta":{`, `"_meta":{"io.modelcontextprotocol/clientInfo":"c",`)},
		{"client's name of a wrong type", with(), body(`"_meta":{`, `"_meta":{"io.modelcontextprotocol/clientInfo":{"name":1},`)},
		{"unknown tool", with("Mcp-Name", "none"), body(`"ask"`, `"none"`)},
		{"unknown method", with("Mcp-Method", "tools/try"), body(`tools/call`, `tools/try`)},
		{"arguments of a wrong type", with(), body(`"arguments":{}`, `"arguments":[]`)},
		{"arguments that are not known", with(), body(`"arguments":{}`, `"arguments":{"a":1}`)},
		{"no arguments", with(), body(`"arguments":{},`, ``)},
		{"request state that is none", with(), body(`"arguments":{}`, `"arguments":{},"requestState":"x"`)},
		{"name twice", with(), body(`"name":"ask"`, `"name":"sdk","name":"ask"`)},
		{"name twice, the other way", with(), body(`"name":"ask"`, `"name":"ask","name":"sdk"`)},
		{"method twice", with(), body(`"method":"tools/call"`, `"method":"ping","method":"tools/call"`)},
		{"name in capitals", with(), body(`"name":"ask"`, `"Name":"ask"`)},
		{"method in capitals", with(), body(`"method":`, `"Method":`)},
		{"nothing but the version", map[string]string{"Mcp-Protocol-Version": modern}, askModern},
		{"another method in the header", with("Mcp-Method", "prompts/get"), askModern},
		{"another name in the header", with("Mcp-Name", "sdk"), askModern},
		{"no name in the header", map[string]string{"Mcp-Protocol-Version": modern, "Mcp-Method": "tools/call"}, askModern},
		{"empty name", with("Mcp-Name", ""), body(`"name":"ask"`, `"name":""`)},
		{"encoded name in the header", with("Mcp-Name", "=?base64?YXNr?="), askModern},
		{"another version in the header", with("Mcp-Protocol-Version", "2027-01-01"), askModern},
		{"no JSON accepted", with("Accept", "text/event-stream"), askModern},
		{"anything accepted", with("Accept", "*/*"), askModern},
		{"other order", with("Accept", "text/event-stream, application/json"), askModern},
		{"text", with("Content-Type", "text/plain"), askModern},
		{"with a character set", with("Content-Type", "application/json; charset=utf-8"), askModern},
		{"rebound name", with("Host", "evil.example"), askModern},
		{"localhost", with("Host", "localhost:1"), askModern},
		{"the SDK's own tool", with("Mcp-Name", "sdk"), body(`"ask"`, `"sdk"`)},
		{"argument in a header", with("Mcp-Name", "header", "Mcp-Param-Region", "eu"), body(`"ask"`, `"header"`, `"arguments":{}`, `"arguments":{"region":"eu"}`)},
		{"argument lacks its header", with("Mcp-Name", "header"), body(`"ask"`, `"header"`, `"arguments":{}`, `"arguments":{"region":"eu"}`)},
		{"another argument in its header", with("Mcp-Name", "header", "Mcp-Param-Region", "us"), body(`"ask"`, `"header"`, `"arguments":{}`, `"arguments":{"region":"eu"}`)},
		{"resource", with("Mcp-Method", "resources/read", "Mcp-Name", "test://r"), body(`tools/call`, `resources/read`, `"name":"ask","arguments":{}`, `"uri":"test://r"`)},
		{"resource by name", with("Mcp-Method", "resources/read", "Mcp-Name", "test://r"), body(`tools/call`, `resources/read`, `"name":"ask"`, `"name":"test://r"`)},
		{"deep arguments", with(), body(`"arguments":{}`, `"arguments":{"a":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+`}`)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			wantStatus, want := answer(t, sdk, test.header, test.body)
			for way, url := range kits {
				status, got := answer(t, url, test.header, test.body)
				if status != wantStatus {
					t.Errorf("%s: HTTP %q, the SDK says %q", way, status, wantStatus)
				}
				if diff := cmp.Diff(settled(want), settled(got)); diff != "" {
					t.Errorf("(-the SDK +%s)\n%s", way, diff)
				}
			}
		})
	}
}

type typedIn struct {
	To string `json:"to"`
	N  int    `json:"n"`
}

type typedOut struct {
	Seen string         `json:"seen"`
	Many map[string]int `json:"many"`
}

// answer returns the status and what else counts of the head, and the body.
func answer(t *testing.T, url string, header map[string]string, body string) (head, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for key, value := range header {
		req.Header.Set(key, value)
	}
	req.Host = req.Header.Get("Host")
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(response.StatusCode, " ", response.Header.Get("Content-Type"), " ", response.Header.Get("Cache-Control")), string(read)
}

var fresh = regexp.MustCompile(`\(error [A-Z2-7]{26}\)|"requestState":"[^"]*"|"io.github.parley-mcp/expiresAt":"[^"]*"|unmarshaling .* into`)

// settled leaves out what is new in every response, and the bytes of a request
// that an error of the SDK quotes.
func settled(body string) string {
	return fresh.ReplaceAllString(body, "...")
}

// TestContextReachesHandler: what middleware around the handler puts into a
// request's context is there for the tool.
func TestContextReachesHandler(t *testing.T) {
	t.Parallel()
	type key struct{}
	server, handler := newServer(t, nil)
	seen := make(chan any, 1)
	elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, _ *elicit.Call, _ none) (none, error) {
		seen <- ctx.Value(key{})
		return none{}, nil
	})
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		handler.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), key{}, "value")))
	}))
	header := map[string]string{"Mcp-Protocol-Version": modern, "Mcp-Method": "tools/call", "Mcp-Name": "ask"}
	if status, body := request(t, "POST", url, header, askModern); status != http.StatusOK {
		t.Fatalf("HTTP %d %s", status, body)
	}
	if got := <-seen; got != "value" {
		t.Errorf("value %v", got)
	}
}

// TestKeepAlive: pings that the SDK wants to send cannot be sent, and must not
// end a call.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, &mcp.ServerOptions{KeepAlive: time.Second}), nil)
		if err != nil {
			t.Fatal(err)
		}
		elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, _ *elicit.Call, _ none) (string, error) {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(time.Minute):
				return "slow", nil
			}
		})
		req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(askModern))
		for key, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": modern, "Mcp-Method": "tools/call", "Mcp-Name": "ask",
		} {
			req.Header.Set(key, value)
		}
		response := httptest.NewRecorder()
		elicit.NewHTTPHandler(server, nil).ServeHTTP(response, req)
		if body := response.Body.String(); response.Code != http.StatusOK || !strings.Contains(body, "slow") {
			t.Errorf("HTTP %d %s", response.Code, body)
		}
	})
}
