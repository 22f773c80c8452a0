package rules

import (
	"context"

	"github.com/parley-mcp/parley/policy"
)

// An Outcome says what became of one rule.
type Outcome string

const (
	Skipped Outcome = "skipped" // it does not match
	Matched Outcome = "matched" // it decides
	Unknown Outcome = "unknown" // it can be said neither to match nor not to: it never allows
)

// A Step is what became of one rule on the way to a decision.
type Step struct {
	Rule    string  `json:"rule"`
	Line    int     `json:"line,omitempty"` // in the file; 0 for the default
	Outcome Outcome `json:"outcome"`
	// Why says which condition decided that. It may quote names and the text of
	// the rule; of the arguments it says what CEL says, which may quote them: it
	// is for whoever may see the call, and not for a log.
	Why string `json:"why"`
}

// An Explanation is a decision with the way to it.
type Explanation struct {
	Decision policy.Decision // of ExplainCall
	Showing  policy.Showing  // of ExplainQuestion
	Line     int             // of the rule that decided; 0 for the default
	Steps    []Step          // of each rule that was looked at, in order
}

// ExplainCall decides as [Rules.Call] does and says why.
func (r *Rules) ExplainCall(ctx context.Context, in *policy.Input) Explanation {
	var x Explanation
	x.Decision, _ = r.call(ctx, in, x.add) // no error is possible
	x.Line = r.line(x.Decision.Rule)
	return x
}

// ExplainQuestion decides as [Rules.Question] does and says why.
func (r *Rules) ExplainQuestion(ctx context.Context, in *policy.Input, q policy.Question) Explanation {
	var x Explanation
	x.Showing, _ = r.question(ctx, in, q, x.add) // no error is possible
	x.Line = r.line(x.Showing.Rule)
	return x
}

func (x *Explanation) add(s Step) { x.Steps = append(x.Steps, s) }

// line finds a rule of the file: no two have one name.
func (r *Rules) line(name string) int {
	for _, list := range [][]*rule{r.calls, r.questions} {
		for _, u := range list {
			if u.name == name {
				return u.line
			}
		}
	}
	return 0
}
