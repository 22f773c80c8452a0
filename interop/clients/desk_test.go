package clients

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/interop/conformance"
)

type (
	guest struct {
		Name    string   `json:"name" title:"Name" elicit:"max=40"`
		Email   string   `json:"email" title:"Email" elicit:"format=email"`
		Nights  int      `json:"nights" title:"Nights" elicit:"min=1,max=30,default=2"`
		Budget  *float64 `json:"budget" title:"Most to pay for a night"`
		Room    string   `json:"room" title:"Room" elicit:"options=single:Single room|double:Double room"`
		Extras  []string `json:"extras" title:"Extras" elicit:"options=breakfast:Breakfast|parking:Parking|sauna:Sauna"`
		Smoking bool     `json:"smoking" title:"Smoking"`
	}
	pick struct {
		Flight string `json:"flight" title:"Flight"`
	}
	party struct {
		Adults int `json:"adults" title:"Adults" elicit:"min=1,max=9"`
	}
	hotel struct {
		Nights int `json:"nights" title:"Nights" elicit:"min=1,max=30"`
	}
	to struct {
		To     string `json:"to"`
		Flight string `json:"flight,omitempty"`
	}
	page struct {
		Page string `json:"page"`
	}
	empty   struct{}
	booking struct {
		Booked string `json:"booked"`
	}
)

// newDesk returns the server that all clients talk to: that of the conformance
// suite, with tools that an author could have written.
func newDesk(options *elicit.Options) (*elicit.Server, error) {
	server, err := conformance.NewServer(options)
	if err != nil {
		return nil, err
	}
	elicit.AddTool(server, &mcp.Tool{Name: "check_in", Description: "Asks with every kind of field"},
		func(ctx context.Context, call *elicit.Call, _ empty) (guest, error) {
			return elicit.Ask[guest](ctx, call, "guest", "Who stays, and how?")
		})
	elicit.AddTool(server, &mcp.Tool{Name: "book", Description: "Asks twice, one after the other"}, book)
	elicit.AddTool(server, &mcp.Tool{Name: "plan", Description: "Asks two questions at once"}, plan)
	elicit.AddTool(server, &mcp.Tool{Name: "connect", Description: "Sends the person to a page"}, connect)
	elicit.AddTool(server, &mcp.Tool{Name: "account", Description: "Wants an account to be connected before"},
		func(ctx context.Context, call *elicit.Call, in page) (booking, error) {
			return visit(ctx, call, in, elicit.CallAgain())
		})
	elicit.AddTool(server, &mcp.Tool{Name: "person_only", Description: "Is of no use without a person"}, plan, elicit.HideUnless(elicit.FormMode))
	elicit.AddResource(server, &mcp.Resource{Name: "letter", URI: "desk://letter"},
		func(ctx context.Context, call *elicit.Call, uri string) ([]*mcp.ResourceContents, error) {
			name, err := elicit.Ask[string](ctx, call, "name", "To whom is the letter?")
			if err != nil {
				return nil, err
			}
			return []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: "Dear " + name}}, nil
		})
	return server, nil
}

func book(ctx context.Context, call *elicit.Call, in to) (booking, error) {
	flights, err := elicit.Memo(ctx, call, "flights", time.Hour, func(context.Context) ([]string, error) {
		return []string{"PY 101", "PY 202"}, nil
	})
	if err != nil {
		return booking{}, err
	}
	chosen, err := elicit.Ask[pick](ctx, call, "pick", "Which flight to "+in.To+"?",
		elicit.Choices("flight", flights, func(flight string) elicit.Option {
			return elicit.Option{Value: flight, Title: "Flight " + flight}
		}))
	if err != nil {
		return booking{}, err
	}
	consent, err := elicit.Confirm(ctx, call, "confirm", "Book "+chosen.Flight+"?")
	if err != nil {
		return booking{}, err
	}
	if consent != elicit.Yes {
		return booking{Booked: "nothing: " + consent.String()}, nil
	}
	return booking{Booked: chosen.Flight}, nil
}

func plan(ctx context.Context, call *elicit.Call, _ empty) (booking, error) {
	who, where := elicit.NewQuestion[party]("party", "Who travels?"), elicit.NewQuestion[hotel]("hotel", "How long?")
	err := elicit.AskAll(ctx, call, who, where)
	if errors.Is(err, elicit.ErrPending) || who.Outcome == "" {
		return booking{}, err
	}
	return booking{Booked: fmt.Sprintf("party %s %d, hotel %s %d", who.Outcome, who.Value.Adults, where.Outcome, where.Value.Nights)}, nil
}

func connect(ctx context.Context, call *elicit.Call, in page) (booking, error) {
	return visit(ctx, call, in)
}

func visit(ctx context.Context, call *elicit.Call, in page, options ...elicit.AskOption) (booking, error) {
	err := elicit.Visit(ctx, call, "calendar", "Sign in to your calendar.", in.Page, func(ctx context.Context, _ elicit.Principal) (bool, error) {
		// Whether someone was on the page, the page knows.
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.Replace(in.Page, "/open/", "/done/", 1), nil)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, err
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	}, options...)
	return booking{Booked: "calendar"}, err
}
