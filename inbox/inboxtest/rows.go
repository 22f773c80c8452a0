package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
)

var rowTests = map[string]func(*kit){
	"every field":        everyField,
	"times":              times,
	"own copies":         ownCopies,
	"someone else":       someoneElse,
	"rolled back":        rolledBack,
	"panic":              panicInside,
	"own writes":         ownWrites,
	"view cannot write":  viewCannotWrite,
	"snapshot":           snapshot,
	"call pages":         callPages,
	"question filters":   questionFilters,
	"counts":             counts,
	"remembered keys":    rememberedKeys,
	"event bounds":       eventBounds,
	"events roll back":   eventsRollBack,
	"ready":              readyCalls,
	"due":                dueRows,
	"owned":              ownedCalls,
	"find":               findCalls,
	"cancelled contexts": cancelledContexts,
	"closed":             closedHandle,
	"hostile texts":      hostileTexts,
	"ids of nothing":     idsOfNothing,
}

func (k *kit) update(key string, f func(inbox.Tx) error) {
	k.t.Helper()
	k.must("Update", k.store.Update(k.ctx, key, f))
}

func (k *kit) view(key string, f func(inbox.Tx) error) {
	k.t.Helper()
	k.must("View", k.store.View(k.ctx, key, f))
}

func micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func fullCall(at time.Time) *inbox.CallRow {
	return &inbox.CallRow{
		ID: "c_1", Seq: 7, Conversation: "v_1", Server: "s", State: inbox.Waiting, Version: 3, Owner: "m/1",
		Due: at.Add(1), NotBefore: at.Add(2 * time.Second), Created: at, Updated: at.Add(time.Minute), Ended: at.Add(time.Hour),
		Detail: []byte(`{"a":1}`), Content: []byte{0, 1, 255},
	}
}

func fullQuestion(at time.Time) *inbox.QuestionRow {
	return &inbox.QuestionRow{
		ID: "q_1", Seq: 8, Call: "c_1", Conversation: "v_1", Server: "s", State: inbox.Opened, Version: 2,
		Due: at.Add(time.Second), Created: at, Closed: at.Add(time.Hour), Detail: []byte(`{}`), Content: []byte{0},
	}
}

func everyField(k *kit) {
	at := micro(k.clock.Now())
	call, question := fullCall(at), fullQuestion(at)
	call.Due = micro(call.Due)
	for range 2 { // the second time replaces
		k.update("p", func(tx inbox.Tx) error {
			return errors.Join(tx.PutCall(call), tx.PutQuestion(question))
		})
		for _, store := range []inbox.Store{k.store, k.handle()} {
			k.must("View", store.View(k.ctx, "p", func(tx inbox.Tx) error {
				gotCall, err := tx.Call("c_1")
				if err != nil {
					return err
				}
				if diff := cmp.Diff(call, gotCall); diff != "" {
					k.t.Errorf("call (-want +got):\n%s", diff)
				}
				gotQuestion, err := tx.Question("q_1")
				if err != nil {
					return err
				}
				if diff := cmp.Diff(question, gotQuestion); diff != "" {
					k.t.Errorf("question (-want +got):\n%s", diff)
				}
				return nil
			}))
		}
		call = &inbox.CallRow{
			ID: "c_1", Seq: 9, Conversation: "v_2", Server: "s2", State: inbox.Done, Version: 4,
			Created: at.Add(time.Second), Updated: at.Add(time.Second), Detail: []byte(`{}`), Content: []byte{9},
		}
		question = &inbox.QuestionRow{
			ID: "q_1", Seq: 10, Call: "c_2", Conversation: "v_2", Server: "s2", State: inbox.Withdrawn, Version: 5,
			Created: at.Add(time.Second), Detail: []byte(`{"b":2}`), Content: []byte{3},
		}
	}
}

