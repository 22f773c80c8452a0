package receivers_test

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/webhook"
)

const patience = 60 * time.Second // only a failing test waits that long

var (
	key    = []byte("0123456789abcdef0123456789abcdef")
	secret = "whsec_" + base64.StdEncoding.EncodeToString(key)
	ann    = inbox.Principal{Issuer: "https://id.example", Subject: "ann"}
	user   = inbox.Principal{Issuer: "https://acme.example", Subject: "u-17"} // of the guide's product
)

// block is the one block of code of a language in the guide.
func block(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)\n```"+language+"\n(.*?\n)```\n").FindAllSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("the guide has %d blocks of %s, want one", len(found), language)
	}
	return string(found[0][1])
}

// TestReceiversOfTheGuide: each gets messages of a real sender, of every event, and tells
// the person of those that somebody has to act on; asks for one again while it cannot, and
// refuses what the host did not sign.
func TestReceiversOfTheGuide(t *testing.T) {
	t.Parallel()
	for language, run := range map[string]struct {
		file string
		with []string
		page string // of the product, to which it leads people of its API key; empty: to the host's
	}{
		"go":     {"main.go", nil, ""},
		"python": {"receiver.py", []string{"python3"}, "https://app.acme.example/"},
		"js":     {"receiver.mjs", []string{"node"}, ""},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			told := newTold(t)
			address := start(t, told, run.file, block(t, language), run.with)
			d := newDesk(t)
			outcomes, stop := d.send(t, "http://"+address+"/parley")
			defer stop()
			arrives := func(what string, want ...string) {
				t.Helper()
				within(t, "the outcome of what is "+what, outcomes, func(o webhook.Outcome) bool { return o == webhook.Delivered })
				within(t, "who is told of what is "+what, told.texts, func(text string) bool {
					for _, part := range want {
						if !strings.Contains(text, part) {
							return false
						}
					}
					return true
				})
			}
			ignored := func(what string) {
				t.Helper()
				within(t, "the outcome of what is "+what, outcomes, func(o webhook.Outcome) bool { return o == webhook.Delivered })
				told.nothing(t, "what is "+what)
			}

			question := d.ask(ann)
			arrives("asked", "ou are asked something", "Answer here: https://parley.example.com/?q="+question, "ann")
			page := func(own, host string) string {
				if run.page != "" {
					return "Answer here: " + run.page + own
				}
				return "Answer here: https://parley.example.com/" + host
			}
			arrives("asked of a product's user", "ou are asked something", page("chats/c%204%2F%C3%A9", "?q="+d.ask(user)), "u-17")
			var approvals []string
			for _, who := range []inbox.Assignee{{}, {Principal: inbox.Principal{Issuer: "https://id.example", Subject: "bob"}}, {Group: "directors"}} {
				approval := d.approve(ann, who)
				approvals = append(approvals, approval)
				arrives("asked of who decides", "our permission is wanted", "Answer here: https://parley.example.com/?a="+approval, cmp.Or(who.Group+who.Principal.Subject, "ann"))
			}
			d.decide(approvals[1:])
			for name, test := range map[string]struct {
				who  inbox.Assignee
				page func(id string) string
			}{
				"u-17":    {inbox.Assignee{}, func(id string) string { return page("chats/c%204%2F%C3%A9", "?a="+id) }},
				"u-8":     {inbox.Assignee{Principal: inbox.Principal{Issuer: user.Issuer, Subject: "u-8"}}, func(id string) string { return page("approvals/"+id, "?a="+id) }},
				"finance": {inbox.Assignee{Group: "finance"}, func(id string) string { return page("approvals/"+id, "?a="+id) }},
				"bob": {inbox.Assignee{Principal: inbox.Principal{Issuer: ann.Issuer, Subject: "bob"}}, func(id string) string {
					return "Answer here: https://parley.example.com/?a=" + id // he signs in there
				}},
			} {
				id := d.approve(user, test.who)
				arrives("asked of who decides of a product", "our permission is wanted", test.page(id), name)
				d.stop(user, id)
			}
			d.later(18 * time.Hour) // a quarter of a day is left
			arrives("expiring of an approval", "equest for your permission ends soon", "Answer here: https://parley.example.com/?a="+approvals[0], "ann")
			d.answer(user)
			ignored("answered")
			d.later(5*24*time.Hour + 7*time.Hour) // a day of a week is left
			arrives("expiring", "question to you ends soon", "Answer here: https://parley.example.com/?q="+question, "ann")
			d.block()
			ignored("blocked")

			told.away.Store(true)
			d.ask(ann)
			within(t, "the outcome while nobody can be told", outcomes, func(o webhook.Outcome) bool { return o == webhook.Failed })
			stop() // it would come again
			told.away.Store(false)

			url := "http://" + address + "/parley"
			for name := range map[string]bool{"asked": true, "expiring": true, "approval_asked": true, "approval_expiring": true} {
				if status := signed(t, url, name); status/100 != 2 {
					t.Errorf("%s without an address: status %d", name, status)
				}
				within(t, name+" without an address", told.texts, func(text string) bool {
					return !strings.Contains(text, "Answer here") && !strings.Contains(text, "undefined") && strings.Contains(text, "eve")
				})
			}
			for _, name := range []string{"answered", "blocked", "of_a_later_version", "constructor", "__proto__"} {
				if status := signed(t, url, name); status != http.StatusNoContent {
					t.Errorf("%s: status %d", name, status)
				}
			}
			cutOff(t, address)
			forge(t, url)
			told.nothing(t, "forged, or of no interest")
		})
	}
}

