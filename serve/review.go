package serve

import (
	"encoding/json"
	"strings"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/internal/plain"
)

// maxShown bounds one value in a review, in code points: the whole of it is sent.
const maxShown = 20_000

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
	for _, f := range schema.Fields() {
		value, ok := sent[f.Name]
		if !ok {
			omitted = append(omitted, omittedRow{Name: f.Name, Label: f.Label()})
			continue
		}
		from := "you"
		switch {
		case same(value, earlier[f.Name]):
			from = "earlier"
		case f.DefaultUsable && same(value, f.Default):
			from = "default"
		}
		rows = append(rows, reviewRow{Name: f.Name, Label: f.Label(), Value: shown(&f, value), From: from})
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

// same compares two JSON values as written, but for white space.
func same(a, b json.RawMessage) bool {
	return len(b) > 0 && compact(a) == compact(b)
}

func compact(raw json.RawMessage) string {
	var b strings.Builder
	inString := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case inString && c == '\\' && i+1 < len(raw):
			b.WriteByte(c)
			i++
			c = raw[i]
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// shown writes a value for a person: titles of options, Yes and No, the text of a
// string, the literal of a number.
func shown(f *form.Field, value json.RawMessage) string {
	switch f.Kind {
	case form.Boolean:
		switch compact(value) {
		case "true":
			return "Yes"
		case "false":
			return "No"
		}
	case form.Choice:
		return optionTitle(f, value)
	case form.Choices:
		var items []json.RawMessage
		if json.Unmarshal(value, &items) == nil {
			titles := make([]string, len(items))
			for i, item := range items {
				titles[i] = optionTitle(f, item)
			}
			return strings.Join(titles, ", ")
		}
	}
	return text(value)
}

// optionTitle writes the title and, where it says something else, the value sent.
func optionTitle(f *form.Field, value json.RawMessage) string {
	for _, o := range f.Options {
		if same(value, o.Raw) && o.Title != o.Value {
			return plain.Line(o.Title, maxShown) + " (" + plain.Line(o.Value, maxShown) + ")"
		}
	}
	return text(value)
}

// text is the content of a string, and any other value as written.
func text(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil && len(value) > 0 && value[0] == '"' {
		clean, _ := plain.Text(s, maxShown)
		return clean
	}
	clean, _ := plain.Text(string(value), maxShown)
	return clean
}

// input turns content back into what a person would have typed, to fill a form in.
func input(schema *form.Schema, content json.RawMessage) form.Input {
	if len(content) == 0 {
		return nil
	}
	sent := members(content)
	in := form.Input{}
	for _, f := range schema.Fields() {
		value, ok := sent[f.Name]
		if !ok {
			continue
		}
		var one string
		var several []json.RawMessage
		switch {
		case f.Kind == form.Choices && json.Unmarshal(value, &several) == nil:
			var ticked []string
			for _, item := range several {
				for _, o := range f.Options {
					if same(item, o.Raw) {
						ticked = append(ticked, o.Value)
					}
				}
			}
			in[f.Name] = form.Ticked(ticked...)
		case f.Kind != form.JSON && json.Unmarshal(value, &one) == nil && value[0] == '"':
			in[f.Name] = form.Typed(one)
		default:
			in[f.Name] = form.Typed(string(value))
		}
	}
	return in
}