func times(k *kit) {
	k.update("p", func(tx inbox.Tx) error {
		now := tx.Now()
		if now.Location() != time.UTC || now.Nanosecond()%1000 != 0 {
			k.t.Errorf("Now = %v, want UTC to the microsecond", now)
		}
		if want := micro(k.clock.Now()); !now.Equal(want) {
			k.t.Errorf("Now = %v, want %v", now, want)
		}
		return nil
	})
	zone := time.FixedZone("far", -11*3600)
	for i, at := range []time.Time{
		time.Date(2026, 3, 29, 2, 30, 0, 999999999, zone), // in the hour that summer time skips elsewhere
		time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC),
		time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
	} {
		id := inbox.CallID(fmt.Sprint("c_", i))
		k.update("p", func(tx inbox.Tx) error {
			return tx.PutCall(&inbox.CallRow{ID: id, Created: at, Updated: at, Due: at})
		})
		k.view("p", func(tx inbox.Tx) error {
			row, err := tx.Call(id)
			if err != nil {
				return err
			}
			// The last microsecond that is not after it.
			want := time.UnixMicro(at.UnixMicro()).UTC()
			if row.Due != want || row.Created != want {
				k.t.Errorf("%v was stored as %v", at, row.Due)
			}
			if !row.Ended.IsZero() {
				k.t.Errorf("no time came back as %v", row.Ended)
			}
			return nil
		})
	}
}

