package rules

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/policy"
)

// The policies in testdata hold their own cases, and each of their rules decides
// one.
func TestCasesOfFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, name := range files {
		r, err := LoadCases(name)
		if err != nil {
			t.Error(err)
			continue
		}
		checkCases(t, name, r)
	}
}

func checkCases(t *testing.T, name string, r *Rules) {
	t.Helper()
	results := r.Test(t.Context())
	for _, res := range results {
		if !res.OK {
			t.Errorf("%s:%d: %s: %s by %s, want %s by %s", name, res.Line, res.Name, res.Got, res.By, res.Want, res.Rule)
		}
		if !strings.HasSuffix(res.Reason, ".") {
			t.Errorf("%s:%d: the reason %q is no sentence", name, res.Line, res.Reason)
		}
		if d := res.Explain.Decision; res.Question == nil && d.Check() != nil {
			t.Errorf("%s:%d: %v", name, res.Line, d.Check())
		}
		if last := res.Explain.Steps[len(res.Explain.Steps)-1]; last.Why == "" {
			t.Errorf("%s:%d: the last step has no reason: %+v", name, res.Line, last)
		}
	}
	if untested := r.Untested(results); len(results) > 0 && len(untested) > 0 {
		t.Errorf("%s: no case is decided by %q", name, untested)
	}
}

// The policies of the guide are valid, and their cases hold.
func TestGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(guide, -1)
	if len(blocks) < 4 {
		t.Fatalf("the guide has %d policies", len(blocks))
	}
	cases := 0
	for _, b := range blocks {
		r, err := Parse("docs/policy.md", b[1])
		if err != nil {
			t.Errorf("%v\n%s", err, b[1])
			continue
		}
		cases += r.Cases()
		checkCases(t, "docs/policy.md", r)
	}
	if cases == 0 {
		t.Error("the guide shows no case")
	}
}

