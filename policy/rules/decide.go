package rules

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/plain"
	"github.com/parley-mcp/parley/policy"
)

// maxName bounds a name or a conversation that rules are compared with, in
// bytes. What is longer is denied.
const maxName = 4096

// ruleLimit is the name that a decision has if its input is over a bound.
const ruleLimit = "default/limit"

var byDefault = policy.Default()

// Call decides by the first rule that matches, else as policy.Default does. It
// returns no error.
func (r *Rules) Call(ctx context.Context, in *policy.Input) (policy.Decision, error) {
	return r.call(ctx, in, nil)
}

// Question decides by the first rule that matches, else as policy.Default does.
// It returns no error.
func (r *Rules) Question(ctx context.Context, in *policy.Input, q policy.Question) (policy.Showing, error) {
	return r.question(ctx, in, q, nil)
}

func (r *Rules) call(ctx context.Context, in *policy.Input, tell func(Step)) (policy.Decision, error) {
	if tooLong(in) {
		return policy.Decision{Effect: policy.Deny, Rule: ruleLimit, Reason: "The name of the tool, server or conversation is too long to be judged."}, nil
	}
	e := evaluation{in: in, tell: tell}
	var floor *policy.Decision // what the rules that cannot be evaluated ask for
	for _, u := range r.calls {
		switch e.rule(u) {
		case matched:
			return stricter(floor, e.decide(u)), nil
		case unknown:
			d := stricter(floor, e.undecided(u))
			if d.Effect == policy.Deny {
				return d, nil
			}
			floor = &d
		}
	}
	d, err := byDefault.Call(ctx, in)
	e.told(Step{Rule: d.Rule, Outcome: Matched, Why: "no rule of the file matches"})
	return stricter(floor, d), err
}

func (r *Rules) question(ctx context.Context, in *policy.Input, q policy.Question, tell func(Step)) (policy.Showing, error) {
	if tooLong(in) || len(q.Domain) > maxName {
		return policy.Showing{Rule: ruleLimit, Reason: "The name of the tool, server, conversation or domain is too long to be judged."}, nil
	}
	e := evaluation{in: in, question: &q, tell: tell}
	for _, u := range r.questions {
		switch e.rule(u) {
		case matched:
			s := policy.Showing{Show: u.then == show, Rule: u.name, Reason: u.reason}
			if s.Reason == "" {
				s.Reason = fmt.Sprintf("The policy shows this question (rule %q).", u.name)
				if !s.Show {
					s.Reason = fmt.Sprintf("The policy does not show this question (rule %q).", u.name)
				}
			}
			return s, nil
		case unknown:
			return policy.Showing{Rule: u.name, Reason: fmt.Sprintf("The policy could not judge this question, so it is not shown (rule %q).", u.name)}, nil
		}
	}
	s, err := byDefault.Question(ctx, in, q)
	e.told(Step{Rule: s.Rule, Outcome: Matched, Why: "no rule of the file matches"})
	return s, err
}

func tooLong(in *policy.Input) bool {
	return len(in.Name) > maxName || len(in.Server) > maxName || len(in.Conversation) > maxName
}

// An evaluation is the work on one input. Arguments are decoded once, and only
// if a rule looks at them.
type evaluation struct {
	in       *policy.Input
	question *policy.Question
	tell     func(Step) // nil: nobody wants to know

	vars    map[string]any
	argErr  error
	decoded bool
	cost    uint64
}

type outcome int

const (
	skipped outcome = iota
	matched
	unknown // the rule can be said neither to match nor not to match
)

func (e *evaluation) told(s Step) {
	if e.tell != nil {
		e.tell(s)
	}
}

// rule reports whether u matches. The conditions that cost little come first.
func (e *evaluation) rule(u *rule) outcome {
	what, why := e.judge(u)
	if e.tell != nil {
		names := map[outcome]Outcome{skipped: Skipped, matched: Matched, unknown: Unknown}
		e.tell(Step{Rule: u.name, Line: u.line, Outcome: names[what], Why: why()})
	}
	return what
}

// judge returns what becomes of u and a way to say why, which costs more than
// the judgement and is seldom wanted.
func (e *evaluation) judge(u *rule) (outcome, func() string) {
	if why := e.mismatch(u); why != nil {
		return skipped, why
	}
	if len(u.domains) > 0 {
		domain := e.question.Domain
		if domain == "" {
			return unknown, func() string { return "domain: nobody can tell where the address leads" }
		}
		if !slices.ContainsFunc(u.domains, func(d domainPattern) bool { return d.match(domain) }) {
			return skipped, func() string {
				return fmt.Sprintf("domain: %s is not within %s", quoted(domain), either(u.domainTexts))
			}
		}
	}
	if u.when == nil {
		return matched, func() string {
			if u.unconditional() {
				return "it has no conditions"
			}
			return "all its conditions hold"
		}
	}
	holds, err := e.when(u.when)
	if err != nil {
		return unknown, func() string { return "it cannot be evaluated: " + err.Error() }
	}
	what := skipped
	if holds {
		what = matched
	}
	return what, func() string { return fmt.Sprintf("when: %s is %t", plain.Line(u.whenText, 200), holds) }
}

