package inbox

import (
	"encoding/json"
	"fmt"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/internal/elicitation"
)

// CheckError says what does not fit. It matches [ErrCheck].
type CheckError struct {
	Question QuestionID
	Errors   form.Errors // per field
	Schema   error       // the question itself cannot be answered with accept
}

func (e *CheckError) Error() string {
	if e.Schema != nil {
		return fmt.Sprintf("inbox: the question cannot be accepted: %v", e.Schema)
	}
	return fmt.Sprintf("inbox: the answer does not fit the question: %v", e.Errors)
}

// Is makes it match [ErrCheck].
func (e *CheckError) Is(target error) bool { return target == ErrCheck }

// Unwrap returns the errors of the fields or of the schema.
func (e *CheckError) Unwrap() error {
	if e.Schema != nil {
		return e.Schema
	}
	return e.Errors
}

// schema reads the form of a question.
func schema(params json.RawMessage) (*form.Schema, error) {
	p, err := elicitation.Read(params)
	if err != nil {
		return nil, err
	}
	return form.Parse(p.Schema)
}

// check says whether content is an answer to the question (MCP 2026-07-28
// elicitation, "Form Mode Security" C1; MCP 2025-06-18 elicitation, "Security
// Considerations" B1).
func check(q *Question, content json.RawMessage) error {
	s, err := schema(q.Params)
	if err != nil {
		return &CheckError{Question: q.ID, Schema: err}
	}
	if errs := s.Check(content); len(errs) > 0 {
		return &CheckError{Question: q.ID, Errors: errs}
	}
	return nil
}

// fitting returns what of an earlier answer can be filled into a question:
// the members that it still has and whose values still pass. Nil if none.
func fitting(params, earlier json.RawMessage) json.RawMessage {
	s, err := schema(params)
	if err != nil {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(earlier, &members) != nil {
		return nil
	}
	for name := range members {
		if _, ok := s.Field(name); !ok {
			delete(members, name)
		}
	}
	wrong := map[string]bool{}
	for _, e := range s.Check(object(s, members)) {
		wrong[e.Field] = true
	}
	for name := range wrong {
		delete(members, name)
	}
	if len(members) == 0 {
		return nil
	}
	return object(s, members)
}

// object writes the members in the order of the form, their values as they are.
func object(s *form.Schema, members map[string]json.RawMessage) json.RawMessage {
	b := []byte{'{'}
	for _, field := range s.Fields() {
		value, ok := members[field.Name]
		if !ok {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		name, _ := json.Marshal(field.Name) // a string always encodes
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}')
}
