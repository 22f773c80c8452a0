package main

import (
	"context"
	"log"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
)

type wish struct {
	Office string `json:"office" jsonschema:"the city of the office"`
}

type pick struct {
	Desk string `json:"desk" title:"Desk"`
	Day  string `json:"day" title:"Day" elicit:"format=date"`
}

type reserved struct {
	Desk string `json:"desk"`
	Day  string `json:"day"`
}

// deskServer is an MCP server with one tool that asks. examples/desk has more of it.
func deskServer() http.Handler {
	kit, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "desks", Title: "Acme Desks", Version: "1.0.0"}, nil), nil)
	if err != nil {
		log.Fatal(err)
	}
	elicit.AddTool(kit, &mcp.Tool{Name: "reserve_desk", Title: "Reserve a desk"}, func(ctx context.Context, call *elicit.Call, in wish) (reserved, error) {
		desks := []string{"4.01", "4.07", "5.12"}
		p, err := elicit.Ask[pick](ctx, call, "pick", "Which desk in "+in.Office+"?",
			elicit.Choices("desk", desks, func(number string) elicit.Option {
				return elicit.Option{Value: number, Title: "Desk " + number}
			}))
		if err != nil {
			return reserved{}, err
		}
		return reserved(p), nil
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", elicit.NewHTTPHandler(kit, nil))
	return mux
}
