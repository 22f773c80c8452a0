package inbox_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/memstore"
)

func urlSum(address string) string {
	sum := sha256.Sum256([]byte(address))
	return hex.EncodeToString(sum[:])
}

// TestStateMachine lets two machines, a person and the time do whatever they
// can in any order, also with claims that were lost long ago, and looks at
// every row after each step.
func TestStateMachine(t *testing.T) {
	t.Parallel()
	reached := map[string]map[[2]string]bool{"call": {}, "question": {}, "approval": {}}
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(reached)
		actions := map[string]func(*rapid.T){"": m.check}
		for name, step := range m.steps() {
			actions[name] = func(t *rapid.T) {
				m.op = name
				err := step(t)
				if errors.Is(err, errSkip) {
					t.Skip(err) // another step in its place
				}
				m.expect(t, err)
			}
		}
		t.Repeat(actions)
	})
	// How far chance got; that every arrow can be reached is TestExplore's business.
	for kind, arrows := range map[string][]inbox.Arrow{"call": inbox.CallArrows(), "question": inbox.QuestionArrows(), "approval": inbox.ApprovalArrows()} {
		for _, a := range arrows {
			if a.From != string(inbox.CallNew) && !reached[kind][[2]string{a.From, a.To}] {
				t.Logf("%s: %s -> %s was not reached in this run", kind, a.From, a.To)
			}
		}
	}
}

type claimed struct {
	in    *inbox.Inbox
	claim *inbox.Claim
}

type machine struct {
	ctx      context.Context
	now      time.Time
	store    *memstore.Store
	keys     *inbox.Keys
	machines []*inbox.Inbox
	ann      inbox.Principal
	claims   []claimed // every claim there ever was
	op       string    // the step that runs
	reached  map[string]map[[2]string]bool

	// As they were after the step before.
	calls     map[inbox.CallID]*inbox.Call
	questions map[inbox.QuestionID]*inbox.Question
	approvals map[inbox.ApprovalID]*inbox.Approval
	final     map[inbox.QuestionID]*inbox.Answer // answers that have left
	until     map[inbox.CallID]time.Time         // for so long it may be sent again by itself
	events    int64
	disabled  bool
}

func newMachine(reached map[string]map[[2]string]bool) *machine {
	m := &machine{
		ctx: context.Background(), now: time.Date(2026, 7, 28, 0, 0, 0, 0, time.UTC), keys: inbox.NewKeys(),
		machines: make([]*inbox.Inbox, 2), ann: inbox.Principal{Issuer: "i", Subject: "ann"}, reached: reached,
		calls: map[inbox.CallID]*inbox.Call{}, questions: map[inbox.QuestionID]*inbox.Question{},
		approvals: map[inbox.ApprovalID]*inbox.Approval{},
		final:     map[inbox.QuestionID]*inbox.Answer{}, until: map[inbox.CallID]time.Time{},
	}
	m.store = memstore.New(&memstore.Options{Now: func() time.Time { return m.now }})
	m.restart(0)
	m.restart(1)
	return m
}

func (m *machine) restart(i int) {
	m.machines[i] = inbox.New(m.store, m.keys, &inbox.Options{
		Owner: fmt.Sprint("machine", i), Rounds: 4, OpenQuestions: 5, QuestionsPerMinute: 8, Events: 1 << 30,
	})
}

// expect lets through what the rules may answer, and nothing else.
func (m *machine) expect(t *rapid.T, err error) {
	if err == nil {
		return
	}
	for _, allowed := range []error{
		inbox.ErrClosed, inbox.ErrOpen, inbox.ErrCheck, inbox.ErrURLChanged, inbox.ErrNotOpened, inbox.ErrTooLate,
		inbox.ErrState, inbox.ErrFenced, inbox.ErrStopped, inbox.ErrExpired, inbox.ErrLimit, inbox.ErrNothing,
		inbox.ErrDecided,
	} {
		if errors.Is(err, allowed) {
			return
		}
	}
	if errors.Is(err, inbox.ErrDisabled) && m.disabled {
		return
	}
	if errors.Is(err, inbox.ErrInvalid) && (m.op == "hold") { // a modern call
		return
	}
	t.Fatalf("%s: %v", m.op, err)
}

var errSkip = errors.New("nothing to do it to")

func (m *machine) any(t *rapid.T) *inbox.Inbox {
	return rapid.SampledFrom(m.machines).Draw(t, "machine")
}

