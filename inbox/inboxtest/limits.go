package inboxtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

var limitTests = map[string]func(*kit){
	"too many again":       tooManyAgain,
	"keeps asking":         keepsAsking,
	"too many rounds":      tooManyRounds,
	"too many questions":   tooManyQuestions,
	"questions per minute": questionsPerMinute,
	"limits of one server": limitsOfOneServer,
	"too large":            tooLarge,
	"bad questions":        badQuestions,
}

func tooManyAgain(k *kit) {
	claim, _ := k.sent(inbox.Modern)
	for i := 0; ; i++ {
		c, err := k.in.Again(k.ctx, claim, "s", 0)
		k.must("Again", err)
		if c.State != inbox.Ready {
			if i != 25 || c.State != inbox.Failed || c.Reason != inbox.ReasonTooManyRounds {
				k.t.Errorf("after %d times: %s %s", i, c.State, c.Reason)
			}
			return
		}
		claim = k.again(c.ID)
	}
}

func keepsAsking(k *kit) {
	_, c, questions := k.waiting(seat("a", "A?"))
	k.decline(questions[0])
	_, _, questions = k.park(k.again(c.ID), seat("a#2", "A?"))
	if questions[0].Note == "" || questions[0].Suggested != nil {
		k.t.Errorf("asked again: %+v", questions[0])
	}
	k.answer(questions[0], inbox.Answer{Action: inbox.Cancel})
	c, err := k.in.Park(k.ctx, k.again(c.ID), inbox.Asked{Questions: []inbox.NewQuestion{seat("b", "B?"), seat("a#3", "A?")}})
	k.must("Park", err)
	if c.State != inbox.Failed || c.Reason != inbox.ReasonKeepsAsking {
		k.t.Errorf("the third time: %s %s", c.State, c.Reason)
	}
	if all, err := k.in.Questions(k.ctx, k.ann, inbox.QuestionFilter{Call: c.ID}); len(all) != 2 || err != nil {
		k.t.Errorf("a refused round left %d questions, %v", len(all), err)
	}

	// A different question, or one that was accepted, is no nagging.
	_, c, questions = k.waiting(seat("a", "A?"))
	k.decline(questions[0])
	_, _, questions = k.park(k.again(c.ID), seat("a", "A, please?"))
	k.decline(questions[0])
	_, _, questions = k.park(k.again(c.ID), seat("a", "A?"))
	k.accept(questions[0])
	k.park(k.again(c.ID), seat("a", "A?"))

	// A url question is the same with a fresh address too.
	_, c, questions = k.waiting(visit("air", "https://air.example/1"))
	k.decline(questions[0])
	_, _, questions = k.park(k.again(c.ID), visit("air#2", "https://air.example/2"))
	k.decline(questions[0])
	c, err = k.in.Park(k.ctx, k.again(c.ID), inbox.Asked{Questions: []inbox.NewQuestion{visit("air#3", "https://air.example/3")}})
	k.must("Park", err)
	if c.Reason != inbox.ReasonKeepsAsking {
		k.t.Errorf("url, the third time: %s %s", c.State, c.Reason)
	}
}

func tooManyRounds(k *kit) {
	claim, c := k.sent(inbox.Modern)
	for round := range 25 {
		k.clock.advance(time.Minute)
		_, _, questions := k.park(claim, seat(fmt.Sprint("k", round), fmt.Sprint("Round ", round)))
		k.accept(questions[0])
		claim = k.again(c.ID)
	}
	c, err := k.in.Park(k.ctx, claim, inbox.Asked{Questions: []inbox.NewQuestion{seat("k", "One more?")}})
	k.must("Park", err)
	if c.State != inbox.Failed || c.Reason != inbox.ReasonTooManyRounds || !strings.Contains(c.Detail, "One more?") {
		k.t.Errorf("round 26: %s %s %q", c.State, c.Reason, c.Detail)
	}
}

