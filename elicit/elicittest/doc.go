// Package elicittest is a scripted person for tests of tools that ask.
//
// A [Client] speaks MCP with the server's real HTTP handler ([Connect]) or over
// pipes like a program on stdio ([ConnectPipes]), in one of the revisions that
// have elicitation, and gives the questions to a [Person]: a function in the
// test, or a [Script] of what happens to each question in turn. People do worse
// than decline: [Wrong], [Slow], [Disappear], [Twice], [Replay] and [By] are a
// line each, in every revision. It reads and writes the bytes of the protocol itself,
// so a test sees forms as they are sent, field order included, and can answer
// what no well-behaved client would.
package elicittest
