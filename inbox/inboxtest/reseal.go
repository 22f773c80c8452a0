package inboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/seal"
)

var resealTests = map[string]func(*kit){
	"seals of everybody":        sealsOfEverybody,
	"stale rows in pages":       staleInPages,
	"all that there is":         resealAll,
	"a lease goes on":           resealLeased,
	"cut and taken up":          resealCut,
	"what does not open":        resealUnreadable,
	"erased before its turn":    resealErased,
	"while people and machines": resealBeside,
}

// sealsOfEverybody: only the first bytes count, of all three kinds, and of all people.
func sealsOfEverybody(k *kit) {
	now := micro(k.clock.Now())
	one, two := []byte{1, 0, 0, 0, 1}, []byte{1, 255, '\'', 0, 2}
	for i, content := range [][]byte{append(one, 9, 9), append(one, 8), append(two, bytes.Repeat([]byte{7}, 100_000)...), {1, 2}, nil, {}} {
		k.update(fmt.Sprint("p", i), func(tx inbox.Tx) error {
			return errors.Join(
				tx.PutCall(&inbox.CallRow{ID: inbox.CallID(fmt.Sprint("c_", i)), Created: now, Updated: now, Content: content}),
				tx.PutQuestion(&inbox.QuestionRow{ID: inbox.QuestionID(fmt.Sprint("q_", i)), Created: now, Content: content}))
		})
	}
	k.update("p", func(tx inbox.Tx) error {
		return tx.PutApproval(&inbox.ApprovalRow{ID: "a_1", Created: now, Content: one})
	})
	want := []inbox.Seal{{Prefix: one, Rows: 5}, {Prefix: []byte{1, 2}, Rows: 2}, {Prefix: two, Rows: 2}}
	for _, limit := range []int{9, 3, 1} {
		got, err := k.store.Seals(k.ctx, limit)
		if diff := cmp.Diff(want[:min(limit, 3)], got); diff != "" || err != nil {
			k.t.Errorf("Seals, at most %d: %v (-want +got):\n%s", limit, err, diff)
		}
	}
}

func staleInPages(k *kit) {
	now := micro(k.clock.Now())
	current := []byte{1, 0, 0, 0, 1}
	var calls, questions, approvals []inbox.Ref
	for i := range 5 {
		p := fmt.Sprint("p", i%2)
		call, question, approval := inbox.CallID(fmt.Sprint("c_", i)), inbox.QuestionID(fmt.Sprint("q_", i)), inbox.ApprovalID(fmt.Sprint("a_", i))
		content := [][]byte{{1, 0, 0, 0, 2, 5}, append(current, 5), {0}, {1, 0, 0, 0, 0}, nil}[i]
		k.update(p, func(tx inbox.Tx) error {
			return errors.Join(
				tx.PutCall(&inbox.CallRow{ID: call, Created: now, Updated: now, Content: content}),
				tx.PutQuestion(&inbox.QuestionRow{ID: question, Call: call, Created: now, Content: content}),
				tx.PutApproval(&inbox.ApprovalRow{ID: approval, Call: call, Created: now, Content: content}))
		})
		if i == 1 || i == 4 {
			continue
		}
		calls = append(calls, inbox.Ref{Principal: p, Call: call})
		questions = append(questions, inbox.Ref{Principal: p, Call: call, Question: question})
		approvals = append(approvals, inbox.Ref{Principal: p, Call: call, Approval: approval})
	}
	want := append(append(calls, questions...), approvals...)
	for _, size := range []int{1, 2, 3, 4, 100} {
		var got []inbox.Ref
		for after := (inbox.Ref{}); ; {
			page, err := k.store.Stale(k.ctx, current, after, size)
			k.must("Stale", err)
			got = append(got, page...)
			if len(page) < size {
				break
			}
			after = page[size-1]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			k.t.Errorf("Stale in pages of %d (-want +got):\n%s", size, diff)
		}
	}
}

// rotating is a keys file with an old and a new key, in the states that a
// rotation goes through.
type rotating struct {
	k        *kit
	path     string
	old, new uint32
}

// rotated begins the kit anew with keys in a file; another key was added and does not seal yet.
func (k *kit) rotated() *rotating {
	k.t.Helper()
	r := &rotating{k: k, path: filepath.Join(k.t.TempDir(), "keys.json")}
	ring, err := seal.Open(r.path)
	k.must("Open", err)
	r.old = ring.Primary()
	r.new, err = seal.AddKey(r.path, nil)
	k.must("AddKey", err)
	k.keys, k.in = ring, nil
	k.in = k.machine("one")
	return r
}

