package rules

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/policy"
)

// This file judges Rules by a second evaluator, which is slow and shares no code
// with the first: patterns are tried in every way, numbers are fractions of big
// integers, an expression is a tree with three values of truth, and the decision
// is looked up in the outcomes of all rules.

type truth int

const (
	isFalse truth = iota
	isTrue
	failed // there is no answer
)

func truthOf(b bool) truth {
	if b {
		return isTrue
	}
	return isFalse
}

// An oracleExpr is an expression: its text, and what it means.
type oracleExpr struct {
	text  string
	reads bool // it looks at the arguments
	eval  func(oracleInput) truth
}

// An oracleInput is an input as the oracle sees it.
type oracleInput struct {
	policy.Input
	args   map[string]string // raw JSON of each argument
	usable bool              // every number fits
}

func drawExpr(t *rapid.T, depth int) oracleExpr {
	kinds := []string{"compare", "compare", "has", "group", "trusted", "server"}
	if depth > 0 {
		kinds = append(kinds, "and", "or", "not", "and", "or", "not")
	}
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "compare":
		return drawComparison(t)
	case "has":
		name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "member")
		return oracleExpr{"has(arguments." + name + ")", true, func(in oracleInput) truth {
			_, ok := in.args[name]
			return truthOf(ok)
		}}
	case "group":
		group := rapid.SampledFrom([]string{"finance", "sales"}).Draw(t, "group")
		return oracleExpr{fmt.Sprintf("%q in groups", group), false, func(in oracleInput) truth {
			return truthOf(slices.Contains(in.Groups, group))
		}}
	case "trusted":
		return oracleExpr{"trusted", false, func(in oracleInput) truth { return truthOf(in.Trusted) }}
	case "server":
		return oracleExpr{`server == "bank"`, false, func(in oracleInput) truth { return truthOf(in.Server == "bank") }}
	case "not":
		x := drawExpr(t, depth-1)
		return oracleExpr{"!(" + x.text + ")", x.reads, func(in oracleInput) truth {
			switch x.eval(in) {
			case isTrue:
				return isFalse
			case isFalse:
				return isTrue
			}
			return failed
		}}
	default: // CEL: what decides the whole decides it, on whichever side the other failed
		x, y := drawExpr(t, depth-1), drawExpr(t, depth-1)
		op, decides := "&&", isFalse
		if kind == "or" {
			op, decides = "||", isTrue
		}
		return oracleExpr{"(" + x.text + " " + op + " " + y.text + ")", x.reads || y.reads, func(in oracleInput) truth {
			a, b := x.eval(in), y.eval(in)
			switch {
			case a == decides || b == decides:
				return decides
			case a == failed || b == failed:
				return failed
			}
			return 1 - decides
		}}
	}
}

func drawComparison(t *rapid.T) oracleExpr {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "member")
	op := rapid.SampledFrom([]string{"<", "<=", ">", ">=", "==", "!="}).Draw(t, "operator")
	literal := rapid.SampledFrom([]string{
		"0", "1", "100", "-1", "0.1", "1.5", "0.3", "1000.5", "9007199254740992", "9007199254740993", "9223372036854775807", "-9223372036854775808",
		"18446744073709551615u", `"x"`, "true",
	}).Draw(t, "literal")
	left, right := "arguments."+name, literal
	swapped := rapid.Bool().Draw(t, "swapped")
	if swapped {
		left, right = right, left
	}
	return oracleExpr{left + " " + op + " " + right, true, func(in oracleInput) truth {
		value, ok := in.args[name]
		if !ok {
			return failed // no such key
		}
		a, b := strings.TrimSuffix(literal, "u"), value
		if !swapped {
			a, b = b, a
		}
		return compareRaw(a, op, b)
	}}
}

