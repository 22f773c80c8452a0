// Package serve puts a host on HTTP: the JSON API, its event stream, sign-in, and
// the page.
//
// # Who does what
//
// serve owns no state and decides nothing. It knows who is asking (Identify),
// turns a request into one call of package inbox or host, and turns the rows that
// come back into JSON. Rules (who may answer, which answer wins, what a legal
// answer is) live in package inbox; the order of work on a call lives in package
// host; what a page looks like lives in package web.
//
//	browser ── POST /v1/calls ───────────▶ host.Compose ─▶ inbox
//	browser ◀─ GET /v1/events ──────────── inbox.Events       (the store is the truth)
//	browser ── POST /v1/questions/…/answer ▶ inbox.Answer ─▶ host resumes the call
//
// # Identity
//
// Every route under /v1 except sign-in is by principal: a row of someone else gets
// the same answer as a row that is not there. [Local] signs in the one person of a
// machine by a bearer in the page's own storage. A product with users of its own
// passes Options.Identify. Where a session cannot be checked, as when the store is away,
// nobody is let in and nobody is told to be signed out: the answer is 503.
//
// A model that works for a person may have a session of its own (Session.Actor, or a
// token that was minted for one). It composes calls, which the policy judges as a
// model's, and does nothing that a person does: no route that changes something is for
// it unless the table of routes says so.
//
// # Failures
//
// Every error is one row of the table in problem.go: a status, a stable code, a
// sentence. An error that is not in the table is answered 500 without its text
// and logged with an id.
//
// # Streams
//
// GET /v1/events starts with "hello" and the number of the newest event, so that a
// page that loads its snapshot after hello misses nothing. A cursor that is too
// old gets "reset". Rows are sent whole, so an event that arrives twice is
// harmless.
//
// # Large answers
//
// A server decides how large its results are. Rows in lists, snapshots, events and
// answers to posts carry arguments, result and error up to 256 KiB each and 8 MiB in
// one answer; of a larger one they say the size, in arguments_size, result_size and
// error_size. GET /v1/calls/{id} answers with the whole call.
package serve
