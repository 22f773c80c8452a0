package inboxtest

import (
	"context"
	"errors"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

var transactionTests = map[string]func(*kit){
	"someone else":       someoneElse,
	"rolled back":        rolledBack,
	"panic":              panicInside,
	"own writes":         ownWrites,
	"view cannot write":  viewCannotWrite,
	"snapshot":           snapshot,
	"events roll back":   eventsRollBack,
	"cancelled contexts": cancelledContexts,
	"closed":             closedHandle,
}

func someoneElse(k *kit) {
	at := micro(k.clock.Now())
	k.update("ann", func(tx inbox.Tx) error {
		return errors.Join(tx.PutCall(fullCall(at)), tx.PutQuestion(fullQuestion(at)),
			tx.Remember("key", []byte("v"), at.Add(time.Hour)))
	})
	check := func(tx inbox.Tx) error {
		_, err := tx.Call("c_1")
		k.is("Call", err, inbox.ErrNotFound)
		_, err = tx.Question("q_1")
		k.is("Question", err, inbox.ErrNotFound)
		_, err = tx.Remembered("key")
		k.is("Remembered", err, inbox.ErrNotFound)
		calls, err := tx.Calls(inbox.CallQuery{})
		if len(calls) > 0 || err != nil {
			k.t.Errorf("Calls = %v, %v", calls, err)
		}
		questions, err := tx.Questions(inbox.QuestionQuery{Call: "c_1"})
		if len(questions) > 0 || err != nil {
			k.t.Errorf("Questions = %v, %v", questions, err)
		}
		open, recent, err := tx.CountQuestions("s", time.Unix(0, 0))
		if open+recent > 0 || err != nil {
			k.t.Errorf("CountQuestions = %d, %d, %v", open, recent, err)
		}
		return nil
	}
	k.view("bob", check)
	k.update("bob", check)
}

func rolledBack(k *kit) {
	at := micro(k.clock.Now())
	err := k.store.Update(k.ctx, "p", func(tx inbox.Tx) error {
		if _, err := tx.Append(inbox.CallEvent, "c_1"); err != nil {
			return err
		}
		return errors.Join(tx.PutCall(fullCall(at)), tx.PutQuestion(fullQuestion(at)),
			tx.Remember("key", nil, at.Add(time.Hour)), errTest)
	})
	k.is("Update", err, errTest)
	k.view("p", func(tx inbox.Tx) error {
		_, err := tx.Call("c_1")
		k.is("Call", err, inbox.ErrNotFound)
		_, err = tx.Question("q_1")
		k.is("Question", err, inbox.ErrNotFound)
		_, err = tx.Remembered("key")
		k.is("Remembered", err, inbox.ErrNotFound)
		if first, last, err := tx.EventBounds(); first != 1 || last != 0 || err != nil {
			k.t.Errorf("EventBounds = %d, %d, %v; want 1, 0", first, last, err)
		}
		return nil
	})
}

func panicInside(k *kit) {
	func() {
		defer func() {
			if got := recover(); got != "boo" {
				k.t.Errorf("recovered %v, want the function's own panic", got)
			}
		}()
		err := k.store.Update(k.ctx, "p", func(tx inbox.Tx) error {
			if err := tx.PutCall(fullCall(k.clock.Now())); err != nil {
				return err
			}
			panic("boo")
		})
		k.t.Errorf("Update of a function that panics returned %v", err)
	}()
	k.update("p", func(tx inbox.Tx) error { // the store still works, and nothing was stored
		_, err := tx.Call("c_1")
		k.is("Call", err, inbox.ErrNotFound)
		return nil
	})
}

func ownWrites(k *kit) {
	at := micro(k.clock.Now())
	k.update("p", func(tx inbox.Tx) error { return tx.PutCall(fullCall(at)) })
	k.update("p", func(tx inbox.Tx) error {
		changed := fullCall(at)
		changed.State, changed.Seq = inbox.Ready, 20
		second := &inbox.CallRow{ID: "c_2", Seq: 30, State: inbox.Ready, Created: at, Updated: at}
		if err := errors.Join(tx.PutCall(changed), tx.PutCall(second), tx.PutQuestion(fullQuestion(at))); err != nil {
			return err
		}
		list, err := tx.Calls(inbox.CallQuery{States: []inbox.CallState{inbox.Ready}})
		if err != nil {
			return err
		}
		if len(list) != 2 || list[0].ID != "c_2" || list[1].ID != "c_1" {
			k.t.Errorf("Calls after PutCall in the same transaction = %v", callIDs(list))
		}
		if list, err := tx.Calls(inbox.CallQuery{States: []inbox.CallState{inbox.Waiting}}); len(list) != 0 || err != nil {
			k.t.Errorf("the old state is still found: %v, %v", callIDs(list), err)
		}
		if open, recent, err := tx.CountQuestions("s", at); open != 1 || recent != 1 || err != nil {
			k.t.Errorf("CountQuestions = %d, %d, %v; want 1, 1", open, recent, err)
		}
		if questions, err := tx.Questions(inbox.QuestionQuery{Call: "c_1"}); len(questions) != 1 || err != nil {
			k.t.Errorf("Questions = %v, %v", questions, err)
		}
		return nil
	})
}

func viewCannotWrite(k *kit) {
	k.update("p", func(tx inbox.Tx) error { _, err := tx.Append(inbox.CallEvent, "x"); return err })
	k.view("p", func(tx inbox.Tx) error {
		at := k.clock.Now()
		_, appended := tx.Append(inbox.CallEvent, "x")
		for op, err := range map[string]error{
			"PutCall": tx.PutCall(fullCall(at)), "PutQuestion": tx.PutQuestion(fullQuestion(at)),
			"Remember": tx.Remember("k", nil, at), "Append": appended, "TrimEvents": tx.TrimEvents(2),
		} {
			if err == nil {
				k.t.Errorf("%s in a view was accepted", op)
			}
		}
		return nil
	})
	k.view("p", func(tx inbox.Tx) error {
		if first, last, err := tx.EventBounds(); first != 1 || last != 1 || err != nil {
			k.t.Errorf("EventBounds = %d, %d, %v; want 1, 1", first, last, err)
		}
		return nil
	})
}

func snapshot(k *kit) {
	at := micro(k.clock.Now())
	put := func(version int64) error {
		return k.store.Update(k.ctx, "p", func(tx inbox.Tx) error {
			for _, id := range []inbox.CallID{"a", "b"} {
				if err := tx.PutCall(&inbox.CallRow{ID: id, Version: version, Created: at, Updated: at}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	k.must("Update", put(1))
	done := make(chan error, 1)
	go func() {
		for version := int64(2); version <= 50; version++ {
			if err := put(version); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for running := true; running; {
		select {
		case err := <-done:
			k.must("Update", err)
			running = false
		default:
		}
		k.view("p", func(tx inbox.Tx) error {
			a, err := tx.Call("a")
			if err != nil {
				return err
			}
			b, err := tx.Call("b")
			if err != nil {
				return err
			}
			if a.Version != b.Version {
				k.t.Errorf("a view saw versions %d and %d", a.Version, b.Version)
			}
			return nil
		})
	}
}

func eventsRollBack(k *kit) {
	k.update("p", func(tx inbox.Tx) error { _, err := tx.Append(inbox.CallEvent, "1"); return err })
	err := k.store.Update(k.ctx, "p", func(tx inbox.Tx) error {
		if _, err := tx.Append(inbox.CallEvent, "lost"); err != nil {
			return err
		}
		return errTest
	})
	k.is("Update", err, errTest)
	k.update("p", func(tx inbox.Tx) error {
		seq, err := tx.Append(inbox.CallEvent, "2")
		if seq != 2 {
			k.t.Errorf("the number after a rollback is %d, want 2: no gaps", seq)
		}
		return err
	})
}

func cancelledContexts(k *kit) {
	dead, cancel := context.WithCancel(k.ctx)
	cancel()
	run := func(inbox.Tx) error { k.t.Error("ran with a cancelled context"); return nil }
	_, ready := k.store.Ready(dead, nil, inbox.Ref{}, 1)
	_, due := k.store.Due(dead, inbox.Ref{}, 1)
	_, next := k.store.NextDue(dead)
	_, owned := k.store.Owned(dead, "", "", 1)
	_, found := k.store.Find(dead, "", "", "", 1)
	for op, err := range map[string]error{
		"Update": k.store.Update(dead, "p", run), "View": k.store.View(dead, "p", run),
		"Ready": ready, "Due": due, "NextDue": next, "Owned": owned, "Find": found,
	} {
		k.is(op, err, context.Canceled)
	}

	// Cancelled in the middle: nothing is stored, and the next one works.
	middle, cancel := context.WithCancel(k.ctx)
	err := k.store.Update(middle, "p", func(tx inbox.Tx) error {
		if err := tx.PutCall(fullCall(k.clock.Now())); err != nil {
			return err
		}
		cancel()
		return nil
	})
	k.is("Update cancelled in the middle", err, context.Canceled)
	k.update("p", func(tx inbox.Tx) error {
		_, err := tx.Call("c_1")
		k.is("Call", err, inbox.ErrNotFound)
		return nil
	})

	// Cancelled while another transaction has the turn, of this handle or of another.
	other := k.handle()
	inside, leave, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		first <- k.store.Update(k.ctx, "p", func(inbox.Tx) error {
			close(inside)
			<-leave
			return nil
		})
	}()
	<-inside
	for name, store := range map[string]inbox.Store{"the same": k.store, "another": other} {
		waiting, cancel := context.WithCancel(k.ctx)
		second := make(chan error, 1)
		go func() { second <- store.Update(waiting, "p", func(inbox.Tx) error { return waiting.Err() }) }()
		cancel()
		k.is("Update that waits on "+name+" handle", <-second, context.Canceled)
	}
	close(leave)
	k.must("Update", <-first)
}

func closedHandle(k *kit) {
	other := k.open()
	k.must("Close", other.Close())
	k.must("Close again", other.Close())
	if err := other.Update(k.ctx, "p", func(inbox.Tx) error { return nil }); err == nil {
		k.t.Error("Update on a closed handle was accepted")
	}
	if err := other.View(k.ctx, "p", func(inbox.Tx) error { return nil }); err == nil {
		k.t.Error("View on a closed handle was accepted")
	}
	if _, err := other.Ready(k.ctx, nil, inbox.Ref{}, 1); err == nil {
		k.t.Error("Ready on a closed handle was accepted")
	}
	k.update("p", func(inbox.Tx) error { return nil }) // the first handle lives on
}
