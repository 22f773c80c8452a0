package elicit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

// inEach runs the test in each revision, with a server of its own.
func inEach(t *testing.T, options *elicit.Options, test func(t *testing.T, revision string, server *elicit.Server, handler http.Handler)) {
	t.Helper()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			server, handler := newServer(t, options)
			test(t, revision, server, handler)
		})
	}
}

type size struct {
	Width  int     `json:"width" title:"Width" elicit:"min=1,max=10"`
	Colour string  `json:"colour" elicit:"default=red"`
	Note   *string `json:"note" elicit:"default=hello"`
}

// TestOutcomes has the handler report the error that it got.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	sentinels := map[elicit.Outcome]error{
		elicit.Pending: elicit.ErrPending, elicit.Declined: elicit.ErrDeclined, elicit.Cancelled: elicit.ErrCancelled,
		elicit.Expired: elicit.ErrExpired, elicit.Unanswerable: elicit.ErrUnanswerable, elicit.Invalid: elicit.ErrInvalid,
	}
	accept := func(content string) elicittest.Answer { return elicittest.Accept(json.RawMessage(content)) }
	raw := func(text string) elicittest.Answer { return elicittest.Answer{Raw: json.RawMessage(text)} }
	tests := []struct {
		name    string
		answers []elicittest.Answer
		want    elicit.Outcome
		value   string // JSON, if accepted
	}{
		{"accept", []elicittest.Answer{accept(`{"width":3,"colour":"blue","note":"hi"}`)}, elicit.Accepted, `{"width":3,"colour":"blue","note":"hi"}`},
		{"default fills a required field", []elicittest.Answer{accept(`{"width":3}`)}, elicit.Accepted, `{"width":3,"colour":"red","note":null}`},
		{"null clears an optional field", []elicittest.Answer{accept(`{"width":3,"note":null}`)}, elicit.Accepted, `{"width":3,"colour":"red","note":null}`},
		{"an intended empty text", []elicittest.Answer{accept(`{"width":3,"note":"","colour":""}`)}, elicit.Accepted, `{"width":3,"colour":"","note":""}`},
		{"whole number written 3.0", []elicittest.Answer{accept(`{"width":3.0}`)}, elicit.Accepted, `{"width":3,"colour":"red","note":null}`},
		{"whole number written 1e1", []elicittest.Answer{accept(`{"width":1e1}`)}, elicit.Accepted, `{"width":10,"colour":"red","note":null}`},
		{"unknown members are dropped", []elicittest.Answer{accept(`{"width":3,"Width":9,"WIDTH":9,"x":{}}`)}, elicit.Accepted, `{"width":3,"colour":"red","note":null}`},
		{"decline", []elicittest.Answer{elicittest.Decline()}, elicit.Declined, ""},
		{"decline with content", []elicittest.Answer{raw(`{"action":"decline","content":{"width":3}}`)}, elicit.Declined, ""},
		{"cancel", []elicittest.Answer{elicittest.Cancel()}, elicit.Cancelled, ""},
		{"cancel with content of a wrong shape", []elicittest.Answer{raw(`{"action":"cancel","content":[1]}`)}, elicit.Cancelled, ""},
		{"unknown action", []elicittest.Answer{raw(`{"action":"reject"}`)}, elicit.Invalid, ""},
		{"unknown action with content", []elicittest.Answer{raw(`{"action":"Accept","content":{"width":3}}`)}, elicit.Invalid, ""},
		{"right at the second time", []elicittest.Answer{accept(`{"width":0}`), accept(`{"width":1}`)}, elicit.Accepted, `{"width":1,"colour":"red","note":null}`},
		{"right at the third time", []elicittest.Answer{accept(`{"width":0}`), accept(`{}`), accept(`{"width":1}`)}, elicit.Accepted, `{"width":1,"colour":"red","note":null}`},
		{"wrong three times", []elicittest.Answer{accept(`{"width":0}`), accept(`{"width":"1"}`), accept(`{"width":1.5}`)}, elicit.Invalid, ""},
		{"no content", []elicittest.Answer{raw(`{"action":"accept"}`), raw(`{"action":"accept","content":null}`), raw(`{"action":"accept","content":{}}`)}, elicit.Invalid, ""},
		{"wrong, then declined", []elicittest.Answer{accept(`{"width":0}`), elicittest.Decline()}, elicit.Declined, ""},
		{"duplicate key", []elicittest.Answer{accept(`{"width":3,"width":4}`), accept(`{"width":5}`)}, elicit.Accepted, `{"width":5,"colour":"red","note":null}`},
		{"huge number", []elicittest.Answer{accept(`{"width":1e999999999}`), elicittest.Decline()}, elicit.Declined, ""},
		{"content is a list", []elicittest.Answer{raw(`{"action":"accept","content":[]}`), elicittest.Decline()}, elicit.Declined, ""},
		{"content is a text", []elicittest.Answer{raw(`{"action":"accept","content":"{}"}`), elicittest.Decline()}, elicit.Declined, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
				var got size
				var failure error
				elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
					got, failure = elicit.Ask[size](ctx, call, "size", "What size?")
					return none{}, failure
				})
				client := elicittest.Connect(t, handler, revision, elicittest.Script(t, test.answers...), nil)
				result, err := client.Call(t.Context(), "ask", none{})
				if err != nil {
					t.Fatal(err)
				}
				if want := test.want != elicit.Accepted; result.IsError != want {
					t.Errorf("error result: %t, want %t: %s", result.IsError, want, result.Text)
				}
				if test.want == elicit.Accepted {
					if failure != nil {
						t.Fatal(failure)
					}
					text, err := json.Marshal(got)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(test.value, string(text)); diff != "" {
						t.Errorf("value (-want +got):\n%s", diff)
					}
					return
				}
				var none *elicit.Unanswered
				if !errors.As(failure, &none) || none.Outcome != test.want || none.Key != "size" {
					t.Fatalf("error %v, want %s", failure, test.want)
				}
				for outcome, sentinel := range sentinels {
					if errors.Is(failure, sentinel) != (outcome == test.want) {
						t.Errorf("errors.Is(%v, %v) is wrong", failure, sentinel)
					}
				}
				if got != (size{}) {
					t.Errorf("a value without an accepted answer: %+v", got)
				}
			})
		})
	}
}

