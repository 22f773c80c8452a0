package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/parley-mcp/parley/internal/plain"
	"github.com/parley-mcp/parley/link"
)

// maxURL bounds an address that is printed, in characters; longer ones are refused.
const maxURL = 10_000

var linkCommand = command{
	name: "link", args: "URL...", short: "say what a URL really is",
	long: `
Prints what a person should know before opening an address: its verdict (ok, note,
warn, refuse), the domain that it belongs to, the exact address that a browser would
open, and every finding. Nothing is fetched.

The exit code is 1 if an address is to be warned of or refused.

Examples:
  parley link https://github.com/login
  parley link --format json 'https://github.com@evil.example/'
  parley link --known names.txt https://paypa1.com/`,
	setup: func(fs *flag.FlagSet) func(context.Context, *environment) error {
		format := fs.String("format", "text", "`FORMAT` of the output: text or json")
		known := fs.String("known", "", "`FILE` with a domain per line, which look-alikes are compared with beside the built-in list")
		return func(_ context.Context, env *environment) error {
			if len(env.args) == 0 {
				return usageError("parley link https://example.com/", "no URL was given")
			}
			opts := &link.Options{}
			if *known != "" {
				names, err := readNames(*known)
				if err != nil {
					return err
				}
				opts.Known = names
			}
			return inspectAll(env, *format, opts)
		}
	},
}

func inspectAll(env *environment, format string, opts *link.Options) error {
	var print func(io.Writer, *link.Report) error
	switch format {
	case "text":
		print = printReport
	case "json":
		print = func(w io.Writer, r *link.Report) error { return json.NewEncoder(w).Encode(r) }
	default:
		return usageError("choose text or json", "--format %q is not known", format)
	}
	var result error
	for _, raw := range env.args {
		r := link.Inspect(raw, opts)
		if err := print(env.stdout, r); err != nil {
			return err
		}
		if r.Verdict == link.Warn || r.Verdict == link.Refuse {
			result = errFindings
		}
	}
	return result
}

// printReport never prints a refused address as one that a terminal would make
// clickable.
func printReport(w io.Writer, r *link.Report) error {
	var b strings.Builder
	shown := r.Href
	if r.Verdict == link.Refuse {
		shown = link.Defang(plain.Line(r.Raw, maxURL))
	}
	fmt.Fprintf(&b, "%s: %s\n", r.Verdict, plain.Line(shown, maxURL))
	if r.Domain != "" {
		fmt.Fprintf(&b, "  website: %s", plain.Line(r.Domain, 300))
		if r.DomainUnicode != "" && r.DomainUnicode != r.Domain {
			fmt.Fprintf(&b, " (%s)", plain.Line(r.DomainUnicode, 300))
		}
		b.WriteByte('\n')
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "  %s: %s [%s]\n", f.Verdict, plain.Line(f.Text, 2000), f.Code)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// readNames reads a list of domains: one a line, # begins a comment.
func readNames(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usageError("", "reading the known names: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, usageError("", "reading the known names: %w", err)
	}
	if len(b) > maxConfig {
		return nil, usageError("", "%s is larger than %d bytes", path, maxConfig)
	}
	var names []string
	for line := range strings.Lines(string(b)) {
		line, _, _ = strings.Cut(line, "#")
		if name := strings.TrimSpace(line); name != "" {
			names = append(names, name)
		}
	}
	return names, nil
}
