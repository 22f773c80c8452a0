package webhook

import (
	"net/http"
	"strconv"
	"testing"
	"time"
)

// Machines whose clocks differ try again when the store says so, and sign with its time.
func TestClocksOfMachines(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		d, r := newDesk(t), newReceiver(t)
		e := &Endpoint{ID: "c", URL: r.URL, Secret: secret}
		one, two := d.sender("m1", e), d.sender("m2", e)
		one.now = func() time.Time { return d.clock.now().Add(off) }
		two.now = func() time.Time { return d.clock.now().Add(-off) }
		d.round(one, e)
		d.ask(ann)
		r.answers(http.StatusInternalServerError)
		d.round(one, e)
		if n := len(r.ids()); n != 1 {
			t.Fatalf("%v: %d messages", off, n)
		}
		r.answers(http.StatusOK)
		d.clock.advance(one.lease) // and the other machine takes over
		if backoff[0] > one.lease {
			d.round(two, e)
			if n := len(r.ids()); n != 1 {
				t.Errorf("%v: tried again too early", off)
			}
			d.clock.advance(backoff[0] - one.lease)
		}
		d.round(two, e)
		if n := len(r.ids()); n != 2 {
			t.Errorf("%v: not tried again in time: %d messages", off, n)
		}
		for i, req := range r.got {
			want := d.clock.now()
			if i == 0 {
				want = want.Add(-max(one.lease, backoff[0]))
			}
			if got := req.Header.Get(headerTimestamp); got != strconv.FormatInt(want.Unix(), 10) {
				t.Errorf("%v: message %d is signed at %s, want %d", off, i, got, want.Unix())
			}
		}
	}
}
