package elicit_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
)

type Trip struct {
	To string `json:"to"`
}

type Pick struct {
	Flight string `json:"flight" title:"Connecting flight"`
	Bags   int    `json:"bags" title:"Bags" elicit:"min=0,max=3,default=1"`
	Aisle  *bool  `json:"aisle" title:"Aisle seat, if there is one"`
}

type Booked struct {
	Flight string `json:"flight"`
	Bags   int    `json:"bags"`
}

// book asks which flight to take and whether to book it.
func book(ctx context.Context, call *elicit.Call, in Trip) (Booked, error) {
	flights, err := elicit.Memo(ctx, call, "flights", time.Hour, func(context.Context) ([]string, error) {
		return []string{"PY 101", "PY 202"}, nil
	})
	if err != nil {
		return Booked{}, err
	}
	pick, err := elicit.Ask[Pick](ctx, call, "pick", "Which flight to "+in.To+"?",
		elicit.Choices("flight", flights, func(number string) elicit.Option {
			return elicit.Option{Value: number, Title: "Flight " + number}
		}))
	if err != nil {
		return Booked{}, err
	}
	consent, err := elicit.Confirm(ctx, call, "confirm", "Book flight "+pick.Flight+"?")
	if err != nil {
		return Booked{}, err
	}
	if consent != elicit.Yes {
		return Booked{}, fmt.Errorf("flight %s was not confirmed", pick.Flight)
	}
	return Booked{Flight: pick.Flight, Bags: pick.Bags}, nil
}

// A tool is written once, and works with clients of every revision that has
// elicitation.
func Example() {
	server, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "travel", Version: "1"}, nil), nil)
	if err != nil {
		log.Fatal(err)
	}
	elicit.AddTool(server, &mcp.Tool{Name: "book", Description: "Books a flight."}, book)
	service := httptest.NewServer(elicit.NewHTTPHandler(server, nil))
	defer service.Close()

	for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		client := mcp.NewClient(&mcp.Implementation{Name: "client"}, &mcp.ClientOptions{
			Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
			ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				fmt.Println(req.Params.Message) // a person would answer
				if req.Params.Message == "Book flight PY 202?" {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirmed": true}}, nil
				}
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"flight": "PY 202", "bags": 2}}, nil
			},
		})
		session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: service.URL},
			&mcp.ClientSessionOptions{ProtocolVersion: revision})
		if err != nil {
			log.Fatal(err)
		}
		result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "book", Arguments: Trip{To: "Tokyo"}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.StructuredContent)
		session.Close()
	}
	// Output:
	// Which flight to Tokyo?
	// Book flight PY 202?
	// map[bags:2 flight:PY 202]
	// Which flight to Tokyo?
	// Book flight PY 202?
	// map[bags:2 flight:PY 202]
	// Which flight to Tokyo?
	// Book flight PY 202?
	// map[bags:2 flight:PY 202]
}

func ExampleAskAll() {
	type Party struct {
		Adults int `json:"adults" elicit:"min=1,default=2"`
	}
	type Hotel struct {
		Nights int `json:"nights" elicit:"min=1,max=30"`
	}
	_ = func(ctx context.Context, call *elicit.Call, in Trip) (int, error) {
		party := elicit.NewQuestion[Party]("party", "Who travels to "+in.To+"?")
		hotel := elicit.NewQuestion[Hotel]("hotel", "How long will you stay?")
		if err := elicit.AskAll(ctx, call, party, hotel); err != nil {
			return 0, err
		}
		return party.Value.Adults * hotel.Value.Nights, nil
	}
	// Output:
}

// With a replay guard a payment that is sent again, here by a client that never
// got the first reply, is made once.
func ExampleReplayGuard() {
	server, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1"}, nil), &elicit.Options{
		Replay: elicit.NewMemoryGuard(nil), // sqlitereplay and pgreplay survive a restart
	})
	if err != nil {
		log.Fatal(err)
	}
	payments := 0
	elicit.AddTool(server, &mcp.Tool{Name: "pay"}, func(context.Context, *elicit.Call, struct{}) (string, error) {
		payments++
		return fmt.Sprintf("payment %d", payments), nil
	})
	service := httptest.NewServer(elicit.NewHTTPHandler(server, nil))
	defer service.Close()

	session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).
		Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: service.URL}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for range 2 {
		result, err := session.CallTool(context.Background(), &mcp.CallToolParams{
			Meta: mcp.Meta{"io.github.parley-mcp/idempotencyKey": "7f9c24e8b1d04a6e"},
			Name: "pay", Arguments: struct{}{},
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.StructuredContent)
	}
	// Output:
	// payment 1
	// payment 1
}
