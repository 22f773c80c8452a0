package elicit

import (
	"encoding/json"
	"fmt"
	"time"
)

// continuation is what a call knows between two runs of its handler. It is
// plain data: modern clients carry it, sealed, as the request state; for
// legacy clients it lives on the stack of the one run.
type continuation struct {
	Call           string              `json:"call"`        // random id of the call
	IdempotencyKey string              `json:"idempotency"` // for the handler's writes
	Began          time.Time           `json:"began,omitzero"`
	Round          int                 `json:"round"` // rounds that ended; in legacy calls, those that began
	Asked          map[string]asking   `json:"asked,omitempty"`
	Pending        []pending           `json:"pending,omitempty"`
	Answers        map[string][]answer `json:"answers,omitempty"`
	Memos          map[string]memo     `json:"memos,omitempty"`
}

// asking counts, per key of the author.
type asking struct {
	Times int `json:"times"`           // a wire key is used once, so this numbers them
	Wrong int `json:"wrong,omitempty"` // answers that did not fit, since the last that did
}

// pending is a question of this round that has no answer yet.
type pending struct {
	Key     string    `json:"key"`
	Wire    string    `json:"wire"`
	Digest  string    `json:"digest"`
	Expires time.Time `json:"expires,omitzero"`
}

// answer is what came back for a question. It is judged each time the handler
// asks, since only then is the question itself there again.
type answer struct {
	Digest  string          `json:"digest"` // of the question that was answered
	Action  string          `json:"action"` // as sent; empty if the shape was wrong
	Content json.RawMessage `json:"content,omitempty"`
	Late    bool            `json:"late,omitempty"`  // after the question's own limit
	Lossy   bool            `json:"lossy,omitempty"` // read by a parser that rounds
}

type memo struct {
	Value  json.RawMessage `json:"value,omitempty"`
	Packed []byte          `json:"packed,omitempty"` // the value compressed, where that is shorter
	At     time.Time       `json:"at"`
}

// wireKey names one asking. MCP 2026-07-28 mrtr, "Server Requirements" S1: keys are unique within a request;
// a task may not even reuse one over its life, so the number only rises.
func wireKey(key string, times int) string {
	if times <= 1 {
		return key
	}
	return fmt.Sprintf("%s#%d", key, times)
}

// parseAnswer reads one result of elicitation/create. What has another shape
// comes back without an action.
func parseAnswer(raw json.RawMessage) answer {
	// A map, because a struct would take "ACTION" for "action".
	var result map[string]json.RawMessage
	var action string
	if json.Unmarshal(raw, &result) != nil || json.Unmarshal(result["action"], &action) != nil {
		return answer{}
	}
	a := answer{Action: shorten(action, 32)}
	if a.Action == "accept" {
		// MCP elicitation, "Response Actions": content belongs to accept. On
		// decline and cancel it is dropped, whatever it is.
		a.Content = result["content"]
	}
	return a
}

// take moves the responses to pending questions into the answers. Responses
// under any other key are dropped, as MCP 2026-07-28 mrtr,
// "Error Handling" S3, S4 want it; questions without a response stay unanswered.
func (c *continuation) take(responses map[string]response, now time.Time) {
	for _, p := range c.Pending {
		r, ok := responses[p.Wire]
		if !ok {
			continue
		}
		a := parseAnswer(r.raw)
		a.Digest = p.Digest
		a.Lossy = r.lossy
		a.Late = !p.Expires.IsZero() && now.After(p.Expires)
		c.record(p.Key, a)
	}
	c.Pending = nil
}

func (c *continuation) record(key string, a answer) {
	if c.Answers == nil {
		c.Answers = make(map[string][]answer)
	}
	c.Answers[key] = append(c.Answers[key], a)
}

// find returns the answer to exactly this question, if there is one.
func (c *continuation) find(key, digest string) (answer, bool) {
	for _, a := range c.Answers[key] {
		if a.Digest == digest {
			return a, true
		}
	}
	return answer{}, false
}

func (c *continuation) forget(key, digest string) {
	kept := c.Answers[key][:0]
	for _, a := range c.Answers[key] {
		if a.Digest != digest {
			kept = append(kept, a)
		}
	}
	c.Answers[key] = kept
}

// ask counts one more asking of key and returns its wire key.
func (c *continuation) ask(key string) string {
	if c.Asked == nil {
		c.Asked = make(map[string]asking)
	}
	count := c.Asked[key]
	count.Times++
	c.Asked[key] = count
	return wireKey(key, count.Times)
}
