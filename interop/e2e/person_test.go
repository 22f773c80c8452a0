package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/interop/browsertest"
)

var (
	byCSS  = browsertest.ByCSS
	byRole = browsertest.ByRole
)

func button(name string) browsertest.Query { return byRole("button", name) }
func radio(name string) browsertest.Query  { return byRole("radio", name) }

// signIn opens the printed address and waits until the page is ready for work.
func signIn(t *testing.T, p *parley) *browsertest.Page {
	t.Helper()
	page := browsertest.Open(t, p.address)
	page.WaitText("Signed in")
	return page
}

// settled waits until the cards on the page take presses: one that has just
// appeared does not yet let anything through.
func settled(page *browsertest.Page) {
	page.WaitGone(byCSS(`[aria-disabled="true"]`))
}

// pick chooses a tool by the name on its button.
func pick(page *browsertest.Page, tool string) {
	page.Click(byCSS(`[data-tool="` + tool + `"] button`))
	page.WaitFor(byCSS("#tool-heading"))
}

// journey fills in the arguments that book_flight and group_quote share.
func journey(page *browsertest.Page) {
	page.Fill("From", "Hamburg")
	page.Fill("To", "Tokyo")
	page.Fill("Day", "27")
	page.Fill("Month", "3")
	page.Fill("Year", "2027")
}

// bookFlight runs book_flight until it asks which connection.
func bookFlight(page *browsertest.Page) {
	pick(page, "book_flight")
	journey(page)
	page.Click(button("Run “Book a flight”"))
	page.WaitText("Which connection from Hamburg to Tokyo do you want on Saturday, 27 March 2027?")
}

// choose fills in the card of the connection and sends it.
func choose(page *browsertest.Page) {
	fillConnection(page)
	page.Click(button("Review answers"))
	page.WaitText("Check what will be sent to travel")
	page.Click(button("Send to travel"))
}

func fillConnection(page *browsertest.Page) {
	page.Click(byCSS(`[data-field="flight"] .option:nth-child(2) input`))
	page.Fill("Bags", "2")
	page.Click(radio("Yes").In(byRole("radiogroup", "Aisle seat, if there is one (optional)")))
}

// faults are the errors on the console, without the 401 of the page's shell:
// it is how a page without a session is answered, and browsers note it.
func faults(page *browsertest.Page) []string {
	var list []string
	for _, fault := range page.Console() {
		if !strings.Contains(fault, "401 (Unauthorized)") {
			list = append(list, fault)
		}
	}
	return list
}

// confirm answers the question about the price.
func confirm(page *browsertest.Page) {
	page.Click(radio("Yes").In(byRole("radiogroup", "Go ahead?")))
	page.Click(button("Send to travel"))
}

// walk defines find, which calls its argument with every element of the page,
// open shadow roots included, and returns the first thing that it returns.
const walk = `const find = (visit, root = document) => {
	for (const e of root.querySelectorAll('*')) {
		const found = visit(e) ?? (e.shadowRoot && find(visit, e.shadowRoot));
		if (found !== null && found !== undefined) return found;
	}
	return null;
};
`

// first returns what the function of JavaScript finds first, or "".
func first(page *browsertest.Page, visit string) string {
	return browsertest.Eval[string](page, "(() => {"+walk+"return find("+visit+") ?? ''})()")
}

// row is the value beside a label in a review or a record.
func row(page *browsertest.Page, label string) string {
	return first(page, `(e) => e.matches('dt') && e.textContent === `+quote(label)+` ? e.nextElementSibling.innerText.trim() : null`)
}

// field is the text in the field of that name.
func field(page *browsertest.Page, name string) string {
	return first(page, `(e) => e.dataset.field === `+quote(name)+` ? e.querySelector('input, textarea').value : null`)
}

// card is the card that shows this text: all cards of a server have the same name.
func card(page *browsertest.Page, text string) browsertest.Query {
	return byCSS(`[data-question="` + first(page, `(e) => e.dataset.question && e.innerText.includes(`+quote(text)+`) ? e.dataset.question : null`) + `"]`)
}

// quote writes a string of JavaScript.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always encodes
	}
	return string(b)
}
