package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/parley-mcp/parley/internal/elicitation"
)

// Asked is a result that asks instead of ending the call.
type Asked struct {
	RequestState string // at most 1 MiB
	EmptyState   bool   // the server gave request state, and it is ""
	ExpiresAt    time.Time
	Questions    []NewQuestion // at least one; without questions it is [Inbox.Again]
}

// Park stores what the server asks. Look at the state of the returned call:
//   - waiting: the person is asked;
//   - stopped: they had stopped it meanwhile, so nothing more will be sent;
//   - failed: with too_many_rounds, too_many_questions, too_large or keeps_asking.
func (in *Inbox) Park(ctx context.Context, claim *Claim, asked Asked) (*Call, error) {
	return in.with(withAhead(ctx, newQuestions), claim, "park", onlySent, func(w *work, c *callRecord) error {
		return w.park(c, asked, claim.Limits)
	})
}

// newQuestions is what is read when a server asks.
var newQuestions = Ahead{Questions: true, Recent: rateTime}

// asksOfPage is how often a server may ask for one page, in rounds of its call. A
// server asks again while the person is not done there, so that these are more
// patient than rounds with new questions; a person has agreed to each.
const asksOfPage = 4

// rateTime is the time that Options.QuestionsPerMinute is about.
const rateTime = time.Minute

func (w *work) park(c *callRecord, asked Asked, limits Limits) error { //nolint:gocognit // one list of reasons to refuse, then one of changes
	if len(asked.Questions) == 0 {
		return fmt.Errorf("%w: nothing is asked", ErrInvalid)
	}
	if c.StopWanted {
		return w.moveCall(c, Stopped, ReasonStopped, "You stopped it while it was asking. Nothing more was sent.")
	}
	if err := w.enabled(); errors.Is(err, ErrDisabled) {
		return w.moveCall(c, Denied, ReasonDisabled, disabledSentence+"Nothing more was sent.")
	} else if err != nil {
		return err
	}
	if len(asked.RequestState) > maxParams {
		return w.moveCall(c, Failed, ReasonTooLarge, "The server sent more state than fits.")
	}
	before, err := w.asked(c.ID)
	if err != nil {
		return err
	}
	expires, deadline := w.now.Add(w.in.options.QuestionTime), time.Time{}
	if !asked.ExpiresAt.IsZero() {
		deadline = asked.ExpiresAt.UTC().Truncate(time.Microsecond)
		expires = deadline
	}
	// First everything is read and judged; nothing changes if it is refused.
	var fresh []*questionRecord
	again := map[*questionRecord]*questionRecord{} // url questions that were accepted and are not finished
	for i, n := range asked.Questions {
		q, err := w.newQuestion(c, n)
		if err != nil {
			return err
		}
		if q == nil {
			return w.moveCall(c, Failed, ReasonTooLarge, "The server's question is larger than fits.")
		}
		q.Round, q.Position = c.Round+1, i
		w.expiresAt(q, expires)
		declined, earlier := history(before, &q.Question)
		if declined >= 2 {
			return w.moveCall(c, Failed, ReasonKeepsAsking, "The server keeps asking what was declined before.")
		}
		if q.Mode == URL && q.Key != "" && earlier != nil && earlier.State == Accepted && again[earlier] == nil {
			if earlier.Asked >= asksOfPage*lower(w.in.options.Rounds, limits.Rounds) {
				return w.moveCall(c, Failed, ReasonTooManyRounds, fmt.Sprintf("The server asked %d times for one page and still asks %q.", earlier.Asked, clip(q.Message)))
			}
			again[earlier] = q
			continue
		}
		if err := w.suggest(c, q, earlier); err != nil {
			return err
		}
		fresh = append(fresh, q)
	}
	if n := len(fresh); n > 0 { // a url question asked again is no new round
		if c.rounds >= lower(w.in.options.Rounds, limits.Rounds) {
			return w.moveCall(c, Failed, ReasonTooManyRounds, fmt.Sprintf("The server asked in %d rounds and still asks %q.", c.rounds, clip(fresh[n-1].Message)))
		}
		over, err := w.overLimit(c, n, limits)
		if err != nil {
			return err
		}
		if over != nil {
			if err := w.refused(c.Server, n, over.kind); err != nil {
				return err
			}
			return w.moveCall(c, Failed, ReasonTooManyQuestions, "The server asks too many questions at once.")
		}
		c.rounds++
	}
	if c.State == Sent { // what a held connection left open is gone with it
		if err := w.withdrawOpen(c, ByCallEnd); err != nil {
			return err
		}
		if err := w.drop(c); err != nil {
			return err
		}
	}
	c.Round++
	c.RequestState, c.EmptyState, c.Deadline = asked.RequestState, asked.EmptyState, deadline
	c.RoundSends, c.MarkedBefore, c.Held = 0, false, false
	c.resending, c.resendUntil = false, time.Time{}
	c.Deaths, c.Resends, c.agains, c.asks = 0, 0, 0, len(asked.Questions)
	for _, old := range before {
		if q := again[old]; q != nil {
			if err := w.askAgain(old, q); err != nil {
				return err
			}
		}
	}
	for _, q := range fresh {
		if err := w.addQuestion(q); err != nil {
			return err
		}
	}
	return w.moveCall(c, Waiting, "", "")
}

