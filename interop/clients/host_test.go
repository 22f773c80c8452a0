package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/interop/stranger"
	"github.com/parley-mcp/parley/interop/tables"
	"github.com/parley-mcp/parley/store/memstore"
)

// A foreign server books a flight after two questions.
type foreign struct {
	name      string
	transport string
	revision  string

	// start runs it, and returns where it is and what starts it anew there:
	// nil for a program, which ends and starts with the host.
	start func(t *testing.T) (*host.Server, func())
}

var foreigners = []foreign{
	{"TypeScript SDK 1.32.2", "stdio", "2025-11-25", nodeProgram("server-v1.mjs")},
	{"TypeScript SDK 1.32.2", "HTTP", "2025-11-25", nodeService("server-v1.mjs")},
	{"TypeScript SDK 2.4.0", "stdio", "2026-07-28", nodeProgram("server-v2.mjs")},
	{"TypeScript SDK 2.4.0", "HTTP", "2026-07-28", nodeService("server-v2.mjs")},
	{"mcp-go 1.2.1", "HTTP", "2026-07-28", mcpGoService},
}

// TestHostWithEverybodysServers answers what servers of other people ask, and
// has a server die while a question waits.
func TestHostWithEverybodysServers(t *testing.T) {
	t.Parallel()
	table := &tables.Table{Head: []string{"Server", "Transport", "Revision", "two rounds", "decline", "restart"}}
	t.Cleanup(func() { compare(t, "servers", table) }) // when all tests below have ended
	for _, f := range foreigners {
		row := []string{f.name, f.transport, f.revision, "", "", ""}
		table.Rows = append(table.Rows, row)
		t.Run(f.name+" "+f.transport, func(t *testing.T) {
			t.Parallel()
			d := &hostDesk{t: t, in: inbox.New(memstore.New(nil), seal.NewRing(), nil), revision: f.revision}
			var restart func()
			d.server, restart = f.start(t)
			if restart == nil {
				restart = d.restart
			}
			d.open()
			t.Cleanup(d.close)
			row[3] = d.book("PY 202", nil, "booked PY 202")
			row[4] = d.book("", nil, "not booked: decline")
			row[5] = d.book("PY 101", restart, "booked PY 101")
		})
	}
}

// A hostDesk is a host with one server, whose inbox outlives it.
type hostDesk struct {
	t        *testing.T
	in       *inbox.Inbox
	h        *host.Host
	server   *host.Server
	revision string
}

func (d *hostDesk) open() {
	d.t.Helper()
	// A busy machine starts a Node.js in more than the default 3 s, and a
	// program that is silent for that long counts as legacy.
	h, err := host.New(d.in, []*host.Server{d.server}, &host.Options{ProbeTimeout: time.Minute})
	if err != nil {
		d.t.Fatal(err)
	}
	d.h = h
}

func (d *hostDesk) close() {
	if err := d.h.Close(); err != nil {
		d.t.Error(err)
	}
}

func (d *hostDesk) restart() {
	d.close()
	d.open()
}

var (
	ada          = inbox.Principal{Issuer: "example", Subject: "ada"}
	errPause     = errors.New("the second question waits")
	errUncertain = errors.New("what became of the call is not known")
)

// book makes one call and answers its questions: it takes the flight, or
// declines if there is none. While the second question waits it calls pause.
// It returns what the table shows.
func (d *hostDesk) book(flight string, pause func(), want string) string {
	d.t.Helper()
	call, err := d.h.Start(d.t.Context(), ada, host.NewCall{Server: "desk", Name: "book", Arguments: json.RawMessage(`{"to":"Tokyo"}`)})
	if err != nil {
		d.t.Fatal(err)
	}
	replies := map[string]inbox.Answer{
		"Which flight to Tokyo?": {Action: inbox.Accept, Content: json.RawMessage(fmt.Sprintf(`{"flight":%q}`, flight)), Via: "api"},
		"Book " + flight + "?":   {Action: inbox.Accept, Content: json.RawMessage(`{"confirmed":true}`), Via: "api"},
	}
	wanted := 2
	if flight == "" {
		replies["Which flight to Tokyo?"] = inbox.Answer{Action: inbox.Decline, Via: "api"}
		wanted = 1
	}
	legacy, answered, paused := d.revision < "2026-07-28", 0, false
	blocked := 0
	answer := func(ctx context.Context, stop *host.Stop) error {
		// A connection that the server closed as it went away is found out by using
		// it. Host.Run tries again by itself; without it that is done here.
		if stop.Why == host.Blocked && stop.Call.Reason == inbox.ReasonUnreachable && paused && blocked < 3 {
			blocked++
			_, err := d.in.UnblockFor(ctx, ada, "desk", inbox.ReasonUnreachable)
			return err
		}
		if stop.Why == host.Uncertain && legacy && paused {
			return errUncertain
		}
		if stop.Why != host.Asked && stop.Why != host.Held {
			return fmt.Errorf("the call stands still: %s: %s", stop.Why, host.Explain(stop.Call, "desk"))
		}
		open, err := d.in.Questions(ctx, ada, inbox.QuestionFilter{Call: call.ID, States: []inbox.QuestionState{inbox.Open}})
		if err != nil {
			return err
		}
		for _, q := range open {
			if answered == 1 && pause != nil && !paused {
				return errPause
			}
			reply, ok := replies[q.Message]
			if !ok {
				return fmt.Errorf("nobody expects the question %q", q.Message)
			}
			if _, err := d.in.Answer(ctx, ada, q.ID, reply); err != nil {
				return err
			}
			answered++
		}
		return nil
	}
	end, err := d.h.Auto(d.t.Context(), ada, call.ID, answer)
	if errors.Is(err, errPause) {
		pause()
		paused = true
		end, err = d.h.Auto(d.t.Context(), ada, call.ID, answer)
	}
	if errors.Is(err, errUncertain) {
		// An open call cannot be taken up: one answer went to the server, and
		// what it did with that nobody knows.
		return "not taken up"
	}
	if err != nil {
		d.t.Error(err)
		return "no"
	}
	if legacy && paused && end.State == inbox.Failed {
		// The host told the program that it leaves, and the tool gave up.
		return "not taken up"
	}
	if answered != wanted {
		d.t.Errorf("%d questions, want %d", answered, wanted)
	}
	if end.State != inbox.Done || !strings.Contains(string(end.Result), strconv.Quote(want)) {
		d.t.Errorf("%s: %s %s, want %q", end.State, host.Explain(end, "desk"), end.Result, want)
		return "no"
	}
	if got := d.h.Servers(ada)[0].Revision; got != d.revision {
		d.t.Errorf("negotiated %s, want %s", got, d.revision)
	}
	return "yes"
}

