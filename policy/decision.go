package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/parley-mcp/parley/inbox"
)

// An Effect is what a policy wants done with a call.
type Effect string

const (
	Allow Effect = "allow" // send it
	Ask   Effect = "ask"   // send it once somebody who may has approved it
	Deny  Effect = "deny"  // do not send it; nobody can approve it
)

// A Scope is how much one approval covers.
type Scope string

const (
	Once         Scope = "once"         // this call, with these arguments
	Conversation Scope = "conversation" // exactly this tool, in this conversation
	Always       Scope = "always"       // exactly this tool, in all conversations of the principal
)

// A Decision is what a policy says about a call.
type Decision struct {
	Effect Effect
	Rule   string // the name of the rule that decided
	Reason string // one plain sentence for people

	// Assign names who approves (Ask only). The zero value is the principal of
	// the call.
	Assign Assignee
	// Other says that whoever approves has to be another person than the call's
	// principal, even if Assign includes them (Ask only, and only with Assign).
	Other bool
	// Offer lists what an approver may choose (Ask only). It always has Once, and
	// nothing else with Assign: who answers for others looks at each call.
	Offer []Scope
}

// An Assignee is a person or the members of a group; at most one of both is set.
type Assignee struct {
	Principal inbox.Principal
	// Group is a group of the issuer and tenant of the call's principal. A group
	// of the same name elsewhere is another group.
	Group string
}

// IsZero reports whether nobody in particular is named.
func (a Assignee) IsZero() bool { return a == Assignee{} }

// Check says what is wrong with a decision. A host treats one that is wrong as
// an error of the policy: nothing is sent.
func (d Decision) Check() error {
	switch d.Effect {
	case Allow, Deny:
		if !d.Assign.IsZero() || d.Other || len(d.Offer) > 0 {
			return fmt.Errorf("policy: decision %q with an approval", d.Effect)
		}
		return nil
	case Ask:
	default:
		return fmt.Errorf("policy: %q is no effect", string(d.Effect))
	}
	zero := inbox.Principal{}
	switch p := d.Assign.Principal; {
	case p != zero && (p.Issuer == "" || p.Subject == ""):
		return errors.New("policy: an approval is assigned to a person without issuer or subject")
	case p != zero && d.Assign.Group != "":
		return errors.New("policy: an approval is assigned to a person and a group")
	case d.Other && d.Assign.IsZero():
		return errors.New("policy: another person has to approve, and nobody is named")
	case !slices.Contains(d.Offer, Once):
		return errors.New("policy: an approval that cannot be given once")
	case len(d.Offer) > 1 && !d.Assign.IsZero():
		return errors.New("policy: an assigned approval covers one call")
	}
	for _, s := range d.Offer {
		if s != Once && s != Conversation && s != Always {
			return fmt.Errorf("policy: %q is no scope", string(s))
		}
	}
	return nil
}

// MayApprove reports whether approver, who is in the given groups, may decide
// the approval of a call of asker. Whoever may approve may also refuse.
func (d Decision) MayApprove(asker, approver inbox.Principal, groups []string) bool {
	if d.Effect != Ask || d.Other && approver == asker {
		return false
	}
	switch {
	case d.Assign.Group != "":
		return approver.Issuer == asker.Issuer && approver.Tenant == asker.Tenant &&
			slices.Contains(groups, d.Assign.Group)
	case d.Assign.Principal != inbox.Principal{}:
		return approver == d.Assign.Principal
	}
	return approver == asker
}

// Offers reports whether an approver may choose s.
func (d Decision) Offers(s Scope) bool { return d.Effect == Ask && slices.Contains(d.Offer, s) }
