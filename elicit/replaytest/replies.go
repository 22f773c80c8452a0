package replaytest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/parley-mcp/parley/elicit/elicittest"
)

func keysFile(t testing.TB) string { return filepath.Join(t.TempDir(), "keys.json") }

// testReplay sends every request of a call again, at once and later.
func testReplay(t *testing.T, store Store) {
	d := newDesk(t, store.open(t), keysFile(t), newEffects(), nil)
	client := d.client(t, modern, nil)
	first := send(t, client, "pay", "o1", "", nil)
	second := send(t, client, "pay", "o1", first.state(t), seven)
	same(t, "round 2", second, send(t, client, "pay", "o1", first.state(t), seven))
	// The same answer, in another spelling and beside one that nobody asked for.
	other := json.RawMessage(`{"amount":{"_meta":{"x":1},"action":"accept","content":{ "amount" : 9007199254740993.0 }},"foreign":{"action":"accept"}}`)
	same(t, "round 2 in another spelling", second, send(t, client, "pay", "o1", first.state(t), other))
	third := send(t, client, "pay", "o1", second.state(t), yes)
	if !strings.Contains(third.String(), `"amount":9007199254740993`) || !strings.Contains(third.String(), `"effects":1`) {
		t.Fatalf("result %s", third)
	}
	for range 3 {
		same(t, "round 3", third, send(t, client, "pay", "o1", second.state(t), yes))
	}
	d.done(t, "o1", 1)
	if _, runs := d.effects.of("o1"); runs != 3 {
		t.Errorf("the handler ran %d times, want once in each of 3 rounds", runs)
	}

	// Errors and results of other methods are outcomes too.
	tests := []struct {
		name, method string
		params       func(order string) map[string]any
		answers      map[string]any
		count        func(order string) string
	}{
		{"refusal", "tools/call", func(o string) map[string]any {
			return map[string]any{"name": "pay", "arguments": map[string]any{"order": o}}
		}, map[string]any{"amount": map[string]any{"action": "decline"}}, nil},
		{"prompt", "prompts/get", func(o string) map[string]any {
			return map[string]any{"name": "letter", "arguments": map[string]any{"order": o}}
		}, eight, func(o string) string { return o }},
		{"failed prompt", "prompts/get", func(o string) map[string]any {
			return map[string]any{"name": "letter", "arguments": map[string]any{"order": o}}
		}, answer("amount", `{"amount":13}`), func(o string) string { return o }},
		{"declined prompt", "prompts/get", func(o string) map[string]any {
			return map[string]any{"name": "letter", "arguments": map[string]any{"order": o}}
		}, map[string]any{"amount": map[string]any{"action": "decline"}}, nil},
		{"resource", "resources/read", func(o string) map[string]any {
			return map[string]any{"uri": "bill://" + o}
		}, eight, func(o string) string { return "bill://" + o }},
	}
	for i, test := range tests {
		name := fmt.Sprintf("other%d", i)
		asks := do(t, client, test.method, test.params(name))
		params := test.params(name)
		params["requestState"], params["inputResponses"] = asks.state(t), test.answers
		end := do(t, client, test.method, params)
		for range 2 {
			same(t, test.name, end, do(t, client, test.method, params))
		}
		if test.count != nil {
			d.done(t, test.count(name), 1)
		}
	}
}

// testFork sends the same request state with other answers.
func testFork(t *testing.T, store Store) {
	d := newDesk(t, store.open(t), keysFile(t), newEffects(), nil)
	client := d.client(t, modern, nil)
	first := send(t, client, "pay", "o1", "", nil)
	second := send(t, client, "pay", "o1", first.state(t), seven)
	forks := map[string]any{
		"other answer": eight, "none": map[string]any{}, "declined": map[string]any{"amount": map[string]any{"action": "decline"}},
		"wrong shape": map[string]any{"amount": []int{}}, "wrong content": answer("amount", `{"amount":"x"}`),
		"duplicate key": answer("amount", `{"amount":8,"amount":9007199254740993}`),
	}
	for name, answers := range forks {
		refused(t, name, send(t, client, "pay", "o1", first.state(t), answers), -32602, "invalid_request_state")
	}
	// Answers that will be judged wrong are told apart, too.
	wrong := send(t, client, "pay", "o2", "", nil)
	ambiguous := answer("amount", `{"amount":8,"amount":9}`)
	again := send(t, client, "pay", "o2", wrong.state(t), ambiguous)
	same(t, "wrong answer", again, send(t, client, "pay", "o2", wrong.state(t), ambiguous))
	refused(t, "another wrong answer", send(t, client, "pay", "o2", wrong.state(t), answer("amount", `{"amount":9,"amount":8}`)), -32602, "invalid_request_state")

	third := send(t, client, "pay", "o1", second.state(t), no)
	refused(t, "a no turned into a yes", send(t, client, "pay", "o1", second.state(t), yes), -32602, "invalid_request_state")
	same(t, "the no", third, send(t, client, "pay", "o1", second.state(t), no))
	d.done(t, "o1", 0)
	if _, runs := d.effects.of("o1"); runs != 3 {
		t.Errorf("the handler ran %d times, want once in each of 3 rounds", runs)
	}
}

