package inboxtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
)

// A server that asks without end makes an event now and then, so that it pushes
// no other out.
func refusalEvents(k *kit) {
	hints, err := k.in.Subscribe(k.ctx, k.ann)
	k.must("Subscribe", err)
	refuse := func(server string) { k.must("Refused", k.in.Refused(k.ctx, k.ann, server, 1)) }
	refuse("trains")
	select {
	case h := <-hints:
		if h.Principal != k.ann.Key() {
			k.t.Errorf("hint %+v", h)
		}
	case <-k.ctx.Done():
		k.t.Error("nobody is told")
	}
	for range 5 {
		k.clock.advance(300 * time.Millisecond)
		refuse("trains")
	}
	refuse("planes")
	k.clock.advance(time.Second)
	refuse("trains")
	k.must("ClearRefusals", k.in.ClearRefusals(k.ctx, k.ann, "trains"))
	k.must("ClearRefusals", k.in.ClearRefusals(k.ctx, k.ann, "boats"))
	refuse("trains")
	k.must("ClearRefusals", k.in.ClearRefusals(k.ctx, k.ann, ""))
	got, err := k.in.Events(k.ctx, k.ann, 0, 100)
	k.must("Events", err)
	want := []inbox.Event{
		{Seq: 1, Kind: inbox.RefusalEvent, ID: "trains"},
		{Seq: 2, Kind: inbox.RefusalEvent, ID: "planes"},
		{Seq: 3, Kind: inbox.RefusalEvent, ID: "trains"}, // after two seconds
		{Seq: 4, Kind: inbox.RefusalEvent, ID: "trains"}, // cleared
		{Seq: 5, Kind: inbox.RefusalEvent, ID: "trains"}, // anew
		{Seq: 6, Kind: inbox.RefusalEvent, ID: "planes"}, // cleared
		{Seq: 7, Kind: inbox.RefusalEvent, ID: "trains"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		k.t.Errorf("events (-want +got):\n%s", diff)
	}
	if last, err := k.in.LastEvent(k.ctx, k.bob); last != 0 || err != nil {
		k.t.Errorf("another person's: %d, %v", last, err)
	}
}

// Each limit that a question meets is observed by its kind, and none is an entry of
// the log: a server could fill it.
func observedLimits(k *kit) {
	var seen []string
	in := inbox.New(k.handle(), k.keys, &inbox.Options{Owner: "watched", Rounds: 4, OpenQuestions: 3, QuestionsPerMinute: 5, Observe: func(e *inbox.AuditEntry) {
		if e.Kind == inbox.AuditRefused {
			seen = append(seen, fmt.Sprint(e.Server, " ", e.Reason, " ", e.Count, " ", e.Principal == k.ann))
		}
	}})
	send := func(era inbox.Era) *inbox.Claim {
		c, err := in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "flights", Method: "tools/call", Name: "book"})
		k.must("Compose", err)
		claim, _, err := in.Claim(k.ctx, k.ann, c.ID)
		k.must("Claim", err)
		_, err = in.Mark(k.ctx, claim, inbox.Binding{Era: era})
		k.must("Mark", err)
		return claim
	}
	hold := func(claim *inbox.Claim, text string, want error) {
		q, err := in.Hold(k.ctx, claim, seat("", text))
		k.is("Hold of "+text, err, want)
		if err == nil {
			k.must("Withdraw", in.Withdraw(k.ctx, claim, q.ID, ""))
		}
	}
	claim := send(inbox.Legacy)
	for i := range 4 {
		hold(claim, fmt.Sprint(i, "?"), nil)
	}
	hold(claim, "a fifth round", inbox.ErrLimit)
	_, err := in.Hold(k.ctx, claim, inbox.NewQuestion{Params: json.RawMessage(`{"message":"` + strings.Repeat("x", 1<<20) + `"}`)})
	k.is("Hold of a large one", err, inbox.ErrLimit)
	other := send(inbox.Legacy)
	hold(other, "the fifth of the minute", nil)
	hold(other, "the sixth of the minute", inbox.ErrLimit)
	_, err = in.Park(k.ctx, send(inbox.Modern), inbox.Asked{Questions: []inbox.NewQuestion{seat("a", "A?"), seat("b", "B?"), seat("c", "C?"), seat("d", "D?")}})
	k.must("Park", err)
	k.must("Refused", in.Refused(k.ctx, k.ann, "trains", 70))
	want := []string{
		"flights too_many_rounds 1 true", "flights too_large 1 true", "flights questions_per_minute 1 true",
		"flights too_many_questions 4 true", "trains too_many_questions 70 true",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		k.t.Errorf("observed (-want +got):\n%s", diff)
	}
	counts := map[string]int{}
	list, err := k.in.Refusals(k.ctx, k.ann)
	k.must("Refusals", err)
	for _, one := range list {
		counts[one.Server] = one.Count
	}
	// Of the round that is one too many the end of its call tells.
	if diff := cmp.Diff(map[string]int{"flights": 6, "trains": 70}, counts); diff != "" {
		k.t.Errorf("the person sees (-want +got):\n%s", diff)
	}
	log, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Kinds: []inbox.AuditKind{inbox.AuditRefused}})
	if len(log) != 0 || err != nil {
		k.t.Errorf("the log has %d of them, %v", len(log), err)
	}
}

