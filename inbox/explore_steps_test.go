package inbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/memstore"
)

func formQuestion(key string) inbox.NewQuestion {
	return inbox.NewQuestion{Key: key, Params: json.RawMessage(fmt.Sprintf(
		`{"message":%q,"requestedSchema":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}}`, key+"?"))}
}

func urlQuestion(n int) inbox.NewQuestion {
	return inbox.NewQuestion{Key: "u", Params: json.RawMessage(fmt.Sprintf(`{"mode":"url","message":"U?","url":"https://u.example/%d"}`, n))}
}

// world is everything that a step can change.
type world struct {
	store    *memstore.Store
	now      time.Time
	call     inbox.CallID
	commits  *int // since the state before
	in       [2]*inbox.Inbox
	machines [2]memory
	ghost    ghost
	seen     view
}

// memory is what a machine knows. A crash empties it.
type memory struct {
	stage string // "", claimed, sent, uncertain
	claim *inbox.Claim
}

// ghost is what really happened, kept beside the store by the test alone.
type ghost struct {
	claims int64 // given so far
	marks  int   // requests that may have left
	open   int   // of these: neither answered, nor proven not to have run, nor decided on
	asked  int   // rounds, or held questions
	agains int
	winner map[inbox.QuestionID]inbox.Answer // whose giver was told that it counts
	left   map[inbox.QuestionID]string       // what went to the server as the answer
	told   map[inbox.ApprovalID]bool         // allowed or not, as its decider was told
}

// view is what the store says.
type view struct {
	call      *inbox.Call
	questions []*inbox.Question // oldest first
	approvals []*inbox.Approval // oldest first
	events    int64
	other     int64 // changes of the call that replaced it
	disabled  bool
}

// enter makes a world of its own that goes on from w.
func (e *explorer) enter(w world) world {
	to, now := w, w.now
	to.store = w.store.Clone(&memstore.Options{Now: func() time.Time { return now }})
	to.commits = new(int)
	for i := range to.in {
		to.in[i] = inbox.New(counted{to.store, to.commits}, e.keys, &inbox.Options{Owner: fmt.Sprint("m", i), Notifier: e.hints, Events: 1 << 30, Notice: -1})
	}
	to.ghost.winner, to.ghost.left, to.ghost.told = maps.Clone(w.ghost.winner), maps.Clone(w.ghost.left), maps.Clone(w.ghost.told)
	return to
}

// counted counts the commits of a store.
type counted struct {
	inbox.Store
	commits *int
}

func (c counted) Update(ctx context.Context, principal string, f func(inbox.Tx) error) error {
	err := c.Store.Update(ctx, principal, f)
	if err == nil {
		*c.commits++
	}
	return err
}

// written reports whether the step that led here has stored anything.
func (w *world) written() bool { return *w.commits > 0 }

type step struct {
	name string
	do   func(w *world) error
}

// stepsAt lists what can happen next, and says whether something was left out
// to keep the scene small.
func (e *explorer) stepsAt(p *point) (list []step, cut bool) {
	add := func(name string, do func(w *world) error) { list = append(list, step{name, do}) }
	ctx, c := e.t.Context(), p.seen.call
	for i := range p.machines {
		if i > 0 && e.scene.alone {
			break
		}
		steps, left := e.machineSteps(p, i)
		list, cut = append(list, steps...), cut || left
	}
	for n, q := range p.seen.questions {
		e.answers(q, n, add)
	}
	for n, a := range p.seen.approvals {
		e.decisions(a, n, add)
	}
	add("stop", func(w *world) error { _, err := w.in[0].Stop(ctx, e.ann, w.call); return err })
	if c.State == inbox.Uncertain {
		for _, how := range []inbox.Resolution{inbox.SendAgain, inbox.ItHappened, inbox.GiveUp} {
			add(string(how), func(w *world) error {
				got, err := w.in[0].Resolve(ctx, e.ann, w.call, how)
				if err == nil && got.ID == w.call {
					w.ghost.open = 0 // the person has decided
				}
				return err
			})
		}
	}
	switch c.State {
	case inbox.Blocked:
		add("unblock", func(w *world) error { _, err := w.in[0].Unblock(ctx, "s"); return err })
	case inbox.Waiting:
		if !e.scene.blocks {
			break
		}
		add("server removed", func(w *world) error {
			_, err := w.in[0].BlockWaiting(ctx, "s", inbox.ReasonServerRemoved, "")
			return err
		})
	}
	if e.scene.leaves {
		add("disable", func(w *world) error { return w.in[0].Disable(ctx, e.ann) })
		if p.seen.disabled {
			add("enable", func(w *world) error { return w.in[0].Enable(ctx, e.ann) })
		}
	}
	add("sweep", func(w *world) error { _, err := w.in[0].Sweep(ctx); return err })
	next, err := p.store.NextDue(ctx)
	if err != nil {
		e.t.Fatal(err)
	}
	if !next.IsZero() {
		add("time", func(w *world) error {
			*w = e.later(*w, next)
			return nil
		})
	}
	return list, cut
}

