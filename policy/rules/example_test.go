package rules_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/policy"
	"github.com/parley-mcp/parley/policy/rules"
)

func Example() {
	r, err := rules.Parse("policy.yaml", []byte(`
calls:
  - name: payments
    actor: model
    server: finance
    tool: [pay, refund]
    when: arguments.amount > 1000
    then: ask
    assign: {group: finance}
    approver: other
    reason: Large payments need a second person.
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	ada := inbox.Principal{Issuer: "https://id.example", Subject: "ada"}
	ben := inbox.Principal{Issuer: "https://id.example", Subject: "ben"}
	d, err := r.Call(context.Background(), &policy.Input{
		Phase: policy.Compose, Actor: inbox.Model, Principal: ada, Groups: []string{"finance"},
		Server: "finance", Method: policy.ToolsCall, Name: "pay",
		Arguments: json.RawMessage(`{"amount": 5000}`),
	})
	fmt.Println(d.Effect, d.Reason, err)
	fmt.Println("ada:", d.MayApprove(ada, ada, []string{"finance"}))
	fmt.Println("ben:", d.MayApprove(ada, ben, []string{"finance"}))
	// Output:
	// ask Large payments need a second person. <nil>
	// ada: false
	// ben: true
}

// A mistake has a place, and often a remedy.
func ExampleParse() {
	_, err := rules.Parse("policy.yaml", []byte("calls:\n  - name: pay\n    serfer: bank\n    then: deny\n"))
	fmt.Println(err)
	// Output:
	// policy.yaml:3:5: a rule has no key "serfer" (did you mean "server"?)
}
