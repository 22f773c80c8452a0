// Package conformance proves the server kit with the protocol's own suite,
// @modelcontextprotocol/conformance: server.go and its neighbours are the
// server that the suite expects, and the tests run the suite against it.
//
// Whatever asks a person is written with the kit, as an author would write it.
// The rest, and what asks a model or for roots, is plain go-sdk on the same
// [mcp.Server]: the kit has to live beside that.
//
// docs/conformance.md is written by the tests:
//
//	go test ./conformance -update
package conformance
