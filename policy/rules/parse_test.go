package rules

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite testdata/mistakes.txtar")

// testdata/mistakes.txtar has pairs of a policy and what is said about it. After
// -update, read the diff: every mistake has a place and words that help.
func TestMistakes(t *testing.T) {
	t.Parallel()
	const name = "testdata/mistakes.txtar"
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files) < 40 || len(archive.Files)%2 != 0 {
		t.Fatalf("%s has %d files", name, len(archive.Files))
	}
	for i := 0; i < len(archive.Files); i += 2 {
		source, want := archive.Files[i], &archive.Files[i+1]
		r, err := Parse(source.Name, source.Data)
		if err == nil {
			t.Errorf("%s: no mistake was found: %+v", source.Name, r)
			continue
		}
		if _, ok := errors.AsType[*Error](err); !ok {
			t.Errorf("%s: %T is no Error", source.Name, err)
		}
		got := err.Error() + "\n"
		if *update {
			want.Name, want.Data = "want", []byte(got)
		} else if got != string(want.Data) {
			t.Errorf("%s:\n got %s\nwant %s", source.Name, got, want.Data)
		}
	}
	if *update {
		if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Files that are made to be large, deep or to grow.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	rule := func(name string) string { return "  - {name: " + name + ", server: x, then: deny}\n" }
	many := func(n int) string {
		var b strings.Builder
		b.WriteString("calls:\n")
		for i := range n {
			b.WriteString(rule("r" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/182)))
		}
		return b.String()
	}
	for name, file := range map[string]string{
		"large":         "# " + strings.Repeat("x", MaxFile) + "\ncalls: []",
		"deep":          "calls: " + strings.Repeat("[", 20_000),
		"deep, closed":  "calls: " + strings.Repeat("[", 200) + strings.Repeat("]", 200),
		"bomb":          "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\ncalls: *c",
		"itself":        "calls: &a [*a]",
		"merge":         "calls:\n  - <<: {name: a}\n    then: deny",
		"many rules":    many(maxRules + 1),
		"many patterns": "calls:\n  - {name: a, then: deny, tool: [" + strings.Repeat("a,", maxList) + "a]}",
		"binary":        "calls: \x00\x01",
		"not UTF-8":     "calls:\n  - {name: \"\xff\xfe\", then: deny}",
		"tag":           "calls:\n  - {name: !!binary aGk=, then: deny}",
		"own tag":       "calls: !evil []",
	} {
		if r, err := Parse("policy.yaml", []byte(file)); err == nil {
			t.Errorf("%s: %+v", name, r)
		} else if len(err.Error()) > 20_000 {
			t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
		}
	}
}

// A file of any bytes is a policy or an error with the file's name in it; what it
// decides can be checked.
func FuzzParse(f *testing.F) {
	archive, err := txtar.ParseFile("testdata/mistakes.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for i := 0; i < len(archive.Files); i += 2 {
		f.Add(archive.Files[i].Data)
	}
	for _, name := range []string{"testdata/company.yaml", "testdata/semantics.yaml"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse("policy.yaml", data)
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, "policy.yaml:") {
					t.Fatalf("%q has no place", line)
				}
			}
			return
		}
		for _, res := range r.Test(t.Context()) {
			if res.Question == nil {
				if err := res.Explain.Decision.Check(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
