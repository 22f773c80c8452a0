package parley_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestMigrationsStay: a migration that some database may have is never edited,
// since that database would lack what the edited one makes. A new one adds its
// line to testdata/migrations.sum.
func TestMigrationsStay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*/*/migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("migrations %q, %v", files, err)
	}
	slices.Sort(files)
	var sums bytes.Buffer
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), filepath.ToSlash(name))
	}
	want, err := os.ReadFile("testdata/migrations.sum")
	if err != nil || !bytes.Equal(want, sums.Bytes()) {
		t.Errorf("testdata/migrations.sum (%v) does not have these sums:\n%s", err, &sums)
	}
}
