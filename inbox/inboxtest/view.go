package inboxtest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
)

// viewTests are of what a person sees: lists, conversations, and what is new.
var viewTests = map[string]func(*kit){
	"lists and pages":    listsAndPages,
	"conversation":       conversation,
	"wait":               waited,
	"events":             events,
	"events are trimmed": eventsAreTrimmed,
}

func listsAndPages(k *kit) {
	var want []inbox.CallID
	for range 5 {
		want = append(want, k.compose().ID)
		k.clock.advance(time.Second)
	}
	slices.Reverse(want)
	var got []inbox.CallID
	for before := int64(0); ; {
		page, err := k.in.Calls(k.ctx, k.ann, inbox.CallFilter{Conversation: "v_trip", Before: before, Limit: 2})
		k.must("Calls", err)
		for _, c := range page {
			got = append(got, c.ID)
			before = c.Seq
		}
		k.compose() // what comes meanwhile does not move the pages
		if len(page) < 2 {
			break
		}
	}
	if !slices.Equal(got, want) {
		k.t.Errorf("pages = %v, want %v", got, want)
	}
	_, c, questions := k.waiting(seat("a", "A?"), seat("b", "B?"))
	k.accept(questions[0])
	open, err := k.in.Questions(k.ctx, k.ann, inbox.QuestionFilter{States: []inbox.QuestionState{inbox.Open, inbox.Opened}})
	if len(open) != 1 || open[0].ID != questions[1].ID || err != nil {
		k.t.Errorf("open questions = %v, %v", open, err)
	}
	of, err := k.in.Questions(k.ctx, k.ann, inbox.QuestionFilter{Call: c.ID})
	if len(of) != 2 || of[0].Seq < of[1].Seq || err != nil {
		k.t.Errorf("questions of the call = %v, %v", of, err)
	}
	list, err := k.in.Calls(k.ctx, k.ann, inbox.CallFilter{States: []inbox.CallState{inbox.Waiting}, Server: "flights"})
	if len(list) != 1 || list[0].ID != c.ID || err != nil {
		k.t.Errorf("waiting calls = %v, %v", list, err)
	}
}

func conversation(k *kit) {
	first := k.compose()
	_, second, questions := k.waiting(seat("a", "A?"), seat("b", "B?"))
	_, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Conversation: "v_other", Server: "s", Method: "tools/call"})
	k.must("Compose", err)
	calls, asked, event, err := k.in.Conversation(k.ctx, k.ann, "v_trip")
	k.must("Conversation", err)
	if len(calls) != 2 || calls[0].ID != first.ID || calls[1].ID != second.ID {
		k.t.Errorf("calls = %v", calls)
	}
	if len(asked) != 2 || asked[0].ID != questions[0].ID || asked[1].ID != questions[1].ID {
		k.t.Errorf("questions = %v", asked)
	}
	if last, err := k.in.LastEvent(k.ctx, k.ann); last != event || err != nil {
		k.t.Errorf("LastEvent = %d, %v; the snapshot says %d", last, err, event)
	}
	_, _, _, err = k.in.Conversation(k.ctx, k.ann, "") //nolint:dogsled // only the error counts
	k.is("Conversation without a name", err, inbox.ErrInvalid)
	if calls, asked, _, err := k.in.Conversation(k.ctx, k.ann, "v_never"); len(calls)+len(asked) != 0 || err != nil {
		k.t.Errorf("a conversation that is not there = %v, %v, %v", calls, asked, err)
	}
}

func waited(k *kit) {
	c := k.compose()
	got, err := k.in.Wait(k.ctx, k.ann, c.ID, 0)
	if err != nil || got.Version != c.Version {
		k.t.Errorf("Wait for a version that is there = %v, %v", got, err)
	}
	type result struct {
		call *inbox.Call
		err  error
	}
	results := make(chan result)
	go func() {
		call, err := k.in.Wait(k.ctx, k.ann, c.ID, c.Version)
		results <- result{call, err}
	}()
	// Another machine, whose hints this one does not get.
	_, err = k.on(k.handle(), "two").Stop(k.ctx, k.ann, c.ID)
	k.must("Stop", err)
	if r := <-results; r.err != nil || r.call.State != inbox.Stopped || r.call.Version != c.Version+1 {
		k.t.Errorf("Wait = %+v, %v", r.call, r.err)
	}
	got, err = k.in.Wait(k.ctx, k.ann, c.ID, 99)
	if err != nil || got.State != inbox.Stopped {
		k.t.Errorf("Wait for an ended call = %v, %v", got, err)
	}
}

func events(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"))
	k.accept(questions[0])
	_, err := k.in.Stop(k.ctx, k.ann, c.ID)
	k.must("Stop", err)
	got, err := k.in.Events(k.ctx, k.ann, 0, 100)
	k.must("Events", err)
	call, question := string(c.ID), string(questions[0].ID)
	want := []inbox.Event{
		{Seq: 1, Kind: inbox.CallEvent, ID: call},         // composed
		{Seq: 2, Kind: inbox.CallEvent, ID: call},         // claimed
		{Seq: 3, Kind: inbox.CallEvent, ID: call},         // sent
		{Seq: 4, Kind: inbox.QuestionEvent, ID: question}, // asked
		{Seq: 5, Kind: inbox.CallEvent, ID: call},         // waiting
		{Seq: 6, Kind: inbox.QuestionEvent, ID: question}, // answered
		{Seq: 7, Kind: inbox.CallEvent, ID: call},         // ready
		{Seq: 8, Kind: inbox.CallEvent, ID: call},         // stopped
	}
	if diff := cmp.Diff(want, got); diff != "" {
		k.t.Errorf("events (-want +got):\n%s", diff)
	}
	got, err = k.in.Events(k.ctx, k.ann, 5, 2)
	if diff := cmp.Diff(want[5:7], got); diff != "" || err != nil {
		k.t.Errorf("events after 5: %v (-want +got):\n%s", err, diff)
	}
	if got, err := k.in.Events(k.ctx, k.ann, 8, 10); len(got) != 0 || err != nil {
		k.t.Errorf("events after the last = %v, %v", got, err)
	}
	_, err = k.in.Events(k.ctx, k.ann, 9, 10)
	k.is("events of another store", err, inbox.ErrReset)
}

func eventsAreTrimmed(k *kit) {
	k.in = inbox.New(k.store, k.keys, &inbox.Options{Owner: "one", Events: 10})
	for range 100 {
		k.compose()
	}
	_, err := k.in.Events(k.ctx, k.ann, 0, 100)
	k.is("events from the beginning", err, inbox.ErrReset)
	last, err := k.in.LastEvent(k.ctx, k.ann)
	k.must("LastEvent", err)
	got, err := k.in.Events(k.ctx, k.ann, last-10, 100)
	if len(got) != 10 || err != nil {
		k.t.Errorf("the last events = %v, %v", got, err)
	}
}