// mismatch returns a way to say which condition does not hold; nil if all do,
// as far as they need no expression and no domain.
func (e *evaluation) mismatch(u *rule) func() string {
	in := e.in
	switch {
	case u.actor != "" && u.actor != in.Actor:
		return func() string { return fmt.Sprintf("actor: it is %s, not %s", in.Actor, u.actor) }
	case !u.server.match(in.Server):
		return func() string { return fmt.Sprintf("server: %s is not %s", quoted(in.Server), u.server) }
	case u.method != "" && u.method != in.Method:
		return func() string { return fmt.Sprintf("it is about %s, and this is %s", u.method, quoted(in.Method)) }
	case !u.subject.match(in.Name):
		return func() string {
			what := map[string]string{policy.ToolsCall: "tool", policy.PromptsGet: "prompt", policy.ResourcesRead: "resource"}[u.method]
			return fmt.Sprintf("%s: %s is not %s", what, quoted(in.Name), u.subject)
		}
	case u.trusted != nil && *u.trusted != in.Trusted:
		return func() string { return "trusted: it is " + strconv.FormatBool(in.Trusted) }
	case !u.conversation.match(in.Conversation):
		return func() string {
			return fmt.Sprintf("conversation: %s is not %s", quoted(in.Conversation), u.conversation)
		}
	case len(u.groups) > 0 && !slices.ContainsFunc(u.groups, func(g string) bool { return slices.Contains(in.Groups, g) }):
		return func() string { return "groups: the person is in none of " + strings.Join(u.groups, ", ") }
	}
	if len(u.hints) > 0 {
		hints := in.Hints()
		for _, h := range u.hints {
			if h.of(hints) != h.want {
				return func() string {
					s := fmt.Sprintf("annotations: %s is %t", h.name, !h.want)
					if !in.Trusted {
						s += ", since the server is not trusted"
					}
					return s
				}
			}
		}
	}
	q := e.question
	switch {
	case u.mode != "" && u.mode != q.Mode:
		return func() string { return fmt.Sprintf("mode: it is %s, not %s", q.Mode, u.mode) }
	case len(u.domains) > 0 && q.Mode != inbox.URL:
		return func() string { return fmt.Sprintf("domain: a question in %s mode has none", q.Mode) }
	}
	return nil
}

var errAllCost = errors.New("the rules before it took all the work that one decision may take")

func (e *evaluation) when(x *expr) (bool, error) {
	if e.vars == nil {
		e.vars = variables(e.in, e.question)
	}
	if x.reads {
		if !e.decoded {
			e.decoded = true
			e.vars[argumentsVar], e.argErr = celArguments(e.in.Arguments)
		}
		if e.argErr != nil {
			return false, e.argErr
		}
	}
	if e.cost >= maxAllCost {
		return false, errAllCost
	}
	holds, cost, err := x.eval(e.vars)
	e.cost += cost + 1
	return holds, err
}

// variables are what expressions see, but for the arguments.
func variables(in *policy.Input, q *policy.Question) map[string]any {
	h := in.Hints()
	groups := in.Groups
	if groups == nil {
		groups = []string{}
	}
	vars := map[string]any{
		"actor":             string(in.Actor),
		"principal.issuer":  in.Principal.Issuer,
		"principal.tenant":  in.Principal.Tenant,
		"principal.subject": in.Principal.Subject,
		"groups":            groups,
		"conversation":      in.Conversation,
		"server":            in.Server,
		"trusted":           in.Trusted,
		"method":            in.Method,
		"name":              in.Name,
		"phase":             string(in.Phase),
	}
	for _, a := range annotations {
		vars["annotations."+a.name] = a.of(h)
	}
	if q != nil {
		vars["mode"], vars["domain"] = string(q.Mode), q.Domain
	}
	return vars
}

// decide is the decision of a rule that matches.
func (e *evaluation) decide(u *rule) policy.Decision {
	d := policy.Decision{Effect: policy.Effect(u.then), Rule: u.name, Reason: u.reason}
	switch d.Effect {
	case policy.Allow:
		d.Reason = or(d.Reason, fmt.Sprintf("The policy allows this call (rule %q).", u.name))
	case policy.Deny:
		d.Reason = or(d.Reason, fmt.Sprintf("The policy forbids this call (rule %q).", u.name))
	case policy.Ask:
		d = e.ask(d, u)
		// What a person composed is its own approval, if they are who would give it.
		if e.in.Actor == inbox.Person && d.MayApprove(e.in.Principal, e.in.Principal, e.in.Groups) {
			return policy.Decision{Effect: policy.Allow, Rule: u.name, Reason: "The person who composed this call is who may approve it."}
		}
		d.Reason = or(d.Reason, fmt.Sprintf("The policy wants this call to be approved (rule %q).", u.name))
	}
	return d
}

// ask completes a decision that asks.
func (e *evaluation) ask(d policy.Decision, u *rule) policy.Decision {
	d.Offer = slices.Clone(u.offer)
	if e.in.Method != policy.ToolsCall { // only tools have something that a standing approval can hold on to
		d.Offer = []policy.Scope{policy.Once}
	}
	if u.assign.present {
		d.Assign, d.Other = u.assign.resolve(e.in.Principal), u.other
	}
	if d.Other && d.Assign.Principal == e.in.Principal {
		return policy.Decision{Effect: policy.Deny, Rule: u.name,
			Reason: "The policy wants another person's approval, and names nobody but the one who asks."}
	}
	return d
}

func or(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}

func quoted(s string) string { return strconv.Quote(plain.Line(s, 100)) }
