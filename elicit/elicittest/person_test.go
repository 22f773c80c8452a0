package elicittest_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

// desk books what it is told to, after one question and another.
type desk struct {
	server *elicit.Server

	mu       sync.Mutex
	bookings map[string]bool // by idempotency key, as a real desk has them
}

func (d *desk) booked() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.bookings)
}

func newDesk(t testing.TB, guard elicit.ReplayGuard) *desk {
	t.Helper()
	d := &desk{bookings: make(map[string]bool)}
	options := &elicit.Options{
		Replay: guard,
		Logger: slog.New(slog.DiscardHandler),
		Principal: func(_ context.Context, extra *mcp.RequestExtra) (elicit.Principal, error) {
			if extra.Header == nil {
				return elicit.Local, nil
			}
			return elicit.Principal{Subject: extra.Header.Get("Authorization")}, nil
		},
	}
	if guard != nil {
		options.Audience, options.KeysFile = "desk", filepath.Join(t.TempDir(), "keys.json")
	}
	var err error
	if d.server, err = elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil), options); err != nil {
		t.Fatal(err)
	}
	elicit.AddTool(d.server, &mcp.Tool{Name: "book"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
		nights, err := elicit.Ask[int](ctx, call, "nights", "How many nights?")
		if err != nil {
			return none{}, err
		}
		if consent, err := elicit.Confirm(ctx, call, "sure", "Book it?"); err != nil || consent != elicit.Yes {
			return none{}, errors.Join(err, errors.New("not booked"))
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.bookings[call.IdempotencyKey()] = nights > 0
		return none{}, nil
	})
	return d
}

var (
	header = http.Header{"Authorization": {"Bearer ada"}}
	bob    = http.Header{"Authorization": {"Bearer bob"}}
	two    = elicittest.Accept(map[string]any{"nights": 2})
	yes    = elicittest.Accept(map[string]any{"confirmed": true})
)

// TestPeople is everything that a person does to a question: in every revision,
// over HTTP and over pipes, with a replay guard and without one. Nothing may be
// booked that nobody agreed to, and nothing twice.
func TestPeople(t *testing.T) {
	t.Parallel()
	ended := func(text string) func(*testing.T, *elicittest.Result, error) {
		return func(t *testing.T, result *elicittest.Result, err error) {
			if err != nil || result.IsError != (text != "") || !strings.Contains(result.Text, text) {
				t.Errorf("error %v, result %+v", err, result)
			}
		}
	}
	for name, test := range map[string]struct {
		script []elicittest.Answer
		booked int
		check  func(*testing.T, *elicittest.Result, error)
	}{
		"accepts":                {[]elicittest.Answer{two, yes}, 1, ended("")},
		"declines":               {[]elicittest.Answer{elicittest.Decline()}, 0, ended("declined")},
		"cancels":                {[]elicittest.Answer{elicittest.Cancel()}, 0, ended("without deciding")},
		"is slow":                {[]elicittest.Answer{two, elicittest.Slow(20*time.Millisecond, yes)}, 1, ended("")},
		"is wrong":               {[]elicittest.Answer{elicittest.Wrong(), two, yes}, 1, ended("")},
		"is wrong again":         {[]elicittest.Answer{elicittest.Wrong(), elicittest.Wrong(), elicittest.Wrong()}, 0, ended("could not be used")},
		"disappears":             {[]elicittest.Answer{two, elicittest.Disappear()}, 0, gone},
		"answers twice":          {[]elicittest.Answer{two, elicittest.Twice(yes)}, 1, ended("")},
		"answers twice before":   {[]elicittest.Answer{elicittest.Twice(two), yes}, 1, ended("")},
		"replays an answer":      {[]elicittest.Answer{elicittest.Replay(two), yes}, 1, ended("")},
		"replays the last":       {[]elicittest.Answer{two, elicittest.Replay(yes)}, 1, ended("")},
		"another user answers":   {[]elicittest.Answer{two, elicittest.By(bob, yes)}, 0, refused},
		"another user declines":  {[]elicittest.Answer{elicittest.By(bob, elicittest.Decline())}, 0, refused},
		"accepts what is no yes": {[]elicittest.Answer{two, elicittest.Accept(map[string]any{"confirmed": false})}, 0, ended("not booked")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, revision := range elicittest.Revisions {
				for _, guarded := range []bool{false, true} {
					for _, pipes := range []bool{false, true} {
						variant := revision + map[bool]string{true: "/guard"}[guarded] + map[bool]string{true: "/pipes", false: "/http"}[pipes]
						t.Run(variant, func(t *testing.T) {
							t.Parallel()
							var guard elicit.ReplayGuard
							if guarded {
								guard = elicit.NewMemoryGuard(nil)
							}
							d, person := newDesk(t, guard), elicittest.Script(t, test.script...)
							var client *elicittest.Client
							if pipes {
								client = elicittest.ConnectPipes(t, d.server, revision, person, nil)
							} else {
								client = elicittest.Connect(t, elicit.NewHTTPHandler(d.server, nil), revision, person, &elicittest.Options{Header: header})
							}
							result, err := client.Call(t.Context(), "book", none{})
							test.check(t, result, err)
							if got := d.booked(); got != test.booked {
								t.Errorf("%d bookings, want %d", got, test.booked)
							}
							if err == nil && strings.HasPrefix(name, "replays") && len(result.Again) != 1 {
								t.Errorf("%d answers were sent again, want 1", len(result.Again))
							}
							if err == nil && revision == "2026-07-28" {
								again(t, name, guarded, result)
							}
						})
					}
				}
			}
		})
	}
}

