// Package hosttest is a scripted MCP server for tests of a host: an ordinary
// one, or one that misbehaves at a chosen step. It speaks the wire itself, raw,
// in every revision with elicitation, over Streamable HTTP and over standard
// input and output, so that it can do what no SDK lets a server do: answer
// twice, ask after the end, stop in the middle of a frame, print a line of
// text between messages, fall silent, or die.
//
// A script is a function per tool, which gets an [Exchange] for each call:
//
//	s := hosttest.NewServer(t, &hosttest.Script{Tools: map[string]hosttest.Tool{
//		"greet": func(x *hosttest.Exchange) {
//			if x.Responses == nil {
//				x.Asks(`{"who":{"method":"elicitation/create","params":{...}}}`, "state-1")
//				return
//			}
//			x.Text("hello")
//		},
//	}})
//
// For a program on standard input and output the test binary runs itself:
// [RunProgram], first in TestMain, plays the script that [Program] names.
package hosttest
