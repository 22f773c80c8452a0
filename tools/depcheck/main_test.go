package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnexplained(t *testing.T) {
	t.Parallel()
	const reasons = "# Why\n\n- `example.org/a`: it does one thing well\n- `example.org/gone`: it did one thing well\n- `example.org/short`: because\n"
	faults := errors.Join(unexplained("deps.md", reasons, []string{"example.org/a", "example.org/b", "example.org/short"})...)
	for _, want := range []string{"no line for example.org/b", "explains example.org/gone", "no reason for example.org/short"} {
		if faults == nil || !strings.Contains(faults.Error(), want) {
			t.Errorf("faults lack %q:\n%v", want, faults)
		}
	}
	if faults != nil && strings.Contains(faults.Error(), "example.org/a") {
		t.Errorf("example.org/a has a reason:\n%v", faults)
	}
}

// The modules come from the proxy's cache, so a module without any stands in.
func TestWriteThenCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":               "module example.org/m\n\ngo 1.26\n\nrequire example.org/local v0.0.0\n\nreplace example.org/local => ./local\n",
		"a.go":                 "package m\n\nimport _ \"example.org/local\"\n",
		"local/go.mod":         "module example.org/local\n\ngo 1.26\n",
		"local/local.go":       "package local\n",
		"docs/dependencies.md": "- `example.org/local`: it stands in for a real one\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(dir, false); err == nil {
		t.Error("check passed before the list was written")
	}
	if err := run(dir, true); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "docs", "dependencies.txt"))
	if err != nil || string(got) != "example.org/local\n" {
		t.Errorf("the list is %q (%v), want example.org/local", got, err)
	}
	if err := run(dir, false); err != nil {
		t.Errorf("check right after writing: %v", err)
	}
}
