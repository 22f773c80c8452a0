package inboxtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-mcp/parley/inbox"
)

var personTests = map[string]func(*kit){
	"compose":                  composed,
	"compose twice":            composedTwice,
	"compose what is wrong":    composedWrong,
	"from end to end":          endToEnd,
	"only the principal":       onlyThePrincipal,
	"answers are checked":      answersAreChecked,
	"content is dropped":       contentIsDropped,
	"closed questions":         closedQuestions,
	"answer twice with a key":  answeredTwice,
	"take back":                takenBack,
	"take back too late":       takenBackTooLate,
	"decline the rest":         declinedRest,
	"nothing readable at rest": nothingReadable,
}

func composed(k *kit) {
	before := micro(k.clock.Now())
	c, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{
		Conversation: "v_1", Actor: inbox.Model, Origin: inbox.Origin{Client: "agent/1", Surface: "chat"},
		Server: "s", Endpoint: "https://s.example", Fingerprint: "f", Era: inbox.Legacy,
		Method: "tools/call", Name: "n", Arguments: json.RawMessage(`{ "exact" : 9007199254740993.10 }`),
	})
	k.must("Compose", err)
	want := &inbox.Call{
		ID: c.ID, Seq: 1, Principal: k.ann, Conversation: "v_1", Actor: inbox.Model,
		Origin: inbox.Origin{Client: "agent/1", Surface: "chat"}, Server: "s", Endpoint: "https://s.example",
		Fingerprint: "f", Era: inbox.Legacy, Method: "tools/call", Name: "n",
		Arguments: json.RawMessage(`{ "exact" : 9007199254740993.10 }`), State: inbox.Ready, Version: 1,
		Created: before, Updated: before, IdempotencyKey: c.IdempotencyKey,
	}
	if diff := cmp.Diff(want, c); diff != "" {
		k.t.Errorf("composed call (-want +got):\n%s", diff)
	}
	got := k.state(c.ID, inbox.Ready)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		k.t.Errorf("stored call (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(string(c.ID), "c_") || len(c.ID) < 24 || c.IdempotencyKey == "" || len(c.IdempotencyKey) > 128 {
		k.t.Errorf("ids: %q, %q", c.ID, c.IdempotencyKey)
	}
}

func composedTwice(k *kit) {
	n := inbox.NewCall{Conversation: "v", Server: "s", Method: "tools/call", Name: "n", Key: "k1"}
	first, err := k.in.Compose(k.ctx, k.ann, n)
	k.must("Compose", err)
	second, err := k.in.Compose(k.ctx, k.ann, n)
	k.must("Compose again", err)
	if first.ID != second.ID {
		k.t.Errorf("one key made two calls")
	}
	other, err := k.in.Compose(k.ctx, k.bob, n)
	k.must("Compose by another", err)
	if other.ID == first.ID {
		k.t.Errorf("two people share a key")
	}
	n.Name = "other"
	_, err = k.in.Compose(k.ctx, k.ann, n)
	k.is("Compose something else with the key", err, inbox.ErrKeyReused)
	k.clock.advance(25 * time.Hour)
	n.Name = "n"
	third, err := k.in.Compose(k.ctx, k.ann, n)
	k.must("Compose after a day", err)
	if third.ID == first.ID {
		k.t.Errorf("a key was remembered for more than a day")
	}
}

