// Package host is the engine on the client side of MCP: it keeps connections to
// servers, sends calls to them, parks a call when its server asks a person
// something, and carries the answer back, on this machine or another, minutes
// or days later. It can be embedded: what it needs is an inbox over some store.
//
//	                Start              Run, Step, Resume
//	composed ──────────────> ready ──────────────────────> claimed
//	                           ^                              │ connection, tools, same server?
//	    answers complete       │                              │ Mark: committed before the first byte
//	 ┌─────────────────────────┤                              v
//	waiting <── it asks ───────┼──────────────────────────── sent ──> done, failed, lapsed
//	                           │   nothing ran                │
//	                           └──────────────────────────────┤ legacy: held while a question is open
//	                                                          v
//	                                                blocked, uncertain
//
// # Who owns the next step
//
// The rules of states live in package inbox and the truth in its store. A host
// holds a claim, which is a lease with a fencing number, from the moment it
// takes a call until the call's next stop; it renews it, and a host that lost
// it records nothing any more. Between stops nobody holds anything: a parked
// call costs no memory and no goroutine. Only a held call, of a server of the
// legacy era, needs its machine and its open connection.
//
// # What a send means
//
// A JSON-RPC response is an outcome. Without one, the call is sent again only
// on proof that nothing ran: no byte of the request left, or HTTP 404 to a
// session id. 401, and 403 with a challenge, block it until someone signs in.
// Everything else is uncertain, and a person decides, unless the server is
// trusted and says that its tool may be repeated. Judgement is passed on the
// bytes of the wire, not on the SDK's errors; see internal/wiretap.
//
// # Failure
//
// If the process dies, its leases end: a claimed call becomes ready, a sent
// one uncertain, a held one interrupted with the answers kept. If a server
// cannot be reached its calls are blocked and tried again with back-off. If the
// store fails, outcomes are written again for as long as the lease lasts.
package host
