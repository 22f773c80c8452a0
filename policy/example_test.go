package policy_test

import (
	"context"
	"fmt"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/policy"
)

// officeHours forbids models to write outside of office hours and leaves the rest
// to the default.
type officeHours struct{ open func() bool }

func (p officeHours) Call(ctx context.Context, in *policy.Input) (policy.Decision, error) {
	if in.Actor == inbox.Model && !in.Hints().ReadOnly && !p.open() {
		return policy.Decision{Effect: policy.Deny, Rule: "office hours", Reason: "Models may only read at night."}, nil
	}
	return policy.Default().Call(ctx, in)
}

func (officeHours) Question(ctx context.Context, in *policy.Input, q policy.Question) (policy.Showing, error) {
	return policy.Default().Question(ctx, in, q)
}

// A product that knows more than a file can say brings a policy of its own.
func Example() {
	night := officeHours{open: func() bool { return false }}
	in := &policy.Input{
		Phase: policy.Compose, Actor: inbox.Model,
		Principal: inbox.Principal{Issuer: "https://id.example", Subject: "ada"},
		Server:    "bank", Method: policy.ToolsCall, Name: "transfer",
	}
	d, err := night.Call(context.Background(), in)
	fmt.Println(d.Effect, d.Reason, err)

	in.Actor = inbox.Person
	d, err = night.Call(context.Background(), in)
	fmt.Println(d.Effect, d.Reason, err)
	// Output:
	// deny Models may only read at night. <nil>
	// allow A person composed this call, which is their approval. <nil>
}