// call draws a call, more often a young one.
func (m *machine) call(t *rapid.T, states ...inbox.CallState) (inbox.CallID, error) {
	var ids []*inbox.Call
	for _, c := range m.calls {
		if len(states) == 0 || slices.Contains(states, c.State) {
			ids = append(ids, c)
		}
	}
	if len(ids) == 0 {
		return "", errSkip
	}
	slices.SortFunc(ids, func(a, b *inbox.Call) int { return int(b.Seq - a.Seq) })
	return rapid.SampledFrom(ids[:min(3, len(ids))]).Draw(t, "call").ID, nil
}

func (m *machine) question(t *rapid.T, want func(*inbox.Question) bool) (*inbox.Question, error) {
	var list []*inbox.Question
	for _, q := range m.questions {
		if want(q) {
			list = append(list, q)
		}
	}
	if len(list) == 0 {
		return nil, errSkip
	}
	slices.SortFunc(list, func(a, b *inbox.Question) int { return int(b.Seq - a.Seq) })
	return rapid.SampledFrom(list[:min(4, len(list))]).Draw(t, "question"), nil
}

// claim draws a claim, mostly of a call that is in the state, now and then a
// lost one.
func (m *machine) claim(t *rapid.T, states ...inbox.CallState) (claimed, error) {
	var list []claimed
	for _, c := range m.claims {
		if call := m.calls[c.claim.Call]; slices.Contains(states, call.State) {
			list = append(list, c)
		}
	}
	if len(list) == 0 || rapid.IntRange(0, 9).Draw(t, "lost") == 0 {
		list = m.claims
	}
	if len(list) == 0 {
		return claimed{}, errSkip
	}
	return rapid.SampledFrom(list[max(0, len(list)-4):]).Draw(t, "claim"), nil
}

func (m *machine) newQuestion(t *rapid.T) inbox.NewQuestion {
	key := rapid.SampledFrom([]string{"a", "b", "a#2"}).Draw(t, "key")
	params := rapid.SampledFrom([]string{
		`{"message":"A?","requestedSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`,
		`{"message":"B?","requestedSchema":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}}`,
		`{"mode":"url","message":"U?","url":"https://u.example/1","elicitationId":"e"}`,
		`{"mode":"url","message":"U?","url":"https://u.example/2","elicitationId":"e"}`,
	}).Draw(t, "params")
	n := inbox.NewQuestion{Key: key, Params: json.RawMessage(params)}
	if rapid.IntRange(0, 3).Draw(t, "own time") == 0 {
		n.ExpiresAt = m.now.Add(time.Minute)
	}
	return n
}

func (m *machine) asked(t *rapid.T) inbox.Asked {
	asked := inbox.Asked{RequestState: "s"}
	for i := range rapid.IntRange(1, 3).Draw(t, "questions") {
		n := m.newQuestion(t)
		n.Key = fmt.Sprint(n.Key, i)
		asked.Questions = append(asked.Questions, n)
	}
	if rapid.IntRange(0, 3).Draw(t, "deadline") == 0 {
		asked.ExpiresAt = m.now.Add(time.Minute)
	}
	return asked
}

