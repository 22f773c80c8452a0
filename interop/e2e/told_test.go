package e2e_test

import (
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/interop/browsertest"
)

// overhear keeps what the page's live region says from here on.
func overhear(page *browsertest.Page) {
	browsertest.Eval[any](page, `void (() => {
		window.said = [];
		new MutationObserver((records, _, region = document.getElementById('parley-status')) => { if (region.textContent) said.push(region.textContent); })
			.observe(document.getElementById('parley-status'), {childList: true});
	})()`)
}

// said counts the sentences of the live region that contain text.
func said(page *browsertest.Page, text string) int {
	n := 0
	for _, sentence := range browsertest.Eval[[]string](page, `said`) {
		if strings.Contains(sentence, text) {
			n++
		}
	}
	return n
}

// A server that wants the person at its site again asks the same question again:
// it is said and notified like a new one, each time in full.
func TestAskedAgainIsTold(t *testing.T) {
	t.Parallel()
	site := newWebsite(t)
	o := newOffice(t, &hosttest.Script{Tools: map[string]hosttest.Tool{"visit": func(x *hosttest.Exchange) {
		switch {
		case x.State == nil:
			x.Asks("{"+modern("go", visit("e1", site.url+"/old"))+"}", "first")
		case *x.State == "first":
			x.Asks("{"+modern("go#2", visit("e2", site.url+"/fresh"))+"}", "second")
		default:
			x.Text("visited")
		}
	}}}, "")
	page := o.enter("ann")
	browsertest.Eval[any](page, `void (() => {
		window.told = [];
		window.Notification = class { static permission = 'granted'; static async requestPermission() { return 'granted'; }
			constructor(title, options) { told.push(options.tag); } close() {} };
		localStorage.setItem('parley.notify', 'on');
		Object.defineProperty(document, 'hidden', {get: () => true});
	})()`)
	overhear(page)
	told := func() []string { return browsertest.Eval[[]string](page, `told`) }
	page.Click(byCSS("#inbox-link"))
	c, err := o.host.Start(t.Context(), someone("ann"), host.NewCall{Conversation: "v_1", Server: "desk", Name: "visit"})
	if err != nil {
		t.Fatal(err)
	}
	const asks = "desk asks: Pay for it"
	page.Wait("the announcement", func() bool { return said(page, asks) == 1 && len(told()) == 1 })
	agree(page).Close()
	page.Click(button("I have finished"))
	page.WaitText("The server asks again with a new address.")
	page.Wait("the second announcement", func() bool { return said(page, asks) == 2 && len(told()) == 2 })
	if got := told(); got[0] == got[1] {
		t.Errorf("both notifications have the tag %q: the second would replace the first in silence", got[0])
	}
	agree(page).Close()
	page.Click(button("I have finished"))
	eventually(t, "the end", func() bool {
		now, err := o.inbox.Call(t.Context(), someone("ann"), c.ID)
		return err == nil && now.State == "done"
	})
	if n := said(page, asks); n != 2 || len(told()) != 2 {
		t.Errorf("asked twice, said %d times and told %q", n, told())
	}
}
