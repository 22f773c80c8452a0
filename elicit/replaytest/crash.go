package replaytest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// What the suite tells a process that it starts to be killed.
const (
	childAddress = "PARLEY_REPLAYTEST_ADDRESS"
	childKeys    = "PARLEY_REPLAYTEST_KEYS"
	childLease   = "PARLEY_REPLAYTEST_LEASE"
)

// testRestart finds all records again in a new server on the same place.
func testRestart(t *testing.T, store Store) {
	address, keys, done := store.New(t), keysFile(t), newEffects()
	key := map[string]any{metaKey: "restart"}
	d := newDesk(t, store.Open(t, address), keys, done, nil)
	first := send(t, d.client(t, modern, key), "pay", "o1", "", nil)
	second := send(t, d.client(t, modern, nil), "pay", "o1", first.state(t), seven)
	third := send(t, d.client(t, modern, nil), "pay", "o1", second.state(t), yes)

	d = newDesk(t, store.Open(t, address), keys, done, nil)
	same(t, "round 1", first, send(t, d.client(t, modern, key), "pay", "o1", "", nil))
	same(t, "round 2", second, send(t, d.client(t, modern, nil), "pay", "o1", first.state(t), seven))
	same(t, "round 3", third, send(t, d.client(t, modern, nil), "pay", "o1", second.state(t), yes))
	d.done(t, "o1", 1)

	// With other keys neither states nor outcomes open, and nothing runs.
	d = newDesk(t, store.Open(t, address), keysFile(t), done, nil)
	refused(t, "other keys", send(t, d.client(t, modern, key), "pay", "o1", "", nil), -32000, "outcome_unknown")
	refused(t, "other keys", send(t, d.client(t, modern, nil), "pay", "o1", second.state(t), yes), -32602, "invalid_request_state")
	if _, runs := done.of("o1"); runs != 3 {
		t.Errorf("the handler ran %d times, want once in each of 3 rounds", runs)
	}
}

// Child runs a server that dies in the middle of its work, if the suite has
// started this process for that; then it does not return.
func Child(t *testing.T, store Store) {
	address := os.Getenv(childAddress)
	if address == "" {
		return
	}
	guard := store.Open(t, address)
	if os.Getenv(childLease) == "gone" {
		guard = hasty{guard}
	}
	d := newDesk(t, guard, os.Getenv(childKeys), newEffects(), func(_ context.Context, order string) error {
		fmt.Printf("\ndoing:%s\n", order)
		select {} // until it is killed
	})
	server := httptest.NewServer(d.handler)
	fmt.Printf("\nserving:%s\n", server.URL)
	select {}
}

// testKilled kills a process with SIGKILL while it carries out an order, and
// sends the same to another.
func testKilled(t *testing.T, store Store) {
	for lease, want := range map[string]string{"held": "call_in_progress", "gone": "outcome_unknown"} {
		t.Run(lease, func(t *testing.T) {
			t.Parallel()
			address, keys, done := store.New(t), keysFile(t), newEffects()
			d := newDesk(t, store.Open(t, address), keys, done, nil)
			first := send(t, d.client(t, modern, nil), "pay", "o1", "", nil)
			second := send(t, d.client(t, modern, nil), "pay", "o1", first.state(t), seven)
			key := map[string]any{metaKey: "killed"}
			p := start(t, address, keys, lease)
			var group sync.WaitGroup
			for order, send := range map[string]func() error{
				"o1": func() error {
					return p.send(t, nil, map[string]any{
						"name": "pay", "arguments": map[string]any{"order": "o1"}, "requestState": second.state(t), "inputResponses": yes,
					})
				},
				"o2": func() error {
					return p.send(t, key, map[string]any{"name": "book", "arguments": map[string]any{"order": "o2"}})
				},
			} {
				group.Go(func() {
					if err := send(); err == nil {
						t.Errorf("%s: a reply from a process that was killed", order)
					}
				})
				p.await(t, "doing:"+order)
			}
			p.kill(t)
			group.Wait()
			for range 2 {
				refused(t, "state", send(t, d.client(t, modern, nil), "pay", "o1", second.state(t), yes), -32000, want)
				refused(t, "key", send(t, d.client(t, modern, key), "book", "o2", "", nil), -32000, want)
			}
			d.done(t, "o1", 0)
			d.done(t, "o2", 0)
			// What came before is as it was.
			same(t, "round 2", second, send(t, d.client(t, modern, nil), "pay", "o1", first.state(t), seven))
		})
	}
}

// process is a server in a process of its own.
type process struct {
	desk    *desk
	command *exec.Cmd
	lines   *bufio.Scanner
}

func start(t *testing.T, address, keys, lease string) *process {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	p := &process{command: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.timeout=2m")}
	p.command.Env = append(os.Environ(), childAddress+"="+address, childKeys+"="+keys, childLease+"="+lease)
	p.command.Stderr = os.Stderr
	output, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(output)
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	backend, err := url.Parse(p.await(t, "serving:"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(backend)
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	p.desk = &desk{handler: proxy}
	return p
}

// await reads what the process prints up to a line, and returns its rest.
func (p *process) await(t *testing.T, prefix string) string {
	t.Helper()
	for p.lines.Scan() {
		if rest, ok := strings.CutPrefix(p.lines.Text(), prefix); ok {
			return rest
		}
	}
	t.Fatalf("the process ended before %q: %v", prefix, p.lines.Err())
	return ""
}

func (p *process) send(t *testing.T, meta, params map[string]any) error {
	_, err := p.desk.client(t, modern, meta).Send(t.Context(), "tools/call", params)
	return err
}

// kill ends the process without a word: SIGKILL.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := p.command.Wait(); err == nil {
		t.Fatal("the process ended by itself")
	}
}
