package webhook

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"
)

// An endpoint that answers 410 gets nothing more, of no machine and after no restart,
// until an operator turns it on again.
func TestGone(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t), newReceiver(t)
	e := &Endpoint{ID: "g", URL: r.URL, Secret: secret}
	s := d.sender("m1", e)
	d.round(s, e)
	refused, waits := d.ask(ann), 0
	for range together {
		d.ask(ann)
		waits++
	}
	r.answers(http.StatusGone)
	if !d.round(s, e) {
		t.Error("410 goes on")
	}
	sent := len(r.ids())
	r.answers(http.StatusOK)
	d.ask(ann) // and is told to nobody
	for _, machine := range []string{"m1", "m2", "m1 again"} {
		other := d.sender(machine, e)
		for range 2 {
			if d.round(other, e) {
				t.Errorf("%s learned it anew", machine)
			}
			d.clock.advance(time.Hour)
		}
		st, err := other.Status(t.Context())
		if err != nil || st[0].Gone == nil || st[0].Waits != 0 || len(st[0].Dead) != 1+waits {
			t.Errorf("%+v, %v", st, err)
		}
	}
	if n := len(r.ids()); n != sent {
		t.Fatalf("%d messages after 410", n-sent)
	}

	if n, err := d.sender("m2", e).Redeliver(t.Context(), "g"); n != 1+waits || err != nil {
		t.Errorf("%d dead letters, %v", n, err)
	}
	d.clock.advance(time.Second)
	later := d.ask(ann)
	d.round(s, e)
	var told []string
	for _, m := range r.messages(t)[sent:] {
		told = append(told, string(m.Data.Question))
	}
	if len(told) != 2+waits || !slices.Contains(told, string(refused)) || !slices.Contains(told, string(later)) {
		t.Errorf("%d messages: %q, want the %d of before and the one of after", len(told), told, 1+waits)
	}
	if st, err := s.Status(t.Context()); err != nil || st[0].Gone != nil {
		t.Errorf("%+v, %v", st, err)
	}
}

// A request that takes long does not outlive the lease of the machine that sends it.
func TestSlowRequest(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t), newReceiver(t)
	e := &Endpoint{ID: "l", URL: r.URL, Secret: secret}
	one, err := New(d.inbox, d.store, []*Endpoint{e}, &Options{Machine: "m1", Timeout: 2 * time.Minute, now: d.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	two := d.sender("m2", e)
	d.round(one, e)
	id := d.ask(ann)
	arrived, release := make(chan struct{}), make(chan struct{})
	r.mu.Lock()
	r.answer = func(w http.ResponseWriter) {
		close(arrived)
		<-release
		w.WriteHeader(http.StatusOK)
	}
	r.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		_, err := one.round(t.Context(), e)
		done <- err
	}()
	<-arrived
	d.clock.advance(2 * time.Minute)
	r.answers(http.StatusOK)
	d.round(two, e)
	if n := len(r.ids()); n != 1 {
		t.Errorf("%d messages about %s while the first is under way", n, id)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if st, err := two.Status(t.Context()); err != nil || st[0].Waits != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

// One machine sends; when it is gone another goes on, and the first one, back again,
// stores nothing.
func TestLease(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t), newReceiver(t)
	e := &Endpoint{ID: "l", URL: r.URL, Secret: secret}
	one, two := d.sender("m1", e), d.sender("m2", e)
	d.round(one, e)
	d.ask(ann)
	d.round(two, e)
	if n := len(r.ids()); n != 0 {
		t.Fatal("a machine without the lease sends")
	}
	stale, mine, err := one.take(t.Context(), e)
	if err != nil || !mine {
		t.Fatal(mine, err)
	}
	d.clock.advance(lease + DefaultTimeout)
	d.round(two, e)
	if n := len(r.ids()); n != 1 {
		t.Fatalf("%d messages of the second machine", n)
	}
	if err := one.save(t.Context(), e, stale); !errors.Is(err, errLease) {
		t.Errorf("a stale save: %v", err)
	}
	d.clock.advance(lease + DefaultTimeout)
	d.round(one, e)
	if n := len(r.ids()); n != 1 {
		t.Errorf("%d messages after the first is back", n)
	}
}
