package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// asCommand finds `parley WORD` where a document or a page tells people to type it.
var asCommand = regexp.MustCompile("(?m)(?:`|<code>|^ *)parley ([a-z]+)\\b[^=]")

// TestNamedSubcommandsAreThere: documents and pages name no subcommand that does
// not exist.
func TestNamedSubcommandsAreThere(t *testing.T) {
	t.Parallel()
	found := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md", "web/*.html", "web/src/lib/*.ts"} {
		files, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, error %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range asCommand.FindAllSubmatch(text, -1) {
				found++
				name := string(m[1])
				if _, ok := find(name); !ok && name != "help" {
					t.Errorf("%s names `parley %s`, which does not exist", file, name)
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("found %d subcommands: the test looks at the wrong place", found)
	}
}
