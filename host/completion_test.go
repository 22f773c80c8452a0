package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/store/memstore"
)

const complete = "notifications/elicitation/complete"

func completion(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"elicitationId":%s}}`, complete, id)
}

// payFirst asks for the page e1 with an error; its data is what the error has.
const payFirst = `{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://pay.example/1","message":"Pay"}]}`

func pay(x *hosttest.Exchange) {
	if x.N == 0 {
		x.Error(-32042, "pay first", payFirst)
		return
	}
	x.Text("paid")
}

// heard hears from a host's log how many questions each completion was about:
// a test that nothing happens has to know when it would have.
type heard chan int64

func (h heard) Enabled(context.Context, slog.Level) bool { return true }
func (h heard) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h heard) WithGroup(string) slog.Handler            { return h }

func (h heard) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "host: a page was completed" {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "questions" {
				h <- a.Value.Int64()
			}
			return true
		})
	}
	return nil
}

// of expects completions that were about so many questions, in any order.
func (h heard) of(t *testing.T, want ...int64) {
	t.Helper()
	var sum, wantSum int64
	for _, n := range want {
		wantSum += n
		select {
		case got := <-h:
			sum += got
		case <-time.After(30 * time.Second):
			t.Fatal("waited in vain for a completion to be looked at")
		}
	}
	if sum != wantSum {
		t.Errorf("%d completions were about %d questions, want %d", len(want), sum, wantSum)
	}
}

func newHeard() (heard, *rigOptions) {
	h := make(heard, 64)
	return h, &rigOptions{host: host.Options{Log: slog.New(h)}}
}

