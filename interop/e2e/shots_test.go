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
	page.Media(browsertest.Media{Width: 1280, Height: 800})
	bookFlight(page)
	fillConnection(page)
	// As a person sees the card: from its top, without the ring of the focus.
	browsertest.Eval[any](page, `(() => {
		const visit = (node) => {
			const found = node.querySelector('.card.open');
			if (found) return found;
			for (const host of node.querySelectorAll('*')) {
				const deeper = host.shadowRoot && visit(host.shadowRoot);
				if (deeper) return deeper;
			}
			return null;
		};
		let at = document.activeElement;
		while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
		at?.blur();
		visit(document).scrollIntoView({ block: 'end' });
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
