package inboxtest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

var raceTests = map[string]func(*kit){
	"two answers, one winner":    oneWinner,
	"one claim wins":             oneClaim,
	"take back against claim":    takeBackAgainstClaim,
	"stop against mark":          stopAgainstMark,
	"gapless events":             gaplessEvents,
	"sweeps from two machines":   twoSweeps,
	"many calls on two machines": manyCalls,
}

// both runs f with each of two handles on the database, n times each, all at once.
func (k *kit) both(n int, f func(in *inbox.Inbox, i int)) {
	k.t.Helper()
	machines := []*inbox.Inbox{k.in, k.on(k.handle(), "two")}
	var wg sync.WaitGroup
	for i := range n * len(machines) {
		wg.Go(func() { f(machines[i%len(machines)], i) })
	}
	wg.Wait()
}

func oneWinner(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"))
	var won, lost atomic.Int32
	var winner atomic.Value
	k.both(4, func(in *inbox.Inbox, i int) {
		content := fmt.Sprintf(`{"seat":"%dA"}`, i)
		_, err := in.Answer(k.ctx, k.ann, questions[0].ID, inbox.Answer{Action: inbox.Accept, Content: []byte(content)})
		switch {
		case err == nil:
			won.Add(1)
			winner.Store(content)
		case errors.Is(err, inbox.ErrClosed):
			lost.Add(1)
		default:
			k.t.Errorf("Answer: %v", err)
		}
	})
	if won.Load() != 1 || lost.Load() != 7 {
		k.t.Fatalf("%d answers won and %d lost", won.Load(), lost.Load())
	}
	if q := k.asked(questions[0].ID, inbox.Accepted); string(q.Answer.Content) != winner.Load() || q.Version != 2 {
		k.t.Errorf("stored %s, version %d; %s had won", q.Answer.Content, q.Version, winner.Load())
	}
	k.state(c.ID, inbox.Ready)
}

func oneClaim(k *kit) {
	const calls = 6
	for range calls {
		k.compose()
	}
	var claimed sync.Map
	var n atomic.Int32
	k.both(6, func(in *inbox.Inbox, _ int) {
		_, c, err := in.ClaimNext(k.ctx, nil)
		if errors.Is(err, inbox.ErrNothing) {
			return
		}
		if err != nil {
			k.t.Errorf("ClaimNext: %v", err)
			return
		}
		if _, twice := claimed.LoadOrStore(c.ID, true); twice {
			k.t.Errorf("%s was claimed twice", c.ID)
		}
		n.Add(1)
	})
	if n.Load() != calls {
		k.t.Errorf("%d of %d calls were claimed", n.Load(), calls)
	}
}

func takeBackAgainstClaim(k *kit) {
	for range 5 {
		_, c, questions := k.waiting(seat("a", "A?"))
		k.clock.advance(time.Minute) // of the limit per minute
		k.accept(questions[0])
		var taken, sent atomic.Bool
		k.both(1, func(in *inbox.Inbox, i int) {
			if i == 0 {
				_, err := in.TakeBack(k.ctx, k.ann, questions[0].ID)
				if err != nil && !errors.Is(err, inbox.ErrTooLate) {
					k.t.Errorf("TakeBack: %v", err)
				}
				taken.Store(err == nil)
				return
			}
			claim, _, err := in.Claim(k.ctx, k.ann, c.ID)
			if err == nil {
				_, err = in.Mark(k.ctx, claim, inbox.Binding{})
			}
			if err != nil && !errors.Is(err, inbox.ErrState) {
				k.t.Errorf("Claim and Mark: %v", err)
			}
			sent.Store(err == nil)
		})
		if taken.Load() == sent.Load() {
			k.t.Fatalf("taken back: %t, sent: %t", taken.Load(), sent.Load())
		}
	}
}

func stopAgainstMark(k *kit) {
	for range 5 {
		claim, c := k.claim()
		var marked atomic.Bool
		k.both(1, func(in *inbox.Inbox, i int) {
			if i == 0 {
				_, err := k.in.Mark(k.ctx, claim, inbox.Binding{})
				if err != nil && !errors.Is(err, inbox.ErrStopped) {
					k.t.Errorf("Mark: %v", err)
				}
				marked.Store(err == nil)
				return
			}
			if _, err := in.Stop(k.ctx, k.ann, c.ID); err != nil {
				k.t.Errorf("Stop: %v", err)
			}
		})
		got, err := k.in.Call(k.ctx, k.ann, c.ID)
		k.must("Call", err)
		if marked.Load() != (got.State == inbox.Sent && got.StopWanted) || marked.Load() == (got.State == inbox.Stopped) {
			k.t.Fatalf("marked: %t, the call is %s, stop wanted: %t", marked.Load(), got.State, got.StopWanted)
		}
	}
}