// later is the world at another time.
func (e *explorer) later(w world, now time.Time) world {
	w.now = now
	return e.enter(w)
}

// machineSteps are what a machine does by itself, what the server or the
// transport lets it see, and what kills it.
func (e *explorer) machineSteps(p *point, i int) (list []step, cut bool) {
	ctx, c, memo := e.t.Context(), p.seen.call, p.machines[i]
	add := func(name string, do func(in *inbox.Inbox, w *world) error) {
		list = append(list, step{fmt.Sprint("machine ", i, ": ", name), func(w *world) error { return do(w.in[i], w) }})
	}
	// with is a step with the machine's claim: it learns what has become of it.
	with := func(name string, do func(in *inbox.Inbox, w *world) (*inbox.Call, error)) {
		add(name, func(in *inbox.Inbox, w *world) error {
			got, err := do(in, w)
			switch {
			case errors.Is(err, inbox.ErrFenced), errors.Is(err, inbox.ErrStopped), errors.Is(err, inbox.ErrExpired):
				w.machines[i] = memory{}
			case err != nil: // not possible; it goes on
			case got.State == inbox.Claimed || got.State == inbox.Sent || got.State == inbox.Uncertain:
				w.machines[i].stage = string(got.State)
			default:
				w.machines[i] = memory{}
			}
			return err
		})
	}
	// reply is a step that settles what was sent.
	reply := func(name string, do func(in *inbox.Inbox) (*inbox.Call, error)) {
		with(name, func(in *inbox.Inbox, w *world) (*inbox.Call, error) {
			got, err := do(in)
			if err == nil {
				w.ghost.open = 0
			}
			return got, err
		})
	}
	finish := func(state inbox.CallState) func(in *inbox.Inbox) (*inbox.Call, error) {
		return func(in *inbox.Inbox) (*inbox.Call, error) {
			return in.Finish(ctx, memo.claim, inbox.Outcome{State: state, Result: json.RawMessage(`{}`)})
		}
	}
	asks := func(name string, do func(in *inbox.Inbox, asked inbox.Asked) (*inbox.Call, error)) {
		if p.ghost.asked >= e.scene.rounds {
			return
		}
		for n, questions := range e.scene.asks {
			if n > 0 && p.ghost.asked == 0 {
				break
			}
			with(fmt.Sprint(name, " ", n), func(in *inbox.Inbox, w *world) (*inbox.Call, error) {
				asked := inbox.Asked{RequestState: "s", Questions: questions}
				if e.scene.limit > 0 {
					asked.ExpiresAt = w.now.Add(e.scene.limit)
				}
				got, err := do(in, asked)
				if err == nil {
					w.ghost.open, w.ghost.agains = 0, 0
					w.ghost.asked++
				}
				return got, err
			})
		}
	}
	if memo.stage != "" {
		add("dies", func(_ *inbox.Inbox, w *world) error { w.machines[i] = memory{}; return nil })
	}
	switch memo.stage {
	case "":
		if strings.HasPrefix(c.Owner, fmt.Sprint("m", i, "/")) {
			add("comes back", func(in *inbox.Inbox, w *world) error { _, err := in.Recover(ctx); return err })
		}
		if c.State == inbox.Ready && c.Deaths > e.scene.deaths && c.Deaths < e.scene.lost {
			return list, true
		}
		if c.State == inbox.Ready && c.Deaths > e.scene.deaths && e.scene.lost == 0 {
			return list, true
		}
		if c.State == inbox.Ready {
			add("claims", func(in *inbox.Inbox, w *world) error {
				claim, got, err := in.ClaimNext(ctx, nil)
				if err == nil {
					w.ghost.claims++
					if got.Fence != w.ghost.claims {
						return fmt.Errorf("claim %d has the fence %d", w.ghost.claims, got.Fence)
					}
					w.machines[i] = memory{"claimed", claim}
				}
				return err
			})
		}
	case "claimed":
		with("marks", func(in *inbox.Inbox, w *world) (*inbox.Call, error) { return e.mark(in, w, memo.claim) })
		with("releases", func(in *inbox.Inbox, w *world) (*inbox.Call, error) {
			return &inbox.Call{State: inbox.Ready}, in.Release(ctx, memo.claim)
		})
		with("cannot send", func(in *inbox.Inbox, w *world) (*inbox.Call, error) { return finish(inbox.Failed)(in) })
	case "sent":
		reply("done", finish(inbox.Done))
		reply("error", finish(inbox.Failed))
		reply("lapsed", finish(inbox.Lapsed))
		reply("closed", finish(inbox.Stopped))
		reply("nothing ran", func(in *inbox.Inbox) (*inbox.Call, error) { return in.NothingRan(ctx, memo.claim, "") })
		with("no reply", func(in *inbox.Inbox, w *world) (*inbox.Call, error) { return in.Uncertain(ctx, memo.claim, "") })
		if e.scene.era == inbox.Modern {
			asks("asks", func(in *inbox.Inbox, asked inbox.Asked) (*inbox.Call, error) { return in.Park(ctx, memo.claim, asked) })
			if p.ghost.agains < e.scene.agains {
				with("state only", func(in *inbox.Inbox, w *world) (*inbox.Call, error) {
					got, err := in.Again(ctx, memo.claim, "s", w.now.Add(30*time.Second))
					if err == nil {
						w.ghost.open = 0
						w.ghost.agains++
					}
					return got, err
				})
			}
		} else {
			reply("goes away", finish(inbox.Interrupted))
			e.held(p, memo.claim, with)
		}
	case "uncertain":
		reply("late: done", func(in *inbox.Inbox) (*inbox.Call, error) {
			return in.LateReply(ctx, memo.claim, inbox.Reply{Outcome: &inbox.Outcome{State: inbox.Done}})
		})
		if c.Resends < e.scene.resend {
			reply("resends", func(in *inbox.Inbox) (*inbox.Call, error) { return in.Resend(ctx, memo.claim, time.Time{}) })
		}
		if e.scene.era == inbox.Modern {
			asks("late: asks", func(in *inbox.Inbox, asked inbox.Asked) (*inbox.Call, error) {
				return in.LateReply(ctx, memo.claim, inbox.Reply{Asked: &asked})
			})
		}
	}
	if e.scene.policy && (memo.stage == "claimed" || memo.stage == "sent") {
		// Whether it asks, denies or allows is new each time, whoever has decided what.
		with("policy asks", func(in *inbox.Inbox, w *world) (*inbox.Call, error) { return in.Ask(ctx, memo.claim, policyAsk) })
		with("policy denies", func(in *inbox.Inbox, w *world) (*inbox.Call, error) {
			return in.Deny(ctx, memo.claim, inbox.Denial{Rule: "never"})
		})
	}
	if memo.stage == "claimed" || memo.stage == "sent" {
		with("renews", func(in *inbox.Inbox, w *world) (*inbox.Call, error) { return in.Renew(ctx, memo.claim) })
		if e.scene.blocks {
			reply("sign-in wanted", func(in *inbox.Inbox) (*inbox.Call, error) {
				return in.Block(ctx, memo.claim, inbox.ReasonSignIn, "")
			})
		}
	}
	return list, cut
}

