package elicit_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

// request sends one raw HTTP request and returns status and body.
func request(t *testing.T, method, url string, header map[string]string, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for key, value := range header {
		if key == "Host" {
			req.Host = value
		}
		req.Header.Set(key, value)
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

const (
	modernMeta  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	askModern   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{},` + modernMeta + `}}`
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	askHeadless = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{}}}`
)

func TestHTTP(t *testing.T) {
	t.Parallel()
	server, handler := newServer(t, nil)
	elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
		_, err := elicit.Confirm(ctx, call, "sure", "Sure?")
		return none{}, err
	})
	url := serve(t, handler)
	h := func(pairs ...string) map[string]string {
		header := make(map[string]string)
		for i := 0; i < len(pairs); i += 2 {
			header[pairs[i]] = pairs[i+1]
		}
		return header
	}
	call := h("Mcp-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", "ask")
	and := func(header map[string]string, key, value string) map[string]string {
		both := h(key, value)
		maps.Copy(both, header)
		return both
	}
	tests := []struct {
		name   string
		method string
		header map[string]string
		body   string
		status int
		want   string
	}{
		{"modern call", "POST", call, askModern, 200, `"resultType":"input_required"`},
		{"modern discover", "POST", h("Mcp-Protocol-Version", modern, "Mcp-Method", "server/discover"), `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}`, 200, `"supportedVersions":["2026-07-28","2025-11-25","2025-06-18"`},
		{"modern without the header", "POST", h(), askModern, 400, `-32020`},
		{"legacy without a session", "POST", h("Mcp-Protocol-Version", "2025-11-25"), askHeadless, 200, `invalid during session initialization`},
		{"unknown legacy revision", "POST", h("Mcp-Protocol-Version", "2024-01-01"), initialize, 400, `Unsupported protocol version`},
		{"future revision", "POST", h("Mcp-Protocol-Version", "2027-01-01", "Mcp-Method", "tools/call", "Mcp-Name", "ask"), strings.ReplaceAll(askModern, modern, "2027-01-01"), 400, `-32022`},
		{"modern GET", "GET", h("Mcp-Protocol-Version", modern), ``, 405, ``},
		{"GET without a session", "GET", h(), ``, 400, `requires an Mcp-Session-Id`},
		{"unknown session", "POST", h("Mcp-Session-Id", "x"), askHeadless, 404, `session not found`},
		{"another site's page", "POST", and(call, "Origin", "https://evil.example"), askModern, 403, ``},
		{"another site by fetch metadata", "POST", and(call, "Sec-Fetch-Site", "cross-site"), askModern, 403, ``},
		{"rebound name", "POST", and(call, "Host", "evil.example"), askModern, 403, `Host`},
		{"no JSON", "POST", call, `{`, 400, `malformed`},
		{"empty", "POST", call, ``, 400, `non-empty`},
		{"batch", "POST", call, `[` + askModern + `]`, 400, `batch`},
		{"too large", "POST", call, askModern + strings.Repeat(" ", 5<<20), 413, `exceeds`},
		{"capabilities that are no object", "POST", call, strings.ReplaceAll(askModern, `{"elicitation":{}}`, `[]`), 400, `-32602`},
		{"no capabilities", "POST", call, strings.ReplaceAll(askModern, `{"elicitation":{}}`, `{}`), 400, `-32021`},
		{"state of a wrong type", "POST", call, strings.ReplaceAll(askModern, `"arguments"`, `"requestState":{"a":1},"arguments"`), 400, ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			status, body := request(t, test.method, url, test.header, test.body)
			if status != test.status || !strings.Contains(body, test.want) {
				t.Errorf("HTTP %d %q, want %d with %q", status, body, test.status, test.want)
			}
		})
	}
}

// TestOwnTools leaves tools alone that ask through the SDK itself.
func TestOwnTools(t *testing.T) {
	t.Parallel()
	own := mcp.NewServer(&mcp.Implementation{Name: "own"}, nil)
	server, err := elicit.NewServer(own, nil)
	if err != nil {
		t.Fatal(err)
	}
	mcp.AddTool(own, &mcp.Tool{Name: "own"}, func(ctx context.Context, req *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		if answer, ok := req.Params.InputResponses["q"].(*mcp.ElicitResult); ok {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(answer.Content["a"])}}}, nil, nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{
			Message: "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`),
		}}}, nil, nil
	})
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			client := elicittest.Connect(t, elicit.NewHTTPHandler(server, nil), revision, elicittest.Script(t, elicittest.Accept(map[string]any{"a": "x"})), nil)
			result, err := client.Call(t.Context(), "own", none{})
			if err != nil {
				t.Fatal(err)
			}
			if result.Text != "x" {
				t.Errorf("result %s", result.Raw)
			}
		})
	}
}

