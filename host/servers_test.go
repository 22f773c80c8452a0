package host_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-mcp/parley/host"
)

func env(pairs map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := pairs[name]
		return v, ok
	}
}

func TestParseServers(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/servers.json")
	if err != nil {
		t.Fatal(err)
	}
	f, err := host.ParseServers(b, "servers.json", env(map[string]string{"TOKEN": "sk-1", "BASE": "https://mcp.example", "EMPTY": ""}))
	if err != nil {
		t.Fatal(err)
	}
	reveal := cmp.Transformer("reveal", func(s host.Secret) string { return s.Reveal() })
	want := []*host.Server{
		{
			ID: "everything", Command: "npx", Args: []string{"-y", "server-everything", "--key=sk-1", "cost: 5$"}, Dir: "/srv",
			Env: map[string]host.Secret{"KEY": host.NewSecret("Bearer sk-1"), "MODE": host.NewSecret("fast"), "LEVEL": host.NewSecret("info")},
		},
		{
			ID: "tea-shop", URL: "https://mcp.example/tea?k=sk-1",
			Headers: map[string]host.Secret{"Authorization": host.NewSecret("Bearer sk-1")},
			Trusted: true, SendTimeout: 90 * time.Second, AnswersVisibleToModel: true,
			Limits: host.Limits{OpenQuestions: 3, QuestionsPerMinute: 4, Rounds: 5},
		},
		{ID: "Local 2", URL: "http://127.0.0.1:9/mcp"},
	}
	if diff := cmp.Diff(want, f.Servers, reveal, cmpopts.IgnoreUnexported(host.Server{})); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	notes := []string{
		`"inputs" is not known here and is ignored.`,
		`Server "everything": "disabled" is not known here and is ignored.`,
		`Server "tea-shop": "parley.color" is not known here and is ignored.`,
	}
	if diff := cmp.Diff(notes, f.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	for i, want := range []struct {
		local   bool
		address string
		domain  string
	}{
		{true, "npx", ""},
		{false, "https://mcp.example", "mcp.example"},
		{true, "http://127.0.0.1:9/mcp", "127.0.0.1:9"},
	} {
		s := f.Servers[i]
		address := s.Address()
		if s.Local() != want.local || address != want.address || s.Domain() != want.domain {
			t.Errorf("%s: local %v, address %q, domain %q; want %+v", s.ID, s.Local(), address, s.Domain(), want)
		}
		j, err := json.Marshal(s.Headers)
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "env", s.Env["KEY"], "h", s.Headers["Authorization"])
		for _, text := range []string{s.Endpoint(), address, string(j), log.String(), fmt.Sprintf("%s %q %x %#v %v", s.Env["KEY"], s.Env["KEY"], s.Env["KEY"], s.Env["KEY"], s.Headers)} {
			if strings.Contains(text, "sk-1") || strings.Contains(text, "736b2d31") {
				t.Errorf("%q holds a secret", text)
			}
		}
	}
}

func TestParseServersErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file, want string
	}{
		"empty":      {``, `s.json:1:1: the file is empty`},
		"cut":        {"{\"mcpServers\": {\n", `s.json:2:1: not JSON: the file ends too early`},
		"comma":      {"{\n  \"mcpServers\": {\n    \"a\": {\"url\": \"https://x.example\"},\n  }\n}", `s.json:4:3: not JSON: invalid character '}' looking for beginning of object key string`},
		"more":       {`{"mcpServers":{}} x`, `s.json:1:18: not JSON: something follows the object`},
		"list":       {`[]`, `s.json:1:1: this must be an object`},
		"none":       {`{"servers":{}}`, `s.json: there is no "mcpServers" object`},
		"twice":      {`{"mcpServers":{"a":{"url":"https://x.example"},"a":{"url":"https://y.example"}}}`, `s.json:1:51: "a" stands here twice`},
		"sse":        {`{"mcpServers":{"a":{"type":"sse","url":"https://x.example"}}}`, `s.json:1:20: server "a": type sse is the old HTTP+SSE transport, which no protocol revision with elicitation has; ask the server's maker for its Streamable HTTP address`},
		"both":       {`{"mcpServers":{"a":{"command":"x","url":"https://x.example"}}}`, `s.json:1:20: server "a": both command and url are set; a server is a program or an address`},
		"neither":    {`{"mcpServers":{"a":{}}}`, `s.json:1:20: server "a": neither command nor url is set`},
		"type":       {`{"mcpServers":{"a":{"type":"stdio","url":"https://x.example"}}}`, `s.json:1:20: server "a": type is stdio, but a url is set`},
		"scheme":     {`{"mcpServers":{"a":{"url":"file:///etc/passwd"}}}`, `s.json:1:20: server "a": url must begin with https:// or http://`},
		"missing":    {`{"mcpServers":{"a":{"url":"https://x.example","headers":{"X":"${NOPE}"}}}}`, `s.json:1:62: server "a": headers.X: variable NOPE is not set`},
		"unclosed":   {`{"mcpServers":{"a":{"command":"x","args":["${NOPE"]}}}`, `s.json:1:42: server "a": args[0]: a ${ without its }`},
		"id":         {`{"mcpServers":{"../a":{"command":"x"}}}`, `s.json:1:23: server "../a": a server's name has 1 to 64 letters, digits, spaces or - _ . and begins and ends with a letter or digit`},
		"header":     {`{"mcpServers":{"a":{"url":"https://x.example","headers":{"Mcp-Session-Id":"1"}}}}`, `s.json:1:57: server "a": headers: Mcp-Session-Id is written by the protocol itself`},
		"line break": {`{"mcpServers":{"a":{"url":"https://x.example","headers":{"X":"a\r\nY: b"}}}}`, `s.json:1:20: server "a": headers: the value of X holds a line break`},
		"timeout":    {`{"mcpServers":{"a":{"command":"x","parley":{"sendTimeout":"soon"}}}}`, `s.json:1:59: server "a": parley.sendTimeout must be a duration such as "5m"`},
		"limit":      {`{"mcpServers":{"a":{"command":"x","parley":{"limits":{"rounds":0}}}}}`, `s.json:1:64: server "a": parley.limits.rounds must be a whole number above 0`},
		"env":        {`{"mcpServers":{"a":{"command":"x","env":{"A=B":"1"}}}}`, `s.json:1:20: server "a": env: "A=B" is no variable's name`},
		"number":     {`{"mcpServers":{"a":{"command":7}}}`, `s.json:1:31: server "a": command must be a string`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := host.ParseServers([]byte(test.file), "s.json", env(nil))
			var e *host.ServersFileError
			if !errors.As(err, &e) || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
	_, err := host.ParseServers([]byte(tests["missing"].file), "s.json", env(nil))
	if v := (*host.VariableError)(nil); !errors.As(err, &v) || v.Name != "NOPE" {
		t.Errorf("%v does not carry the variable's name", err)
	}
}

func TestReadServers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.json")
	if _, err := host.ReadServers(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(path, []byte("\xef\xbb\xbf{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := host.ReadServers(path); err != nil || len(f.Servers) != 1 {
		t.Errorf("a file with a byte order mark: %v", err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat(" ", 2<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := host.ReadServers(path); err == nil {
		t.Error("a file of 2 MiB was read")
	}
}

func TestEndpointsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, s := range map[string]*host.Server{
		"url":       {URL: "https://a.example/x"},
		"query":     {URL: "https://a.example/x?tenant=1"},
		"path":      {URL: "https://a.example/y"},
		"program":   {Command: "a"},
		"arguments": {Command: "a", Args: []string{"b", "c"}},
		"joined":    {Command: "a", Args: []string{"b c"}},
		"directory": {Command: "a", Dir: "b"},
	} {
		if other, ok := seen[s.Endpoint()]; ok {
			t.Errorf("%s and %s have one endpoint", name, other)
		}
		seen[s.Endpoint()] = name
	}
}

func FuzzParseServers(f *testing.F) {
	b, err := os.ReadFile("testdata/servers.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"mcpServers":{"a":{"url":"https://${X:-y}.example","headers":{"A":"${X}"}}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := host.ParseServers(b, "s.json", env(map[string]string{"X": "sk-secret-9"}))
		if err != nil {
			if strings.Contains(err.Error(), "sk-secret-9") {
				t.Errorf("%v holds a secret", err)
			}
			return
		}
		for _, s := range file.Servers {
			if s.Endpoint() == "" || s.Kind() == "" || strings.Contains(s.Address(), "sk-secret-9") {
				t.Errorf("server %q: endpoint %q, address %q", s.ID, s.Endpoint(), s.Address())
			}
			if _, err := host.New(nil, []*host.Server{s}, nil); err != nil {
				t.Errorf("a server that was read is refused: %v", err)
			}
		}
	})
}
