package e2e_test

import (
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host/hosttest"
)

// A large answer is shown when the person wants it, and stays shown when the page
// reads its rows again; of very many parts the first are drawn.
func TestLargeAnswer(t *testing.T) {
	t.Parallel()
	const parts = 60_000
	s := hosttest.NewServer(t, &hosttest.Script{Tools: map[string]hosttest.Tool{
		"many": func(x *hosttest.Exchange) {
			x.Result(`{"resultType":"complete","content":[` + strings.Repeat(`{"type":"text","text":"a leaf"},`, parts-1) + `{"type":"text","text":"the last leaf"}]}`)
		},
		"word": func(x *hosttest.Exchange) { x.Text("a word") },
	}})
	p := serve(t, map[string]any{"wood": map[string]any{"url": s.URL}})
	page := signIn(t, p)
	pick(page, "many")
	page.Click(button("Run many"))
	page.WaitText("Large answer, 1.9 MB")
	if n := page.Count(byCSS(".result-text")); n != 0 {
		t.Errorf("%d parts are drawn before they are asked for", n)
	}
	page.Click(button("Show it"))
	page.WaitText("And 59,800 more parts, not shown.")
	if n := page.Count(byCSS(".result-text")); n != 200 {
		t.Errorf("%d parts are drawn, want 200", n)
	}
	if n := page.Count(button("Show it")); n != 0 {
		t.Errorf("there are %d buttons to show what is shown", n)
	}

	page.Click(button("Run another tool"))
	pick(page, "word")
	page.Click(button("Run word"))
	page.WaitText("a word")
	page.WaitText("And 59,800 more parts, not shown.")
}
