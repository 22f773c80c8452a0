package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/parley-mcp/parley/inbox"
)

func TestFlagBeatsVariableBeatsFile(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "parley.yaml")
	if err := os.WriteFile(config, []byte("addr: file\ndata: file\nservers: file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := &environment{lookup: func(name string) (string, bool) {
		value, ok := map[string]string{"PARLEY_ADDR": "variable", "PARLEY_DATA": "variable", "PARLEY_CONFIG": "ignored"}[name]
		return value, ok
	}}
	flags := flag.NewFlagSet("parley serve", flag.ContinueOnError)
	addr, data, servers := flags.String("addr", "", ""), flags.String("data", "", ""), flags.String("servers", "", "")
	other := flags.String("travel-addr", "default", "")
	if err := parse(flags, []string{"--addr", "flag", "--config", config}, env); err != nil {
		t.Fatal(err)
	}
	if got := *addr + " " + *data + " " + *servers + " " + *other; got != "flag variable file default" {
		t.Errorf("addr, data, servers, travel-addr = %s", got)
	}
}

func TestConfigurationFaultsNameThePlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, row := range map[string]struct{ content, want string }{
		"unknown": {"adr: 127.0.0.1:1\n", `there is no setting "adr"`},
		"list":    {"addr:\n  - a\n", "line 2"},
		"broken":  {"addr: [\n", "broken.yaml"},
		"config":  {"config: other.yaml\n", `there is no setting "config"`},
		"large":   {"# " + strings.Repeat("x", maxConfig), "larger than"},
	} {
		path := filepath.Join(dir, name+".yaml")
		if err := os.WriteFile(path, []byte(row.content), 0o600); err != nil {
			t.Fatal(err)
		}
		flags := flag.NewFlagSet("parley serve", flag.ContinueOnError)
		flags.String("addr", "", "")
		err := parse(flags, []string{"--config", path}, &environment{lookup: func(string) (string, bool) { return "", false }})
		if err == nil || !strings.Contains(err.Error(), row.want) || exitCode(err) != exitUsage {
			t.Errorf("%s: %v (exit %d), want %q", name, err, exitCode(err), row.want)
		}
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errFindings, 1},
		{errors.New("anything"), 1},
		{usageError("", "x"), 2},
		{fmt.Errorf("around: %w", usageError("", "x")), 2},
		{fmt.Errorf("around: %w", fs.ErrNotExist), 2},
		{connectError("", "x"), 3},
		{usageError("", "the store: %w", inbox.ErrStoreFull), 1},
		{&fs.PathError{Op: "write", Path: "keys.json", Err: syscall.ENOSPC}, 1},
	} {
		if got := exitCode(row.err); got != row.want {
			t.Errorf("exitCode(%v) = %d, want %d", row.err, got, row.want)
		}
	}
	for i, row := range exitTable {
		if row.code != i || row.means == "" {
			t.Errorf("row %d of the table is %+v", i, row)
		}
	}
}

// A full disk is said to be one, with something to do about it.
func TestReportFull(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if code := report(&out, usageError("buy a ship", "the store: %w", inbox.ErrStoreFull)); code != 1 {
		t.Errorf("exit code %d", code)
	}
	if got := out.String(); !strings.Contains(got, "parley: hint: make room") || strings.Contains(got, "ship") {
		t.Errorf("%s", got)
	}
}

// Every command explains itself: a line for the list, a text with an example, and
// words for each flag.
func TestHelpIsComplete(t *testing.T) {
	t.Parallel()
	for _, c := range commands() {
		if c.short == "" || c.long == "" {
			t.Errorf("%s has no help", c.name)
		}
		flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
		c.setup(flags)
		count := 0
		flags.VisitAll(func(f *flag.Flag) {
			count++
			if kind, usage := flag.UnquoteUsage(f); strings.Count(usage, kind) > 1 && kind != "" {
				t.Errorf("%s --%s repeats itself: %s", c.name, f.Name, usage)
			}
			if f.Usage == "" {
				t.Errorf("%s --%s has no words", c.name, f.Name)
			}
		})
		if count > 0 && !strings.Contains(c.long, "parley "+c.name) {
			t.Errorf("the help of %s has no example", c.name)
		}
		var out, errs strings.Builder
		env := &environment{stdout: &out, stderr: &errs, lookup: os.LookupEnv}
		if code := run(t.Context(), []string{"help", c.name}, env); code != exitOK || !strings.Contains(out.String(), c.short) {
			t.Errorf("parley help %s: exit %d\n%s%s", c.name, code, out.String(), errs.String())
		}
		if code := run(t.Context(), []string{c.name, "--help"}, env); code != exitOK {
			t.Errorf("parley %s --help: exit %d", c.name, code)
		}
	}
}
