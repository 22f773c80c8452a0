package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
)

// response reads what the client answered to a server's request.
type response struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code int             `json:"code"`
		Data json.RawMessage `json:"data"`
	} `json:"error"`
}

func read(raw json.RawMessage) response {
	var r response
	_ = json.Unmarshal(raw, &r)
	return r
}

// say is the text of a tool that reports what the client answered.
func say(r response) string {
	if r.Error != nil {
		return fmt.Sprintf("error %d %s", r.Error.Code, r.Error.Data)
	}
	return string(r.Result)
}

// text is the text of a call's result.
func text(t *testing.T, c *inbox.Call) string {
	t.Helper()
	var r struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(c.Result, &r); err != nil || len(r.Content) == 0 {
		t.Fatalf("call ended %s (%s, %q) with %s", c.State, c.Reason, c.Detail, c.Result)
	}
	return r.Content[0].Text
}

var legacyTools = map[string]hosttest.Tool{
	"ask": func(x *hosttest.Exchange) { x.Text(say(read(x.Elicit(askSize)))) },
	"twice": func(x *hosttest.Exchange) {
		first := say(read(x.Elicit(askName)))
		x.Text(first + " then " + say(read(x.Elicit(askSize))))
	},
	"both": func(x *hosttest.Exchange) { // two questions at once, with a string and a number id
		a, b := x.Expect(`"q-7"`), x.Expect(`7`)
		x.Send(`{"jsonrpc":"2.0","id":"q-7","method":"elicitation/create","params":` + askName + `}`)
		x.Send(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":` + askSize + `}`)
		x.Text(say(read(x.Await(a))) + " and " + say(read(x.Await(b))))
	},
	"either": func(x *hosttest.Exchange) { // two at once; the first answer is the result
		answers := x.Expect(`1`, `2`)
		x.Send(elicitation("1", askName))
		x.Send(elicitation("2", askSize))
		x.Text(say(read(x.Await(answers))))
	},
	"sampling": func(x *hosttest.Exchange) {
		x.Text(say(read(x.Request("1", "sampling/createMessage", `{"messages":[],"maxTokens":1}`))))
	},
	"roots":   func(x *hosttest.Exchange) { x.Text(say(read(x.Request("2", "roots/list", `{}`)))) },
	"mode":    func(x *hosttest.Exchange) { x.Text(say(read(x.Elicit(`{"mode":"dance","message":"?"}`)))) },
	"shape":   func(x *hosttest.Exchange) { x.Text(say(read(x.Elicit(`{"message":5}`)))) },
	"leave":   func(x *hosttest.Exchange) { x.Send(elicitation(`"left"`, askName)); x.Text("left it open") },
	"unknown": func(x *hosttest.Exchange) { x.Text(say(read(x.Request("3", "tasks/dance", `{}`)))) },
	"nested": func(x *hosttest.Exchange) { // outside the subset: shown and refused by the surface, not by the host
		x.Text(say(read(x.Elicit(`{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"object","properties":{}}}}}`))))
	},
	"url": func(x *hosttest.Exchange) {
		x.Text(say(read(x.Elicit(`{"mode":"url","message":"Go there","url":"https://pay.example/x","elicitationId":"e1"}`))))
	},
	"done": func(x *hosttest.Exchange) { x.Text("done") },
}

func elicitation(id, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":` + params + `}`
}

func legacy(revision string) *hosttest.Script {
	return &hosttest.Script{Revision: revision, Tools: legacyTools}
}

func TestHeldAnswerIsExact(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2025-11-25", "2025-06-18"} {
		s, _ := web(t, "shop", legacy(revision))
		r := newRig(t, nil, nil, s)
		call := r.start("shop", "ask", "")
		held := r.step(call.ID, host.Held)
		if held.State != inbox.Sent || held.Era != inbox.Legacy {
			t.Errorf("%s: held call is %s, era %s", revision, held.State, held.Era)
		}
		q := r.one(call.ID)
		if string(q.Params) != askSize {
			t.Errorf("params %s, want the bytes as they came", q.Params)
		}
		r.answer(q, inbox.Accept, `{"n":9007199254740993,"b":"x","a":"y"}`)
		end := r.step(call.ID, "")
		if got, want := text(t, end), `{"action":"accept","content":{"n":9007199254740993,"b":"x","a":"y"}}`; got != want {
			t.Errorf("%s: the server got %s, want %s", revision, got, want)
		}
		after, err := r.in.Question(t.Context(), ada, q.ID)
		if err != nil || after.Delivery != inbox.Delivered && after.Delivery != inbox.Marked {
			t.Errorf("delivery %q (%v)", after.Delivery, err)
		}
	}
}