func nodeProgram(name string) func(*testing.T) (*host.Server, func()) {
	return func(t *testing.T) (*host.Server, func()) {
		t.Helper()
		command, err := stranger.Node(t.Context(), "../"+name)
		if err != nil {
			t.Fatal(err)
		}
		return &host.Server{ID: "desk", Command: command.Path, Args: command.Args[1:]}, nil
	}
}

func nodeService(name string) func(*testing.T) (*host.Server, func()) {
	return func(t *testing.T) (*host.Server, func()) {
		t.Helper()
		port := "0" // any at first, and the same one when it starts anew
		start := func() (kill func()) {
			command, err := stranger.Node(context.WithoutCancel(t.Context()), "../"+name, port)
			if err != nil {
				t.Fatal(err)
			}
			command.Stderr = t.Output()
			out, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			listening := bufio.NewScanner(out)
			if !listening.Scan() {
				t.Fatalf("%s ended: %v", name, command.Wait())
			}
			port = listening.Text()
			return func() {
				if err := command.Process.Kill(); err != nil {
					t.Error(err)
				}
				_ = command.Wait() // it says that it was killed
			}
		}
		kill := start()
		t.Cleanup(func() { kill() })
		return &host.Server{ID: "desk", URL: "http://127.0.0.1:" + port + "/mcp"}, func() {
			kill()
			kill = start()
		}
	}
}

// mcpGoService starts anew as a fresh server on the same address: its state
// is in the request state only.
func mcpGoService(t *testing.T) (*host.Server, func()) {
	t.Helper()
	start := func(address string) *http.Server {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		server := mcpgoserver.NewMCPServer("mcp-go", "1.2.1", mcpgoserver.WithToolCapabilities(true), mcpgoserver.WithElicitation())
		server.AddTool(mcp.NewTool("book", mcp.WithDescription("Books a flight"), mcp.WithString("to", mcp.Required())), bookWithMCPGo)
		service := &http.Server{Addr: listener.Addr().String(), Handler: mcpgoserver.NewStreamableHTTPServer(server)}
		go service.Serve(listener)
		return service
	}
	service := start("127.0.0.1:0")
	t.Cleanup(func() { service.Close() })
	return &host.Server{ID: "desk", URL: "http://" + service.Addr + "/mcp"}, func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
		service = start(service.Addr)
	}
}

func bookWithMCPGo(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	ask := func(key, state, message string, schema json.RawMessage) (*mcp.CallToolResult, error) {
		return mcpgoserver.NewInputRequestBuilder(state).Elicit(key, mcp.ElicitationParams{
			Mode: mcp.ElicitationModeForm, Message: message, RequestedSchema: schema,
		}).ToolResult(), nil
	}
	content := func(answer *mcp.ElicitationResult) map[string]any {
		values, _ := answer.Content.(map[string]any)
		return values
	}
	if picked, ok := strings.CutPrefix(req.Params.RequestState, "picked="); ok {
		if answer := mcpgoserver.ElicitationResponse(req.Params.InputResponses, "confirm"); answer != nil && content(answer)["confirmed"] == true {
			return mcp.NewToolResultText("booked " + picked), nil
		}
		return mcp.NewToolResultText("not booked"), nil
	}
	answer := mcpgoserver.ElicitationResponse(req.Params.InputResponses, "pick")
	switch {
	case answer == nil:
		return ask("pick", "asked", "Which flight to "+req.GetString("to", "")+"?",
			json.RawMessage(`{"type":"object","properties":{"flight":{"type":"string","enum":["PY 101","PY 202"]}},"required":["flight"]}`))
	case answer.Action != mcp.ElicitationResponseActionAccept:
		return mcp.NewToolResultText("not booked: " + string(answer.Action)), nil
	}
	flight := fmt.Sprint(content(answer)["flight"])
	return ask("confirm", "picked="+flight, "Book "+flight+"?",
		json.RawMessage(`{"type":"object","properties":{"confirmed":{"type":"boolean"}},"required":["confirmed"]}`))
}
