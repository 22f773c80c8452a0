package e2e_test

import (
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/interop/browsertest"
)

// What needs the person is scrolled into sight, but only if the end of the
// conversation was: never away from what somebody reads, and the focus stays.
func TestPageFollowsWhatIsNew(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := hosttest.NewServer(t, &hosttest.Script{Tools: map[string]hosttest.Tool{
		"dies": func(x *hosttest.Exchange) {
			select {
			case <-gate:
			case <-x.Context.Done():
			}
			x.Die()
		},
	}})
	p := serve(t, map[string]any{"shop": map[string]any{"url": s.URL}})
	page := signIn(t, p)
	page.Media(browsertest.Media{Width: 1280, Height: 420})
	uncertain := func(n int) {
		t.Helper()
		page.Wait("uncertain calls", func() bool { return page.Count(byCSS(`.state[data-state="uncertain"]`)) == n })
	}

	// The call may be drawn, by its event, before the page has led there.
	run := func() {
		t.Helper()
		pick(page, "dies")
		page.Click(button("Run dies"))
		page.WaitText("Running on shop")
		soonOn(page, "You ran dies")
	}

	run()
	focus := page.Focused()
	gate <- struct{}{}
	uncertain(1)
	page.Wait("the ways out in sight", func() bool {
		return browsertest.Eval[bool](page, `(() => {`+walk+`
			const bottom = find((e) => e.dataset.action === 'give-up' ? e : null).getBoundingClientRect().bottom;
			return bottom > 0 && bottom <= innerHeight;
		})()`)
	})
	if got := page.Focused(); got != focus {
		t.Errorf("the focus went from %s to %s", focus, got)
	}

	page.Click(button("Run another tool"))
	run()
	browsertest.Eval[any](page, `scrollTo(0, 0)`)
	gate <- struct{}{}
	uncertain(2)
	if y := browsertest.Eval[float64](page, `scrollY`); y != 0 {
		t.Errorf("the page was scrolled to %v under who reads at its start", y)
	}
}

// The list of conversations, its counts, and a card after its answer come from
// the rows that the page has; nothing is asked for again.
func TestPageDrawsFromItsRows(t *testing.T) {
	t.Parallel()
	p, _ := recorder(t, "2026-07-28")
	page := signIn(t, p)
	page.WaitText("None yet. A conversation begins")
	icons := 0
	for _, request := range page.Requests() {
		if strings.Contains(request, "/icon.") {
			icons++
		}
	}
	if icons > 1 { // browsers fetch it for each address that a page gives itself
		t.Errorf("the icon was fetched %d times on the way in", icons)
	}
	for range 2 {
		runTool(page, "ask", "Say a word")
		page.WaitFor(byRole("link", "ask 1 question waiting"))
		page.Fill("Word", "olé")
		page.Click(button("Send to recorder"))
		page.WaitText("Answer from recorder")
		page.WaitGone(byRole("link", "ask 1 question waiting"))
		page.WaitText("No questions waiting")
		page.Click(byCSS("#new-conversation"))
	}
	if n := page.Count(byCSS(`nav a[id^="c-"]`)); n != 2 {
		t.Errorf("%d conversations are listed, want 2", n)
	}
	lists := 0
	for _, request := range page.Requests() {
		if strings.Contains(request, "/v1/questions/") && strings.HasPrefix(request, "GET ") {
			t.Errorf("a question was fetched that the page had: %s", request)
		}
		if strings.HasSuffix(request, "/v1/conversations") {
			lists++
		}
	}
	if lists != 1 {
		t.Errorf("the list of conversations was fetched %d times, want once", lists)
	}
}

// A title that was not known when the page was drawn is shown once it is.
func TestTitlesAfterARestart(t *testing.T) {
	t.Parallel()
	p := demo(t)
	page := signIn(t, p)
	bookFlight(page)
	address := page.URL()
	p.stop()
	p.again()
	page.Goto(address)
	page.WaitText("You ran “Book a flight” on travel")
	page.WaitFor(byRole("link", "Book a flight 1 question waiting"))
}

// soonOn waits for the focus: what an event draws may be there before the reply to the
// request that moves it.
func soonOn(page *browsertest.Page, want string) {
	page.Wait("the focus on "+want, func() bool { return strings.Contains(page.Focused(), want) })
}

