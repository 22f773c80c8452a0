package e2e_test

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/internal/travel"
	"github.com/parley-mcp/parley/interop/browsertest"
)

func TestDemoBooksAFlight(t *testing.T) {
	t.Parallel()
	p := demo(t)
	page := signIn(t, p)
	if got := page.URL(); strings.Contains(got, "token") || strings.Contains(got, "#") {
		t.Errorf("after the sign-in the address is %s, want one without the token", got)
	}

	bookFlight(page)
	fillConnection(page)
	page.Click(button("Review answers"))
	page.WaitText("Check what will be sent to travel")
	for label, want := range map[string]string{
		"Connecting flight":           "PY 129 via Seoul, 09:45 to 09:50 (+1), 750 EUR",
		"Bags":                        "2",
		"Aisle seat, if there is one": "Yes",
	} {
		if got := row(page, label); !strings.HasPrefix(got, want) {
			t.Errorf("the review shows %s: %q, want %q", label, got, want)
		}
	}
	page.Click(button("Send to travel"))

	page.WaitText("Book PY 129 to Tokyo on Saturday, 27 March 2027 for 795 EUR, 2 bags, aisle seat?")
	if n := bookings(t, filepath.Join(p.data, "bookings.jsonl")); n != 0 {
		t.Errorf("%d bookings before the price was confirmed", n)
	}
	confirm(page)
	page.WaitText("Booked PY 129 from Hamburg to Tokyo via Seoul on Saturday, 27 March 2027: 2 bags, aisle seat, 795 EUR.")
	entries, err := travel.ReadLog(filepath.Join(p.data, "bookings.jsonl"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d bookings (%v), want one", len(entries), err)
	}
	if e := entries[0]; e.Flight != "PY 129" || e.Bags != 2 || e.Aisle == nil || !*e.Aisle || e.Price != 795 {
		t.Errorf("booked %+v, which is not what was answered", e)
	}
	page.WaitText(entries[0].Booking)

	page.Reload()
	page.WaitText("Booked PY 129")
	page.WaitText("Signed in")
	for _, request := range page.Requests() {
		if _, target, _ := strings.Cut(request, " "); !loopback(target) {
			t.Errorf("the page sent %s", request)
		}
	}
	if got := faults(page); len(got) > 0 {
		t.Errorf("errors on the console: %q", got)
	}
	if got := browsertest.Eval[string](page, `document.cookie`); got != "" {
		t.Errorf("the page has cookies: %s", got)
	}
	p.stop()
}

func loopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Hostname() == "127.0.0.1"
}

func TestAnAddressSignsInOnce(t *testing.T) {
	t.Parallel()
	p := demo(t)
	signIn(t, p)

	other := browsertest.Open(t, p.address)
	other.WaitText("This address was used already, or Parley was started anew since.")
	other.WaitText("parley address")
	if strings.Contains(other.URL(), "token") {
		t.Errorf("a used token stays in the address %s", other.URL())
	}
	other.Goto(p.fresh())
	other.WaitText("Signed in")

	for _, path := range []string{"/", "/v1/session"} {
		if got := p.api("GET", path, nil); got.Status != 200 || got.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d with the cookie %q, want 200 and none", path, got.Status, got.Header.Get("Set-Cookie"))
		}
	}
	if got := p.send("GET", "/", nil, nil); got.Status != 401 || !strings.Contains(got.Body, "<script") {
		t.Errorf("the page without a session: %d, want 401 with the page's shell", got.Status)
	}

	p.stop()
	p.again()
	other.Reload()
	other.WaitText("Signed in") // also by the next run
}

func TestGroupQuote(t *testing.T) {
	t.Parallel()
	p := demo(t)
	page := signIn(t, p)
	pick(page, "group_quote")
	journey(page)
	page.Click(button("Run “Quote a group journey”"))
	page.WaitText("Who travels to Tokyo?")
	page.WaitText("Where do you want to stay in Tokyo?")
	page.WaitText("1 of 2")
	page.WaitText("2 of 2")
	page.WaitText("travel waits for 2 answers from you")

	who := card(page, "Who travels to Tokyo?")
	page.Click(button("Review answers").In(who))
	page.Click(button("Send to travel").In(who))
	page.WaitText("You sent this")
	page.WaitText("travel waits for your answer")
	page.Click(button("Decline the rest"))
	page.WaitText("You declined")
	c := p.await(p.calls()[0].ID, "done", "failed")
	page.WaitText("Answer from travel")
	if n := bookings(t, filepath.Join(p.data, "bookings.jsonl")); n != 0 {
		t.Errorf("%d quotes, though half of it was declined (%s)", n, c.Text)
	}
}
