package inbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/memstore"
)

// A call asks for a seat, is parked, answered by its person and finished.
func Example() {
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	in := inbox.New(memstore.New(nil), inbox.NewKeys(), nil)
	ann := inbox.Principal{Issuer: "https://id.example", Subject: "ann"}

	// The person composes a call.
	call, err := in.Compose(ctx, ann, inbox.NewCall{
		Conversation: "v_trip", Server: "flights", Era: inbox.Modern,
		Method: "tools/call", Name: "book", Arguments: json.RawMessage(`{"to":"Oslo"}`),
	})
	must(err)

	// A machine claims it, commits the mark and sends it. The server asks.
	claim, _, err := in.ClaimNext(ctx, nil)
	must(err)
	_, err = in.Mark(ctx, claim, inbox.Binding{})
	must(err)
	_, err = in.Park(ctx, claim, inbox.Asked{
		RequestState: "opaque",
		Questions: []inbox.NewQuestion{{Key: "seat", Params: json.RawMessage(
			`{"message":"Which seat?","requestedSchema":{"type":"object","properties":{"seat":{"type":"string"}},"required":["seat"]}}`)}},
	})
	must(err)

	// The person answers, perhaps days later, through any surface.
	questions, err := in.Questions(ctx, ann, inbox.QuestionFilter{Call: call.ID})
	must(err)
	fmt.Println(questions[0].Message)
	_, err = in.Answer(ctx, ann, questions[0].ID, inbox.Answer{
		Action: inbox.Accept, Content: json.RawMessage(`{"seat":"12A"}`), Via: "chat",
	})
	must(err)

	// Any machine goes on.
	claim, _, err = in.ClaimNext(ctx, nil)
	must(err)
	answers, err := in.Answers(ctx, claim)
	must(err)
	fmt.Printf("%s\n", answers["seat"])
	_, err = in.Mark(ctx, claim, inbox.Binding{})
	must(err)
	call, err = in.Finish(ctx, claim, inbox.Outcome{State: inbox.Done, Result: json.RawMessage(`{"content":[]}`)})
	must(err)
	fmt.Println(call.State)
	// Output:
	// Which seat?
	// {"action":"accept","content":{"seat":"12A"}}
	// done
}

// A policy asks before a model's call is sent. The person allows the tool once
// and for all, and the next call of it needs nobody.
func ExampleInbox_Decide() {
	ctx := context.Background()
	in := inbox.New(memstore.New(nil), inbox.NewKeys(), nil)
	ann := inbox.Principal{Issuer: "https://id.example", Subject: "ann"}
	n := inbox.NewCall{
		Actor: inbox.Model, Server: "flights", Method: "tools/call", Name: "book",
		Ask: &inbox.Ask{Fingerprint: "of the tool as it is now", Rule: "models ask", Offer: []inbox.Scope{inbox.Always}},
	}
	call, err := in.Compose(ctx, ann, n)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(call.State)

	ctx = inbox.WithSource(ctx, inbox.Source{Remote: "192.0.2.7"})
	_, err = in.Decide(ctx, inbox.Approver{Principal: ann}, call.Approval, inbox.Decision{Allow: true, Scope: inbox.Always, Via: "inbox"})
	if err != nil {
		log.Fatal(err)
	}
	next, err := in.Compose(ctx, ann, n)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(next.State)

	// What happened, the latest first.
	entries, err := in.Audit(ctx, ann, inbox.AuditFilter{Kinds: []inbox.AuditKind{inbox.AuditApprovalDecided}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(entries[0].State, entries[0].Scope, "from", entries[0].Remote)
	// Output:
	// approving
	// ready
	// allowed always from 192.0.2.7
}
