package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/internal/travel"
)

func writePolicy(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".next", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".next", path); err != nil {
		t.Fatal(err)
	}
}

// A host that runs with --policy obeys it: one tool is denied, the other's
// question is refused, and the server is told so.
func TestServeObeysThePolicy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, err := travel.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := httptest.NewServer(server)
	defer endpoint.Close()
	servers, rules := filepath.Join(dir, "mcp.json"), filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(servers, fmt.Appendf(nil, `{"mcpServers":{"travel":{"url":%q}}}`, endpoint.URL+"/mcp"), 0o600); err != nil {
		t.Fatal(err)
	}
	writePolicy(t, rules, `
calls:
  - {name: no cancelling, tool: cancel_trip, then: deny, reason: Trips are not cancelled here.}
questions:
  - {name: no forms, mode: form, then: refuse}
`)
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var errs strings.Builder // read once the host has ended
	ended := make(chan int, 1)
	go func() {
		env := &environment{stdout: in, stderr: &errs, lookup: func(string) (string, bool) { return "", false }}
		ended <- run(ctx, []string{"serve", "--data", filepath.Join(dir, "data"), "--addr", "127.0.0.1:0", "--servers", servers, "--policy", rules}, env)
		in.Close()
	}()
	defer func() {
		stop()
		if code := <-ended; code != exitOK || !strings.Contains(errs.String(), "policy in force") {
			t.Errorf("the host ended with %d: %s", code, errs.String())
		}
	}()
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "Stop:") {
	}
	base, err := os.ReadFile(filepath.Join(dir, "data", runningFile))
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(dir, "data", tokenFile))
	if err != nil {
		t.Fatal(err)
	}
	end := func(tool, arguments string) (state, reason string) {
		t.Helper()
		var row struct {
			ID, State, Reason string
			Version           int64
		}
		method, path, body := http.MethodPost, "/v1/calls", fmt.Sprintf(`{"conversation":"v","server":"travel","tool":%q,"arguments":%s}`, tool, arguments)
		for range 20 {
			req, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSpace(string(base))+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			err = json.NewDecoder(resp.Body).Decode(&row)
			resp.Body.Close()
			if err != nil || resp.StatusCode >= 300 {
				t.Fatalf("%s %s: %s, %v", method, path, resp.Status, err)
			}
			switch row.State {
			case "ready", "claimed", "sent":
				method, path, body = http.MethodGet, fmt.Sprintf("/v1/calls/%s?wait=30&since=%d", row.ID, row.Version), ""
			default:
				return row.State, row.Reason
			}
		}
		t.Fatalf("the call is still %s", row.State)
		return "", ""
	}
	if state, reason := end("cancel_trip", `{"booking":"X"}`); state != "denied" || reason != "denied_by_policy" {
		t.Errorf("a denied tool: %s, %s", state, reason)
	}
	if state, reason := end("book_flight", `{"from":"Berlin","to":"Tokyo","date":"2027-03-14"}`); state != "failed" || reason != "refused_by_policy" {
		t.Errorf("a tool whose question is refused: %s, %s", state, reason)
	}
}

// The log says which policy is in force, and what is wrong with a new one.
func TestFollowing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	writePolicy(t, path, "calls: [{name: a, then: deny}]\n")
	live, err := openPolicy(path)
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan string)
	log := slog.New(slog.NewTextHandler(lineWriter(said), nil))
	work := following(live, time.Millisecond, log, func(context.Context) error {
		writePolicy(t, path, "calls: [{name: a, then: never}]\n")
		if line := <-said; !strings.Contains(line, "level=ERROR") || !strings.Contains(line, "policy.yaml:1:25") {
			t.Errorf("of a broken file the log says %s", line)
		}
		writePolicy(t, path, "questions: [{name: b, then: refuse}]\n")
		if line := <-said; !strings.Contains(line, "policy in force") || !strings.Contains(line, "questions=1") {
			t.Errorf("of a new file the log says %s", line)
		}
		return io.EOF
	})
	if err := work(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("the work ended with %v", err)
	}
}

// A lineWriter hands each line to who waits for it.
type lineWriter chan<- string

func (w lineWriter) Write(line []byte) (int, error) {
	w <- string(line)
	return len(line), nil
}
