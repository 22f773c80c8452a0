package inbox

import (
	"context"
	"errors"
	"slices"

	"github.com/parley-mcp/parley/internal/elicitation"
)

// Completion is a server's word that a person is done at an address that it
// sent them to: notifications/elicitation/complete of revision 2025-11-25.
type Completion struct {
	Server        string
	Endpoint      string // of the server that said so
	ElicitationID string // as it was in the question's params
	// Calls were in flight, without a reply, when it came, on the connection on
	// which it came. A question that is held belongs to its connection and is
	// completed on no other; one that has parked such a call was asked later.
	Calls []CallID
}

// Complete records that a server says of its own url questions that the person
// is done there, and returns how many that were.
//
// A question that parked its call is closed with that. No answer is made up: this
// era sends none, the call goes again as it was, and when its round is complete
// it is ready as if the person had said so. That happens to a question once; asked
// again after it, it waits for the person, so that a server cannot go round in a
// circle by itself. A question that is held is the person's to answer in any
// case, and only shows what the server said.
//
// An id that is not known, or was completed before, is nothing, and so is one of
// another person, another server or another endpoint (MCP 2025-11-25
// elicitation, "Completion Notifications for URL Mode Elicitation" C1).
func (in *Inbox) Complete(ctx context.Context, p Principal, n Completion) (int, error) {
	if n.ElicitationID == "" {
		return 0, nil
	}
	count := 0
	err := in.update(ctx, p.Key(), func(w *work) error {
		count, w.machine = 0, true
		if err := w.enabled(); errors.Is(err, ErrDisabled) {
			return nil
		} else if err != nil {
			return err
		}
		list, err := w.mayBeMeant(n)
		if err != nil {
			return err
		}
		for _, q := range list {
			if q.fault != nil || q.Mode != URL || !q.Completed.IsZero() || elicitationID(q.Params) != n.ElicitationID {
				continue
			}
			c, err := w.anyCall(q.Call)
			if err != nil {
				return err
			}
			if c.fault != nil || c.Server != n.Server || c.Endpoint != n.Endpoint || c.Era != Legacy || c.State.Ended() {
				continue
			}
			done, err := w.complete(c, q)
			if err != nil {
				return err
			}
			if done {
				count++
			}
		}
		return nil
	})
	return count, err
}

// mayBeMeant returns the questions among which the completed one would be: those
// that parked a call, and those that are held by one of the calls in flight.
func (w *work) mayBeMeant(n Completion) ([]*questionRecord, error) {
	rows, err := w.tx.Questions(QuestionQuery{Server: n.Server, States: []QuestionState{Open, Opened}, Limit: maxPage})
	if err != nil {
		return nil, err
	}
	var list []*questionRecord
	for _, row := range rows {
		q, err := w.adopt(row)
		if err != nil {
			return nil, err
		}
		if !q.Held && !slices.Contains(n.Calls, q.Call) {
			list = append(list, q)
		}
	}
	for _, id := range n.Calls {
		questions, err := w.asked(id)
		if err != nil {
			return nil, err
		}
		for _, q := range questions {
			if q.Held {
				list = append(list, q)
			}
		}
	}
	return list, nil
}

// complete is Complete for one question that was meant.
func (w *work) complete(c *callRecord, q *questionRecord) (bool, error) {
	if err := w.expireDue(c, q); err != nil {
		return false, err
	}
	unfinished := []QuestionState{Open, Opened}
	if q.Held { // accepting it has said only that the person goes there
		unfinished = append(unfinished, Accepted)
	}
	if !slices.Contains(unfinished, q.State) || q.Held && (c.State != Sent || q.Delivery == Dropped) {
		return false, nil
	}
	q.Completed = w.now
	w.touchQuestion(q)
	e := w.auditQuestion(AuditCompleted, q)
	if err := w.audit(e); err != nil || q.Held {
		return err == nil, err
	}
	if err := w.closeQuestion(q, Accepted, ByServer); err != nil {
		return false, err
	}
	return true, w.settle(c)
}

// elicitationID reads the id out of the params of a url question; empty if there is none.
func elicitationID(params []byte) string {
	p, _ := elicitation.Read(params) // what cannot be read has none
	return p.ID
}