// again looks at what came to the sends that should not have been.
func again(t *testing.T, name string, guarded bool, result *elicittest.Result) {
	t.Helper()
	wanted := 0
	if strings.Contains(name, "twice") || strings.Contains(name, "replays") {
		wanted = 1
	}
	if len(result.Again) != wanted {
		t.Fatalf("%d more replies, want %d", len(result.Again), wanted)
	}
	for _, reply := range result.Again {
		var wire *elicittest.Error
		switch {
		case errors.As(reply.Err, &wire) && guarded && strings.Contains(string(wire.Data), "call_in_progress"):
		case reply.Err != nil:
			t.Errorf("error %v", reply.Err)
		case name == "replays the last" && guarded && string(reply.Raw) != string(result.Raw):
			t.Errorf("two results of one request: %s and %s", result.Raw, reply.Raw)
		}
	}
}

func gone(t *testing.T, _ *elicittest.Result, err error) {
	t.Helper()
	if !errors.Is(err, elicittest.ErrGone) {
		t.Errorf("error %v, want %v", err, elicittest.ErrGone)
	}
}

func refused(t *testing.T, result *elicittest.Result, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("not refused: %s", result.Raw)
	}
}

// TestWrongPage accepts a page with content.
func TestWrongPage(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions[1:] {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			server, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil), nil)
			if err != nil {
				t.Fatal(err)
			}
			visits := 0
			elicit.AddTool(server, &mcp.Tool{Name: "connect"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
				return none{}, elicit.Visit(ctx, call, "login", "Sign in.", "https://desk.example/", func(context.Context, elicit.Principal) (bool, error) {
					visits++
					return visits > 1, nil
				})
			})
			client := elicittest.ConnectPipes(t, server, revision, elicittest.Script(t, elicittest.Wrong()), &elicittest.Options{
				Capabilities: json.RawMessage(`{"elicitation":{"url":{}}}`),
			})
			if result, err := client.Call(t.Context(), "connect", none{}); err != nil || result.IsError {
				t.Errorf("error %v, result %+v", err, result)
			}
		})
	}
}

// A line for each thing that people do to a question.
func ExampleScript() {
	// In a test, where client is of Connect or ConnectPipes:
	_ = func(t *testing.T, connect func(elicittest.Person) *elicittest.Client) {
		two := elicittest.Accept(map[string]any{"nights": 2})
		for _, answer := range []elicittest.Answer{
			two,
			elicittest.Decline(),
			elicittest.Cancel(),
			elicittest.Slow(time.Second, two),
			elicittest.Wrong(),
			elicittest.Disappear(),
			elicittest.Twice(two),
			elicittest.Replay(two),
			elicittest.By(http.Header{"Authorization": {"Bearer of-somebody-else"}}, two),
		} {
			client := connect(elicittest.Script(t, answer))
			result, err := client.Call(t.Context(), "book", map[string]any{"hotel": "Seaside"})
			_, _ = result, err // what was booked?
		}
	}
	// Output:
}