func TestNamesThatAreTooLong(t *testing.T) {
	t.Parallel()
	r, err := Parse("p", []byte("calls: [{name: all, then: allow}]\nquestions: [{name: any, then: show}]"))
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", maxName+1)
	for _, in := range []policy.Input{{Name: long}, {Server: long}, {Conversation: long}} {
		if d, err := r.Call(t.Context(), &in); err != nil || d.Effect != policy.Deny || d.Check() != nil {
			t.Errorf("%+v, %v", d, err)
		}
		if s, err := r.Question(t.Context(), &in, policy.Question{Mode: inbox.Form}); err != nil || s.Show {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if s, err := r.Question(t.Context(), &policy.Input{}, policy.Question{Mode: inbox.URL, Domain: long}); err != nil || s.Show {
		t.Errorf("%+v, %v", s, err)
	}
}

// All rules together take no more work than a bound, and what is not evaluated
// for that reason does not allow.
func TestWorkOfAllRules(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("calls:\n")
	for i := range 100 {
		b.WriteString("  - {name: r" + strings.Repeat("i", i) + ", when: 'arguments.l.exists(x, x == 2)', then: allow}\n")
	}
	b.WriteString("  - {name: all, when: 'trusted || !trusted', then: allow}\n")
	r, err := Parse("p", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	in := &policy.Input{Actor: inbox.Model, Method: policy.ToolsCall, Name: "x", Server: "s", Arguments: json.RawMessage(`{"l":[` + strings.Repeat("1,", 5000) + `1]}`)}
	x := r.ExplainCall(t.Context(), in)
	if x.Decision.Effect != policy.Ask {
		t.Errorf("%+v", x.Decision)
	}
	unknown := 0
	for _, s := range x.Steps {
		if s.Outcome == Unknown {
			unknown++
		}
	}
	if unknown < 50 {
		t.Errorf("%d of %d rules were not evaluated", unknown, len(x.Steps))
	}
}

// The reason of a decision is stored, audited and shown to approvers: nothing of
// the arguments is in it, whatever a rule does with them.
func TestReasonsHoldNoArguments(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-sentinel"
	for _, when := range []string{
		`int(arguments.s) > 1`, `arguments.s > 1`, `arguments[arguments.s] == 1`, `timestamp(arguments.s) == timestamp("2026-01-01T00:00:00Z")`,
		`duration(arguments.s) > duration("1s")`, `arguments.s`, `arguments.s.matches("x") && arguments.no`, `{"a": 1}[arguments.s] == 1`, `double(arguments.s) == 1.5`, `bool(arguments.s)`,
	} {
		for _, then := range []string{"allow", "ask", "deny"} {
			file, err := json.Marshal(map[string]any{"calls": []any{map[string]any{"name": "r", "when": when, "then": then}}})
			if err != nil {
				t.Fatal(err)
			}
			r, err := Parse("p", file)
			if err != nil {
				t.Fatal(err)
			}
			in := &policy.Input{Actor: inbox.Model, Method: policy.ToolsCall, Name: "x", Server: "s", Arguments: json.RawMessage(`{"s":"` + secret + `","no":"` + secret + `"}`)}
			d, err := r.Call(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			if d.Effect == policy.Allow {
				t.Errorf("%s then %s: allowed", when, then)
			}
			if strings.Contains(d.Reason+d.Rule, secret) {
				t.Errorf("%s then %s: the reason is %q", when, then, d.Reason)
			}
		}
	}
}

// What a call is resumed with cannot change what is decided: unless a rule asks
// for the phase, all phases are alike.
func TestPhasesAreAlike(t *testing.T) {
	t.Parallel()
	r, err := Load("testdata/company.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		in.Server = rapid.SampledFrom([]string{"finance", "payroll", "files-a", "crm"}).Draw(t, "server of the company")
		var decisions []policy.Decision
		for _, phase := range []policy.Phase{policy.Compose, policy.Resume, policy.Deliver} {
			in.Phase = phase
			d, err := r.Call(t.Context(), &in.Input)
			if err != nil {
				t.Fatal(err)
			}
			decisions = append(decisions, d)
		}
		for _, d := range decisions[1:] {
			if diff := cmp.Diff(decisions[0], d); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// Deciding changes neither the input nor the rules, and decisions share no memory.
func TestDecisionsAreCopies(t *testing.T) {
	t.Parallel()
	r, err := Parse("p", []byte("calls: [{name: a, then: ask, offer: [once, always]}]"))
	if err != nil {
		t.Fatal(err)
	}
	in := &policy.Input{Actor: inbox.Model, Method: policy.ToolsCall, Name: "x", Server: "s"}
	d, err := r.Call(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	d.Offer[0] = policy.Always
	if d, err = r.Call(t.Context(), in); err != nil || !slices.Equal(d.Offer, []policy.Scope{policy.Once, policy.Always}) {
		t.Errorf("%v, %v", d.Offer, err)
	}
}

// Every condition says why it does not hold.
func TestExplain(t *testing.T) {
	t.Parallel()
	r, err := Parse("p", []byte(`
calls:
  - {name: actor, actor: person, server: x, then: deny}
  - {name: server, server: [y, "z*"], then: deny}
  - {name: prompt, prompt: p, then: deny}
  - {name: tool, tool: t, then: deny}
  - {name: trusted, trusted: true, then: deny}
  - {name: conversation, conversation: c*, then: deny}
  - {name: groups, groups: [g, h], then: deny}
  - {name: annotations, annotations: {readOnly: true}, then: deny}
  - {name: when, when: arguments.n > 3, then: deny}
  - {name: unknown, when: arguments.m > 3, then: ask, assign: {group: g}}
  - {name: rest, then: allow}
questions:
  - {name: form, mode: form, then: show}
  - {name: domain, domain: [a.example, "*.b.example"], then: show}
  - {name: none, then: refuse}
`))
	if err != nil {
		t.Fatal(err)
	}
	in := &policy.Input{Actor: inbox.Model, Method: policy.ToolsCall, Name: "tool\x1b[31m", Server: "x", Conversation: "d", Arguments: json.RawMessage(`{"n":3}`)}
	x := r.ExplainCall(t.Context(), in)
	want := []Step{
		{"actor", 3, Skipped, "actor: it is model, not person"},
		{"server", 4, Skipped, `server: "x" is not "y" or "z*"`},
		{"prompt", 5, Skipped, `it is about prompts/get, and this is "tools/call"`},
		{"tool", 6, Skipped, `tool: "tool␛[31m" is not "t"`},
		{"trusted", 7, Skipped, "trusted: it is false"},
		{"conversation", 8, Skipped, `conversation: "d" is not "c*"`},
		{"groups", 9, Skipped, "groups: the person is in none of g, h"},
		{"annotations", 10, Skipped, "annotations: readOnly is false, since the server is not trusted"},
		{"when", 11, Skipped, "when: arguments.n > 3 is false"},
		{"unknown", 12, Unknown, "it cannot be evaluated: no such key: m"},
		{"rest", 13, Matched, "it has no conditions"},
	}
	if diff := cmp.Diff(want, x.Steps); diff != "" {
		t.Error(diff)
	}
	if x.Line != 12 || x.Decision.Rule != "unknown" || x.Decision.Assign.Group != "g" {
		t.Errorf("line %d, %+v", x.Line, x.Decision)
	}
	q := r.ExplainQuestion(t.Context(), in, policy.Question{Mode: inbox.URL, Domain: "b.example"})
	want = []Step{
		{"form", 15, Skipped, "mode: it is url, not form"},
		{"domain", 16, Skipped, `domain: "b.example" is not within "a.example" or "*.b.example"`},
		{"none", 17, Matched, "it has no conditions"},
	}
	if diff := cmp.Diff(want, q.Steps); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkCall decides about one call by the company's policy, with arguments
// that two rules look at.
func BenchmarkCall(b *testing.B) {
	r, err := Load("testdata/company.yaml")
	if err != nil {
		b.Fatal(err)
	}
	in := &policy.Input{
		Phase: policy.Compose, Actor: inbox.Model, Server: "finance", Method: policy.ToolsCall, Name: "report", Groups: []string{"finance"},
		Arguments: json.RawMessage(`{"month": "2026-11", "rows": 100, "currency": "EUR"}`),
	}
	b.ReportAllocs()
	for b.Loop() {
		if d, err := r.Call(b.Context(), in); err != nil || d.Effect != policy.Ask {
			b.Fatal(d, err)
		}
	}
}
