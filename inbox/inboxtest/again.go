package inboxtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

var againTests = map[string]func(*kit){
	"url consent":            urlConsent,
	"url asked again":        urlAskedAgain,
	"run again":              runAgain,
	"run again fills fields": runAgainFillsFields,
	"run again what is not":  runAgainWhatIsNot,
}

func urlConsent(k *kit) {
	const address = "https://air.example/sign-in?flow=1"
	_, c, questions := k.waiting(visit("air", address))
	q := questions[0]
	if q.Mode != inbox.URL || q.URL != address {
		k.t.Fatalf("question: %+v", q)
	}
	_, err := k.in.Answer(k.ctx, k.ann, q.ID, inbox.Answer{Action: inbox.Accept})
	k.is("accept without consent", err, inbox.ErrNotOpened)
	_, err = k.in.Open(k.ctx, k.ann, q.ID, sum("https://evil.example"))
	k.is("Open of another address", err, inbox.ErrURLChanged)
	_, err = k.in.Open(k.ctx, k.ann, q.ID, "")
	k.is("Open of nothing", err, inbox.ErrURLChanged)
	for range 2 { // opening twice is one consent
		got, err := k.in.Open(k.ctx, k.ann, q.ID, sum(address))
		k.must("Open", err)
		if got.State != inbox.Opened || got.Version != q.Version+1 {
			k.t.Errorf("opened: %+v", got)
		}
	}
	got := k.answer(q, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"a":1}`)})
	if got.State != inbox.Accepted || got.Answer.Content != nil {
		k.t.Errorf("accepted: %+v", got)
	}
	claim := k.again(c.ID)
	answers, err := k.in.Answers(k.ctx, claim)
	if string(answers["air"]) != `{"action":"accept"}` || err != nil {
		k.t.Errorf("Answers = %s, %v", answers, err)
	}
	_, _, forms := k.waiting(seat("a", "A?"))
	_, err = k.in.Open(k.ctx, k.ann, forms[0].ID, sum(""))
	k.is("Open of a form", err, inbox.ErrInvalid)
}

func urlAskedAgain(k *kit) {
	const one, two = "https://air.example/1", "https://air.example/2"
	_, c, questions := k.waiting(visit("air", one))
	id := questions[0].ID
	_, err := k.in.Open(k.ctx, k.ann, id, sum(one))
	k.must("Open", err)
	k.answer(questions[0], inbox.Answer{Action: inbox.Accept})

	// The same address: consent stands, the person says when they are done. It
	// is no new round, however often.
	for i := range 30 {
		_, _, again := k.park(k.again(c.ID), visit(fmt.Sprintf("air#%d", i+2), one))
		if len(again) != 1 || again[0].ID != id || again[0].State != inbox.Opened || again[0].Asked != i+2 || again[0].Answer != nil || again[0].Note == "" {
			k.t.Fatalf("asked again: %+v", again)
		}
		k.answer(again[0], inbox.Answer{Action: inbox.Accept})
	}
	claim := k.again(c.ID)
	answers, err := k.in.Answers(k.ctx, claim)
	if got := slices.Collect(maps.Keys(answers)); !slices.Equal(got, []string{"air#31"}) || err != nil {
		k.t.Errorf("Answers has keys %v, %v; want the latest only", got, err)
	}

	// A fresh address: the same card, consent is asked again.
	_, _, again := k.park(claim, visit("air#32", two))
	if len(again) != 1 || again[0].ID != id || again[0].State != inbox.Open || again[0].URL != two {
		k.t.Fatalf("asked with a fresh address: %+v", again)
	}
	_, err = k.in.Answer(k.ctx, k.ann, id, inbox.Answer{Action: inbox.Accept})
	k.is("accept without new consent", err, inbox.ErrNotOpened)
	_, err = k.in.Open(k.ctx, k.ann, id, sum(one))
	k.is("Open of the old address", err, inbox.ErrURLChanged)
	_, err = k.in.Open(k.ctx, k.ann, id, sum(two))
	k.must("Open", err)
}

func runAgain(k *kit) {
	_, old, questions := k.waiting(seat("a", "A?"), seat("b", "B?"))
	k.accept(questions[0])
	k.clock.advance(8 * 24 * time.Hour)
	k.sweep()
	k.state(old.ID, inbox.Ready) // one answer, one expiry: it would go on
	_, err := k.in.Stop(k.ctx, k.ann, old.ID)
	k.must("Stop", err)

	c, err := k.in.RunAgain(k.ctx, k.ann, old.ID, "")
	k.must("RunAgain", err)
	if c.Replaces != old.ID || c.State != inbox.Ready || c.IdempotencyKey == old.IdempotencyKey || c.Round != 0 || c.RequestState != "" || c.Name != old.Name || string(c.Arguments) != string(old.Arguments) {
		k.t.Errorf("run again: %+v", c)
	}
	twice, err := k.in.RunAgain(k.ctx, k.ann, old.ID, "")
	if err != nil || twice.ID != c.ID {
		k.t.Errorf("RunAgain while it runs = %v, %v; want the call that runs", twice, err)
	}
	if old = k.state(old.ID, inbox.Stopped); old.ReplacedBy != c.ID {
		k.t.Errorf("the old call is replaced by %q", old.ReplacedBy)
	}
	// The same question under another key; and one that was never answered.
	_, _, again := k.park(k.again(c.ID), seat("renamed", "A?"), seat("b", "B?"))
	if string(again[0].Suggested) != `{"seat":"12A"}` || again[0].State != inbox.Open || again[0].Answer != nil {
		k.t.Errorf("suggested %s, state %s", again[0].Suggested, again[0].State)
	}
	if again[1].Suggested != nil {
		k.t.Errorf("suggested %s for a question that was never answered", again[1].Suggested)
	}
}

func runAgainFillsFields(k *kit) {
	_, old, questions := k.waiting(seat("a", "A?"))
	k.answer(questions[0], inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"seat":"12A", "bags": 2}`)})
	_, err := k.in.Stop(k.ctx, k.ann, old.ID)
	k.must("Stop", err)
	c, err := k.in.RunAgain(k.ctx, k.ann, old.ID, "")
	k.must("RunAgain", err)
	// The same key, another form: seat no longer fits, bags does.
	_, _, again := k.park(k.again(c.ID), inbox.NewQuestion{Key: "a", Params: json.RawMessage(
		`{"message": "A, now with less room?", "requestedSchema": {"type": "object", "properties": {"seat": {"type": "string", "maxLength": 2}, "bags": {"type": "integer"}, "meal": {"type": "string"}}, "required": ["meal"]}}`)})
	if got := string(again[0].Suggested); got != `{"bags":2}` {
		k.t.Errorf("suggested %s, want the field that still passes", got)
	}
}

