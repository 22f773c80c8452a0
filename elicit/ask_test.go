package elicit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

// TestWireKeys numbers each asking, and asks again what was not answered.
func TestWireKeys(t *testing.T) {
	t.Parallel()
	server, handler := newServer(t, nil)
	elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (size, error) {
		return elicit.Ask[size](ctx, call, "size", "What size?")
	})
	var keys, messages []string
	answers := []elicittest.Answer{{Absent: true}, elicittest.Accept(size{Width: 99}), {Absent: true}, elicittest.Accept(size{Width: 2})}
	client := elicittest.Connect(t, handler, modern, func(q elicittest.Question) elicittest.Answer {
		keys, messages = append(keys, q.Key), append(messages, q.Message)
		return answers[len(keys)-1]
	}, nil)
	result, err := client.Call(t.Context(), "ask", none{})
	if err != nil || result.IsError {
		t.Fatal(err, result)
	}
	if diff := cmp.Diff([]string{"size", "size#2", "size#3", "size#4"}, keys); diff != "" {
		t.Errorf("wire keys (-want +got):\n%s", diff)
	}
	if messages[1] != "What size?" || !strings.Contains(messages[2], "did not fit") || !strings.Contains(messages[2], "between 1 and 10") {
		t.Errorf("messages %q", messages)
	}
	for _, message := range messages {
		if strings.Contains(message, "99") {
			t.Errorf("a message repeats the answer: %q", message)
		}
	}
}

// TestChangedQuestion changes the question between two rounds, as a deploy may.
func TestChangedQuestion(t *testing.T) {
	t.Parallel()
	server, handler := newServer(t, nil)
	var text atomic.Value
	text.Store("Pay 10 EUR?")
	elicit.AddTool(server, &mcp.Tool{Name: "pay"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
		message := text.Load().(string)
		consent, err := elicit.Confirm(ctx, call, "pay", message)
		if err != nil {
			return none{}, err
		}
		return none{}, fmt.Errorf("%s: %v", message, consent)
	})
	var messages []string
	client := elicittest.Connect(t, handler, modern, func(q elicittest.Question) elicittest.Answer {
		messages = append(messages, q.Message)
		text.Store("Pay 1000 EUR?")
		return elicittest.Accept(map[string]any{"confirmed": len(messages) == 1})
	}, nil)
	result, err := client.Call(t.Context(), "pay", none{})
	if err != nil {
		t.Fatal(err)
	}
	if result.Text != "Pay 1000 EUR?: no" {
		t.Errorf("the old answer counted for the new question: %s", result.Text)
	}
	if len(messages) != 2 || !strings.Contains(messages[1], "has changed") {
		t.Errorf("messages %q", messages)
	}
}

// TestFollowUp asks until the answer is good enough: each asking has a key and a
// text of its own, and all of them are found again.
func TestFollowUp(t *testing.T) {
	t.Parallel()
	inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
		elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (size, error) {
			message := "What size?"
			for n := 1; ; n++ {
				got, err := elicit.Ask[size](ctx, call, fmt.Sprint("size", n), message)
				if err != nil || got.Width > 2 {
					return got, err
				}
				message = fmt.Sprintf("%d is sold out. What size instead?", got.Width)
			}
		})
		var messages []string
		client := elicittest.Connect(t, handler, revision, func(q elicittest.Question) elicittest.Answer {
			messages = append(messages, q.Message)
			return elicittest.Accept(map[string]any{"width": len(messages)})
		}, nil)
		result, err := client.Call(t.Context(), "ask", none{})
		if err != nil || result.IsError {
			t.Fatal(err, result)
		}
		want := []string{"What size?", "1 is sold out. What size instead?", "2 is sold out. What size instead?"}
		if diff := cmp.Diff(want, messages); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
	})
}

// TestOneKey asks two questions under one key, one after the other and at once:
// that is a mistake of the tool, and says so. The same question again is none.
func TestOneKey(t *testing.T) {
	t.Parallel()
	inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
		elicit.AddTool(server, &mcp.Tool{Name: "later"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
			for range 2 { // the second time it has its answer
				if _, err := elicit.Ask[size](ctx, call, "size", "What size?"); err != nil {
					return none{}, err
				}
			}
			_, err := elicit.Ask[size](ctx, call, "size", "And of shoes?")
			return none{}, err
		})
		elicit.AddTool(server, &mcp.Tool{Name: "together"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
			return none{}, elicit.AskAll(ctx, call, elicit.NewQuestion[size]("size", "What size?"), elicit.NewQuestion[size]("size", "And of shoes?"))
		})
		for tool, answers := range map[string]int{"later": 1, "together": 0} {
			script := elicittest.Script(t, slices.Repeat([]elicittest.Answer{elicittest.Accept(size{Width: 2})}, answers)...)
			result, err := elicittest.Connect(t, handler, revision, script, nil).Call(t.Context(), tool, none{})
			if err != nil {
				t.Fatal(err)
			}
			if want := `elicit: question "size": this run has asked another question under the same key`; !result.IsError || result.Text != want {
				t.Errorf("%s: %s", tool, result.Raw)
			}
		}
	})
}