func tooManyQuestions(k *kit) {
	many := func(n int) (list []inbox.NewQuestion) {
		for i := range n {
			list = append(list, seat(fmt.Sprint("k", i), fmt.Sprint("Question ", i)))
		}
		return list
	}
	k.waiting(many(10)...)
	k.clock.advance(2 * time.Minute)
	k.waiting(many(9)...)
	k.clock.advance(2 * time.Minute)
	claim, _ := k.sent(inbox.Modern)
	c, err := k.in.Park(k.ctx, claim, inbox.Asked{Questions: many(2)})
	k.must("Park", err)
	if c.State != inbox.Failed || c.Reason != inbox.ReasonTooManyQuestions {
		k.t.Errorf("21 open questions: %s %s", c.State, c.Reason)
	}
	_, _, questions := k.waiting(many(1)...) // exactly 20
	held, _ := k.sent(inbox.Legacy)
	_, err = k.in.Hold(k.ctx, held, seat("", "One more?"))
	k.is("Hold of a 21st", err, inbox.ErrLimit)
	if e := (*inbox.LimitError)(nil); !errors.As(err, &e) || e.Reason != inbox.ReasonTooManyQuestions || e.Limit != 20 {
		k.t.Errorf("Hold: %v", err)
	}
	k.state(held.Call, inbox.Sent) // the server is told; the call goes on
	k.decline(questions[0])
	_, err = k.in.Hold(k.ctx, held, seat("", "One more?"))
	k.must("Hold after one was closed", err)
}

func questionsPerMinute(k *kit) {
	claim, _ := k.sent(inbox.Legacy)
	for i := range 10 {
		q, err := k.in.Hold(k.ctx, claim, seat("", fmt.Sprint("Question ", i)))
		k.must("Hold", err)
		k.accept(q)
	}
	_, err := k.in.Hold(k.ctx, claim, seat("", "The eleventh"))
	k.is("Hold of an eleventh", err, inbox.ErrLimit)
	// Another server, and another person, have their own count.
	other, err := k.in.Compose(k.ctx, k.ann, inbox.NewCall{Server: "trains", Method: "tools/call"})
	k.must("Compose", err)
	_, err = k.in.Hold(k.ctx, k.again(other.ID), seat("", "A?"))
	k.must("Hold of another server", err)
	k.clock.advance(time.Minute + time.Microsecond)
	_, err = k.in.Hold(k.ctx, claim, seat("", "The eleventh"))
	k.must("Hold a minute later", err)
}

func limitsOfOneServer(k *kit) {
	for name, test := range map[string]struct {
		limits inbox.Limits
		reason string
		limit  int
	}{
		"open":     {inbox.Limits{OpenQuestions: 2}, inbox.ReasonTooManyQuestions, 2},
		"minute":   {inbox.Limits{QuestionsPerMinute: 2, OpenQuestions: 30}, inbox.ReasonTooManyQuestions, 2},
		"rounds":   {inbox.Limits{Rounds: 2}, inbox.ReasonTooManyRounds, 2},
		"higher":   {inbox.Limits{OpenQuestions: 90, QuestionsPerMinute: 90, Rounds: 90}, inbox.ReasonTooManyQuestions, 10},
		"no limit": {inbox.Limits{}, inbox.ReasonTooManyQuestions, 10},
	} {
		k.clock.advance(2 * time.Minute)
		held, _ := k.sent(inbox.Legacy)
		held.Limits = test.limits
		for i := range test.limit {
			q, err := k.in.Hold(k.ctx, held, seat("", fmt.Sprint(name, " ", i)))
			k.must(name+": Hold", err)
			if test.limits.OpenQuestions != 2 {
				k.accept(q)
			}
		}
		_, err := k.in.Hold(k.ctx, held, seat("", "One more?"))
		if e := (*inbox.LimitError)(nil); !errors.As(err, &e) || e.Reason != test.reason || e.Limit != test.limit {
			k.t.Errorf("%s: Hold of one more: %v", name, err)
		}
		_, err = k.in.Finish(k.ctx, held, inbox.Outcome{State: inbox.Done})
		k.must("Finish", err)

		k.clock.advance(2 * time.Minute)
		modern, _ := k.sent(inbox.Modern)
		modern.Limits = test.limits
		var many []inbox.NewQuestion
		for i := range test.limit + 1 {
			many = append(many, seat(fmt.Sprint(i), fmt.Sprint(name, " ", i)))
		}
		if test.reason == inbox.ReasonTooManyRounds {
			continue // one round may ask much
		}
		c, err := k.in.Park(k.ctx, modern, inbox.Asked{Questions: many})
		k.must("Park", err)
		if c.State != inbox.Failed || c.Reason != test.reason {
			k.t.Errorf("%s: Park of %d: %s %s", name, len(many), c.State, c.Reason)
		}
	}
}

