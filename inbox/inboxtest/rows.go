package inboxtest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
)

var rowTests = map[string]func(*kit){
	"every field":      everyField,
	"times":            times,
	"own copies":       ownCopies,
	"call pages":       callPages,
	"brief calls":      briefCalls,
	"question filters": questionFilters,
	"counts":           counts,
	"remembered keys":  rememberedKeys,
	"event bounds":     eventBounds,
	"hostile texts":    hostileTexts,
	"ids of nothing":   idsOfNothing,
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

var errTest = errors.New("the test's own error")

// snapshot checks that a view does not see half of what others commit.
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

// briefCalls checks that a brief list has all but the content, and that the
// rows themselves, in and after the transaction, keep theirs.
func briefCalls(k *kit) {
	at := micro(k.clock.Now())
	content := bytes.Repeat([]byte("large "), 1<<18)
	want := &inbox.CallRow{
		ID: "c_1", Seq: 1, Conversation: "v", Server: "s", State: inbox.Done, Version: 3, Owner: "o",
		Due: at, NotBefore: at, Created: at, Updated: at, Ended: at, Detail: []byte(`{"era":"modern"}`), Content: content,
	}
	look := func(tx inbox.Tx) error {
		for _, brief := range []bool{true, false, true} {
			list, err := tx.Calls(inbox.CallQuery{Conversation: "v", Brief: brief})
			if err != nil {
				return err
			}
			if len(list) != 1 || (list[0].Content == nil) != brief || !brief && !bytes.Equal(list[0].Content, content) {
				k.t.Errorf("Calls with Brief %v: %d rows, or not the right content", brief, len(list))
				continue
			}
			row := *want
			row.Content, list[0].Content = nil, nil
			if diff := cmp.Diff(&row, list[0]); diff != "" {
				k.t.Errorf("Calls with Brief %v (-want +got):\n%s", brief, diff)
			}
		}
		return nil
	}
	k.update("p", func(tx inbox.Tx) error {
		if err := tx.PutCall(want); err != nil {
			return err
		}
		return look(tx)
	})
	k.view("p", look)

	c := k.compose()
	list, err := k.in.Calls(k.ctx, k.ann, inbox.CallFilter{Brief: true})
	if err != nil || len(list) != 1 {
		k.t.Fatalf("brief calls = %v, %v; want one", list, err)
	}
	whole := *c
	whole.Origin.Client, whole.Endpoint, whole.Fingerprint, whole.Name, whole.Detail = "", "", "", "", ""
	whole.Arguments, whole.RequestState, whole.Result, whole.IdempotencyKey = nil, "", nil, ""
	if diff := cmp.Diff(&whole, list[0]); diff != "" {
		k.t.Errorf("a brief call (-want +got):\n%s", diff)
	}
	if again, err := k.in.Call(k.ctx, k.ann, c.ID); err != nil || again.Name != c.Name || !bytes.Equal(again.Arguments, c.Arguments) {
		k.t.Errorf("the call after a brief look = %+v, %v", again, err)
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
		refs, err := k.store.Ready(k.ctx, []string{text}, inbox.Ref{}, 10)
		if diff := cmp.Diff([]inbox.Ref{{Principal: text, Call: id, Due: at}}, refs); diff != "" || err != nil {
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
