package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/webhook"
)

// sentinels are what must come out nowhere but where it belongs. Each has characters
// that other encodings write differently.
var sentinels = map[string]string{
	"argument":      "Sen ti/nel+ärg 1f0c",
	"answer":        "Sen ti/nel+änswer 2b7d",
	"refused":       "Sen ti/nel+refüsed 3c9e",
	"question":      "Sen ti/nel+quéstion 4d1a",
	"result":        "Sen ti/nel+résult 5e2b",
	"failure":       "Sen ti/nel+fäilure 6f3c",
	"request state": "Sen ti/nel+stâte 7a4d",
	"header":        "SentinelHeader8b5e",
	"query":         "SentinelQuery9c6f",
}

// leaks finds a secret in text: as it is, or as JSON, URLs, hex or base64 (at any
// offset) write it.
func leaks(text, secret string) bool {
	quoted, err := json.Marshal(secret)
	if err != nil {
		return true
	}
	forms := []string{
		secret, strings.Trim(string(quoted), `"`), strings.Trim(fmt.Sprintf("%+q", secret), `"`), url.QueryEscape(secret), url.PathEscape(secret),
		hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))),
	}
	for offset := range 3 {
		// The first and the last characters depend on what stands beside.
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			whole := enc.EncodeToString(append(make([]byte, offset), secret...))
			forms = append(forms, whole[offset+1:len(whole)-2])
		}
	}
	return slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(text, form) })
}

// The search itself has to find what it looks for.
func TestLeaksAreFound(t *testing.T) {
	t.Parallel()
	const secret = "Sen ti/nel+ärg 1f0c"
	quoted, err := json.Marshal(map[string]string{"a": secret})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"x" + secret + "y", string(quoted), "?q=" + url.QueryEscape(secret), "/" + url.PathEscape(secret), fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret),
		base64.StdEncoding.EncodeToString([]byte("a" + secret + "zz")), base64.URLEncoding.EncodeToString([]byte("ab" + secret)),
		base64.RawStdEncoding.EncodeToString([]byte(secret)), fmt.Sprintf("%+q", secret),
	} {
		if !leaks(text, secret) {
			t.Errorf("not found in %q", text)
		}
	}
	if leaks("Sen ti/nel", secret) {
		t.Error("found where it is not")
	}
}

// A sink takes what a program sends it.
type sink struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(b)
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// bookings is a server whose tool asks, in words and with a state that are nobody
// else's business, and one that fails in such words.
func bookings(t *testing.T, revision string) *hosttest.Server {
	ask := fmt.Sprintf(`{"message":%q,"requestedSchema":{"type":"object","properties":{"name":{"type":"string","maxLength":60}},"required":["name"]}}`, sentinels["question"])
	return hosttest.NewServer(t, &hosttest.Script{Revision: revision, Tools: map[string]hosttest.Tool{
		"book": func(x *hosttest.Exchange) {
			if revision != "2026-07-28" {
				x.Elicit(ask)
			} else if x.Responses == nil {
				x.Asks(`{"who":{"method":"elicitation/create","params":`+ask+`}}`, sentinels["request state"])
				return
			}
			x.Text(sentinels["result"])
		},
		"fail": func(x *hosttest.Exchange) {
			x.Error(-32000, sentinels["failure"], `{"why":"`+sentinels["failure"]+`"}`)
		},
	}})
}

