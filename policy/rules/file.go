package rules

import (
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"

	"github.com/parley-mcp/parley/policy"
)

const (
	callsKey     = "calls"
	questionsKey = "questions"
	casesKey     = "cases"
	policyKey    = "policy"
)

// Rules are a validated policy file. They are a [policy.Policy], never change,
// and are safe for concurrent use.
type Rules struct {
	calls, questions []*rule
	cases            []Case
	digest           string
}

var _ policy.Policy = (*Rules)(nil)

// Load reads and validates a policy file. Mistakes in it are [Error]s, joined.
func Load(path string) (*Rules, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// readFile reads at most one byte more than a file may have.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the policy: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading the policy: %w", err)
	}
	return data, nil
}

// Parse validates the content of a policy file. The file's name is for messages.
func Parse(file string, data []byte) (*Rules, error) {
	r := &reader{file: file}
	out := &Rules{digest: digest(data)}
	root := r.document(data)
	if root == nil {
		return nil, r.err()
	}
	envs, err := environments()
	if err != nil {
		return nil, err
	}
	names := map[string]int{}
	empty := true
	rules := func(k kind, into *[]*rule) field {
		return field{k.key, func(v *yaml.Node) {
			empty = false
			*into = r.rules(v, k, names)
		}}
	}
	var cases *yaml.Node
	ok := r.mapping(root, "a policy",
		rules(kind{callsKey, []string{string(policy.Allow), string(policy.Ask), string(policy.Deny)}, envs.call}, &out.calls),
		rules(kind{questionsKey, []string{show, refuse}, envs.question}, &out.questions),
		field{casesKey, func(v *yaml.Node) { cases = v }})
	if ok && empty {
		r.failf(root, "", "a policy has rules about calls, about questions, or both")
	}
	if cases != nil {
		out.cases = r.cases(cases, names)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return out, nil
}

func (r *reader) rules(n *yaml.Node, k kind, names map[string]int) (list []*rule) {
	if n.Kind != yaml.SequenceNode {
		r.failf(n, "", "%s is a list of rules", k.key)
		return nil
	}
	if len(n.Content) > maxRules {
		r.failf(n, "", "%s has more than %d rules", k.key, maxRules)
		return nil
	}
	var last *rule
	for _, item := range n.Content {
		u := r.rule(item, k)
		if first, twice := names[u.name]; twice && u.name != "" {
			r.failf(item, "", "the name %q is that of the rule in line %d", u.name, first)
		} else if u.name != "" {
			names[u.name] = u.line
		}
		if last != nil {
			r.failf(item, "", "this rule is never reached: rule %q in line %d matches everything", last.name, last.line)
		} else if u.unconditional() && len(r.errs) == 0 {
			last = u
		}
		list = append(list, u)
	}
	return list
}

// Digest identifies the content of the file, for a record of which policy
// decided.
func (r *Rules) Digest() string { return r.digest }

// Len returns how many rules there are about calls and about questions.
func (r *Rules) Len() (calls, questions int) { return len(r.calls), len(r.questions) }
