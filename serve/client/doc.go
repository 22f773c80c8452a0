// Package client is the HTTP API of a host in Go: its rows and bodies, which package
// serve writes and reads, and a [Client] for the other end. A product's
// back end mints tokens for its pages with it ([Client.MintToken]), and `parley address`
// gets its address by it.
//
//	c := client.New("https://parley.example.com", client.Bearer(token))
//	call, err := c.Compose(ctx, client.NewCall{Conversation: "v_1", Server: "travel", Tool: "book"}, key)
//	for event, err := range c.Events(ctx, 0) { ... }
//
// # Errors
//
// What the host refuses is an *[Error], with the stable code of its [Problem] and a
// sentence for people. Everything else (no connection, an answer that is none) is an
// error of the transport. No error holds the bearer.
//
// # Trying again
//
// A Client sends each request once. Those that would do something twice take an
// idempotency key: with the same key, sending again does nothing twice. The others are
// harmless twice. Events comes back by itself where it was.
package client
