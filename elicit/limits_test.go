package elicit_test

import (
	"context"
	"crypto/rand"
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

// TestMemoAge looks up once while the value is young, and again when it is old;
// then the question that changed with it is asked again.
func TestMemoAge(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		pause     time.Duration
		lookups   int
		questions []string
	}{
		{"young", time.Minute, 1, []string{"Take offer 1?", "Sure?"}},
		{"old", time.Minute + 1, 2, []string{"Take offer 1?", "Take offer 2?", "Sure?"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server, handler := newServer(t, nil)
			var now atomic.Int64
			server.SetNow(func() time.Time { return start.Add(time.Duration(now.Load())) })
			lookups := 0
			elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
				offer, err := elicit.Memo(ctx, call, "offer", time.Minute, func(context.Context) (int, error) {
					lookups++
					return lookups, nil
				})
				if err != nil {
					return none{}, err
				}
				if _, err := elicit.Confirm(ctx, call, "take", fmt.Sprintf("Take offer %d?", offer)); err != nil {
					return none{}, err
				}
				_, err = elicit.Confirm(ctx, call, "sure", "Sure?")
				return none{}, err
			})
			var questions []string
			client := elicittest.Connect(t, handler, modern, func(q elicittest.Question) elicittest.Answer {
				if len(questions) == 0 {
					now.Store(int64(test.pause))
				}
				text, _, _ := strings.Cut(q.Message, "\n")
				questions = append(questions, text)
				return elicittest.Accept(map[string]any{"confirmed": true})
			}, nil)
			result, err := client.Call(t.Context(), "ask", none{})
			if err != nil || result.IsError {
				t.Fatal(err, result)
			}
			if lookups != test.lookups {
				t.Errorf("%d lookups, want %d", lookups, test.lookups)
			}
			if diff := cmp.Diff(test.questions, questions); diff != "" {
				t.Errorf("questions (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMemoSame returns the value of the trip through JSON from the start, so
// that no handler works in its first round only.
func TestMemoSame(t *testing.T) {
	t.Parallel()
	inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
		type value struct {
			Shown  int
			hidden int
		}
		elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
			got, err := elicit.Memo(ctx, call, "v", time.Hour, func(context.Context) (value, error) { return value{1, 2}, nil })
			if err != nil || got != (value{Shown: 1}) {
				t.Errorf("value %+v, error %v", got, err)
			}
			if _, err := elicit.Memo(ctx, call, "v", 0, func(context.Context) (int, error) { return 0, nil }); err == nil {
				t.Error("a memo for no time")
			}
			if _, err := elicit.Memo(ctx, call, "f", time.Hour, func(context.Context) (func(), error) { return func() {}, nil }); err == nil {
				t.Error("a memo of a function")
			}
			failure := errors.New("no network")
			if _, err := elicit.Memo(ctx, call, "e", time.Hour, func(context.Context) (int, error) { return 1, failure }); !errors.Is(err, failure) {
				t.Errorf("error %v", err)
			}
			if got, err := elicit.Memo(ctx, call, "e", time.Hour, func(context.Context) (int, error) { return 2, nil }); got != 2 || err != nil {
				t.Errorf("an error was kept: %d, %v", got, err)
			}
			return none{}, nil
		})
		if _, err := elicittest.Connect(t, handler, revision, nil, nil).Call(t.Context(), "ask", none{}); err != nil {
			t.Error(err)
		}
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	sure := func(ctx context.Context, call *elicit.Call, key, message string) error {
		_, err := elicit.Confirm(ctx, call, key, message)
		return err
	}
	tests := []struct {
		limit  string
		limits elicit.Limits
		run    func(ctx context.Context, call *elicit.Call) error
		modern bool // only there
	}{
		{"message", elicit.Limits{Message: 10}, func(ctx context.Context, call *elicit.Call) error {
			return sure(ctx, call, "k", "Longer than that?")
		}, false},
		{"schema", elicit.Limits{Schema: 40}, func(ctx context.Context, call *elicit.Call) error {
			return sure(ctx, call, "k", "Sure?")
		}, false},
		{"memos", elicit.Limits{Memos: 100}, func(ctx context.Context, call *elicit.Call) error {
			for _, key := range []string{"a", "b", "c"} {
				_, err := elicit.Memo(ctx, call, key, time.Hour, func(context.Context) (string, error) { return strings.Repeat("x", 40), nil })
				if err != nil {
					return err
				}
			}
			return nil
		}, false},
		{"questions per minute", elicit.Limits{QuestionsPerMinute: 2}, func(ctx context.Context, call *elicit.Call) error {
			return errors.Join(sure(ctx, call, "a", "A?"), sure(ctx, call, "b", "B?"), sure(ctx, call, "c", "C?"))
		}, false},
		{"rounds", elicit.Limits{Rounds: 3}, func(ctx context.Context, call *elicit.Call) error {
			for i := range 10 {
				if err := sure(ctx, call, fmt.Sprint("k", i), "Sure?"); err != nil {
					return err
				}
			}
			return nil
		}, false},
		{"request state", elicit.Limits{RequestState: 2000}, func(ctx context.Context, call *elicit.Call) error {
			_, err := elicit.Memo(ctx, call, "a", time.Hour, func(context.Context) (string, error) { return noise(2000), nil })
			return errors.Join(err, sure(ctx, call, "k", "Sure?"))
		}, true},
		{"memos", elicit.Limits{Memos: 1000}, func(ctx context.Context, call *elicit.Call) error {
			_, err := elicit.Memo(ctx, call, "a", time.Hour, func(context.Context) (string, error) { return noise(2000), nil })
			return err
		}, false},
		{"age of a call", elicit.Limits{Age: 1}, func(ctx context.Context, call *elicit.Call) error {
			return errors.Join(sure(ctx, call, "a", "A?"), sure(ctx, call, "b", "B?"))
		}, false},
	}
	for _, test := range tests {
		t.Run(test.limit, func(t *testing.T) {
			t.Parallel()
			inEach(t, &elicit.Options{Limits: test.limits, Principal: byHeader}, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
				if test.modern && revision != modern {
					return // these limits are of the request state
				}
				var now atomic.Int64
				server.SetNow(func() time.Time { return time.Now().Add(time.Duration(now.Add(1))) })
				elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
					return none{}, test.run(ctx, call)
				})
				client := elicittest.Connect(t, handler, revision, func(elicittest.Question) elicittest.Answer {
					return elicittest.Accept(map[string]any{"confirmed": true})
				}, &elicittest.Options{Header: ada})
				result, err := client.Call(t.Context(), "ask", none{})
				if err != nil {
					t.Fatal(err)
				}
				if !result.IsError || !strings.Contains(result.Text, "limit of "+test.limit) {
					t.Errorf("result %s", result.Raw)
				}
			})
		})
	}
}

