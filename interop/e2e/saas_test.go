package e2e_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/interop/browsertest"
)

// TestProductOfOthers goes through the example product as its user does: the product's
// own sign-in, its page with an element of another origin, a question, an answer.
func TestProductOfOthers(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "saas")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./examples/saas")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	command := exec.Command(program, "-addr", servicetest.FreeAddr(t), "-data", t.TempDir())
	errs := &buffer{}
	command.Stderr = errs
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		if err := command.Wait(); err != nil || errs.String() != "" {
			t.Errorf("the product ended with %v: %s", err, errs)
		}
	})
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatalf("the product says nothing: %s", errs)
	}
	_, address, ok := strings.Cut(lines.Text(), "is ready: ")
	if !ok {
		t.Fatalf("the product says %q", lines.Text())
	}

	page := browsertest.Open(t, address)
	page.Fill("Name", "ada")
	page.Fill("Password", "demo")
	page.Click(button("Sign in"))
	page.WaitText("Signed in as ada")
	page.Click(button("Reserve a desk in Hamburg"))
	page.WaitText("Which desk in Hamburg?")
	page.Click(byCSS(`[data-field="desk"] .option:nth-child(2) input`))
	page.Fill("Day", "27")
	page.Fill("Month", "3")
	page.Fill("Year", "2027")
	page.Click(button("Review answers"))
	page.WaitText("Check what will be sent")
	page.Click(byCSS(`[data-part="send"], button.primary`))
	page.WaitText("Done")
	if list := page.Console(); len(list) > 0 {
		t.Errorf("the console says %q", list)
	}
	// Everything came from the product and its host.
	for _, request := range page.Requests() {
		if !strings.Contains(request, "127.0.0.1") {
			t.Errorf("a request to %s", request)
		}
	}
}
