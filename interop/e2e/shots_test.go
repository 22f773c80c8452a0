package e2e_test

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-mcp/parley/interop/browsertest"
)

var shots = flag.String("shots", "", "also write the documentation's screenshots into this `folder`")

// TestScreenshots takes the pictures of the documentation (make screenshots).
func TestScreenshots(t *testing.T) {
	t.Parallel()
	dir := *shots
	if dir == "" {
		dir = t.TempDir()
	}
	p := demo(t)
	page := signIn(t, p)
	bookFlight(page)
	fillConnection(page)
	page.WaitFor(byRole("link", "Book a flight 1 question waiting"))
	// At 70 % the card and what is around it fit; nothing has the focus.
	page.Media(browsertest.Media{Width: 1280, Height: 800, TextScale: 16.0 / 23})
	browsertest.Eval[any](page, `(() => {
		let at = document.activeElement;
		while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
		at?.blur();
		scrollTo(0, 0);
	})()`)
	painted(t, page, filepath.Join(dir, "demo.png"), 1280, 800)

	o := newOffice(t, officeTools, "")
	ann := o.enter("ann")
	ann.Goto(o.base + "/?c=v_1")
	ann.Media(browsertest.Media{Width: 1280, Height: 800, TextScale: 16.0 / 20})
	o.model("ann", "v_1", "clean", `{"rows":12,"deep":{"shelves":true},"note":"Throw away what is older than a year."}`)
	ann.WaitFor(button("Always allow this tool"))
	painted(t, ann, filepath.Join(dir, "approval.png"), 1280, 800)
}

// painted takes a picture, and looks whether there is something on it.
func painted(t *testing.T, page *browsertest.Page, path string, width, height int) {
	t.Helper()
	page.Shot(path)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	shot, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if size := shot.Bounds().Size(); size.X != width || size.Y != height {
		t.Errorf("%s is %v, want %d×%d", path, size, width, height)
	}
	colours := map[[3]uint32]bool{}
	for y := 0; y < height; y += 4 {
		for x := 0; x < width; x += 4 {
			r, g, b, _ := shot.At(x, y).RGBA()
			colours[[3]uint32{r, g, b}] = true
		}
	}
	if len(colours) < 10 {
		t.Errorf("%s has %d colours: nothing was painted", path, len(colours))
	}
}