// TestNoSecretInAnySink drives questions of both eras through a real process with all
// that can be told switched on, and looks for what people, servers and operators keep
// to themselves in the log, the audit log, metrics, traces, webhooks and errors. Metrics,
// traces and signed webhooks have to have come, too.
func TestNoSecretInAnySink(t *testing.T) {
	t.Parallel()
	modern, legacy := bookings(t, "2026-07-28"), bookings(t, "2025-11-25")
	var traces, hooks, failures, said, log sink
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(&traces, r.Method, r.URL, r.Header)
		io.Copy(&traces, r.Body)
	}))
	defer collector.Close()
	const hookSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODk="
	arrived := make(chan webhook.Message, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		fmt.Fprintln(&hooks, r.URL, r.Header, string(body))
		var m webhook.Message
		if err := webhook.Verify(hookSecret, r.Header, body); err != nil {
			t.Errorf("a message: %v", err)
		} else if err := json.Unmarshal(body, &m); err != nil {
			t.Errorf("a message: %v", err)
		}
		arrived <- m
	}))
	defer receiver.Close()

	dir := t.TempDir()
	files := map[string]string{
		"mcp.json": fmt.Sprintf(`{"mcpServers": {
			"modern": {"url": "%s?key=${QUERY}", "headers": {"Authorization": "Bearer ${HEADER}"}},
			"legacy": {"url": "%s?key=${QUERY}", "headers": {"Authorization": "Bearer ${HEADER}"}}}}`, modern.URL, legacy.URL),
		"hooks.json": `{"endpoints": [{"id": "mail", "url": "` + receiver.URL + `/?key=${QUERY}", "secret": "${HOOK}"}]}`,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	cmd := exec.Command(self)
	cmd.Args = []string{"parley", "serve", "--servers", filepath.Join(dir, "mcp.json"), "--webhooks", filepath.Join(dir, "hooks.json"),
		"--addr", "127.0.0.1:0", "--metrics-addr", ":0", "--data", data}
	cmd.Env = append(os.Environ(), "HEADER="+sentinels["header"], "QUERY="+sentinels["query"], "HOOK="+hookSecret,
		"OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_EXPORTER_OTLP_COMPRESSION=none", "OTEL_BSP_SCHEDULE_DELAY=100")
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	stop := sync.OnceFunc(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("parley serve: %v\n%s", err, log.String())
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "Stop:") {
		fmt.Fprintln(&said, lines.Text())
	}
	go func() { ended <- cmd.Wait() }()
	defer stop()

	base, token := line(t, filepath.Join(data, runningFile)), line(t, filepath.Join(data, tokenFile))
	p := &pageOf{t: t, base: base, token: token, failures: &failures}
	for _, server := range []string{"modern", "legacy"} {
		c := p.do("POST", "/v1/calls", fmt.Sprintf(`{"conversation":"v","server":%q,"tool":"book","arguments":{"note":%q}}`, server, sentinels["argument"]), 201)
		q := p.question(c.ID)
		p.do("POST", "/v1/questions/"+q+"/shown", `{"via":"chat","evidence":"card in sight"}`, 204)
		p.do("POST", "/v1/questions/"+q+"/answer", fmt.Sprintf(`{"action":"accept","content":{"name":%q,"more":1},"via":"chat"}`, strings.Repeat(sentinels["refused"], 9)), 422)
		p.do("POST", "/v1/questions/"+q+"/answer", fmt.Sprintf(`{"action":"accept","content":{"name":%q},"via":"chat"}`, sentinels["answer"]), 200)
		if got := p.until(c.ID); got.State != "done" {
			t.Fatalf("the call at %s is %s", server, got.State)
		}
		f := p.do("POST", "/v1/calls", fmt.Sprintf(`{"conversation":"v","server":%q,"tool":"fail","arguments":{"note":%q}}`, server, sentinels["argument"]), 201)
		if got := p.until(f.ID); got.State != "failed" {
			t.Fatalf("the call that fails at %s is %s", server, got.State)
		}
	}
	p.do("POST", "/v1/calls", fmt.Sprintf(`{"conversation":"v","server":"modern","tool":%q}`, sentinels["argument"]), 422, 404, 400)
	p.do("GET", "/readyz", "", 200)
	told := map[webhook.Type]int{}
	for told[webhook.Asked] < 2 || told[webhook.Answered] < 2 {
		select {
		case m := <-arrived:
			told[m.Type]++
		case <-time.After(30 * time.Second):
			t.Fatalf("told: %v\n%s", told, log.String())
		}
	}
	p.streams()
	at := regexp.MustCompile(`http://\S+/metrics`).FindString(said.String())
	delivered := `parley_webhooks_sent_total{endpoint="mail",outcome="delivered"}`
	finished := `parley_calls_ended_total{era="modern",reason="",server="modern",state="done"}`
	counted := regexp.MustCompile(regexp.QuoteMeta(finished) + ` [1-9]`)
	page := fetch(t, at)
	for !strings.Contains(page, delivered) || !counted.MatchString(page) { // it is counted once it is stored, and told to who waits
		if t.Context().Err() != nil {
			t.Fatalf("the metrics do not have %s or %s:\n%s", delivered, finished, page)
		}
		page = fetch(t, at)
	}
	for _, want := range []string{
		`parley_questions_closed_total{mode="form",server="legacy",state="accepted"} 1`, finished + " 1",
		`parley_webhooks_dead{endpoint="mail"} 0`, `parley_question_wait_seconds_count{mode="form"} 2`,
		`parley_limits_hit_total{reason="too_many_streams",server=""} 1`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("the metrics do not have %s", want)
		}
	}
	for _, wire := range []*hosttest.Server{modern, legacy} {
		var got strings.Builder
		for _, c := range wire.Calls() {
			got.Write(c.Params)
		}
		if !strings.Contains(got.String(), `"traceparent":"00-`) {
			t.Error("no trace context reached a server")
		}
	}
	if len(failures.String()) == 0 {
		t.Error("nothing was refused")
	}

	// The audit log is printed beside the running host, and stays the same for a person.
	var lists []string
	for _, more := range [][]string{{"--json"}, {}, {"--json", "--principal", "local||operator"}, {"--json", "--kind", "answered,finished", "--since", "1h"}} {
		var printed, errs bytes.Buffer
		code := run(t.Context(), append([]string{"audit", "--data", data}, more...), &environment{
			stdout: &printed, stderr: &errs, lookup: func(string) (string, bool) { return "", false },
		})
		if code != exitOK {
			t.Fatalf("parley audit %v: %d, %s", more, code, errs.String())
		}
		lists = append(lists, printed.String())
	}
	kinds := map[inbox.AuditKind]int{}
	for text := range strings.Lines(lists[0]) {
		var e inbox.AuditEntry
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		kinds[e.Kind]++
	}
	if kinds[inbox.AuditAnswered] != 2 || kinds[inbox.AuditShown] != 2 || kinds[inbox.AuditChecked] != 2 || kinds[inbox.AuditFinished] != 4 || kinds[inbox.AuditDelivered] != 2 {
		t.Errorf("the audit log has %v", kinds)
	}
	if lists[2] != lists[0] || strings.Count(lists[3], "\n") != 6 || !strings.Contains(lists[1], "local||operator") {
		t.Errorf("filtered:\n%s\n%s", lists[1], lists[3])
	}
	stop() // the last spans leave

	sinks := map[string]string{
		"log": log.String(), "standard output": said.String(), "metrics": page, "traces": traces.String(), "webhooks": hooks.String(),
		"audit as JSON": lists[0], "audit": lists[1], "errors": failures.String(),
	}
	if !strings.Contains(sinks["traces"], "parley.answer") || !strings.Contains(sinks["traces"], "parley.resume") {
		t.Error("no traces came")
	}
	for sink, text := range sinks {
		for what, secret := range sentinels {
			if sink == "webhooks" && what == "query" {
				continue // the address of the receiver itself, to the receiver
			}
			if leaks(text, secret) {
				t.Errorf("%s: has the %s", sink, what)
			}
		}
		for what, secret := range map[string]string{"bearer": token, "webhook's secret": hookSecret} {
			if leaks(text, secret) {
				t.Errorf("%s: has the %s", sink, what)
			}
		}
	}
}