// TestWrongShapes answers with what is no answer. In the modern era the SDK
// alone would refuse the request, or crash a handler that trusts the type.
func TestWrongShapes(t *testing.T) {
	t.Parallel()
	shapes := map[string]string{
		"roots":          `{"roots":[{"uri":"file:///","name":"x"}]}`,
		"sampling":       `{"role":"assistant","model":"m","content":{"type":"text","text":"accept"}}`,
		"empty":          `{}`,
		"list":           `[]`,
		"text":           `"accept"`,
		"number":         `1`,
		"true":           `true`,
		"action number":  `{"action":1}`,
		"action null":    `{"action":null}`,
		"capitals":       `{"ACTION":"accept","CONTENT":{"confirmed":true}}`,
		"action object":  `{"action":{"accept":true}}`,
		"roots + action": `{"roots":[],"action":"accept","content":{"confirmed":"yes"}}`,
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
				var consents atomic.Int64
				elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
					consent, err := elicit.Confirm(ctx, call, "sure", "Sure?")
					if consent == elicit.Yes {
						consents.Add(1)
					}
					return none{}, err
				})
				client := elicittest.Connect(t, handler, revision, func(elicittest.Question) elicittest.Answer {
					return elicittest.Answer{Raw: json.RawMessage(shape)}
				}, nil)
				result, err := client.Call(t.Context(), "ask", none{})
				if err != nil {
					t.Fatal(err)
				}
				if !result.IsError || consents.Load() != 0 {
					t.Errorf("%d consents, result %s", consents.Load(), result.Raw)
				}
			})
		})
	}
}

// TestResponsesObject refuses inputResponses that is no object, and ignores
// entries nobody asked for.
func TestResponsesObject(t *testing.T) {
	t.Parallel()
	v := newVictim(t, "", "")
	state := pausedState(t, v, ada)
	client := elicittest.Connect(t, v.handler, modern, elicittest.Script(t), &elicittest.Options{Header: ada})
	send := func(responses string) error {
		_, err := client.Send(t.Context(), "tools/call", map[string]any{
			"name": "delete", "arguments": map[string]any{"path": "/a", "count": 1}, "requestState": state, "inputResponses": json.RawMessage(responses),
		})
		return err
	}
	for _, wrong := range []string{`[]`, `"x"`, `1`, `{"sure":{"action":"accept","content":{"pad":"` + strings.Repeat("x", 70<<10) + `"}}}`} {
		var refused *elicittest.Error
		if err := send(wrong); !errors.As(err, &refused) || refused.Code != -32602 || refused.Status != http.StatusBadRequest {
			t.Errorf("inputResponses %.20s: %v", wrong, err)
		}
	}
	if err := send(`{"":{"action":"accept"},"__proto__":{"roots":[]},"sure#2":{"action":"accept","content":{"confirmed":true}},"` + strings.Repeat("k", 2048) + `":1}`); err != nil {
		t.Errorf("entries nobody asked for: %v", err)
	}
	if v.ran.Load() != 0 {
		t.Error("ran without consent")
	}
	if err := send(`{"other":1,"sure":{"action":"accept","content":{"confirmed":true}}}`); err != nil || v.ran.Load() != 1 {
		t.Errorf("the answer itself: %v", err)
	}
}