func composedWrong(k *kit) {
	good := inbox.NewCall{Server: "s", Method: "tools/call"}
	for name, change := range map[string]func(*inbox.NewCall){
		"no server":     func(n *inbox.NewCall) { n.Server = "" },
		"no method":     func(n *inbox.NewCall) { n.Method = "" },
		"bad arguments": func(n *inbox.NewCall) { n.Arguments = json.RawMessage(`{`) },
		"bad era":       func(n *inbox.NewCall) { n.Era = "future" },
		"bad actor":     func(n *inbox.NewCall) { n.Actor = "robot" },
		"long name":     func(n *inbox.NewCall) { n.Name = strings.Repeat("x", 1<<20) },
		"no text":       func(n *inbox.NewCall) { n.Conversation = "a\xffb" },
		"zero byte":     func(n *inbox.NewCall) { n.Key = "a\x00b" },
	} {
		n := good
		change(&n)
		_, err := k.in.Compose(k.ctx, k.ann, n)
		k.is(name, err, inbox.ErrInvalid)
	}
	big := good
	big.Arguments = json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)
	_, err := k.in.Compose(k.ctx, k.ann, big)
	k.is("large arguments", err, inbox.ErrLimit)
	for _, p := range []inbox.Principal{{}, {Issuer: "i"}, {Subject: "s"}, {Issuer: "i", Subject: strings.Repeat("x", 4096)}} {
		_, err := k.in.Compose(k.ctx, p, good)
		k.is("principal", err, inbox.ErrInvalid)
	}
}

func endToEnd(k *kit) {
	claim, c := k.claim()
	if c.State != inbox.Claimed || c.Owner == "" || c.Fence != 1 {
		k.t.Errorf("claimed call: %+v", c)
	}
	c, err := k.in.Mark(k.ctx, claim, inbox.Binding{})
	k.must("Mark", err)
	if c.State != inbox.Sent || c.Sends != 1 {
		k.t.Errorf("marked call: %+v", c)
	}
	if answers, err := k.in.Answers(k.ctx, claim); len(answers) != 0 || err != nil {
		k.t.Errorf("Answers of the first send = %v, %v", answers, err)
	}

	_, c, questions := k.park(claim, seat("seat", "Which seat?"), seat("meal", "Which meal?"), seat("hotel", "Which hotel?"))
	if c.Round != 1 || c.Owner != "" || c.RequestState != "opaque" || !c.ExpiresAt.Equal(c.Updated.Add(7*24*time.Hour)) {
		k.t.Errorf("waiting call: %+v", c)
	}
	if q := questions[1]; q.Message != "Which meal?" || q.Key != "meal" || q.Mode != inbox.Form || q.Conversation != "v_trip" || q.Server != "flights" || string(q.Params) != string(seat("meal", "Which meal?").Params) {
		k.t.Errorf("question: %+v", q)
	}
	_, err = k.in.Mark(k.ctx, claim, inbox.Binding{})
	k.is("Mark after parking", err, inbox.ErrFenced)

	q := k.accept(questions[0])
	if q.State != inbox.Accepted || q.Answer == nil || q.Answer.By != k.ann || q.Answer.Via != "chat" || q.ClosedBy != inbox.ByPerson {
		k.t.Errorf("answered question: %+v", q)
	}
	k.state(c.ID, inbox.Waiting)
	_, _, err = k.in.ClaimNext(k.ctx, nil)
	k.is("ClaimNext while two are open", err, inbox.ErrNothing)
	k.decline(questions[1])
	k.answer(questions[2], inbox.Answer{Action: inbox.Cancel})
	k.state(c.ID, inbox.Ready)

	claim, c, err = k.in.ClaimNext(k.ctx, []string{"flights"})
	k.must("ClaimNext", err)
	if c.Fence != 2 || c.RequestState != "opaque" {
		k.t.Errorf("claimed again: %+v", c)
	}
	answers, err := k.in.Answers(k.ctx, claim)
	k.must("Answers", err)
	want := map[string]json.RawMessage{
		"seat":  json.RawMessage(`{"action":"accept","content":{"seat":"12A"}}`),
		"meal":  json.RawMessage(`{"action":"decline"}`),
		"hotel": json.RawMessage(`{"action":"cancel"}`),
	}
	if diff := cmp.Diff(want, answers); diff != "" {
		k.t.Errorf("answers (-want +got):\n%s", diff)
	}
	_, err = k.in.Mark(k.ctx, claim, inbox.Binding{Era: inbox.Modern, Endpoint: "https://flights.example/mcp", Fingerprint: "f1"})
	k.must("Mark", err)
	result := json.RawMessage("{\"content\" :[] , \"n\":1e400, \"s\":\"<\\u2028>\"}")
	c, err = k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Done, Result: result})
	k.must("Finish", err)
	c = k.state(c.ID, inbox.Done)
	if string(c.Result) != string(result) || c.IsError || c.Ended.IsZero() || c.Owner != "" || c.Sends != 2 {
		k.t.Errorf("done call: %+v\nresult %s", c, c.Result)
	}
}

