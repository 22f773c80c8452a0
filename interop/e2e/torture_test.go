package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/internal/servicetest"
)

// Variables of the torture: the first is the seed of a plan of harm, to have it
// again (what the processes do meanwhile is not in it), the second names a file
// that gets a line about each torture.
const (
	tortureSeed   = "PARLEY_TORTURE_SEED"
	tortureReport = "PARLEY_TORTURE_REPORT"
)

// TestTorture is the short form of what TestTorturePostgres (tag proof) does
// for longer, with the database that all tests share.
func TestTorture(t *testing.T) {
	t.Parallel()
	x := &torture{calls: 40, kills: 8, patience: 3 * time.Minute}
	x.run(t, func(servers map[string]any) []*parley {
		x.common = newShared(t, servers, "--lease", "10s")
		return x.share(2)
	})
}

// A torture runs two-round calls on machines that share a store, and kills
// processes all the while, machines and the server of the calls: some at a
// random moment, some while a request is on the wire, before the server has it
// or before its reply is back. Machines come back with another way to be woken,
// or none, and connections that listen are cut. The server writes down each
// execution before it replies. In the end every call is done, and was executed
// once, or it is uncertain, was executed at most once, and a process was killed
// while it was under way or just before.
type torture struct {
	calls, kills int
	patience     time.Duration
	note         string // what is special, for the report

	// restart stops the store and starts it again; it is called restarts times.
	restart  func(n int)
	restarts int

	t        *testing.T
	rand     *rand.Rand // of the plan
	common   *shared    // nil: one machine on a file
	machines []*parley
	notify   []string // the ways in which machines are woken
	desk     *desk
	wire     *wire
	cuts     int
	looked   time.Time // by over

	mu    sync.Mutex
	alive []*parley
	ids   map[int]string // of calls, by their number
	hurts []hurt
}

// An end is what became of a call.
type end struct{ state, reason string }

// callsPerServer keeps below what one server may ask one person in a minute.
const callsPerServer = 4

func (x *torture) run(t *testing.T, start func(servers map[string]any) []*parley) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), x.patience)
	var work sync.WaitGroup
	defer work.Wait() // after cancel
	defer cancel()
	seed := rand.Uint64()
	if text := os.Getenv(tortureSeed); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", tortureSeed, err)
		}
	}
	t.Logf("%s=%d", tortureSeed, seed)
	x.t, x.ids, x.rand = t, map[int]string{}, rand.New(rand.NewPCG(seed, 0))
	x.desk = newDesk(t, "never")
	x.wire = newWire(t, x.desk.url())
	servers := map[string]any{}
	for i := range (x.calls + callsPerServer - 1) / callsPerServer {
		servers[fmt.Sprint("travel", i)] = map[string]any{"url": x.wire.url}
	}
	x.machines = start(servers)
	x.alive = slices.Clone(x.machines)

	work.Go(func() { x.compose(ctx) })
	for range 2 {
		work.Go(func() { x.answer(ctx) })
	}
	// The harm is spread over the calls as they end.
	for kill := range x.kills {
		want := x.calls * (kill + 1) / (x.kills + 2)
		x.until(ctx, fmt.Sprintf("%d executions", want), func() bool { return x.desk.bookings() >= want || x.over() })
		for n := range x.restarts {
			if kill == (n+1)*x.kills/(x.restarts+1) {
				x.restart(n)
			}
		}
		if x.rand.IntN(4) == 0 {
			x.hurt(ctx, hurt{server: true}, x.desk.kill, func() { x.desk.again("never") })
		} else {
			p := x.machines[x.rand.IntN(len(x.machines))]
			x.hurt(ctx, hurt{}, func() { x.strike(p) }, func() { x.revive(p) })
		}
	}
	ends := x.settle(ctx)
	cancel()
	work.Wait()
	x.judge(ends, time.Since(begun))
	x.trails(t.Context())
}

