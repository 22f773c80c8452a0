package inbox_test

import (
	"errors"
	"fmt"

	"github.com/parley-mcp/parley/inbox"
)

// mark is the moment from which the request may have left.
func (e *explorer) mark(in *inbox.Inbox, w *world, memo memory) (*inbox.Call, error) {
	claim := memo.claim
	got, err := in.Mark(e.t.Context(), claim, inbox.Binding{Era: e.scene.era, Endpoint: "e", Allowed: memo.allowed()})
	if err := e.tooLate(in, w, err); err != nil {
		return nil, err
	}
	if memo.asked && !w.allowed() {
		return nil, errors.New("sent, and what the policy asks for is allowed by nobody any more")
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
		if e.scene.pages { // this era sends no answer: it only goes on where all was accepted
			if completed := q.State == inbox.Accepted && q.ClosedBy == inbox.ByServer; completed && string(raw) != `{"action":"accept"}` {
				return nil, fmt.Errorf("a completed question says %s", raw)
			}
			continue
		}
		if err := w.leave(q, string(raw)); err != nil {
			return nil, err
		}
	}
	return got, nil
}

// allowed reports whether an approval lets the call go on: its own, or the one that stands.
func (w *world) allowed() bool {
	for _, a := range w.seen.approvals {
		if a.ID == w.seen.call.Approval && a.State == inbox.ApprovalAllowed {
			return true
		}
	}
	return w.seen.stands
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
func (e *explorer) held(p *point, memo memory, with func(string, func(*inbox.Inbox, *world) (*inbox.Call, error))) {
	ctx, claim := e.t.Context(), memo.claim
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
			a, err := in.Deliver(ctx, claim, q.ID, memo.allowed())
			if err != nil {
				return nil, err
			}
			if memo.asked && !w.allowed() {
				return nil, errors.New("delivered, and what the policy asks for is allowed by nobody any more")
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
