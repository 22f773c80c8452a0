// Package elicit lets an MCP tool ask a person something in the middle of a
// call. It stands on the official go-sdk, and a tool that is written once works
// with every revision of the protocol that has elicitation.
//
//	type Pick struct {
//		Flight string `json:"flight" title:"Connecting flight"`
//		Bags   int    `json:"bags"   title:"Bags" elicit:"min=0,max=3,default=1"`
//		Aisle  *bool  `json:"aisle"  title:"Aisle seat, if there is one"`
//	}
//
//	elicit.AddTool(server, tool, func(ctx context.Context, call *elicit.Call, in In) (Out, error) {
//		offers, err := elicit.Memo(ctx, call, "offers", time.Hour, func(ctx context.Context) ([]Offer, error) {
//			return search(ctx, in)
//		})
//		if err != nil {
//			return Out{}, err
//		}
//		pick, err := elicit.Ask[Pick](ctx, call, "pick", "Which connection do you want?",
//			elicit.Choices("flight", offers, Offer.Option))
//		if err != nil {
//			return Out{}, err // not answered yet, declined, cancelled, nobody to ask
//		}
//		...
//	})
//
// # How it runs
//
// In revisions 2025-06-18 and 2025-11-25 (legacy) Ask sends the question while
// the call is open and waits. In 2026-07-28 (modern) the handler ends, the kit
// returns the questions with a sealed request state, and the client sends the
// call again with the answers; then the handler runs from the top, and each
// Ask and [Memo] that was there before returns its recorded value:
//
//	client              kit                        handler
//	  | tools/call       |                            |
//	  |----------------->| run ---------------------->| Memo: looks it up
//	  |                  |<----------- ErrPending ----| Ask "pick"
//	  |<-----------------| questions, request state   |
//	  | (a person thinks; the process may restart)    |
//	  | call, answers,   |                            |
//	  | request state    |                            |
//	  |----------------->| run ---------------------->| Memo: recorded
//	  |                  |                            | Ask "pick": recorded
//	  |<-----------------|<------------------ Out ----| books
//
// So a handler asks before it acts: what it does before its last question
// happens in every round. Keys name questions and memos; the order in which
// they come does not matter. Two questions under one key in a run are an error:
// what is asked in a loop has a number in its key. A question whose text or form
// has changed since it was answered, say after a deploy, is asked again.
//
// # Forms
//
// A form is a flat struct. Fields are strings, numbers, bools, [time.Time] and
// lists of strings; a pointer is optional, and nil means no answer. Tags:
//
//	json         the name
//	title        the label
//	description  the hint below it
//	elicit       settings, separated by commas (\, for a comma in a value):
//	             min=, max=      bounds of a number, a text's length, a list's length
//	             default=        what the form starts with; a list is a|b
//	             format=         email, uri, date or date-time
//	             options=        choices: value:Title|value:Title
//	             optional        no answer leaves the zero value
//	             notsecret       it looks like a secret to the kit, and is none
//	             -               not part of the form
//
// A named string type with a method Options() []Option is a choice too, and
// [Choices] makes one from values that are known at run time only. Where one
// field is enough there need not be a struct: Ask[string], Ask[int] and
// Ask[[]Bread] ask for a value under the key of the question, [Choose] and
// [ChooseSeveral] for things out of a list. [Asks] has a form checked when its
// tool is added. What a
// revision lacks falls back, as for clients of 2025-06-18, where
// several choices become one yes-or-no field each. A form that asks for a
// password, a key or a card number is an error: that belongs on a page of your
// own, to which [Visit] sends the person, never in a form.
//
// # Pages
//
// [Visit] sends the person to a page of the server's own, for what must not pass
// the client. Its function done says whether they have finished there, and is all
// that the kit has to know: clients of 2025-11-25 are told when it turns true. With
// [CallAgain] such a client is not made to hold the call open meanwhile.
//
// # What can go wrong
//
// Answers are hostile input. Defaults fill required fields that are absent;
// then types, bounds, formats and choices are checked. An answer that does not
// fit is asked again with the reason, at most twice. Only an accepted answer
// that fits yields a value; everything else is an [*Unanswered], and a handler
// that just returns it gets the right result: the next round for a pending
// question, a clear sentence for a declined, cancelled or expired one, and for
// a client that cannot ask the name of the argument to pass instead.
//
// A request state is hostile input too. It is encrypted and bound to its
// principal, audience, tool and exact arguments, and expires after
// [Options.Lifetime]; anything that does not fit is refused with one and the
// same error. By itself it is not used up: a client can send the same state and
// answers twice, or go back to an earlier round, and the handler runs each time.
// Writes use [Call.IdempotencyKey], which stays the same in all of these, or the
// server has a replay guard. If the principal is anonymous, whoever holds a
// request state can go on with the call.
//
// # Two ways of a request
//
// [NewHTTPHandler] and [NewDirectHTTPHandler] answer with the same bytes. Both read
// an ordinary modern request for what was added here by themselves, because the
// SDK's decoder is most of what a call costs on its own handler:
//
//	               sees it                      has for its session
//	HTTP           all middleware               one of its own
//	direct         no middleware: an error      none
//	anything else  the SDK's handlers, as if the kit were not there
//
// Anything else is an unusual spelling or header, a list, a tool of the SDK's own,
// a tool that takes arguments from headers, a notification, an earlier revision.
//
// # Replay guard
//
// With [Options.Replay] nothing runs twice. A [ReplayGuard] keeps a [CallRecord]
// of each request that carries a request state, which is different for every
// round of every call, or an idempotency key of the client (the member
// io.github.parley-mcp/idempotencyKey of _meta, 1 to 128 visible ASCII
// characters), in every revision. A first request without a key is one of its
// own however often it comes: it only asks, if the handler asks before it acts.
//
//	          take                  finish
//	(none) ----------> running --------------------> finished (outcome kept, or too large)
//	  ^                  |  |  cancelled, and the
//	  |                  |  |  handler failed
//	  |                  |  +----------------------> unknown
//	  |                  |  the lease passed           ^  |
//	  |                  +-----------------------------+  | finish, late:
//	  |                                                   v its outcome counts
//	  +------ the record's time passed ---------------- (any)
//
// The record is stored before the handler runs and the outcome before the
// client hears of it. Whoever runs the request owns the record, by a lease that
// is renewed every ten seconds and a fence that no other taking has. What a
// repetition gets depends on the record:
//
//	running                        error -32000, data.reason call_in_progress
//	finished                       the same result or error, byte for byte; nothing runs
//	finished, outcome too large    error -32000, data.reason outcome_unknown
//	unknown                        error -32000, data.reason outcome_unknown
//	state with other answers       error -32602, data.reason invalid_request_state
//	key with another request       error -32602, data.reason idempotency_key_reused
//	older round, same answers      what that round came to, byte for byte
//
// A request of which nobody knows how it ended never runs again by itself: its
// process died, or its client went away and the handler gave up. A handler that
// finishes its work in spite of that has an outcome like any other, and so have
// a panic and an error result. If the store cannot be reached before the handler
// runs, the request is refused with -32603 and nothing has happened; if it
// cannot be reached afterwards, the client gets its result, the log says so, and
// only a repetition is told outcome_unknown.
//
// Outcomes are sealed with the server's keys, bound to their record, and at most
// [Limits.Outcome] large; names in records are digests. Records are kept a day
// longer than [Options.Lifetime], so that clocks may differ. The key of an
// anonymous caller is a bearer token for the outcome and must have 16 characters
// or more. A guard that survives a restart, with keys that do, makes the server
// declare the extension io.github.parley-mcp/idempotency with the setting
// "retention", Lifetime as a Go duration ("168h0m0s"): for so long after the
// first sending, a client may send a request with its key again.
package elicit
