package rules

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/parley-mcp/parley/policy"
)

// noWeaker reports whether x protects at least as well as y: everybody who may let the
// call go under x may do so under y. The one exception is by definition: an approver that
// a rule names counts for more than the asker.
func noWeaker(x, y policy.Decision) bool {
	switch {
	case x.Effect == policy.Deny || y.Effect == policy.Allow:
		return true
	case x.Effect == policy.Allow || y.Effect == policy.Deny:
		return false
	case y.Assign == policy.Assignee{}:
		return true
	}
	return x.Assign == y.Assign && (x.Other || !y.Other)
}

// oracle decides with all rules at once: it lets those of which nobody knows match and
// not match in every combination, and takes the weakest of all decisions there are that
// is no weaker than what comes out of any. Its second result are the rules that may be
// said to have decided.
func oracle(t *rapid.T, all []oracleRule, in oracleInput) (policy.Decision, []string) {
	var unsure []oracleRule
	sure, err := policy.Default().Call(t.Context(), &in.Input)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		truth := r.matches(in)
		if truth == failed {
			unsure = append(unsure, r)
		}
		if truth == isTrue {
			sure = r.decision(in, true)
			break
		}
	}
	if len(unsure) == 0 {
		return sure, []string{sure.Rule}
	}
	var outcomes []policy.Decision
	for combination := range 1 << len(unsure) {
		outcome := sure
		for i, r := range slices.Backward(unsure) {
			if combination&(1<<i) != 0 {
				outcome = r.decision(in, false)
			}
		}
		outcomes = append(outcomes, outcome)
	}
	once := []policy.Scope{policy.Once}
	every := []policy.Decision{{Effect: policy.Ask, Offer: once}, {Effect: policy.Deny}}
	for _, name := range []string{"finance", "it", "@ada", "@bob"} {
		every = append(every,
			policy.Decision{Effect: policy.Ask, Assign: assignee(name), Offer: once},
			policy.Decision{Effect: policy.Ask, Assign: assignee(name), Other: true, Offer: once})
	}
	safe := slices.DeleteFunc(slices.Clone(every), func(d policy.Decision) bool {
		return slices.ContainsFunc(outcomes, func(o policy.Decision) bool { return !noWeaker(d, o) })
	})
	weakest := slices.IndexFunc(safe, func(d policy.Decision) bool {
		return !slices.ContainsFunc(safe, func(other policy.Decision) bool { return !noWeaker(other, d) })
	})
	if weakest < 0 {
		t.Fatalf("none of %+v is the weakest", safe)
	}
	var by []string
	for _, o := range outcomes {
		// Where rules name different approvers, any of them may be said to deny.
		if d := safe[weakest]; noWeaker(o, d) && noWeaker(d, o) || d.Effect == policy.Deny && o.Assign != (policy.Assignee{}) {
			by = append(by, o.Rule)
		}
	}
	return safe[weakest], by
}

// unsureProperty is referenceProperty where most rules cannot be evaluated and most name
// an approver, which is rare among all policies.
func unsureProperty(t *rapid.T) {
	all := make([]oracleRule, rapid.IntRange(2, 6).Draw(t, "rules"))
	var b strings.Builder
	b.WriteString("calls:\n")
	for i := range all {
		r := oracleRule{name: "r" + strconv.Itoa(i), then: rapid.SampledFrom([]policy.Effect{policy.Ask, policy.Ask, policy.Ask, policy.Ask, policy.Ask, policy.Allow, policy.Deny}).Draw(t, "then")}
		is := rapid.SampledFrom([]truth{failed, failed, failed, isFalse, isTrue}).Draw(t, "truth")
		r.when = &oracleExpr{[]string{"trusted && !trusted", "trusted || !trusted", "arguments.text > 1"}[is], is == failed, func(oracleInput) truth { return is }}
		if r.then == policy.Ask && rapid.IntRange(0, 3).Draw(t, "assigned") > 0 {
			r.drawApprover(t)
		}
		all[i] = r
		b.WriteString(r.yaml())
	}
	parsed, err := Parse("policy.yaml", []byte(b.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	in := drawInput(t)
	in.Arguments = json.RawMessage(`{"text":"5000"}`)
	agree(t, parsed, all, in, b.String())
}

func TestUnsureAgainstReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, unsureProperty)
}

func FuzzUnsureAgainstReference(f *testing.F) { f.Fuzz(rapid.MakeFuzz(unsureProperty)) }
