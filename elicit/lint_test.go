package elicit_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/tools/txtar"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/lint"
)

// TestKitIsLintClean lints every form and question that the golden files of the
// kit hold: what it writes must pass its own sister's rules, in its revision.
func TestKitIsLintClean(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			// One form has a field of each kind: too many for a person, a bound
			// beyond 2^53, and a field that its tag says is no secret.
			schema, err := os.ReadFile(filepath.Join("testdata", "everything."+revision+".json"))
			if err != nil {
				t.Fatal(err)
			}
			lintFindings(t, "everything", revision, schema, lint.KindSchema,
				"integer-beyond-2-53 /properties/exact/maximum", "many-fields /properties", "secret-in-form /properties/pin")
			archive, err := txtar.ParseFile(filepath.Join("testdata", "conversation."+revision+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			questions := 0
			for _, file := range archive.Files {
				if strings.HasPrefix(file.Name, "question") {
					questions++
					lintFindings(t, file.Name, revision, file.Data, lint.KindParams)
				}
			}
			if questions < 4 {
				t.Errorf("%d questions: the test looks at the wrong place", questions)
			}
		})
	}
}

// TestResultIsLintClean lints whole results and declarations as they go out.
func TestResultIsLintClean(t *testing.T) {
	t.Parallel()
	server, handler := newServer(t, nil)
	addBook(server)
	elicit.AddTool(server, &mcp.Tool{Name: "visit", Description: "Signs in."}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
		return none{}, elicit.Visit(ctx, call, "sign-in", "Sign in at the example bank.", "https://bank.example/sign-in",
			func(context.Context, elicit.Principal) (bool, error) { return false, nil })
	})
	client := elicittest.Connect(t, handler, modern, elicittest.Script(t), &elicittest.Options{
		Capabilities: json.RawMessage(`{"elicitation":{"form":{},"url":{}}}`),
	})
	for name, arguments := range map[string]any{"book": map[string]any{"to": "Tokyo"}, "visit": none{}} {
		raw, err := client.Send(t.Context(), "tools/call", map[string]any{"name": name, "arguments": arguments})
		if err != nil {
			t.Fatal(err)
		}
		lintFindings(t, name, modern, raw, lint.KindResult)
	}
	raw, err := client.Send(t.Context(), "tools/list", map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	lintFindings(t, "tools", modern, raw, lint.KindTools)
}

// lintFindings compares the errors and warnings, as code and place, and what
// the input is taken for.
func lintFindings(t *testing.T, name, revision string, input []byte, kind lint.Kind, want ...string) {
	t.Helper()
	report, err := lint.Lint(input, &lint.Options{Revision: form.Revision(revision), ServerDomain: "bank.example"})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if report.Kind != kind {
		t.Errorf("%s is taken for %s, want %s", name, report.Kind, kind)
	}
	var got []string
	for _, finding := range report.Findings {
		if finding.Severity == lint.Error || finding.Severity == lint.Warning {
			got = append(got, finding.Code+" "+finding.Pointer)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: findings (-want +got):\n%s", name, diff)
	}
}
