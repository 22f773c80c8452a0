package form

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Input is what a person typed and ticked, by field name. In JSON a value is a
// string, or an array of strings for Choices. A blank or absent value is no
// answer.
type Input map[string]Entry

// An Entry is the state of one control. The zero Entry is no answer.
type Entry struct {
	values []string
	list   bool
	empty  bool
}

// Typed is the entry of a control with one value: the text as it was typed,
// "true" or "false" for a boolean, Option.Value for a choice.
func Typed(text string) Entry { return Entry{values: []string{text}} }

// Ticked is the entry of a control with several values: the Option.Value of
// each. The values of an HTML form can be given as they come.
func Ticked(values ...string) Entry {
	return Entry{values: append([]string{}, values...), list: true}
}

// Empty is the entry of a person who wants "" to be sent. In JSON it is
// {"empty":true}. It counts only where the field is required and "" is legal,
// or "" is an option.
func Empty() Entry { return Entry{empty: true} }

// Text is the single value, or "".
func (e Entry) Text() string {
	if len(e.values) > 0 {
		return e.values[0]
	}
	return ""
}

// Values are the ticked values.
func (e Entry) Values() []string { return e.values }

func (e Entry) blank() bool {
	return !e.empty && (len(e.values) == 0 || !e.list && e.values[0] == "")
}

// MarshalJSON writes a string, an array of strings, or {"empty":true}.
func (e Entry) MarshalJSON() ([]byte, error) {
	switch {
	case e.empty:
		return []byte(`{"empty":true}`), nil
	case e.list:
		return json.Marshal(e.values)
	}
	return json.Marshal(e.Text())
}

var errEntry = errors.New("an entry is a string or an array of strings")

// UnmarshalJSON reads what MarshalJSON writes; null is no answer.
func (e *Entry) UnmarshalJSON(b []byte) error {
	*e = Entry{}
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return errEntry
	}
	switch b[0] {
	case '"':
		e.values = []string{""}
		return json.Unmarshal(b, &e.values[0])
	case '[':
		e.list, e.values = true, []string{}
		return json.Unmarshal(b, &e.values)
	case '{':
		var v struct {
			Empty bool `json:"empty"`
		}
		if err := json.Unmarshal(b, &v); err != nil || !v.Empty {
			return errEntry
		}
		e.empty = true
		return nil
	case 'n':
		return nil
	}
	return errEntry
}
