package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/policy"
)

func init() {
	ask := func(x *hosttest.Exchange) { x.Text(say(read(x.Elicit(askSize)))) }
	shares := make(chan struct{}) // in the program
	programs["shared"] = &hosttest.Script{Revision: "2025-11-25", Tools: map[string]hosttest.Tool{
		"ask": ask, "other": ask,
		"quiet": func(x *hosttest.Exchange) { <-x.Context.Done() },
		"joins": func(x *hosttest.Exchange) { close(shares); <-x.Context.Done() },
		"again": func(x *hosttest.Exchange) {
			read(x.Elicit(askSize))
			<-shares
			ask(x)
		},
	}}
}

// shared are two calls that share a process of a legacy program, and a question of the
// second, which stands with the first. The first has a question of its own.
type shared struct {
	first, second inbox.CallID
	question      *inbox.Question
}

// four starts as many calls as a server has processes, each with an open question.
func (r *rig) four(s *host.Server) (calls []inbox.CallID) {
	r.t.Helper()
	for range 4 {
		id := r.start(s.ID, "ask", "").ID
		r.openN(id, 1)
		calls = append(calls, id)
	}
	return calls
}

// share starts four calls, each with a process of its own, and a fifth.
func (r *rig) share(s *host.Server, start func() *inbox.Call) shared {
	r.t.Helper()
	r.four(s)
	second := start()
	for _, q := range r.openN("", 5) {
		if q.Note != "" {
			return shared{first: q.Call, second: second.ID, question: q}
		}
	}
	r.t.Fatal("no question may belong to either of two calls")
	return shared{}
}

// A question that may belong to either of two calls stops the clocks of both.
func TestSharedClock(t *testing.T) {
	t.Parallel()
	s := program(t, "program", "shared")
	s.SendTimeout = 3 * time.Second
	r := newRig(t, nil, nil, s)
	r.run()
	two := r.share(s, func() *inbox.Call { return r.start(s.ID, "other", "") })
	for range 2 { // more than the time that a send has
		r.until(r.start(s.ID, "quiet", "").ID, inbox.Uncertain)
	}
	r.answer(two.question, inbox.Accept, `{"n":5}`)
	if got := text(t, r.until(two.second, inbox.Done)); got != `{"action":"accept","content":{"n":5}}` {
		t.Errorf("the server got %s", got)
	}
}

// Nor does either take a place among the calls in flight: whose question it is nobody knows.
func TestSharedTakesNoPlace(t *testing.T) {
	t.Parallel()
	s := program(t, "program", "shared")
	other, _ := web(t, "web", legacy("2025-11-25"))
	r := newRig(t, nil, &rigOptions{host: host.Options{Concurrency: 1}}, s, other)
	r.run()
	two := r.share(s, func() *inbox.Call { return r.start(s.ID, "other", "") })
	r.until(r.start(other.ID, "done", "").ID, inbox.Done)
	r.answer(two.question, inbox.Accept, `{"n":5}`)
	r.until(two.second, inbox.Done)
}

// If the person stops the call that a shared question stands with, the question goes on
// with the other: nobody stopped that one.
func TestSharedQuestionAfterAStop(t *testing.T) {
	t.Parallel()
	s := program(t, "program", "shared")
	r := newRig(t, nil, nil, s)
	r.run()
	two := r.share(s, func() *inbox.Call { return r.start(s.ID, "other", "") })
	if _, err := r.in.Stop(t.Context(), ada, two.first); err != nil {
		t.Fatal(err)
	}
	q := r.openN(two.second, 1)[0]
	if q.Note != "" {
		t.Errorf("with one call left the question says %q", q.Note)
	}
	r.answer(q, inbox.Accept, `{"n":5}`)
	if got := text(t, r.until(two.second, inbox.Done)); got != `{"action":"accept","content":{"n":5}}` {
		t.Errorf("the server got %s", got)
	}
}

