package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

var policyCommand = command{
	name: "policy", args: "test|explain ...", short: "check a policy, and say what it decides",
	long: `
A policy (docs/policy.md) is a YAML file that says which calls are allowed, have to be
approved or are forbidden, and which questions are shown. "parley serve --policy FILE"
obeys it.

  parley policy test FILE...     run the cases that a file holds
  parley policy explain ...      say what the policy decides about one call, and why

"parley policy test --help" and "parley policy explain --help" say more.

Examples:
  parley policy test policy.yaml
  parley policy explain --policy policy.yaml --server finance --tool pay --arguments '{"amount": 5000}'`,
	setup: func(*flag.FlagSet) func(context.Context, *environment) error {
		return func(ctx context.Context, env *environment) error {
			if len(env.args) == 0 {
				return usageError("parley policy test FILE, or parley policy explain --policy FILE ...", "policy needs a word more")
			}
			word := env.args[0]
			for _, cmd := range []command{policyTestCommand, policyExplainCommand} {
				if cmd.name == "policy "+word {
					return runWithin(ctx, cmd, env)
				}
			}
			return usageError("it is test or explain", "there is no subcommand %q", "policy "+word)
		}
	},
}

// runWithin runs a subcommand of a subcommand: the flags after its word are its own.
func runWithin(ctx context.Context, cmd command, env *environment) error {
	fs := flag.NewFlagSet("parley "+cmd.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // report and printHelp print errors and help
	do := cmd.setup(fs)
	err := parse(fs, env.args[1:], env)
	if errors.Is(err, flag.ErrHelp) {
		printHelp(env.stdout, cmd)
		return nil
	}
	if f, ok := errors.AsType[*failure](err); ok && strings.Contains(f.hint, "parley help ") {
		f.hint = fmt.Sprintf("`parley %s --help` lists the flags", cmd.name)
	}
	if err != nil {
		return err
	}
	inner := *env
	inner.args = fs.Args()
	return do(ctx, &inner)
}
