package host_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-mcp/parley/host"
)

// TestOperationsShowTheServersFile: the servers file that the guide for operators
// shows is read, all of it, and means what its table says.
func TestOperationsShowTheServersFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## The servers file\n")
	part, _, _ = strings.Cut(part, "\n## ")
	_, file, _ := strings.Cut(part, "```json\n")
	file, _, _ = strings.Cut(file, "```")
	f, err := host.ParseServers([]byte(file), "mcp.json", env(map[string]string{"FINANCE_TOKEN": "sk-1"}))
	if err != nil {
		t.Fatalf("docs/operations.md, \"The servers file\": %v", err)
	}
	if len(f.Notes) != 0 {
		t.Errorf("notes %q about what the guide shows", f.Notes)
	}
	reveal := cmp.Transformer("reveal", func(s host.Secret) string { return s.Reveal() })
	want := []*host.Server{{
		ID: "finance", URL: "https://mcp.finance.example/mcp", Name: "Finance desk",
		Headers: map[string]host.Secret{"Authorization": host.NewSecret("Bearer sk-1")},
		Trusted: true, SendTimeout: 2 * time.Minute,
		Limits: host.Limits{OpenQuestions: 5, QuestionsPerMinute: 5, Rounds: 10},
	}}
	if diff := cmp.Diff(want, f.Servers, reveal, cmpopts.IgnoreUnexported(host.Server{})); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	for _, setting := range []string{"trusted", "name", "sendTimeout", "limits", "oauth", "answersVisibleToModel"} {
		if !strings.Contains(part, "\n| `"+setting+"` |") {
			t.Errorf("the table has no row for %s", setting)
		}
	}
}

// TestMisplacedSettingsAreNamed: somebody who writes "trusted" beside "url" relies
// on it, so the note says where it belongs.
func TestMisplacedSettingsAreNamed(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{
		`"trusted": true`, `"answersVisibleToModel": true`, `"name": "N"`, `"sendTimeout": "1m"`, `"limits": {"rounds": 1}`, `"oauth": {}`,
	} {
		right, err := host.ParseServers([]byte(`{"mcpServers": {"a": {"url": "https://a.example/mcp", "parley": {`+setting+`}}}}`), "mcp.json", env(nil))
		if err != nil || len(right.Notes) != 0 {
			t.Errorf("%s in parley: notes %q, error %v", setting, right.Notes, err)
			continue
		}
		wrong, err := host.ParseServers([]byte(`{"mcpServers": {"a": {"url": "https://a.example/mcp", `+setting+`}}}`), "mcp.json", env(nil))
		if err != nil {
			t.Errorf("%s beside url: %v", setting, err)
			continue
		}
		key, _, _ := strings.Cut(setting, ":")
		want := []string{`Server "a": ` + key + ` is ignored here; it belongs into the server's object "parley".`}
		if diff := cmp.Diff(want, wrong.Notes); diff != "" {
			t.Errorf("%s beside url: notes (-want +got):\n%s", setting, diff)
		}
	}
}
