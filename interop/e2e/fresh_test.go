package e2e_test

import (
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/interop/browsertest"
)

// hasten presses each button of that action at the very moment at which it is
// drawn from here on, and counts the presses.
func hasten(page *browsertest.Page, action string) {
	browsertest.Eval[any](page, `void (() => {`+walk+`
		window.hasty = 0;
		const pressed = new WeakSet();
		const watch = (root) => new MutationObserver(() => {
			for (const button of root.querySelectorAll('[data-action="`+action+`"]')) {
				if (pressed.has(button)) continue;
				pressed.add(button);
				hasty++;
				button.click();
			}
		}).observe(root, {childList: true, subtree: true});
		find((e) => { if (e.shadowRoot) watch(e.shadowRoot); });
		const attach = Element.prototype.attachShadow;
		Element.prototype.attachShadow = function(options) {
			const root = attach.call(this, options);
			watch(root);
			return root;
		};
	})()`)
}

// leaving counts the decisions and answers, and what acts once more, that the page has sent.
func leaving(page *browsertest.Page) int {
	n := 0
	for _, request := range page.Requests() {
		decision := strings.Contains(request, "/v1/approvals/") && !strings.HasSuffix(request, "/shown")
		if strings.HasPrefix(request, "POST ") && (decision || strings.HasSuffix(request, "/answer") || strings.HasSuffix(request, "/resolve") || strings.HasSuffix(request, "/run-again")) {
			n++
		}
	}
	return n
}

// A card that appears under the pointer takes no press that was meant for what was
// there before, and none while its words have just changed. A moment later it does.
func TestPressOfWhatJustAppeared(t *testing.T) {
	t.Parallel()
	o := newOffice(t, &hosttest.Script{Tools: map[string]hosttest.Tool{
		"clean": func(x *hosttest.Exchange) { x.Text("cleaned") },
		"words": func(x *hosttest.Exchange) {
			if x.State == nil {
				x.Asks("{"+modern("two", `{"mode":"form","message":"Which words?","requestedSchema":{"type":"object","properties":{"one":{"type":"string"},"two":{"type":"string"}}}}`)+"}", "waits")
				return
			}
			x.Text("written")
		},
		"agree": func(x *hosttest.Exchange) {
			if x.State == nil {
				x.Asks("{"+modern("sure", `{"mode":"form","message":"Are you sure?","requestedSchema":{"type":"object","properties":{}}}`)+"}", "waits")
				return
			}
			x.Text("agreed")
		},
	}}, "")
	page := o.enter("ann")
	page.Click(byCSS("#inbox-link"))
	hasty := func() int { return browsertest.Eval[int](page, `hasty`) }

	hasten(page, "allow-once")
	o.model("ann", "v_1", "clean", `{}`)
	page.WaitFor(button("Allow once"))
	settled(page)
	if hasty() != 1 || leaving(page) != 0 {
		t.Errorf("%d presses of a permission that had just appeared sent %d decisions, want 1 and none", hasty(), leaving(page))
	}
	page.Click(button("Allow once"))
	page.WaitText("You allowed this call")

	hasten(page, "send")
	before := leaving(page)
	if _, err := o.host.Start(t.Context(), someone("ann"), host.NewCall{Conversation: "v_1", Server: "desk", Name: "agree"}); err != nil {
		t.Fatal(err)
	}
	page.WaitText("Are you sure?")
	settled(page)
	browsertest.Eval[any](page, `(() => {`+walk+`
		const card = find((e) => e.localName === 'parley-question' ? e : null);
		const question = card.store.question(card.questionId);
		card.store.takeQuestion({...question, version: question.version + 1, message: 'Are you really sure?'});
	})()`)
	page.WaitText("Are you really sure?")
	settled(page)
	if hasty() != 2 || leaving(page) != before {
		t.Errorf("%d presses of a question whose words were new sent %d answers, want 2 and none", hasty(), leaving(page)-before)
	}
	page.Click(byCSS(`[data-action="send"]`))
	page.WaitText("You accepted at")
	// A step of the card, and a card that was folded, are as new as a card.
	page.Click(byCSS(`#new-conversation`))
	pick(page, "words")
	page.Click(byCSS("#run"))
	page.WaitText("Which words?")
	hasten(page, "send")
	before = leaving(page)
	page.Click(button("Review answers"))
	page.WaitText("Check what will be sent to desk")
	settled(page)
	page.Click(button("Not now"))
	page.Click(button("Answer now"))
	page.WaitText("Check what will be sent to desk")
	settled(page)
	if hasty() < 2 || leaving(page) != before {
		t.Errorf("%d presses of a step that had just begun sent %d answers, want some and none", hasty(), leaving(page)-before)
	}
	page.Click(byCSS(`[data-action="send"]`))
	page.WaitText("written")
}

