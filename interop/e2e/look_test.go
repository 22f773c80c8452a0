package e2e_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/interop/browsertest"
)

var update = flag.Bool("update", false, "rewrite the accessibility trees in testdata")

// golden holds a text against testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (go test -update rewrites it; read the difference aloud):\n%s", path, diff)
	}
}

// sound fails the test if the page has faults that axe finds, complained, or is
// wider than its window.
func sound(t *testing.T, page *browsertest.Page) {
	t.Helper()
	for _, finding := range page.Axe() {
		t.Errorf("axe: %s", finding)
	}
	for _, fault := range faults(page) {
		t.Errorf("the page's console: %s", fault)
	}
	for _, m := range []browsertest.Media{{Width: 320, Height: 640}, {Width: 320, Height: 640, Dark: true, ForcedColors: true}, {Width: 1280, Height: 800, TextScale: 2}} {
		page.Media(m)
		if wide := browsertest.Eval[bool](page, `document.documentElement.scrollWidth > document.documentElement.clientWidth`); wide {
			t.Errorf("%+v: the page scrolls sideways", m)
		}
		if small := first(page, `(e) => {
			if (!e.matches('button, a[href], summary, input') || !e.checkVisibility() || e.closest('.skip') || e.matches('p a')) return null;
			const box = e.getBoundingClientRect();
			return box.width > 0 && box.height > 0 && (box.width < 19.5 || box.height < 19.5 || !e.matches('input') && box.height < 23.5) ? e.outerHTML.slice(0, 100) + ' ' + box.width + 'x' + box.height : null;
		}`); small != "" {
			t.Errorf("%+v: a small target: %s", m, small)
		}
		if cut := first(page, `(e) => e.closest('.permission, .listing, .refusals') && e.matches('p, dd, dt, h3, h4, button, li') && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline' ? e.outerHTML.slice(0, 120) : null`); cut != "" {
			t.Errorf("%+v: clipped: %s", m, cut)
		}
	}
	page.Media(browsertest.Media{})
}

var moment = regexp.MustCompile(`(?:(?:on )?[A-Z][a-z]+ \d{1,2}, \d{4} at |at )?\d{1,2}:\d{2}\s[AP]M`)

// still takes out of an accessibility tree what differs from day to day, and after midnight.
func still(tree string) string { return moment.ReplaceAllString(tree, "(when)") }

// shot writes a picture for a person to look at, if they want one.
func shot(page *browsertest.Page, name string) {
	if dir := *shots; dir != "" {
		page.Shot(filepath.Join(dir, name+".png"))
	}
}
