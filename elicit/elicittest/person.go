package elicittest

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Revisions are the revisions of MCP that have elicitation, oldest first. A
// tool works if its test passes with each.
var Revisions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

// Question is one elicitation request as it came over the wire.
type Question struct {
	Key     string          // the key on the wire; empty before 2026-07-28
	Mode    string          // "form" or "url"
	Message string          // what the person reads
	URL     string          // in URL mode
	Schema  json.RawMessage // in form mode: requestedSchema, byte by byte
	Params  json.RawMessage // all of the request's params
}

// Answer is what a person does with a question. The functions that return one
// are a script's lines; each works in every revision, over HTTP and over pipes.
type Answer struct {
	Action  string // "accept", "decline", "cancel", or something wrong
	Content any    // marshalled; a json.RawMessage goes out as it is

	// Raw is sent in place of a result with Action and Content.
	Raw json.RawMessage

	// Absent sends no answer at all. Before 2026-07-28 that is an error.
	Absent bool

	wrong, gone, twice, replay bool
	slow                       time.Duration
	header                     http.Header
}

// Accept answers with content, which marshals to an object.
func Accept(content any) Answer { return Answer{Action: "accept", Content: content} }

// Decline refuses the question.
func Decline() Answer { return Answer{Action: "decline"} }

// Cancel puts the question away undecided.
func Cancel() Answer { return Answer{Action: "cancel"} }

// Wrong accepts with content that fits no form: each field has an object in
// place of its value. A page is accepted with content, which pages do not have.
func Wrong() Answer { return Answer{Action: "accept", wrong: true} }

// Slow gives an answer after a while, unless the call is cancelled before.
func Slow(wait time.Duration, answer Answer) Answer {
	answer.slow = wait
	return answer
}

// Disappear is a person who is never seen again: the client ends its session, or
// its connection, with the question open, and the call fails with [ErrGone].
func Disappear() Answer { return Answer{gone: true} }

// Twice gives an answer two times at once, as a client does that lost patience.
// In 2026-07-28 the second reply is in [Result.Again].
func Twice(answer Answer) Answer {
	answer.twice = true
	return answer
}

// Replay gives an answer, and gives it again when the call has ended: in
// 2026-07-28 with the request state of then. The reply is in [Result.Again]; it is
// empty before 2026-07-28, where an answer has no result of its own.
func Replay(answer Answer) Answer {
	answer.replay = true
	return answer
}

// By gives an answer as another user: with these HTTP headers in addition, such
// as their Authorization. The server has to refuse it. Over pipes there are no
// users, so there it is an error of the test.
func By(header http.Header, answer Answer) Answer {
	answer.header = header
	return answer
}

// result is the answer to a question on the wire.
func (a Answer) result(q Question) json.RawMessage {
	if a.Raw != nil {
		return a.Raw
	}
	if a.wrong {
		a.Content = q.misfit()
	}
	text, err := json.Marshal(struct {
		Action  string `json:"action"`
		Content any    `json:"content,omitempty"`
	}{a.Action, a.Content})
	if err != nil {
		panic("elicittest: content does not marshal: " + err.Error())
	}
	return text
}

// misfit is content that does not fit the question.
func (q Question) misfit() map[string]any {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(q.Schema, &schema)
	content := map[string]any{}
	for name := range schema.Properties {
		content[name] = map[string]any{"not": "a value"}
	}
	return content
}

// Person answers questions. It is called for one question at a time.
type Person func(Question) Answer

// Script is a person who gives the answers in turn. The test fails if there
// are more questions than answers, and at its end if there are fewer.
func Script(t testing.TB, answers ...Answer) Person {
	t.Helper()
	var mu sync.Mutex
	next := 0
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if next < len(answers) && !t.Failed() {
			t.Errorf("elicittest: %d of %d answers were not asked for", len(answers)-next, len(answers))
		}
	})
	return func(q Question) Answer {
		mu.Lock()
		defer mu.Unlock()
		if next >= len(answers) {
			t.Errorf("elicittest: no answer left for %q", q.Message)
			return Cancel()
		}
		next++
		return answers[next-1]
	}
}