// TestResultTexts are the sentences for what a handler did not deal with.
func TestResultTexts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		answer elicittest.Answer
		want   string
	}{
		{elicittest.Decline(), `The person declined to answer the question "What size?". The call stopped there.`},
		{elicittest.Cancel(), `The person dismissed the question "What size?" without deciding. The call stopped there; it can be called again.`},
		{elicittest.Answer{Action: "approve"}, `The answers to the question "What size?" could not be used: the client sent an action that the protocol does not have. The call stopped there.`},
	}
	for _, test := range tests {
		t.Run(test.answer.Action, func(t *testing.T) {
			t.Parallel()
			inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
				elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (size, error) {
					got, err := elicit.Ask[size](ctx, call, "size", "What size?")
					if err != nil {
						return size{}, fmt.Errorf("wrapped: %w", err)
					}
					return got, nil
				})
				client := elicittest.Connect(t, handler, revision, elicittest.Script(t, test.answer), nil)
				result, err := client.Call(t.Context(), "ask", none{})
				if err != nil {
					t.Fatal(err)
				}
				if !result.IsError || result.Text != test.want {
					t.Errorf("got %t %q\nwant %q", result.IsError, result.Text, test.want)
				}
			})
		})
	}
}

// TestCapabilities is the table of who can be asked in which mode.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, capabilities string
		form, url          bool
	}{
		{"missing", `{}`, false, false},
		{"empty", `{"elicitation":{}}`, true, false},
		{"form", `{"elicitation":{"form":{}}}`, true, false},
		{"url", `{"elicitation":{"url":{}}}`, false, true},
		{"both", `{"elicitation":{"form":{},"url":{}}}`, true, true},
		{"others", `{"sampling":{},"roots":{}}`, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inEach(t, nil, func(t *testing.T, revision string, server *elicit.Server, handler http.Handler) {
				elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, in deletion) (none, error) {
					url := test.url && revision != "2025-06-18" // which has no URL mode
					if call.CanAsk(elicit.FormMode) != test.form || call.CanAsk(elicit.URLMode) != url {
						t.Errorf("CanAsk: form %t, url %t", call.CanAsk(elicit.FormMode), call.CanAsk(elicit.URLMode))
					}
					type where struct {
						Path string `json:"path"`
					}
					_, err := elicit.Ask[where](ctx, call, "where", "Where?")
					return none{}, err
				})
				var script []elicittest.Answer
				if test.form {
					script = append(script, elicittest.Accept(map[string]any{"path": "/"}))
				}
				client := elicittest.Connect(t, handler, revision, elicittest.Script(t, script...), &elicittest.Options{Capabilities: json.RawMessage(test.capabilities)})
				result, err := client.Call(t.Context(), "ask", map[string]any{"path": "?"})
				want := `This client cannot put the question "Where?" to a person. Pass the argument "path" instead.`
				switch {
				case test.form:
					if err != nil || result.IsError {
						t.Error(err, result)
					}
				case revision == modern:
					var refused *elicittest.Error
					if !errors.As(err, &refused) {
						t.Fatal(err, result)
					}
					wantError := &elicittest.Error{Code: -32021, Message: want, Data: json.RawMessage(`{"requiredCapabilities":{"elicitation":{"form":{}}}}`), Status: http.StatusBadRequest}
					if diff := cmp.Diff(wantError, refused); diff != "" {
						t.Errorf("error (-want +got):\n%s", diff)
					}
				default:
					if err != nil || !result.IsError || result.Text != want {
						t.Error(err, result)
					}
				}
			})
		})
	}
}

// TestLyingClient declares elicitation and refuses it when asked.
func TestLyingClient(t *testing.T) {
	t.Parallel()
	server, handler := newServer(t, nil)
	var failure error
	elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
		_, failure = elicit.Ask[size](ctx, call, "size", "What size?")
		return none{}, failure
	})
	// go-sdk's client without a handler answers "method not found".
	client := mcp.NewClient(&mcp.Implementation{Name: "c"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}}})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: serve(t, handler), MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"})
	if err != nil {
		t.Fatal(err)
	}
	if !result.IsError || !errors.Is(failure, elicit.ErrUnanswerable) {
		t.Errorf("error %v, result %+v", failure, result)
	}
}

// TestPanic ends the call, not the process, and says where to look.
func TestPanic(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			var log lockedBuffer
			server, handler := newServer(t, &elicit.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(context.Context, *elicit.Call, none) (none, error) {
				panic("database password is hunter2")
			})
			client := elicittest.Connect(t, handler, revision, elicittest.Script(t), nil)
			result, err := client.Call(t.Context(), "ask", none{})
			if err != nil {
				t.Fatal(err)
			}
			id := strings.TrimSuffix(strings.TrimPrefix(result.Text, "the call failed unexpectedly (error "), ")")
			if !result.IsError || len(id) < 20 || !strings.Contains(log.String(), id) {
				t.Errorf("text %q, log %s", result.Text, log.String())
			}
			if strings.Contains(string(result.Raw), "hunter2") {
				t.Error("the panic's text went to the client")
			}
		})
	}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
