package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/internal/servicetest"
)

// askTool is told what to ask.
const askTool = "ask"

// asServer makes this program a server on its standard input and output.
const asServer = "PARLEY_INTEROP_SERVER"

// runServer is that server.
func runServer(name string) error {
	ctx := context.Background()
	switch name {
	case "mcp-go":
		return mcpgoserver.NewStdioServer(newMCPGoServer()).Listen(ctx, os.Stdin, os.Stdout)
	case "go-sdk":
		return newGoSDKServer(false).Run(ctx, &mcp.StdioTransport{})
	}
	options := &elicit.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	if name != "kit" {
		if err := settings(name).read(options); err != nil {
			return err
		}
	}
	server, err := newDesk(options)
	if err != nil {
		return err
	}
	return elicit.Serve(ctx, server, os.Stdin, os.Stdout)
}

// selfProgram is this program as a server.
func selfProgram(name string) func(*testing.T) *standing {
	return func(t *testing.T) *standing {
		t.Helper()
		at := program(t)
		at.Env[asServer] = name
		return newProgram(t, exec.Command(at.Command, at.Args...), at.Env)
	}
}

// newGoService serves HTTP at an address that stays the same when it restarts.
func newGoService(t *testing.T, handler func() http.Handler) *standing {
	t.Helper()
	start := func(address string) *http.Server {
		t.Helper()
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		service := &http.Server{Addr: listener.Addr().String(), Handler: handler()}
		go service.Serve(listener)
		return service
	}
	service := start(servicetest.FreeAddr(t))
	t.Cleanup(func() { service.Close() })
	return &standing{t: t, server: &host.Server{ID: "desk", URL: "http://" + service.Addr + "/mcp"}, restart: func() {
		t.Helper()
		if err := service.Close(); err != nil {
			t.Error(err)
		}
		service = start(service.Addr)
	}}
}

// before puts a gateway in front of a server, which knows nothing of 2026-07-28:
// it does not let through what that revision begins with.
func before(start func(*testing.T) *standing) func(*testing.T) *standing {
	return func(t *testing.T) *standing {
		t.Helper()
		at := start(t)
		address, err := url.Parse(at.server.URL)
		if err != nil {
			t.Fatal(err)
		}
		proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: address.Scheme, Host: address.Host})
		proxy.Transport = &http.Transport{DisableKeepAlives: true}                                           // those to a server that was restarted are dead
		proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) } // as if there were none
		proxy.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		gateway := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			if json.Unmarshal(body, &m) == nil && m.Method == "server/discover" {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID)
				return
			}
			req.Body = io.NopCloser(bytes.NewReader(body))
			proxy.ServeHTTP(w, req)
		}))
		gateway.Config.ErrorLog = proxy.ErrorLog
		gateway.Start()
		t.Cleanup(func() {
			gateway.CloseClientConnections()
			gateway.Close()
		})
		at.server.URL = gateway.URL + address.Path
		return at
	}
}