// promote makes the new key the one that seals, for the kit's inbox too.
func (r *rotating) promote() {
	r.k.t.Helper()
	r.k.must("PromoteKey", seal.PromoteKey(r.path, nil, r.new))
	r.k.must("Reload", r.k.keys.Reload())
}

// disable makes the old key open nothing any more.
func (r *rotating) disable() {
	r.k.t.Helper()
	r.k.must("DisableKey", seal.DisableKey(r.path, nil, r.old))
	r.k.must("Reload", r.k.keys.Reload())
}

// rows are how many rows need the old key, and the new one.
func (r *rotating) rows() (on [2]int64) {
	r.k.t.Helper()
	list, err := r.k.in.SealedRows(r.k.ctx)
	r.k.must("SealedRows", err)
	for _, s := range list {
		switch s.Key {
		case r.old:
			on[0] = s.Rows
		case r.new:
			on[1] = s.Rows
		}
	}
	return on
}

func (r *rotating) want(old, fresh int64) {
	r.k.t.Helper()
	if on := r.rows(); on != [2]int64{old, fresh} {
		r.k.t.Errorf("%d rows on the old key and %d on the new one, want %d and %d", on[0], on[1], old, fresh)
	}
}

func (r *rotating) reseal(want inbox.Resealed) {
	r.k.t.Helper()
	done, err := r.k.in.Reseal(r.k.ctx, nil)
	if done != want || err != nil {
		r.k.t.Errorf("Reseal = %+v, %v, want %+v", done, err, want)
	}
}

// resealAll: what every person sees is the same before and after, without the old key.
func resealAll(k *kit) {
	r := k.rotated()
	call, question := k.finished()
	_, waits, _ := k.waiting(seat("b", "Another?"))
	approving, approval := k.approving(ask())
	bob, err := k.in.Compose(k.ctx, k.bob, inbox.NewCall{Server: "flights", Method: "tools/call", Name: "book"})
	k.must("Compose", err)
	type view struct {
		Calls     []*inbox.Call
		Questions []*inbox.Question
		Approval  *inbox.Approval
		Bob       *inbox.Call
		Events    []inbox.Event
	}
	look := func() (v view) {
		k.t.Helper()
		for _, id := range []inbox.CallID{call.ID, waits.ID, approving.ID} {
			c, err := k.in.Call(k.ctx, k.ann, id)
			k.must("Call", err)
			v.Calls = append(v.Calls, c)
			questions, err := k.in.Questions(k.ctx, k.ann, inbox.QuestionFilter{Call: id})
			k.must("Questions", err)
			v.Questions = append(v.Questions, questions...)
		}
		var err error
		v.Approval, err = k.in.Approval(k.ctx, inbox.Approver{Principal: k.ann}, approval.ID)
		k.must("Approval", err)
		v.Bob, err = k.in.Call(k.ctx, k.bob, bob.ID)
		k.must("Call", err)
		k.view(k.ann.Key(), func(tx inbox.Tx) (err error) {
			v.Events, err = tx.Events(0, 1000)
			return err
		})
		return v
	}
	before := look()
	if question.ID == "" || len(before.Questions) != 2 {
		k.t.Fatalf("%d questions", len(before.Questions))
	}
	r.want(7, 0) // 4 calls, 2 questions, 1 approval
	r.reseal(inbox.Resealed{})
	r.promote()
	r.want(7, 0)
	r.reseal(inbox.Resealed{Done: 7})
	r.want(0, 7)
	r.reseal(inbox.Resealed{})
	r.disable()
	if diff := cmp.Diff(before, look()); diff != "" {
		k.t.Errorf("after the old key was disabled (-before +after):\n%s", diff)
	}
}

// resealLeased: a machine that has a call on the wire goes on with it.
func resealLeased(k *kit) {
	r := k.rotated()
	claim, c := k.sent(inbox.Modern)
	held, _, _ := k.held(seat("a", "Sure?"))
	r.promote()
	r.reseal(inbox.Resealed{Done: 3})
	r.disable()
	_, err := k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Done, Result: []byte(`{}`)})
	k.must("Finish", err)
	k.state(c.ID, inbox.Done)
	_, err = k.in.Finish(k.ctx, held, inbox.Outcome{State: inbox.Done, Result: []byte(`{}`)})
	k.must("Finish of what held", err)
}

// resealCut: it ends wherever it is cut, and goes on with what is left.
func resealCut(k *kit) {
	r := k.rotated()
	const calls = 130
	for range calls {
		k.compose()
	}
	r.promote()
	ctx, cut := context.WithCancel(k.ctx)
	done, err := k.in.Reseal(ctx, func(inbox.Resealed) { cut() })
	k.is("Reseal that is cut", err, context.Canceled)
	if done.Done == 0 || done.Done >= calls {
		k.t.Errorf("%d rows were done when it was cut", done.Done)
	}
	r.want(calls-done.Done, done.Done)
	r.reseal(inbox.Resealed{Done: calls - done.Done})
	r.want(0, calls)
}

