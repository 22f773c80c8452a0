package rules

import (
	"context"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/parley-mcp/parley/internal/plain"
	"github.com/parley-mcp/parley/policy"
)

// A Case is a request with the decision that is expected.
type Case struct {
	Request

	Name string
	Line int
	Want string // allow, ask or deny; show or refuse
	Rule string // that has to decide; empty: any
}

// A Result is what became of a case.
type Result struct {
	Case
	OK      bool
	Got     string // the decision
	By      string // the name of the rule that decided
	Reason  string
	Explain Explanation
}

// Cases returns how many cases the file has.
func (r *Rules) Cases() int { return len(r.cases) }

// Test runs the cases of the file.
func (r *Rules) Test(ctx context.Context) []Result {
	var results []Result
	for _, c := range r.cases {
		res := Result{Case: c}
		if c.Question != nil {
			res.Explain = r.ExplainQuestion(ctx, &c.Input, *c.Question)
			s := res.Explain.Showing
			res.Got, res.By, res.Reason = refuse, s.Rule, s.Reason
			if s.Show {
				res.Got = show
			}
		} else {
			res.Explain = r.ExplainCall(ctx, &c.Input)
			d := res.Explain.Decision
			res.Got, res.By, res.Reason = string(d.Effect), d.Rule, d.Reason
		}
		res.OK = res.Got == c.Want && (c.Rule == "" || c.Rule == res.By)
		results = append(results, res)
	}
	return results
}

// Untested returns the names of the rules that decided none of the results.
func (r *Rules) Untested(results []Result) (names []string) {
	decided := map[string]bool{}
	for _, res := range results {
		decided[res.By] = true
	}
	for _, list := range [][]*rule{r.calls, r.questions} {
		for _, u := range list {
			if !decided[u.name] {
				names = append(names, u.name)
			}
		}
	}
	return names
}

// LoadCases reads a file to test: a policy with its cases, or a file of cases
// that names its policy:
//
//	policy: policy.yaml   # beside this file
//	cases: ...
func LoadCases(path string) (*Rules, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	r := &reader{file: path}
	root := r.document(data)
	if root == nil {
		return nil, r.err()
	}
	var of *yaml.Node
	for i := 0; root.Kind == yaml.MappingNode && i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == policyKey {
			of = root.Content[i+1]
		}
	}
	if of == nil {
		return Parse(path, data)
	}
	name, ok := r.text(of, "policy")
	if !ok {
		return nil, r.err()
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(path), name)
	}
	rules, err := Load(name)
	if err != nil {
		return nil, err
	}
	names := map[string]int{}
	for _, list := range [][]*rule{rules.calls, rules.questions} {
		for _, u := range list {
			names[u.name] = u.line
		}
	}
	var cases []Case
	r.mapping(root, "a file of cases",
		field{policyKey, func(*yaml.Node) {}},
		field{casesKey, func(v *yaml.Node) { cases = r.cases(v, names) }})
	if err := r.err(); err != nil {
		return nil, err
	}
	rules.cases = cases
	return rules, nil
}

// builtIn are the names of rules that no file has.
var builtIn = []string{policy.RulePerson, policy.RuleReadOnly, policy.RuleModel, policy.RuleShow, ruleLimit}

func (r *reader) cases(n *yaml.Node, names map[string]int) (cases []Case) {
	if n.Kind != yaml.SequenceNode {
		r.failf(n, "", "cases is a list")
		return nil
	}
	if len(n.Content) > maxCases {
		r.failf(n, "", "there are more than %d cases", maxCases)
		return nil
	}
	known := map[string]bool{}
	for name := range names {
		known[name] = true
	}
	for _, name := range builtIn {
		known[name] = true
	}
	for _, item := range n.Content {
		c := Case{Line: item.Line}
		var req *Request
		var want *yaml.Node
		fields := append([]field{
			{"name", func(v *yaml.Node) { c.Name = r.line(v, "the name of a case") }},
			{"want", func(v *yaml.Node) { want = v }},
			{"rule", func(v *yaml.Node) {
				c.Rule, _ = r.text(v, "rule")
				if c.Rule != "" && !known[c.Rule] {
					r.failf(v, "", "there is no rule %q", plain.Line(c.Rule, 60))
				}
			}},
		}, r.requestFields(func(q *Request) { req = q })...)
		if !r.mapping(item, "a case", fields...) {
			continue
		}
		switch {
		case c.Name == "":
			r.failf(item, "", "a case without a name")
		case req == nil:
			r.failf(item, "", "a case is about a call or a question")
		case want == nil:
			r.failf(item, "want: ...", "a case without the decision that is wanted")
		case req.Question != nil:
			c.Want = r.word(want, "want", show, refuse)
		default:
			c.Want = r.word(want, "want", string(policy.Allow), string(policy.Ask), string(policy.Deny))
		}
		if req != nil {
			c.Request = *req
		}
		cases = append(cases, c)
	}
	return cases
}
