package clients

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/interop/tables"
)

// TestTwoQuestionsOverOneConnection sends two questions at once to clients of
// 2025-11-25, as the kit does not: what the clients do with that is the reason.
// The server is one on the go-sdk alone.
func TestTwoQuestionsOverOneConnection(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "pair", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pair"}, func(ctx context.Context, req *mcp.CallToolRequest, _ empty) (*mcp.CallToolResult, any, error) {
		said := make([]string, 2)
		var group sync.WaitGroup
		for i, message := range []string{"One?", "Two?"} {
			group.Go(func() {
				result, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: message, RequestedSchema: map[string]any{
					"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}, "required": []string{"n"},
				}})
				if err != nil {
					said[i] = err.Error()
					return
				}
				said[i] = fmt.Sprint(result.Action, " ", result.Content["n"])
			})
		}
		group.Wait()
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said[0] + ", " + said[1]}}}, nil, nil
	})
	desk := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(desk.Close)

	const revision = "2025-11-25"
	table := &tables.Table{Head: []string{"Client", "two questions at once"}}
	t.Cleanup(func() { compare(t, "together", table) }) // when all tests below have ended
	before, err := tables.Read(document, "together")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range everybody(t) {
		if !slices.Contains(c.revisions, revision) {
			continue
		}
		row := []string{c.name, ""}
		table.Rows = append(table.Rows, row)
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := &link{server: target{URL: desk.URL}, revision: revision, canAsk: []string{"form"}, meet: &meeting{met: make(chan struct{}), patience: 5 * time.Second}}
			if strings.Contains(before, "| "+c.name+" | both open |") {
				l.meet.patience = 30 * time.Second // the second question will come, however slow the machine is
			}
			send := c.connect(t, l)
			l.person.Store(&person{answers: map[string]answer{"One?": accept(map[string]any{"n": 1}), "Two?": accept(map[string]any{"n": 2})}})
			got := send(request{tool: "pair", arguments: map[string]any{}})
			if got.Text != "accept 1, accept 2" {
				row[1] = "lost: " + got.Text + got.Error
				return
			}
			row[1] = "one after the other"
			if l.meet.together() {
				row[1] = "both open"
			}
		})
	}
}

// A meeting is of two questions that are open at once. The first waits for the
// second, for as long as a client would need to show it.
type meeting struct {
	patience time.Duration

	mu      sync.Mutex
	arrived int
	met     chan struct{}
}

func (m *meeting) wait(ctx context.Context) {
	m.mu.Lock()
	m.arrived++
	if m.arrived == 2 && m.met != nil {
		close(m.met)
	}
	met := m.met
	m.mu.Unlock()
	select {
	case <-met:
	case <-ctx.Done():
	case <-time.After(m.patience):
		m.mu.Lock()
		defer m.mu.Unlock()
		m.arrived = 2 // the next does not wait, and does not meet this one
	}
}

func (m *meeting) together() bool {
	select {
	case <-m.met:
		return true
	default:
		return false
	}
}
