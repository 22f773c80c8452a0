package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/internal/servicetest"
)

// shared is what several machines have in common: a database, keys, servers.
type shared struct {
	t    *testing.T
	args []string
	dsn  string
}

// newShared makes the database and the keys, as an operator does. more are options of
// every machine.
func newShared(t *testing.T, servers map[string]any, more ...string) *shared {
	t.Helper()
	s := &shared{t: t, dsn: servicetest.Postgres(t)}
	keys := filepath.Join(t.TempDir(), "keys.json")
	out, err := exec.Command(binary, "migrate", "--store", s.dsn, "--keys", keys).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "The tables were made") {
		t.Fatalf("parley migrate: %v\n%s", err, out)
	}
	s.args = append([]string{"serve", "--servers", serversFile(t, servers), "--store", s.dsn, "--keys", keys}, more...)
	return s
}

func (s *shared) machine(more ...string) *parley {
	s.t.Helper()
	return start(s.t, append(append([]string{}, s.args...), more...)...)
}

const trip = `{"from":"Hamburg","to":"Tokyo","date":"2026-12-24"}`

// reply answers the one open question of the travel desk.
func (p *parley) reply() {
	p.t.Helper()
	q := p.open(1)[0]
	if got := p.api("POST", "/v1/questions/"+q.ID+"/answer", travelAnswer(p.t, q)); got.Status != http.StatusOK {
		p.t.Fatalf("the answer: %d %s", got.Status, got.Body)
	}
}

// travelAnswer accepts a question of the travel desk.
func travelAnswer(t *testing.T, q question) string {
	if strings.HasPrefix(q.Message, "Book ") {
		return `{"action":"accept","content":{"confirmed":true}}`
	}
	if q.View == nil {
		t.Errorf("%q has no form", q.Message)
		return `{"action":"decline"}`
	}
	for _, f := range q.View.Fields {
		if f.Name == "flight" && len(f.Options) > 0 {
			return fmt.Sprintf(`{"action":"accept","content":{"flight":%q,"bags":1}}`, f.Options[0].Value)
		}
	}
	t.Errorf("%q has no field of flights: %+v", q.Message, q.View)
	return `{"action":"decline"}`
}

// Asked through one machine, answered through another, booked once.
func TestTwoMachines(t *testing.T) {
	t.Parallel()
	ways := map[string][]string{
		"LISTEN and NOTIFY": nil,
		"NATS":              {"--notify", servicetest.NATS(t) + "/" + servicetest.Name()},
		"polling alone":     {"--notify", "none"},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, "never")
			s := newShared(t, map[string]any{"travel": map[string]any{"url": d.url()}})
			a, b := s.machine(way...), s.machine(way...)
			c := a.run("v_trip", "travel", "book_flight", trip)
			b.reply()
			a.reply()
			for _, p := range []*parley{b, a} {
				if got := p.await(c.ID, "done"); !strings.Contains(string(got.Result), "Booked PY") {
					t.Errorf("done: %s", got.Result)
				}
			}
			if n := d.bookings(); n != 1 {
				t.Errorf("%d bookings, want one", n)
			}
			// Whoever stops in order leaves nothing behind.
			a.stop()
			b.stop()
		})
	}
}

// A machine that is gone while a question is open leaves it to the others.
func TestMachineKilledWhileParked(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "never")
	s := newShared(t, map[string]any{"travel": map[string]any{"url": d.url()}})
	a := s.machine()
	c := a.run("v_trip", "travel", "book_flight", trip)
	a.open(1)
	b := s.machine()
	a.kill()
	b.reply()
	b.reply()
	b.await(c.ID, "done")
	if n := d.bookings(); n != 1 {
		t.Errorf("%d bookings, want one", n)
	}
}

