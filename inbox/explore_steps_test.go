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

// pageQuestion is a url question that its server can complete.
func pageQuestion(n int) inbox.NewQuestion {
	return inbox.NewQuestion{Key: "u", Params: json.RawMessage(fmt.Sprintf(
		`{"mode":"url","message":"U?","url":"https://u.example/%d","elicitationId":"p%d"}`, n, n))}
}

// world is everything that a step can change.
type world struct {
	store    *memstore.Store
	now      time.Time
	call     inbox.CallID
	standing inbox.ApprovalID // of an earlier call; empty: there is none
	commits  *int             // since the state before
	in       [2]*inbox.Inbox
	machines [2]memory
	ghost    ghost
	seen     view
}

// memory is what a machine knows. A crash empties it.
type memory struct {
	stage string // "", claimed, sent, uncertain
	claim *inbox.Claim
	asked bool // its policy asks, and was told that somebody has allowed it
}

// ask is what the policy wants, for the mark.
func (m memory) allowed() *inbox.Allowed {
	if m.asked {
		return &inbox.Allowed{Ask: &policyAsk}
	}
	return nil
}

// ghost is what really happened, kept beside the store by the test alone.
type ghost struct {
	claims int64 // given so far
	marks  int   // requests that may have left
	open   int   // of these: neither answered, nor proven not to have run, nor decided on
	asked  int   // rounds, or held questions
	agains int
	until  time.Time                         // for so long it may be sent again by itself; zero: it is not that, or for ever
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
	other     int64 // changes of the call that replaced it, and of the one whose approval stands
	stands    bool
	disabled  bool
	until     time.Time // as the row has it: see ghost
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
	if e.scene.pages {
		for n := range e.scene.asks { // a server may say so at any time, and of what it did not ask
			add(fmt.Sprint("completes ", n), func(w *world) error {
				_, err := w.in[1].Complete(ctx, e.ann, inbox.Completion{Server: "s", Endpoint: "e", ElicitationID: fmt.Sprint("p", n+1)})
				return err
			})
		}
	}
	if p.seen.stands {
		add("revoke", func(w *world) error { _, err := w.in[0].Revoke(ctx, e.ann, w.standing); return err })
	}
	add("stop", func(w *world) error { _, err := w.in[0].Stop(ctx, e.ann, w.call); return err })
	if c.State == inbox.Uncertain {
		for _, how := range []inbox.Resolution{inbox.SendAgain, inbox.ItHappened, inbox.GiveUp} {
			add(string(how), func(w *world) error {
				got, err := w.in[0].Resolve(ctx, e.ann, w.call, how, "")
				if err == nil && got.ID == w.call {
					w.ghost.open, w.ghost.until = 0, time.Time{} // the person has decided
				}
				return err
			})
		}
	}
	switch c.State {
	case inbox.Blocked:
		add("unblock", func(w *world) error { _, err := w.in[0].Unblock(ctx, "s"); return err })
	case inbox.Ready:
		if !e.scene.blocks {
			break
		}
		add("server removed, ready", func(w *world) error {
			_, err := w.in[0].BlockReady(ctx, "s", 0, inbox.ReasonServerRemoved, "")
			return err
		})
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
	wait, err := p.store.NextDue(ctx)
	if err != nil {
		e.t.Fatal(err)
	}
	if wait > 0 {
		add("time", func(w *world) error {
			*w = e.later(*w, w.now.Add(wait))
			return nil
		})
	}
	if p.now.Before(p.ghost.until) { // nothing is due then
		add("the server forgets", func(w *world) error {
			*w = e.later(*w, w.ghost.until)
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
			case memo.stage == "claimed" && got.State == inbox.Uncertain: // it has sent nothing
				w.machines[i] = memory{}
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
					w.ghost.open, w.ghost.agains, w.ghost.until = 0, 0, time.Time{}
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
					w.machines[i] = memory{stage: "claimed", claim: claim}
				}
				return err
			})
		}
	case "claimed":
		with("marks", func(in *inbox.Inbox, w *world) (*inbox.Call, error) { return e.mark(in, w, memo) })
		with("releases", func(in *inbox.Inbox, w *world) (*inbox.Call, error) {
			return &inbox.Call{State: inbox.Ready}, in.Release(ctx, memo.claim)
		})
		if e.scene.blocks {
			with("unreachable", func(in *inbox.Inbox, w *world) (*inbox.Call, error) {
				return in.Block(ctx, memo.claim, inbox.ReasonUnreachable, "")
			})
		}
		with("cannot send", func(in *inbox.Inbox, w *world) (*inbox.Call, error) { return finish(inbox.Failed)(in) })
	case "sent":
		reply("done", finish(inbox.Done))
		reply("error", finish(inbox.Failed))
		reply("lapsed", finish(inbox.Lapsed))
		reply("closed", finish(inbox.Stopped))
		reply("nothing ran", func(in *inbox.Inbox) (*inbox.Call, error) { return in.NothingRan(ctx, memo.claim, "") })
		with("no reply", func(in *inbox.Inbox, w *world) (*inbox.Call, error) { return in.Uncertain(ctx, memo.claim, "") })
		switch {
		case e.scene.pages:
			asks("wants pages", func(in *inbox.Inbox, asked inbox.Asked) (*inbox.Call, error) {
				asked.RequestState = ""
				return in.Park(ctx, memo.claim, asked)
			})
		case e.scene.era == inbox.Modern:
			asks("asks", func(in *inbox.Inbox, asked inbox.Asked) (*inbox.Call, error) { return in.Park(ctx, memo.claim, asked) })
			if p.ghost.agains < e.scene.agains {
				with("state only", func(in *inbox.Inbox, w *world) (*inbox.Call, error) {
					got, err := in.Again(ctx, memo.claim, "s", 30*time.Second)
					if err == nil {
						w.ghost.open, w.ghost.until = 0, time.Time{}
						w.ghost.agains++
					}
					return got, err
				})
			}
		default:
			reply("goes away", finish(inbox.Interrupted))
			e.held(p, memo, with)
		}
	case "uncertain":
		reply("late: error", func(in *inbox.Inbox) (*inbox.Call, error) {
			return in.LateReply(ctx, memo.claim, inbox.Reply{Outcome: &inbox.Outcome{State: inbox.Failed}})
		})
		reply("late: done", func(in *inbox.Inbox) (*inbox.Call, error) {
			return in.LateReply(ctx, memo.claim, inbox.Reply{Outcome: &inbox.Outcome{State: inbox.Done}})
		})
		if c.Resends < e.scene.resend {
			with("resends", func(in *inbox.Inbox, w *world) (*inbox.Call, error) { return e.resend(in, w, memo.claim) })
		}
		if e.scene.era == inbox.Modern {
			asks("late: asks", func(in *inbox.Inbox, asked inbox.Asked) (*inbox.Call, error) {
				return in.LateReply(ctx, memo.claim, inbox.Reply{Asked: &asked})
			})
		}
	}
	if e.scene.policy && (memo.stage == "claimed" || memo.stage == "sent") {
		// Whether it asks, denies or allows is new each time, whoever has decided what. Where
		// nobody decided, what may have happened can be sent again and asked for, without end.
		if cut = slices.ContainsFunc(p.seen.approvals, func(a *inbox.Approval) bool { return a.State == inbox.ApprovalExpired }); !cut {
			with("policy asks", func(in *inbox.Inbox, w *world) (*inbox.Call, error) {
				got, err := in.Ask(ctx, memo.claim, policyAsk)
				w.machines[i].asked = err == nil
				return got, err
			})
		}
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

// look reads everything through the inbox.
func (e *explorer) look(w *world) view {
	in, ctx := w.in[1], e.t.Context()
	c, err := in.Call(ctx, e.ann, w.call)
	if err != nil {
		e.t.Fatal(err)
	}
	v := view{call: c, until: e.resendUntil(w)}
	if c.ReplacedBy != "" {
		other, err := in.Call(ctx, e.ann, c.ReplacedBy)
		if err != nil {
			e.t.Fatal(err)
		}
		v.other = other.Version
	}
	if w.standing != "" {
		a, err := in.Approval(ctx, inbox.Approver{Principal: e.ann}, w.standing)
		if err != nil {
			e.t.Fatal(err)
		}
		of, err := in.Call(ctx, e.ann, a.Call)
		if err != nil {
			e.t.Fatal(err)
		}
		v.stands, v.other = a.Standing, v.other+a.Version+of.Version
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
