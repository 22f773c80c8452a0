package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"go.yaml.in/yaml/v3"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/plain"
	"github.com/parley-mcp/parley/policy"
)

// Effects of rules about questions; those about calls are policy.Effect.
const (
	show   = "show"
	refuse = "refuse"
)

// A rule is one entry of the file. What it does not mention matches everything.
type rule struct {
	name string
	line int

	actor        inbox.Actor
	server       globs
	method       string // from which of tool, prompt and resource is there
	subject      globs  // names of the tool, the prompt or the resource
	trusted      *bool
	hints        []hint
	groups       []string
	conversation globs
	mode         inbox.Mode      // questions only
	domains      []domainPattern // questions only
	domainTexts  []string
	when         *expr
	whenText     string

	then   string
	assign assignment
	other  bool
	offer  []policy.Scope
	reason string
}

// globs matches what one of its patterns matches; without patterns, everything.
type globs struct {
	patterns []glob
	texts    []string
}

func (g globs) match(name string) bool {
	return len(g.patterns) == 0 || slices.ContainsFunc(g.patterns, func(p glob) bool { return p.match(name) })
}

func (g globs) String() string { return either(g.texts) }

// A hint is a wanted value of an annotation.
type hint struct {
	name string
	want bool
	of   func(policy.Hints) bool
}

// An assignment names who approves. A person without issuer and tenant has the
// asker's.
type assignment struct {
	group           string
	subject         string
	issuer, tenant  string
	hasTenant       bool
	person, present bool
}

// kind is what differs between rules about calls and rules about questions.
type kind struct {
	key     string
	effects []string
	env     *cel.Env
}

// rule reads one entry of a list of rules.
func (r *reader) rule(n *yaml.Node, k kind) *rule {
	out := &rule{line: n.Line}
	var whenNode, thenNode, assignNode, approverNode, offerNode *yaml.Node
	subject := func(method, key string) field {
		return field{key, func(v *yaml.Node) {
			if out.method != "" {
				r.failf(v, "write two rules", "a rule is about tools, prompts or resources")
				return
			}
			out.method = method
			out.subject = r.globs(v, key)
		}}
	}
	fields := []field{
		{"name", func(v *yaml.Node) { out.name = r.line(v, "the name of a rule") }},
		{"actor", func(v *yaml.Node) {
			out.actor = inbox.Actor(r.word(v, "actor", string(inbox.Person), string(inbox.Model)))
		}},
		{"server", func(v *yaml.Node) { out.server = r.globs(v, "server") }},
		subject(policy.ToolsCall, "tool"),
		subject(policy.PromptsGet, "prompt"),
		subject(policy.ResourcesRead, "resource"),
		{"trusted", func(v *yaml.Node) { out.trusted = r.flag(v, "trusted") }},
		{"annotations", func(v *yaml.Node) { out.hints = r.hints(v) }},
		{"groups", func(v *yaml.Node) { out.groups, _ = r.texts(v, "groups") }},
		{"conversation", func(v *yaml.Node) { out.conversation = r.globs(v, "conversation") }},
		{"when", func(v *yaml.Node) { whenNode = v }},
		{"then", func(v *yaml.Node) { thenNode, out.then = v, r.word(v, "then", k.effects...) }},
		{"reason", func(v *yaml.Node) { out.reason = r.line(v, "reason") }},
	}
	if k.key == callsKey {
		fields = append(fields,
			field{"assign", func(v *yaml.Node) { assignNode, out.assign = v, r.assignment(v) }},
			field{"approver", func(v *yaml.Node) { approverNode, out.other = v, r.word(v, "approver", "anybody", "other") == "other" }},
			field{"offer", func(v *yaml.Node) { offerNode, out.offer = v, r.offer(v) }})
	} else {
		fields = append(fields,
			field{"mode", func(v *yaml.Node) {
				out.mode = inbox.Mode(r.word(v, "mode", string(inbox.Form), string(inbox.URL)))
			}},
			field{"domain", func(v *yaml.Node) { out.domains, out.domainTexts = r.domains(v) }})
	}
	if !r.mapping(n, "a rule", fields...) {
		return out
	}
	if out.name == "" {
		r.failf(n, "the name stands in the audit trail and in tests", "a rule without a name")
	}
	if thenNode == nil {
		r.failf(n, "then: "+either(k.effects), "a rule without an effect")
	}
	if whenNode != nil {
		out.when, out.whenText = r.expr(whenNode, k.env)
	}
	if len(out.domains) > 0 && out.mode == inbox.Form {
		r.failf(n, "", "a question in form mode leads to no domain")
	}
	if k.key == callsKey {
		r.approval(out, assignNode, approverNode, offerNode, thenNode)
	}
	return out
}

// approval checks the keys that are about an approval card.
func (r *reader) approval(out *rule, assign, approver, offer, then *yaml.Node) {
	if out.then != string(policy.Ask) {
		for _, n := range []*yaml.Node{assign, approver, offer} {
			if n != nil && out.then != "" {
				r.failf(n, "", "assign, approver and offer are for rules that ask")
			}
		}
		return
	}
	switch {
	case out.other && assign == nil:
		r.failf(approver, "assign: {group: ...}", "another person has to approve, and nobody is named")
	case assign != nil && (slices.Contains(out.offer, policy.Conversation) || slices.Contains(out.offer, policy.Always)):
		r.failf(offer, "leave offer out", "an approval that is assigned covers one call")
	case assign == nil && out.actor == inbox.Person:
		r.failf(then, "assign it to somebody else", "what a person composed is its own approval: this rule would ask them what they have said")
	}
	if len(out.offer) > 0 {
		return
	}
	out.offer = []policy.Scope{policy.Once}
	if assign == nil {
		out.offer = append(out.offer, policy.Conversation, policy.Always)
	}
}

