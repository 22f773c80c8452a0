package clients

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/interop/stranger"
)

// Why servers are not in cells.
var (
	oneQuestion = exception{[]string{"rounds", "at once", "server, 2nd", "host, 2nd"}, "its tools ask one question a call"}
	noState     = exception{[]string{"too old", "other key"}, "no request state in this revision: the call is open while its question waits"}
	noSeal      = exception{[]string{"too old", "other key"}, "nothing is sealed: the state is the author's own, and comes back as it went"}
	noError     = exception{[]string{"page first"}, "no error -32042 in this revision"}
)

// foreigners are whom the host is held against.
func foreigners(t *testing.T) []foreign {
	t.Helper()
	const legacy, modern = "2025-11-25", "2026-07-28"
	open, sealed, bare := []exception{noState}, []exception{noError}, []exception{noError, noSeal}
	return []foreign{
		{"server-everything 2026.8.31", "stdio", legacy, everythingProgram, everythingPlay, []exception{oneQuestion, noState}},
		{"server-everything 2026.8.31", "HTTP", legacy, everythingService, everythingPlay, []exception{oneQuestion, noState}},
		{"TypeScript SDK 1.32.2", "stdio", legacy, v1Program, told, open},
		{"TypeScript SDK 1.32.2", "HTTP", legacy, v1Service, told, open},
		{"TypeScript SDK 2.4.0", "stdio", modern, v2Program, told, sealed},
		{"TypeScript SDK 2.4.0", "HTTP", modern, v2Service, told, sealed},
		{"TypeScript SDK 2.4.0", "HTTP", legacy, before(v2Service), told, open},
		{"python-sdk 2.0.0, as recorded", "HTTP", modern, pythonService, told, sealed},
		{"mcp-go 1.2.1", "stdio", modern, selfProgram("mcp-go"), told, bare},
		{"mcp-go 1.2.1", "HTTP", modern, mcpGoService, told, bare},
		{"mcp-go 1.2.1", "HTTP", legacy, before(mcpGoService), told, open},
		{"go-sdk 1.8.0", "stdio", modern, selfProgram("go-sdk"), told, bare},
		{"go-sdk 1.8.0", "HTTP", modern, goSDKService(false), told, bare},
		{"go-sdk 1.8.0", "HTTP", legacy, goSDKService(true), told, open},
		{"the kit", "stdio", modern, kitProgram, kitPlay, sealed},
		{"the kit", "HTTP", modern, kitService, kitPlay, sealed},
		{"the kit", "HTTP", legacy, before(kitService), kitPlay, open},
	}
}

// v1Program and the others run the scripts of interop/node.
func v1Program(t *testing.T) *standing {
	t.Helper()
	return newProgram(t, nodeScript(t, "server-v1.mjs"), nil)
}

func v1Service(t *testing.T) *standing {
	t.Helper()
	return newService(t, func(port string) *exec.Cmd { return nodeScript(t, "server-v1.mjs", port) }, "")
}

func v2Program(t *testing.T) *standing {
	t.Helper()
	s := newSettings(t)
	return s.sealing(newProgram(t, nodeScript(t, "server-v2.mjs", string(s)), nil))
}

func v2Service(t *testing.T) *standing {
	t.Helper()
	s := newSettings(t)
	return s.sealing(newService(t, func(port string) *exec.Cmd { return nodeScript(t, "server-v2.mjs", string(s), port) }, ""))
}

func everythingProgram(t *testing.T) *standing {
	t.Helper()
	command, err := stranger.Everything(t.Context(), "stdio")
	if err != nil {
		t.Fatal(err)
	}
	return newProgram(t, command, nil)
}

// everythingService listens where it is told: a port that was free a moment ago.
func everythingService(t *testing.T) *standing {
	t.Helper()
	return newService(t, func(port string) *exec.Cmd {
		command, err := stranger.Everything(context.WithoutCancel(t.Context()), "streamableHttp")
		if err != nil {
			t.Fatal(err)
		}
		command.Env = append(os.Environ(), "PORT="+port)
		return command
	}, "listening on port")
}