func TestHeldTwoQuestions(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", legacy("2025-11-25"))
	r := newRig(t, nil, nil, s)

	call := r.start("shop", "twice", "")
	r.step(call.ID, host.Held)
	r.answer(r.one(call.ID), inbox.Decline, "")
	r.next(call.ID)
	r.answer(r.one(call.ID), inbox.Cancel, "")
	if got, want := text(t, r.end(call.ID)), `{"action":"decline"} then {"action":"cancel"}`; got != want {
		t.Errorf("the server got %s, want %s", got, want)
	}

	call = r.start("shop", "both", "")
	r.step(call.ID, host.Held)
	list := r.openN(call.ID, 2)
	for _, q := range list { // answered in the other order
		if strings.Contains(string(q.Params), "How many") {
			r.answer(q, inbox.Accept, `{"n":2}`)
		}
	}
	for _, q := range list {
		if strings.Contains(string(q.Params), "Who") {
			r.answer(q, inbox.Accept, `{"name":"Ada"}`)
		}
	}
	if got, want := text(t, r.end(call.ID)), `{"action":"accept","content":{"name":"Ada"}} and {"action":"accept","content":{"n":2}}`; got != want {
		t.Errorf("the server got %s, want %s", got, want)
	}
}

// end waits for the end of a call.
func (r *rig) end(id inbox.CallID) *inbox.Call {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	c, err := r.Auto(ctx, ada, id, nil)
	if err != nil {
		r.t.Fatalf("Auto: %v (%+v)", err, c)
	}
	return c
}

// next waits for a question to be open.
func (r *rig) next(id inbox.CallID) *inbox.Question { return r.openN(id, 1)[0] }

func (r *rig) openN(id inbox.CallID, n int) []*inbox.Question {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	hints, err := r.in.Subscribe(ctx, ada)
	if err != nil {
		r.t.Fatal(err)
	}
	for {
		if list := r.open(id); len(list) == n {
			return list
		}
		select {
		case <-hints:
		case <-ctx.Done():
			r.t.Fatalf("%d questions are open, want %d", len(r.open(id)), n)
		}
	}
}

func TestWhatServersMayNotAsk(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", legacy("2025-11-25"))
	r := newRig(t, nil, nil, s)
	for tool, want := range map[string]string{
		"sampling": "error -32601 ",
		"roots":    "error -32601 ",
		"unknown":  "error -32601 ",
		"mode":     "error -32602 ",
		"shape":    "error -32602 ",
	} {
		if got := text(t, r.end(r.start("shop", tool, "").ID)); got != want {
			t.Errorf("%s: the server got %q, want %q", tool, got, want)
		}
	}
}

func TestSchemaOutsideTheSubsetIsShown(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", legacy("2025-11-25"))
	r := newRig(t, nil, nil, s)
	call := r.start("shop", "nested", "")
	r.step(call.ID, host.Held)
	r.answer(r.one(call.ID), inbox.Decline, "")
	if got := text(t, r.end(call.ID)); got != `{"action":"decline"}` {
		t.Errorf("the server got %s", got)
	}
}

func TestTooManyQuestions(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", legacy("2025-11-25"))
	r := newRig(t, nil, &rigOptions{inbox: inbox.Options{OpenQuestions: 1}}, s)
	call := r.start("shop", "either", "")
	if got, want := text(t, r.end(call.ID)), `error -32000 {"reason":"too_many_questions"}`; got != want {
		t.Errorf("the server got %s, want %s", got, want)
	}
}

