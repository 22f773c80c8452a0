package web

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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

// The compiler finds keys that are missing; this finds keys that nothing says.
func TestCatalogueIsUsed(t *testing.T) {
	t.Parallel()
	files := sources(t)
	const catalogue = "lib/en.ts"
	var code strings.Builder
	for name, text := range files {
		if name != catalogue {
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