// mark is the moment from which the request may have left.
func (e *explorer) mark(in *inbox.Inbox, w *world, claim *inbox.Claim) (*inbox.Call, error) {
	got, err := in.Mark(e.t.Context(), claim, inbox.Binding{Era: e.scene.era, Endpoint: "e"})
	if err != nil {
		return nil, err
	}
	w.ghost.marks++
	if w.ghost.open++; w.ghost.open > 1 {
		return nil, errors.New("sent twice, and nobody decided in between")
	}
	wire, err := in.Answers(e.t.Context(), claim)
	if err != nil {
		return nil, fmt.Errorf("the answers of a marked round: %v", err)
	}
	for _, q := range w.seen.questions {
		if q.Held || q.Round != got.Round {
			continue
		}
		raw, ok := wire[q.Key]
		if !ok {
			return nil, fmt.Errorf("the answer to %q is not sent", q.Key)
		}
		if err := w.leave(q, string(raw)); err != nil {
			return nil, err
		}
	}
	return got, nil
}

// leave records that an answer goes to the server: the one that won.
func (w *world) leave(q *inbox.Question, wire string) error {
	want := `{"action":"cancel"}` // its time passed
	if a, ok := w.ghost.winner[q.ID]; ok {
		want = fmt.Sprintf(`{"action":%q}`, a.Action)
		if a.Content != nil {
			want = fmt.Sprintf(`{"action":%q,"content":%s}`, a.Action, a.Content)
		}
	} else if q.State != inbox.Expired && w.now.Before(q.ExpiresAt) {
		return fmt.Errorf("%s is sent for a question that nobody answered", wire)
	}
	if wire != want {
		return fmt.Errorf("%s is sent and %s was answered", wire, want)
	}
	if before, ok := w.ghost.left[q.ID]; ok && before != wire {
		return fmt.Errorf("%s is sent after %s", wire, before)
	}
	if w.ghost.left == nil {
		w.ghost.left = map[inbox.QuestionID]string{}
	}
	w.ghost.left[q.ID] = wire
	return nil
}