// clip keeps a quotation short.
func clip(text string) string {
	runes := []rune(text)
	if len(runes) > 80 {
		return string(runes[:80]) + "…"
	}
	return text
}

// newQuestion reads a question as the server sent it. It returns nil for one
// that is too large. It is not stored yet.
func (w *work) newQuestion(c *callRecord, n NewQuestion) (*questionRecord, error) {
	if len(n.Params) > maxParams || len(n.Key) > maxParams {
		return nil, nil
	}
	if err := checkText("the note", n.Note); err != nil {
		return nil, err
	}
	sum, err := digest(n.Params)
	if err != nil {
		return nil, fmt.Errorf("%w: the params of a question are %w", ErrInvalid, err)
	}
	p, err := elicitation.Read(n.Params)
	if err != nil {
		return nil, fmt.Errorf("%w: a question cannot be used: %w", ErrInvalid, err)
	}
	q := &questionRecord{Question: Question{
		ID: QuestionID(randomID("q_")), Call: c.ID, Principal: w.principal,
		Conversation: c.Conversation, Server: c.Server, Key: n.Key, Digest: sum,
		Mode: Form, Message: p.Message, Params: slices.Clone(n.Params), Asked: 1,
		State: Open, Note: n.Note, Created: w.now,
	}}
	switch {
	case p.Mode == elicitation.Form:
	case p.Mode == elicitation.URL && p.URL != "":
		q.Mode, q.URL = URL, p.URL
	default:
		return nil, fmt.Errorf("%w: a question has an unknown mode, or mode url without a url", ErrInvalid)
	}
	return q, nil
}

func (w *work) addQuestion(q *questionRecord) error {
	keep(&w.questions, q.ID, q)
	w.touchQuestion(q)
	return w.auditAsked(q)
}

func (w *work) auditAsked(q *questionRecord) error {
	e := w.auditQuestion(AuditAsked, q)
	e.Digest = w.digest(string(q.ID), q.Params)
	return w.audit(e)
}

// note adds a sentence.
func (q *questionRecord) note(sentence string) {
	if q.Note != "" {
		q.Note += " "
	}
	q.Note += sentence
}

// history looks through the earlier questions of the call for the same one. It
// counts how often a person declined or cancelled it, and returns the latest.
func history(before []*questionRecord, q *Question) (declined int, latest *questionRecord) {
	for _, old := range before {
		if !sameQuestion(&old.Question, q) {
			continue
		}
		if old.State == Declined || old.State == Cancelled {
			declined++
		}
		latest = old
	}
	return declined, latest
}

// askAgain turns an accepted url question into one that is not finished yet:
// it is the same card. A fresh address needs fresh consent.
func (w *work) askAgain(old, q *questionRecord) error {
	to, note := Opened, "The server says that it is not finished yet."
	if q.URL != old.URL {
		to, note = Open, "The server asks again with a new address."
	}
	if err := w.reopen(old, to); err != nil {
		return err
	}
	old.Key, old.Digest, old.Message, old.Params, old.URL = q.Key, q.Digest, q.Message, q.Params, q.URL
	old.Round, old.Position = q.Round, q.Position
	w.expiresAt(old, q.ExpiresAt)
	old.Asked++
	old.Note = q.Note
	old.note(note)
	old.shown, old.checks = nil, 0
	return w.auditAsked(old)
}

