// Package elicittest is a scripted person for tests of tools that ask.
//
// A [Client] speaks MCP with the server's real HTTP handler, in one of the
// revisions that have elicitation, and gives the questions to a [Person]: a
// function in the test. It reads and writes the bytes of the protocol itself,
// so a test sees forms as they are sent, field order included, and can answer
// what no well-behaved client would.
package elicittest