func ownCopies(k *kit) {
	call := fullCall(micro(k.clock.Now()))
	k.update("p", func(tx inbox.Tx) error {
		if err := tx.PutCall(call); err != nil {
			return err
		}
		return tx.Remember("key", call.Detail, k.clock.Now().Add(time.Hour))
	})
	call.Detail[0], call.State = 'X', inbox.Failed
	read := func() (row *inbox.CallRow, key []byte) {
		k.view("p", func(tx inbox.Tx) (err error) {
			if row, err = tx.Call("c_1"); err != nil {
				return err
			}
			key, err = tx.Remembered("key")
			return err
		})
		return row, key
	}
	row, key := read()
	row.Content[0], key[0] = 'Y', 'Y'
	row, key = read()
	if row.State != inbox.Waiting || row.Detail[0] != '{' || row.Content[0] != 0 || key[0] != '{' {
		k.t.Errorf("a stored row changed with the caller's copy: %+v, key %q", row, key)
	}
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

var errTest = errors.New("the test's own error")

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
		k.store.Update(k.ctx, "p", func(tx inbox.Tx) error {
			tx.PutCall(fullCall(k.clock.Now()))
			panic("boo")
		})
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

// snapshot checks that a view does not see half of what others commit.
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

func callIDs(list []*inbox.CallRow) (ids []inbox.CallID) {
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids
}

func callPages(k *kit) {
	at := micro(k.clock.Now())
	put := func(tx inbox.Tx, seq int64, conversation, server string, state inbox.CallState) error {
		return tx.PutCall(&inbox.CallRow{
			ID: inbox.CallID(fmt.Sprintf("c_%02d", 99-seq)), Seq: seq, // ids run against the order
			Conversation: conversation, Server: server, State: state, Created: at, Updated: at,
		})
	}
	k.update("p", func(tx inbox.Tx) error {
		for i := range int64(10) {
			state := inbox.Waiting
			if i%2 == 1 {
				state = inbox.Done
			}
			if err := put(tx, 10+i, fmt.Sprint("v", i%3), "s", state); err != nil {
				return err
			}
		}
		return nil
	})
	read := func(q inbox.CallQuery) (seqs []int64) {
		k.view("p", func(tx inbox.Tx) error {
			list, err := tx.Calls(q)
			for _, c := range list {
				seqs = append(seqs, c.Seq)
			}
			return err
		})
		return seqs
	}
	first := read(inbox.CallQuery{Limit: 4})
	// A row that comes between two pages does not move them.
	k.update("p", func(tx inbox.Tx) error { return put(tx, 30, "v0", "s", inbox.Waiting) })
	second := read(inbox.CallQuery{Limit: 4, Before: first[3]})
	third := read(inbox.CallQuery{Limit: 4, Before: second[3]})
	if got, want := slices.Concat(first, second, third), []int64{19, 18, 17, 16, 15, 14, 13, 12, 11, 10}; !slices.Equal(got, want) {
		k.t.Errorf("pages = %v, want %v", got, want)
	}
	for _, c := range []struct {
		q    inbox.CallQuery
		want []int64
	}{
		{inbox.CallQuery{Conversation: "v1"}, []int64{17, 14, 11}},
		{inbox.CallQuery{Conversation: "v1", States: []inbox.CallState{inbox.Done}}, []int64{17, 11}},
		{inbox.CallQuery{States: []inbox.CallState{inbox.Done, inbox.Waiting}, Before: 12}, []int64{11, 10}},
		{inbox.CallQuery{Server: "other"}, nil},
		{inbox.CallQuery{Server: "s", Before: 11}, []int64{10}},
	} {
		if got := read(c.q); !slices.Equal(got, c.want) {
			k.t.Errorf("Calls(%+v) = %v, want %v", c.q, got, c.want)
		}
	}
}

func questionFilters(k *kit) {
	at := micro(k.clock.Now())
	k.update("p", func(tx inbox.Tx) error {
		for i := range int64(8) {
			row := &inbox.QuestionRow{
				ID: inbox.QuestionID(fmt.Sprintf("q_%d", 9-i)), Seq: i + 1, Call: inbox.CallID(fmt.Sprint("c", i%2)),
				Conversation: fmt.Sprint("v", i/4), Server: "s", State: inbox.Open, Created: at,
			}
			if i%3 == 0 {
				row.State = inbox.Accepted
			}
			if err := tx.PutQuestion(row); err != nil {
				return err
			}
		}
		return nil
	})
	for _, c := range []struct {
		q    inbox.QuestionQuery
		want []int64
	}{
		{inbox.QuestionQuery{}, []int64{8, 7, 6, 5, 4, 3, 2, 1}},
		{inbox.QuestionQuery{Call: "c1"}, []int64{8, 6, 4, 2}},
		{inbox.QuestionQuery{Conversation: "v0", Limit: 2}, []int64{4, 3}},
		{inbox.QuestionQuery{States: []inbox.QuestionState{inbox.Accepted}}, []int64{7, 4, 1}},
		{inbox.QuestionQuery{Call: "c0", States: []inbox.QuestionState{inbox.Open, inbox.Opened}, Before: 5}, []int64{3}},
		{inbox.QuestionQuery{Server: "t"}, nil},
	} {
		var got []int64
		k.view("p", func(tx inbox.Tx) error {
			list, err := tx.Questions(c.q)
			for _, q := range list {
				got = append(got, q.Seq)
			}
			return err
		})
		if !slices.Equal(got, c.want) {
			k.t.Errorf("Questions(%+v) = %v, want %v", c.q, got, c.want)
		}
	}
}

func counts(k *kit) {
	at := micro(k.clock.Now())
	k.update("p", func(tx inbox.Tx) error {
		for i, row := range []inbox.QuestionRow{
			{State: inbox.Open, Created: at.Add(-time.Hour)},
			{State: inbox.Opened, Created: at.Add(-time.Minute)},
			{State: inbox.Accepted, Created: at.Add(-time.Minute + time.Microsecond)},
			{State: inbox.Expired, Created: at},
			{State: inbox.Withdrawn, Created: at.Add(-time.Minute - time.Microsecond)},
		} {
			row.ID, row.Server = inbox.QuestionID(fmt.Sprint("q", i)), "s"
			if err := tx.PutQuestion(&row); err != nil {
				return err
			}
		}
		return nil
	})
	k.view("p", func(tx inbox.Tx) error {
		open, recent, err := tx.CountQuestions("s", at.Add(-time.Minute))
		if open != 2 || recent != 3 || err != nil {
			k.t.Errorf("CountQuestions = %d, %d, %v; want 2, 3", open, recent, err)
		}
		return nil
	})
}

func rememberedKeys(k *kit) {
	expires := k.clock.Now().Add(time.Minute)
	k.update("p", func(tx inbox.Tx) error {
		if err := tx.Remember("a", []byte("1"), expires); err != nil {
			return err
		}
		if err := tx.Remember("a", []byte("2"), expires); err != nil {
			return err
		}
		got, err := tx.Remembered("a")
		if string(got) != "2" {
			k.t.Errorf("Remembered = %q, %v; want the latest", got, err)
		}
		return err
	})
	k.clock.advance(time.Minute)
	k.update("p", func(tx inbox.Tx) error {
		_, err := tx.Remembered("a")
		k.is("Remembered after its time", err, inbox.ErrNotFound)
		return tx.Remember("b", nil, expires.Add(time.Hour))
	})
	k.clock.advance(-time.Minute) // what was dropped does not come back
	k.view("p", func(tx inbox.Tx) error {
		_, err := tx.Remembered("a")
		k.is("Remembered after it was dropped", err, inbox.ErrNotFound)
		got, err := tx.Remembered("b")
		if len(got) != 0 {
			k.t.Errorf("Remembered = %q, want nothing", got)
		}
		return err
	})
}

func eventBounds(k *kit) {
	k.update("p", func(tx inbox.Tx) error {
		for i := range int64(5) {
			seq, err := tx.Append(inbox.QuestionEvent, fmt.Sprint("q", i))
			if seq != i+1 || err != nil {
				k.t.Errorf("Append = %d, %v; want %d", seq, err, i+1)
			}
		}
		list, err := tx.Events(3, 10)
		if diff := cmp.Diff([]inbox.Event{{Seq: 4, Kind: inbox.QuestionEvent, ID: "q3"}, {Seq: 5, Kind: inbox.QuestionEvent, ID: "q4"}}, list); diff != "" || err != nil {
			k.t.Errorf("Events in the same transaction: %v\n%s", err, diff)
		}
		return nil
	})
	check := func(wantFirst, wantLast int64) {
		k.t.Helper()
		k.view("p", func(tx inbox.Tx) error {
			first, last, err := tx.EventBounds()
			if first != wantFirst || last != wantLast || err != nil {
				k.t.Errorf("EventBounds = %d, %d, %v; want %d, %d", first, last, err, wantFirst, wantLast)
			}
			list, err := tx.Events(0, 100)
			if int64(len(list)) != wantLast+1-wantFirst || len(list) > 0 && list[0].Seq != wantFirst {
				k.t.Errorf("Events = %v, want %d to %d", list, wantFirst, wantLast)
			}
			return err
		})
	}
	check(1, 5)
	k.update("p", func(tx inbox.Tx) error { return tx.TrimEvents(4) })
	check(4, 5)
	k.update("p", func(tx inbox.Tx) error { return tx.TrimEvents(2) }) // nothing comes back
	check(4, 5)
	k.update("p", func(tx inbox.Tx) error { return tx.TrimEvents(99) })
	check(6, 5)
	k.update("p", func(tx inbox.Tx) error { _, err := tx.Append(inbox.CallEvent, "c"); return err })
	check(6, 6)
	k.view("someone else", func(tx inbox.Tx) error {
		if first, last, err := tx.EventBounds(); first != 1 || last != 0 || err != nil {
			k.t.Errorf("EventBounds of another = %d, %d, %v", first, last, err)
		}
		return nil
	})
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

func readyCalls(k *kit) {
	now := micro(k.clock.Now())
	put := func(principal, id, server string, state inbox.CallState, updated, notBefore time.Time) {
		k.update(principal, func(tx inbox.Tx) error {
			return tx.PutCall(&inbox.CallRow{ID: inbox.CallID(id), Server: server, State: state, Created: now, Updated: updated, NotBefore: notBefore})
		})
	}
	put("p", "c_new", "s", inbox.Ready, now, time.Time{})
	put("p", "c_old", "s", inbox.Ready, now.Add(-time.Hour), time.Time{})
	put("o", "c_mid", "t", inbox.Ready, now.Add(-time.Minute), now)
	put("p", "c_later", "s", inbox.Ready, now.Add(-time.Hour), now.Add(time.Second))
	put("p", "c_sent", "s", inbox.Sent, now.Add(-time.Hour), time.Time{})
	check := func(servers []string, limit int, want ...inbox.Ref) {
		k.t.Helper()
		got, err := k.store.Ready(k.ctx, servers, limit)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			k.t.Errorf("Ready(%v, %d): %v (-want +got):\n%s", servers, limit, err, diff)
		}
	}
	old, mid, fresh := inbox.Ref{Principal: "p", Call: "c_old"}, inbox.Ref{Principal: "o", Call: "c_mid"}, inbox.Ref{Principal: "p", Call: "c_new"}
	check(nil, 10, old, mid, fresh)
	check(nil, 2, old, mid)
	check([]string{"t", "u"}, 10, mid)
	check([]string{"s"}, 10, old, fresh)
	if next, err := k.store.NextDue(k.ctx); !next.Equal(now.Add(time.Second)) || err != nil {
		k.t.Errorf("NextDue = %v, %v; want the next NotBefore, %v", next, err, now.Add(time.Second))
	}
	k.clock.advance(time.Second)
	check([]string{"s"}, 1, inbox.Ref{Principal: "p", Call: "c_later"})
	if next, err := k.store.NextDue(k.ctx); !next.IsZero() || err != nil {
		k.t.Errorf("NextDue = %v, %v; want none", next, err)
	}
}

func dueRows(k *kit) {
	now := micro(k.clock.Now())
	var want []inbox.Ref
	for i := range 7 {
		principal := fmt.Sprint("p", i%3)
		due := now.Add(time.Duration(i/2-3) * time.Second) // pairs share a time
		call, question := inbox.CallID(fmt.Sprint("c_", i)), inbox.QuestionID(fmt.Sprint("q_", i))
		k.update(principal, func(tx inbox.Tx) error {
			return errors.Join(
				tx.PutCall(&inbox.CallRow{ID: call, State: inbox.Sent, Due: due, Created: now, Updated: now}),
				tx.PutQuestion(&inbox.QuestionRow{ID: question, Call: call, State: inbox.Open, Due: due, Created: now}))
		})
		want = append(want, inbox.Ref{Principal: principal, Call: call, Due: due}, inbox.Ref{Principal: principal, Call: call, Question: question, Due: due})
	}
	k.update("p", func(tx inbox.Tx) error {
		return errors.Join(
			tx.PutCall(&inbox.CallRow{ID: "never", Created: now, Updated: now}),
			tx.PutCall(&inbox.CallRow{ID: "soon", Due: now.Add(5 * time.Second), Created: now, Updated: now}),
			tx.PutQuestion(&inbox.QuestionRow{ID: "sooner", Due: now.Add(3 * time.Second), Created: now}))
	})
	slices.SortFunc(want, func(a, b inbox.Ref) int {
		if c := a.Due.Compare(b.Due); c != 0 {
			return c
		}
		return slices.Compare([]byte(a.ID()), []byte(b.ID()))
	})
	var got []inbox.Ref
	for after := (inbox.Ref{}); ; {
		page, err := k.store.Due(k.ctx, after, 3)
		k.must("Due", err)
		got = append(got, page...)
		if len(page) < 3 {
			break
		}
		after = page[2]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		k.t.Errorf("Due in pages (-want +got):\n%s", diff)
	}
	if next, err := k.store.NextDue(k.ctx); !next.Equal(now.Add(3*time.Second)) || err != nil {
		k.t.Errorf("NextDue = %v, %v; want %v", next, err, now.Add(3*time.Second))
	}
}

func ownedCalls(k *kit) {
	now := micro(k.clock.Now())
	for i, owner := range []string{"m%_/1", "m%_/2", "mXY/1", "", "m%_2/1"} {
		k.update(fmt.Sprint("p", i), func(tx inbox.Tx) error {
			return tx.PutCall(&inbox.CallRow{ID: inbox.CallID(fmt.Sprint("c_", i)), Owner: owner, Created: now, Updated: now})
		})
	}
	got, err := k.store.Owned(k.ctx, "m%_/", "", 10)
	want := []inbox.Ref{{Principal: "p0", Call: "c_0"}, {Principal: "p1", Call: "c_1"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		k.t.Errorf("Owned: %v (-want +got):\n%s", err, diff)
	}
	got, err = k.store.Owned(k.ctx, "m%_/", "c_0", 1)
	if diff := cmp.Diff(want[1:], got); diff != "" || err != nil {
		k.t.Errorf("Owned after the first: %v (-want +got):\n%s", err, diff)
	}
}

func findCalls(k *kit) {
	now := micro(k.clock.Now())
	for i, state := range []inbox.CallState{inbox.Blocked, inbox.Waiting, inbox.Blocked, inbox.Blocked} {
		server := "s"
		if i == 3 {
			server = "t"
		}
		k.update(fmt.Sprint("p", i), func(tx inbox.Tx) error {
			return tx.PutCall(&inbox.CallRow{ID: inbox.CallID(fmt.Sprint("c_", i)), Server: server, State: state, Created: now, Updated: now})
		})
	}
	got, err := k.store.Find(k.ctx, "s", inbox.Blocked, "", 10)
	want := []inbox.Ref{{Principal: "p0", Call: "c_0"}, {Principal: "p2", Call: "c_2"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		k.t.Errorf("Find: %v (-want +got):\n%s", err, diff)
	}
	got, err = k.store.Find(k.ctx, "s", inbox.Blocked, "c_0", 1)
	if diff := cmp.Diff(want[1:], got); diff != "" || err != nil {
		k.t.Errorf("Find after the first: %v (-want +got):\n%s", err, diff)
	}
}

func cancelledContexts(k *kit) {
	dead, cancel := context.WithCancel(k.ctx)
	cancel()
	run := func(inbox.Tx) error { k.t.Error("ran with a cancelled context"); return nil }
	_, ready := k.store.Ready(dead, nil, 1)
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

	// Cancelled while another transaction has the turn.
	inside, leave, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		first <- k.store.Update(k.ctx, "p", func(inbox.Tx) error {
			close(inside)
			<-leave
			return nil
		})
	}()
	<-inside
	waiting, cancel := context.WithCancel(k.ctx)
	second := make(chan error, 1)
	go func() { second <- k.store.Update(waiting, "p", func(inbox.Tx) error { return waiting.Err() }) }()
	cancel()
	k.is("Update that waits", <-second, context.Canceled)
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
	if _, err := other.Ready(k.ctx, nil, 1); err == nil {
		k.t.Error("Ready on a closed handle was accepted")
	}
	k.update("p", func(inbox.Tx) error { return nil }) // the first handle lives on
}

func hostileTexts(k *kit) {
	at := micro(k.clock.Now())
	for i, text := range []string{"'; DROP TABLE inbox_calls; --", "%", "_", "\"", "a\nb", "ünïcödé 🛫", "\u202e", "?1"} {
		id := inbox.CallID(fmt.Sprintf("c_%d%s", i, text))
		k.update(text, func(tx inbox.Tx) error {
			return tx.PutCall(&inbox.CallRow{ID: id, Seq: 1, Conversation: text, Server: text, State: inbox.Ready, Owner: text, Created: at, Updated: at})
		})
		k.view(text, func(tx inbox.Tx) error {
			list, err := tx.Calls(inbox.CallQuery{Conversation: text, Server: text})
			if len(list) != 1 || list[0].ID != id || list[0].Owner != text {
				k.t.Errorf("%q: found %v", text, list)
			}
			return err
		})
		refs, err := k.store.Ready(k.ctx, []string{text}, 10)
		if diff := cmp.Diff([]inbox.Ref{{Principal: text, Call: id}}, refs); diff != "" || err != nil {
			k.t.Errorf("%q: Ready: %v\n%s", text, err, diff)
		}
		refs, err = k.store.Owned(k.ctx, text, "", 10)
		if diff := cmp.Diff([]inbox.Ref{{Principal: text, Call: id}}, refs); diff != "" || err != nil {
			k.t.Errorf("%q: Owned: %v\n%s", text, err, diff)
		}
	}
}

// idsOfNothing looks for ids that come from an address and that no row can have.
func idsOfNothing(k *kit) {
	k.update("p", func(tx inbox.Tx) error { _, err := tx.Append(inbox.CallEvent, "c"); return err })
	k.view("p", func(tx inbox.Tx) error {
		for _, id := range []string{"", "c_none", "\x00", "\xff", "c_\x00", string(make([]byte, 1<<16))} {
			_, err := tx.Call(inbox.CallID(id))
			k.is(fmt.Sprintf("Call(%.10q)", id), err, inbox.ErrNotFound)
			_, err = tx.Question(inbox.QuestionID(id))
			k.is(fmt.Sprintf("Question(%.10q)", id), err, inbox.ErrNotFound)
		}
		return nil
	})
}