// testRollBack goes back to an older round after a newer one.
func testRollBack(t *testing.T, store Store) {
	d := newDesk(t, store.open(t), keysFile(t), newEffects(), nil)
	client := d.client(t, modern, nil)
	first := send(t, client, "pay", "o1", "", nil)
	second := send(t, client, "pay", "o1", first.state(t), seven)
	third := send(t, client, "pay", "o1", second.state(t), yes)
	again := send(t, client, "pay", "o1", first.state(t), seven)
	same(t, "round 2", second, again)
	same(t, "round 3", third, send(t, client, "pay", "o1", again.state(t), yes))
	refused(t, "round 2 with another amount", send(t, client, "pay", "o1", first.state(t), eight), -32602, "invalid_request_state")
	d.done(t, "o1", 1)
	if _, runs := d.effects.of("o1"); runs != 3 {
		t.Errorf("the handler ran %d times, want once in each of 3 rounds", runs)
	}
}

func testIdempotencyKey(t *testing.T, store Store) {
	d := newDesk(t, store.open(t), keysFile(t), newEffects(), nil)
	for _, revision := range []string{legacy, modern} {
		// Each client is a connection of its own.
		key := map[string]any{metaKey: "key-of-" + revision}
		first := send(t, d.client(t, revision, key), "book", revision, "", nil)
		if !strings.Contains(first.String(), `"amount":9007199254740993`) {
			t.Fatalf("result %s", first)
		}
		client := d.client(t, revision, key)
		same(t, revision, first, send(t, client, "book", revision, "", nil))
		refused(t, "other arguments", send(t, client, "book", "other", "", nil), -32602, "idempotency_key_reused")
		refused(t, "other tool", send(t, client, "pay", revision, "", nil), -32602, "idempotency_key_reused")
		refused(t, "other method", do(t, client, "resources/read", map[string]any{"uri": "bill://x"}), -32602, "idempotency_key_reused")
		d.done(t, revision, 1)

		// Another person's key is another key, and so is another one of the same.
		send(t, d.clientOf(t, "bob", revision, key), "book", revision, "", nil)
		d.done(t, revision, 2)
		send(t, d.client(t, revision, map[string]any{metaKey: "second-of-" + revision}), "book", revision, "", nil)
		d.done(t, revision, 3)
		// Without a key each request is one of its own.
		send(t, d.client(t, revision, nil), "book", revision, "", nil)
		d.done(t, revision, 4)

		for name, bad := range map[string]any{"empty": "", "space": "a b", "not ASCII": "schlüssel", "long": strings.Repeat("k", 129), "number": 7, "null": nil} {
			refused(t, name, send(t, d.client(t, revision, map[string]any{metaKey: bad}), "book", revision, "", nil), -32602, "")
		}
		// A caller who is not signed in has nothing but the key.
		refused(t, "short", send(t, d.clientOf(t, "", revision, map[string]any{metaKey: "0123456789abcde"}), "book", revision, "", nil), -32602, "")
		d.done(t, revision, 4)
		anonymous := map[string]any{metaKey: "0123456789abcdef-" + revision}
		first = send(t, d.clientOf(t, "", revision, anonymous), "book", revision, "", nil)
		same(t, "anonymous", first, send(t, d.clientOf(t, "", revision, anonymous), "book", revision, "", nil))
		d.done(t, revision, 5)

		large := d.client(t, revision, map[string]any{metaKey: "large-of-" + revision})
		if got := send(t, large, "large", "large"+revision, "", nil); len(got.result) < 64<<10 {
			t.Errorf("result %s", got)
		}
		refused(t, "too large", send(t, large, "large", "large"+revision, "", nil), -32000, "outcome_unknown")
		d.done(t, "large"+revision, 1)
		broken := d.client(t, revision, map[string]any{metaKey: "break-of-" + revision})
		same(t, "panic", send(t, broken, "break", "break"+revision, "", nil), send(t, broken, "break", "break"+revision, "", nil))
		d.done(t, "break"+revision, 1)
		mute := elicittest.Connect(t, d.handler, revision, nil, &elicittest.Options{
			Header: http.Header{"X-Subject": {"ada"}}, Meta: map[string]any{metaKey: "mute-of-" + revision},
		})
		same(t, "nobody to ask", send(t, mute, "pay", "mute"+revision, "", nil), send(t, mute, "pay", "mute"+revision, "", nil))
		if _, runs := d.effects.of("mute" + revision); runs != 1 {
			t.Errorf("the handler ran %d times for a client that cannot ask", runs)
		}
	}
	// A key goes through all rounds of a call.
	key := map[string]any{metaKey: "rounds"}
	first := send(t, d.client(t, modern, key), "pay", "rounds", "", nil)
	client := d.client(t, modern, key)
	same(t, "round 1", first, send(t, client, "pay", "rounds", "", nil))
	second := send(t, client, "pay", "rounds", first.state(t), seven)
	third := send(t, client, "pay", "rounds", second.state(t), yes)
	same(t, "round 1 after the end", first, send(t, client, "pay", "rounds", "", nil))
	same(t, "round 3", third, send(t, client, "pay", "rounds", second.state(t), yes))
	d.done(t, "rounds", 1)
	// An outcome in the words of one era is none in the other.
	refused(t, "other era", send(t, d.client(t, legacy, key), "pay", "rounds", "", nil), -32602, "idempotency_key_reused")
	d.done(t, "rounds", 1)
}