// So it does if that call has had all its rounds.
func TestSharedQuestionOfOneTooMany(t *testing.T) {
	t.Parallel()
	s := program(t, "program", "shared")
	s.Limits.Rounds = 1
	r := newRig(t, nil, nil, s)
	r.run()
	four := r.four(s)
	second := r.start(s.ID, "other", "")
	r.answer(r.openN(second.ID, 1)[0], inbox.Accept, `{"n":5}`)
	if got := text(t, r.until(second.ID, inbox.Done)); got != `{"action":"accept","content":{"n":5}}` {
		t.Errorf("the server got %s", got)
	}
	failed := 0
	for _, id := range four {
		c, err := r.in.Call(t.Context(), ada, id)
		if err != nil {
			t.Fatal(err)
		}
		if c.State == inbox.Failed && c.Reason == inbox.ReasonTooManyRounds {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d calls failed for their rounds, want 1", failed)
	}
}

// An answer leaves if the rules allow it for each call that it may be for.
func TestSharedPolicy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after func(*policy.Input) (policy.Decision, error) // of the second call
		want          string
	}{
		"denied":                  {allows, denies, `error -32000 {"reason":"denied"}`},
		"it needs an approval":    {allows, asks, `error -32000 {"reason":"denied"}`},
		"it has an approval":      {asks, asks, `{"action":"accept","content":{"n":5}}`},
		"it is allowed meanwhile": {asks, allows, `{"action":"accept","content":{"n":5}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := func(second func(*policy.Input) (policy.Decision, error)) func(*policy.Input) (policy.Decision, error) {
				return func(in *policy.Input) (policy.Decision, error) {
					if in.Name == "other" {
						return second(in)
					}
					return allows(in)
				}
			}
			s := program(t, "program", "shared")
			p := &changing{}
			p.set(of(c.before))
			r := newRig(t, nil, &rigOptions{host: host.Options{Policy: p}}, s)
			r.run()
			two := r.share(s, func() *inbox.Call {
				call := r.compose(s.ID, "other")
				if call.State == inbox.Approving {
					r.decide(r.approval(call.ID), true, inbox.Once)
				}
				return call
			})
			p.set(of(c.after))
			r.answer(two.question, inbox.Accept, `{"n":5}`)
			if got := text(t, r.until(two.second, inbox.Done)); got != c.want {
				t.Errorf("the server got %s, want %s", got, c.want)
			}
			// The first call goes on, and its own question is answered.
			r.answer(r.openN(two.first, 1)[0], inbox.Accept, `{"n":1}`)
			if got := text(t, r.until(two.first, inbox.Done)); got != `{"action":"accept","content":{"n":1}}` {
				t.Errorf("the server got %s for the first call", got)
			}
			if q, err := r.in.Question(t.Context(), ada, two.question.ID); err != nil {
				t.Error(err)
			} else if refused := c.want[0] == 'e'; refused != (q.Delivery == inbox.Dropped) {
				t.Errorf("the answer is %s", q.Delivery)
			}
		})
	}
}

// A call that is over has no say in the answer to a question that might have been its own,
// also if it ends while the policy is asked.
func TestSharedWithACallThatIsOver(t *testing.T) {
	t.Parallel()
	s := program(t, "program", "shared")
	p := &changing{}
	p.set(func(in *policy.Input) (policy.Decision, error) {
		if in.Name == "joins" {
			return asks(in)
		}
		return allows(in)
	})
	r := newRig(t, nil, &rigOptions{host: host.Options{Policy: p}}, s)
	r.run()
	for range 4 {
		r.openN(r.start(s.ID, "again", "").ID, 1)
	}
	joins := r.compose(s.ID, "joins")
	r.decide(r.approval(joins.ID), true, inbox.Once)
	r.until(joins.ID, inbox.Sent)
	for _, q := range r.openN("", 4) {
		r.answer(q, inbox.Accept, `{"n":1}`)
	}
	q := r.openN("", 1)[0]
	if q.Note == "" {
		t.Fatal("the question belongs to one call alone")
	}
	p.set(func(in *policy.Input) (policy.Decision, error) {
		if in.Name != "joins" {
			return allows(in)
		}
		now, err := r.in.Stop(patient(t), ada, joins.ID)
		for err == nil && now.State == inbox.Sent {
			now, err = r.in.Wait(patient(t), ada, joins.ID, now.Version)
		}
		if err != nil {
			t.Error(err)
		}
		return asks(in)
	})
	r.answer(q, inbox.Accept, `{"n":5}`)
	if got := text(t, r.until(q.Call, inbox.Done)); got != `{"action":"accept","content":{"n":5}}` {
		t.Errorf("the server got %s", got)
	}
}

// What the rules deny to the call that a shared question stands with does not leave under
// the name of the other.
func TestSharedQuestionOfADeniedCall(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(*policy.Input) (policy.Decision, error){"denied": denies, "it needs an approval": asks} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := program(t, "program", "shared")
			p := &changing{}
			r := newRig(t, nil, &rigOptions{host: host.Options{Policy: p}}, s)
			r.run()
			two := r.share(s, func() *inbox.Call { return r.start(s.ID, "other", "") })
			p.set(func(in *policy.Input) (policy.Decision, error) {
				if in.Name == "ask" {
					return after(in)
				}
				return allows(in)
			})
			for _, q := range r.openN(two.first, 2) {
				if q.ID != two.question.ID {
					r.answer(q, inbox.Accept, `{"n":1}`)
				}
			}
			r.until(two.first, inbox.Denied)
			if got, want := text(t, r.until(two.second, inbox.Done)), `error -32000 {"reason":"denied"}`; got != want {
				t.Errorf("the server got %s, want %s", got, want)
			}
		})
	}
}

// A question is shown if the rules show it for each call that it may be of.
func TestSharedShowing(t *testing.T) {
	t.Parallel()
	s := program(t, "program", "shared")
	p := &showing{hides: "other"}
	r := newRig(t, nil, &rigOptions{host: host.Options{Policy: p}}, s)
	r.run()
	r.four(s)
	if got, want := text(t, r.until(r.start(s.ID, "other", "").ID, inbox.Done)), `error -32000 {"reason":"refused_by_policy"}`; got != want {
		t.Errorf("the server got %s, want %s", got, want)
	}
}

// A showing policy allows all, and hides the questions of one tool.
type showing struct {
	changing
	hides string
}

func (s *showing) Question(_ context.Context, in *policy.Input, _ policy.Question) (policy.Showing, error) {
	return policy.Showing{Show: in.Name != s.hides}, nil
}