// share starts machines that share x.common.
func (x *torture) share(machines int) (list []*parley) {
	x.notify = []string{"", "none", servicetest.NATS(x.common.t) + "/" + servicetest.Name()}
	for range machines {
		list = append(list, x.common.machine())
	}
	return list
}

// hurt kills a process, at a moment of one of three kinds, and starts it again.
func (x *torture) hurt(ctx context.Context, h hurt, kill, again func()) {
	act := func() {
		h.from = time.Now()
		kill()
		h.dead = time.Now()
	}
	switch x.rand.IntN(3) {
	case 0:
		act()
	case 1:
		x.wire.strike(ctx, beforeServer, act)
	case 2:
		x.wire.strike(ctx, beforeReply, act)
	}
	if x.common != nil {
		x.cutListeners()
	}
	again()
	h.to = time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.hurts = append(x.hurts, h)
}

// until waits for what takes as long as the whole torture may.
func (x *torture) until(ctx context.Context, what string, cond func() bool) {
	x.t.Helper()
	for !cond() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			x.t.Fatalf("waited %v in vain for %s: %v", x.patience, what, x.states())
		}
	}
}

// over says that every call is done or uncertain: an uncertain one may never have
// been executed, so that no more executions are to be waited for. It looks every ten
// seconds at most.
func (x *torture) over() bool {
	if time.Since(x.looked) < 10*time.Second {
		return false
	}
	x.looked = time.Now()
	ended := 0
	for state, n := range x.states() {
		if state, _, ok := strings.Cut(state, " "); ok && (state == "done" || state == "uncertain") {
			ended += n
		}
	}
	return ended == x.calls
}

// states counts the calls by their states, for who looks for what went wrong.
func (x *torture) states() map[string]int {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.t.Context()), 10*time.Second)
	defer cancel()
	x.mu.Lock()
	ids := maps.Clone(x.ids)
	x.mu.Unlock()
	count := map[string]int{"composed": len(ids), "executed": x.desk.bookings()}
	for _, id := range ids {
		var c call
		if x.try(ctx, "GET", "/v1/calls/"+id, "", "", &c) {
			count[c.State+" "+c.Reason]++
		}
	}
	return count
}

func (x *torture) strike(p *parley) {
	x.mu.Lock()
	x.alive = slices.DeleteFunc(x.alive, func(other *parley) bool { return other == p })
	x.mu.Unlock()
	p.kill()
}

// revive starts a machine again, on its own data and at its own address.
func (x *torture) revive(p *parley) {
	if x.common != nil {
		p.args = append(slices.Clone(x.common.args), "--addr", strings.TrimPrefix(p.base, "http://"), "--data", p.data)
		if way := x.notify[x.rand.IntN(len(x.notify))]; way != "" {
			p.args = append(p.args, "--notify", way)
		}
	}
	p.again()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.alive = append(x.alive, p)
}

// cutListeners ends the connections by which machines hear of each other: what
// is sent until they are back is lost.
func (x *torture) cutListeners() {
	conn := servicetest.Conn(x.t, x.common.dsn)
	defer conn.Close(context.Background())
	at, err := url.Parse(x.common.dsn)
	if err != nil {
		x.t.Fatal(err)
	}
	var n int
	err = conn.QueryRow(x.t.Context(), `SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query = $1`,
		`LISTEN "parley_`+at.Query().Get("search_path")+`"`).Scan(&n)
	if err != nil {
		x.t.Errorf("cutting connections: %v", err)
	}
	x.cuts += n
}