// A machine that is gone after the mark leaves a call of which nobody knows
// whether it happened; another machine says so once the lease is over.
func TestMachineKilledAfterTheMark(t *testing.T) {
	t.Parallel()
	for _, pause := range []string{"before", "after"} {
		t.Run(pause+" the booking", func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, pause)
			s := newShared(t, map[string]any{"travel": map[string]any{"url": d.url()}}, "--lease", "3s")
			a := s.machine()
			c := a.run("v_trip", "travel", "book_flight", trip)
			a.reply()
			a.reply()
			d.wait(pause)
			b := s.machine()
			a.kill()
			if got := b.await(c.ID, "uncertain"); got.Reason != "lost_owner" {
				t.Errorf("uncertain: %s (%s)", got.Reason, got.Text)
			}
			d.resume()
			eventually(t, "the booking", func() bool { return d.bookings() == 1 })
			if got := b.api("POST", "/v1/calls/"+c.ID+"/resolve", `{"how":"it_happened"}`); got.Status != http.StatusOK {
				t.Fatalf("it happened: %d %s", got.Status, got.Body)
			}
			a.again()
			a.await(c.ID, "done")
			if n := d.bookings(); n != 1 {
				t.Errorf("%d bookings, want one", n)
			}
		})
	}
}

// What one machine holds open is answered through the other.
func TestHeldAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	old := hosttest.NewServer(t, &hosttest.Script{Revision: "2025-11-25", Tools: legacyTools})
	s := newShared(t, map[string]any{"old": map[string]any{"url": old.URL}})
	a := s.machine()
	c := a.run("v_1", "old", "ask", `{}`)
	a.open(1)
	b := s.machine() // too late to be the one that holds it
	q := b.open(1)[0]
	if got := b.api("POST", "/v1/questions/"+q.ID+"/answer", `{"action":"accept","content":{"word":"hello"}}`); got.Status != http.StatusOK {
		t.Fatalf("the answer: %d %s", got.Status, got.Body)
	}
	if got := b.await(c.ID, "done"); !strings.Contains(string(got.Result), "hello") {
		t.Errorf("done: %s", got.Result)
	}
}

// A machine that stops in order ends what it holds with a reason, and the
// others go on with what is parked.
func TestMachineStops(t *testing.T) {
	t.Parallel()
	old := hosttest.NewServer(t, &hosttest.Script{Revision: "2025-11-25", Tools: legacyTools})
	recent := hosttest.NewServer(t, &hosttest.Script{Revision: "2026-07-28", Tools: modernTools})
	s := newShared(t, map[string]any{"old": map[string]any{"url": old.URL}, "new": map[string]any{"url": recent.URL}})
	a := s.machine()
	held := a.run("v_1", "old", "ask", `{}`)
	a.open(1)
	parked := a.run("v_1", "new", "ask", `{}`)
	a.open(2)
	b := s.machine()
	a.stop()
	if got := b.await(held.ID, "interrupted"); got.Reason != "host_stopped" {
		t.Errorf("interrupted: %s (%s)", got.Reason, got.Text)
	}
	q := b.open(1)[0]
	if q.Call != parked.ID {
		t.Fatalf("the open question belongs to %s, want %s", q.Call, parked.ID)
	}
	if got := b.api("POST", "/v1/questions/"+q.ID+"/answer", `{"action":"accept","content":{"word":"hello"}}`); got.Status != http.StatusOK {
		t.Fatalf("the answer: %d %s", got.Status, got.Body)
	}
	b.await(parked.ID, "done")
}

// A machine with other keys could read nothing, and others nothing of it.
func TestMachineRefuses(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "never")
	s := newShared(t, map[string]any{"travel": map[string]any{"url": d.url()}})
	base := append([]string{}, s.args[:5]...) // without keys
	other := filepath.Join(t.TempDir(), "keys.json")
	if out, err := exec.Command(binary, "migrate", "--store", s.dsn, "--keys", other).CombinedOutput(); err != nil {
		t.Fatalf("parley migrate: %v\n%s", err, out)
	}
	s.machine() // the store has its keys from here on
	for name, test := range map[string]struct {
		more []string
		says string
	}{
		"no keys":         {nil, "needs keys that all its machines share"},
		"no such keys":    {[]string{"--keys", filepath.Join(t.TempDir(), "none.json")}, "there is no keys file"},
		"keys of another": {[]string{"--keys", other}, "the keys do not fit the store"},
	} {
		args := append(append([]string{}, base...), "--addr", "127.0.0.1:0", "--data", t.TempDir())
		out, err := exec.Command(binary, append(args, test.more...)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), test.says) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
