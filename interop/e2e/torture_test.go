package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
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

// Variables of the torture: "CALLS,MACHINES,KILLS" makes it longer, and the
// second names a file that gets a line about it.
const (
	tortureSize   = "PARLEY_TORTURE"
	tortureReport = "PARLEY_TORTURE_REPORT"
)

// TestTorture runs two-round calls on machines that share one database, and
// kills machines all the while: some at a random moment, some while a request
// is on the wire, before the server has it or before its reply is back. Machines
// come back with another way to be woken, or none, and connections that listen
// are cut. The server writes down each execution before it replies. In the end
// every call is done, and was executed once, or is uncertain, and was executed
// at most once.
func TestTorture(t *testing.T) {
	t.Parallel()
	size := torture{calls: 40, machines: 2, kills: 6, patience: 3 * time.Minute}
	if text := os.Getenv(tortureSize); text != "" {
		if _, err := fmt.Sscanf(text, "%d,%d,%d", &size.calls, &size.machines, &size.kills); err != nil {
			t.Fatalf("%s is CALLS,MACHINES,KILLS: %v", tortureSize, err)
		}
		size.patience = 2 * time.Hour
	}
	size.run(t)
}

type torture struct {
	calls, machines, kills int
	patience               time.Duration
	note                   string // what is special, for the report

	t      *testing.T
	common *shared
	desk   *desk
	wire   *wire

	mu    sync.Mutex
	alive []*parley
	ids   map[int]string // of calls, by their number
	cuts  int
}

// callsPerServer keeps below what one server may ask one person in a minute.
const callsPerServer = 4

func (x *torture) run(t *testing.T) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), x.patience)
	var work sync.WaitGroup
	defer work.Wait() // after cancel
	defer cancel()
	x.t, x.ids = t, map[int]string{}
	x.desk = newDesk(t, "never")
	x.wire = newWire(t, x.desk.url())
	servers := map[string]any{}
	for i := range (x.calls + callsPerServer - 1) / callsPerServer {
		servers[fmt.Sprint("travel", i)] = map[string]any{"url": x.wire.url}
	}
	x.common = newShared(t, servers)
	nats := servicetest.NATS(t) + "/" + servicetest.Name()
	machines := make([]*parley, x.machines)
	for i := range machines {
		machines[i] = x.common.machine()
		x.join(machines[i])
	}

	work.Go(func() { x.compose(ctx) })
	for range 2 {
		work.Go(func() { x.answer(ctx) })
	}
	// The kills are spread over the calls as they end.
	for kill := range x.kills {
		want := x.calls * (kill + 1) / (x.kills + 2)
		x.until(ctx, fmt.Sprintf("%d executions", want), func() bool { return x.desk.bookings() >= want })
		p := machines[rand.IntN(len(machines))]
		switch kill % 3 {
		case 0:
			x.strike(p)
		case 1:
			x.wire.strike(ctx, beforeServer, func() { x.strike(p) })
		case 2:
			x.wire.strike(ctx, beforeReply, func() { x.strike(p) })
		}
		x.cutListeners()
		p.args = append(slices.Clone(x.common.args), "--addr", strings.TrimPrefix(p.base, "http://"), "--data", p.data)
		switch rand.IntN(3) {
		case 0:
			p.args = append(p.args, "--notify", "none")
		case 1:
			p.args = append(p.args, "--notify", nats)
		}
		p.again()
		x.join(p)
	}
	states := x.settle(ctx)
	cancel()
	work.Wait()
	x.judge(states, time.Since(begun))
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

func (x *torture) join(p *parley) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.alive = append(x.alive, p)
}

