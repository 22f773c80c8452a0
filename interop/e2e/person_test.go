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
	page.Click(button("Run book_flight"))
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

// row is the value beside a label in a review or a record.
func row(page *browsertest.Page, label string) string {
	return browsertest.Eval[string](page, `(() => {
		const visit = (node) => {
			for (const dt of node.querySelectorAll('dt')) {
				if (dt.textContent === `+quote(label)+`) return dt.nextElementSibling.innerText.trim();
			}
			for (const host of node.querySelectorAll('*')) {
				const found = host.shadowRoot && visit(host.shadowRoot);
				if (found) return found;
			}
			return '';
		};
		return visit(document);
	})()`)
}

func quote(s string) string {
	b, _ := json.Marshal(s) //nolint:errchkjson // a string always encodes
	return string(b)
}

// card is the card that shows this text: all cards of a server have the same name.
func card(page *browsertest.Page, text string) browsertest.Query {
	id := browsertest.Eval[string](page, `(() => {
		const visit = (node) => {
			for (const card of node.querySelectorAll('[data-question]')) {
				if (card.innerText.includes(`+quote(text)+`)) return card.dataset.question;
			}
			for (const host of node.querySelectorAll('*')) {
				const found = host.shadowRoot && visit(host.shadowRoot);
				if (found) return found;
			}
			return '';
		};
		return visit(document);
	})()`)
	return byCSS(`[data-question="` + id + `"]`)
}

// field is the text in the field of a question, as JavaScript.
func field(name string) string {
	return `(() => {
		const visit = (node) => {
			const found = node.querySelector('[data-field=` + name + `] input, [data-field=` + name + `] textarea');
			if (found) return found.value;
			for (const host of node.querySelectorAll('*')) {
				const value = host.shadowRoot && visit(host.shadowRoot);
				if (value !== null && value !== undefined) return value;
			}
			return null;
		};
		return visit(document);
	})()`
}