// testRunning sends a request again while it runs, after its process seems to
// be dead, and after it was cancelled.
func testRunning(t *testing.T, store Store) {
	address, keys, done := store.New(t), keysFile(t), newEffects()
	entered, leave := make(chan struct{}), make(chan struct{})
	before := func(ctx context.Context, order string) error {
		switch order {
		case "cancelled":
			entered <- struct{}{}
			<-ctx.Done()
			return context.Cause(ctx)
		case "done in spite of it":
			entered <- struct{}{}
			<-ctx.Done()
			return nil
		}
		entered <- struct{}{}
		<-leave
		return nil
	}
	d := newDesk(t, store.Open(t, address), keys, done, before)
	other := newDesk(t, store.Open(t, address), keys, done, before)
	slow := newDesk(t, hasty{store.Open(t, address)}, keys, done, before)

	client := d.client(t, modern, nil)
	first := send(t, client, "pay", "state", "", nil)
	second := send(t, client, "pay", "state", first.state(t), seven)
	tests := []struct {
		name string
		on   *desk
		send func(on *desk) reply
		want string
	}{
		{"state", d, func(on *desk) reply {
			return send(t, on.client(t, modern, nil), "pay", "state", second.state(t), yes)
		}, "call_in_progress"},
		{"modern", d, func(on *desk) reply {
			return send(t, on.client(t, modern, map[string]any{metaKey: "modern"}), "book", "modern", "", nil)
		}, "call_in_progress"},
		{"legacy", d, func(on *desk) reply {
			return send(t, on.client(t, legacy, map[string]any{metaKey: "legacy"}), "book", "legacy", "", nil)
		}, "call_in_progress"},
		{"lapsed", slow, func(on *desk) reply {
			return send(t, on.client(t, modern, map[string]any{metaKey: "lapsed"}), "book", "lapsed", "", nil)
		}, "outcome_unknown"},
	}
	for _, test := range tests {
		var outcome reply
		var group sync.WaitGroup
		group.Go(func() { outcome = test.send(test.on) })
		<-entered
		for _, on := range []*desk{other, test.on} {
			refused(t, test.name, test.send(on), -32000, test.want)
		}
		if test.name == "state" {
			refused(t, "a fork", send(t, client, "pay", "state", second.state(t), no), -32602, "invalid_request_state")
		}
		leave <- struct{}{}
		group.Wait()
		if outcome.result == nil {
			t.Errorf("%s: %s", test.name, outcome)
		}
		same(t, test.name, outcome, test.send(other)) // also what was late
		d.done(t, test.name, 1)
	}

	// Who cancels does not wait for the handler: until that has ended, it runs.
	cancelled := func(order string) reply {
		client := d.client(t, modern, map[string]any{metaKey: "cancelled"})
		if order != "cancelled" {
			client = d.client(t, modern, map[string]any{metaKey: "done"})
		}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			_, err := client.Send(ctx, "tools/call", map[string]any{"name": "book", "arguments": map[string]any{"order": order}})
			if err == nil {
				t.Error("a cancelled request has a reply")
			}
		})
		<-entered
		cancel()
		group.Wait()
		for {
			if r := send(t, client, "book", order, "", nil); r.reason() != "call_in_progress" {
				return r
			}
		}
	}
	refused(t, "cancelled", cancelled("cancelled"), -32000, "outcome_unknown")
	d.done(t, "cancelled", 0)
	if r := cancelled("done in spite of it"); r.result == nil {
		t.Errorf("what was done has no outcome: %s", r)
	}
	d.done(t, "done in spite of it", 1)
}