// What a server says of pages that nobody was sent to, that are another
// person's or another server's, or that are finished, changes nothing, and
// neither does a completion that never comes: the person's own word lets the
// call go on.
func TestCompletionOfNothing(t *testing.T) {
	t.Parallel()
	tell := func(x *hosttest.Exchange) {
		x.Notify(complete, `{"elicitationId":"e1"}`)
		x.Text("told")
	}
	s, wire := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"tell": tell,
		"pay": func(x *hosttest.Exchange) {
			if x.N == 0 {
				x.Notify(complete, `{"elicitationId":"e1"}`) // nothing has asked for it yet
				x.Error(-32042, "pay first", payFirst)
				return
			}
			x.Notify(complete, `{"elicitationId":"e1"}`) // it was finished long ago
			x.Text("paid")
		},
	}})
	hotel, _ := web(t, "hotel", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{"tell": tell}})
	modern, _ := web(t, "modern", &hosttest.Script{Tools: map[string]hosttest.Tool{
		"tell": func(x *hosttest.Exchange) {
			x.Notify(complete, `{"elicitationId":"e1"}`)
			x.Text("told")
		},
	}})
	h, o := newHeard()
	r := newRig(t, nil, o, s, hotel, modern)
	call := r.start("shop", "pay", "")
	r.step(call.ID, host.Asked)
	h.of(t, 0)
	q := r.one(call.ID)

	for _, id := range []string{`7`, `null`, `""`, `["e1"]`, `{"e1":"e1"}`, `"never asked"`, `"e"`, `"e1 "`, `"E1"`} {
		wire.Standalone(completion(id))
	}
	wire.Standalone(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, complete))
	h.of(t, 0, 0, 0, 0) // of those that are texts
	for _, server := range []string{"hotel", "modern"} {
		if got := text(t, r.end(r.start(server, "tell", "").ID)); got != "told" {
			t.Errorf("%s: %s", server, got)
		}
	}
	h.of(t, 0) // in the modern era there is no such thing
	theirs, err := r.Start(t.Context(), bob, host.NewCall{Server: "shop", Name: "tell"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Step(t.Context(), bob, theirs.ID); err != nil {
		t.Fatal(err)
	}
	h.of(t, 0)
	if now := r.one(call.ID); now.State != inbox.Open || now.Version != q.Version || len(wire.Calls()) != 2 {
		t.Fatalf("the question is %s in version %d after %d calls", now.State, now.Version, len(wire.Calls()))
	}

	if _, err := r.in.Open(t.Context(), ada, q.ID, digestOf(q.URL)); err != nil {
		t.Fatal(err)
	}
	r.answer(q, inbox.Accept, "") // no completion has come
	if got := text(t, r.end(call.ID)); got != "paid" || len(wire.Calls()) != 3 {
		t.Errorf("got %s after %d calls", got, len(wire.Calls()))
	}
	h.of(t, 0)
	wire.Standalone(completion(`"e1"`)) // the call has ended
	h.of(t, 0)
	list, err := r.in.Questions(t.Context(), ada, inbox.QuestionFilter{Call: call.ID})
	if err != nil || len(list) != 1 || list[0].State != inbox.Accepted || list[0].ClosedBy != inbox.ByPerson || !list[0].Completed.IsZero() {
		t.Errorf("questions %+v, %v", list, err)
	}
}

// A server's word that the page is finished sends the call again, as the
// person's would, whether they came to the page from here or not.
func TestCompletionSendsAgain(t *testing.T) {
	t.Parallel()
	for _, opened := range []bool{true, false} {
		t.Run(fmt.Sprintf("opened %t", opened), func(t *testing.T) {
			t.Parallel()
			s, wire := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{"pay": pay}})
			h, o := newHeard()
			r := newRig(t, nil, o, s)
			r.run()
			call := r.start("shop", "pay", "")
			r.until(call.ID, inbox.Waiting)
			q := r.one(call.ID)
			if opened {
				if _, err := r.in.Open(t.Context(), ada, q.ID, digestOf(q.URL)); err != nil {
					t.Fatal(err)
				}
			}
			wire.Standalone(completion(`"e1"`))
			end := r.until(call.ID, inbox.Done)
			h.of(t, 1)
			if got := text(t, end); got != "paid" || len(wire.Calls()) != 2 || end.Sends != 2 {
				t.Errorf("got %s after %d calls and %d marks", got, len(wire.Calls()), end.Sends)
			}
			list, err := r.in.Questions(t.Context(), ada, inbox.QuestionFilter{Call: call.ID})
			if err != nil || len(list) != 1 || list[0].State != inbox.Accepted || list[0].ClosedBy != inbox.ByServer || list[0].Answer != nil || list[0].Completed.IsZero() {
				t.Errorf("questions %+v, %v", list, err)
			}
		})
	}
}

// The policy is asked before the call goes again, as after a person's word.
func TestCompletionUnderPolicy(t *testing.T) {
	t.Parallel()
	s, wire := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{"pay": pay}})
	p := &changing{}
	r := newRig(t, nil, &rigOptions{host: host.Options{Policy: p}}, s)
	r.run()
	call := r.start("shop", "pay", "")
	r.until(call.ID, inbox.Waiting)
	p.set(denies)
	wire.Standalone(completion(`"e1"`))
	r.until(call.ID, inbox.Denied)
	if n := len(wire.Calls()); n != 1 {
		t.Errorf("%d calls, want the one before", n)
	}
}

// One word for a page is enough: a server that asks for it again and says again
// that it is finished waits for the person.
func TestCompletionTwice(t *testing.T) {
	t.Parallel()
	s, wire := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"pay": func(x *hosttest.Exchange) {
			if x.N < 2 {
				x.Error(-32042, "pay first", payFirst)
				return
			}
			x.Text("paid")
		},
	}})
	h, o := newHeard()
	r := newRig(t, nil, o, s)
	r.run()
	call := r.start("shop", "pay", "")
	first := r.until(call.ID, inbox.Waiting)
	wire.Standalone(completion(`"e1"`))
	wire.Standalone(completion(`"e1"`))
	h.of(t, 1, 0)
	again := r.untilAfter(call.ID, first.Version, inbox.Waiting)
	for range 3 {
		wire.Standalone(completion(`"e1"`))
	}
	h.of(t, 0, 0, 0)
	q := r.one(call.ID)
	if now, err := r.in.Call(t.Context(), ada, call.ID); err != nil || now.Version != again.Version || q.State != inbox.Opened && q.State != inbox.Open {
		t.Fatalf("call %+v, question %+v, %v", now, q, err)
	}
	if _, err := r.in.Open(t.Context(), ada, q.ID, digestOf(q.URL)); err != nil {
		t.Fatal(err)
	}
	r.answer(q, inbox.Accept, "")
	if got := text(t, r.until(call.ID, inbox.Done)); got != "paid" || len(wire.Calls()) != 3 {
		t.Errorf("got %s after %d calls", got, len(wire.Calls()))
	}
}

