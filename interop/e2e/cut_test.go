//go:build proof && linux

package e2e_test

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/parley-mcp/parley/internal/servicetest"
)

// A cutNetwork is two machines with a cable each, and where the cables meet a
// database and a door to the travel desk. The test reaches the machines'
// pages past the cables.
type cutNetwork struct {
	t        *testing.T
	desk     *desk
	door     *door
	machines map[string]*cutMachine // by address
}

type cutMachine struct {
	*parley
	place *servicetest.Place
}

func newCutNetwork(t *testing.T) *cutNetwork {
	t.Helper()
	network := servicetest.NewNetwork(t)
	server := servicetest.NewOwnPostgres(t, network.Hub)
	n := &cutNetwork{t: t, desk: newDesk(t, "never"), machines: map[string]*cutMachine{}}
	n.door = newDoor(t, network.Hub, n.desk.url())
	keys := filepath.Join(t.TempDir(), "keys.json")
	dsn := server.DSN("", "cut")
	leave := network.Hub.Enter(t)
	out, err := exec.Command(binary, "migrate", "--store", dsn, "--keys", keys).CombinedOutput()
	leave()
	if err != nil {
		t.Fatalf("parley migrate: %v\n%s", err, out)
	}
	servers := serversFile(t, map[string]any{"travel": map[string]any{"url": n.door.url}})
	for range 2 {
		place := network.Host()
		addr := servicetest.FreeAddr(t)
		p := &parley{t: t, data: t.TempDir(), base: "http://" + addr}
		p.args = []string{"serve", "--servers", servers, "--store", dsn, "--keys", keys, "--lease", "3s", "--addr", addr, "--data", p.data}
		place.Forward(t, addr, addr)
		func() {
			defer place.Enter(t)()
			p.again()
		}()
		n.machines[place.Addr] = &cutMachine{p, place}
	}
	return n
}

func (n *cutNetwork) both() (list []*cutMachine) {
	for _, m := range n.machines {
		list = append(list, m)
	}
	return list
}

// cut takes the cable of the machine with this address out.
func (n *cutNetwork) cut(addr string) (off, on *cutMachine) {
	n.t.Helper()
	off = n.machines[addr]
	if off == nil {
		n.t.Fatalf("no machine has the address %s", addr)
	}
	for _, m := range n.machines {
		if m != off {
			on = m
		}
	}
	off.place.Cut(n.t)
	return off, on
}

// A door is the way to a server. It knows who comes through, and holds a
// request up before it lets it through, or the reply to it.
type door struct {
	url string

	mu    sync.Mutex
	hold  string // the method of the next request to hold up
	reply bool   // hold up the reply to it
	held  chan string
	free  chan struct{}
	calls map[string]int // requests that call a tool, by address
}

type holdKey struct{}

func newDoor(t *testing.T, place *servicetest.Place, target string) *door {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	ln := place.Listen(t)
	d := &door{url: "http://" + ln.Addr().String() + to.Path, held: make(chan string, 1), free: make(chan struct{}), calls: map[string]int{}}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: to.Scheme, Host: to.Host})
	proxy.FlushInterval = -1
	director := proxy.Director
	proxy.Director = func(r *http.Request) {
		director(r)
		r.Host = to.Host
	}
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	proxy.ModifyResponse = func(r *http.Response) error {
		if from, ok := r.Request.Context().Value(holdKey{}).(string); ok {
			d.held <- from
			<-d.free
		}
		return nil
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _, _ := net.SplitHostPort(r.RemoteAddr)
		method := r.Header.Get("Mcp-Method")
		d.mu.Lock()
		if method == "tools/call" {
			d.calls[from]++
		}
		hold, reply := d.hold != "" && method == d.hold, d.reply
		if hold {
			d.hold = ""
		}
		d.mu.Unlock()
		switch {
		case hold && reply:
			r = r.WithContext(context.WithValue(r.Context(), holdKey{}, from))
		case hold:
			d.held <- from
			<-d.free
		}
		proxy.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(ln) }() // until Close
	t.Cleanup(func() {
		d.open()
		server.Close()
	})
	return d
}

// holdNext holds up the next request of the method, or the reply to it.
func (d *door) holdNext(method string, reply bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hold, d.reply = method, reply
}

// holder waits for the request to hold up, and says whose it is.
func (d *door) holder(t *testing.T) (from string) {
	t.Helper()
	eventually(t, "a request at the door", func() bool {
		select {
		case from = <-d.held:
			return true
		default:
			return false
		}
	})
	return from
}

// open lets through what is held up.
func (d *door) open() {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.free:
	default:
		close(d.free)
	}
}