func line(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func fetch(t *testing.T, address string) string {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", address, resp.Status, err)
	}
	return string(b)
}

// A pageOf is what a page does, and keeps what it was refused with.
type pageOf struct {
	t           *testing.T
	base, token string
	failures    io.Writer
}

type callRow struct {
	ID, State string
	Version   int64
	Questions []json.RawMessage // rows in a list, ids in a call
}

func (p *pageOf) do(method, path, body string, want ...int) (row callRow) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 60*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, p.base+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || !slices.Contains(want, resp.StatusCode) {
		p.t.Fatalf("%s %s: %s, want %v: %s %v", method, path, resp.Status, want, b, err)
	}
	if resp.StatusCode >= 400 {
		fmt.Fprintln(p.failures, resp.Header, string(b))
	} else if bytes.HasPrefix(b, []byte("{")) {
		if err := json.Unmarshal(b, &row); err != nil {
			p.t.Fatal(err)
		}
	}
	return row
}

// streams opens event streams until one is refused, and ends them.
func (p *pageOf) streams() {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	for range 100 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/v1/events", http.NoBody)
		if err != nil {
			p.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+p.token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			p.t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusTooManyRequests {
			return
		}
	}
	p.t.Error("a hundred streams were opened")
}

// question waits for the open question of a call.
func (p *pageOf) question(call string) string {
	p.t.Helper()
	row := callRow{ID: call}
	for {
		for _, q := range p.do("GET", "/v1/questions?state=open", "", 200).Questions {
			var open struct{ ID, Call string }
			if err := json.Unmarshal(q, &open); err != nil {
				p.t.Fatal(err)
			}
			if open.Call == call {
				return open.ID
			}
		}
		row = p.do("GET", fmt.Sprintf("/v1/calls/%s?wait=30&since=%d", call, row.Version), "", 200)
		if row.State == "failed" || row.State == "done" || row.State == "blocked" {
			p.t.Fatalf("the call is %s", row.State)
		}
	}
}

// until waits for the end of a call.
func (p *pageOf) until(call string) callRow {
	p.t.Helper()
	row := callRow{}
	for row.State != "done" && row.State != "failed" && row.State != "uncertain" && row.State != "blocked" {
		row = p.do("GET", fmt.Sprintf("/v1/calls/%s?wait=30&since=%d", call, row.Version), "", 200)
	}
	return row
}
