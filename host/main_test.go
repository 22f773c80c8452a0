package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/internal/servicetest"
	"github.com/parley-mcp/parley/vault"
)

func TestMain(m *testing.M) {
	runHeldPart()
	hosttest.RunProgram(programs, otherPrograms)
	servicetest.VerifyTestMain(m)
}

var ada = inbox.Principal{Issuer: "test", Subject: "ada"}

// backend is one database that hosts come and go on.
type backend struct {
	open  func(t *testing.T) inbox.Store // another handle on the same rows
	ring  *seal.Ring
	clock *atomic.Int64 // by how much the store's clock was put forward; nil: it cannot be
}

// backends are the kinds of stores that tests with a life after the host run on.
var backends = map[string]func(t *testing.T) *backend{
	"memory": func(*testing.T) *backend { b, _ := ahead(); return b },
}

func eachBackend(t *testing.T, f func(t *testing.T, b *backend)) {
	t.Helper()
	for name, open := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, open(t))
		})
	}
}

// rig is one machine: an inbox and a host on a backend.
type rig struct {
	*host.Host
	t     *testing.T
	in    *inbox.Inbox
	store inbox.Store
	vault *vault.Vault // of machines that sign in
}

type rigOptions struct {
	inbox inbox.Options
	host  host.Options
}

func newRig(t *testing.T, b *backend, o *rigOptions, servers ...*host.Server) *rig {
	t.Helper()
	if o == nil {
		o = &rigOptions{}
	}
	if b == nil {
		b = backends["memory"](t)
	}
	if o.inbox.QuestionsPerMinute == 0 {
		o.inbox.QuestionsPerMinute = 1000
	}
	if o.inbox.OpenQuestions == 0 {
		o.inbox.OpenQuestions = 1000
	}
	if o.inbox.Poll == 0 {
		o.inbox.Poll = 20 * time.Millisecond
	}
	if o.host.Poll == 0 {
		o.host.Poll = 20 * time.Millisecond
	}
	if o.host.Grace == 0 {
		o.host.Grace = 500 * time.Millisecond
	}
	store := b.open(t)
	in := inbox.New(store, b.ring, &o.inbox)
	h, err := host.New(in, servers, &o.host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return &rig{Host: h, t: t, in: in, store: store}
}

func (r *rig) start(server, tool, arguments string) *inbox.Call {
	r.t.Helper()
	n := host.NewCall{Conversation: "v_1", Server: server, Name: tool}
	if arguments != "" {
		n.Arguments = json.RawMessage(arguments)
	}
	c, err := r.Start(r.t.Context(), ada, n)
	if err != nil {
		r.t.Fatalf("Start(%s, %s): %v", server, tool, err)
	}
	return c
}

// step steps and expects a stop: the end, if why is empty.
func (r *rig) step(id inbox.CallID, why host.Why) *inbox.Call {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	stop, err := r.Step(ctx, ada, id)
	if err != nil {
		r.t.Fatalf("Step: %v", err)
	}
	if stop.Done != (why == "") || stop.Why != why {
		r.t.Fatalf("Step = done %v, why %q (state %s, reason %s, detail %q), want why %q",
			stop.Done, stop.Why, stop.Call.State, stop.Call.Reason, stop.Call.Detail, why)
	}
	return stop.Call
}

// until waits until the call is in the state.
func (r *rig) until(id inbox.CallID, state inbox.CallState) *inbox.Call {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	var last *inbox.Call
	for since := int64(-1); ; since = last.Version {
		c, err := r.in.Wait(ctx, ada, id, since)
		if err != nil {
			r.t.Fatalf("waiting for %s: %v (last: %+v)", state, err, last)
		}
		if last = c; c.State == state {
			return c
		}
		if c.State.Ended() {
			r.t.Fatalf("the call ended %s (%s, %q), want %s", c.State, c.Reason, c.Detail, state)
		}
	}
}

// open lists the open questions, oldest first.
func (r *rig) open(call inbox.CallID) []*inbox.Question {
	r.t.Helper()
	list, err := r.in.Questions(r.t.Context(), ada, inbox.QuestionFilter{Call: call, States: []inbox.QuestionState{inbox.Open, inbox.Opened}})
	if err != nil {
		r.t.Fatal(err)
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// kill takes the store from a machine: whatever it still does, nobody hears of it.
func (r *rig) kill() {
	r.t.Helper()
	if err := r.store.Close(); err != nil {
		r.t.Fatal(err)
	}
}

// one expects exactly one open question.
func (r *rig) one(call inbox.CallID) *inbox.Question {
	r.t.Helper()
	list := r.open(call)
	if len(list) != 1 {
		r.t.Fatalf("%d open questions, want 1", len(list))
	}
	return list[0]
}

func (r *rig) answer(q *inbox.Question, action inbox.Action, content string) {
	r.t.Helper()
	a := inbox.Answer{Action: action, Via: "test"}
	if content != "" {
		a.Content = json.RawMessage(content)
	}
	if _, err := r.in.Answer(r.t.Context(), ada, q.ID, a); err != nil {
		r.t.Fatalf("Answer: %v", err)
	}
}

// run runs the machine until the test ends or the returned func is called.
func (r *rig) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			r.t.Errorf("Run: %v", err)
		}
	}
	r.t.Cleanup(stop)
	return stop
}

// web is a scripted server over HTTP as a host sees it.
func web(t *testing.T, id string, script *hosttest.Script) (*host.Server, *hosttest.Server) {
	t.Helper()
	s := hosttest.NewServer(t, script)
	return &host.Server{ID: id, URL: s.URL}, s
}

// program is a scripted server as a program.
func program(t *testing.T, id, script string) *host.Server {
	t.Helper()
	command, env, err := hosttest.Program(script)
	if err != nil {
		t.Fatal(err)
	}
	s := &host.Server{ID: id, Command: command, Env: map[string]host.Secret{}}
	for k, v := range env {
		s.Env[k] = host.NewSecret(v)
	}
	s.Env["GORACE"] = host.NewSecret("atexit_sleep_ms=0") // of the race detector: a second for each program
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		s.Env["GOCOVERDIR"] = host.NewSecret(dir)
	}
	return s
}

const (
	askName = `{"mode":"form","message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`
	askSize = `{"message":"How many?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"},"b":{"type":"string"},"a":{"type":"string"}}}}`
)

func request(key, params string) string {
	return `"` + key + `":{"method":"elicitation/create","params":` + params + `}`
}