func TestServerWithdraws(t *testing.T) {
	t.Parallel()
	for _, id := range []string{`"q-7"`, `7`} { // both kinds of id
		withdraw := make(chan struct{})
		s, _ := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
			"withdraw": func(x *hosttest.Exchange) {
				x.Send(elicitation(id, askName))
				<-withdraw
				x.Notify("notifications/cancelled", `{"requestId":`+id+`}`)
				x.Text("withdrawn")
			},
		}})
		r := newRig(t, nil, nil, s)
		call := r.start("shop", "withdraw", "")
		r.step(call.ID, host.Held)
		q := r.one(call.ID)
		close(withdraw)
		end := r.end(call.ID)
		if end.State != inbox.Done {
			t.Fatalf("ended %s (%s)", end.State, end.Detail)
		}
		q, err := r.in.Question(t.Context(), ada, q.ID)
		if err != nil || q.State != inbox.Withdrawn {
			t.Errorf("question %s (%v), want withdrawn", q.State, err)
		}
	}
}

func TestQuestionOpenAtTheEndOfItsCall(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", legacy("2025-11-25"))
	r := newRig(t, nil, nil, s)
	call := r.start("shop", "leave", "")
	if end := r.end(call.ID); text(t, end) != "left it open" {
		t.Errorf("ended %s", end.State)
	}
	if list := r.open(call.ID); len(list) != 0 {
		t.Errorf("%d questions of an ended call are open", len(list))
	}
}

func TestURLModeHeld(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", legacy("2025-11-25"))
	r := newRig(t, nil, nil, s)
	call := r.start("shop", "url", "")
	r.step(call.ID, host.Held)
	q := r.one(call.ID)
	if q.Mode != inbox.URL {
		t.Fatalf("mode %s", q.Mode)
	}
	if _, err := r.in.Open(t.Context(), ada, q.ID, digestOf(q.URL)); err != nil {
		t.Fatal(err)
	}
	r.answer(q, inbox.Accept, "")
	if got := text(t, r.end(call.ID)); got != `{"action":"accept"}` {
		t.Errorf("the server got %s", got)
	}
}

// Five calls at once, each asks once; only the last is answered. (The field's
// favourite defect: one slot for the open question.)
func TestCallsAtOnce(t *testing.T) {
	t.Parallel()
	httpServer, _ := web(t, "web", legacy("2025-11-25"))
	for _, s := range []*host.Server{httpServer, program(t, "program", "legacy")} {
		t.Run(s.ID, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil, nil, s)
			r.run()
			var calls []*inbox.Call
			for range 5 {
				calls = append(calls, r.start(s.ID, "ask", ""))
			}
			// The fifth shares a program with another call, and its question may
			// stand with that one: it moves on if that call ends first.
			if first := r.openN("", 5); s.Kind() == host.Stdio {
				noted := 0
				for _, q := range first {
					if q.Note == "program asked this during one of these calls: ask, ask." {
						noted++
					}
				}
				if noted == 0 {
					t.Errorf("no card says that its question may belong to either of two calls: %q", first[4].Note)
				}
			} else if first[4].Note != "" {
				t.Errorf("over HTTP a question says %q", first[4].Note)
			}
			for n := range 5 {
				questions := r.openN("", 5-n)
				r.answer(questions[len(questions)-1], inbox.Accept, fmt.Sprintf(`{"n":%d}`, n))
				// The end of a call may move the card of another.
				r.ended(calls, n+1)
			}
			got := map[string]bool{}
			for _, c := range calls {
				got[text(t, r.end(c.ID))] = true
			}
			for n := range 5 {
				if want := fmt.Sprintf(`{"action":"accept","content":{"n":%d}}`, n); !got[want] {
					t.Errorf("no call got %s: %v", want, got)
				}
			}
		})
	}
}

// ended waits until so many of the calls have ended.
func (r *rig) ended(calls []*inbox.Call, n int) {
	r.t.Helper()
	ctx := patient(r.t)
	hints, err := r.in.Subscribe(ctx, ada)
	if err != nil {
		r.t.Fatal(err)
	}
	for {
		ended := 0
		for _, c := range calls {
			if r.call(c.ID).State.Ended() {
				ended++
			}
		}
		if ended == n {
			return
		}
		select {
		case <-hints:
		case <-ctx.Done():
			r.t.Fatalf("%d calls have ended, want %d", ended, n)
		}
	}
}