// noise is text that cannot be compressed to less than half.
func noise(n int) string {
	var text strings.Builder
	for text.Len() < n {
		text.WriteString(rand.Text())
	}
	return text.String()[:n]
}

// TestAskAllIsARound: what is asked together is one round in each era, however many
// questions it has.
func TestAskAllIsARound(t *testing.T) {
	t.Parallel()
	inEach(t, &elicit.Options{Limits: elicit.Limits{Rounds: 1}}, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
		elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
			return none{}, elicit.AskAll(ctx, call, elicit.NewQuestion[int]("a", "A?"), elicit.NewQuestion[int]("b", "B?"), elicit.NewQuestion[int]("c", "C?"))
		})
		client := elicittest.Connect(t, handler, revision, func(q elicittest.Question) elicittest.Answer {
			return elicittest.Accept(json.RawMessage(`{"a":1,"b":1,"c":1}`))
		}, nil)
		if result, err := client.Call(t.Context(), "ask", none{}); err != nil || result.IsError {
			t.Errorf("error %v, result %+v", err, result)
		}
	})
}

// TestAnswersTooLarge: one answer is more than a round may bring.
func TestAnswersTooLarge(t *testing.T) {
	t.Parallel()
	inEach(t, &elicit.Options{Limits: elicit.Limits{Answers: 1000}}, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
		elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (string, error) {
			return elicit.Ask[string](ctx, call, "text", "What?")
		})
		client := elicittest.Connect(t, handler, revision, elicittest.Script(t, elicittest.Accept(map[string]any{"text": strings.Repeat("x", 1000)})), nil)
		result, err := client.Call(t.Context(), "ask", none{})
		said := fmt.Sprint(err)
		if err == nil {
			said = result.Text
		}
		if !strings.Contains(said, "more than 1000 bytes: limit of answers") || (err != nil) != (revision == modern) {
			t.Errorf("error %v, result %+v", err, result)
		}
	})
}

