package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/parley-mcp/parley/interop/stranger"
)

// inspector is mcpdo, the Inspector on the command line: each command is a
// process, and a daemon keeps the connections between them.
type inspector struct {
	home string

	mu          sync.Mutex // two first commands at once would start two daemons
	connections int
}

func newInspector(t *testing.T) *inspector {
	t.Helper()
	home, err := os.MkdirTemp("", "mcpdo") //nolint:usetesting // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	minder := exec.Command(self, "-test.run=^$")
	minder.Env, minder.Stderr = append(os.Environ(), asMinder+"="+home), os.Stderr
	minder.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it outlives a group that is killed
	alive, err := minder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := minder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		alive.Close()
		if err := minder.Wait(); err != nil {
			t.Errorf("minder: %v", err)
		}
	})
	return &inspector{home: home}
}

// asMinder makes this program wait for its parent's end, and then stop the
// daemon of the folder that it names. The daemon is no child of the test, and
// would go on if the test was killed.
const asMinder = "PARLEY_INTEROP_MINDER"

func mind(home string) error {
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	command, err := mcpdo(context.Background(), home, "daemon", "stop")
	if err != nil {
		return err
	}
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("mcpdo daemon stop: %w: %s", err, out)
	}
	for deadline := time.Now().Add(30 * time.Second); ; { // the daemon may still write
		if err = os.RemoveAll(home); err == nil || time.Now().After(deadline) {
			return err
		}
		<-time.After(20 * time.Millisecond)
	}
}

func mcpdo(ctx context.Context, home string, args ...string) (*exec.Cmd, error) {
	command, err := stranger.Node(ctx, "@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js", append([]string{"--format", "json"}, args...)...)
	if err != nil {
		return nil, err
	}
	command.Env = append(os.Environ(), "HOME="+home, "MCP_INSPECTOR_SECRET_STORE=file")
	return command, nil
}

// do runs one command and returns what it prints: a result, or what is pending.
func (i *inspector) do(t *testing.T, args ...string) ([]byte, outcome) {
	t.Helper()
	command, err := mcpdo(context.WithoutCancel(t.Context()), i.home, args...)
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err == nil {
		return out, outcome{}
	}
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(stderr.Bytes()) {
		var said struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(line, &said) == nil && said.Error.Message != "" {
			return out, outcome{Error: said.Error.Message}
		}
	}
	t.Fatalf("mcpdo %q: %v\n%s", args, err, stderr.Bytes())
	return nil, outcome{}
}

func (i *inspector) connect(t *testing.T, l *link) func(request) outcome {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.connections++
	name := fmt.Sprintf("desk%d", i.connections)
	kind := "stdio"
	if l.server.URL != "" {
		kind = "streamable-http"
	}
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{name: struct {
		target
		Type string `json:"type"`
	}{l.server, kind}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(file, servers, 0o600); err != nil {
		t.Fatal(err)
	}
	era, can := "legacy", "off"
	if l.revision == "2026-07-28" {
		era = "modern"
	}
	switch len(l.canAsk) {
	case 1:
		can = l.canAsk[0]
	case 2:
		can = "both"
	}
	_, failed := i.do(t, "--config", file, "connect", "--era", era, "--elicit", can, name)
	if failed.Error != "" {
		t.Fatalf("connecting: %s", failed.Error)
	}
	return func(r request) outcome {
		switch {
		case r.prompt != "":
			return i.finish(t, l, "--connection", name, "prompts/get", r.prompt)
		case r.resource != "":
			return i.finish(t, l, "--connection", name, "resources/read", r.resource)
		case r.list:
			return i.finish(t, l, "--connection", name, "tools/list")
		}
		text, err := json.Marshal(r.arguments)
		if err != nil {
			t.Fatal(err)
		}
		return i.finish(t, l, "--connection", name, "tools/call", r.tool, "--tool-args-json", string(text))
	}
}

// finish runs a command and answers what is asked until it has a result.
func (i *inspector) finish(t *testing.T, l *link, args ...string) outcome {
	t.Helper()
	out, failed := i.do(t, args...)
	for {
		var said struct {
			Pending *struct {
				question
				ID string `json:"elicitationId"`
			} `json:"elicitationPending"`
		}
		if len(out) > 0 {
			if err := json.Unmarshal(out, &said); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
		}
		if said.Pending == nil {
			break
		}
		reply, err := l.answer(t.Context(), said.Pending.question)
		if err != nil {
			t.Fatal(err)
		}
		respond := []string{"elicitation/respond", said.Pending.ID}
		switch {
		case reply.Action == "accept" && said.Pending.Mode == "url":
			respond = append(respond, "--done")
		case reply.Action == "accept":
			content, err := json.Marshal(reply.Content)
			if err != nil {
				t.Fatal(err)
			}
			respond = append(respond, string(content))
		default:
			respond = append(respond, "--"+reply.Action)
		}
		out, failed = i.do(t, respond...)
	}
	if failed.Error != "" && len(out) == 0 {
		return failed
	}
	return result(t, out)
}