func onlyThePrincipal(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"), visit("b", "https://air.example/1"))
	q := questions[0]
	type op struct {
		name string
		run  func(p inbox.Principal) error
	}
	ops := []op{
		{"Call", func(p inbox.Principal) error { _, err := k.in.Call(k.ctx, p, c.ID); return err }},
		{"Question", func(p inbox.Principal) error { _, err := k.in.Question(k.ctx, p, q.ID); return err }},
		{"Answer", func(p inbox.Principal) error {
			_, err := k.in.Answer(k.ctx, p, q.ID, inbox.Answer{Action: inbox.Decline})
			return err
		}},
		{"TakeBack", func(p inbox.Principal) error { _, err := k.in.TakeBack(k.ctx, p, q.ID); return err }},
		{"Open", func(p inbox.Principal) error {
			_, err := k.in.Open(k.ctx, p, questions[1].ID, sum("https://air.example/1"))
			return err
		}},
		{"DeclineRest", func(p inbox.Principal) error {
			_, err := k.in.DeclineRest(k.ctx, p, c.ID, inbox.Answer{Via: "chat"})
			return err
		}},
		{"Stop", func(p inbox.Principal) error { _, err := k.in.Stop(k.ctx, p, c.ID); return err }},
		{"Resolve", func(p inbox.Principal) error {
			_, err := k.in.Resolve(k.ctx, p, c.ID, inbox.GiveUp, "")
			return err
		}},
		{"RunAgain", func(p inbox.Principal) error { _, err := k.in.RunAgain(k.ctx, p, c.ID, ""); return err }},
		{"Claim", func(p inbox.Principal) error { _, _, err := k.in.Claim(k.ctx, p, c.ID); return err }},
		{"Wait", func(p inbox.Principal) error { _, err := k.in.Wait(k.ctx, p, c.ID, 0); return err }},
	}
	// The same subject of another tenant or issuer, and names that could run together.
	for _, p := range []inbox.Principal{
		k.bob,
		{Issuer: k.ann.Issuer, Tenant: "south", Subject: "ann"},
		{Issuer: "https://other.example", Tenant: "north", Subject: "ann"},
		{Issuer: k.ann.Issuer, Subject: "north|ann"},
		{Issuer: k.ann.Issuer + "|north", Subject: "ann"},
		{},
	} {
		for _, op := range ops {
			k.is(fmt.Sprint(op.name, " by ", p), op.run(p), inbox.ErrNotFound)
		}
		if list, err := k.in.Questions(k.ctx, p, inbox.QuestionFilter{}); len(list) > 0 || err != nil {
			k.t.Errorf("Questions by %v = %v, %v", p, list, err)
		}
		if calls, questions, event, err := k.in.Conversation(k.ctx, p, "v_trip"); len(calls)+len(questions) > 0 || event != 0 || err != nil {
			k.t.Errorf("Conversation by %v = %v, %v, %d, %v", p, calls, questions, event, err)
		}
		if last, err := k.in.LastEvent(k.ctx, p); last != 0 || err != nil {
			k.t.Errorf("LastEvent by %v = %d, %v", p, last, err)
		}
	}
	if now := k.state(c.ID, inbox.Waiting); now.Version != c.Version {
		k.t.Errorf("others changed the call to version %d", now.Version)
	}
	k.asked(q.ID, inbox.Open)
}

