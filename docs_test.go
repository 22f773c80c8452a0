package parley_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	mdLink   = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)\s]*)?\)`)
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
	testName = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]\w+$`)
	repoPath = regexp.MustCompile(`^(form|link|lint|elicit|inbox|store|host|serve|web|cmd|internal|tools|interop|examples|scripts)(/[\w.-]+)*$`)
)

// notPaths look like paths of this repository and are something else.
var notPaths = map[string]string{
	"tools/call":           "a method of MCP",
	"tools/list":           "a method of MCP",
	"internal/browsertest": "DESIGN.md tells where it went",
}

// TestDocumentsPointAtWhatIsThere: links, paths and names of tests in the
// documents exist, so that a rename cannot leave them behind.
func TestDocumentsPointAtWhatIsThere(t *testing.T) {
	t.Parallel()
	tests := testSources(t)
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	decisions, err := filepath.Glob("docs/decisions/*.md")
	if err != nil {
		t.Fatal(err)
	}
	documents = append(append(documents, decisions...), "README.md", "DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md")
	if len(documents) < 15 {
		t.Fatalf("%d documents: the test looks at the wrong place", len(documents))
	}
	for _, document := range documents {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mdLink.FindAllSubmatch(text, -1) {
			target := string(m[1])
			if strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(document), target)); err != nil {
				t.Errorf("%s links to %s: %v", document, target, err)
			}
		}
		if document == "docs/conformance-clauses.md" || strings.HasPrefix(document, "docs/dependencies") {
			continue // generated, or of another kind
		}
		for _, m := range codeSpan.FindAllSubmatch(text, -1) {
			name := string(m[1])
			if testName.MatchString(name) && !bytes.Contains(tests, []byte("func "+name+"(")) {
				t.Errorf("%s names %s: no such test", document, name)
			}
			if repoPath.MatchString(name) && strings.Contains(name, "/") && notPaths[name] == "" {
				if _, err := os.Stat(name); err != nil {
					t.Errorf("%s names %s: %v", document, name, err)
				}
			}
		}
	}
}

// testSources returns all test files of the repository, one after the other.
func testSources(t *testing.T) []byte {
	t.Helper()
	var all bytes.Buffer
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "node") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, "inbox/inboxtest/") {
			return nil
		}
		if d.IsDir() {
			return nil
		}
		b, err := os.ReadFile(path)
		all.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.Bytes()
}
