package host_test

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/parley-mcp/parley/host/hosttest"
)

func digestOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// programs are the scripts, and otherPrograms the servers, that this test
// binary plays when it is run as a program. Test files add theirs.
var (
	programs      = map[string]*hosttest.Script{}
	otherPrograms = map[string]func() error{}
)
