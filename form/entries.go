package form

import "encoding/json"

// Entries is the way back from Coerce: it gives the entries that would lead
// to the content, for an earlier answer that is filled in again. Fields whose
// value is not legal here are left out.
func (s *Schema) Entries(content []byte) Input {
	values := make([]json.RawMessage, len(s.fields))
	if err := s.split(content, values, nil); err != nil {
		return Input{}
	}
	in := Input{}
	for i := range s.fields {
		f := &s.fields[i]
		if values[i] == nil || f.Kind == Unsupported || s.checkOne(f, values[i]) != nil {
			continue
		}
		if e := f.entry(values[i]); !e.blank() {
			in[f.Name] = e
		}
	}
	return in
}

// entry gives a legal value as it stands in its control.
func (f *Field) entry(raw json.RawMessage) Entry {
	sc := scanner{b: raw}
	kind, _ := sc.peek()
	switch {
	case f.Kind == JSON:
		return Typed(string(raw))
	case kind == jNull:
		return Entry{}
	case f.Kind == Choice:
		t, _ := sc.scalar(kind)
		if v := f.Options[f.option(&sc, kind, t)].Value; v != "" {
			return Typed(v)
		}
		return Empty()
	case f.Kind == Choices:
		e := Ticked()
		sc.i++
		for first := true; ; first = false {
			more, err := sc.next(']', first)
			if err != nil || !more {
				return e
			}
			kind, _ := sc.peek()
			t, _ := sc.scalar(kind)
			e.values = append(e.values, f.Options[f.option(&sc, kind, t)].Value)
		}
	case f.Kind == Integer:
		return Typed(string(plainInteger(raw)))
	case kind == jString:
		return Typed(string(unescape(raw[1 : len(raw)-1])))
	}
	return Typed(string(raw))
}

// A Line is one field of an answer as a person reads it.
type Line struct {
	Name  string `json:"name"`
	Label string `json:"label"`
	// Text is what was answered: the label of an option, Yes or No, the text
	// itself. "" is no answer.
	Text string `json:"text"`
	// Values are the labels of several choices.
	Values []string `json:"values,omitempty"`
}

// Lines gives an answer to read, for the review before it is sent and for the
// record after. Every field has a line; texts are cleaned like those of View.
func (s *Schema) Lines(content []byte) []Line {
	in := s.Entries(content)
	out := make([]Line, 0, len(s.fields))
	for i := range s.fields {
		f := &s.fields[i]
		l := Line{Name: f.Name, Label: clip(f.Label(), maxLabel)}
		e := in[f.Name]
		switch f.Kind {
		case Boolean:
			l.Text = map[string]string{"true": "Yes", "false": "No"}[e.Text()]
		case Choice:
			if !e.blank() {
				l.Text = f.optionText(e.Text())
			}
		case Choices:
			for _, v := range e.Values() {
				l.Values = append(l.Values, f.optionText(v))
			}
		default:
			l.Text = cleanBlock(e.Text())
		}
		out = append(out, l)
	}
	return out
}

func (f *Field) optionText(value string) string {
	if t := clean(f.Options[f.byValue[value]].Title); t != "" {
		return clip(t, maxLabel)
	}
	return "(empty)"
}
