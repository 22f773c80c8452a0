// Package clients holds the server kit against clients of other people: the
// go-sdk, mcp-go, both TypeScript SDKs and the Inspector, over stdio and HTTP,
// in every revision that they speak. Its other half holds package host against
// servers of other people.
//
// docs/conformance.md is written by the tests:
//
//	go test ./clients -update
package clients