func nodeScript(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	command, err := stranger.Node(context.WithoutCancel(t.Context()), "../"+name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return command
}

// settings is the folder of a server that seals request states: the files key
// and ttl are read by its every start.
type settings string

func newSettings(t *testing.T) settings {
	t.Helper()
	s := settings(t.TempDir())
	s.write(t, "key", "a key that is long enough, the first one")
	return s
}

func (s settings) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(string(s), name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s settings) remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(string(s), name)); err != nil {
		t.Fatal(err)
	}
}

// sealing lets the settings of a server on the TypeScript SDK change.
func (s settings) sealing(at *standing) *standing {
	return s.sealingBy(at, func(t *testing.T) { s.write(t, "key", "a key that is long enough, the second one") })
}

func (s settings) sealingBy(at *standing, rekey func(*testing.T)) *standing {
	at.rekey = func() {
		rekey(at.t)
		at.restart()
	}
	at.age = func(old bool) {
		if old {
			s.write(at.t, "ttl", "-1")
		} else {
			s.remove(at.t, "ttl")
		}
		at.restart()
	}
	return at
}

// newProgram has the host start a command. A shell before it leaves word of the
// process, so that the test can end it: a pipe by its number, which it holds open.
func newProgram(t *testing.T, command *exec.Cmd, env map[string]string) *standing {
	t.Helper()
	const mark = "PARLEY_INTEROP_PROGRAM"
	dir := t.TempDir()
	server := &host.Server{
		ID: "desk", Command: "/bin/sh",
		Args: append([]string{"-c", `mkfifo "$0/$$" && exec 3<>"$0/$$" && exec "$@"`, dir}, command.Args...),
		Env:  map[string]host.Secret{mark: host.NewSecret(dir)},
	}
	for name, value := range env {
		server.Env[name] = host.NewSecret(value)
	}
	return &standing{t: t, server: server, restart: func() {
		t.Helper()
		started, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range started {
			// The number may be another process's by now.
			environ, err := os.ReadFile(filepath.Join("/proc", file.Name(), "environ"))
			if err == nil && bytes.Contains(environ, []byte(mark+"="+dir+"\x00")) {
				kill(t, filepath.Join(dir, file.Name()))
			}
			if err := os.Remove(filepath.Join(dir, file.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}}
}

// kill ends the process that holds a pipe with its number open, and waits until
// it has: what is written to it from then on is not read by anyone.
func kill(t *testing.T, pipe string) {
	t.Helper()
	pid, err := strconv.Atoi(filepath.Base(pipe))
	if err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if _, err := io.Copy(io.Discard, held); err != nil {
		t.Error(err)
	}
}

// newService runs a command that listens at a port of 127.0.0.1, which it is told. It
// says on its first line of output that it listens; or it says ready, on the other stream.
func newService(t *testing.T, command func(port string) *exec.Cmd, ready string) *standing {
	t.Helper()
	port := freePort(t) // also when it starts anew
	var kill func()
	start := func() {
		t.Helper()
		running := command(port)
		said := &announcement{next: t.Output(), ready: ready, heard: make(chan struct{})}
		if ready == "" {
			running.Stdout, running.Stderr = said, t.Output()
		} else {
			running.Stderr = said
		}
		if err := running.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- running.Wait() }()
		select {
		case <-said.heard:
		case err := <-ended:
			t.Fatalf("%s ended before it listened: %v", running.Args[1], err)
		}
		kill = func() {
			t.Helper()
			if err := running.Process.Kill(); err != nil {
				t.Error(err)
			}
			<-ended // it says that it was killed
		}
	}
	start()
	t.Cleanup(func() { kill() })
	return &standing{t: t, server: &host.Server{ID: "desk", URL: "http://127.0.0.1:" + port + "/mcp"}, restart: func() {
		kill()
		start()
	}}
}

// An announcement is a stream of a service that says on one line that it listens.
type announcement struct {
	next  io.Writer
	ready string        // what is on the line; empty: it is the first one
	heard chan struct{} // closed by it

	mu   sync.Mutex
	line []byte
	done bool
}

func (a *announcement) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, b := range p {
		if a.done || b != '\n' {
			a.line = append(a.line, b)
			continue
		}
		if strings.Contains(string(a.line), a.ready) {
			a.done = true
			close(a.heard)
		}
		a.line = nil
	}
	if a.done {
		a.line = nil
	}
	return a.next.Write(p)
}

// freePort is a port of 127.0.0.1 that nobody listens at.
func freePort(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(servicetest.FreeAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	return port
}
