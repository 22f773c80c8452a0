package lint_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/lint"
)

const docs = "../docs/lint.md"

// The generated parts of docs/lint.md are what the rules, the measurements and
// the profiles say now.
func TestDocs(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	want := b
	for name, part := range map[string]string{"rules": rulesTable(), "secrets": secretsTable(t), "profiles": profilesTable()} {
		open, end := []byte("<!-- generated: "+name+" -->\n"), []byte("<!-- end: "+name+" -->")
		before, rest, ok := bytes.Cut(want, open)
		_, after, ok2 := bytes.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("%s has no place for %s", docs, name)
		}
		want = slices.Concat(before, open, []byte(part), end, after)
	}
	if *update {
		if err := os.WriteFile(docs, want, 0o600); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(b, want) {
		t.Errorf("%s is not what the rules say: run go test ./lint -update", docs)
	}
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func rulesTable() string {
	var b strings.Builder
	b.WriteString("| code | severity | finds | do | clause |\n|---|---|---|---|---|\n")
	for _, r := range lint.Rules() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.Code, r.Severity, cell(r.Means), cell(r.Advice), cell(r.Clause))
	}
	return b.String()
}

func secretsTable(t *testing.T) string {
	tuned, held, byLang := scores(t)
	var b strings.Builder
	b.WriteString("| phrases | number | secrets | precision | recall |\n|---|---|---|---|---|\n")
	b.WriteString(tuned.row("tuned") + held.row("**held**"))
	for _, lang := range slices.Sorted(maps.Keys(byLang)) {
		b.WriteString(byLang[lang].row("held, " + lang))
	}
	return b.String()
}

func profilesTable() string {
	var b strings.Builder
	b.WriteString("| client | seen | shapes | what it does | source |\n|---|---|---|---|---|\n")
	for _, p := range lint.Profiles() {
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s | <%s> |\n", cell(p.Client), cell(p.Seen), strings.Join(p.Shapes, "`, `"), cell(p.Effect), p.Source)
	}
	return b.String()
}