// TestWithoutOurHandler serves the SDK's own handler: answers come decoded, and
// a number that may have been rounded is refused.
func TestWithoutOurHandler(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			own := mcp.NewServer(&mcp.Implementation{Name: "own"}, nil)
			server, err := elicit.NewServer(own, nil)
			if err != nil {
				t.Fatal(err)
			}
			type exact struct {
				N int64 `json:"n"`
			}
			elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (exact, error) {
				return elicit.Ask[exact](ctx, call, "n", "Number?")
			})
			handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return own }, &mcp.StreamableHTTPOptions{Stateless: revision == modern})
			var messages []string
			client := elicittest.Connect(t, handler, revision, func(q elicittest.Question) elicittest.Answer {
				messages = append(messages, q.Message)
				return elicittest.Accept(json.RawMessage([]string{`{"n":9007199254740993}`, `{"n":9007199254740991}`}[len(messages)-1]))
			}, nil)
			result, err := client.Call(t.Context(), "ask", none{})
			if err != nil {
				t.Fatal(err)
			}
			if string(result.Structured) != `{"n":9007199254740991}` || len(messages) != 2 || !strings.Contains(messages[1], "too large to be read exactly") {
				t.Errorf("messages %q, result %s", messages, result.Raw)
			}
		})
	}
}