func gaplessEvents(k *kit) {
	people := []inbox.Principal{k.ann, k.bob}
	k.both(6, func(in *inbox.Inbox, i int) {
		for range 3 {
			c, err := in.Compose(k.ctx, people[i/2%2], inbox.NewCall{Server: "s", Method: "tools/call"})
			if err == nil {
				_, err = in.Stop(k.ctx, people[i/2%2], c.ID)
			}
			if err != nil {
				k.t.Errorf("Compose and Stop: %v", err)
			}
		}
	})
	for _, p := range people {
		var got []inbox.Event
		for {
			page, err := k.in.Events(k.ctx, p, int64(len(got)), 7)
			k.must("Events", err)
			got = append(got, page...)
			if len(page) == 0 {
				break
			}
		}
		times := map[string]int{}
		for i, e := range got {
			if e.Seq != int64(i+1) {
				k.t.Fatalf("event %d has the number %d", i+1, e.Seq)
			}
			times[e.ID]++
		}
		if len(got) != 36 || len(times) != 18 {
			k.t.Errorf("%d events of %d calls, want 36 of 18", len(got), len(times))
		}
	}
}

func twoSweeps(k *kit) {
	var ids []inbox.CallID
	for range 5 {
		_, c := k.sent(inbox.Modern)
		ids = append(ids, c.ID)
	}
	_, waiting, questions := k.waiting(seat("a", "A?"))
	k.clock.advance(week)
	k.both(3, func(in *inbox.Inbox, _ int) {
		if _, err := in.Sweep(k.ctx); err != nil {
			k.t.Errorf("Sweep: %v", err)
		}
	})
	for _, id := range ids {
		if c := k.state(id, inbox.Uncertain); c.Version != 4 { // composed, claimed, sent, uncertain
			k.t.Errorf("%d versions: it was swept more than once", c.Version)
		}
	}
	k.state(waiting.ID, inbox.CallExpired)
	if q := k.asked(questions[0].ID, inbox.Expired); q.Version != 2 {
		k.t.Errorf("%d versions: it was swept more than once", q.Version)
	}
}

// manyCalls runs whole calls on two machines that do not know of each other,
// while people answer through either.
func manyCalls(k *kit) {
	const calls = 8
	k.both(calls/2, func(in *inbox.Inbox, i int) {
		if _, err := in.Compose(k.ctx, k.ann, inbox.NewCall{Server: fmt.Sprint("s", i), Method: "tools/call", Era: inbox.Modern}); err != nil {
			k.t.Errorf("Compose: %v", err)
		}
	})
	var done atomic.Int32
	work := func(in *inbox.Inbox) error {
		claim, _, err := in.ClaimNext(k.ctx, nil)
		if errors.Is(err, inbox.ErrNothing) {
			return nil
		}
		if err != nil {
			return err
		}
		c, err := in.Mark(k.ctx, claim, inbox.Binding{})
		if err != nil {
			return err
		}
		if c.Round < 2 {
			_, err = in.Park(k.ctx, claim, inbox.Asked{RequestState: fmt.Sprint(c.ID, c.Round), Questions: []inbox.NewQuestion{
				seat("a", fmt.Sprint("A", c.Round)), seat("b", fmt.Sprint("B", c.Round))}})
			return err
		}
		if c.RequestState != fmt.Sprint(c.ID, 1) || c.Sends != 3 {
			k.t.Errorf("the last send of %s: state %q, %d sends", c.ID, c.RequestState, c.Sends)
		}
		if answers, err := in.Answers(k.ctx, claim); len(answers) != 2 || err != nil {
			k.t.Errorf("Answers = %s, %v", answers, err)
		}
		done.Add(1)
		_, err = in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Done})
		return err
	}
	answer := func(in *inbox.Inbox) error {
		open, err := in.Questions(k.ctx, k.ann, inbox.QuestionFilter{States: []inbox.QuestionState{inbox.Open}, Limit: 1})
		if err != nil || len(open) == 0 {
			return err
		}
		_, err = in.Answer(k.ctx, k.ann, open[0].ID, inbox.Answer{Action: inbox.Decline})
		if errors.Is(err, inbox.ErrClosed) {
			return nil
		}
		return err
	}
	k.both(2, func(in *inbox.Inbox, i int) {
		for done.Load() < calls && !k.t.Failed() {
			if err := k.ctx.Err(); err != nil {
				k.t.Errorf("%d of %d calls are done: %v", done.Load(), calls, err)
				return
			}
			step := work
			if i%4 >= 2 {
				step = answer
			}
			if err := step(in); err != nil {
				k.t.Errorf("step: %v", err)
				return
			}
		}
	})
	list, err := k.in.Calls(k.ctx, k.ann, inbox.CallFilter{States: []inbox.CallState{inbox.Done}})
	if len(list) != calls || err != nil {
		k.t.Errorf("%d of %d calls are done, %v", len(list), calls, err)
	}
}
