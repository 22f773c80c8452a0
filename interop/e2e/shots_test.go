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
	path := filepath.Join(dir, "demo.png")
	page.Shot(path)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	shot, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if size := shot.Bounds().Size(); size.X != 1280 || size.Y != 800 {
		t.Errorf("the picture is %v, want 1280×800", size)
	}
	colours := map[[3]uint32]bool{}
	for y := 0; y < 800; y += 4 {
		for x := 0; x < 1280; x += 4 {
			r, g, b, _ := shot.At(x, y).RGBA()
			colours[[3]uint32{r, g, b}] = true
		}
	}
	if len(colours) < 10 {
		t.Errorf("the picture has %d colours: nothing was painted", len(colours))
	}
}
