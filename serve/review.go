package serve

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/parley-mcp/parley/form"

	"github.com/parley-mcp/parley/serve/client"
)

// review lists what content holds, in the order of the fields. Values that equal
// suggested (an earlier answer) or the field's default are marked as such.
func review(schema *form.Schema, content, suggested json.RawMessage) (rows []client.ReviewRow, omitted []client.OmittedField) {
	sent, earlier := members(content), members(suggested)
	rows, omitted = []client.ReviewRow{}, []client.OmittedField{}
	for _, line := range schema.Lines(content) {
		value, ok := sent[line.Name]
		if !ok {
			omitted = append(omitted, client.OmittedField{Name: line.Name, Label: line.Label})
			continue
		}
		row := client.ReviewRow{Name: line.Name, Label: line.Label, Value: line.Text, From: "you"}
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
