// Package e2e_test proves what a person gets: the built binary, a real
// Chromium, real MCP servers, and a SIGKILL wherever it hurts.
//
// Each test starts its own parley on its own ports and data directory. The
// servers that a test needs beside the demo's are scripts of package hosttest
// and the travel desk; where a server has to be a process of its own, it is
// this test binary, started again in another role.
package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/interop/browsertest"
)

// binary is the path of the parley that all tests start.
var binary string

func TestMain(m *testing.M) {
	hosttest.RunProgram(scripts, map[string]func() error{
		"travel": playTravel,
		"quits":  playQuits,
	})
	os.Exit(run(m))
}

// run builds parley with the race detector and runs the tests with it.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "parley-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "parley")
	command := exec.Command("go", "build", "-buildvcs=false", "-race", "-o", binary, "./cmd/parley")
	command.Dir = filepath.Join("..", "..")
	if out, err := command.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building parley: %v\n%s", err, out)
		return 1
	}
	return browsertest.Run(m)
}