func answersAreChecked(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"))
	q := questions[0]
	for _, content := range []string{``, `{}`, `{"seat":12}`, `{"seat":"much too long"}`, `{"seat":"1A","extra":1}`, `[]`, `"x"`, `{`, `{"seat":"1A","bags":1.5}`, `null`} {
		_, err := k.in.Answer(k.ctx, k.ann, q.ID, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(content)})
		k.is("Answer "+content, err, inbox.ErrCheck)
		if e := (*inbox.CheckError)(nil); !errors.As(err, &e) || len(e.Errors) == 0 {
			k.t.Errorf("Answer %s: no errors of fields in %v", content, err)
		}
	}
	_, err := k.in.Answer(k.ctx, k.ann, q.ID, inbox.Answer{Action: "approve"})
	k.is("Answer approve", err, inbox.ErrInvalid)
	_, err = k.in.Answer(k.ctx, k.ann, q.ID, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)})
	k.is("Answer that is too large", err, inbox.ErrLimit)
	if got := k.asked(q.ID, inbox.Open); got.Version != q.Version {
		k.t.Errorf("a refused answer made version %d", got.Version)
	}
	k.answer(q, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(` {"bags": 9007199254740993, "seat":"1A"} `)})
	if got := string(k.asked(q.ID, inbox.Accepted).Answer.Content); got != ` {"bags": 9007199254740993, "seat":"1A"} ` {
		k.t.Errorf("content was stored as %s", got)
	}
	k.state(c.ID, inbox.Ready)

	// A form that nobody can draw can still be declined.
	_, _, questions = k.waiting(inbox.NewQuestion{Key: "odd", Params: json.RawMessage(`{"message":"?","requestedSchema":"no schema"}`)})
	_, err = k.in.Answer(k.ctx, k.ann, questions[0].ID, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{}`)})
	k.is("Answer without a schema", err, inbox.ErrCheck)
	k.decline(questions[0])
}

func contentIsDropped(k *kit) {
	_, _, questions := k.waiting(seat("a", "A?"), seat("b", "B?"))
	for i, action := range []inbox.Action{inbox.Decline, inbox.Cancel} {
		q := k.answer(questions[i], inbox.Answer{Action: action, Content: json.RawMessage(`{"seat":"secret"}`)})
		if q.Answer.Content != nil {
			k.t.Errorf("%s kept its content", action)
		}
		if got := k.asked(q.ID, q.State); got.Answer.Content != nil {
			k.t.Errorf("%s stored its content", action)
		}
	}
}

func closedQuestions(k *kit) {
	try := func(q *inbox.Question, by inbox.Closer, state inbox.QuestionState) {
		k.t.Helper()
		_, err := k.in.Answer(k.ctx, k.ann, q.ID, inbox.Answer{Action: inbox.Cancel})
		k.is("Answer", err, inbox.ErrClosed)
		e := &inbox.ClosedError{}
		if !errors.As(err, &e) || e.By != by || e.State != state || e.At.IsZero() {
			k.t.Errorf("closed by %s as %s: told %+v", by, state, e)
		}
	}
	_, _, questions := k.waiting(seat("a", "A?"), seat("b", "B?"))
	k.accept(questions[0])
	try(questions[0], inbox.ByPerson, inbox.Accepted)
	k.clock.advance(8 * 24 * time.Hour)
	try(questions[1], inbox.ByExpiry, inbox.Expired)

	_, c, questions := k.waiting(seat("c", "C?"))
	_, err := k.in.Stop(k.ctx, k.ann, c.ID)
	k.must("Stop", err)
	try(questions[0], inbox.ByStop, inbox.Withdrawn)

	claim, _, held := k.held(seat("", "D?"), seat("", "E?"))
	k.must("Withdraw", k.in.Withdraw(k.ctx, claim, held[0].ID, "The server no longer asks."))
	try(held[0], inbox.ByServer, inbox.Withdrawn)
	_, err = k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Failed, IsError: true})
	k.must("Finish", err)
	try(held[1], inbox.ByCallEnd, inbox.Withdrawn)
}

func answeredTwice(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"))
	a := inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"seat":"12A"}`), Key: "once"}
	first := k.answer(questions[0], a)
	second := k.answer(questions[0], a)
	if diff := cmp.Diff(first, second, cmpopts.EquateEmpty()); diff != "" {
		k.t.Errorf("the same answer gave another result (-first +second):\n%s", diff)
	}
	a.Content = json.RawMessage(`{"seat":"12B"}`)
	_, err := k.in.Answer(k.ctx, k.ann, questions[0].ID, a)
	k.is("another answer with the key", err, inbox.ErrKeyReused)
	a.Key = ""
	_, err = k.in.Answer(k.ctx, k.ann, questions[0].ID, a)
	k.is("another answer", err, inbox.ErrClosed)
	if got := k.state(c.ID, inbox.Ready); got.Version != c.Version+1 {
		k.t.Errorf("one answer made versions %d to %d", c.Version, got.Version)
	}
}

