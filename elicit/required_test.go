package elicit_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

// account is a server whose tools need a page that is finished when done is set.
type account struct {
	handler http.Handler
	done    atomic.Bool
	booked  atomic.Int64
}

func newAccount(t testing.TB, options *elicit.Options) *account {
	t.Helper()
	a := &account{}
	server, handler := newServer(t, options)
	server.SetVisitWait(0)
	a.handler = handler
	connect := func(ctx context.Context, call *elicit.Call) error {
		return elicit.Visit(ctx, call, "login", "Connect your calendar.", "https://desk.example/connect",
			func(context.Context, elicit.Principal) (bool, error) { return a.done.Load(), nil }, elicit.CallAgain())
	}
	elicit.AddTool(server, &mcp.Tool{Name: "calendar"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
		err := connect(ctx, call)
		if err == nil {
			a.booked.Add(1)
		}
		return none{}, err
	})
	elicit.AddTool(server, &mcp.Tool{Name: "careless"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
		_ = connect(ctx, call)
		if _, err := elicit.Memo(ctx, call, "m", time.Hour, func(context.Context) (int, error) { return int(a.booked.Add(1)), nil }); !errors.Is(err, elicit.ErrPending) {
			t.Errorf("after the page: error %v", err)
		}
		return none{}, nil
	})
	elicit.AddTool(server, &mcp.Tool{Name: "late"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
		if _, err := elicit.Confirm(ctx, call, "sure", "Sure?"); err != nil {
			return none{}, err
		}
		return none{}, connect(ctx, call)
	})
	elicit.AddPrompt(server, &mcp.Prompt{Name: "day"}, func(ctx context.Context, call *elicit.Call, _ map[string]string) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, connect(ctx, call)
	})
	elicit.AddResource(server, &mcp.Resource{Name: "day", URI: "calendar://day"}, func(ctx context.Context, call *elicit.Call, _ string) ([]*mcp.ResourceContents, error) {
		return nil, connect(ctx, call)
	})
	return a
}

// pages are the elicitations of the error -32042.
func pages(t testing.TB, err error) []map[string]string {
	t.Helper()
	var wire *elicittest.Error
	if !errors.As(err, &wire) || wire.Code != mcp.CodeURLElicitationRequired {
		t.Fatalf("error %v, want -32042", err)
	}
	var data struct {
		Elicitations []map[string]string `json:"elicitations"`
	}
	if err := json.Unmarshal(wire.Data, &data); err != nil {
		t.Fatal(err)
	}
	return data.Elicitations
}

// TestCallAgain is the error in the one revision that has it, for each request
// that can ask; the call goes on when it comes again.
func TestCallAgain(t *testing.T) {
	t.Parallel()
	for method, params := range map[string]map[string]any{
		"tools/call":     {"name": "calendar", "arguments": none{}},
		"prompts/get":    {"name": "day"},
		"resources/read": {"uri": "calendar://day"},
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			a := newAccount(t, nil)
			client := elicittest.Connect(t, a.handler, "2025-11-25", elicittest.Script(t), &elicittest.Options{Capabilities: both})
			var ids []string
			for range 2 { // the second comes too early
				_, err := client.Send(t.Context(), method, params)
				got := pages(t, err)
				if len(got) != 1 || got[0]["elicitationId"] == "" {
					t.Fatalf("pages %v", got)
				}
				ids = append(ids, got[0]["elicitationId"])
				delete(got[0], "elicitationId")
				want := []map[string]string{{"mode": "url", "message": "Connect your calendar.", "url": "https://desk.example/connect"}}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("pages (-want +got):\n%s", diff)
				}
			}
			if ids[0] != ids[1] {
				t.Errorf("one page has two ids: %v", ids)
			}
			a.done.Store(true)
			if _, err := client.Send(t.Context(), method, params); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCallAgainOnlyWhereOfUse is everywhere else: no other revision and no client
// without URL mode sees the error, and no answer is thrown away for it.
func TestCallAgainOnlyWhereOfUse(t *testing.T) {
	t.Parallel()
	accept := elicittest.Answer{Action: "accept"}
	for name, test := range map[string]struct {
		revision, capabilities, tool string
		asked                        int    // questions
		says                         string // in the error result
	}{
		"no URL mode in the revision": {"2025-06-18", string(both), "calendar", 0, "cannot open pages"},
		"client without URL mode":     {"2025-11-25", `{"elicitation":{}}`, "calendar", 0, "cannot open pages"},
		"client without elicitation":  {"2025-11-25", `{}`, "calendar", 0, "cannot open pages"},
		"modern":                      {modern, string(both), "calendar", 1, ""},
		"after an answer":             {"2025-11-25", string(both), "late", 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAccount(t, nil)
			asked := 0
			client := elicittest.Connect(t, a.handler, test.revision, func(q elicittest.Question) elicittest.Answer {
				asked++
				if q.Mode == "form" {
					return elicittest.Accept(map[string]any{"confirmed": true})
				}
				if modernID := strings.Contains(string(q.Params), "elicitationId"); modernID == (test.revision == modern) {
					t.Errorf("params %s", q.Params)
				}
				a.done.Store(true)
				return accept
			}, &elicittest.Options{Capabilities: json.RawMessage(test.capabilities)})
			result, err := client.Call(t.Context(), test.tool, none{})
			if err != nil {
				t.Fatal(err)
			}
			if result.IsError != (test.says != "") || !strings.Contains(result.Text, test.says) || asked != test.asked {
				t.Errorf("%d questions, result %s", asked, result.Raw)
			}
		})
	}
	t.Run("under a key that a guard repeats", func(t *testing.T) {
		t.Parallel()
		a := newAccount(t, &elicit.Options{Replay: elicit.NewMemoryGuard(nil)})
		client := elicittest.Connect(t, a.handler, "2025-11-25", func(elicittest.Question) elicittest.Answer {
			a.done.Store(true)
			return accept
		}, &elicittest.Options{Capabilities: both, Meta: map[string]any{metaKey: "0123456789abcdef"}})
		if result, err := client.Call(t.Context(), "calendar", none{}); err != nil || result.IsError {
			t.Errorf("error %v, result %+v", err, result)
		}
	})
}