// TestSwallowed has handlers that ignore the error of a pending question.
func TestSwallowed(t *testing.T) {
	t.Parallel()
	handlers := map[string]func(ctx context.Context, call *elicit.Call, ran *atomic.Int64) error{
		"ask": func(ctx context.Context, call *elicit.Call, ran *atomic.Int64) error {
			_, _ = elicit.Ask[size](ctx, call, "size", "What size?")
			return nil
		},
		"another error": func(ctx context.Context, call *elicit.Call, ran *atomic.Int64) error {
			_, _ = elicit.Ask[size](ctx, call, "size", "What size?")
			return errors.New("something else")
		},
		"panic": func(ctx context.Context, call *elicit.Call, ran *atomic.Int64) error {
			_, _ = elicit.Ask[size](ctx, call, "size", "What size?")
			panic("no value")
		},
		"wrapped away": func(ctx context.Context, call *elicit.Call, ran *atomic.Int64) error {
			if _, err := elicit.Ask[size](ctx, call, "size", "What size?"); err != nil {
				return fmt.Errorf("asking: %v", err)
			}
			return nil
		},
		"memo and more questions after it": func(ctx context.Context, call *elicit.Call, ran *atomic.Int64) error {
			_, _ = elicit.Ask[size](ctx, call, "size", "What size?")
			_, err := elicit.Memo(ctx, call, "book", time.Hour, func(context.Context) (int, error) { return int(ran.Add(1)), nil })
			if !errors.Is(err, elicit.ErrPending) {
				ran.Add(100)
			}
			consent, err := elicit.Confirm(ctx, call, "sure", "Sure?")
			if consent != elicit.Dismissed || !errors.Is(err, elicit.ErrPending) {
				ran.Add(100)
			}
			return nil
		},
	}
	for name, run := range handlers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, handler := newServer(t, nil)
			var ran atomic.Int64
			elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
				return none{}, run(ctx, call, &ran)
			})
			client := elicittest.Connect(t, handler, modern, elicittest.Script(t), nil)
			raw, err := client.Send(t.Context(), "tools/call", map[string]any{"name": "ask", "arguments": none{}})
			if err != nil {
				t.Fatal(err)
			}
			questions, err := elicittest.Questions(raw)
			if err != nil {
				t.Fatal(err)
			}
			if len(questions) != 1 || questions[0].Key != "size" || bytes.Contains(raw, []byte("isError")) {
				t.Errorf("result %s", raw)
			}
			if ran.Load() != 0 {
				t.Error("something ran after the pending question")
			}
		})
	}
}

// TestConcurrent asks from several goroutines at once.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
		elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (map[string]int, error) {
			var mu sync.Mutex
			widths := make(map[string]int)
			var failure error
			var wait sync.WaitGroup
			for _, key := range []string{"a", "b", "c", "a"} {
				wait.Go(func() {
					got, err := elicit.Ask[size](ctx, call, key, "Width of "+key+"?")
					mu.Lock()
					defer mu.Unlock()
					widths[key] = got.Width
					failure = errors.Join(failure, err)
				})
			}
			wait.Wait()
			return widths, failure
		})
		asked := make(map[string]int)
		client := elicittest.Connect(t, handler, revision, func(q elicittest.Question) elicittest.Answer {
			asked[q.Message]++
			return elicittest.Accept(map[string]any{"width": map[string]int{"Width of a?": 1, "Width of b?": 2, "Width of c?": 3}[q.Message]})
		}, nil)
		result, err := client.Call(t.Context(), "ask", none{})
		if err != nil || result.IsError {
			t.Fatal(err, result)
		}
		if string(result.Structured) != `{"a":1,"b":2,"c":3}` {
			t.Errorf("widths %s", result.Structured)
		}
		for message, n := range asked {
			if n != 1 {
				t.Errorf("%q was asked %d times", message, n)
			}
		}
	})
}

// TestAskAllOutcomes declines one of two.
func TestAskAllOutcomes(t *testing.T) {
	t.Parallel()
	inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
		elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
			first := elicit.NewQuestion[size]("first", "First?")
			second := elicit.NewQuestion[size]("second", "Second?")
			err := elicit.AskAll(ctx, call, first, second)
			if errors.Is(err, elicit.ErrPending) {
				return none{}, err
			}
			return none{}, fmt.Errorf("%v: %s %d, %s %d", errors.Is(err, elicit.ErrDeclined), first.Outcome, first.Value.Width, second.Outcome, second.Value.Width)
		})
		client := elicittest.Connect(t, handler, revision, func(q elicittest.Question) elicittest.Answer {
			if q.Message == "First?" {
				return elicittest.Decline()
			}
			return elicittest.Accept(map[string]any{"width": 4})
		}, nil)
		result, err := client.Call(t.Context(), "ask", none{})
		if err != nil {
			t.Fatal(err)
		}
		if want := "true: declined 0, accepted 4"; result.Text != want {
			t.Errorf("got %q, want %q", result.Text, want)
		}
	})
}

// TestOutlived keeps a goroutine running after its handler: it gets an error,
// and does not disturb the state that goes to the client.
func TestOutlived(t *testing.T) {
	t.Parallel()
	inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
		returned := make(chan struct{})
		failures := make(chan error, 2)
		elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
			go func() {
				<-returned
				_, err := elicit.Confirm(context.WithoutCancel(ctx), call, "sure", "Sure?")
				failures <- err
				_, err = elicit.Memo(context.WithoutCancel(ctx), call, "m", time.Hour, func(context.Context) (int, error) { return 1, nil })
				failures <- err
			}()
			return none{}, nil
		})
		client := elicittest.Connect(t, handler, revision, elicittest.Script(t), nil)
		if _, err := client.Call(t.Context(), "ask", none{}); err != nil {
			t.Fatal(err)
		}
		close(returned)
		for range 2 {
			if err := <-failures; err == nil || errors.Is(err, elicit.ErrPending) {
				t.Errorf("error %v", err)
			}
		}
	})
}