// compareRaw compares two JSON scalars.
func compareRaw(a, op, b string) truth {
	x, xNumber := new(big.Rat).SetString(a)
	y, yNumber := new(big.Rat).SetString(b)
	kind := func(s string, number bool) string {
		switch {
		case number:
			return "number"
		case s == "true", s == "false":
			return "bool"
		case s == "null":
			return s
		}
		return "string"
	}
	var order int
	switch ka, kb := kind(a, xNumber), kind(b, yNumber); {
	case ka != kb || ka == "null":
		switch op {
		case "==":
			return isFalse
		case "!=":
			return isTrue
		}
		return failed // no such overload
	case ka == "number":
		order = x.Cmp(y)
	default: // "false" < "true", and quotes are on both sides of both texts
		order = strings.Compare(a, b)
	}
	switch op {
	case "<":
		return truthOf(order < 0)
	case "<=":
		return truthOf(order <= 0)
	case ">":
		return truthOf(order > 0)
	case ">=":
		return truthOf(order >= 0)
	case "==":
		return truthOf(order == 0)
	}
	return truthOf(order != 0)
}

// fits reports whether a number is one of 64 bits, or spelled as a double is.
func fits(text string) bool {
	value, ok := new(big.Rat).SetString(text)
	if !ok {
		return true // no number
	}
	if value.IsInt() && (value.Num().IsInt64() || value.Num().IsUint64()) {
		return true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return false
	}
	back, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'f', -1, 64))
	return ok && back.Cmp(value) == 0
}

// An oracleRule is one rule about calls.
type oracleRule struct {
	name    string
	actor   inbox.Actor
	server  []string
	tool    []string
	trusted *bool
	reads   *bool // annotations: {readOnly: ...}
	groups  []string
	when    *oracleExpr
	then    policy.Effect
	assign  string // a group, or "@" and a person's subject
	other   bool
	offer   []policy.Scope
}

func drawRule(t *rapid.T, name string) oracleRule {
	pattern := rapid.SampledFrom([]string{"bank", "ba*", "**", "pay", "pay_*", "files.*", "files.**", "**.read", "b?nk", "*a*"})
	maybe := func(label string) bool { return rapid.IntRange(0, 2).Draw(t, label) == 0 }
	r := oracleRule{name: name, then: rapid.SampledFrom([]policy.Effect{policy.Allow, policy.Ask, policy.Deny}).Draw(t, "then")}
	if maybe("has actor") {
		r.actor = rapid.SampledFrom([]inbox.Actor{inbox.Person, inbox.Model}).Draw(t, "actor")
	}
	if maybe("has server") {
		r.server = rapid.SliceOfN(pattern, 1, 2).Draw(t, "server")
	}
	if maybe("has tool") {
		r.tool = rapid.SliceOfN(pattern, 1, 3).Draw(t, "tool")
	}
	if maybe("has trusted") {
		b := rapid.Bool().Draw(t, "trusted")
		r.trusted = &b
	}
	if maybe("has readOnly") {
		b := rapid.Bool().Draw(t, "readOnly")
		r.reads = &b
	}
	if maybe("has groups") {
		r.groups = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"finance", "sales", "it"}), 1, 2, rapid.ID).Draw(t, "groups")
	}
	if rapid.Bool().Draw(t, "has when") {
		x := drawExpr(t, 2)
		r.when = &x
	}
	if r.then != policy.Ask {
		return r
	}
	if r.actor == inbox.Person || rapid.Bool().Draw(t, "assigned") {
		r.drawApprover(t)
	} else if rapid.Bool().Draw(t, "has offer") {
		r.offer = []policy.Scope{policy.Once, policy.Conversation}
	}
	return r
}

func (r *oracleRule) drawApprover(t *rapid.T) {
	r.assign = rapid.SampledFrom([]string{"finance", "it", "finance", "it", "@ada", "@bob"}).Draw(t, "assign")
	r.other = rapid.Bool().Draw(t, "other")
}