// suggest fills in what the person answered before: to the same question in
// this call, or in the call that this one runs again.
func (w *work) suggest(c *callRecord, q, earlier *questionRecord) error {
	if earlier != nil {
		switch earlier.State {
		case Accepted:
			q.note("The server asks this again; your answer was sent before.")
		case Declined, Cancelled:
			q.note("The server asks this again; you said no before.")
		}
		if q.Mode == Form && earlier.Answer != nil {
			q.Suggested = slices.Clone(earlier.Answer.Content)
		}
		return nil
	}
	if q.Mode != Form {
		return nil
	}
	// A call that is run again and again still finds the last answers: a few
	// steps back, each an indexed look-up.
	for id, steps := c.Replaces, 0; id != "" && steps < 5; steps++ {
		old, err := w.anyCall(id)
		if errors.Is(err, ErrNotFound) {
			return nil // past its retention
		}
		if err != nil {
			return err
		}
		questions, err := w.asked(id)
		if err != nil {
			return err
		}
		if q.Suggested = earlierAnswer(questions, q); q.Suggested != nil {
			return nil
		}
		id = old.Replaces
	}
	return nil
}

func earlierAnswer(questions []*questionRecord, q *questionRecord) json.RawMessage {
	for _, old := range slices.Backward(questions) {
		if old.Mode == Form && old.Digest == q.Digest && old.Answer != nil && old.Answer.Content != nil {
			return slices.Clone(old.Answer.Content)
		}
	}
	for _, old := range slices.Backward(questions) {
		if old.Mode == Form && q.Key != "" && baseKey(old.Key) == baseKey(q.Key) && old.Answer != nil && old.Answer.Content != nil {
			if fits := fitting(q.Params, old.Answer.Content); fits != nil {
				return fits
			}
		}
	}
	return nil
}

// overLimit is a limit that questions are over. The server is told of one reason for
// both of which there are; kind is which it was.
type overLimit struct {
	LimitError
	kind string
}

// overLimit says whether n more questions of the call's server are too many
// for this person.
func (w *work) overLimit(c *callRecord, n int, limits Limits) (*overLimit, error) {
	open, recent, err := w.tx.CountQuestions(c.Server, w.now.Add(-rateTime))
	if err != nil {
		return nil, err
	}
	if limit := lower(w.in.options.OpenQuestions, limits.OpenQuestions); open+n > limit {
		return &overLimit{LimitError{Reason: ReasonTooManyQuestions, Limit: limit}, ReasonTooManyQuestions}, nil
	}
	// MCP 2025-11-25 elicitation, "Security Considerations" C5: limit the rate.
	if limit := lower(w.in.options.QuestionsPerMinute, limits.QuestionsPerMinute); recent+n > limit {
		return &overLimit{LimitError{Reason: ReasonTooManyQuestions, Limit: limit}, ReasonPerMinute}, nil
	}
	return nil, nil
}

// Answers returns what a resume sends: for each wire key of the round the raw
// result of its question. An expired question is a cancel on the wire; url
// answers and refusals have no content. It is empty if nothing was asked. The
// claim has brought them, and nobody takes one back after it: whether the claim
// still holds is said by [Inbox.Mark]. The only error is that of ctx.
func (in *Inbox) Answers(ctx context.Context, claim *Claim) (map[string]json.RawMessage, error) {
	return maps.Clone(claim.answers), ctx.Err()
}

// answers are those of the call's present round.
func (w *work) answers(c *callRecord) (map[string]json.RawMessage, error) {
	answers := map[string]json.RawMessage{}
	questions, err := w.round(c)
	if err != nil {
		return nil, err
	}
	for _, q := range questions {
		if q.fault != nil {
			return nil, q.fault
		}
		answers[q.Key] = q.wire()
	}
	return answers, nil
}

// wire is the ElicitResult of a closed question. It is put together by hand:
// encoding/json would rewrite the content.
func (q *questionRecord) wire() json.RawMessage {
	a := q.outcome()
	b := []byte(`{"action":"` + string(a.Action) + `"`)
	if a.Content != nil {
		b = append(append(b, `,"content":`...), a.Content...)
	}
	return append(b, '}')
}

// outcome is the answer as the server gets it.
func (q *questionRecord) outcome() *Answer {
	switch {
	case q.Answer != nil:
		return q.Answer
	case q.State == Accepted: // by the server's word, and for the host alone: see [Inbox.Complete]
		return &Answer{Action: Accept, At: q.Closed, By: q.Principal, Via: "completion"}
	}
	return &Answer{Action: Cancel, At: q.Closed, By: q.Principal, Via: "expiry"}
}
