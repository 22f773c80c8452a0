package wiretap

import (
	"os"
	"testing"

	"github.com/parley-mcp/parley/internal/servicetest"
)

// childEnv makes the test binary behave as an MCP server on stdio: see children in process_test.go.
const childEnv = "WIRETAP_TEST_CHILD"

// children are the servers that the test binary can be.
var children map[string]func() int

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		child, ok := children[name]
		if !ok {
			os.Exit(99)
		}
		os.Exit(child())
	}
	servicetest.VerifyTestMain(m)
}