// TestCallAgainSwallowed: a handler that ignores the error does not get on.
func TestCallAgainSwallowed(t *testing.T) {
	t.Parallel()
	a := newAccount(t, nil)
	client := elicittest.Connect(t, a.handler, "2025-11-25", elicittest.Script(t), &elicittest.Options{Capabilities: both})
	_, err := client.Call(t.Context(), "careless", none{})
	if len(pages(t, err)) != 1 || a.booked.Load() != 0 {
		t.Errorf("error %v, %d bookings", err, a.booked.Load())
	}
}

// TestCompleteIsTold tells the session that was sent to the page, and no other,
// that it is finished: over HTTP, on the stream that a client has open for that.
func TestCompleteIsTold(t *testing.T) {
	t.Parallel()
	a := newAccount(t, nil)
	url := serve(t, a.handler)
	join := func(told chan string) *mcp.ClientSession {
		session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, &mcp.ClientOptions{
			Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return nil, errors.New("not asked on this way")
			},
			ElicitationCompleteHandler: func(_ context.Context, req *mcp.ElicitationCompleteNotificationRequest) {
				told <- req.Params.ElicitationID
			},
		}).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { session.Close() })
		return session
	}
	mine, others := make(chan string, 4), make(chan string, 4)
	session, other := join(mine), join(others)
	_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "calendar", Arguments: none{}})
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || wire.Code != mcp.CodeURLElicitationRequired {
		t.Fatalf("error %v", err)
	}
	a.done.Store(true)
	if id := <-mine; !strings.Contains(string(wire.Data), `"elicitationId":"`+id+`"`) {
		t.Errorf("told of %s, asked for %s", id, wire.Data)
	}
	for _, s := range []*mcp.ClientSession{session, other} { // both can use the account now
		if result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "calendar", Arguments: none{}}); err != nil || result.IsError {
			t.Errorf("error %v, result %+v", err, result)
		}
	}
	if len(others) != 0 {
		t.Error("another session was told")
	}
}

// TestCompleteWatch looks after pages when no call is open: not for ever, not
// after the session, and whatever the author's function does.
func TestCompleteWatch(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		within time.Duration
		done   func(look int) (bool, error)
		told   bool
		looks  int // at most; the first is that of the call
	}{
		"finished":  {time.Hour, func(look int) (bool, error) { return look == 5, nil }, true, 5},
		"never":     {time.Minute, func(int) (bool, error) { return false, nil }, false, 20},
		"fails":     {time.Hour, func(look int) (bool, error) { return false, map[bool]error{true: errors.New("no database")}[look > 1] }, false, 2},
		"panics":    {time.Hour, func(look int) (bool, error) { return look > 1 && []bool{}[look], nil }, false, 2},
		"abandoned": {24 * time.Hour, func(int) (bool, error) { return false, nil }, false, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				desk := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
				server, err := elicit.NewServer(desk, nil)
				if err != nil {
					t.Fatal(err)
				}
				var looks atomic.Int64
				elicit.AddTool(server, &mcp.Tool{Name: "t"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
					return none{}, elicit.Visit(ctx, call, "k", "Pay.", "https://pay.example/", func(context.Context, elicit.Principal) (bool, error) {
						return test.done(int(looks.Add(1)))
					}, elicit.CallAgain(), elicit.Within(test.within))
				})
				told := 0
				serverSide, clientSide := mcp.NewInMemoryTransports()
				if _, err := desk.Connect(t.Context(), serverSide, nil); err != nil {
					t.Fatal(err)
				}
				session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, &mcp.ClientOptions{
					Capabilities:               &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
					ElicitationCompleteHandler: func(context.Context, *mcp.ElicitationCompleteNotificationRequest) { told++ },
				}).Connect(t.Context(), clientSide, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
				if err != nil {
					t.Fatal(err)
				}
				_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "t", Arguments: none{}})
				if wire, ok := errors.AsType[*jsonrpc.Error](err); !ok || wire.Code != mcp.CodeURLElicitationRequired {
					t.Fatalf("error %v", err)
				}
				time.Sleep(time.Hour) //nolint:forbidigo // synctest: of the bubble's clock
				if name == "abandoned" && looks.Load() < 100 {
					t.Errorf("%d looks in an hour", looks.Load())
				}
				if err := session.Close(); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				after := looks.Load()
				time.Sleep(time.Hour) //nolint:forbidigo // synctest
				if (told == 1) != test.told || told > 1 || int(after) > test.looks || looks.Load() != after {
					t.Errorf("told %d times, %d looks and %d after the session", told, after, looks.Load()-after)
				}
			})
		})
	}
}
