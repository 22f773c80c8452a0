// Package wiretap sits under the go-sdk's MCP client and keeps the bytes that the SDK throws away.
//
// The SDK decodes a question's schema into a map (the order of the fields and exact numbers are gone), hides the
// JSON-RPC id of a request from its handler, takes an unknown resultType for success, and reports failures in words
// that do not say whether the call may have run. A host that parks questions and must never run a call twice needs
// all of that, so it is read here, from the wire:
//
//	host ── CallTool(With(ctx, exchange)) ──> go-sdk client
//	                                            │  outgoing: BeforeSend, what left, BeforeAnswer
//	                                          wiretap ── HTTP: [Tap.RoundTripper]; stdio: [Tap.Process]
//	                                            │  incoming: reply, questions, withdrawals
//	                                          server
//
// One [Tap] belongs to one MCP connection.
//
// # Calls
//
// An [Exchange] is one send of one call. The host puts it into the context of CallTool, GetPrompt or ReadResource with
// [With]; the SDK hands that context down to the transport. Only the request that carries the call counts: initialize,
// lists and notifications under the same context do not. The raw reply is in [Exchange.Outcome]. What the SDK's method
// returns for such a call is only a placeholder (an empty result, or an error when the call failed): the SDK gets
// nothing that it could fail to decode, cache, or act upon. The client must have MultiRoundTrip.Disabled set.
//
// # Questions
//
// On a legacy connection the server calls elicitation/create. The tap keeps its bytes as a [Question] and passes on a
// reduced request whose _meta holds [MarkerKey]; the host's handler finds the question with [Tap.Question]. So a
// schema that the SDK cannot decode, or that its own checks refuse, reaches the handler too: the host judges it.
// The handler may leave the exact answer in [Question.Answer]. The id that the server chose is put back on the way
// out, whatever its type and size.
//
// # Responses that are cut
//
// A response stream of the legacy era that ends before the reply goes on, if its server gave its events ids: the tap asks
// for it again as long as the call lives, and the SDK sees one stream (MCP 2025-11-25 basic/transports, "Resumability
// and Redelivery"). The context of the call ends that, as does its reply, a status that will not change, or some
// resumptions in a row that bring nothing while nobody is being asked and the server does not want to be polled; then
// the call has the fault [ErrCut]. What comes twice is asked once. An answer of which nothing could leave is sent again
// as long as the call lives. The modern era has no such streams, and ids on its events mean nothing.
//
// # Failure
//
// The next step is the host's in every state: it decides what a veto, a missing reply or a withdrawn question means.
// A broken message breaks the call it belongs to and no other; it is counted in [Stats]. On stdio, where messages
// share one pipe, a line over the limit ends the process.
package wiretap
