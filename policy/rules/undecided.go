package rules

import (
	"fmt"

	"github.com/parley-mcp/parley/policy"
)

// Whoever composes a call chooses its arguments, and with them which rules cannot be
// evaluated. So that nobody gains by it, what holds is never weaker than what would hold
// if such a rule matched, nor than what would hold if it did not.
//
// Of n such rules any may match: that is 2^n cases. But the first that matches decides,
// so no case has another outcome than one of n+1: what each of the n decides if it
// matches, and what the first rule decides that surely does. One pass over these finds
// the weakest decision that is no weaker than any of them:
//
//	allow < ask the asker < ask whom a rule names < the same, and not the asker < deny
//
// Two rules that name different approvers have nothing between them and deny: nobody can
// tell whether the members of one group are members of another, and one approval cannot
// be given by two.

// undecided is what u, of which nobody can say whether it matches, decides if it does;
// but it never allows, and its approval is given once. The reason holds nothing of the
// arguments.
func (e *evaluation) undecided(u *rule) policy.Decision {
	d := e.decide(u)
	switch d.Effect {
	case policy.Deny:
		d.Reason = fmt.Sprintf("The policy could not judge this call, so it is forbidden (rule %q).", u.name)
		return d
	case policy.Allow: // also to a person who may approve what they composed: they are asked
		d = policy.Decision{Effect: policy.Ask, Rule: u.name}
	}
	d.Reason = fmt.Sprintf("The policy could not judge this call, so it has to be approved (rule %q).", u.name)
	d.Offer = []policy.Scope{policy.Once}
	return d
}

// stricter is the weakest decision that is no weaker than d, of one rule, and floor, of
// the rules before it that cannot be evaluated. Of two that are alike it is d.
func stricter(floor *policy.Decision, d policy.Decision) policy.Decision {
	switch {
	case floor == nil || d.Effect == policy.Deny:
		return d
	case d.Effect == policy.Allow || d.Assign.IsZero() && !floor.Assign.IsZero():
		return *floor
	case !floor.Assign.IsZero() && floor.Assign != d.Assign:
		return policy.Decision{Effect: policy.Deny, Rule: floor.Rule, Reason: fmt.Sprintf(
			"The policy could not judge this call, so it is forbidden: rules %q and %q name different approvers, and nobody can tell which of them holds.",
			floor.Rule, d.Rule)}
	case floor.Other && !d.Other:
		return *floor
	}
	d.Offer = []policy.Scope{policy.Once}
	return d
}
