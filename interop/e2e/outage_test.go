package e2e_test

import (
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host/hosttest"
)

// While a host cannot say who asks, a page says that the connection is lost, and neither
// that the person is signed out nor by going to the sign-in: one that is open, and one
// that is loaded just then. Both go on by themselves.
func TestOutageSignsNobodyOut(t *testing.T) {
	t.Parallel()
	o := newOffice(t, &hosttest.Script{Tools: modernTools}, "")
	page := o.enter("ann")
	lost := byCSS(".banner:not([hidden])")
	for _, how := range []string{"open", "loaded"} {
		o.away.Store(true)
		o.model("ann", "v_1", "ask", `{}`) // the stream looks at its session
		if how == "loaded" {
			page.Reload()
		}
		page.WaitFor(lost)
		if n := page.Count(byCSS(".signed-out")); n != 0 || strings.Contains(page.URL(), "sign-in") {
			t.Errorf("%s: the page says that the person is signed out, at %s", how, page.URL())
		}
		o.away.Store(false)
		page.WaitText("Signed in: Ann")
		page.WaitGone(lost)
	}
}