func tooLarge(k *kit) {
	big := strings.Repeat("x", 2<<20)
	for name, asked := range map[string]inbox.Asked{
		"state":  {RequestState: big, Questions: []inbox.NewQuestion{seat("a", "A?")}},
		"params": {Questions: []inbox.NewQuestion{seat("a", big)}},
		"key":    {Questions: []inbox.NewQuestion{seat(big, "A?")}},
	} {
		claim, _ := k.sent(inbox.Modern)
		c, err := k.in.Park(k.ctx, claim, asked)
		k.must("Park", err)
		if c.State != inbox.Failed || c.Reason != inbox.ReasonTooLarge {
			k.t.Errorf("%s: %s %s", name, c.State, c.Reason)
		}
	}
	claim, _ := k.sent(inbox.Legacy)
	_, err := k.in.Hold(k.ctx, claim, seat("", big))
	k.is("Hold", err, inbox.ErrLimit)
}

func badQuestions(k *kit) {
	claim, c := k.sent(inbox.Modern)
	_, err := k.in.Park(k.ctx, claim, inbox.Asked{})
	k.is("Park of nothing", err, inbox.ErrInvalid)
	for _, params := range []string{
		``, `null`, `[]`, `{`, `{} {}`, `{"mode":"voice"}`, `{"mode":"url"}`, `{"mode":1}`, `{"message":{}}`,
		// What two programs read in two ways.
		`{"mode":"url","URL":"https://air.example"}`, `{"message":"A?","Message":"B?"}`, `{"message":"A?","Mode":"url"}`, `{"message":"A?","message":"B?"}`,
		`{"mode":"url","url":"https://air.example/1","u\u0072l":"https://air.example/2"}`,
	} {
		_, err := k.in.Park(k.ctx, claim, inbox.Asked{Questions: []inbox.NewQuestion{seat("a", "A?"), {Key: "b", Params: json.RawMessage(params)}}})
		k.is("Park of "+params, err, inbox.ErrInvalid)
	}
	k.state(c.ID, inbox.Sent)
	if all, err := k.in.Questions(k.ctx, k.ann, inbox.QuestionFilter{}); len(all) != 0 || err != nil {
		k.t.Errorf("refused rounds left %d questions, %v", len(all), err)
	}
	// Keys are opaque.
	_, _, questions := k.park(claim, seat("", "A?"), seat("0", "B?"), seat("__proto__", "C?"), seat(strings.Repeat("k", 2048), "D?"))
	for _, q := range questions {
		k.accept(q)
	}
	answers, err := k.in.Answers(k.ctx, k.again(c.ID))
	if len(answers) != 4 || err != nil {
		k.t.Errorf("Answers = %v, %v", answers, err)
	}
	modern, _ := k.sent(inbox.Modern)
	_, err = k.in.Hold(k.ctx, modern, seat("", "A?"))
	k.is("Hold of a modern server", err, inbox.ErrInvalid)
}