// A person without a mouse gets from the picker to the result.
func TestKeyboardOnly(t *testing.T) {
	t.Parallel()
	p := demo(t)
	page := signIn(t, p)
	page.WaitFor(byCSS(`[data-tool="book_flight"] button`))

	at := func(want string) {
		t.Helper()
		if got := page.Focused(); !strings.Contains(got, want) {
			t.Fatalf("the focus is on %s, want %s", got, want)
		}
	}
	// to goes on with Tab until the focus is there.
	to := func(want string) {
		t.Helper()
		var seen []string
		for range 40 {
			page.Press("Tab")
			got := page.Focused()
			if strings.Contains(got, want) {
				return
			}
			seen = append(seen, got)
		}
		t.Fatalf("Tab never comes to %s, only to\n%s", want, strings.Join(seen, "\n"))
	}
	soon := func(want string) { soonOn(page, want) }

	to(`"Skip to the conversation"`)
	page.Press("Enter")
	to(`button "Book a flight book_flight"`)
	page.Press("Enter")
	soon(`heading "Book a flight`)
	for _, field := range []struct{ name, text string }{{"From", "Hamburg"}, {"To", "Tokyo"}, {"Month", "3"}, {"Day", "27"}, {"Year", "2027"}} {
		page.Press("Tab")
		at(`textbox "` + field.name + `"`)
		page.Press("Control+a")
		page.Type(field.text)
	}
	page.Press("Tab")
	at(`button "Run “Book a flight”"`)
	page.Press("Enter")
	soon(`heading "You ran “Book a flight” on travel`)
	page.WaitText("Which connection from Hamburg")

	// Nothing chosen: the summary gets the focus, its link leads to the field.
	to(`radio "PY 106`)
	to(`button "Review answers"`)
	page.Press("Enter")
	page.WaitText("There is a problem")
	soon("There is a problem")
	to(`link "Select an option for`)
	page.Press("Enter")
	soon(`radio "PY 106`)
	page.Press("ArrowDown")
	at(`radio "PY 129`)
	page.Press("Escape") // the card is no dialog
	at(`radio "PY 129`)
	to(`button "Review answers"`)
	page.Press("Enter")
	soon(`heading "Check what will be sent to travel"`)
	to(`button "Change"`)
	page.Press("Enter")
	soon(`radio "PY 129`)
	to(`button "Review answers"`)
	page.Press("Enter")
	soon(`heading "Check what will be sent to travel"`)
	page.Press("Tab")
	at(`button "Send to travel"`)
	settled(page)
	page.Press("Enter")
	soon(`heading "travel (this computer) asked"`)

	page.WaitText("Go ahead?")
	to(`radio "Yes"`)
	page.Press("Space")
	to(`button "Send to travel"`)
	settled(page)
	page.Press("Enter")
	page.WaitText("Booked PY 129")
	soon(`heading "travel (this computer) asked"`)
}

// The title says "Error: " as long as errors stand on the page, and no longer.
func TestTitleTellsOfErrors(t *testing.T) {
	t.Parallel()
	p := demo(t)
	page := signIn(t, p)
	title := func(errors bool, when string) {
		t.Helper()
		page.Wait(when, func() bool {
			return strings.HasPrefix(browsertest.Eval[string](page, `document.title`), "Error: ") == errors
		})
	}
	pick(page, "book_flight")
	page.Click(byCSS("#run"))
	page.WaitText("There is a problem")
	title(true, "the title of a tool's form with errors")
	page.Click(byCSS("#other-tool"))
	title(false, "the title after another tool was wanted")

	bookFlight(page)
	fail := func() {
		t.Helper()
		page.Click(button("Review answers"))
		page.WaitText("There is a problem")
		title(true, "the title of a card with errors")
	}
	fail()
	page.Click(button("Not now"))
	title(false, "the title while the card is folded")
	page.Click(button("Answer now"))
	fail()
	browsertest.Eval[any](page, `void (() => {`+walk+`
		const card = find((e) => e.localName === 'parley-question' ? e : null);
		const question = card.store.question(card.questionId);
		card.store.takeQuestion({...question, message: 'Which other connection?'});
	})()`)
	page.WaitText("Which other connection?")
	title(false, "the title after other words came")
	fail()
	if got := p.api("POST", "/v1/questions/"+p.open(1)[0].ID+"/answer", `{"action":"decline"}`); got.Status != 200 {
		t.Fatalf("declining: %d %s", got.Status, got.Body)
	}
	page.WaitText("You declined")
	title(false, "the title after it was declined elsewhere")
}

// The address of one card, which webhooks have, says which call the card is of and
// leads to its conversation.
func TestAddressOfACard(t *testing.T) {
	t.Parallel()
	o := newOffice(t, officeTools, "")
	page := o.enter("ann")
	o.model("ann", "v_1", "book", `{}`)
	o.model("ann", "v_2", "clean", `{}`)
	page.WaitText("1 question waiting, 1 permission to decide")
	questions, err := o.inbox.Questions(t.Context(), someone("ann"), inbox.QuestionFilter{})
	if err != nil || len(questions) != 1 {
		t.Fatalf("%d questions, %v", len(questions), err)
	}
	approvals, err := o.inbox.Approvals(t.Context(), someone("ann"), inbox.ApprovalFilter{})
	if err != nil || len(approvals) != 1 {
		t.Fatalf("%d approvals, %v", len(approvals), err)
	}
	for _, test := range []struct{ at, runs, conversation string }{
		{"?q=" + string(questions[0].ID), "While running book", "?c=v_1"},
		{"?a=" + string(approvals[0].ID), "While running “Clean the desk”", "?c=v_2"},
	} {
		page.Goto(o.base + "/" + test.at)
		page.WaitFor(byRole("heading", test.runs))
		sound(t, page)
		page.Click(button("Show the conversation"))
		page.Wait("the conversation", func() bool { return page.URL() == o.base+"/"+test.conversation })
		page.WaitText("A model asked for")
	}
}