func takenBack(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"), seat("b", "B?"))
	_, err := k.in.TakeBack(k.ctx, k.ann, questions[0].ID)
	k.is("TakeBack of an open question", err, inbox.ErrOpen)
	k.accept(questions[0])
	q, err := k.in.TakeBack(k.ctx, k.ann, questions[0].ID)
	k.must("TakeBack", err)
	if q.State != inbox.Open || q.Answer != nil || q.ClosedBy != "" || !q.Closed.IsZero() || string(q.Suggested) != `{"seat":"12A"}` {
		k.t.Errorf("taken back: %+v", q)
	}
	k.decline(questions[0])
	k.answer(questions[1], inbox.Answer{Action: inbox.Cancel})
	k.state(c.ID, inbox.Ready)
	_, err = k.in.TakeBack(k.ctx, k.ann, questions[1].ID)
	k.must("TakeBack when the round is complete", err)
	k.state(c.ID, inbox.Waiting)
	_, _, err = k.in.ClaimNext(k.ctx, nil)
	k.is("ClaimNext after it", err, inbox.ErrNothing)
	k.accept(questions[1])

	// A machine that gave its claim back has sent nothing.
	claim, _, err := k.in.Claim(k.ctx, k.ann, c.ID)
	k.must("Claim", err)
	_, err = k.in.TakeBack(k.ctx, k.ann, questions[0].ID)
	k.is("TakeBack while claimed", err, inbox.ErrTooLate)
	k.must("Release", k.in.Release(k.ctx, claim))
	_, err = k.in.TakeBack(k.ctx, k.ann, questions[0].ID)
	k.must("TakeBack after the release", err)
}

func takenBackTooLate(k *kit) {
	late := func(q *inbox.Question, when string) {
		k.t.Helper()
		_, err := k.in.TakeBack(k.ctx, k.ann, q.ID)
		k.is("TakeBack "+when, err, inbox.ErrTooLate)
		got, err := k.in.Question(k.ctx, k.ann, q.ID)
		k.must("Question", err)
		c, err := k.in.Call(k.ctx, k.ann, q.Call)
		k.must("Call", err)
		if c.CanTakeBack(got) {
			k.t.Errorf("CanTakeBack %s says yes", when)
		}
	}
	_, c, questions := k.waiting(seat("a", "A?"))
	k.accept(questions[0])
	claim := k.again(c.ID)
	late(questions[0], "when sent")
	_, err := k.in.Uncertain(k.ctx, claim, "no reply")
	k.must("Uncertain", err)
	late(questions[0], "when uncertain")
	_, err = k.in.Resolve(k.ctx, k.ann, c.ID, inbox.SendAgain, "")
	k.must("Resolve", err)
	late(questions[0], "when sent before")
	claim = k.again(c.ID)
	_, err = k.in.Block(k.ctx, claim, inbox.ReasonSignIn, "Sign in.")
	k.must("Block", err)
	late(questions[0], "when blocked after it was sent")
	_, err = k.in.UnblockFor(k.ctx, k.ann, "flights", inbox.ReasonSignIn)
	k.must("UnblockFor", err)
	_, _, next := k.park(k.again(c.ID), seat("b", "B?"))
	late(questions[0], "in an earlier round")
	k.accept(next[0])
	_, err = k.in.Stop(k.ctx, k.ann, c.ID)
	k.must("Stop", err)
	late(next[0], "when stopped")
}