// resealUnreadable: a content that is damaged, or another person's, is left as
// it is and keeps nobody else's from being sealed anew.
func resealUnreadable(k *kit) {
	r := k.rotated()
	damaged, moved, well := k.compose(), k.compose(), k.compose()
	bob, err := k.in.Compose(k.ctx, k.bob, inbox.NewCall{Server: "flights", Method: "tools/call", Name: "book"})
	k.must("Compose", err)
	var foreign []byte
	k.view(k.bob.Key(), func(tx inbox.Tx) error {
		row, err := tx.Call(bob.ID)
		if err == nil {
			foreign = row.Content
		}
		return err
	})
	var left [][]byte
	k.update(k.ann.Key(), func(tx inbox.Tx) error {
		left = nil
		for _, id := range []inbox.CallID{damaged.ID, moved.ID} {
			row, err := tx.Call(id)
			if err != nil {
				return err
			}
			if id == moved.ID {
				row.Content = foreign
			} else {
				row.Content[len(row.Content)-1] ^= 1
			}
			left = append(left, bytes.Clone(row.Content))
			if err := tx.PutCall(row); err != nil {
				return err
			}
		}
		return nil
	})
	r.promote()
	r.reseal(inbox.Resealed{Done: 2, Unreadable: 2})
	r.want(2, 2)
	k.view(k.ann.Key(), func(tx inbox.Tx) error {
		for i, id := range []inbox.CallID{damaged.ID, moved.ID} {
			row, err := tx.Call(id)
			if err != nil {
				return err
			}
			if !bytes.Equal(row.Content, left[i]) {
				k.t.Errorf("the content of %d was changed", i)
			}
		}
		return nil
	})
	k.state(well.ID, inbox.Ready)
}

// resealErased: a person who is erased between the list and the turn of their
// row does not come back as one who was here.
func resealErased(k *kit) {
	r := k.rotated()
	k.compose()
	r.promote()
	eraser := &erasing{Store: k.store, erase: func() { k.must("Erase", k.in.Erase(k.ctx, k.ann)) }}
	done, err := k.on(eraser, "two").Reseal(k.ctx, nil)
	if done != (inbox.Resealed{}) || err != nil {
		k.t.Errorf("Reseal = %+v, %v", done, err)
	}
	r.want(0, 0)
	k.view(k.ann.Key(), func(tx inbox.Tx) error {
		calls, err := tx.Calls(inbox.CallQuery{})
		if len(calls) != 0 {
			k.t.Errorf("there are %d calls of an erased person", len(calls))
		}
		return err
	})
}

// erasing is a store on which somebody is erased as soon as rows were listed.
type erasing struct {
	inbox.Store
	erase func()
}

func (e *erasing) Stale(ctx context.Context, prefix []byte, after inbox.Ref, limit int) ([]inbox.Ref, error) {
	refs, err := e.Store.Stale(ctx, prefix, after, limit)
	e.erase()
	return refs, err
}

// resealBeside: nothing that is written meanwhile is lost.
func resealBeside(k *kit) {
	r := k.rotated()
	const n = 30
	var claims []*inbox.Claim
	for range n {
		claim, _ := k.sent(inbox.Modern)
		claims = append(claims, claim)
	}
	r.promote()
	var wait sync.WaitGroup
	wait.Go(func() {
		for _, claim := range claims {
			c, err := k.in.Park(k.ctx, claim, inbox.Asked{RequestState: "s", Questions: []inbox.NewQuestion{seat("a", "Sure?")}})
			if err != nil || c.State != inbox.Waiting && c.State != inbox.Failed {
				k.t.Errorf("Park: %v, %v", c, err)
				return
			}
		}
	})
	wait.Go(func() {
		for range 3 {
			if _, err := k.in.Reseal(k.ctx, nil); err != nil {
				k.t.Errorf("Reseal: %v", err)
			}
		}
	})
	wait.Wait()
	if on := r.rows(); on[0] != 0 {
		k.t.Errorf("%d rows are left on the old key", on[0])
	}
	r.disable()
	for _, claim := range claims {
		c, err := k.in.Call(k.ctx, k.ann, claim.Call)
		k.must("Call", err)
		if c.State == inbox.Sent {
			k.t.Errorf("a call is %s: what was parked is lost", c.State)
		}
	}
}
