package clients

import (
	"context"
	"encoding/json"
	"os"
	"sync/atomic"
	"testing"
)

// A target is the server as a client is told of it: one of URL and Command.
type target struct {
	URL     string            `json:"url,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// program is the desk as a program on stdio: this one, started again.
func program(t *testing.T) target {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return target{Command: self, Args: []string{"-test.run=^$"}, Env: map[string]string{
		asServer: "kit",
		"GORACE": "atexit_sleep_ms=0", // else every end takes a second
	}}
}

// A link is what a client is told before it connects.
type link struct {
	server   target
	revision string
	canAsk   []string // modes: form, url

	person atomic.Pointer[person] // who sits there now
	meet   *meeting               // of questions; may be nil
}

func (l *link) answer(ctx context.Context, q question) (answer, error) {
	if l.meet != nil {
		l.meet.wait(ctx)
	}
	return l.person.Load().answer(ctx, q)
}

// capabilities as they stand on the wire.
func (l *link) capabilities() map[string]any {
	if len(l.canAsk) == 0 {
		return map[string]any{}
	}
	modes := map[string]any{}
	for _, mode := range l.canAsk {
		modes[mode] = map[string]any{}
	}
	return map[string]any{"elicitation": modes}
}

// A request is what a client is to send: one of a call of a tool, a prompt and a
// resource, or of the list of tools.
type request struct {
	tool      string
	prompt    string
	resource  string // its URI
	list      bool
	arguments map[string]any // of the tool
}

// An outcome is what a client makes of a call's end.
type outcome struct {
	Code    int             // of the JSON-RPC error; 0 where the client does not tell
	Error   string          // its message
	IsError bool            // the result says so
	Text    string          // of the first block, content or message, or the names of tools
	Value   json.RawMessage // structured content
}

// A client is software of somebody else.
type client struct {
	name      string
	revisions []string

	// connect returns what calls a tool. The connection ends with the test.
	connect func(t *testing.T, l *link) func(request) outcome
}

// everybody is whom the kit is held against.
func everybody(t *testing.T) []client {
	t.Helper()
	return []client{
		{"go-sdk 1.8.0", []string{"2025-06-18", "2025-11-25", "2026-07-28"}, connectGoSDK},
		{"mcp-go 1.2.1", []string{"2025-06-18", "2025-11-25", "2026-07-28"}, connectMCPGo},
		{"TypeScript SDK 1.32.2", []string{"2025-11-25"}, scripted("client-v1.mjs")},
		{"TypeScript SDK 2.4.0", []string{"2025-11-25", "2026-07-28"}, scripted("client-v2.mjs")},
		{"Inspector 2.12.0", []string{"2025-11-25", "2026-07-28"}, newInspector(t).connect},
	}
}

// result reads what came back, from the wire's own JSON.
func result(t *testing.T, text []byte) outcome {
	t.Helper()
	var r struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
		Messages          []struct {
			Content struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"messages"`
		Contents []struct {
			Text string `json:"text"`
		} `json:"contents"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%v in the result %s", err, text)
	}
	o := outcome{IsError: r.IsError, Value: r.StructuredContent}
	if len(r.Content) > 0 {
		o.Text = r.Content[0].Text
	}
	if len(r.Messages) > 0 {
		o.Text = r.Messages[0].Content.Text
	}
	if len(r.Contents) > 0 {
		o.Text = r.Contents[0].Text
	}
	for _, tool := range r.Tools {
		o.Text += tool.Name + "\n"
	}
	return o
}