// A call that hangs comes to nothing while somebody is about to press Stop: what acts
// once more in its place takes no press before it has been there for a moment.
func TestPressWhereStopWas(t *testing.T) {
	t.Parallel()
	gates := map[string]chan struct{}{"dies": make(chan struct{}), "dies-too": make(chan struct{}), "fails": make(chan struct{})}
	hang := func(tool string, end func(x *hosttest.Exchange)) hosttest.Tool {
		return func(x *hosttest.Exchange) {
			select {
			case <-gates[tool]:
			case <-x.Context.Done():
			}
			end(x)
		}
	}
	s := hosttest.NewServer(t, &hosttest.Script{Tools: map[string]hosttest.Tool{
		"dies":     hang("dies", func(x *hosttest.Exchange) { x.Die() }),
		"dies-too": hang("dies-too", func(x *hosttest.Exchange) { x.Die() }),
		"fails":    hang("fails", func(x *hosttest.Exchange) { x.Error(-32000, "the shop is closed", "") }),
	}})
	p := serve(t, map[string]any{"shop": map[string]any{"url": s.URL}})
	page := signIn(t, p)
	for _, test := range []struct{ tool, action string }{{"dies", "send-again"}, {"dies-too", "it-happened"}, {"fails", "run-again"}} {
		page.Click(byCSS("#new-conversation"))
		pick(page, test.tool)
		page.Click(byCSS("#run"))
		page.WaitFor(button("Stop"))
		hasten(page, test.action)
		before := leaving(page)
		gates[test.tool] <- struct{}{}
		page.WaitFor(byCSS(`[data-action="` + test.action + `"]`))
		settled(page)
		if hasty := browsertest.Eval[int](page, `hasty`); hasty < 1 || leaving(page) != before {
			t.Errorf("%d presses of %s where Stop had been sent %d requests, want some and none", hasty, test.action, leaving(page)-before)
		}
		page.Click(byCSS(`[data-action="` + test.action + `"]`))
		page.Wait("the press of "+test.action, func() bool { return leaving(page) == before+1 })
	}
}

// The person agrees to exactly one address, by its digest. Until the browser has made that,
// Open takes no press, and it shows so.
func TestOpenWaitsForTheDigest(t *testing.T) {
	t.Parallel()
	site := newWebsite(t)
	p, _ := shop(t, "", func(x *hosttest.Exchange) {
		x.Asks("{"+modern("pay", visit("e1", site.url))+"}", "waits")
	})
	page := signIn(t, p)
	browsertest.Eval[any](page, `void (() => {
		const digest = crypto.subtle.digest.bind(crypto.subtle);
		window.wanted = 0;
		const ready = new Promise((now) => { window.ready = now; });
		crypto.subtle.digest = (...what) => { wanted++; return ready.then(() => digest(...what)); };
	})()`)
	pick(page, "pay")
	page.Click(byCSS("#run"))
	open := byCSS(`[data-action="open"]`)
	page.WaitFor(open)
	// The card has begun its moment, so this one ends after it.
	browsertest.Eval[any](page, `void setTimeout(() => { window.later = true; }, 500)`)
	page.Wait("the card is no longer new", func() bool { return browsertest.Eval[bool](page, `window.later === true && wanted > 0`) })
	if page.Count(byCSS(`[data-action="open"][aria-disabled="true"]`)) != 1 {
		t.Error("Open can be pressed before its address has a digest")
	}
	browsertest.Eval[any](page, `ready()`)
	agree(page)
}