// held are the steps on an open connection.
func (e *explorer) held(p *point, claim *inbox.Claim, with func(string, func(*inbox.Inbox, *world) (*inbox.Call, error))) {
	ctx := e.t.Context()
	still := &inbox.Call{State: inbox.Sent}
	if p.ghost.asked < e.scene.rounds {
		for n, questions := range e.scene.asks {
			if n > 0 && p.ghost.asked == 0 {
				break // which of them comes first makes no difference
			}
			with(fmt.Sprint("asks ", n), func(in *inbox.Inbox, w *world) (*inbox.Call, error) {
				_, err := in.Hold(ctx, claim, questions[0])
				if err == nil {
					w.ghost.asked++
				}
				return still, err
			})
		}
	}
	for n, q := range p.seen.questions {
		with(fmt.Sprint("delivers ", n), func(in *inbox.Inbox, w *world) (*inbox.Call, error) {
			a, err := in.Deliver(ctx, claim, q.ID)
			if err != nil {
				return nil, err
			}
			if _, ok := w.ghost.left[q.ID]; ok {
				return nil, errors.New("an answer is delivered twice")
			}
			wire := fmt.Sprintf(`{"action":%q}`, a.Action)
			if a.Content != nil {
				wire = fmt.Sprintf(`{"action":%q,"content":%s}`, a.Action, a.Content)
			}
			return still, w.leave(q, wire)
		})
		with(fmt.Sprint("delivered ", n), func(in *inbox.Inbox, w *world) (*inbox.Call, error) {
			return still, in.Delivered(ctx, claim, q.ID)
		})
		with(fmt.Sprint("withdraws ", n), func(in *inbox.Inbox, w *world) (*inbox.Call, error) {
			return still, in.Withdraw(ctx, claim, q.ID, "")
		})
	}
}

// look reads everything through the inbox.
func (e *explorer) look(w *world) view {
	in, ctx := w.in[1], e.t.Context()
	c, err := in.Call(ctx, e.ann, w.call)
	if err != nil {
		e.t.Fatal(err)
	}
	v := view{call: c}
	if c.ReplacedBy != "" {
		other, err := in.Call(ctx, e.ann, c.ReplacedBy)
		if err != nil {
			e.t.Fatal(err)
		}
		v.other = other.Version
	}
	if v.questions, err = in.Questions(ctx, e.ann, inbox.QuestionFilter{Call: w.call}); err != nil {
		e.t.Fatal(err)
	}
	slices.Reverse(v.questions)
	if v.approvals, err = in.Approvals(ctx, e.ann, inbox.ApprovalFilter{Call: w.call}); err != nil {
		e.t.Fatal(err)
	}
	slices.Reverse(v.approvals)
	if v.disabled, err = in.Disabled(ctx, e.ann); err != nil {
		e.t.Fatal(err)
	}
	if v.events, err = in.LastEvent(ctx, e.ann); err != nil {
		e.t.Fatal(err)
	}
	return v
}
