package e2e_test

import (
	"path/filepath"
	"testing"

	"github.com/parley-mcp/parley/interop/browsertest"
)

// The question is open and nothing waits in memory: a crash costs nothing.
func TestCrashWhileAsked(t *testing.T) {
	t.Parallel()
	p := demo(t)
	page := signIn(t, p)
	bookFlight(page)
	page.Fill("Bags", "3")
	before := page.URL()

	p.kill()
	page.WaitText("Connection to Parley lost")
	p.again()
	page.Reload()
	page.WaitText("Which connection from Hamburg to Tokyo do you want")
	if got := page.URL(); got != before {
		t.Errorf("after the crash the page shows %s, want the same conversation %s", got, before)
	}
	page.WaitText("You ran “Book a flight”")
	if got := field(page, "bags"); got != "3" {
		t.Errorf("after the crash %q bags are filled in, want the 3 that were typed", got)
	}
	choose(page)
	page.WaitText("Book PY 129 to Tokyo")
	confirm(page)
	page.WaitText("Booked PY 129")
	if n := bookings(t, filepath.Join(p.data, "bookings.jsonl")); n != 1 {
		t.Errorf("%d bookings, want one", n)
	}
}

// serveDesk runs parley for a desk and stops at the question about the price.
func serveDesk(t *testing.T, url string) (*parley, *browsertest.Page) {
	t.Helper()
	p := serve(t, map[string]any{"travel": map[string]any{"url": url}})
	page := signIn(t, p)
	bookFlight(page)
	choose(page)
	page.WaitText("Book PY 129 to Tokyo")
	return p, page
}

// An answer that is committed is sent after a crash, once.
func TestCrashAfterAnswer(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "never")
	g := newGate(t, d.url())
	p, page := serveDesk(t, g.url)

	// A host that has to connect anew cannot mark the call as sent while the gate is shut.
	p.kill()
	g.shut.Store(true)
	p.again()
	page.Reload()
	page.WaitText("Book PY 129 to Tokyo")
	confirm(page)
	page.Wait("the record of the answer", func() bool { return row(page, "Go ahead?") == "Yes" })
	eventually(t, "the host at the gate", func() bool { return g.knocks.Load() > 0 })
	p.kill()
	if n := d.bookings(); n != 0 {
		t.Fatalf("%d bookings through a shut gate", n)
	}
	g.shut.Store(false)
	p.again()
	page.Reload()
	page.WaitText("Booked PY 129")
	if n := d.bookings(); n != 1 {
		t.Errorf("%d bookings, want one", n)
	}
}

// Killed at any moment around the send: booked once by itself, or a person decides.
func TestCrashAroundTheSend(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "never")
	g := newGate(t, d.url())
	p, page := serveDesk(t, g.url)
	g.shut.Store(true)
	id := p.open(1)[0].ID
	if got := p.api("POST", "/v1/questions/"+id+"/answer", `{"action":"accept","content":{"confirmed":true}}`); got.Status != 200 {
		t.Fatalf("the answer: %d %s", got.Status, got.Body)
	}
	p.kill()
	g.shut.Store(false)
	p.again()
	page.Reload()
	c := p.await(p.calls()[0].ID, "done", "uncertain")
	if c.State == "uncertain" {
		if n := d.bookings(); n != 0 {
			t.Errorf("%d bookings through a shut gate", n)
		}
		page.Click(button("Send again"))
	}
	page.WaitText("Booked PY 129")
	if n := d.bookings(); n != 1 {
		t.Errorf("%d bookings, want one", n)
	}
}

// killPoints are where the host, or travel, dies inside of a booking.
var killPoints = []struct {
	name  string
	pause string // where travel is
	kill  string // who dies
	// booked before the person decides: the desk goes on when only the host died.
	booked int
}{
	{"host, before the booking", "before", "host", 1},
	{"host, between booking and reply", "after", "host", 1},
	{"travel, before the booking", "before", "travel", 0},
	{"travel, between booking and reply", "after", "travel", 1},
}

// A call that was sent and not answered is for a person to judge.
func TestCrashInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, point := range killPoints {
		for _, way := range []struct {
			button string
			more   int // executions that it causes
			says   string
		}{
			{"Send again", 1, "Booked PY 129"},
			{"It happened", 0, "You said that it happened."},
			{"Give up", 0, "You gave it up. It may have happened."},
		} {
			t.Run(point.name+", "+way.button, func(t *testing.T) {
				t.Parallel()
				d := newDesk(t, point.pause)
				p, page := serveDesk(t, d.url())
				confirm(page)
				d.wait(point.pause)
				if point.kill == "host" {
					p.kill()
					d.resume()
					eventually(t, "the booking", func() bool { return d.bookings() == 1 })
					d.kill()
					d.again("never")
					p.again()
					page.Reload()
				} else {
					d.kill()
					d.again("never")
				}
				page.WaitText("It is not known whether this happened")
				for _, name := range []string{"Send again", "It happened", "Give up"} {
					page.WaitFor(button(name))
				}
				if n := page.Count(button("Run again")); n != 0 {
					t.Errorf("%d buttons Run again beside the three ways", n)
				}
				if n := d.bookings(); n != point.booked {
					t.Errorf("%d bookings before the decision, want %d", n, point.booked)
				}

				page.Click(button(way.button))
				page.WaitText(way.says)
				page.WaitGone(button(way.button))
				if n := d.bookings(); n != point.booked+way.more {
					t.Errorf("%d bookings after %s, want %d", n, way.button, point.booked+way.more)
				}
				if got := faults(page); point.kill == "travel" && len(got) > 0 {
					t.Errorf("errors on the console: %q", got)
				}
			})
		}
	}
}
