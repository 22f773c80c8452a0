package elicit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/tools/txtar"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

type order struct {
	To string `json:"to"`
}

type receipt struct {
	Flight  string   `json:"flight"`
	Bags    int64    `json:"bags"`
	Aisle   *bool    `json:"aisle,omitempty"`
	Days    []string `json:"days"`
	Guests  int      `json:"guests"`
	Lookups int      `json:"lookups"`
}

type flightPick struct {
	Flight string `json:"flight" title:"Connecting flight"`
	Bags   int64  `json:"bags" title:"Bags" elicit:"min=0,default=1"`
	Aisle  *bool  `json:"aisle" title:"Aisle seat, if there is one"`
}

type guests struct {
	Guests int `json:"guests" elicit:"min=1,max=9"`
}

type stay struct {
	Days []string `json:"days" elicit:"options=mon:Monday|tue:Tuesday|wed:Wednesday,min=1"`
}

type offer struct{ Number, Via string }

func (o offer) Option() elicit.Option {
	return elicit.Option{Value: o.Number, Title: o.Number + " via " + o.Via}
}

// addBook adds a tool that uses all there is, over three rounds.
func addBook(s *elicit.Server) {
	lookups := 0
	elicit.AddTool(s, &mcp.Tool{Name: "book"}, func(ctx context.Context, call *elicit.Call, in order) (receipt, error) {
		offers, err := elicit.Memo(ctx, call, "offers", time.Hour, func(context.Context) ([]offer, error) {
			lookups++
			return []offer{{"PY1", "Oslo"}, {"PY2", "Doha"}}, nil
		})
		if err != nil {
			return receipt{}, err
		}
		pick, err := elicit.Ask[flightPick](ctx, call, "pick", "Which flight to "+in.To+"?", elicit.Choices("flight", offers, offer.Option))
		if err != nil {
			return receipt{}, err
		}
		party := elicit.NewQuestion[guests]("party", "How many guests?")
		days := elicit.NewQuestion[stay]("stay", "Which days?")
		if err := elicit.AskAll(ctx, call, party, days); err != nil {
			return receipt{}, err
		}
		consent, err := elicit.Confirm(ctx, call, "confirm", "Book "+pick.Flight+"?")
		if err != nil {
			return receipt{}, err
		}
		if consent != elicit.Yes {
			return receipt{}, errors.New("not confirmed")
		}
		call.Content(&mcp.TextContent{Text: "Booked " + pick.Flight + "."})
		return receipt{pick.Flight, pick.Bags, pick.Aisle, days.Value.Days, party.Value.Guests, lookups}, nil
	})
}

// bookAnswers are the person's, by the name of a field of the form.
func bookAnswer(q elicittest.Question) elicittest.Answer {
	answers := map[string]string{
		`"flight"`: `{"flight":"PY2","bags":9007199254740993,"aisle":false}`,
		`"guests"`: `{"guests":2}`,
		`"days"`:   `{"days":["mon","wed"]}`,
		`"days_1"`: `{"days_1":true,"days_2":false,"days_3":true}`,
		`"confirm`: `{"confirmed":true}`,
	}
	for field, answer := range answers {
		if bytes.Contains(q.Schema, []byte(field)) {
			return elicittest.Accept(json.RawMessage(answer))
		}
	}
	return elicittest.Answer{Absent: true}
}

// TestConversation shows what goes over the wire, byte by byte.
func TestConversation(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			server, handler := newServer(t, nil)
			addBook(server)
			archive := &txtar.Archive{}
			add := func(name string, text []byte) {
				archive.Files = append(archive.Files, txtar.File{Name: name, Data: append(bytes.Clone(text), '\n')})
			}
			client := elicittest.Connect(t, handler, revision, func(q elicittest.Question) elicittest.Answer {
				answer := bookAnswer(q)
				n := len(archive.Files)/2 + 1
				add(strings.TrimSpace(fmt.Sprintf("question %d %s", n, q.Key)), q.Params)
				add(fmt.Sprintf("answer %d", n), answer.Content.(json.RawMessage))
				return answer
			}, nil)
			result, err := client.Call(t.Context(), "book", map[string]any{"to": "Tokyo"})
			if err != nil {
				t.Fatal(err)
			}
			add("result", result.Raw)
			path := filepath.Join("testdata", "conversation."+revision+".txtar")
			got := txtar.Format(archive)
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("conversation (-want +got):\n%s", diff)
			}
		})
	}
}

// connect connects the official client.
func connect(t *testing.T, handler http.Handler, revision string, disabled bool, answer func(*mcp.ElicitParams) *mcp.ElicitResult) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "client"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return answer(req.Params), nil
		},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: disabled},
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: serve(t, handler), MaxRetries: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != revision {
		t.Fatalf("negotiated %s, want %s", got, revision)
	}
	return session
}

func sdkAnswer(revision string) func(*mcp.ElicitParams) *mcp.ElicitResult {
	return func(params *mcp.ElicitParams) *mcp.ElicitResult {
		switch {
		case strings.HasPrefix(params.Message, "Which flight"):
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"flight": "PY2", "bags": 2}}
		case strings.HasPrefix(params.Message, "How many"):
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"guests": 3}}
		case strings.HasPrefix(params.Message, "Which days") && revision == "2025-06-18":
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"days_2": true}}
		case strings.HasPrefix(params.Message, "Which days"):
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"days": []string{"tue"}}}
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirmed": true}}
	}
}

var sdkReceipt = receipt{Flight: "PY2", Bags: 2, Days: []string{"tue"}, Guests: 3, Lookups: 1}

// TestOfficialClient goes through three rounds with go-sdk's own client.
func TestOfficialClient(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			server, handler := newServer(t, nil)
			addBook(server)
			session := connect(t, handler, revision, false, sdkAnswer(revision))
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "book", Arguments: order{"Tokyo"}})
			if err != nil {
				t.Fatal(err)
			}
			checkReceipt(t, result)
		})
	}
}

// TestOfficialClientByHand is a host that parks the call between its rounds
// and goes on over another connection.
func TestOfficialClientByHand(t *testing.T) {
	t.Parallel()
	server, handler := newServer(t, nil)
	addBook(server)
	answer := sdkAnswer(modern)
	params := mcp.CallToolParams{Name: "book", Arguments: order{"Tokyo"}}
	for round := 1; ; round++ {
		session := connect(t, handler, modern, true, nil)
		sent := params // the client writes its own _meta into what it sends
		result, err := session.CallTool(t.Context(), &sent)
		if err != nil {
			t.Fatal(err)
		}
		if !result.NeedsInput() {
			if round != 4 {
				t.Errorf("%d sends, want 4", round)
			}
			checkReceipt(t, result)
			return
		}
		params.RequestState = result.RequestState
		params.InputResponses = make(mcp.InputResponseMap)
		for key, request := range result.InputRequests {
			params.InputResponses[key] = answer(request.(*mcp.ElicitParams))
		}
	}
}

func checkReceipt(t *testing.T, result *mcp.CallToolResult) {
	t.Helper()
	if result.IsError {
		t.Fatal(result.Content[0].(*mcp.TextContent).Text)
	}
	text, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var got receipt
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sdkReceipt, got); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
	if len(result.Content) != 1 || result.Content[0].(*mcp.TextContent).Text != "Booked PY2." {
		t.Errorf("content %+v", result.Content)
	}
}
