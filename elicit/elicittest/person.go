package elicittest

import (
	"encoding/json"
	"sync"
	"testing"
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

// Answer is what a person does with a question.
type Answer struct {
	Action  string // "accept", "decline", "cancel", or something wrong
	Content any    // marshalled; a json.RawMessage goes out as it is

	// Raw is sent in place of a result with Action and Content.
	Raw json.RawMessage

	// Absent sends no answer at all. Before 2026-07-28 that is an error.
	Absent bool
}

// Accept answers with content, which marshals to an object.
func Accept(content any) Answer { return Answer{Action: "accept", Content: content} }

// Decline refuses the question.
func Decline() Answer { return Answer{Action: "decline"} }

// Cancel puts the question away undecided.
func Cancel() Answer { return Answer{Action: "cancel"} }

func (a Answer) result() json.RawMessage {
	if a.Raw != nil {
		return a.Raw
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
