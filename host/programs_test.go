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

// programs are the scripts that this test binary plays when it is run as a server.
var programs = map[string]*hosttest.Script{
	"legacy": {Revision: "2025-11-25", Tools: legacyTools},
	"silent": {Revision: "2025-11-25", Tools: legacyTools, SilentDiscover: true},
	"chatty": {Revision: "2025-11-25", Tools: legacyTools, AtStart: func(p *hosttest.Pipe) {
		p.Raw("starting up\n\n{\"not\": \"json-rpc\"}\n[1,2]\n")
	}},
}

var otherPrograms = map[string]func() error{}
