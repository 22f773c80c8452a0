package travel_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/parley-mcp/parley/elicit/elicittest"
	"github.com/parley-mcp/parley/internal/travel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var tokyo = map[string]any{"from": "Hamburg", "to": "Tokyo", "date": "2027-03-27"}

func newDesk(t *testing.T) (*travel.Server, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "travel.log")
	desk, err := travel.New(&travel.Options{LogFile: path, Now: func() time.Time { return time.Unix(1, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := desk.Close(); err != nil {
			t.Error(err)
		}
	})
	return desk, path
}

// firstFlight picks the first option of the question's form.
func firstFlight(t *testing.T, q elicittest.Question) string {
	t.Helper()
	var schema struct {
		Properties struct {
			Flight struct {
				Enum  []string `json:"enum"`
				OneOf []struct {
					Const string `json:"const"`
				} `json:"oneOf"`
			} `json:"flight"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(q.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	if len(schema.Properties.Flight.Enum) > 0 {
		return schema.Properties.Flight.Enum[0]
	}
	return schema.Properties.Flight.OneOf[0].Const
}

func TestBookAndCancel(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			desk, path := newDesk(t)
			client := elicittest.Connect(t, desk, revision, func(q elicittest.Question) elicittest.Answer {
				switch {
				case strings.HasPrefix(q.Message, "Which connection"):
					return elicittest.Accept(map[string]any{"flight": firstFlight(t, q), "bags": 2})
				case strings.HasPrefix(q.Message, "How long"):
					return elicittest.Accept(map[string]any{}) // the default fills it
				}
				return elicittest.Accept(map[string]any{"confirmed": true})
			}, nil)

			result, err := client.Call(t.Context(), "book_flight", tokyo)
			if err != nil {
				t.Fatal(err)
			}
			var booking travel.Booking
			if err := json.Unmarshal(result.Structured, &booking); err != nil {
				t.Fatal(err)
			}
			if !booking.Booked || booking.Bags != 2 || booking.Seat != "any seat" || !strings.Contains(result.Text, booking.Booking) {
				t.Fatalf("booking %+v, text %q", booking, result.Text)
			}

			result, err = client.Call(t.Context(), "cancel_trip", map[string]any{"booking": booking.Booking})
			if err != nil {
				t.Fatal(err)
			}
			if result.IsError {
				t.Fatal(result.Text)
			}
			result, err = client.Call(t.Context(), "cancel_trip", map[string]any{"booking": booking.Booking})
			if err != nil {
				t.Fatal(err)
			}
			if !result.IsError {
				t.Error("a trip could be cancelled twice")
			}

			entries, err := travel.ReadLog(path)
			if err != nil {
				t.Fatal(err)
			}
			want := []travel.Entry{
				{Tool: "book_flight", Booking: booking.Booking, From: "Hamburg", To: "Tokyo", Date: "2027-03-27", Flight: booking.Flight, Bags: 2, Price: booking.Price},
				{Tool: "cancel_trip", Booking: booking.Booking, From: "Hamburg", To: "Tokyo", Date: "2027-03-27", Flight: booking.Flight, Price: booking.Price, Keep: "month"},
			}
			if diff := cmp.Diff(want, entries, cmpopts.IgnoreFields(travel.Entry{}, "Time", "Call")); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGroupQuote(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			desk, _ := newDesk(t)
			client := elicittest.Connect(t, desk, revision, func(q elicittest.Question) elicittest.Answer {
				if strings.HasPrefix(q.Message, "Who travels") {
					return elicittest.Accept(map[string]any{"adults": 2, "children": 1})
				}
				if revision == "2025-06-18" {
					return elicittest.Accept(map[string]any{"hotel": "harbour", "nights": 3, "extras_1": true, "extras_2": false, "extras_3": true})
				}
				return elicittest.Accept(map[string]any{"hotel": "harbour", "nights": 3, "extras": []string{"breakfast", "guide"}})
			}, nil)
			result, err := client.Call(t.Context(), "group_quote", tokyo)
			if err != nil {
				t.Fatal(err)
			}
			if result.IsError {
				t.Fatal(result.Text)
			}
			if want := 1 + btoi(revision == "2026-07-28"); result.Rounds != want {
				t.Errorf("%d rounds, want %d: both questions go out together", result.Rounds, want)
			}
			var quote travel.Quote
			if err := json.Unmarshal(result.Structured, &quote); err != nil {
				t.Fatal(err)
			}
			if quote.People != 3 || quote.Hotel != "harbour" {
				t.Errorf("quote %+v", quote)
			}
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestNoConsentNoBooking(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		consent elicittest.Answer
		isError bool
	}{
		{"no", elicittest.Accept(map[string]any{"confirmed": false}), false},
		{"decline", elicittest.Decline(), false},
		{"cancel", elicittest.Cancel(), false},
		{"unknown action", elicittest.Answer{Action: "approve", Content: map[string]any{"confirmed": true}}, true},
	}
	for _, test := range tests {
		for _, revision := range elicittest.Revisions {
			t.Run(test.name+"/"+revision, func(t *testing.T) {
				t.Parallel()
				desk, _ := newDesk(t)
				client := elicittest.Connect(t, desk, revision, func(q elicittest.Question) elicittest.Answer {
					if strings.HasPrefix(q.Message, "Which connection") {
						return elicittest.Accept(map[string]any{"flight": firstFlight(t, q)})
					}
					return test.consent
				}, nil)
				result, err := client.Call(t.Context(), "book_flight", tokyo)
				if err != nil {
					t.Fatal(err)
				}
				if result.IsError != test.isError {
					t.Errorf("error result: %t, want %t: %s", result.IsError, test.isError, result.Text)
				}
				if n := len(desk.Entries()); n != 0 {
					t.Errorf("%d executions without consent", n)
				}
			})
		}
	}
}
