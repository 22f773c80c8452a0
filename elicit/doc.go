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
// they come does not matter. A question whose text or form has changed since
// it was answered, say after a deploy, is asked again.
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
// [Choices] makes one from values that are known at run time only. What a
// revision lacks falls back, as for clients of 2025-06-18, where
// several choices become one yes-or-no field each. A form that asks for a
// password, a key or a card number is an error: that belongs on a page of your
// own, to which [Visit] sends the person, never in a form.
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
// same error. It is not used up: a client can send the same state and answers
// twice, or go back to an earlier round, and the handler runs each time. Writes
// use [Call.IdempotencyKey], which stays the same in all of these. If the
// principal is anonymous, whoever holds a request state can go on with the
// call.
package elicit
