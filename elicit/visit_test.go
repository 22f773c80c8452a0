package elicit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

var both = json.RawMessage(`{"elicitation":{"form":{},"url":{}}}`)

// TestVisit goes to the page, comes back too early, and then finishes.
func TestVisit(t *testing.T) {
	t.Parallel()
	inEach(t, &elicit.Options{Principal: byHeader}, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
		server.SetVisitWait(0)
		var signedIn atomic.Bool
		links := 0
		elicit.AddTool(server, &mcp.Tool{Name: "calendar"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
			links++
			err := elicit.Visit(ctx, call, "login", "Sign in to the calendar.", fmt.Sprint("https://desk.example/connect?flow=", links),
				func(_ context.Context, p elicit.Principal) (bool, error) {
					if p.Subject != "ada" {
						t.Errorf("principal %+v", p)
					}
					return signedIn.Load(), nil
				})
			if err != nil {
				return none{}, err
			}
			consent, err := elicit.Confirm(ctx, call, "sure", "Read it?")
			call.Content(&mcp.TextContent{Text: consent.String()})
			return none{}, err
		})
		var seen []string
		client := elicittest.Connect(t, handler, revision, func(q elicittest.Question) elicittest.Answer {
			seen = append(seen, q.Mode+" "+q.Key+" "+q.Message+" "+q.URL)
			if q.Mode == "form" {
				return elicittest.Accept(map[string]any{"confirmed": true})
			}
			if len(seen) == 3 || revision != modern {
				signedIn.Store(true)
			}
			if hasID := strings.Contains(string(q.Params), `"elicitationId":"`); hasID != (revision == "2025-11-25") {
				t.Errorf("params %s", q.Params)
			}
			return elicittest.Answer{Action: "accept"}
		}, &elicittest.Options{Capabilities: both, Header: ada})
		result, err := client.Call(t.Context(), "calendar", none{})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][]string{
			"2025-11-25": {"url  Sign in to the calendar. https://desk.example/connect?flow=1", "form  Read it? "},
			modern: {
				"url login Sign in to the calendar. https://desk.example/connect?flow=1",
				"url login#2 Sign in to the calendar. https://desk.example/connect?flow=2",
				"url login#3 Sign in to the calendar. https://desk.example/connect?flow=3",
				"form sure Read it? ",
			},
		}
		if diff := cmp.Diff(want[revision], seen); diff != "" {
			t.Errorf("questions (-want +got):\n%s", diff)
		}
		if revision == "2025-06-18" {
			if !result.IsError || result.Text != `This client cannot put the question "Sign in to the calendar." to a person, because it cannot open pages for them.` {
				t.Errorf("result %s", result.Raw)
			}
			return
		}
		if result.IsError || result.Text != "yes" {
			t.Errorf("result %s", result.Raw)
		}
	})
}

// TestVisitPatience comes back for many more rounds than a form could.
func TestVisitPatience(t *testing.T) {
	t.Parallel()
	server, handler := newServer(t, nil)
	server.SetVisitWait(0)
	visits := 0
	elicit.AddTool(server, &mcp.Tool{Name: "t"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
		return none{}, elicit.Visit(ctx, call, "k", "Pay.", "https://pay.example/", func(context.Context, elicit.Principal) (bool, error) {
			return visits == 28, nil
		})
	})
	client := elicittest.Connect(t, handler, modern, func(elicittest.Question) elicittest.Answer {
		visits++
		return elicittest.Answer{Action: "accept"}
	}, &elicittest.Options{Capabilities: both})
	result, err := client.Call(t.Context(), "t", none{})
	if err != nil || result.IsError || visits != 28 {
		t.Error(visits, err, result)
	}
}

func TestVisitOutcomes(t *testing.T) {
	t.Parallel()
	broken := errors.New("no database")
	tests := []struct {
		name   string
		action string
		done   func(context.Context, elicit.Principal) (bool, error)
		want   error // nil: no error
		asked  bool
	}{
		{"done already", "accept", func(context.Context, elicit.Principal) (bool, error) { return true, nil }, nil, false},
		{"done fails", "accept", func(context.Context, elicit.Principal) (bool, error) { return false, broken }, broken, false},
		{"declined", "decline", func(context.Context, elicit.Principal) (bool, error) { return false, nil }, elicit.ErrDeclined, true},
		{"cancelled", "cancel", func(context.Context, elicit.Principal) (bool, error) { return false, nil }, elicit.ErrCancelled, true},
		{"unknown action", "opened", func(context.Context, elicit.Principal) (bool, error) { return false, nil }, elicit.ErrInvalid, true},
	}
	for _, test := range tests {
		for _, revision := range []string{"2025-11-25", modern} {
			t.Run(test.name+"/"+revision, func(t *testing.T) {
				t.Parallel()
				server, handler := newServer(t, nil)
				var failure error
				elicit.AddTool(server, &mcp.Tool{Name: "t"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
					failure = elicit.Visit(ctx, call, "k", "Pay.", "https://pay.example/", test.done)
					return none{}, failure
				})
				asked := false
				client := elicittest.Connect(t, handler, revision, func(elicittest.Question) elicittest.Answer {
					asked = true
					return elicittest.Answer{Action: test.action}
				}, &elicittest.Options{Capabilities: both})
				if _, err := client.Call(t.Context(), "t", none{}); err != nil {
					t.Fatal(err)
				}
				if !errors.Is(failure, test.want) || asked != test.asked {
					t.Errorf("asked %t, error %v, want %t, %v", asked, failure, test.asked, test.want)
				}
			})
		}
	}
}

// TestVisitLegacyExpiry is opened and never finished.
func TestVisitLegacyExpiry(t *testing.T) {
	t.Parallel()
	server, handler := newServer(t, nil)
	server.SetNow(time.Now)
	var failure error
	elicit.AddTool(server, &mcp.Tool{Name: "t"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
		failure = elicit.Visit(ctx, call, "k", "Pay.", "https://pay.example/", func(context.Context, elicit.Principal) (bool, error) {
			return false, nil
		}, elicit.Within(200*time.Millisecond))
		return none{}, failure
	})
	client := elicittest.Connect(t, handler, "2025-11-25", elicittest.Script(t, elicittest.Answer{Action: "accept"}), &elicittest.Options{Capabilities: both})
	if _, err := client.Call(t.Context(), "t", none{}); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(failure, elicit.ErrExpired) {
		t.Errorf("error %v", failure)
	}
}

func TestVisitRefuses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "/login", "javascript:alert(1)", "file:///etc/hosts", "http://desk.example/", "https://user:pw@desk.example/", "https://", "mailto:a@b.example"} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			server, handler := newServer(t, nil)
			elicit.AddTool(server, &mcp.Tool{Name: "t"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
				return none{}, elicit.Visit(ctx, call, "k", "Pay.", address, func(context.Context, elicit.Principal) (bool, error) { return false, nil })
			})
			client := elicittest.Connect(t, handler, modern, elicittest.Script(t), &elicittest.Options{Capabilities: both})
			result, err := client.Call(t.Context(), "t", none{})
			if err != nil {
				t.Fatal(err)
			}
			if !result.IsError || strings.Contains(result.Text, "pw@") {
				t.Errorf("result %s", result.Raw)
			}
		})
	}
}
