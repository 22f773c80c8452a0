package vectors_test

import (
	"testing"

	"github.com/parley-mcp/parley/interop/browsertest"
)

// TestNoDrafts types into cards of pages that do not want drafts in their storage.
func TestNoDrafts(t *testing.T) {
	t.Parallel()
	base := serve(t, aQuestion(t))
	p := browsertest.Open(t, base+"/card")
	draft := func() bool { return browsertest.Eval[bool](p, `sessionStorage.getItem('parley.draft.q1') !== null`) }
	bags := func() string {
		p.WaitFor(browsertest.ByRole("textbox", "Bags (optional)"))
		return browsertest.Eval[string](p, `(() => {
			const find = (root) => root.querySelector('[data-field="bags"] input') ?? [...root.querySelectorAll('*')].map((e) => e.shadowRoot && find(e.shadowRoot)).find((e) => e);
			return find(document).value;
		})()`)
	}
	p.Fill("Bags (optional)", "2")
	if !draft() {
		t.Error("what was typed is not kept")
	}
	for range 2 { // once with the draft of the page before, once with what was typed here
		p.Goto(base + "/private")
		if got := bags(); got != "1" || draft() {
			t.Errorf("with no-drafts the field holds %q, want the suggestion 1; a draft is stored: %v", got, draft())
		}
		p.Fill("Bags (optional)", "3")
		if draft() {
			t.Error("with no-drafts on the inbox what was typed is stored")
		}
	}
	p.Goto(base + "/card")
	p.WaitFor(browsertest.ByRole("textbox", "Bags (optional)"))
	p.Fill("Bags (optional)", "2")
	browsertest.Eval[any](p, `document.querySelector('parley-question').setAttribute('no-drafts', '')`)
	p.Fill("Bags (optional)", "3")
	if draft() {
		t.Error("with no-drafts on the question what was typed is stored")
	}
	faultless(t, p)
}
