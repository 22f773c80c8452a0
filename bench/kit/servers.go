package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"
	"strings"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/bench/report"
	"github.com/parley-mcp/parley/elicit"
)

// All servers ask the same form, for the same answer.
const (
	message = "Which flight to Oslo?"
	// schema is what the kit makes of pick; the driver compares.
	schema = `{"type":"object","properties":{"flight":{"type":"string","title":"Connecting flight","oneOf":[{"const":"PY101","title":"Flight PY101"},{"const":"PY202","title":"Flight PY202"},{"const":"PY303","title":"Flight PY303"}]},"bags":{"type":"integer","title":"Bags","minimum":0,"maximum":3,"default":1}},"required":["flight","bags"]}`
)

// plainState stands in for the state of servers that do not seal: as long as
// the kit's, so that the same number of bytes travels.
var plainState = strings.Repeat("state/", 120)

type trip struct {
	To string `json:"to"`
}

type booked struct {
	Flight string `json:"flight"`
	Bags   int    `json:"bags"`
}

type pick struct {
	Flight string `json:"flight" title:"Connecting flight" elicit:"options=PY101:Flight PY101|PY202:Flight PY202|PY303:Flight PY303"`
	Bags   int    `json:"bags" title:"Bags" elicit:"min=0,max=3,default=1"`
}

// kit is a server on package elicit, with its defaults.
func kit() (http.Handler, error) {
	server, err := booking()
	if err != nil {
		return nil, err
	}
	return elicit.NewHTTPHandler(server, nil), nil
}

// direct is the same server without sessions.
func direct() (http.Handler, error) {
	server, err := booking()
	if err != nil {
		return nil, err
	}
	return elicit.NewDirectHTTPHandler(server, nil)
}

func booking() (*elicit.Server, error) {
	server, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil), nil)
	if err != nil {
		return nil, err
	}
	elicit.AddTool(server, &mcp.Tool{Name: "book"}, func(ctx context.Context, call *elicit.Call, _ trip) (booked, error) {
		p, err := elicit.Ask[pick](ctx, call, "pick", message)
		if err != nil {
			return booked{}, err
		}
		return booked(p), nil
	})
	return server, nil
}

// bareSDK is the official SDK alone: nothing is sealed, nothing is checked.
func bareSDK() (http.Handler, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "book"}, func(_ context.Context, req *mcp.CallToolRequest, _ trip) (*mcp.CallToolResult, booked, error) {
		answer, ok := req.Params.InputResponses["pick"].(*mcp.ElicitResult)
		if !ok {
			return &mcp.CallToolResult{
				Content:       []mcp.Content{},
				InputRequests: mcp.InputRequestMap{"pick": &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(schema)}},
				RequestState:  plainState,
			}, booked{}, nil
		}
		flight, _ := answer.Content["flight"].(string)
		bags, _ := answer.Content["bags"].(float64)
		return nil, booked{flight, int(bags)}, nil
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}), nil
}

// mcpGo is mark3labs/mcp-go: nothing is sealed, nothing is checked.
func mcpGo() (http.Handler, error) {
	server := mcpgoserver.NewMCPServer("bench", "1", mcpgoserver.WithToolCapabilities(true), mcpgoserver.WithElicitation())
	tool := mcpgo.NewTool("book", mcpgo.WithString("to", mcpgo.Required()))
	server.AddTool(tool, func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		answer := mcpgoserver.ElicitationResponse(req.Params.InputResponses, "pick")
		if answer == nil {
			return mcpgoserver.NewInputRequestBuilder(plainState).Elicit("pick", mcpgo.ElicitationParams{
				Mode: mcpgo.ElicitationModeForm, Message: message, RequestedSchema: json.RawMessage(schema),
			}).ToolResult(), nil
		}
		content, _ := answer.Content.(map[string]any)
		flight, _ := content["flight"].(string)
		bags, _ := content["bags"].(float64)
		return mcpgo.NewToolResultJSON(booked{flight, int(bags)})
	})
	return mcpgoserver.NewStreamableHTTPServer(server), nil
}

// floor answers with recorded bytes: the least that any server does over
// net/http.
func floor() (http.Handler, error) {
	var recorded [2]reply
	if err := json.Unmarshal([]byte(os.Getenv(recordedEnv)), &recorded); err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			http.Error(w, "failed to read body", http.StatusBadRequest)
			return
		}
		r := &recorded[0]
		if bytes.Contains(body, []byte(`"requestState"`)) {
			r = &recorded[1]
		}
		w.Header().Set("Content-Type", r.Type)
		_, _ = w.Write(r.Body)
	}), nil
}

// A reply is what the kit answers in one round.
type reply struct {
	Type string
	Body []byte
}

const (
	roleEnv     = "PARLEY_BENCH_ROLE"
	recordedEnv = "PARLEY_BENCH_RECORDED"
)

// typescript is the one server that is not written in Go: node/server.mjs.
const typescript = "typescript"

var roles = map[string]func() (http.Handler, error){"kit": kit, "direct": direct, "go-sdk": bareSDK, "mcp-go": mcpGo, "floor": floor}

// usage is what a server says about itself.
type usage struct {
	Processor time.Duration // so far
	Allocated uint64        // bytes, so far
	Live      uint64        // bytes on the heap after a collection
}

// serve plays a role until stdin ends.
func serve(role string) error {
	handler, err := roles[role]()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	mux.HandleFunc("/usage", func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Query().Has("collect") {
			runtime.GC()
		}
		u := usage{Processor: report.Processor()}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		u.Allocated, u.Live = m.TotalAlloc, m.HeapAlloc
		_ = json.NewEncoder(w).Encode(u)
	})
	// `go tool pprof` can look into a server while it is measured.
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	fmt.Println(listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the driver is gone
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
