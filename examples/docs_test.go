package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGuidesShowTheExamples: every block of Go in a guide stands in its example,
// letter by letter, so what readers copy compiles and is tested.
func TestGuidesShowTheExamples(t *testing.T) {
	t.Parallel()
	for guide, folder := range map[string]string{"write-a-server.md": "desk", "embed.md": "embed"} {
		text, err := os.ReadFile(filepath.Join("..", "docs", guide))
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var source strings.Builder
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(b)
		}
		blocks := strings.Split(string(text), "```go\n")[1:]
		if len(blocks) == 0 {
			t.Errorf("%s shows no code", guide)
		}
		for _, block := range blocks {
			code, _, _ := strings.Cut(block, "```")
			if !strings.Contains(source.String(), code) {
				t.Errorf("%s shows what is not in examples/%s:\n%s", guide, folder, code)
			}
		}
	}
}