// signed sends a message as short as one may be, as the host would.
func signed(t *testing.T, url, name string) (status int) {
	t.Helper()
	body := []byte(`{"type":"` + name + `","timestamp":"2026-12-01T09:00:00Z","data":{"principal":{"issuer":"i","tenant":"","subject":"eve"},"call":"c","server":"s"}}`)
	now := strconv.FormatInt(time.Now().Unix(), 10)
	return post(t, url, body, map[string]string{"webhook-id": "msg_1", "webhook-timestamp": now, "webhook-signature": sign(key, now, body)})
}

// cutOff begins requests that do not end.
func cutOff(t *testing.T, address string) {
	t.Helper()
	for _, head := range []string{"Content-Length: 1000", "Content-Length: 99999999", "Content-Length: -1", "Transfer-Encoding: chunked"} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /parley HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n{", address, head)
		conn.Close()
	}
}

// forge sends what the host did not sign, or not now.
func forge(t *testing.T, url string) {
	t.Helper()
	body := []byte(`{"type":"asked","timestamp":"2026-12-01T09:00:00Z","data":{"principal":{"issuer":"i","tenant":"","subject":"eve"},"call":"c","question":"q","server":"s","url":"https://evil.example"}}`)
	now, old := strconv.FormatInt(time.Now().Unix(), 10), strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)
	for name, header := range map[string]map[string]string{
		"nothing signed": {},
		"another key":    {"webhook-id": "msg_1", "webhook-timestamp": now, "webhook-signature": sign([]byte("another"), now, body)},
		"another body":   {"webhook-id": "msg_1", "webhook-timestamp": now, "webhook-signature": sign(key, now, append(body, ' '))},
		"another time":   {"webhook-id": "msg_1", "webhook-timestamp": now, "webhook-signature": sign(key, old, body)},
		"long ago":       {"webhook-id": "msg_1", "webhook-timestamp": old, "webhook-signature": sign(key, old, body)},
		"no time":        {"webhook-id": "msg_1", "webhook-signature": sign(key, now, body)},
		"no number":      {"webhook-id": "msg_1", "webhook-timestamp": "now", "webhook-signature": sign(key, "now", body)},
		"a long number":  {"webhook-id": "msg_1", "webhook-timestamp": strings.Repeat("9", 5000), "webhook-signature": sign(key, strings.Repeat("9", 5000), body)},
		"odd signatures": {"webhook-id": "msg_1", "webhook-timestamp": now, "webhook-signature": "v1 v1, , é"},
	} {
		if status := post(t, url, body, header); status != http.StatusUnauthorized {
			t.Errorf("%s: status %d, want 401", name, status)
		}
	}
}

func sign(with []byte, at string, body []byte) string {
	mac := hmac.New(sha256.New, with)
	fmt.Fprintf(mac, "msg_1.%s.%s", at, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// post returns 0 if no answer comes.
func post(t *testing.T, url string, body []byte, header map[string]string) (status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// start runs a program of the guide on a port of its own, and returns its address once
// it listens. with runs it; nil: it is one of Go, and built first.
func start(t *testing.T, told *told, file, code string, with []string) (address string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	run := append(slices.Clone(with), path)
	if with == nil {
		run = []string{filepath.Join(t.TempDir(), "receiver")}
		if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", run[0], path).CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
	}
	address = servicetest.FreeAddr(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	var said lockedBuffer
	cmd := exec.Command(run[0], run[1:]...)
	cmd.Env = append(os.Environ(), "PARLEY_WEBHOOK_SECRET="+secret, "PORT="+port, "MAIL_SERVER="+told.mail, "CHAT_URL="+told.chat)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed
	}()
	t.Cleanup(func() {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		<-ended
		if t.Failed() {
			t.Logf("the program wrote:\n%s", said.String())
		}
	})
	deadline := time.Now().Add(patience)
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return address
		}
		select {
		case <-ended:
			t.Fatalf("the program ended:\n%s", said.String())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("the program does not listen:\n%s", said.String())
		}
	}
}

// within waits for a value that the test wants.
func within[T any](t *testing.T, what string, from <-chan T, good func(T) bool) {
	t.Helper()
	select {
	case got := <-from:
		if !good(got) {
			t.Fatalf("%s: %v", what, got)
		}
	case <-time.After(patience):
		t.Fatalf("%s: nothing came", what)
	}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