func (m *machine) steps() map[string]func(*rapid.T) error {
	take := func(in *inbox.Inbox, claim *inbox.Claim, err error) error {
		if err == nil {
			m.claims = append(m.claims, claimed{in, claim})
		}
		return err
	}
	claim := func(f func(*rapid.T, claimed) error, states ...inbox.CallState) func(*rapid.T) error {
		return func(t *rapid.T) error {
			c, err := m.claim(t, states...)
			if err != nil {
				return err
			}
			return f(t, c)
		}
	}
	mark := func(t *rapid.T, c claimed) error {
		era := m.calls[c.claim.Call].Era
		if era == "" {
			era = rapid.SampledFrom([]inbox.Era{inbox.Modern, inbox.Legacy}).Draw(t, "era")
		}
		_, err := c.in.Mark(m.ctx, c.claim, inbox.Binding{Era: era})
		return err
	}
	answer := func(t *rapid.T) error {
		q, err := m.question(t, func(q *inbox.Question) bool { return rapid.IntRange(0, 9).Draw(t, "closed") == 0 || !q.State.Closed() })
		if err != nil {
			return err
		}
		a := inbox.Answer{
			Action:  rapid.SampledFrom([]inbox.Action{inbox.Accept, inbox.Accept, inbox.Decline, inbox.Cancel}).Draw(t, "action"),
			Content: json.RawMessage(rapid.SampledFrom([]string{`{"x":"text"}`, `{"x":7}`}).Draw(t, "content")),
		}
		if q.Mode == inbox.URL && a.Action == inbox.Accept && q.State == inbox.Open {
			_, err := m.any(t).Open(m.ctx, m.ann, q.ID, urlSum(q.URL))
			return err
		}
		_, err = m.any(t).Answer(m.ctx, m.ann, q.ID, a)
		return err
	}
	sent := []inbox.CallState{inbox.Sent}
	steps := map[string]func(*rapid.T) error{
		"compose": func(t *rapid.T) error {
			if len(m.calls) > 8 {
				return errSkip
			}
			_, err := m.any(t).Compose(m.ctx, m.ann, inbox.NewCall{Server: "s", Method: "tools/call"})
			return err
		},
		"start": func(t *rapid.T) error { // the long way to the wire, looked at after each step
			if len(m.calls) > 8 {
				return errSkip
			}
			in := m.any(t)
			m.op = "compose"
			c, err := in.Compose(m.ctx, m.ann, inbox.NewCall{Server: "s", Method: "tools/call"})
			if err != nil {
				return err
			}
			m.check(t)
			m.op = "claim"
			claim, _, err := in.Claim(m.ctx, m.ann, c.ID)
			if err := take(in, claim, err); err != nil {
				return err
			}
			m.check(t)
			m.op = "mark"
			if err := mark(t, claimed{in, claim}); err != nil {
				return err
			}
			m.check(t)
			if m.calls[c.ID].Era == inbox.Legacy {
				m.op = "hold"
				_, err = in.Hold(m.ctx, claim, m.newQuestion(t))
				return err
			}
			m.op = "park"
			_, err = in.Park(m.ctx, claim, m.asked(t))
			return err
		},
		"claim next": func(t *rapid.T) error {
			in := m.any(t)
			claim, _, err := in.ClaimNext(m.ctx, nil)
			return take(in, claim, err)
		},
		"claim": func(t *rapid.T) error {
			id, err := m.call(t, inbox.Ready)
			if err != nil {
				return err
			}
			in := m.any(t)
			claim, _, err := in.Claim(m.ctx, m.ann, id)
			return take(in, claim, err)
		},
		"mark":    claim(mark, inbox.Claimed),
		"mark 2":  claim(mark, inbox.Claimed),
		"release": claim(func(t *rapid.T, c claimed) error { return c.in.Release(m.ctx, c.claim) }, inbox.Claimed),
		"renew":   claim(func(t *rapid.T, c claimed) error { _, err := c.in.Renew(m.ctx, c.claim); return err }, inbox.Claimed, inbox.Sent),
		"park": claim(func(t *rapid.T, c claimed) error {
			_, err := c.in.Park(m.ctx, c.claim, m.asked(t))
			return err
		}, sent...),
		"again": claim(func(t *rapid.T, c claimed) error {
			_, err := c.in.Again(m.ctx, c.claim, "s", time.Duration(rapid.IntRange(-1, 20).Draw(t, "later"))*time.Second)
			return err
		}, sent...),
		"nothing ran": claim(func(t *rapid.T, c claimed) error { _, err := c.in.NothingRan(m.ctx, c.claim, ""); return err }, sent...),
		"hold": claim(func(t *rapid.T, c claimed) error {
			_, err := c.in.Hold(m.ctx, c.claim, m.newQuestion(t))
			return err
		}, sent...),
		"finish": claim(func(t *rapid.T, c claimed) error {
			state := rapid.SampledFrom([]inbox.CallState{inbox.Done, inbox.Failed, inbox.Lapsed, inbox.Interrupted, inbox.Stopped}).Draw(t, "end")
			_, err := c.in.Finish(m.ctx, c.claim, inbox.Outcome{State: state})
			return err
		}, inbox.Claimed, inbox.Sent),
		"block": claim(func(t *rapid.T, c claimed) error {
			_, err := c.in.Block(m.ctx, c.claim, inbox.ReasonSignIn, "")
			return err
		}, inbox.Claimed, inbox.Sent),
		"uncertain": claim(func(t *rapid.T, c claimed) error { _, err := c.in.Uncertain(m.ctx, c.claim, ""); return err }, sent...),
		"resend": claim(func(t *rapid.T, c claimed) error {
			within := rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour}).Draw(t, "within")
			got, err := c.in.Resend(m.ctx, c.claim, 0, within)
			if err == nil {
				if m.until[got.ID] = (time.Time{}); within > 0 {
					m.until[got.ID] = got.Created.Add(within)
				}
			}
			return err
		}, inbox.Uncertain),
		"late reply": claim(func(t *rapid.T, c claimed) error {
			r := inbox.Reply{Outcome: &inbox.Outcome{State: inbox.Done}}
			if rapid.Bool().Draw(t, "asks") {
				asked := m.asked(t)
				r = inbox.Reply{Asked: &asked}
			}
			_, err := c.in.LateReply(m.ctx, c.claim, r)
			return err
		}, inbox.Uncertain),
		"block waiting": func(t *rapid.T) error {
			_, err := m.any(t).BlockWaiting(m.ctx, "s", inbox.ReasonServerRemoved, "")
			return err
		},
		"block ready": func(t *rapid.T) error {
			age := time.Duration(rapid.IntRange(0, 2).Draw(t, "minutes")) * time.Minute
			_, err := m.any(t).BlockReady(m.ctx, "s", age, inbox.ReasonServerRemoved, "")
			return err
		},
		"unblock":     func(t *rapid.T) error { _, err := m.any(t).Unblock(m.ctx, "s"); return err },
		"unblock for": func(t *rapid.T) error { _, err := m.any(t).UnblockFor(m.ctx, m.ann, "s"); return err },
		"answer":      answer,
		"answer 2":    answer,
		"answer 3":    answer,
		"take back": func(t *rapid.T) error {
			q, err := m.question(t, func(q *inbox.Question) bool { return q.State.Closed() })
			if err != nil {
				return err
			}
			_, err = m.any(t).TakeBack(m.ctx, m.ann, q.ID)
			can := m.calls[q.Call].CanTakeBack(q)
			if err == nil && !can {
				t.Fatalf("CanTakeBack said no and TakeBack did: %+v", q)
			}
			return err
		},
		"complete": func(t *rapid.T) error {
			said := inbox.Completion{Server: "s", ElicitationID: "e"}
			for id, c := range m.calls {
				if c.State == inbox.Sent {
					said.Calls = append(said.Calls, id)
				}
			}
			_, err := m.any(t).Complete(m.ctx, m.ann, said)
			return err
		},
		"decline rest": func(t *rapid.T) error {
			id, err := m.call(t)
			if err != nil {
				return err
			}
			_, err = m.any(t).DeclineRest(m.ctx, m.ann, id, inbox.Answer{Via: "chat"})
			return err
		},
		"stop": func(t *rapid.T) error {
			id, err := m.call(t)
			if err != nil || rapid.IntRange(0, 2).Draw(t, "really") > 0 {
				return err
			}
			_, err = m.any(t).Stop(m.ctx, m.ann, id)
			return err
		},
		"resolve": func(t *rapid.T) error {
			id, err := m.call(t, inbox.Uncertain)
			if err != nil {
				return err
			}
			how := rapid.SampledFrom([]inbox.Resolution{inbox.SendAgain, inbox.SendAgain, inbox.ItHappened, inbox.GiveUp}).Draw(t, "how")
			_, err = m.any(t).Resolve(m.ctx, m.ann, id, how, "")
			return err
		},
		"run again": func(t *rapid.T) error {
			id, err := m.call(t)
			if err != nil || len(m.calls) > 12 {
				return err
			}
			_, err = m.any(t).RunAgain(m.ctx, m.ann, id, "")
			return err
		},
		"sweep": func(t *rapid.T) error { _, err := m.any(t).Sweep(m.ctx); return err },
		"time passes": func(t *rapid.T) error {
			m.now = m.now.Add(rapid.SampledFrom([]time.Duration{time.Second, 15 * time.Second, time.Minute, time.Hour}).Draw(t, "time"))
			return nil
		},
		"a week passes": func(t *rapid.T) error {
			if rapid.IntRange(0, 3).Draw(t, "really") == 0 {
				m.now = m.now.Add(7 * 24 * time.Hour)
			}
			return nil
		},
		"crash": func(t *rapid.T) error {
			i := rapid.IntRange(0, 1).Draw(t, "machine")
			m.restart(i)
			_, err := m.machines[i].Recover(m.ctx)
			return err
		},
	}
	held := func(f func(c claimed, id inbox.QuestionID) error) func(*rapid.T) error {
		return func(t *rapid.T) error {
			c, err := m.claim(t, inbox.Sent)
			if err != nil {
				return err
			}
			q, err := m.question(t, func(q *inbox.Question) bool { return q.Held && q.Call == c.claim.Call })
			if err != nil {
				return err
			}
			return f(c, q.ID)
		}
	}
	steps["deliver"] = held(func(c claimed, id inbox.QuestionID) error {
		_, err := c.in.Deliver(m.ctx, c.claim, id, nil)
		return err
	})
	steps["delivered"] = held(func(c claimed, id inbox.QuestionID) error { return c.in.Delivered(m.ctx, c.claim, id) })
	m.permissionSteps(steps)
	steps["withdraw"] = held(func(c claimed, id inbox.QuestionID) error { return c.in.Withdraw(m.ctx, c.claim, id, "") })
	return steps
}
