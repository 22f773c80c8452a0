package e2e_test

import (
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/interop/browsertest"
)

// titleTools asks for a word without which nothing can be sent.
var titleTools = &hosttest.Script{Tools: map[string]hosttest.Tool{
	"word": func(x *hosttest.Exchange) {
		x.Asks("{"+modern("word", `{"mode":"form","message":"Which words?","requestedSchema":{"type":"object","properties":{"one":{"type":"string","minLength":1},"two":{"type":"string"}},"required":["one"]}}`)+"}", "waits")
	},
}}

// Of two cards with errors the title tells until neither shows any, and of none that
// was left with the page.
func TestTitleTellsOfErrorsOfTwoCards(t *testing.T) {
	t.Parallel()
	o := newOffice(t, titleTools, "")
	page := o.enter("ann")
	o.person("ann", "v_1", "word")
	o.person("ann", "v_2", "word")
	page.WaitText("2 questions waiting")
	page.Click(byCSS("#inbox-link"))
	title := func(errors bool, when string) {
		t.Helper()
		page.Wait(when, func() bool {
			return strings.HasPrefix(browsertest.Eval[string](page, `document.title`), "Error: ") == errors
		})
	}
	card := func(n, action string) browsertest.Query {
		return byCSS(`[data-question="` + browsertest.Eval[string](page, `(() => {`+walk+`
			let n = `+n+`;
			return find((e) => e.localName === 'parley-question' && n-- === 0 ? e.questionId : null);
		})()`) + `"] [data-action="` + action + `"]`)
	}
	page.Wait("two cards", func() bool { return page.Count(byCSS(`[data-action="review"]`)) == 2 })
	fail := func(n string, shown int) {
		t.Helper()
		page.Click(card(n, "review"))
		page.Wait("the errors of a card", func() bool { return page.Count(byCSS(`.card [aria-invalid="true"]`)) == shown })
		title(true, "the title of a card with errors")
	}
	fail("0", 1)
	fail("1", 2)
	page.Click(card("1", "later"))
	page.WaitFor(card("1", "unfold"))
	if got := browsertest.Eval[string](page, `document.title`); !strings.HasPrefix(got, "Error: ") {
		t.Errorf("with one of two cards folded, and errors on the other, the title is %q", got)
	}
	page.Click(card("0", "later"))
	title(false, "the title with both cards folded")

	page.Click(card("0", "unfold"))
	fail("0", 1)
	page.Click(byCSS("#view-permissions"))
	page.WaitFor(byCSS(`#view-permissions[aria-current="page"]`))
	if got := browsertest.Eval[string](page, `document.title`); strings.HasPrefix(got, "Error: ") {
		t.Errorf("on a page without errors the title is %q", got)
	}
}

// Other programs name their conversations as they like.
func TestConversationOfAnyName(t *testing.T) {
	t.Parallel()
	o := newOffice(t, titleTools, "")
	page := o.enter("ann")
	for name, at := range map[string]string{
		"7":                      "7",
		"trip 7/ä & back?#+%":    "trip%207%2F%C3%A4%20%26%20back%3F%23%2B%25",
		strings.Repeat("n", 100): strings.Repeat("n", 100),
	} {
		page.Goto(o.base + "/?c=" + at)
		c := o.person("ann", name, "word")
		page.WaitText("Which words?")
		if page.URL() != o.base+"/?c="+at {
			t.Errorf("the conversation %q is at %s", name, page.URL())
		}
		if _, err := o.inbox.Stop(t.Context(), someone("ann"), c.ID); err != nil {
			t.Fatal(err)
		}
		page.WaitText("you stopped the call")
	}
	for _, at := range []string{strings.Repeat("n", 101), "a%00b", "a%0ab"} {
		page.Goto(o.base + "/?c=" + at)
		page.Wait("a conversation with a name of its own", func() bool { return strings.HasPrefix(page.URL(), o.base+"/?c=v_") })
	}
}
