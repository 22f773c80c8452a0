package storebench

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/parley-mcp/parley/inbox"
)

// A Transaction is what one transaction of an inbox wrote.
type Transaction struct {
	Calls     []*inbox.CallRow
	Questions []*inbox.QuestionRow
	Events    []inbox.Event // Seq is not set
	Audit     []*inbox.AuditRow
}

// recording is what the transactions of one cycle wrote.
type recording []*Transaction

// record runs a cycle in the middle of a call's life and returns what it wrote.
func record(b *testing.B, store inbox.Store) recording {
	r := &recorder{Store: store}
	in := New(r)
	p := inbox.Principal{Issuer: "i", Subject: "recorded"}
	q := Waiting(b, in, p, 0)
	claim := Resume(b, in, q)
	park(b, in, claim, 1)
	q = asked(b, in, claim)
	r.made = nil
	park(b, in, Resume(b, in, q), 2)
	if len(r.made) != 4 {
		b.Fatalf("a cycle has %d transactions", len(r.made))
	}
	return r.made
}

// cycle returns the recorded rows as those of the n-th cycle, of which so many
// belong to one call. The question that it parks is answered by the next one.
func (r recording) cycle(n, rounds int) recording {
	call := inbox.CallID(fmt.Sprint("c_floor_", n/rounds))
	question := func(i int) inbox.QuestionID { // three transactions of the one that is answered, then the one that is parked
		return inbox.QuestionID(fmt.Sprint("q_floor_", n+i/3))
	}
	list := make(recording, len(r))
	for i, t := range r {
		made := &Transaction{}
		for _, row := range t.Calls {
			copied := *row
			copied.ID, copied.Seq = call, int64(n)
			made.Calls = append(made.Calls, &copied)
		}
		for _, row := range t.Questions {
			copied := *row
			copied.ID, copied.Call, copied.Seq = question(i), call, int64(n)
			made.Questions = append(made.Questions, &copied)
		}
		for _, e := range t.Events {
			if e.ID = string(call); e.Kind == inbox.QuestionEvent {
				e.ID = string(question(i))
			}
			made.Events = append(made.Events, e)
		}
		for _, row := range t.Audit {
			copied := *row
			copied.Call = call
			made.Audit = append(made.Audit, &copied)
		}
		list[i] = made
	}
	return list
}

// A recorder keeps what is written through it.
type recorder struct {
	inbox.Store
	made recording
}

func (r *recorder) Update(ctx context.Context, principal string, f func(inbox.Tx) error) error {
	var t *recordingTx
	err := r.Store.Update(ctx, principal, func(tx inbox.Tx) error {
		t = &recordingTx{Tx: tx}
		return f(t)
	})
	if err == nil {
		r.made = append(r.made, &t.made)
	}
	return err
}

type recordingTx struct {
	inbox.Tx
	made Transaction
}

func (t *recordingTx) PutCall(row *inbox.CallRow) error {
	copied := *row
	copied.Detail, copied.Content = slices.Clone(row.Detail), slices.Clone(row.Content)
	t.made.Calls = append(t.made.Calls, &copied)
	return t.Tx.PutCall(row)
}

func (t *recordingTx) PutQuestion(row *inbox.QuestionRow) error {
	copied := *row
	copied.Detail, copied.Content = slices.Clone(row.Detail), slices.Clone(row.Content)
	t.made.Questions = append(t.made.Questions, &copied)
	return t.Tx.PutQuestion(row)
}

func (t *recordingTx) Append(kind inbox.EventKind, id string) (int64, error) {
	t.made.Events = append(t.made.Events, inbox.Event{Kind: kind, ID: id})
	return t.Tx.Append(kind, id)
}

func (t *recordingTx) AppendAudit(row *inbox.AuditRow) error {
	copied := *row
	copied.Detail = slices.Clone(row.Detail)
	t.made.Audit = append(t.made.Audit, &copied)
	return t.Tx.AppendAudit(row)
}
