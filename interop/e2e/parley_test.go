package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/parley-mcp/parley/internal/servicetest"
)

// patience bounds every wait; only a failing test waits that long.
const patience = 30 * time.Second

// parley is one run, or several on the same data, of the built binary.
type parley struct {
	t    *testing.T
	args []string
	env  []string
	data string
	base string // http://127.0.0.1:PORT

	address string // of the present run: signs in once
	cmd     *exec.Cmd
	exited  chan struct{}
	stderr  *buffer
}

// demo starts `parley demo`.
func demo(t *testing.T) *parley {
	t.Helper()
	return start(t, "demo", "--travel-addr", servicetest.FreeAddr(t))
}

// serve starts `parley serve` with these servers: the object mcpServers.
func serve(t *testing.T, servers map[string]any) *parley {
	t.Helper()
	return start(t, "serve", "--servers", serversFile(t, servers))
}

func serversFile(t *testing.T, servers map[string]any) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func start(t *testing.T, args ...string) *parley {
	t.Helper()
	addr := servicetest.FreeAddr(t)
	p := &parley{t: t, data: t.TempDir(), base: "http://" + addr}
	p.args = slices.Concat(args, []string{"--addr", addr, "--data", p.data})
	p.again()
	return p
}

// again starts the binary, after kill or stop with what it left behind.
func (p *parley) again() {
	p.t.Helper()
	p.cmd = exec.Command(binary, p.args...)
	p.cmd.Env = append(os.Environ(), p.env...)
	// Servers over stdio are in its process group, so that none outlives the test.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.stderr = &buffer{}
	stdout := &buffer{}
	p.cmd.Stdout, p.cmd.Stderr = stdout, p.stderr
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	exited, command, stderr := make(chan struct{}), p.cmd, p.stderr
	p.exited = exited
	go func() {
		_ = command.Wait() // the exit code is read where it matters
		close(exited)
	}()
	p.t.Cleanup(func() {
		if p.t.Failed() { // say what it is doing
			_ = command.Process.Signal(syscall.SIGQUIT)
			select {
			case <-exited:
			case <-time.After(5 * time.Second):
			}
		}
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		<-exited
		if p.t.Failed() {
			p.t.Logf("%v wrote:\n%s", command.Args[1:], stderr)
		}
		if text := stderr.String(); strings.Contains(text, "DATA RACE") || strings.Contains(text, "panic:") {
			p.t.Errorf("parley has a data race or panicked:\n%s", text)
		}
	})
	var found []string
	eventually(p.t, "an address to open", func() bool {
		select {
		case <-exited:
			p.t.Fatalf("%v ended: %v\n%s", command.Args[1:], command.ProcessState, stderr)
		default:
		}
		found = addressLine.FindStringSubmatch(stdout.String())
		return found != nil
	})
	p.address = found[1]
	if base, _, _ := strings.Cut(p.address, "/#"); base != p.base {
		p.t.Fatalf("the printed address is %s, want it at %s", p.address, p.base)
	}
}

var addressLine = regexp.MustCompile(`(?m)^ *(http://\S+/#token=\S+)$`)

// kill ends the process the way a crash does: SIGKILL, nothing is cleaned up.
func (p *parley) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-p.exited
}

// stop ends the process the way a person does.
func (p *parley) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
	<-p.exited
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("parley ended with exit code %d after an interrupt, want 0:\n%s", code, p.stderr)
	}
}

// fresh is another address that signs in once: what `parley address` prints.
func (p *parley) fresh() string {
	p.t.Helper()
	out, err := exec.Command(binary, "address", "--data", p.data).Output()
	if err != nil {
		p.t.Fatalf("parley address: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// eventually waits until cond holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for pause := 5 * time.Millisecond; !cond(); pause = min(2*pause, 100*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-deadline:
			t.Fatalf("waited %v in vain for %s", patience, what)
		}
	}
}

// A buffer collects what a process writes.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
