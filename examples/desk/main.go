// Command desk is an MCP server with one tool that asks: it reserves a desk.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
)

// Wish is what the model passes.
type Wish struct {
	Office string `json:"office" jsonschema:"the city of the office"`
}

// Pick is what the person is asked.
type Pick struct {
	Desk   string `json:"desk" title:"Desk"`
	Day    string `json:"day" title:"Day" elicit:"format=date"`
	Screen *bool  `json:"screen" title:"A second screen, if there is one"` // a pointer is optional
}

// Reserved is the result.
type Reserved struct {
	Desk string `json:"desk"`
	Day  string `json:"day"`
}

func (o *office) reserve(ctx context.Context, call *elicit.Call, in Wish) (Reserved, error) {
	// What takes time, or changes from one moment to the next, is looked up once.
	free, err := elicit.Memo(ctx, call, "free", time.Hour, func(ctx context.Context) ([]string, error) {
		return o.free(ctx, in.Office)
	})
	if err != nil {
		return Reserved{}, err
	}
	pick, err := elicit.Ask[Pick](ctx, call, "pick", "Which desk in "+in.Office+"?",
		elicit.Choices("desk", free, func(number string) elicit.Option {
			return elicit.Option{Value: number, Title: "Desk " + number}
		}))
	if err != nil {
		return Reserved{}, err // not answered yet, declined, cancelled, nobody to ask
	}
	// Only here the tool acts: everything above runs again in each round. The key
	// stays the same when the client sends the call twice.
	if err := o.book(ctx, call.IdempotencyKey(), pick); err != nil {
		return Reserved{}, err
	}
	return Reserved{Desk: pick.Desk, Day: pick.Day}, nil
}

func newHandler() (http.Handler, error) {
	kit, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1.0.0"}, nil), nil)
	if err != nil {
		return nil, err
	}
	elicit.AddTool(kit, &mcp.Tool{Name: "reserve_desk", Description: "Reserves a desk in an office."}, newOffice().reserve)
	return elicit.NewHTTPHandler(kit, nil), nil
}

func main() {
	handler, err := newHandler()
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	// No WriteTimeout: a legacy call stays open while a person thinks.
	server := &http.Server{Addr: "127.0.0.1:8422", Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	log.Print("desk listens at http://127.0.0.1:8422/mcp")
	log.Fatal(server.ListenAndServe())
}

// An office stands for a database.
type office struct {
	mu   sync.Mutex
	keys map[Pick]string // who has a desk on a day, by idempotency key
}

func newOffice() *office { return &office{keys: map[Pick]string{}} }

func (o *office) free(_ context.Context, name string) ([]string, error) {
	if name == "" {
		return nil, errors.New("there is no office without a name")
	}
	return []string{"4.01", "4.07", "5.12"}, nil
}

// book is done once for each key, however often it is called.
func (o *office) book(_ context.Context, key string, pick Pick) error {
	place := Pick{Desk: pick.Desk, Day: pick.Day}
	o.mu.Lock()
	defer o.mu.Unlock()
	if have, taken := o.keys[place]; taken && have != key {
		return fmt.Errorf("desk %s was taken in the meantime", pick.Desk)
	}
	o.keys[place] = key
	return nil
}
