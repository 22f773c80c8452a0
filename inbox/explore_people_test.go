package inbox_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-mcp/parley/inbox"
)

// answers are what the two answerers may do with a question.
func (e *explorer) answers(q *inbox.Question, n int, add func(string, func(*world) error)) {
	ctx := e.t.Context()
	answer := func(name string, a inbox.Answer) {
		add(fmt.Sprint(name, " ", n), func(w *world) error {
			_, err := w.in[0].Answer(ctx, e.ann, q.ID, a)
			if err == nil {
				if _, ok := w.ghost.winner[q.ID]; ok {
					return errors.New("two answers to one question were told that they count")
				}
				if w.ghost.winner == nil {
					w.ghost.winner = map[inbox.QuestionID]inbox.Answer{}
				}
				w.ghost.winner[q.ID] = a
			}
			return err
		})
	}
	for _, who := range []string{"one", "two"} { // also when it is closed: they may not know
		a := inbox.Answer{Action: inbox.Accept, Via: who}
		if q.Mode == inbox.Form {
			a.Content = json.RawMessage(fmt.Sprintf(`{"x":%q}`, who))
		}
		answer("accept "+who, a)
	}
	if !q.State.Closed() {
		answer("decline", inbox.Answer{Action: inbox.Decline})
		answer("cancel", inbox.Answer{Action: inbox.Cancel})
	}
	if q.State == inbox.Open && q.Mode == inbox.URL {
		add(fmt.Sprint("open ", n), func(w *world) error {
			_, err := w.in[0].Open(ctx, e.ann, q.ID, urlSum(q.URL))
			return err
		})
	}
	if q.State.Closed() {
		add(fmt.Sprint("take back ", n), func(w *world) error {
			_, err := w.in[0].TakeBack(ctx, e.ann, q.ID)
			if err == nil {
				delete(w.ghost.winner, q.ID)
			}
			return err
		})
	}
}

// policyAsk is what the policy of the scene says when it asks.
var policyAsk = inbox.Ask{Fingerprint: "f", Rule: "ask first", Offer: []inbox.Scope{inbox.Always}}

// standing lets a person allow such calls for always, with one that ends at once.
func (e *explorer) standing(w *world, n inbox.NewCall) inbox.ApprovalID {
	c, err := w.in[0].Compose(e.t.Context(), e.ann, n)
	if err == nil {
		_, err = w.in[0].Decide(e.t.Context(), inbox.Approver{Principal: e.ann}, c.Approval, inbox.Decision{Allow: true, Scope: inbox.Always})
	}
	if err == nil {
		_, err = w.in[0].Stop(e.t.Context(), e.ann, c.ID)
	}
	if err != nil {
		e.t.Fatal(err)
	}
	return c.Approval
}

// decisions are what two people at two pages may do with an approval.
func (e *explorer) decisions(a *inbox.Approval, n int, add func(string, func(*world) error)) {
	for _, allow := range []bool{true, false} { // also when it is closed: they may not know
		name := map[bool]string{true: "allow ", false: "deny "}[allow]
		add(fmt.Sprint(name, n), func(w *world) error {
			_, err := w.in[0].Decide(e.t.Context(), inbox.Approver{Principal: e.ann}, a.ID, inbox.Decision{Allow: allow})
			if err == nil {
				if _, ok := w.ghost.told[a.ID]; ok {
					return errors.New("two decisions of one approval were told that they count")
				}
				if w.ghost.told == nil {
					w.ghost.told = map[inbox.ApprovalID]bool{}
				}
				w.ghost.told[a.ID] = allow
			}
			return err
		})
	}
}