// gated is a store that waits before it begins to park a call.
type gated struct {
	inbox.Store
	at, open chan struct{}
}

func (g *gated) Update(ctx context.Context, p string, f func(inbox.Tx) error) error {
	if inbox.AheadOf(ctx).Recent > 0 { // a server asks
		g.at <- struct{}{}
		<-g.open
	}
	return g.Store.Update(ctx, p, f)
}

// A page that is finished while the host still writes down that it was asked
// for is known: the host has read it.
func TestCompletionWhileParking(t *testing.T) {
	t.Parallel()
	pong := make(chan (<-chan json.RawMessage), 1)
	s, wire := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"pay": func(x *hosttest.Exchange) {
			if x.N == 0 {
				pong <- x.Expect(`"ping"`)
			}
			pay(x)
		},
	}})
	store := &gated{Store: memstore.New(nil), at: make(chan struct{}, 8), open: make(chan struct{})}
	h, o := newHeard()
	r := newRig(t, &backend{ring: seal.NewRing(), open: func(*testing.T) inbox.Store { return store }}, o, s)
	r.run()
	call := r.start("shop", "pay", "")
	<-store.at
	wire.Standalone(completion(`"e1"`))
	wire.Standalone(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
	<-<-pong // so the completion was read
	close(store.open)
	if got := text(t, r.until(call.ID, inbox.Done)); got != "paid" || len(wire.Calls()) != 2 {
		t.Errorf("got %s after %d calls", got, len(wire.Calls()))
	}
	h.of(t, 1)
}

func init() {
	programs["completes"] = &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"pay": func(x *hosttest.Exchange) {
			pay(x)
			if x.N == 0 { // in the same breath, on the same pipe
				x.Notify(complete, `{"elicitationId":"e1"}`)
			}
		},
	}}
}

// On a pipe the order of messages is certain: what follows the error is never lost.
func TestCompletionOnAPipe(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, nil, program(t, "shop", "completes"))
	r.run()
	call := r.start("shop", "pay", "")
	if got := text(t, r.until(call.ID, inbox.Done)); got != "paid" {
		t.Errorf("got %s", got)
	}
}

// The machine that parked the call is gone. Another one has a connection of the
// same person to the same server, and the server knows whom to tell.
func TestCompletionOnAnotherMachine(t *testing.T) {
	t.Parallel()
	s, wire := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{"pay": pay}})
	b := backends["memory"](t)
	one := newRig(t, b, nil, s)
	call := one.start("shop", "pay", "")
	one.step(call.ID, host.Asked)
	one.kill()

	h, o := newHeard()
	two := newRig(t, b, o, &host.Server{ID: "shop", URL: s.URL})
	stop := two.run()
	if _, err := two.Tools(t.Context(), ada, "shop"); err != nil {
		t.Fatal(err)
	}
	wire.Standalone(completion(`"e1"`)) // to every session; the first machine has no store
	if got := text(t, two.until(call.ID, inbox.Done)); got != "paid" || len(wire.Calls()) != 2 {
		t.Errorf("got %s after %d calls", got, len(wire.Calls()))
	}
	h.of(t, 1)
	stop()

	// At another address it would be another server, whatever it is called.
	moved, away := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{"pay": pay}})
	call = func() *inbox.Call { // e1 is asked for once more, by the first address
		s, _ := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{"pay": pay}})
		three := newRig(t, b, nil, s)
		c := three.start("shop", "pay", "")
		three.step(c.ID, host.Asked)
		return c
	}()
	h, o = newHeard()
	four := newRig(t, b, o, moved)
	if _, err := four.Tools(t.Context(), ada, "shop"); err != nil {
		t.Fatal(err)
	}
	away.Standalone(completion(`"e1"`))
	h.of(t, 0)
	if q := four.one(call.ID); q.State != inbox.Open {
		t.Errorf("the question is %s", q.State)
	}
}

