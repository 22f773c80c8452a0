package rules

import (
	"errors"
	"strings"
	"sync"
	"testing"
)

// Expressions that would run for long, or take much memory, on what a model can
// send. Each ends by its cost.
func TestHostileArguments(t *testing.T) {
	t.Parallel()
	envs, err := environments()
	if err != nil {
		t.Fatal(err)
	}
	args, err := celArguments([]byte(`{"s":"` + strings.Repeat("a", 500_000) + `","list":[` + strings.Repeat("1,", 20_000) + `1]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{
		`arguments.list.all(x, arguments.list.all(y, x == y))`,
		`arguments.list.exists(x, x == 2)`,
		`arguments.list.map(x, arguments.s + arguments.s).size() > 0`,
		`arguments.list.map(x, arguments.list).size() > 0`,
		`arguments.list.all(x, arguments.s.matches("(a+)+$"))`,
		`arguments.list.all(x, arguments.s.size() > 0)`,
		`arguments.list.all(x, size(arguments.s) > 0)`,
		`arguments.list.all(x, bytes(arguments.s).size() > 0)`,
		`arguments.list.all(x, string(arguments.s) != "")`,
		`arguments.list.all(x, int(arguments.s) > 3 || true)`,
		`arguments.list.all(x, arguments.s < arguments.s || true)`,
		`arguments.list.all(x, 2 in arguments.list || true)`,
		`arguments.list.all(x, arguments.s.contains(arguments.s))`,
		`arguments.s.contains(arguments.s)`,
	} {
		x, err := compileExpr(envs.call, source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if holds, cost, err := x.eval(map[string]any{argumentsVar: args}); !errors.Is(err, errCost) || holds || cost > 2*maxCost {
			t.Errorf("%s: %t, cost %d, %v", source, holds, cost, err)
		}
	}
}

// What a rule says about big arguments stays cheap if it looks at little of them.
func TestBigArguments(t *testing.T) {
	t.Parallel()
	envs, err := environments()
	if err != nil {
		t.Fatal(err)
	}
	args, err := celArguments([]byte(`{"path":"docs/a.md","text":"` + strings.Repeat("a", 500_000) + `","list":[` + strings.Repeat("1,", 20_000) + `1]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{
		`arguments.path.startsWith("docs/")`, `"path" in arguments`, `has(arguments.path)`, `!has(arguments.amount)`,
		`size(arguments.list) > 3`, `arguments.path in ["docs/a.md"]`, `arguments.path.matches("^docs/[a-z]+[.]md$")`, `arguments.text.size() == 500000`,
		`arguments != {}`, `size(arguments) == 3`, `!arguments.text.contains("secret")`, `arguments.list[3] == 1`,
	} {
		x, err := compileExpr(envs.call, source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if holds, _, err := x.eval(map[string]any{argumentsVar: args}); err != nil || !holds {
			t.Errorf("%s: %t, %v", source, holds, err)
		}
	}
}

func TestExpressionsThatAreRefused(t *testing.T) {
	t.Parallel()
	envs, err := environments()
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		`1 +`:                              "Syntax error",
		`1 + 1`:                            "has to be true or false",
		`principal.isuer == "x"`:           "undeclared",
		`mode == "url"`:                    "undeclared",
		`arguments.a > 9007199254740993.0`: "write it as an integer",
		`arguments.a > 1e300`:              "write it as an integer",
		`arguments.s.matches(arguments.t)`: "written out",
		`arguments.s.matches("(")`:         "matches",
		`"a".matches("((a{50}){50}){50}")`: "matches",
		`arguments.?x.orValue(true)`:       "unsupported",
		`server == 3`:                      "no matching overload",
		`timestamp("x") == timestamp("y")`: "timestamp",
		`arguments.l.all(x, arguments.l.all(y, arguments.l.all(z, true)))`: "nesting",
		strings.Repeat("(", 100) + "true" + strings.Repeat(")", 100):       "recursion",
		strings.Repeat("true && ", 600) + "true":                           "",
		`"` + strings.Repeat("a", maxExpr) + `" == server`:                 "",
		strings.Repeat("!", 5000) + "true":                                 "",
		strings.Repeat("[", 4000):                                          "",
	} {
		_, err := compileExpr(envs.call, source)
		if _, ok := errors.AsType[*exprError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v", source, err)
		}
	}
	if _, err := compileExpr(envs.question, `mode == "url" && domain == "x.example"`); err != nil {
		t.Error(err)
	}
}

// TestCompilingTogether: expressions are compiled in one environment by any number
// of goroutines. The race detector judges.
func TestCompilingTogether(t *testing.T) {
	t.Parallel()
	envs, err := environments()
	if err != nil {
		t.Fatal(err)
	}
	for range 50 { // what races happens once to an environment
		env, err := envs.call.Extend()
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for _, source := range []string{`nobody == "x"`, `groups.exists(g, g == "x")`, `nothing.at.all`, `groups.all(g, g == "x")`} {
			group.Go(func() { _, _ = compileExpr(env, source) })
		}
		group.Wait()
	}
}