// settled waits until the answer to the question was delivered.
func (r *rig) settled(q *inbox.Question) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	hints, err := r.in.Subscribe(ctx, ada)
	if err != nil {
		r.t.Fatal(err)
	}
	for {
		now, err := r.in.Question(ctx, ada, q.ID)
		if err != nil {
			r.t.Fatal(err)
		}
		if now.Delivery != inbox.Undelivered {
			return
		}
		select {
		case <-hints:
		case <-ctx.Done():
			r.t.Fatal("the answer was not delivered")
		}
	}
}

func (r *rig) declineAll(ctx context.Context, id inbox.CallID) error {
	_, err := r.in.DeclineRest(ctx, ada, id, inbox.Answer{Via: "test"})
	return err
}

// TestHeldIsBounded: what is asked when as many calls are held as may be is refused,
// which its person is told, and room is made when one of them is answered.
func TestHeldIsBounded(t *testing.T) {
	t.Parallel()
	old, _ := web(t, "old", legacy("2025-11-25"))
	r := newRig(t, nil, &rigOptions{host: host.Options{Held: 1}}, old)
	r.run()
	held := r.start(old.ID, "ask", "")
	card := r.next(held.ID)
	if got := text(t, r.end(r.start(old.ID, "ask", "").ID)); got != `error -32000 {"reason":"too_many_questions"}` {
		t.Errorf("beside a held call the server got %s", got)
	}
	if told, err := r.in.Refusals(t.Context(), ada); err != nil || len(told) != 1 || told[0].Server != old.ID || told[0].Count != 1 {
		t.Errorf("the person is told of %+v, %v", told, err)
	}
	r.answer(card, inbox.Accept, `{"n":1}`)
	r.end(held.ID)
	again := r.start(old.ID, "ask", "")
	r.answer(r.next(again.ID), inbox.Accept, `{"n":2}`)
	if got := text(t, r.end(again.ID)); got != `{"action":"accept","content":{"n":2}}` {
		t.Errorf("after it the server got %s", got)
	}
}

// TestHeldTakesNoPlace: a host that may have one call in flight goes on with other
// calls while a person thinks, and has its place back when the held call is over.
func TestHeldTakesNoPlace(t *testing.T) {
	t.Parallel()
	old, _ := web(t, "old", legacy("2025-11-25"))
	now, _ := web(t, "now", &hosttest.Script{Tools: map[string]hosttest.Tool{"order": func(x *hosttest.Exchange) {
		if x.State == nil {
			x.Asks("{"+request("size", askSize)+"}", "state")
			return
		}
		x.Text("ordered")
	}}})
	r := newRig(t, nil, &rigOptions{host: host.Options{Concurrency: 1}}, old, now)
	r.run()
	held := r.start(old.ID, "ask", "")
	card := r.openN("", 1)[0]
	for range 2 {
		parked := r.start(now.ID, "order", "")
		r.answer(r.next(parked.ID), inbox.Accept, `{"n":1}`)
		if c := r.end(parked.ID); c.State != inbox.Done {
			t.Fatalf("beside a held call the other ended %s (%s)", c.State, c.Reason)
		}
	}
	r.answer(card, inbox.Accept, `{"n":1}`)
	if c := r.end(held.ID); c.State != inbox.Done {
		t.Errorf("the held call ended %s (%s)", c.State, c.Reason)
	}
}

// A server that has asked in the middle of a call has run something: that it does not
// know the revision after all is how the call ends, and no reason to send it again.
func TestRevisionRefusedAfterAQuestion(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) {
		x.Elicit(`{"message":"Sure?","requestedSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`)
		x.Error(-32022, "no such revision", "")
	}}})
	r := newRig(t, nil, &rigOptions{inbox: inbox.Options{Lease: time.Hour}}, s)
	call := r.start("shop", "tool", "")
	r.step(call.ID, host.Held)
	r.answer(r.one(call.ID), inbox.Accept, `{"x":"y"}`)
	if c := r.until(call.ID, inbox.Failed); c.Sends != 1 {
		t.Errorf("it was sent %d times", c.Sends)
	}
}
