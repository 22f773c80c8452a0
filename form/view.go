package form

import (
	"strings"
)

// A View is what every surface draws: a browser, a page without scripts, a
// terminal. Texts are cleaned (one line, invisible characters written out) but still a
// server's words: show them as text, never as markup.
type View struct {
	Fields []ViewField `json:"fields"`
	// Confirm is true for a form without fields: the action is the answer.
	Confirm bool `json:"confirm"`
	// Problem says why Send is impossible, "" when it is not. Declining and
	// cancelling always are possible.
	Problem string `json:"problem"`
	// LeftOut are optional fields that cannot be drawn and are not asked.
	LeftOut []LeftOut `json:"left_out"`
	// Notes say what else differs from what the server sent.
	Notes []Note `json:"notes"`
}

// A ViewField is one control with all that belongs to it.
type ViewField struct {
	Name    string  `json:"name"`
	Label   string  `json:"label"`
	Hint    string  `json:"hint"`
	Control Control `json:"control"`
	// Required is false also for a required field that may be left blank, since
	// it may be null, or says that "" is an answer (see Coerce).
	Required bool         `json:"required"`
	Options  []ViewOption `json:"options,omitempty"`
	// Filter asks for a filter box above the options.
	Filter bool `json:"filter"`
	// The bounds of numbers are literals; "" or absent means none.
	Minimum          string `json:"minimum,omitempty"`
	Maximum          string `json:"maximum,omitempty"`
	ExclusiveMinimum string `json:"exclusive_minimum,omitempty"`
	ExclusiveMaximum string `json:"exclusive_maximum,omitempty"`
	MultipleOf       string `json:"multiple_of,omitempty"`
	MinLength        *int   `json:"min_length,omitempty"` // code points
	MaxLength        *int   `json:"max_length,omitempty"`
	MinItems         *int   `json:"min_items,omitempty"`
	MaxItems         *int   `json:"max_items,omitempty"`
	// Pattern is a server's pattern, in ECMA-262. Do not run it in an engine
	// that backtracks: it can be made to take for ever.
	Pattern         string `json:"pattern,omitempty"`
	PatternEnforced bool   `json:"pattern_enforced"`
	Format          string `json:"format,omitempty"`
	// Default is what the control starts with, nil for nothing.
	Default      *Entry `json:"default,omitempty"`
	Multiline    bool   `json:"multiline"`
	InputMode    string `json:"input_mode,omitempty"`
	Autocomplete string `json:"autocomplete,omitempty"`
	// EmptyAllowed is true where a person may send "" on purpose (Empty).
	EmptyAllowed bool   `json:"empty_allowed"`
	Problem      string `json:"problem,omitempty"`
	// Secret asks to warn that the field seems to ask for a secret. View never
	// sets it: that is a judgement of words, which package lint makes.
	Secret bool `json:"secret"`
}

// A ViewOption is one choice.
type ViewOption struct {
	Value string `json:"value"`
	Label string `json:"label"`
	Hint  string `json:"hint,omitempty"`
	// ShowValue asks to show the value beside the label, since the label
	// alone could be taken for another one. The entry of an option whose
	// Value is "" is Empty.
	ShowValue bool `json:"show_value"`
}

// LeftOut is a field that is not asked, and why.
type LeftOut struct {
	Name    string `json:"name"`
	Label   string `json:"label"`
	Problem string `json:"problem"`
}

// A Note is a remark about one field.
type Note struct {
	Name string `json:"name"`
	Code string `json:"code"` // default_dropped, pattern_not_enforced, format_not_known
	Text string `json:"text"`
}

// A Control names the kind of control that is drawn.
type Control string

const (
	ControlText        Control = "text"
	ControlTextarea    Control = "textarea"
	ControlEmail       Control = "email"
	ControlURI         Control = "uri"
	ControlInteger     Control = "integer"
	ControlNumber      Control = "number"
	ControlBoolean     Control = "boolean"
	ControlDate        Control = "date"
	ControlDateTime    Control = "date-time"
	ControlChoice      Control = "choice"
	ControlChoices     Control = "choices"
	ControlJSON        Control = "json"
	ControlUnsupported Control = "unsupported"
)

// Texts longer than this are cut, in characters: a shared $ref may multiply
// them.
const (
	maxLabel = 300
	maxHint  = 5000
)

// manyOptions is where a filter box begins to help.
const manyOptions = 10

// View gives the drawing model.
func (s *Schema) View() *View {
	v := &View{Fields: []ViewField{}, LeftOut: []LeftOut{}, Notes: []Note{}, Confirm: s.IsConfirm()}
	for i := range s.fields {
		f := &s.fields[i]
		if f.Kind == Unsupported {
			if !f.Required {
				v.LeftOut = append(v.LeftOut, LeftOut{f.Name, f.Label(), f.Problem})
				continue
			}
			if v.Problem == "" {
				v.Problem = "“" + clip(f.Label(), 80) + "” must be answered and cannot be shown: " + f.Problem
			}
		}
		v.Fields = append(v.Fields, f.view(v))
	}
	if len(s.undeclared) > 0 && v.Problem == "" {
		v.Problem = "The form demands “" + clip(readable(s.undeclared[0]), 80) + "” and does not say what it is"
	}
	return v
}

