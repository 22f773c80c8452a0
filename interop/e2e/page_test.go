package e2e_test

import (
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host/hosttest"
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

	pick(page, "dies")
	page.Click(button("Run dies"))
	page.WaitText("Running on shop")
	focus := page.Focused()
	gate <- struct{}{}
	uncertain(1)
	page.Wait("the ways out in sight", func() bool {
		return browsertest.Eval[bool](page, `(() => {`+walk+`
			const bottom = find((e) => e.dataset.action === 'give-up' ? e : null).getBoundingClientRect().bottom;
			return bottom > 0 && bottom <= innerHeight;
		})()`)
	})
	if got := page.Focused(); got != focus || !strings.Contains(got, "You ran dies") {
		t.Errorf("the focus went from %s to %s", focus, got)
	}

	page.Click(button("Run another tool"))
	pick(page, "dies")
	page.Click(button("Run dies"))
	page.WaitText("Running on shop")
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
	soon := func(want string) {
		t.Helper()
		page.Wait("the focus on "+want, func() bool { return strings.Contains(page.Focused(), want) })
	}

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
	page.Press("Enter")
	soon(`heading "travel (this computer) asked"`)

	page.WaitText("Go ahead?")
	to(`radio "Yes"`)
	page.Press("Space")
	to(`button "Send to travel"`)
	page.Press("Enter")
	page.WaitText("Booked PY 129")
	soon(`heading "travel (this computer) asked"`)
}
