package parley_test

import (
	"encoding/json"
	"errors"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withoutExample are the packages that have no Example, and why.
var withoutExample = map[string]string{
	"":                        "holds no code",
	"cmd/parley":              "a program: testdata/script shows its use",
	"lint/vet/cmd/parley-vet": "a program: lint/vet has the Example",
	"examples":                "holds no code: its folders are the examples",
	"examples/desk":           "is an example",
	"examples/embed":          "is an example",
	"examples/saas":           "is an example",
	"elicit/replaytest":       inDoc,
	"inbox/inboxtest":         inDoc,
	"vault/vaulttest":         inDoc,
	"internal/servicetest":    inDoc,
	"internal/oidctest":       inDoc,
	"internal/storebench":     inDoc,
	"serve/internal/conform":  inDoc,
	"serve/internal/openapi":  "a program: it writes docs/openapi.json",
	"serve/oidc":              "its Example needs a provider: it is compiled and does not run",

	"internal/vaultproof":                    "holds no code: tests of the vault in several processes",
	"internal/fakeprovider/cmd/fakeprovider": "a program: internal/fakeprovider has the Example",
}

// inDoc is the reason of packages whose functions want a *testing.T, which an
// Example has not: their doc shows the code instead.
const inDoc = "a kit for tests: the doc shows its use"

// TestEveryPackageHasAnExample: who opens a package finds code that runs.
func TestEveryPackageHasAnExample(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Dir                    string
			GoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		seen[name] = true
		reason, listed := withoutExample[name]
		runs := hasExample(t, p.Dir, slices.Concat(p.TestGoFiles, p.XTestGoFiles))
		switch {
		case runs && listed:
			t.Errorf("%q has an Example: take it off the list", name)
		case !runs && !listed:
			t.Errorf("%q has no Example that runs", name)
		case reason == inDoc && !docShowsCode(t, p.Dir, p.GoFiles):
			t.Errorf("%q shows no code in its doc", name)
		}
	}
	for name := range withoutExample {
		if !seen[name] {
			t.Errorf("%q is on the list, and no package", name)
		}
	}
}

// hasExample reports whether go test runs an Example in the files: one without
// an output comment is only compiled.
func hasExample(t *testing.T, dir string, files []string) bool {
	t.Helper()
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, example := range doc.Examples(f) {
			if example.Output != "" || example.EmptyOutput {
				return true
			}
		}
	}
	return false
}

// docShowsCode reports whether the package's doc has an indented block.
func docShowsCode(t *testing.T, dir string, files []string) bool {
	t.Helper()
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		if f.Doc != nil && strings.Contains(f.Doc.Text(), "\n\t") {
			return true
		}
	}
	return false
}