// TestMemoCompressed records much more than the limit that compresses well.
func TestMemoCompressed(t *testing.T) {
	t.Parallel()
	inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
		offers := strings.Repeat(`{"flight":"PY 129","bags":2},`, 4000)
		lookups := 0
		elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
			got, err := elicit.Memo(ctx, call, "offers", time.Hour, func(context.Context) (string, error) {
				lookups++
				return offers, nil
			})
			if err != nil || got != offers {
				return none{}, fmt.Errorf("%d bytes, error %w", len(got), err)
			}
			_, err = elicit.Confirm(ctx, call, "sure", "Sure?")
			return none{}, err
		})
		client := elicittest.Connect(t, handler, revision, elicittest.Script(t, elicittest.Accept(map[string]any{"confirmed": true})), nil)
		result, err := client.Call(t.Context(), "ask", none{})
		if err != nil || result.IsError || lookups != 1 {
			t.Errorf("%d lookups, error %v, result %+v", lookups, err, result)
		}
	})
}

// TestAgeOfACall lets a call go on from round to round, but not for ever, however
// young its last request state is.
func TestAgeOfACall(t *testing.T) {
	t.Parallel()
	server, handler := newServer(t, &elicit.Options{Lifetime: time.Hour, Limits: elicit.Limits{Age: 150 * time.Minute}})
	var now atomic.Int64
	server.SetNow(func() time.Time { return start.Add(time.Duration(now.Load())) })
	elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
		for _, key := range []string{"a", "b", "c", "d"} {
			if _, err := elicit.Confirm(ctx, call, key, "Sure?"); err != nil {
				return none{}, err
			}
		}
		return none{}, nil
	})
	send := func(params map[string]any) (state, expires string, result json.RawMessage, err error) {
		params["name"], params["arguments"] = "ask", none{}
		raw, err := elicittest.Connect(t, handler, modern, elicittest.Script(t), nil).Send(t.Context(), "tools/call", params)
		var r struct {
			State string         `json:"requestState"`
			Meta  map[string]any `json:"_meta"`
		}
		if err == nil {
			err = json.Unmarshal(raw, &r)
		}
		expires, _ = r.Meta["io.github.parley-mcp/expiresAt"].(string)
		return r.State, expires, raw, err
	}
	state, expires, _, err := send(map[string]any{})
	for i, want := range []string{"2027-03-01T13:00:00Z", "2027-03-01T13:50:00Z", "2027-03-01T14:30:00Z"} {
		if err != nil || expires != want {
			t.Fatalf("round %d: expires %s, error %v, want %s", i, expires, err, want)
		}
		now.Store(int64(i+1) * int64(50*time.Minute))
		key := string(rune('a' + i))
		var raw json.RawMessage
		state, expires, raw, err = send(map[string]any{"requestState": state, "inputResponses": map[string]any{
			key: map[string]any{"action": "accept", "content": map[string]any{"confirmed": true}},
		}})
		if i == 2 {
			var refused *elicittest.Error
			if !errors.As(err, &refused) || string(refused.Data) != `{"reason":"invalid_request_state"}` {
				t.Errorf("error %v, result %s", err, raw)
			}
		}
	}
}

// TestNeverAnswered sends no answer, ever: the call ends.
func TestNeverAnswered(t *testing.T) {
	t.Parallel()
	server, handler := newServer(t, nil)
	elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (size, error) {
		return elicit.Ask[size](ctx, call, "size", "What size?")
	})
	rounds := 0
	client := elicittest.Connect(t, handler, modern, func(elicittest.Question) elicittest.Answer {
		rounds++
		return elicittest.Answer{Absent: true}
	}, nil)
	result, err := client.Call(t.Context(), "ask", none{})
	if err != nil {
		t.Fatal(err)
	}
	if !result.IsError || rounds != 25 {
		t.Errorf("%d rounds, result %s", rounds, result.Raw)
	}
}

