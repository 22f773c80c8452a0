package travel

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
)

type cancelArguments struct {
	Booking string `json:"booking"`
}

// Cancellation is the result of cancel_trip.
type Cancellation struct {
	Cancelled bool   `json:"cancelled"`
	Booking   string `json:"booking"`
	Keep      string `json:"keep,omitempty"`
}

type retention struct {
	Keep string `json:"keep" title:"Keep a record of the trip" elicit:"options=month:For 30 days|year:For one year|never:Delete it now,default=month"`
}

func (s *Server) addCancelTrip(kit *elicit.Server) {
	destructive := true
	elicit.AddTool(kit, &mcp.Tool{
		Name:        toolCancel,
		Title:       "Cancel a trip",
		Description: "Cancels a booking of this travel desk after the traveller has confirmed it.",
		InputSchema: json.RawMessage(`{"type": "object", "properties": {
			"booking": {"type": "string", "title": "Booking", "description": "The booking's code, such as PK3M7QXA", "minLength": 1, "maxLength": 40}
		}, "required": ["booking"]}`),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &destructive},
	}, s.cancelTrip)
}

func (s *Server) cancelTrip(ctx context.Context, call *elicit.Call, in cancelArguments) (Cancellation, error) {
	trip, ok := s.booking(in.Booking)
	if !ok {
		return Cancellation{}, fmt.Errorf("there is no booking %q to cancel", in.Booking)
	}
	day, err := time.Parse(time.DateOnly, trip.Date)
	if err != nil {
		return Cancellation{}, err
	}
	result := Cancellation{Booking: in.Booking}
	consent, err := elicit.Confirm(ctx, call, "confirm",
		fmt.Sprintf("Cancel flight %s from %s to %s on %s? %d EUR are paid back.", trip.Flight, trip.From, trip.To, long(day), trip.Price))
	if err != nil {
		return Cancellation{}, err
	}
	if consent != elicit.Yes {
		call.Content(&mcp.TextContent{Text: "The trip stays booked: the traveller did not confirm."})
		return result, nil
	}
	keep, err := elicit.Ask[retention](ctx, call, "keep", "How long should we keep a record of the cancelled trip?")
	if err != nil {
		return Cancellation{}, err
	}
	result.Cancelled, result.Keep = true, keep.Keep
	err = s.record(Entry{
		Tool: toolCancel, Booking: in.Booking, Call: call.IdempotencyKey(),
		From: trip.From, To: trip.To, Date: trip.Date, Flight: trip.Flight, Price: trip.Price, Keep: keep.Keep,
	})
	if err != nil {
		return Cancellation{}, err
	}
	call.Content(&mcp.TextContent{Text: fmt.Sprintf("Cancelled booking %s (%s to %s).", in.Booking, trip.Flight, trip.To)})
	return result, nil
}