func (r *reader) globs(n *yaml.Node, what string) globs {
	var g globs
	texts, nodes := r.texts(n, what)
	for i, text := range texts {
		p, err := compileGlob(text)
		if err != nil {
			r.failf(nodes[i], "", "%s: %v", what, err)
			continue
		}
		g.patterns, g.texts = append(g.patterns, p), append(g.texts, fmt.Sprintf("%q", text))
	}
	return g
}

func (r *reader) domains(n *yaml.Node) (list []domainPattern, shown []string) {
	texts, nodes := r.texts(n, "domain")
	for i, text := range texts {
		d, err := compileDomain(text)
		if err != nil {
			r.failf(nodes[i], "", "domain: %s", plain.Line(err.Error(), maxText))
			continue
		}
		list, shown = append(list, d), append(shown, fmt.Sprintf("%q", text))
	}
	return list, shown
}

// annotations are the names of hints, as MCP has them without their "Hint".
var annotations = []struct {
	name string
	of   func(policy.Hints) bool
}{
	{"readOnly", func(h policy.Hints) bool { return h.ReadOnly }},
	{"destructive", func(h policy.Hints) bool { return h.Destructive }},
	{"idempotent", func(h policy.Hints) bool { return h.Idempotent }},
	{"openWorld", func(h policy.Hints) bool { return h.OpenWorld }},
}

func (r *reader) hints(n *yaml.Node) (hints []hint) {
	var fields []field
	for _, a := range annotations {
		fields = append(fields, field{a.name, func(v *yaml.Node) {
			if want := r.flag(v, a.name); want != nil {
				hints = append(hints, hint{a.name, *want, a.of})
			}
		}})
	}
	r.mapping(n, "annotations", fields...)
	return hints
}

func (r *reader) assignment(n *yaml.Node) assignment {
	a := assignment{present: true}
	person := func(v *yaml.Node) {
		a.person = true
		ok := r.mapping(v, "a person",
			field{"issuer", func(v *yaml.Node) { a.issuer, _ = r.text(v, "issuer") }},
			field{"tenant", func(v *yaml.Node) { a.tenant, a.hasTenant = r.text(v, "tenant") }},
			field{"subject", func(v *yaml.Node) { a.subject, _ = r.text(v, "subject") }})
		if ok && a.subject == "" {
			r.failf(v, "person: {subject: ...}", "a person without a subject")
		}
	}
	ok := r.mapping(n, "assign",
		field{"group", func(v *yaml.Node) { a.group, _ = r.text(v, "group") }},
		field{"person", person})
	if ok && (a.group != "") == a.person {
		r.failf(n, "assign: {group: ...} or assign: {person: {subject: ...}}", "assign names a group or a person")
	}
	return a
}

func (r *reader) offer(n *yaml.Node) (scopes []policy.Scope) {
	texts, nodes := r.texts(n, "offer")
	for i, text := range texts {
		switch s := policy.Scope(text); {
		case s != policy.Once && s != policy.Conversation && s != policy.Always:
			r.failf(nodes[i], "", "offer is once, conversation or always, not %q", plain.Line(text, 60))
		case slices.Contains(scopes, s):
			r.failf(nodes[i], "", "%q is here for the second time", text)
		default:
			scopes = append(scopes, s)
		}
	}
	if len(texts) > 0 && !slices.Contains(scopes, policy.Once) {
		r.failf(n, "add once", "an approval can always be given once")
	}
	return scopes
}

func (r *reader) expr(n *yaml.Node, env *cel.Env) (*expr, string) {
	text, ok := r.text(n, "when")
	if !ok {
		return nil, ""
	}
	x, err := compileExpr(env, text)
	if err != nil {
		e := &Error{File: r.file, Line: n.Line, Column: n.Column, Text: "when: " + plain.Line(err.Error(), maxText)}
		if at, ok := errors.AsType[*exprError](err); ok {
			e.Line, e.Column = r.within(n, at.line, at.column)
		}
		r.add(e)
	}
	return x, strings.TrimSpace(text)
}

// unconditional reports whether no later rule can be reached.
func (u *rule) unconditional() bool {
	return u.actor == "" && len(u.server.patterns) == 0 && u.method == "" && u.trusted == nil && len(u.hints) == 0 &&
		len(u.groups) == 0 && len(u.conversation.patterns) == 0 && u.mode == "" && len(u.domains) == 0 && u.when == nil
}

func (a assignment) resolve(asker inbox.Principal) policy.Assignee {
	if !a.person {
		return policy.Assignee{Group: a.group}
	}
	p := inbox.Principal{Issuer: a.issuer, Tenant: a.tenant, Subject: a.subject}
	if a.issuer == "" {
		p.Issuer = asker.Issuer
		if !a.hasTenant {
			p.Tenant = asker.Tenant
		}
	}
	return policy.Assignee{Principal: p}
}