// TestExactArguments hands integers beyond 2^53 to the handler as they came.
func TestExactArguments(t *testing.T) {
	t.Parallel()
	inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
		type exact struct {
			N int64  `json:"n"`
			S string `json:"s,omitempty"`
		}
		elicit.AddTool(server, &mcp.Tool{Name: "echo"}, func(_ context.Context, call *elicit.Call, in exact) (exact, error) {
			if got := string(call.Request().Arguments); got != `{"n":9007199254740993}` {
				t.Errorf("arguments %s", got)
			}
			return in, nil
		})
		client := elicittest.Connect(t, handler, revision, nil, nil)
		result, err := client.Call(t.Context(), "echo", json.RawMessage(`{"n":9007199254740993}`))
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"n":9007199254740993}`; string(result.Structured) != want || result.Text != want {
			t.Errorf("result %s", result.Raw)
		}
	})
}

// TestDisconnect cancels a modern handler when its client is gone.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	server, handler := newServer(t, nil)
	running, ended := make(chan struct{}), make(chan error, 1)
	elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
		close(running)
		<-ctx.Done()
		ended <- ctx.Err()
		return none{}, ctx.Err()
	})
	client := elicittest.Connect(t, handler, modern, nil, nil)
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

// TestReconnect loses the connection while a legacy question is open, and
// finds the result on the next one.
func TestReconnect(t *testing.T) {
	t.Parallel()
	server, handler := newServer(t, nil)
	elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
		consent, err := elicit.Confirm(ctx, call, "sure", "Sure?")
		call.Content(&mcp.TextContent{Text: "said " + consent.String()})
		return none{}, err
	})
	url := serve(t, handler)
	do := func(ctx context.Context, method, session, last, body string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		if last != "" {
			req.Header.Set("Last-Event-ID", last)
		}
		response, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { response.Body.Close() })
		return response
	}
	// event reads up to an event whose data has the text.
	event := func(response *http.Response, text string) (id, data string) {
		t.Helper()
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			if value, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				id = value
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && strings.Contains(data, text) {
				return id, data
			}
		}
		t.Fatalf("no event with %q", text)
		return "", ""
	}
	first := do(t.Context(), "POST", "", "", strings.Replace(initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
	session := first.Header.Get("Mcp-Session-Id")
	// To the end: the SDK drops a session whose initialize is cut short.
	if _, err := io.Copy(io.Discard, first.Body); err != nil {
		t.Fatal(err)
	}
	do(t.Context(), "POST", session, "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)

	lost, lose := context.WithCancel(t.Context())
	id, data := event(do(lost, "POST", session, "", strings.Replace(askHeadless, `"id":1`, `"id":7`, 1)), "elicitation/create")
	lose()
	var question struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal([]byte(data), &question); err != nil {
		t.Fatal(err)
	}
	do(t.Context(), "POST", session, "", `{"jsonrpc":"2.0","id":`+string(question.ID)+`,"result":{"action":"accept","content":{"confirmed":true}}}`)
	resumed := do(t.Context(), "GET", session, id, "")
	for resumed.StatusCode == http.StatusConflict { // until the server has noticed that the first reader is gone
		resumed.Body.Close()
		resumed = do(t.Context(), "GET", session, id, "")
	}
	if _, data := event(resumed, `"id":7`); !strings.Contains(data, "said yes") {
		t.Errorf("result %s", data)
	}
	do(t.Context(), "DELETE", session, "", "")
}

// flushRecorder records what goes out, and when it is flushed.
type flushRecorder struct {
	*httptest.ResponseRecorder
	flushes atomic.Int64
}

func (r *flushRecorder) Flush() { r.flushes.Add(1) }

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	const event = "event: message\ndata: {}\n\n"
	tests := []struct {
		name   string
		run    func(w http.ResponseWriter)
		status int
		media  string
		body   string
	}{
		{"fast", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, event)
		}, 200, "text/event-stream", event},
		{"fast error", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, "{}")
		}, 400, "application/json", "{}"},
		{"silence", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			time.Sleep(36 * time.Second) //nolint:forbidigo // in a bubble: beats at 5, 20 and 35
			io.WriteString(w, event)
		}, 200, "text/event-stream", ":\n\n:\n\n:\n\n" + event},
		{"talk, then silence", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			time.Sleep(4 * time.Second) //nolint:forbidigo // in a bubble
			io.WriteString(w, event)
			time.Sleep(16 * time.Second) //nolint:forbidigo // in a bubble: a beat at 19
			io.WriteString(w, event)
		}, 200, "text/event-stream", event + ":\n\n" + event},
		{"not within an event", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {")
			time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
			io.WriteString(w, "}\n\n")
		}, 200, "text/event-stream", "data: {}\n\n"},
		{"late error", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			time.Sleep(6 * time.Second) //nolint:forbidigo // in a bubble
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error":1}`)
		}, 200, "text/event-stream", ":\n\nevent: message\ndata: {\"error\":1}\n\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				recorder := &flushRecorder{ResponseRecorder: httptest.NewRecorder()}
				w, end := elicit.NewHeartbeat(recorder)
				test.run(w)
				end()
				time.Sleep(time.Hour) //nolint:forbidigo // in a bubble: nothing comes after the end
				got := recorder.Result()
				body, err := io.ReadAll(got.Body)
				if err != nil {
					t.Fatal(err)
				}
				if got.StatusCode != test.status || got.Header.Get("Content-Type") != test.media || string(body) != test.body {
					t.Errorf("HTTP %d %s %q, want %d %s %q", got.StatusCode, got.Header.Get("Content-Type"), body, test.status, test.media, test.body)
				}
				if beats := bytes.Count(body, []byte(":\n\n")); int(recorder.flushes.Load()) < beats {
					t.Errorf("%d beats, %d flushes", beats, recorder.flushes.Load())
				}
			})
		})
	}
}

// TestSessionEnds ends a session that has a question open: by its client, and
// because nobody came back for it. The handler must not wait for the person.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	for name, timeout := range map[string]time.Duration{"by its client": time.Hour, "idle": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, _ := newServer(t, nil)
			failures := make(chan error, 1)
			elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
				_, err := elicit.Confirm(ctx, call, "sure", "Sure?")
				failures <- err
				return none{}, err
			})
			handler := elicit.NewHTTPHandler(server, &elicit.HTTPOptions{SessionTimeout: timeout})
			asked := make(chan struct{})
			client := elicittest.Connect(t, handler, "2025-11-25", func(elicittest.Question) elicittest.Answer {
				close(asked)
				<-t.Context().Done() // never
				return elicittest.Cancel()
			}, nil)
			ctx, drop := context.WithCancel(t.Context())
			dropped := make(chan struct{})
			go func() {
				defer close(dropped)
				client.Call(ctx, "ask", none{})
			}()
			select {
			case <-asked:
			case <-dropped:
				t.Fatal("the call ended before its question")
			}
			drop()
			if timeout == time.Hour {
				client.Close()
			}
			if err := <-failures; err == nil || errors.Is(err, elicit.ErrPending) {
				t.Errorf("error %v", err)
			}
			t.Cleanup(func() { <-dropped })
		})
	}
}
