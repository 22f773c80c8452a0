package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/lint"
)

var lintCommand = command{
	name: "lint", args: "FILE|PACKAGE|-...", short: "say what is wrong or unwise in a question",
	long: `
Reads questions before people do, and says what the protocol forbids, what nobody can
answer, what asks for a secret, what misleads, and which clients are known not to draw
it. Each finding has a code, a place, and what to do; docs/lint.md explains them.

What an input is, is seen from its content and said in the output:
  a schema                    the requestedSchema of a form
  a question                  an elicitation/create request, or its params
  a result                    input_required, or the error -32042
  tools/list, prompts/list    what a server declares
  a recorded session          JSON lines {"t","dir","msg"}, or a JSON-RPC message a line
  Go packages                 ./... or a directory: structs that elicit.Ask is used with,
                              and errors of questions that are dropped
With --server, a running server is asked what it declares; nothing is called.

The exit code is 0 without errors (there may be warnings), 1 with errors, 2 if an input
is not there or no JSON, 3 if the server cannot be reached.

Examples:
  parley lint question.json
  parley lint --format sarif session.jsonl > lint.sarif
  parley lint --rev 2025-06-18 schema.json
  parley lint ./...
  parley lint --server http://localhost:8080/mcp`,
	setup: func(fs *flag.FlagSet) func(context.Context, *environment) error {
		rev := fs.String("rev", "", "`REVISION` of MCP to judge by: 2025-06-18, 2025-11-25 or 2026-07-28; by default what a recorded session speaks, else 2026-07-28")
		format := fs.String("format", "text", "`FORMAT` of the output: text, json, sarif or github")
		server := fs.String("server", "", "`URL` of a running MCP server whose declarations are judged, over Streamable HTTP")
		profiles := fs.Bool("profiles", true, "say which clients are known not to draw a shape")
		return func(ctx context.Context, env *environment) error {
			opts := &lint.Options{Revision: form.Revision(*rev), NoProfiles: !*profiles}
			switch opts.Revision {
			case "", form.Rev20250618, form.Rev20251125, form.Rev20260728:
			default:
				return usageError("choose 2025-06-18, 2025-11-25 or 2026-07-28", "--rev %q is not known", *rev)
			}
			switch lint.Format(*format) {
			case lint.Text, lint.JSON, lint.SARIF, lint.GitHub:
			default:
				return usageError("choose text, json, sarif or github", "--format %q is not known", *format)
			}
			if len(env.args) == 0 && *server == "" {
				return usageError("parley lint question.json", "nothing to lint was given")
			}
			files, result := lintAll(ctx, env, *server, opts)
			if len(files) == 0 && result != nil {
				return result // a count of nothing would look like a clean bill
			}
			if err := lint.Write(env.stdout, lint.Format(*format), files); err != nil {
				return err
			}
			if result != nil {
				return result
			}
			for _, f := range files {
				if f.Count(lint.Error) > 0 {
					return errFindings
				}
			}
			return nil
		}
	},
}

// lintAll judges every input that can be read. The error is about those that
// cannot.
func lintAll(ctx context.Context, env *environment, server string, opts *lint.Options) ([]lint.File, error) {
	var files []lint.File
	var failed error
	fail := func(err error) {
		if err != nil && failed == nil {
			failed = err
		} else if err != nil {
			report(env.stderr, err) // the first one is printed at the end
		}
	}
	if server != "" {
		declared, err := lintServer(ctx, server, opts)
		files = append(files, declared...)
		fail(err)
	}
	var packages []string
	for _, arg := range env.args {
		if isPackage(arg) {
			packages = append(packages, arg)
			continue
		}
		file, err := lintFile(env, arg, opts)
		if err != nil {
			fail(err)
			continue
		}
		files = append(files, file)
	}
	if len(packages) > 0 {
		found, err := lintPackages(ctx, packages)
		files = append(files, found...)
		fail(err)
	}
	return files, failed
}

// isPackage tells Go packages from files of JSON.
func isPackage(arg string) bool {
	if strings.HasSuffix(arg, "...") || strings.HasSuffix(arg, ".go") {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && info.IsDir()
}

func lintFile(env *environment, name string, opts *lint.Options) (lint.File, error) {
	in := env.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return lint.File{}, usageError("", "%w", err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, lint.MaxInput+1))
	if err != nil {
		return lint.File{}, usageError("", "reading %s: %w", name, err)
	}
	rep, err := lint.Lint(b, opts)
	if err != nil {
		if syntax, ok := errors.AsType[*lint.SyntaxError](err); ok {
			return lint.File{}, usageError("", "%s:%d:%d: not JSON: %s", name, syntax.Line, syntax.Column, syntax.Reason)
		}
		return lint.File{}, usageError("", "%s: %w", name, err)
	}
	return lint.File{Name: name, Report: rep}, nil
}

// relative shortens a file name below the working directory, which is how
// editors and code scanning want it.
func relative(name string) string {
	dir, err := os.Getwd()
	if err != nil {
		return name
	}
	if rest, ok := strings.CutPrefix(name, fmt.Sprintf("%s%c", dir, os.PathSeparator)); ok {
		return rest
	}
	return name
}