func declinedRest(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"), seat("b", "B?"), visit("c", "https://air.example"))
	k.accept(questions[1])
	list, err := k.in.DeclineRest(k.ctx, k.ann, c.ID, inbox.Answer{Via: "inbox"})
	k.must("DeclineRest", err)
	if len(list) != 2 || list[0].State != inbox.Declined || list[1].Answer.Via != "inbox" {
		k.t.Errorf("DeclineRest = %v", list)
	}
	k.asked(questions[1].ID, inbox.Accepted)
	if got := k.state(c.ID, inbox.Ready); got.Version != c.Version+1 {
		k.t.Errorf("versions %d to %d", c.Version, got.Version)
	}
	list, err = k.in.DeclineRest(k.ctx, k.ann, c.ID, inbox.Answer{Via: "inbox"})
	if len(list) != 0 || err != nil {
		k.t.Errorf("DeclineRest again = %v, %v", list, err)
	}
}

// nothingReadable looks for texts of people, servers and models in the rows.
func nothingReadable(k *kit) {
	secrets := []string{"SECRET-argument", "SECRET-state", "SECRET-message", "SECRET-answer", "SECRET-result", "SECRET-detail", "SECRET-note", "SECRET-endpoint"}
	c, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{
		Server: "s", Method: "tools/call", Endpoint: "https://SECRET-endpoint.example", Arguments: json.RawMessage(`"SECRET-argument"`),
	})
	k.must("Compose", err)
	claim := k.again(c.ID)
	c, err = k.in.Park(k.ctx, claim, inbox.Asked{RequestState: "SECRET-state", Questions: []inbox.NewQuestion{{Key: "a", Params: json.RawMessage(
		`{"message":"SECRET-message","requestedSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`)}}})
	k.must("Park", err)
	q := k.round(c)[0]
	k.answer(q, inbox.Answer{Action: inbox.Accept, Content: json.RawMessage(`{"x":"SECRET-answer"}`), Key: "SECRET-key"})
	claim = k.again(c.ID)
	_, err = k.in.Finish(k.ctx, claim, inbox.Outcome{State: inbox.Done, Detail: "SECRET-detail", Result: json.RawMessage(`"SECRET-result"`)})
	k.must("Finish", err)
	k.view(k.ann.Key(), func(tx inbox.Tx) error {
		call, err := tx.Call(c.ID)
		if err != nil {
			return err
		}
		question, err := tx.Question(q.ID)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%+v %s %s %+v %s %s", call, call.Detail, call.Content, question, question.Detail, question.Content)
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				k.t.Errorf("%s can be read in a row", secret)
			}
		}
		return nil
	})
	// A sealed part that is moved to another row does not open.
	other := k.compose()
	k.update(k.ann.Key(), func(tx inbox.Tx) error {
		from, err := tx.Call(c.ID)
		if err != nil {
			return err
		}
		to, err := tx.Call(other.ID)
		if err != nil {
			return err
		}
		to.Content = from.Content
		return tx.PutCall(to)
	})
	if _, err := k.in.Call(k.ctx, k.ann, other.ID); err == nil {
		k.t.Error("a sealed part opened in another row")
	}
}