func (r *oracleRule) yaml() string {
	// JSON is YAML, and encoding/json knows how to quote.
	list := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	var b strings.Builder
	add := func(key, value string) { fmt.Fprintf(&b, "    %s: %s\n", key, value) }
	fmt.Fprintf(&b, "  - name: %s\n", r.name)
	if r.actor != "" {
		add("actor", string(r.actor))
	}
	if r.server != nil {
		add("server", list(r.server))
	}
	if r.tool != nil {
		add("tool", list(r.tool))
	}
	if r.trusted != nil {
		add("trusted", strconv.FormatBool(*r.trusted))
	}
	if r.reads != nil {
		add("annotations", fmt.Sprintf("{readOnly: %t}", *r.reads))
	}
	if r.groups != nil {
		add("groups", list(r.groups))
	}
	if r.when != nil {
		add("when", list(r.when.text))
	}
	add("then", string(r.then))
	if subject, isPerson := strings.CutPrefix(r.assign, "@"); isPerson {
		add("assign", "{person: {subject: "+subject+"}}")
	} else if r.assign != "" {
		add("assign", "{group: "+r.assign+"}")
	}
	if r.other {
		add("approver", "other")
	}
	if r.offer != nil {
		add("offer", list(r.offer))
	}
	return b.String()
}

func (r *oracleRule) everything() bool {
	return r.actor == "" && r.server == nil && r.tool == nil && r.trusted == nil && r.reads == nil && r.groups == nil && r.when == nil
}

func (r *oracleRule) matches(in oracleInput) truth {
	any := func(patterns []string, name string) bool {
		return patterns == nil || slices.ContainsFunc(patterns, func(p string) bool { return naiveGlob([]rune(p), []rune(name)) })
	}
	a := in.Annotations
	reads := in.Trusted && in.Method == "tools/call" && a.ReadOnly != nil && *a.ReadOnly && (a.Destructive == nil || !*a.Destructive)
	plain := (r.actor == "" || r.actor == in.Actor) &&
		any(r.server, in.Server) &&
		(r.tool == nil || in.Method == "tools/call" && any(r.tool, in.Name)) &&
		(r.trusted == nil || *r.trusted == in.Trusted) &&
		(r.reads == nil || *r.reads == reads) &&
		(r.groups == nil || slices.ContainsFunc(r.groups, func(g string) bool { return slices.Contains(in.Groups, g) }))
	switch {
	case !plain:
		return isFalse
	case r.when == nil:
		return isTrue
	case r.when.reads && !in.usable:
		return failed
	}
	return r.when.eval(in)
}

// decision is what the oracle expects, without texts.
func (r *oracleRule) decision(in oracleInput, certain bool) policy.Decision {
	d := policy.Decision{Effect: r.then, Rule: r.name}
	if r.then == policy.Allow && !certain {
		d.Effect = policy.Ask
	}
	if d.Effect != policy.Ask {
		return d
	}
	if r.assign == "@ada" && r.other { // who asks is ada
		return policy.Decision{Effect: policy.Deny, Rule: r.name}
	}
	d.Assign, d.Other, d.Offer = assignee(r.assign), r.other, []policy.Scope{policy.Once}
	switch {
	case !certain || r.assign != "" || in.Method != "tools/call":
	case r.offer != nil:
		d.Offer = r.offer
	default:
		d.Offer = []policy.Scope{policy.Once, policy.Conversation, policy.Always}
	}
	if in.Actor == inbox.Person && !r.other && (r.assign == "" || r.assign == "@ada" || slices.Contains(in.Groups, r.assign)) {
		if !certain {
			return policy.Decision{Effect: policy.Ask, Rule: r.name, Offer: []policy.Scope{policy.Once}}
		}
		return policy.Decision{Effect: policy.Allow, Rule: r.name}
	}
	return d
}

func assignee(name string) policy.Assignee {
	if subject, isPerson := strings.CutPrefix(name, "@"); isPerson {
		return policy.Assignee{Principal: inbox.Principal{Issuer: "https://id.example", Subject: subject}}
	}
	return policy.Assignee{Group: name}
}