// What the policy does not let a person see is counted, and is in the log by its rule,
// up to twenty times of a call.
func refusedByPolicy(k *kit) {
	claim, held, _ := k.held()
	no := inbox.RefusedQuestion{Mode: inbox.URL, Rule: "known sites"}
	for range 25 {
		k.must("RefuseQuestion", k.in.RefuseQuestion(k.ctx, claim, no))
	}
	k.state(held.ID, inbox.Sent)
	k.finish(claim, inbox.Done, "")
	k.is("RefuseQuestion after the end", k.in.RefuseQuestion(k.ctx, claim, no), inbox.ErrFenced)

	sent, modern := k.sent(inbox.Modern)
	late := k.uncertain()
	o := inbox.Outcome{State: inbox.Failed, Reason: inbox.ReasonRefused, Refused: &inbox.RefusedQuestion{Mode: inbox.Form, Rule: "no forms", Count: 3}}
	_, err := k.in.Finish(k.ctx, sent, o)
	k.must("Finish", err)
	_, err = k.in.LateReply(k.ctx, late, inbox.Reply{Outcome: &o})
	k.must("LateReply", err)
	if c := k.state(modern.ID, inbox.Failed); c.Rule != "no forms" {
		k.t.Errorf("ended by the rule %q", c.Rule)
	}

	list, err := k.in.Refusals(k.ctx, k.ann)
	if err != nil || len(list) != 1 || list[0].Server != "flights" || list[0].Count != 25+3+3 {
		k.t.Errorf("the person sees %+v, %v", list, err)
	}
	for id, want := range map[inbox.CallID][]string{
		held.ID:   append(slices.Repeat([]string{"refused url known sites refused_by_policy 1"}, 20), "finished    1"),
		modern.ID: {"refused form no forms refused_by_policy 3", "finished  no forms refused_by_policy 1"},
		late.Call: {"refused form no forms refused_by_policy 3", "finished  no forms refused_by_policy 1"},
	} {
		entries, err := k.in.Audit(k.ctx, k.ann, inbox.AuditFilter{Call: id, Kinds: []inbox.AuditKind{inbox.AuditRefused, inbox.AuditFinished}})
		k.must("Audit", err)
		var got []string
		for _, e := range slices.Backward(entries) {
			if e.Machine != "one" || e.Server != "flights" || e.Tool != "book" {
				k.t.Errorf("%+v", e)
			}
			got = append(got, fmt.Sprint(e.Kind, " ", e.Mode, " ", e.Rule, " ", e.Reason, " ", e.Count))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			k.t.Errorf("the log (-want +got):\n%s", diff)
		}
	}
	for _, no := range []inbox.RefusedQuestion{{Mode: "sampling"}, {Rule: "\xff"}, {Count: -1}} {
		k.is("RefuseQuestion", k.in.RefuseQuestion(k.ctx, claim, no), inbox.ErrInvalid)
	}
}
