package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
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
	"github.com/parley-mcp/parley/internal/travel"
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
		x.common = newShared(t, servers)
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

	mu    sync.Mutex
	alive []*parley
	ids   map[int]string // of calls, by their number
	hurts []hurt
}

// A hurt is the time from a kill until the process was back.
type hurt struct{ from, to time.Time }

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
		x.until(ctx, fmt.Sprintf("%d executions", want), func() bool { return x.desk.bookings() >= want })
		for n := range x.restarts {
			if kill == (n+1)*x.kills/(x.restarts+1) {
				x.restart(n)
			}
		}
		if x.rand.IntN(4) == 0 {
			x.hurt(ctx, x.desk.kill, func() { x.desk.again("never") })
		} else {
			p := x.machines[x.rand.IntN(len(x.machines))]
			x.hurt(ctx, func() { x.strike(p) }, func() { x.revive(p) })
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
func (x *torture) hurt(ctx context.Context, kill, again func()) {
	var h hurt
	act := func() {
		h.from = time.Now()
		kill()
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
			x.t.Fatalf("waited %v in vain for %s", x.patience, what)
		}
	}
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

// answer answers what is open, through any machine.
func (x *torture) answer(ctx context.Context) {
	for pause(ctx) {
		var list struct {
			Questions []question `json:"questions"`
		}
		if !x.try(ctx, "GET", "/v1/questions?state=open", "", "", &list) {
			continue
		}
		rand.Shuffle(len(list.Questions), func(i, j int) {
			list.Questions[i], list.Questions[j] = list.Questions[j], list.Questions[i]
		})
		for _, q := range list.Questions {
			var closed question
			// Refused if the other person was faster; seen again if the machine died.
			x.try(ctx, "POST", "/v1/questions/"+q.ID+"/answer", "", travelAnswer(x.t, q), &closed)
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

// judge compares what the machines say with what the server did.
func (x *torture) judge(ends map[int]end, took time.Duration) {
	entries, err := travel.ReadLog(filepath.Join(x.desk.dir, "bookings.jsonl"))
	if err != nil {
		x.t.Fatal(err)
	}
	executed, keys := map[string]int{}, map[string]int{}
	for _, e := range entries {
		executed[e.From]++
		if keys[e.Call]++; keys[e.Call] > 1 {
			x.t.Errorf("the idempotency key of %s was executed %d times", e.From, keys[e.Call])
		}
	}
	var done, uncertain, unseen, lost, twice, ghosts int
	for i := range x.calls {
		n := executed["City "+strconv.Itoa(i)]
		if n > 1 {
			twice++
			x.t.Errorf("call %d (%s) was executed %d times", i, ends[i].state, n)
		}
		switch {
		case ends[i].state == "done":
			done++
			if n == 0 {
				ghosts++
				x.t.Errorf("call %d is done and was never executed", i)
			}
		case ends[i].state == "uncertain":
			uncertain++
			switch {
			case x.underWay(i):
			case ends[i].reason == "lost_owner":
				// Its machine was killed between the mark and the first byte.
				unseen++
			default:
				x.t.Errorf("call %d is uncertain (%s), and nothing was killed while it was under way: sent %v", i, ends[i].reason, x.wire.flown(i))
			}
		default:
			lost++
		}
	}
	if unseen > x.kills {
		x.t.Errorf("%d calls were marked and never sent, with %d kills", unseen, x.kills)
	}
	line := fmt.Sprintf("| %s | %d | %s | %d | %d | %d | %d | %d | %d | %d | %d | %v |",
		time.Now().UTC().Format(time.DateOnly), x.calls, strings.TrimSpace(fmt.Sprint(len(x.machines), " ", x.note)), x.kills, x.wire.hits, x.restarts, x.cuts,
		done, uncertain, lost, twice+ghosts, took.Round(time.Second))
	x.t.Log(line)
	if path := os.Getenv(tortureReport); path != "" && !x.t.Failed() {
		if err := appendLine(path, line); err != nil {
			x.t.Error(err)
		}
	}
}

// gap is how long before its arrival at the server a request may be marked, and
// how long after the reply has left it may be without its outcome in the store.
const gap = 2 * time.Second

// underWay reports whether a process was dead or killed in the gap of a send of
// the call.
func (x *torture) underWay(call int) bool {
	flights := x.wire.flown(call)
	for _, h := range x.hurts {
		for _, f := range flights {
			if h.from.Before(f.to.Add(gap)) && h.to.After(f.from.Add(-gap)) {
				return true
			}
		}
	}
	return false
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, line+"\n")
	return errors.Join(err, f.Close())
}
