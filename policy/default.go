package policy

import (
	"context"

	"github.com/parley-mcp/parley/inbox"
)

// Names of the rules of [Default].
const (
	RulePerson   = "default/person"    // a person composed it
	RuleReadOnly = "default/read-only" // a read-only tool of a trusted server
	RuleModel    = "default/model"     // everything else
	RuleShow     = "default/show"      // questions are shown
)

// Default is the policy that holds where no other was given, and the end of
// every other: what a person composed is its own approval; of what a model
// composed, read-only tools of trusted servers are allowed and all else asks;
// every question is shown.
func Default() Policy { return byDefault{} }

type byDefault struct{}

func (byDefault) Call(_ context.Context, in *Input) (Decision, error) {
	switch {
	case in.Actor == inbox.Person:
		return Decision{Effect: Allow, Rule: RulePerson, Reason: "A person composed this call, which is their approval."}, nil
	case in.Hints().ReadOnly:
		return Decision{Effect: Allow, Rule: RuleReadOnly, Reason: "The server is trusted and says that this tool only reads."}, nil
	}
	d := Decision{Effect: Ask, Rule: RuleModel, Reason: "A model composed this call, and nobody has approved it yet.", Offer: []Scope{Once}}
	if in.Method == ToolsCall { // only tools have something that a standing approval can hold on to
		d.Offer = []Scope{Once, Conversation, Always}
	}
	return d, nil
}

func (byDefault) Question(context.Context, *Input, Question) (Showing, error) {
	return Showing{Show: true, Rule: RuleShow, Reason: "Questions are shown to the person they are for."}, nil
}