func (f *Field) view(v *View) ViewField {
	note := func(code, text string) { v.Notes = append(v.Notes, Note{f.Name, code, text}) }
	d := ViewField{
		Name: f.Name, Label: clip(f.Label(), maxLabel), Hint: clip(cleanBlock(head(f.Description)), maxHint),
		Required: f.Required && !f.Nullable && !f.blankIsText(),
		Minimum:  string(f.Minimum), Maximum: string(f.Maximum),
		ExclusiveMinimum: string(f.ExclusiveMinimum), ExclusiveMaximum: string(f.ExclusiveMaximum),
		MultipleOf: string(f.MultipleOf),
		MinLength:  f.MinLength, MaxLength: f.MaxLength, MinItems: f.MinItems, MaxItems: f.MaxItems,
		Pattern: f.Pattern, PatternEnforced: f.PatternEnforced, Format: f.Format,
		Problem: f.Problem,
	}
	switch f.Kind {
	case Text:
		d.Control, d.Autocomplete = ControlText, "off"
		switch f.Format {
		case "email":
			d.Control, d.InputMode, d.Autocomplete = ControlEmail, "email", "email"
		case "uri":
			d.Control, d.InputMode = ControlURI, "url"
		case "date":
			d.Control = ControlDate
		case "date-time":
			d.Control = ControlDateTime
		default:
			if f.Format != "" {
				note("format_not_known", "The format "+clip(clean(f.Format), 40)+" is not known here and not checked")
			}
			if f.long() {
				d.Control, d.Multiline = ControlTextarea, true
			}
		}
		if f.Pattern != "" && !f.PatternEnforced {
			note("pattern_not_enforced", "The server checks the form of this answer by a rule that cannot be checked here")
		}
		d.EmptyAllowed = f.Required && (f.MinLength == nil || *f.MinLength == 0) &&
			formatCode(f.Format, "") == "" && (f.re == nil || f.re.MatchString(""))
	case Integer:
		d.Control, d.Autocomplete = ControlInteger, "off"
		if f.min.set && !f.min.neg || f.xmin.set && !f.xmin.neg {
			d.InputMode = "numeric"
		}
	case Number:
		d.Control, d.InputMode, d.Autocomplete = ControlNumber, "decimal", "off"
	case Boolean:
		d.Control = ControlBoolean
	case Choice, Choices:
		d.Control = ControlChoice
		if f.Kind == Choices {
			d.Control = ControlChoices
		}
		d.Options = f.viewOptions()
		d.Filter = len(d.Options) > manyOptions
	case JSON:
		d.Control, d.Multiline = ControlJSON, true
	default:
		d.Control = ControlUnsupported
		return d
	}
	switch {
	case f.DefaultUsable:
		if e := f.entry(f.Default); !e.blank() {
			d.Default = &e
		}
	case f.Default != nil && string(f.Default) != "null" && string(f.Default) != `""`:
		note("default_dropped", "The suggested answer does not fit the server's own rules and was left out")
	}
	return d
}

// blankIsText is true where a blank entry of a required field is sent as "".
func (f *Field) blankIsText() bool {
	return f.explicitEmpty || f.Kind == Text && f.DefaultUsable && string(f.Default) == `""`
}

// long is true for text that wants several lines: room for more than 200
// characters, or no bound and words that ask for prose.
func (f *Field) long() bool {
	if f.MaxLength != nil {
		return *f.MaxLength > 200
	}
	if f.Pattern != "" || f.Format != "" {
		return false
	}
	for _, s := range [...]string{f.Name, f.Title, f.Description} {
		for _, w := range words(s) {
			switch strings.ToLower(strings.Trim(w, ".,;:!?()")) {
			case "describe", "description", "explain", "explanation", "details", "notes", "comment", "comments",
				"feedback", "instructions", "message", "summary", "paragraph", "story":
				return true
			}
		}
	}
	return false
}

// viewOptions labels the options. A label that is missing, has characters that
// are not visible, or looks like another option's, is shown with its value.
func (f *Field) viewOptions() []ViewOption {
	out := make([]ViewOption, 0, len(f.Options))
	looks := map[string]int{}
	same := map[[2]string]bool{}
	for _, o := range f.Options {
		label := clip(clean(o.Title), maxLabel)
		if same[[2]string{o.Value, label}] {
			continue // sent twice
		}
		same[[2]string{o.Value, label}] = true
		empty := label == ""
		if empty {
			if label = clip(clean(o.Value), maxLabel); label == "" {
				label = "(empty)"
			}
		}
		looks[skeleton(label)]++
		out = append(out, ViewOption{Value: o.Value, Label: label, Hint: clip(cleanBlock(head(o.Description)), maxLabel), ShowValue: empty || strings.ContainsFunc(o.Title, hidden)})
	}
	for i := range out {
		if looks[skeleton(out[i].Label)] > 1 {
			out[i].ShowValue = true
		}
	}
	return out
}
