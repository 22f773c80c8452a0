package elicittest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Questions reads the questions of an input_required result, in the order of
// the bytes.
func Questions(result json.RawMessage) ([]Question, error) {
	var body struct {
		InputRequests json.RawMessage `json:"inputRequests"`
	}
	if err := json.Unmarshal(result, &body); err != nil {
		return nil, fmt.Errorf("elicittest: reading input requests: %w", err)
	}
	if body.InputRequests == nil {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(body.InputRequests))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.New("elicittest: inputRequests is not an object")
	}
	var questions []Question
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string) // all keys are
		var request struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := decoder.Decode(&request); err != nil {
			return nil, err
		}
		if request.Method != "elicitation/create" {
			return nil, fmt.Errorf("elicittest: input request %q is a %q", key, request.Method)
		}
		question, err := newQuestion(key, request.Params)
		if err != nil {
			return nil, err
		}
		questions = append(questions, question)
	}
	return questions, nil
}

func newQuestion(key string, params json.RawMessage) (Question, error) {
	q := Question{Key: key, Params: params}
	var body struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		URL     string          `json:"url"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}
	if err := json.Unmarshal(params, &body); err != nil {
		return Question{}, fmt.Errorf("elicittest: reading a question: %w", err)
	}
	q.Mode, q.Message, q.URL, q.Schema = body.Mode, body.Message, body.URL, body.Schema
	if q.Mode == "" {
		q.Mode = "form"
	}
	return q, nil
}