func drawInput(t *rapid.T) oracleInput {
	in := oracleInput{args: map[string]string{}, usable: true}
	in.Phase = rapid.SampledFrom([]policy.Phase{policy.Compose, policy.Resume, policy.Deliver}).Draw(t, "phase")
	in.Actor = rapid.SampledFrom([]inbox.Actor{inbox.Person, inbox.Model}).Draw(t, "actor")
	in.Principal = inbox.Principal{Issuer: "https://id.example", Subject: "ada"}
	in.Groups = rapid.SliceOfDistinct(rapid.SampledFrom([]string{"finance", "sales", "it", "hr"}), rapid.ID).Draw(t, "groups")
	in.Server = rapid.SampledFrom([]string{"bank", "bunk", "ba.nk", "crm", "files"}).Draw(t, "server")
	in.Trusted = rapid.Bool().Draw(t, "trusted")
	in.Method = rapid.SampledFrom([]string{"tools/call", "tools/call", "tools/call", "prompts/get", "resources/read"}).Draw(t, "method")
	in.Name = rapid.SampledFrom([]string{"pay", "pay_all", "pay_a.b", "files.read", "files.a.read", "files.a/b", "bank", "read"}).Draw(t, "name")
	hint := rapid.SampledFrom([]*bool{nil, new(bool), func() *bool { b := true; return &b }()})
	in.Annotations = policy.Annotations{ReadOnly: hint.Draw(t, "readOnlyHint"), Destructive: hint.Draw(t, "destructiveHint")}
	var members []string
	for _, name := range []string{"a", "b", "c"} {
		value := rapid.OneOf(
			rapid.Custom(func(t *rapid.T) string { return drawNumber(t, "number") }),
			rapid.SampledFrom([]string{`"x"`, `"y"`, "true", "false", "null", ""})).Draw(t, name)
		if value == "" {
			continue
		}
		in.args[name] = value
		in.usable = in.usable && fits(value)
		members = append(members, fmt.Sprintf("%q:%s", name, value))
	}
	in.Arguments = json.RawMessage("{" + strings.Join(members, ",") + "}")
	return in
}

// referenceProperty: both evaluators agree on every policy and every call.
func referenceProperty(t *rapid.T) {
	all := make([]oracleRule, rapid.IntRange(1, 5).Draw(t, "rules"))
	var b strings.Builder
	b.WriteString("calls:\n")
	hidden := false
	for i := range all {
		hidden = hidden || i > 0 && all[i-1].everything()
		all[i] = drawRule(t, "r"+strconv.Itoa(i))
		b.WriteString(all[i].yaml())
	}
	parsed, err := Parse("policy.yaml", []byte(b.String()))
	if hidden != (err != nil) {
		t.Fatalf("a rule is hidden: %t, and Parse says %v\n%s", hidden, err, b.String())
	}
	if hidden {
		return
	}
	for range 4 {
		agree(t, parsed, all, drawInput(t), b.String())
	}
}

// agree: both evaluators say the same of one call.
func agree(t *rapid.T, parsed *Rules, all []oracleRule, in oracleInput, text string) {
	got, err := parsed.Call(t.Context(), &in.Input)
	if err != nil || got.Check() != nil {
		t.Fatalf("%v, %v\n%s", err, got.Check(), text)
	}
	want, by := oracle(t, all, in)
	if !slices.Contains(by, got.Rule) {
		t.Fatalf("%s\n%s %+v\nit is decided by %q, want one of %q", text, in.Arguments, in.Input, got.Rule, by)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(policy.Decision{}, "Reason", "Rule")); diff != "" {
		t.Fatalf("%s\n%s %+v\n(-oracle +rules)\n%s", text, in.Arguments, in.Input, diff)
	}
	if explained := parsed.ExplainCall(t.Context(), &in.Input); cmp.Diff(explained.Decision, got) != "" {
		t.Fatalf("explained as %+v, decided as %+v", explained.Decision, got)
	}
}

func TestAgainstReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, referenceProperty)
}

func FuzzAgainstReference(f *testing.F) { f.Fuzz(rapid.MakeFuzz(referenceProperty)) }
