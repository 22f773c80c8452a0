// Command parley carries questions of MCP servers to people and their answers back.
//
// Run "parley help" for the subcommands, "parley help SUBCOMMAND" for one of them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// version is set by the release build (-ldflags "-X main.version=v1.2.3").
var version = "dev"

// A command is one subcommand: its flags, its help, and what it does.
type command struct {
	name  string
	args  string // what follows the flags, for the usage line
	short string // one line for the list
	long  string // what a person wants to know before the first run, with examples
	setup func(fs *flag.FlagSet) func(ctx context.Context, env *environment) error
}

// An environment is what a command may touch of the process around it.
type environment struct {
	args           []string // what is left after the flags
	stdin          io.Reader
	stdout, stderr io.Writer
	lookup         func(string) (string, bool) // environment variables
}

// commands is the table of subcommands, in the order of the help.
func commands() []command {
	return []command{demoCommand, serveCommand, migrateCommand, eraseCommand, auditCommand, webhookCommand, addressCommand, apiKeyCommand, linkCommand, lintCommand, policyCommand, vaultCommand, versionCommand}
}

func main() { os.Exit(Main()) }

// Main runs the command line of this process and returns its exit code.
func Main() int {
	tuneCollector(os.LookupEnv)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second interrupt ends the process at once: the first may be waiting for a server.
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], &environment{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, lookup: os.LookupEnv,
	})
}

func run(ctx context.Context, args []string, env *environment) int {
	if len(args) == 0 {
		printUsage(env.stderr)
		return exitUsage
	}
	name, rest := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		return help(rest, env)
	case "-version", "--version":
		name = "version"
	}
	cmd, ok := find(name)
	if !ok {
		return report(env.stderr, noSubcommand(name))
	}
	fs := flag.NewFlagSet("parley "+cmd.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // this file prints errors and help itself
	do := cmd.setup(fs)
	err := parse(fs, rest, env)
	if errors.Is(err, flag.ErrHelp) {
		printHelp(env.stdout, cmd)
		return exitOK
	}
	if err == nil {
		env.args = fs.Args()
		err = do(ctx, env)
	}
	return report(env.stderr, err)
}

func noSubcommand(name string) error {
	return usageError("`parley help` lists them", "there is no subcommand %q", name)
}

func find(name string) (command, bool) {
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

func help(args []string, env *environment) int {
	if len(args) == 0 {
		printUsage(env.stdout)
		return exitOK
	}
	cmd, ok := find(args[0])
	if !ok {
		return report(env.stderr, noSubcommand(args[0]))
	}
	printHelp(env.stdout, cmd)
	return exitOK
}

func printUsage(w io.Writer) {
	fmt.Fprint(w, `parley asks people what MCP servers want to know, and carries the answer back.

Usage:
  parley SUBCOMMAND [flags]

Subcommands:
`)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-9s %s\n", c.name, c.short)
	}
	fmt.Fprint(w, `
Start here:
  parley demo                        a chat page and a real MCP server that asks
  parley serve --servers mcp.json    the same page for your own servers

Every flag can also be set by a variable PARLEY_FLAG (PARLEY_ADDR for --addr) or
by a key of a YAML file (--config FILE); a flag wins over a variable, a variable
over the file.

Exit codes:
`)
	for _, row := range exitTable {
		fmt.Fprintf(w, "  %d  %s\n", row.code, row.means)
	}
}

func printHelp(w io.Writer, cmd command) {
	fs := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	cmd.setup(fs)
	fmt.Fprintf(w, "parley %s: %s\n\nUsage:\n  parley %s [flags]", cmd.name, cmd.short, cmd.name)
	if cmd.args != "" {
		fmt.Fprintf(w, " %s", cmd.args)
	}
	fmt.Fprintf(w, "\n\n%s\n", strings.TrimSpace(cmd.long))
	fs.String("config", "", configUsage)
	first := true
	fs.VisitAll(func(f *flag.Flag) {
		if first {
			fmt.Fprint(w, "\nFlags:\n")
			first = false
		}
		kind, usage := flag.UnquoteUsage(f)
		fmt.Fprintf(w, "  --%s %s\n      %s", f.Name, kind, strings.TrimPrefix(usage, kind+": "))
		if f.DefValue != "" && f.DefValue != "false" {
			fmt.Fprintf(w, " (default %s)", f.DefValue)
		}
		fmt.Fprintln(w)
	})
}
