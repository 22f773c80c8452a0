package replaytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

const (
	modern = "2026-07-28"
	legacy = "2025-11-25"

	metaKey = "io.github.parley-mcp/idempotencyKey"
)

// desk is a real server whose tool does something that must not happen twice.
type desk struct {
	handler http.Handler
	effects *effects
}

// effects counts what was done, by order. Desks that share a store share it.
type effects struct {
	mu    sync.Mutex
	count map[string]int
	runs  map[string]int // of the handler, from the top
}

func newEffects() *effects { return &effects{count: map[string]int{}, runs: map[string]int{}} }

func (e *effects) add(of map[string]int, order string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	of[order]++
	return of[order]
}

func (e *effects) of(order string) (effects, runs int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.count[order], e.runs[order]
}

type order struct {
	Order string `json:"order"`
}

type amount struct {
	Amount int64 `json:"amount" title:"Amount" elicit:"min=1"`
}

// paid has a number that floats round, and members out of alphabetical order.
type paid struct {
	Order   string `json:"order"`
	Effects int    `json:"effects"`
	Amount  int64  `json:"amount"`
}

// newDesk returns a server on the guard. Before the effect of an order it calls
// before, which may be nil.
func newDesk(t testing.TB, guard elicit.ReplayGuard, keys string, done *effects, before func(ctx context.Context, order string) error) *desk {
	t.Helper()
	if before == nil {
		before = func(context.Context, string) error { return nil }
	}
	server, err := elicit.NewServer(mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil), &elicit.Options{
		KeysFile: keys, Audience: "replaytest", Replay: guard,
		Logger: slog.New(slog.DiscardHandler),
		Limits: elicit.Limits{QuestionsPerMinute: 1 << 30, Outcome: 64 << 10},
		Principal: func(_ context.Context, extra *mcp.RequestExtra) (elicit.Principal, error) {
			return elicit.Principal{Subject: extra.Header.Get("X-Subject")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{handler: elicit.NewHTTPHandler(server, nil), effects: done}
	elicit.AddTool(server, &mcp.Tool{Name: "pay"}, func(ctx context.Context, call *elicit.Call, in order) (paid, error) {
		done.add(done.runs, in.Order)
		sum, err := elicit.Ask[amount](ctx, call, "amount", "How much?")
		if err != nil {
			return paid{}, err
		}
		consent, err := elicit.Confirm(ctx, call, "sure", "Pay it?")
		if err != nil {
			return paid{}, err
		}
		if consent != elicit.Yes {
			return paid{}, errors.New("not confirmed")
		}
		if err := before(ctx, in.Order); err != nil {
			return paid{}, err
		}
		n := done.add(done.count, in.Order)
		call.Content(&mcp.TextContent{Text: "Paid <&> done.", Annotations: &mcp.Annotations{Priority: 0.5}})
		return paid{Order: in.Order, Effects: n, Amount: sum.Amount}, nil
	})
	elicit.AddTool(server, &mcp.Tool{Name: "book"}, func(ctx context.Context, _ *elicit.Call, in order) (paid, error) {
		done.add(done.runs, in.Order)
		if err := before(ctx, in.Order); err != nil {
			return paid{}, err
		}
		return paid{Order: in.Order, Effects: done.add(done.count, in.Order), Amount: 1<<53 + 1}, nil
	})
	elicit.AddTool(server, &mcp.Tool{Name: "large"}, func(_ context.Context, call *elicit.Call, in order) (paid, error) {
		call.Content(&mcp.ImageContent{Data: make([]byte, 64<<10), MIMEType: "image/png"})
		return paid{Effects: done.add(done.count, in.Order)}, nil
	})
	elicit.AddTool(server, &mcp.Tool{Name: "break"}, func(_ context.Context, _ *elicit.Call, in order) (paid, error) {
		done.add(done.count, in.Order)
		panic("broken")
	})
	elicit.AddPrompt(server, &mcp.Prompt{Name: "letter", Arguments: []*mcp.PromptArgument{{Name: "order"}}}, func(ctx context.Context, call *elicit.Call, in map[string]string) (*mcp.GetPromptResult, error) {
		sum, err := elicit.Ask[amount](ctx, call, "amount", "How much?")
		if err != nil {
			return nil, err
		}
		done.add(done.count, in["order"])
		if sum.Amount == 13 {
			return nil, errors.New("no letter about thirteen")
		}
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Dear <you>"}}}}, nil
	})
	elicit.AddResourceTemplate(server, &mcp.ResourceTemplate{Name: "bill", URITemplate: "bill://{order}"}, func(ctx context.Context, call *elicit.Call, uri string) ([]*mcp.ResourceContents, error) {
		if _, err := elicit.Ask[amount](ctx, call, "amount", "How much?"); err != nil {
			return nil, err
		}
		done.add(done.count, uri)
		return []*mcp.ResourceContents{{URI: uri, Blob: []byte{0, 1, 2}}}, nil
	})
	return d
}

// client connects a client that answers nothing by itself.
func (d *desk) client(t testing.TB, revision string, meta map[string]any) *elicittest.Client {
	t.Helper()
	return d.clientOf(t, "ada", revision, meta)
}

func (d *desk) clientOf(t testing.TB, subject, revision string, meta map[string]any) *elicittest.Client {
	t.Helper()
	return elicittest.Connect(t, d.handler, revision, elicittest.Script(t), &elicittest.Options{
		Header: http.Header{"X-Subject": {subject}}, Meta: meta,
	})
}

// reply is what a request came to: a result, or an error.
type reply struct {
	result json.RawMessage
	err    elicittest.Error
}

func (r reply) String() string {
	if r.result != nil {
		return string(r.result)
	}
	text, err := json.Marshal(r.err)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("HTTP %d %s", r.err.Status, text)
}

// reason is data.reason of an error.
func (r reply) reason() string {
	var data struct {
		Reason string `json:"reason"`
	}
	_ = json.Unmarshal(r.err.Data, &data)
	return data.Reason
}

// state is the request state of a result that asks.
func (r reply) state(t testing.TB) string {
	t.Helper()
	var result struct {
		State string `json:"requestState"`
	}
	if err := json.Unmarshal(r.result, &result); err != nil || result.State == "" {
		t.Fatalf("no request state in %s", r)
	}
	return result.State
}

// send sends a tool's request as it is.
func send(t testing.TB, client *elicittest.Client, tool, order, state string, answers any) reply {
	t.Helper()
	params := map[string]any{"name": tool, "arguments": map[string]any{"order": order}}
	if state != "" {
		params["requestState"], params["inputResponses"] = state, answers
	}
	return do(t, client, "tools/call", params)
}

func do(t testing.TB, client *elicittest.Client, method string, params map[string]any) reply {
	t.Helper()
	result, err := client.Send(t.Context(), method, params)
	if err == nil {
		return reply{result: result}
	}
	var refused *elicittest.Error
	if !errors.As(err, &refused) {
		t.Errorf("no reply: %v", err)
		return reply{}
	}
	return reply{err: *refused}
}

func answer(key, content string) map[string]any {
	return map[string]any{key: map[string]any{"action": "accept", "content": json.RawMessage(content)}}
}

var (
	seven = answer("amount", `{"amount":9007199254740993}`)
	eight = answer("amount", `{"amount":8}`)
	yes   = answer("sure", `{"confirmed":true}`)
	no    = answer("sure", `{"confirmed":false}`)
)

// same fails the test unless the replies are the same bytes.
func same(t testing.TB, what string, first, again reply) {
	t.Helper()
	if first.String() != again.String() {
		t.Errorf("%s: first\n%s\nand then\n%s", what, first, again)
	}
}

func refused(t testing.TB, what string, r reply, code int, reason string) {
	t.Helper()
	if r.result != nil || r.err.Code != code || r.reason() != reason {
		t.Errorf("%s: got %s, want error %d %s", what, r, code, reason)
	}
}

// done checks how often the order was carried out.
func (d *desk) done(t testing.TB, order string, want int) {
	t.Helper()
	if got, _ := d.effects.of(order); got != want {
		t.Errorf("%s: done %d times, want %d", order, got, want)
	}
}

// hasty is a guard whose leases are over at once, as if each process died the
// moment it took a record.
type hasty struct{ elicit.ReplayGuard }

func (h hasty) Take(ctx context.Context, record elicit.CallRecord, _, keep time.Duration) (elicit.CallRecord, bool, error) {
	return h.ReplayGuard.Take(ctx, record, gone, keep)
}

func (h hasty) Renew(ctx context.Context, key string, fence int64, _ time.Duration) error {
	return h.ReplayGuard.Renew(ctx, key, fence, gone)
}
