package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A question as a client of somebody else's shows it.
type question struct {
	Mode    string          `json:"mode"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"`
	URL     string          `json:"url"`
}

// fields are the names of the form's fields, in alphabetical order: the SDKs
// lose the order of the bytes.
func (q *question) fields() []string {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(q.Schema, &schema) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(schema.Properties))
}

// An answer is what the person does with a question.
type answer struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"`
}

func accept(content map[string]any) answer { return answer{Action: "accept", Content: content} }

// A person answers by the question's message, and remembers what was asked.
type person struct {
	answers map[string]answer

	mu   sync.Mutex
	seen []question
}

func (p *person) answer(ctx context.Context, q question) (answer, error) {
	p.mu.Lock()
	p.seen = append(p.seen, q)
	p.mu.Unlock()
	reply, ok := p.answers[q.Message]
	if !ok {
		return answer{}, fmt.Errorf("nobody expects the question %q", q.Message)
	}
	if q.Mode != "url" || reply.Action != "accept" {
		return reply, nil
	}
	// To accept is to go there.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, q.URL, nil)
	if err != nil {
		return answer{}, err
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	return reply, response.Body.Close()
}

// asked tells what was asked, sorted by message: questions of one round come
// in no order.
func (p *person) asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for _, q := range p.seen {
		line := q.Message
		if q.Mode == "url" {
			line += " [page]"
		} else {
			line += fmt.Sprintf(" %v", q.fields())
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// newPages serves pages that know whether someone was on them: a POST to
// /open/x is the visit, and /done/x answers 200 after it.
func newPages(t *testing.T) string {
	t.Helper()
	var mu sync.Mutex
	visited := make(map[string]bool)
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if name, ok := strings.CutPrefix(req.URL.Path, "/open/"); ok && req.Method == http.MethodPost {
			visited[name] = true
		}
		if name, ok := strings.CutPrefix(req.URL.Path, "/done/"); ok && !visited[name] {
			http.Error(w, "nobody was here", http.StatusNotFound)
		}
	}))
	t.Cleanup(pages.Close)
	return pages.URL
}
