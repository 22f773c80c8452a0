package travel

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
)

const (
	toolBook   = "book_flight"
	toolCancel = "cancel_trip"
	toolQuote  = "group_quote"
)

const bagPrice = 45 // euros for each bag after the first

type bookArguments struct {
	From string `json:"from"`
	To   string `json:"to"`
	Date string `json:"date"`
}

// Booking is the result of book_flight.
type Booking struct {
	Booked  bool   `json:"booked"`
	Booking string `json:"booking,omitempty"`
	Flight  string `json:"flight"`
	Date    string `json:"date"`
	Bags    int    `json:"bags"`
	Seat    string `json:"seat"`
	Price   int    `json:"price"` // whole euros
}

type pick struct {
	Flight string `json:"flight" title:"Connecting flight"`
	Bags   int    `json:"bags" title:"Bags" description:"The first one is free." elicit:"min=0,max=3,default=1"`
	Aisle  *bool  `json:"aisle" title:"Aisle seat, if there is one"`
}

// journey is the part of the input schema that two tools share. It is written
// out because forms show the fields in this order.
const journey = `
	"from": {"type": "string", "title": "From", "description": "City where the trip starts", "minLength": 2, "maxLength": 40, "default": "Hamburg"},
	"to": {"type": "string", "title": "To", "description": "City where it goes", "minLength": 2, "maxLength": 40, "default": "Tokyo"},
	"date": {"type": "string", "title": "Day of departure", "format": "date"}`

func (s *Server) addBookFlight(kit *elicit.Server) {
	destructive := false
	elicit.AddTool(kit, &mcp.Tool{
		Name:        toolBook,
		Title:       "Book a flight",
		Description: "Looks up connections for a day, asks the traveller which one to take, and books it.",
		InputSchema: json.RawMessage(`{"type": "object", "properties": {` + journey + `}, "required": ["from", "to", "date"]}`),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &destructive},
	}, s.bookFlight)
}

func (s *Server) bookFlight(ctx context.Context, call *elicit.Call, in bookArguments) (Booking, error) {
	day, err := parseDay(in.Date)
	if err != nil {
		return Booking{}, err
	}
	flights, err := elicit.Memo(ctx, call, "flights", 24*time.Hour, func(context.Context) ([]Flight, error) {
		return search(in.From, in.To, day), nil
	})
	if err != nil {
		return Booking{}, err
	}
	choice, err := elicit.Ask[pick](ctx, call, "pick",
		fmt.Sprintf("Which connection from %s to %s do you want on %s?", in.From, in.To, long(day)),
		elicit.Choices("flight", flights, Flight.option))
	if err != nil {
		return Booking{}, err
	}
	flight := find(flights, choice.Flight)
	booking := Booking{
		Flight: flight.Number,
		Date:   in.Date,
		Bags:   choice.Bags,
		Seat:   seat(choice.Aisle),
		Price:  flight.Price + bagPrice*max(choice.Bags-1, 0),
	}
	consent, err := elicit.Confirm(ctx, call, "confirm",
		fmt.Sprintf("Book %s to %s on %s for %d EUR, %s, %s?", flight.Number, in.To, long(day), booking.Price, bags(choice.Bags), booking.Seat))
	if err != nil {
		return Booking{}, err
	}
	if consent != elicit.Yes {
		call.Content(&mcp.TextContent{Text: "Nothing was booked: the traveller did not confirm."})
		return booking, nil
	}
	if err := hook(ctx, s.options.BeforeBook); err != nil {
		return Booking{}, err
	}
	booking.Booked, booking.Booking = true, rand.Text()[:8]
	err = s.record(Entry{
		Tool: toolBook, Booking: booking.Booking, Call: call.IdempotencyKey(),
		From: in.From, To: in.To, Date: in.Date,
		Flight: flight.Number, Bags: choice.Bags, Aisle: choice.Aisle, Price: booking.Price,
	})
	if err != nil {
		return Booking{}, err
	}
	if err := hook(ctx, s.options.AfterBook); err != nil {
		return Booking{}, err
	}
	call.Content(&mcp.TextContent{Text: fmt.Sprintf(
		"Booked %s from %s to %s via %s on %s: %s, %s, %d EUR. Booking %s.",
		flight.Number, in.From, in.To, flight.Via, long(day), bags(choice.Bags), booking.Seat, booking.Price, booking.Booking)})
	return booking, nil
}

// find returns the chosen flight. The choice is always one of those on offer.
func find(flights []Flight, number string) Flight {
	for _, flight := range flights {
		if flight.Number == number {
			return flight
		}
	}
	return Flight{Number: number}
}

func seat(aisle *bool) string {
	switch {
	case aisle == nil:
		return "any seat"
	case *aisle:
		return "aisle seat"
	}
	return "no aisle seat"
}

func bags(n int) string {
	switch n {
	case 0:
		return "no bags"
	case 1:
		return "1 bag"
	}
	return fmt.Sprintf("%d bags", n)
}

func hook(ctx context.Context, f func(context.Context) error) error {
	if f == nil {
		return nil
	}
	return f(ctx)
}
