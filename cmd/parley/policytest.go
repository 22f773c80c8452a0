package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/parley-mcp/parley/policy/rules"
)

var policyTestCommand = command{
	name: "policy test", args: "FILE...", short: "run the cases of a policy",
	long: `
Reads a policy and runs its cases. Each case is a call or a question, the decision that
is wanted, and perhaps the rule that has to make it. A FILE is a policy with the key
"cases", or a file of cases that names its policy with the key "policy".

A policy that holds no cases is only validated.

The exit code is 1 if a case fails, and 2 if a file cannot be read or has a mistake.

Examples:
  parley policy test policy.yaml
  parley policy test --quiet tests/*.yaml`,
	setup: func(fs *flag.FlagSet) func(context.Context, *environment) error {
		quiet := fs.Bool("quiet", false, "print the cases that fail, and nothing of those that pass")
		return func(ctx context.Context, env *environment) error {
			if len(env.args) == 0 {
				return usageError("parley policy test policy.yaml", "no file was given")
			}
			var result error
			for _, name := range env.args {
				ok, err := testPolicy(ctx, env, name, *quiet)
				if err != nil {
					return err
				}
				if !ok {
					result = errFindings
				}
			}
			return result
		}
	},
}

// testPolicy runs the cases of one file. The error is about a file that cannot be
// used.
func testPolicy(ctx context.Context, env *environment, name string, quiet bool) (ok bool, err error) {
	r, err := rules.LoadCases(name)
	if err != nil {
		return false, policyError(err)
	}
	results := r.Test(ctx)
	failed := 0
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, res := range results {
		verdict, note := "ok", ""
		if !res.OK {
			failed++
			verdict, note = "FAIL", "want "+res.Want
			if res.Rule != "" {
				note += " by " + res.Rule
			}
		} else if quiet {
			continue
		}
		fmt.Fprintf(w, "%s\t%s:%d\t%s\t%s by %s\t%s\n", verdict, name, res.Line, res.Name, res.Got, res.By, note)
	}
	if err := w.Flush(); err != nil {
		return false, err
	}
	var b strings.Builder
	for line := range strings.Lines(table.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	calls, questions := r.Len()
	fmt.Fprintf(&b, "%s: %s about calls, %s about questions; %s, %d failed\n",
		name, count(calls, "rule"), count(questions, "rule"), count(len(results), "case"), failed)
	if untested := r.Untested(results); len(results) > 0 && len(untested) > 0 {
		fmt.Fprintf(&b, "no case is decided by: %s\n", strings.Join(untested, ", "))
	}
	_, err = fmt.Fprint(env.stdout, b.String())
	return failed == 0, err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// policyError gives an error of a policy file the exit code of an input that
// cannot be read.
func policyError(err error) error {
	hint := "a policy is a YAML file of rules; docs/policy.md describes it"
	if _, ok := errors.AsType[*rules.Error](err); ok {
		hint = "docs/policy.md describes the file"
	}
	return usageError(hint, "%w", err)
}