// try sends a request to a machine that may be dying. It reports false if there
// was no answer to read.
func (x *torture) try(ctx context.Context, method, path, key, body string, to any) bool {
	x.mu.Lock()
	if len(x.alive) == 0 {
		x.mu.Unlock()
		return false
	}
	p := x.alive[rand.IntN(len(x.alive))]
	x.mu.Unlock()
	bearer, err := os.ReadFile(filepath.Join(p.data, "token"))
	if err != nil {
		return false
	}
	req, err := http.NewRequestWithContext(ctx, method, p.base+path, strings.NewReader(body))
	if err != nil {
		x.t.Error(err)
		return false
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(bearer)))
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return err == nil && resp.StatusCode < 300 && json.Unmarshal(b, to) == nil
}

// atOnce is how many calls are on their way, or uncertain: with all of them, most
// of the work would be to look at calls that wait for their turn.
const atOnce = 100

// compose starts the calls, a few at once, each until a machine says that it has it.
func (x *torture) compose(ctx context.Context) {
	var group sync.WaitGroup
	var next atomic.Int64
	for range 4 {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= x.calls {
					return
				}
				for i-x.desk.bookings() > atOnce {
					if !pause(ctx) {
						return
					}
				}
				body := fmt.Sprintf(`{"conversation":"v_%d","server":"travel%d","tool":"book_flight","arguments":{"from":"City %d","to":"Tokyo","date":"2026-12-24"}}`,
					i, i/callsPerServer, i)
				var c call
				for !x.try(ctx, "POST", "/v1/calls", fmt.Sprint("torture ", i), body, &c) {
					if !pause(ctx) {
						return
					}
				}
				x.mu.Lock()
				x.ids[i] = c.ID
				x.mu.Unlock()
			}
		})
	}
	group.Wait()
}

// answer answers what calls are asking, through any machine: of one call after
// the other, as a list of all that is open would be most of the work.
func (x *torture) answer(ctx context.Context) {
	over := map[string]bool{}
	for pause(ctx) {
		x.mu.Lock()
		ids := slices.Collect(maps.Values(x.ids))
		x.mu.Unlock()
		ids = slices.DeleteFunc(ids, func(id string) bool { return over[id] })
		rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		for _, id := range ids {
			var c call
			if ctx.Err() != nil || !x.try(ctx, "GET", "/v1/calls/"+id, "", "", &c) {
				break
			}
			over[id] = c.State == "done"
			if c.State != "waiting" {
				continue
			}
			for _, id := range c.Questions {
				var q, closed question
				if x.try(ctx, "GET", "/v1/questions/"+id, "", "", &q) && q.State == "open" {
					// Refused if the other person was faster; seen again if the machine died.
					x.try(ctx, "POST", "/v1/questions/"+q.ID+"/answer", "", travelAnswer(x.t, q), &closed)
				}
			}
		}
	}
}

// pause is a short rest; false when ctx has ended.
func pause(ctx context.Context) bool {
	select {
	case <-time.After(20 * time.Millisecond):
		return true
	case <-ctx.Done():
		return false
	}
}

// settle waits until every call is done or uncertain.
func (x *torture) settle(ctx context.Context) map[int]end {
	ends := map[int]end{}
	last := map[int]string{}
	for len(ends) < x.calls {
		x.mu.Lock()
		ids := maps.Clone(x.ids)
		x.mu.Unlock()
		for i, id := range ids {
			var c call
			if ends[i].state != "" || !x.try(ctx, "GET", "/v1/calls/"+id, "", "", &c) {
				continue
			}
			last[i] = c.State + " " + c.Reason
			if c.State == "done" || c.State == "uncertain" {
				ends[i] = end{c.State, c.Reason}
			} else if slices.Contains([]string{"failed", "denied", "stopped", "expired", "interrupted", "lapsed"}, c.State) {
				x.t.Errorf("call %d ended %s (%s): %s", i, c.State, c.Reason, c.Text)
				ends[i] = end{c.State, c.Reason}
			}
		}
		if !pause(ctx) {
			for i := range x.calls {
				if ends[i].state == "" {
					x.t.Errorf("call %d is %q in the end", i, last[i])
				}
			}
			return ends
		}
	}
	return ends
}
