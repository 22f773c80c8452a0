package travel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parley-mcp/parley/elicit/elicittest"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/internal/travel"
)

func TestMain(m *testing.M) { servicetest.VerifyTestMain(m) }

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

// confirmAll books the first flight and confirms everything.
func confirmAll(t *testing.T) elicittest.Person {
	return func(q elicittest.Question) elicittest.Answer {
		if strings.HasPrefix(q.Message, "Which connection") {
			return elicittest.Accept(map[string]any{"flight": firstFlight(t, q)})
		}
		return elicittest.Accept(map[string]any{"confirmed": true})
	}
}

// TestHooks fail on either side of the line in the log.
func TestHooks(t *testing.T) {
	t.Parallel()
	fail := func(context.Context) error { return errors.New("killed here") }
	tests := []struct {
		name    string
		options travel.Options
		entries int
	}{
		{"before", travel.Options{BeforeBook: fail}, 0},
		{"after", travel.Options{AfterBook: fail}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			test.options.Log = &log
			desk, err := travel.New(&test.options)
			if err != nil {
				t.Fatal(err)
			}
			result, err := elicittest.Connect(t, desk, "2026-07-28", confirmAll(t), nil).Call(t.Context(), "book_flight", tokyo)
			if err != nil {
				t.Fatal(err)
			}
			if !result.IsError || len(desk.Entries()) != test.entries || strings.Count(log.String(), "\n") != test.entries {
				t.Errorf("entries %v, log %q, result %s", desk.Entries(), log.String(), result.Raw)
			}
		})
	}
}

// TestRestart goes on with a paused call, and with old bookings, in the next
// process. Nothing removes duplicates: a call that is sent twice books twice,
// under one idempotency key.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	options := travel.Options{LogFile: filepath.Join(dir, "travel.log"), KeysFile: filepath.Join(dir, "keys.json")}
	start := func() *travel.Server {
		desk, err := travel.New(&options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { desk.Close() })
		return desk
	}
	params := map[string]any{"name": "book_flight", "arguments": tokyo}
	person := confirmAll(t)
	for range 2 { // the rounds that ask
		raw, err := elicittest.Connect(t, start(), "2026-07-28", nil, &elicittest.Options{
			Capabilities: json.RawMessage(`{"elicitation":{"form":{}}}`),
		}).Send(t.Context(), "tools/call", params)
		if err != nil {
			t.Fatal(err)
		}
		questions, err := elicittest.Questions(raw)
		if err != nil {
			t.Fatal(err)
		}
		answers := make(map[string]any)
		for _, q := range questions {
			answer := person(q)
			answers[q.Key] = map[string]any{"action": answer.Action, "content": answer.Content}
		}
		var interim struct {
			State string `json:"requestState"`
		}
		if err := json.Unmarshal(raw, &interim); err != nil {
			t.Fatal(err)
		}
		params["requestState"], params["inputResponses"] = interim.State, answers
	}
	for range 2 {
		if _, err := elicittest.Connect(t, start(), "2026-07-28", nil, nil).Send(t.Context(), "tools/call", params); err != nil {
			t.Fatal(err)
		}
	}
	entries := start().Entries()
	if len(entries) != 2 || entries[0].Booking == entries[1].Booking || entries[0].Call != entries[1].Call || entries[0].Call == "" {
		t.Errorf("entries %+v", entries)
	}
}

// TestBadLog refuses to go on with a log that it cannot read.
func TestBadLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "travel.log")
	if err := os.WriteFile(path, []byte("{}\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := travel.New(&travel.Options{LogFile: path}); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error %v", err)
	}
}

// A line that is still being written, or was when the process died, does not count.
func TestTornLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "travel.log")
	if err := os.WriteFile(path, []byte("{}\n{\"tool\":\"book"), 0o600); err != nil {
		t.Fatal(err)
	}
	if entries, err := travel.ReadLog(path); err != nil || len(entries) != 1 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	desk, err := travel.New(&travel.Options{LogFile: path})
	if err != nil || len(desk.Entries()) != 1 {
		t.Fatalf("%d entries, %v", len(desk.Entries()), err)
	}
	if err := desk.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "{}\n" {
		t.Errorf("the log is %q, %v", text, err)
	}
}

// TestBadDates name the argument.
func TestBadDates(t *testing.T) {
	t.Parallel()
	desk, _ := newDesk(t)
	for _, date := range []string{"", "tomorrow", "2027-02-30"} {
		for _, tool := range []string{"book_flight", "group_quote"} {
			result, err := elicittest.Connect(t, desk, "2026-07-28", nil, nil).Call(t.Context(), tool, map[string]any{"from": "Hamburg", "to": "Tokyo", "date": date})
			if err != nil {
				t.Fatal(err)
			}
			if !result.IsError || !strings.Contains(result.Text, "date") {
				t.Errorf("%s %q: %s", tool, date, result.Raw)
			}
		}
	}
}