func runAgainWhatIsNot(k *kit) {
	c := k.compose()
	_, err := k.in.RunAgain(k.ctx, k.ann, c.ID, "")
	k.is("RunAgain of a ready call", err, inbox.ErrState)
	claim := k.again(c.ID)
	_, err = k.in.RunAgain(k.ctx, k.ann, c.ID, "")
	k.is("RunAgain of a sent call", err, inbox.ErrState)
	_, err = k.in.Uncertain(k.ctx, claim, "")
	k.must("Uncertain", err)
	_, err = k.in.RunAgain(k.ctx, k.ann, c.ID, "")
	k.is("RunAgain of an uncertain call", err, inbox.ErrState)

	claim, _ = k.claim()
	blocked, err := k.in.Block(k.ctx, claim, inbox.ReasonServerChanged, "The tool has changed.")
	k.must("Block", err)
	next, err := k.in.RunAgain(k.ctx, k.ann, blocked.ID, "")
	k.must("RunAgain of a blocked call", err)
	if next.Fingerprint != "" || next.Endpoint != "" {
		k.t.Errorf("bound to what the server was: %+v", next)
	}
	if old := k.state(blocked.ID, inbox.Stopped); old.Reason != inbox.ReasonRunAgain {
		k.t.Errorf("the blocked call: %s", old.Reason)
	}
}
