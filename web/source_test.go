package web

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sources reads all of src, by path.
func sources(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS("src"), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join("src", name))
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var catalogueKey = regexp.MustCompile(`(?m)^\t'([a-z0-9.-]+)':`)

// catalogueFile is the name of a catalogue.
var catalogueFile = regexp.MustCompile(`^lib/[a-z]{2}\.ts$`)

var (
	catalogueRow = regexp.MustCompile(`(?m)^\t'([a-z0-9._-]+)': (.+),$`)
	placeIn      = regexp.MustCompile(`\{\w+\}`)
	pluralForm   = regexp.MustCompile(`\b(zero|one|two|few|many|other): '`)
)

// places are those of a text, or of all forms of one, sorted.
func places(text string) []string {
	list := placeIn.FindAllString(text, -1)
	slices.Sort(list)
	return slices.Compact(list)
}

// A catalogue has each key once, with the places of English, and all forms of number that
// its language has; a text that is the same in both is a name.
func TestCataloguesAreWhole(t *testing.T) {
	t.Parallel()
	forms := map[string][]string{"de": {"one", "other"}, "ar": {"zero", "one", "two", "few", "many", "other"}}
	names := []string{"product", "inbox.both", "page.servers", "approval.server", "approval.prompt", "picker.server", "picker.server-one", "link.website"}
	files := sources(t)
	english := map[string]string{}
	for _, m := range catalogueRow.FindAllStringSubmatch(files["lib/en.ts"], -1) {
		english[m[1]] = m[2]
	}
	for language, wanted := range forms {
		rows := catalogueRow.FindAllStringSubmatch(files["lib/"+language+".ts"], -1)
		if len(rows) != len(english) || len(rows) < 400 {
			t.Errorf("%s has %d rows, English has %d", language, len(rows), len(english))
		}
		for _, m := range rows {
			key, text := m[1], m[2]
			of, known := english[key]
			if !known {
				t.Errorf("%s: English has no %s", language, key)
			}
			if got, want := places(text), places(of); !slices.Equal(got, want) {
				t.Errorf("%s: %s has the places %v, want %v", language, key, got, want)
			}
			if text == of && !slices.Contains(names, key) {
				t.Errorf("%s: %s is still English", language, key)
			}
			plural := strings.HasPrefix(text, "{ ")
			if plural != strings.HasPrefix(of, "{ ") {
				t.Errorf("%s: %s has forms of number in one language alone", language, key)
			}
			var got []string
			for _, form := range pluralForm.FindAllStringSubmatch(text, -1) {
				got = append(got, form[1])
			}
			if plural && !slices.Equal(got, wanted) {
				t.Errorf("%s: %s has the forms %v, want %v", language, key, got, wanted)
			}
		}
	}
}

// The compiler finds keys that are missing; this finds keys that nothing says.
func TestCatalogueIsUsed(t *testing.T) {
	t.Parallel()
	files := sources(t)
	const catalogue = "lib/en.ts"
	var code strings.Builder
	for name, text := range files {
		if !catalogueFile.MatchString(name) {
			code.WriteString(text)
		}
	}
	keys := catalogueKey.FindAllStringSubmatch(files[catalogue], -1)
	if len(keys) < 100 {
		t.Fatalf("found %d keys in %s; the test reads it wrongly", len(keys), catalogue)
	}
	for _, m := range keys {
		key := m[1]
		family, _, _ := strings.Cut(key, ".")
		literal := strings.Contains(code.String(), "'"+key+"'")
		made := strings.Contains(code.String(), "`"+family+".${") // such as state.${call.state}
		if !literal && !made {
			t.Errorf("%s: nothing uses %s", catalogue, key)
		}
	}
}

// Integrators theme by --parley-*; the elements' own rules use logical
// properties, so that they work in both directions of writing.
func TestStylesAreLogical(t *testing.T) {
	t.Parallel()
	physical := regexp.MustCompile(`\b(margin|padding|border)-(left|right|top|bottom)\b|[{;\s](left|right|top|bottom|width|height|min-width|max-width|min-height|max-height)\s*:|text-align:\s*(left|right)`)
	query := regexp.MustCompile(`@media[^{]*`) // a query has no logical form
	n := 0
	for name, text := range sources(t) {
		if filepath.Ext(name) != ".css" {
			continue
		}
		n++
		if found := physical.FindString(query.ReplaceAllString(text, "@media ")); found != "" {
			t.Errorf("%s: physical property %q", name, strings.TrimSpace(found))
		}
	}
	if n == 0 {
		t.Error("no style sheet found")
	}
}