// TestExpiry answers after the question's own time.
func TestExpiry(t *testing.T) {
	t.Parallel()
	t.Run(modern, func(t *testing.T) {
		t.Parallel()
		server, handler := newServer(t, nil)
		var now atomic.Int64
		server.SetNow(func() time.Time { return start.Add(time.Duration(now.Load())) })
		var failure error
		elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
			_, failure = elicit.Ask[size](ctx, call, "size", "What size?", elicit.Within(time.Hour))
			return none{}, failure
		})
		client := elicittest.Connect(t, handler, modern, func(elicittest.Question) elicittest.Answer {
			now.Store(int64(time.Hour + 1))
			return elicittest.Accept(map[string]any{"width": 1})
		}, nil)
		raw, err := client.Send(t.Context(), "tools/call", map[string]any{"name": "ask", "arguments": none{}})
		if err != nil {
			t.Fatal(err)
		}
		var interim struct {
			Meta map[string]any `json:"_meta"`
		}
		if err := json.Unmarshal(raw, &interim); err != nil || interim.Meta["io.github.parley-mcp/expiresAt"] != "2027-03-01T13:00:00Z" {
			t.Errorf("_meta %v, error %v", interim.Meta, err)
		}
		result, err := client.Call(t.Context(), "ask", none{})
		if err != nil {
			t.Fatal(err)
		}
		if !result.IsError || !errors.Is(failure, elicit.ErrExpired) || !strings.Contains(result.Text, "in time") {
			t.Errorf("error %v, result %s", failure, result.Raw)
		}
	})
	for _, revision := range []string{"2025-06-18", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			server, handler := newServer(t, nil)
			server.SetNow(time.Now)
			failures := make(chan error, 1)
			answered := make(chan struct{})
			elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
				_, err := elicit.Ask[size](ctx, call, "size", "What size?", elicit.Within(20*time.Millisecond))
				failures <- err
				close(answered)
				return none{}, err
			})
			client := elicittest.Connect(t, handler, revision, func(elicittest.Question) elicittest.Answer {
				<-answered // too late
				return elicittest.Accept(map[string]any{"width": 1})
			}, nil)
			result, err := client.Call(t.Context(), "ask", none{})
			if err != nil {
				t.Fatal(err)
			}
			if failure := <-failures; !result.IsError || !errors.Is(failure, elicit.ErrExpired) {
				t.Errorf("error %v, result %s", failure, result.Raw)
			}
		})
	}
}

// TestIdempotencyKey is the same over all rounds and sends of one call, and
// different for everything else.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	inEach(t, &elicit.Options{Principal: byHeader}, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
		keys := make(map[string]bool) // of one call
		for _, tool := range []string{"pay", "send"} {
			elicit.AddTool(server, &mcp.Tool{Name: tool}, func(ctx context.Context, call *elicit.Call, in deletion) (none, error) {
				keys[call.IdempotencyKey()] = true
				_, err := elicit.Confirm(ctx, call, "sure", "Sure?")
				return none{}, err
			})
		}
		key := func(tool, path, own string, header http.Header) string {
			t.Helper()
			clear(keys)
			client := elicittest.Connect(t, handler, revision, func(elicittest.Question) elicittest.Answer {
				return elicittest.Accept(map[string]any{"confirmed": true})
			}, &elicittest.Options{Header: header, Meta: map[string]any{"io.github.parley-mcp/idempotencyKey": own}})
			result, err := client.Call(t.Context(), tool, map[string]any{"path": path})
			if err != nil || result.IsError {
				t.Fatal(err, result)
			}
			if len(keys) != 1 {
				t.Fatalf("%d keys in one call", len(keys))
			}
			for key := range keys {
				if len(key) != 64 {
					t.Errorf("key %q", key)
				}
				return key
			}
			return ""
		}
		first := key("pay", "/a", "k1", ada)
		if key("pay", "/a", "k1", ada) != first {
			t.Error("another key for a call that was sent again")
		}
		bob := ada.Clone()
		bob.Set("X-Subject", "bob")
		others := []string{
			first,
			key("pay", "/a", "k2", ada), key("pay", "/b", "k1", ada), key("send", "/a", "k1", ada), key("pay", "/a", "k1", bob),
			key("pay", "/a", "", ada), key("pay", "/a", "", ada), // no key of the client's
			key("pay", "/a", "not visible\n", ada), key("pay", "/a", "not visible\n", ada), key("pay", "/a", strings.Repeat("x", 129), ada),
		}
		seen := make(map[string]int)
		for i, other := range others {
			if before, ok := seen[other]; ok {
				t.Errorf("calls %d and %d have one key", before, i)
			}
			seen[other] = i
		}
	})
}
