package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDemoInAHurry asks the demo for more in a minute than servers may ask by
// default: nobody who plays with it is stopped. What it prints comes last, at once.
func TestDemoInAHurry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var errs strings.Builder // read once the demo has ended
	ended := make(chan int, 1)
	go func() {
		env := &environment{stdout: in, stderr: &errs, lookup: func(string) (string, bool) { return "", false }}
		ended <- run(ctx, []string{"demo", "--data", dir, "--addr", "127.0.0.1:0", "--travel-addr", "127.0.0.1:0"}, env)
		in.Close()
	}()
	defer func() {
		stop()
		if code := <-ended; code != exitOK {
			t.Errorf("the demo ended with %d: %s", code, errs.String())
		}
	}()
	lines := bufio.NewScanner(out)
	var said []string
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "Stop:") {
		said = append(said, lines.Text())
	}
	if text := strings.Join(said, "\n"); !strings.HasPrefix(text, "Parley is ready.") || !strings.Contains(text, "within 60 minutes") || !strings.Contains(text, "travel listens at http://127.0.0.1:") {
		t.Fatalf("the demo says %q", text)
	}
	base, err := os.ReadFile(filepath.Join(dir, runningFile))
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(dir, tokenFile))
	if err != nil {
		t.Fatal(err)
	}
	do := func(method, path, body string) (row struct {
		ID, State string
		Version   int64
	}) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSpace(string(base))+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&row); err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s %s: %s, %v", method, path, resp.Status, err)
		}
		return row
	}
	for i := range 12 {
		call := do(http.MethodPost, "/v1/calls",
			`{"conversation":"v","server":"travel","tool":"book_flight","arguments":{"from":"Berlin","to":"Tokyo","date":"2027-03-14"}}`)
		for call.State == "ready" || call.State == "claimed" || call.State == "sent" {
			call = do(http.MethodGet, fmt.Sprintf("/v1/calls/%s?wait=30&since=%d", call.ID, call.Version), "")
		}
		if call.State != "waiting" {
			t.Fatalf("call %d is %s, not waiting for an answer", i+1, call.State)
		}
		do(http.MethodPost, "/v1/calls/"+call.ID+"/stop", "") // its questions still count
	}
}