// A page of a held call: accepting it says that the person goes there, and what
// the server says later is kept beside the answer. It is no answer.
func TestCompletionOfAHeldQuestion(t *testing.T) {
	t.Parallel()
	const page = `{"mode":"url","elicitationId":"h1","url":"https://pay.example/1","message":"Pay"}`
	proceed, early := make(chan struct{}), make(chan struct{})
	s, wire := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"pay": func(x *hosttest.Exchange) {
			x.Elicit(page)
			x.Notify(complete, `{"elicitationId":"h1"}`)
			<-proceed
			x.Text("paid")
		},
		"early": func(x *hosttest.Exchange) {
			answer := x.Expect(`1`)
			x.Send(elicitation("1", page))
			<-early
			x.Notify(complete, `{"elicitationId":"h1"}`)
			x.Text(say(read(x.Await(answer))))
		},
	}})
	h, o := newHeard()
	r := newRig(t, nil, o, s)
	call := r.start("shop", "pay", "")
	r.step(call.ID, host.Held)
	q := r.one(call.ID)
	if _, err := r.in.Open(t.Context(), ada, q.ID, digestOf(q.URL)); err != nil {
		t.Fatal(err)
	}
	r.answer(q, inbox.Accept, "")
	h.of(t, 1)
	now, err := r.in.Question(t.Context(), ada, q.ID)
	if err != nil || now.Completed.IsZero() || now.State != inbox.Accepted || now.ClosedBy != inbox.ByPerson {
		t.Errorf("question %+v, %v", now, err)
	}
	wire.Standalone(completion(`"h1"`)) // once is enough
	h.of(t, 0)
	close(proceed)
	if got := text(t, r.end(call.ID)); got != "paid" {
		t.Errorf("got %s", got)
	}

	call = r.start("shop", "early", "")
	r.step(call.ID, host.Held)
	close(early)
	h.of(t, 1)
	if q = r.one(call.ID); q.State != inbox.Open || q.Completed.IsZero() {
		t.Errorf("a completion before the answer made the question %+v", q)
	}
	r.answer(q, inbox.Decline, "")
	if got := text(t, r.end(call.ID)); got != `{"action":"decline"}` {
		t.Errorf("the server got %s", got)
	}
}

// A server cannot keep the host busy with completions.
func TestCompletionsAreBounded(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"flood": func(x *hosttest.Exchange) {
			for i := range 1000 {
				x.Notify(complete, fmt.Sprintf(`{"elicitationId":"x%d"}`, i))
			}
			x.Text("flooded")
		},
	}})
	h := make(heard, 2000)
	r := newRig(t, nil, &rigOptions{host: host.Options{Log: slog.New(h)}}, s)
	if got := text(t, r.end(r.start("shop", "flood", "").ID)); got != "flooded" {
		t.Errorf("got %s", got)
	}
	h.of(t, make([]int64, 60)...)
	if err := r.Close(); err != nil { // all that was begun is over
		t.Fatal(err)
	}
	if n := len(h); n > 0 {
		t.Errorf("the host looked %d times more than it listens in a minute", n)
	}
}

// untilAfter waits until the call is in the state, in a version after this one.
func (r *rig) untilAfter(id inbox.CallID, version int64, state inbox.CallState) *inbox.Call {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	for {
		c, err := r.in.Wait(ctx, ada, id, version)
		if err != nil {
			r.t.Fatalf("waiting for %s: %v", state, err)
		}
		if version = c.Version; c.State == state {
			return c
		}
	}
}