func (d *door) sent() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.calls)
}

// state is the call's, as the machine says.
func (p *parley) state(id string) call {
	p.t.Helper()
	var c call
	p.api("GET", "/v1/calls/"+id, nil).decode(p.t, &c)
	return c
}

// Cut off between the claim and the mark: the other machine sends after the
// lease; the one that was cut off never does.
func TestMachineCutOffBeforeTheMark(t *testing.T) {
	t.Parallel()
	n := newCutNetwork(t)
	m := n.both()
	c := m[0].run("v_trip", "travel", "book_flight", trip)
	m[1].reply()
	m[0].open(1)
	n.door.holdNext("tools/list", false) // a call that was paused goes on with a look at the tools
	m[1].reply()
	addr := n.door.holder(t)
	off, on := n.cut(addr)
	if got := on.state(c.ID); got.State != "claimed" {
		t.Fatalf("at the cut the call is %s, want claimed", got.State)
	}
	result := string(on.await(c.ID, "done").Result)
	if !strings.Contains(result, "Booked PY") {
		t.Errorf("done: %s", result)
	}
	off.place.Heal(t)
	n.door.open()
	// The call reads the same through it, and it takes part again.
	eventually(t, "the machine to be back", func() bool { return off.try("/v1/calls/" + c.ID) })
	if got := off.state(c.ID); got.State != "done" || string(got.Result) != result {
		t.Errorf("the machine that was cut off says %s %s, want done %s", got.State, got.Result, result)
	}
	again := off.run("v_again", "travel", "book_flight", trip)
	off.reply()
	off.reply()
	off.await(again.ID, "done")
	// What stops in order has ended all that it was at.
	off.stop()
	on.stop()
	if got := n.desk.bookings(); got != 2 {
		t.Errorf("%d bookings, want one of each call", got)
	}
	// Two sends to ask, one to book; twice. One more would be a send by the claim that was lost.
	total := 0
	for _, times := range n.door.sent() {
		total += times
	}
	if total != 6 {
		t.Errorf("the tool was called %d times, want 6: %v", total, n.door.sent())
	}
}

// try reports whether a machine answers as it should.
func (p *parley) try(path string) bool {
	req, err := http.NewRequestWithContext(p.t.Context(), "GET", p.base+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.bearer())
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Cut off after the mark, before the reply: uncertain to the other machine after
// the lease. The reply that the cable then brings to the one that was cut off is
// the truth if nobody has decided anything, and changes nothing that was decided.
func TestMachineCutOffAfterTheMark(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		how      string
		state    string
		bookings int
	}{
		"nothing decided": {"", "uncertain", 1},
		"it happened":     {"it_happened", "done", 1},
		"given up":        {"give_up", "failed", 1},
		"sent again":      {"send_again", "done", 2}, // as the person wanted it
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newCutNetwork(t)
			m := n.both()
			c := m[0].run("v_trip", "travel", "book_flight", trip)
			m[1].reply()
			m[0].open(1)
			n.door.holdNext("tools/call", true)
			m[1].reply()
			addr := n.door.holder(t)
			off, on := n.cut(addr)
			if got := on.state(c.ID); got.State != "sent" {
				t.Fatalf("at the cut the call is %s, want sent", got.State)
			}
			if got := on.await(c.ID, "uncertain"); got.Reason != "lost_owner" {
				t.Errorf("uncertain: %s (%s)", got.Reason, got.Text)
			}
			if test.how != "" {
				if got := on.api("POST", "/v1/calls/"+c.ID+"/resolve", map[string]any{"how": test.how}); got.Status != http.StatusOK {
					t.Fatalf("%s: %d %s", test.how, got.Status, got.Body)
				}
			}
			want := on.await(c.ID, test.state)
			off.place.Heal(t)
			n.door.open() // the reply goes to the one that was cut off
			eventually(t, "the machine to be back", func() bool { return off.try("/v1/calls/" + c.ID) })
			if test.how == "" {
				if want = on.await(c.ID, "done"); !strings.Contains(string(want.Result), "Booked PY") {
					t.Errorf("the true reply: %s", want.Result)
				}
			}
			off.stop()
			got := on.state(c.ID)
			if got.State != want.State || string(got.Result) != string(want.Result) || got.Version != want.Version {
				t.Errorf("after the cut healed the call is %s (%d) %s, want %s (%d) %s as before",
					got.State, got.Version, got.Result, want.State, want.Version, want.Result)
			}
			if got := n.desk.bookings(); got != test.bookings {
				t.Errorf("%d bookings, want %d", got, test.bookings)
			}
			on.stop()
		})
	}
}