func (x *torture) strike(p *parley) {
	x.mu.Lock()
	x.alive = slices.DeleteFunc(x.alive, func(other *parley) bool { return other == p })
	x.mu.Unlock()
	p.kill()
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
func (x *torture) settle(ctx context.Context) map[int]string {
	states := map[int]string{}
	last := map[int]string{}
	for len(states) < x.calls {
		x.mu.Lock()
		ids := maps.Clone(x.ids)
		x.mu.Unlock()
		for i, id := range ids {
			var c call
			if states[i] != "" || !x.try(ctx, "GET", "/v1/calls/"+id, "", "", &c) {
				continue
			}
			last[i] = c.State + " " + c.Reason
			if c.State == "done" || c.State == "uncertain" {
				states[i] = c.State
			} else if slices.Contains([]string{"failed", "denied", "stopped", "expired", "interrupted", "lapsed"}, c.State) {
				x.t.Errorf("call %d ended %s (%s): %s", i, c.State, c.Reason, c.Text)
				states[i] = c.State
			}
		}
		if !pause(ctx) {
			for i := range x.calls {
				if states[i] == "" {
					x.t.Errorf("call %d is %q in the end", i, last[i])
				}
			}
			return states
		}
	}
	return states
}

// judge compares what the machines say with what the server did.
func (x *torture) judge(states map[int]string, took time.Duration) {
	entries, err := travel.ReadLog(filepath.Join(x.desk.dir, "bookings.jsonl"))
	if err != nil {
		x.t.Fatal(err)
	}
	executed, keys := map[string]int{}, map[string]int{}
	for _, e := range entries {
		executed[e.From]++
		keys[e.Call]++
	}
	var done, uncertain, lost, twice, ghosts int
	for i := range x.calls {
		n := executed["City "+strconv.Itoa(i)]
		if n > 1 {
			twice++
			x.t.Errorf("call %d (%s) was executed %d times", i, states[i], n)
		}
		switch {
		case states[i] == "done":
			done++
			if n == 0 {
				ghosts++
				x.t.Errorf("call %d is done and was never executed", i)
			}
		case states[i] == "uncertain":
			uncertain++
		default:
			lost++
		}
	}
	if len(keys) != len(entries) {
		x.t.Errorf("%d executions with %d idempotency keys", len(entries), len(keys))
	}
	line := fmt.Sprintf("| %s | %d | %s | %d | %d | %d | %d | %d | %d | %d | %v |",
		time.Now().UTC().Format(time.DateOnly), x.calls, strings.TrimSpace(fmt.Sprint(x.machines, " ", x.note)), x.kills, x.wire.hits, x.cuts, done, uncertain, lost, twice+ghosts, took.Round(time.Second))
	x.t.Log(line)
	if path := os.Getenv(tortureReport); path != "" && !x.t.Failed() {
		if err := appendLine(path, line); err != nil {
			x.t.Error(err)
		}
	}
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, line+"\n")
	return errors.Join(err, f.Close())
}

// A wire leads to a server. It can hold one call up while something is done to
// a machine.
type wire struct {
	url     string
	tickets chan *ticket
	hits    int // calls that were held up
}

// Where on its way a call is held up.
const (
	beforeServer = "before the server has it"
	beforeReply  = "before its reply is back"
)

type ticket struct {
	where string
	act   func()
	done  chan struct{}
}

type ticketKey struct{}

func newWire(t *testing.T, target string) *wire {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{tickets: make(chan *ticket)}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host}) },
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			if held, ok := r.Request.Context().Value(ticketKey{}).(*ticket); ok && held.where == beforeReply {
				held.use()
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ErrorLog:     log.New(io.Discard, "", 0), // connections break all the time
	}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		// What is forwarded reaches the server also when its sender dies meanwhile.
		ctx := context.WithoutCancel(r.Context())
		if r.Header.Get("Mcp-Method") == "tools/call" {
			select {
			case held := <-w.tickets:
				if held.where == beforeServer {
					b, err := io.ReadAll(r.Body)
					if err != nil {
						close(held.done)
						return
					}
					r.Body = io.NopCloser(strings.NewReader(string(b)))
					held.use()
				}
				ctx = context.WithValue(ctx, ticketKey{}, held)
			default:
			}
		}
		proxy.ServeHTTP(out, r.WithContext(ctx))
	}))
	t.Cleanup(server.Close)
	w.url = server.URL + to.Path
	return w
}

func (k *ticket) use() {
	k.act()
	close(k.done)
}

// strike holds up the next call and acts. The act fails the test itself, so it
// runs in the caller's goroutine.
func (w *wire) strike(ctx context.Context, where string, act func()) {
	now, acted := make(chan struct{}), make(chan struct{})
	held := &ticket{where: where, act: func() { close(now); <-acted }, done: make(chan struct{})}
	defer close(acted)
	select {
	case w.tickets <- held:
		w.hits++
	case <-ctx.Done():
		return
	case <-time.After(5 * time.Second): // no call is sent any more
		act()
		return
	}
	select {
	case <-now:
	case <-held.done:
	case <-ctx.Done():
	}
	act()
}
