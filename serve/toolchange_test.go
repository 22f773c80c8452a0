package serve_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/serve/client"
)

// What has changed of a server's tools is told until the person has seen it as it is.
func TestChangedTools(t *testing.T) {
	t.Parallel()
	local, err := serve.OpenLocal(filepath.Join(t.TempDir(), "token"))
	if err != nil {
		t.Fatal(err)
	}
	const many = 300
	var version atomic.Int32
	b := setupOn(t, &serve.Options{Local: local, Version: "test"}, &hosttest.Script{
		Tools: map[string]hosttest.Tool{"t0": func(x *hosttest.Exchange) { x.Text("ok") }},
		Listed: func(int) string {
			list := make([]string, many)
			for i := range list {
				list[i] = fmt.Sprintf(`{"name":"t%d","description":"Version %d\u202e","inputSchema":{"type":"object"}}`, i, version.Load())
			}
			return "[" + strings.Join(list, ",") + "]"
		},
	})
	listed := func() []client.Tool {
		t.Helper()
		// A list is good for some seconds: a new call asks for a tool that is not there, so that it is fetched.
		b.post("/v1/calls", map[string]any{"conversation": "v_1", "server": "desk", "tool": "nothing", "arguments": map[string]any{}}).want(http.StatusNotFound)
		var list client.ToolList
		b.get("/v1/servers/desk/tools").want(http.StatusOK).decode(&list)
		if len(list.Tools) != many {
			t.Fatalf("%d tools", len(list.Tools))
		}
		return list.Tools
	}
	seen := func(tools []client.Tool) {
		t.Helper()
		var in client.SeenTools
		for _, tool := range tools {
			in.Tools = append(in.Tools, client.SeenTool{Name: tool.Name, Fingerprint: tool.Fingerprint})
		}
		b.post("/v1/servers/desk/tools/seen", in).want(http.StatusNoContent)
	}
	first := listed()
	if first[0].Changed || first[0].Change != nil || first[0].Fingerprint == "" {
		t.Errorf("the first list: %+v", first[0])
	}
	version.Store(1)
	second := listed()
	texts := 0
	for _, tool := range second {
		if !tool.Changed || tool.Change == nil || tool.Change.New || len(tool.Change.Parts) != 1 || tool.Change.Parts[0].Part != "description" {
			t.Fatalf("not changed: %+v", tool)
		}
		if part := tool.Change.Parts[0]; !part.Cut {
			texts++
			if part.Before == part.After || strings.Contains(part.Before+part.After, "\u202e") || !strings.HasPrefix(part.Before, "Version 0") {
				t.Errorf("from %q to %q", part.Before, part.After)
			}
		}
	}
	if texts == 0 || texts > 100 {
		t.Errorf("%d changes are told with their texts", texts)
	}
	seen(first) // another page, from before
	if again := listed(); !again[0].Changed {
		t.Error("what was seen before counts for what the tool is now")
	}
	seen(second[:1])
	if again := listed(); again[0].Changed || !again[1].Changed {
		t.Errorf("the first is changed: %v, the second: %v", again[0].Changed, again[1].Changed)
	}
	b.post("/v1/servers/nowhere/tools/seen", client.SeenTools{}).code(http.StatusNotFound, "unknown_server")

	// The card of a call that a model makes says it too.
	if _, err := b.host.Start(t.Context(), serve.LocalPrincipal, host.NewCall{Conversation: "v_1", Actor: inbox.Model, Server: "desk", Name: "t1"}); err != nil {
		t.Fatal(err)
	}
	var approvals client.ApprovalList
	b.get("/v1/approvals?state=open").want(http.StatusOK).decode(&approvals)
	if len(approvals.Approvals) != 1 || approvals.Approvals[0].Change == nil || approvals.Approvals[0].Change.Parts[0].Before == "" {
		t.Errorf("approvals %+v", approvals.Approvals)
	}
}
