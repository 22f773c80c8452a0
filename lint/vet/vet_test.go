package vet_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/parley-mcp/parley/lint"
	"github.com/parley-mcp/parley/lint/vet"
)

func TestAnalyzer(t *testing.T) {
	t.Parallel()
	for _, res := range analysistest.Run(t, analysistest.TestData(), vet.Analyzer, "a") {
		known := map[string]bool{}
		for _, r := range lint.Rules() {
			known[r.Code] = true
		}
		found := map[string]bool{}
		for _, d := range res.Diagnostics {
			found[d.Category] = true
			if !known[d.Category] {
				t.Errorf("%s is no rule of package lint", d.Category)
			}
		}
		for _, code := range []string{"swallowed-error", "consent-ignored", "form-type", "form-tag"} {
			if !found[code] {
				t.Errorf("%s was not found", code)
			}
		}
	}
}

// go vet runs the check with the types of the real package.
func TestVetTool(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool := filepath.Join(dir, "parley-vet")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", tool, "./cmd/parley-vet").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	src := `package p

import (
	"context"

	"github.com/parley-mcp/parley/elicit"
)

type form struct {
	Password string ` + "`json:\"password\" title:\"Password\"`" + `
}

func ask(ctx context.Context, call *elicit.Call) string {
	f, _ := elicit.Ask[form](ctx, call, "who", "Who?")
	return f.Password
}
`
	file := filepath.Join(dir, "p.go")
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "vet", "-vettool="+tool, file).CombinedOutput()
	if err == nil {
		t.Fatalf("go vet found nothing:\n%s", out)
	}
	for _, want := range []string{"p.go:10:2:", "secret-in-form", "p.go:14:10:", "swallowed-error"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