// visited asks a page whether someone was there.
func visited(ctx context.Context, params map[string]any) bool {
	page, _ := params["url"].(string)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.Replace(page, "/open/", "/done/", 1), nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// A progress of the tool "ask" is its state between rounds.
type progress struct {
	Round   int                       `json:"round"`
	Answers map[string]map[string]any `json:"answers"`
}

// step takes the answers of the round that the state is of, and says what to ask
// next; nothing at the end.
func (in *inquiry) step(state string, answer func(key string) (action string, content any, ok bool)) (next []asking, newState, end string, err error) {
	p := progress{Round: -1, Answers: map[string]map[string]any{}}
	if state != "" {
		if err := json.Unmarshal([]byte(state), &p); err != nil {
			return nil, "", "", err
		}
		for _, q := range in.Rounds[p.Round] {
			action, content, ok := answer(q.Key)
			if !ok {
				return nil, "", "", fmt.Errorf("no answer to %q", q.Key)
			}
			p.note(q.Key, action, content)
		}
	}
	if p.Round++; p.Round < len(in.Rounds) {
		return in.Rounds[p.Round], string(asJSON(p)), "", nil
	}
	return nil, "", string(asJSON(p.Answers)), nil
}

func (p *progress) note(key, action string, content any) {
	p.Answers[key] = map[string]any{"action": action}
	if action == "accept" && content != nil {
		p.Answers[key]["content"] = content
	}
}

func newMCPGoServer() *mcpgoserver.MCPServer {
	server := mcpgoserver.NewMCPServer("mcp-go", "1.2.1", mcpgoserver.WithToolCapabilities(true), mcpgoserver.WithElicitation())
	server.AddTool(mcpgo.NewTool(askTool, mcpgo.WithDescription("Asks"), mcpgo.WithArray("rounds", mcpgo.Required()), mcpgo.WithObject("first")),
		func(ctx context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			var in inquiry
			if err := req.BindArguments(&in); err != nil {
				return nil, err
			}
			if in.First != nil && !visited(ctx, in.First) {
				var params mcpgo.ElicitationParams
				if err := json.Unmarshal(asJSON(in.First), &params); err != nil {
					return nil, err
				}
				return nil, mcpgo.URLElicitationRequiredError{Elicitations: []mcpgo.ElicitationParams{params}}
			}
			next, state, end, err := in.step(req.Params.RequestState, func(key string) (string, any, bool) {
				answer := mcpgoserver.ElicitationResponse(req.Params.InputResponses, key)
				if answer == nil {
					return "", nil, false
				}
				if content, ok := answer.Content.(map[string]any); ok && content != nil {
					return string(answer.Action), content, true
				}
				return string(answer.Action), nil, true
			})
			if err != nil || next == nil {
				return mcpgo.NewToolResultText(end), err
			}
			ask := mcpgoserver.NewInputRequestBuilder(state)
			for _, q := range next {
				var params mcpgo.ElicitationParams
				if err := json.Unmarshal(asJSON(q.Params), &params); err != nil {
					return nil, err
				}
				ask.Elicit(q.Key, params)
			}
			return ask.ToolResult(), nil
		})
	return server
}

func mcpGoService(t *testing.T) *standing {
	t.Helper()
	return newGoService(t, func() http.Handler { return mcpgoserver.NewStreamableHTTPServer(newMCPGoServer()) })
}

// newGoSDKServer asks in results, or in a session while the call is open.
func newGoSDKServer(inSession bool) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "1.8.0"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"rounds":{"type":"array"},"first":{"type":"object"}},"required":["rounds"]}`)
	server.AddTool(&mcp.Tool{Name: askTool, Description: "Asks", InputSchema: schema}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in inquiry
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, err
		}
		if inSession {
			return askInSession(ctx, req.Session, in)
		}
		next, state, end, err := in.step(req.Params.RequestState, func(key string) (string, any, bool) {
			answer, ok := req.Params.InputResponses[key].(*mcp.ElicitResult)
			if !ok {
				return "", nil, false
			}
			if answer.Content == nil {
				return answer.Action, nil, true
			}
			return answer.Action, answer.Content, true
		})
		if err != nil {
			return nil, err
		}
		if next == nil {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: end}}}, nil
		}
		requests := mcp.InputRequestMap{}
		for _, q := range next {
			if requests[q.Key], err = q.goSDK(); err != nil {
				return nil, err
			}
		}
		return &mcp.CallToolResult{InputRequests: requests, RequestState: state}, nil
	})
	return server
}

func (q asking) goSDK() (*mcp.ElicitParams, error) {
	params := &mcp.ElicitParams{}
	return params, json.Unmarshal(asJSON(q.Params), params)
}

// askInSession asks all questions of a round at once.
func askInSession(ctx context.Context, session *mcp.ServerSession, in inquiry) (*mcp.CallToolResult, error) {
	if in.First != nil && !visited(ctx, in.First) {
		params, err := asking{Params: in.First}.goSDK()
		if err != nil {
			return nil, err
		}
		return nil, mcp.URLElicitationRequiredError([]*mcp.ElicitParams{params})
	}
	p := progress{Answers: map[string]map[string]any{}}
	for _, round := range in.Rounds {
		var mu sync.Mutex
		var group sync.WaitGroup
		var failed error
		for _, q := range round {
			group.Go(func() {
				params, err := q.goSDK()
				var answer *mcp.ElicitResult
				if err == nil {
					answer, err = session.Elicit(ctx, params)
				}
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					failed = errors.Join(failed, err)
				case answer.Content == nil:
					p.note(q.Key, answer.Action, nil)
				default:
					p.note(q.Key, answer.Action, answer.Content)
				}
			})
		}
		group.Wait()
		if failed != nil {
			result := &mcp.CallToolResult{}
			result.SetError(failed)
			return result, nil //nolint:nilerr // it is in the result
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(asJSON(p.Answers))}}}, nil
}

// goSDKService is stateless, or has sessions, of which only revisions before
// 2026-07-28 are served by the SDK.
func goSDKService(sessions bool) func(*testing.T) *standing {
	return func(t *testing.T) *standing {
		t.Helper()
		return newGoService(t, func() http.Handler {
			server := newGoSDKServer(sessions)
			return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: !sessions})
		})
	}
}

// read puts the settings into the options of a kit: its key, and how long its
// questions are open.
func (s settings) read(options *elicit.Options) error {
	options.KeysFile, options.Audience = filepath.Join(string(s), "keys.json"), "desk"
	if _, err := os.Stat(filepath.Join(string(s), "ttl")); err == nil {
		options.Lifetime = 1
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// forgetting lets the settings of a kit change.
func (s settings) forgetting(at *standing) *standing {
	return s.sealingBy(at, func(t *testing.T) { s.remove(t, "keys.json") })
}

func kitProgram(t *testing.T) *standing {
	t.Helper()
	s := settings(t.TempDir())
	return s.forgetting(selfProgram(string(s))(t))
}

func kitService(t *testing.T) *standing {
	t.Helper()
	s := settings(t.TempDir())
	return s.forgetting(newGoService(t, func() http.Handler {
		// The host can show two questions at once, and says so by its name alone.
		options := &elicit.Options{Logger: slog.New(slog.DiscardHandler), Together: func(client, _ string) bool { return client == "parley" }}
		if err := s.read(options); err != nil {
			t.Fatal(err)
		}
		server, err := newDesk(options)
		if err != nil {
			t.Fatal(err)
		}
		return elicit.NewHTTPHandler(server, nil)
	}))
}