// storm is one call that many clients send at once.
type storm struct {
	order string

	mu       sync.Mutex
	requests []retry
	replies  map[string]string // the one result of each request
}

type retry struct {
	state   string
	answers map[string]any
	name    string // of state and answers
}

func (s *storm) add(state string, answers ...map[string]any) {
	for i, a := range answers {
		s.requests = append(s.requests, retry{state, a, fmt.Sprint(state, i)})
	}
}

// send sends one of the requests and compares what comes.
func (s *storm) send(t *testing.T, client *elicittest.Client, pick func(n int) int) {
	s.mu.Lock()
	r := s.requests[pick(len(s.requests))]
	s.mu.Unlock()
	got := send(t, client, "pay", s.order, r.state, r.answers)
	if got.result == nil {
		if reason := got.reason(); reason != "call_in_progress" && reason != "invalid_request_state" {
			t.Errorf("refused: %s", got)
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.replies[r.name]
	switch {
	case ok && known != got.String():
		t.Errorf("two replies to one request:\n%s\n%s", known, got)
	case !ok:
		s.replies[r.name] = got.String()
		if strings.Contains(got.String(), "requestState") {
			s.add(got.state(t), yes, no)
		}
	}
}

// testStorm has many clients repeat, fork and roll back the same calls at once,
// on two servers that share the store. Nothing may happen twice.
func testStorm(t *testing.T, store Store) {
	const workers, sends = 8, 12
	address, keys, done := store.New(t), keysFile(t), newEffects()
	desks := []*desk{
		newDesk(t, store.Open(t, address), keys, done, nil),
		newDesk(t, store.Open(t, address), keys, done, nil),
	}
	calls := make([]*storm, 4)
	for i := range calls {
		calls[i] = &storm{order: fmt.Sprint(i), replies: map[string]string{}}
		first := send(t, desks[0].client(t, modern, nil), "pay", calls[i].order, "", nil)
		calls[i].add(first.state(t), seven, eight)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var group sync.WaitGroup
	for worker := range workers {
		client := desks[worker%2].client(t, modern, nil)
		random := rand.New(rand.NewPCG(seed, uint64(worker)))
		group.Go(func() {
			for range sends {
				calls[random.IntN(len(calls))].send(t, client, random.IntN)
			}
		})
	}
	group.Wait()
	client := desks[0].client(t, modern, nil)
	for _, c := range calls {
		// To the end, so that there is something that could have happened twice.
		for range 3 {
			for i := range len(c.requests) {
				c.send(t, client, func(int) int { return i })
			}
		}
		if effects, runs := done.of(c.order); effects > 1 || runs != 3 {
			t.Errorf("order %s: done %d times in %d runs of the handler", c.order, effects, runs)
		}
		if len(c.replies) != 2 {
			t.Errorf("order %s: %d different requests were let in, want one in each round", c.order, len(c.replies))
		}
	}
}
