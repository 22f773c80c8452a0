package serve

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/parley-mcp/parley/form"
)

// A reviewRow is one value as it will leave, or has left, the person's hands. Value
// is text made on the server, so that no number passes through JavaScript.
type reviewRow struct {
	Name  string `json:"name"`
	Label string `json:"label"`
	Value string `json:"value"`
	// From is where the value comes from: you, default or earlier.
	From string `json:"from,omitempty"`
}

// An omittedRow is a field that is not part of the answer.
type omittedRow struct {
	Name  string `json:"name"`
	Label string `json:"label"`
}

// review lists what content holds, in the order of the fields. Values that equal
// suggested (an earlier answer) or the field's default are marked as such.
func review(schema *form.Schema, content, suggested json.RawMessage) (rows []reviewRow, omitted []omittedRow) {
	sent, earlier := members(content), members(suggested)
	rows, omitted = []reviewRow{}, []omittedRow{}
	for _, line := range schema.Lines(content) {
		value, ok := sent[line.Name]
		if !ok {
			omitted = append(omitted, omittedRow{Name: line.Name, Label: line.Label})
			continue
		}
		row := reviewRow{Name: line.Name, Label: line.Label, Value: line.Text, From: "you"}
		if len(line.Values) > 0 {
			row.Value = strings.Join(line.Values, ", ")
		}
		switch field, _ := schema.Field(line.Name); {
		case same(value, earlier[line.Name]):
			row.From = "earlier"
		case field.DefaultUsable && same(value, field.Default):
			row.From = "default"
		}
		rows = append(rows, row)
	}
	return rows, omitted
}

// members splits an object; content that is none has no members.
func members(object json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if len(object) == 0 || json.Unmarshal(object, &m) != nil {
		return nil
	}
	return m
}

// same compares two JSON values as written, but for white space between tokens.
func same(a, b json.RawMessage) bool {
	return len(b) > 0 && compact(a) == compact(b)
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
