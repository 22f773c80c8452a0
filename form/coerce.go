package form

import (
	"encoding/json"
	"slices"
	"strings"
)

// Coerce turns what a person typed into the JSON that is sent: fields in the
// schema's order, numbers digit for digit as typed. It applies the same checks
// as Check, so what it gives without errors Check accepts. With errors content
// is nil.
//
// A blank entry of an optional field leaves the field out. A blank entry of a
// required field is an error, except where the schema says "": by minLength 0,
// by a default of "", or by the entry Empty. A required field that may be null
// is sent as null.
func (s *Schema) Coerce(in Input) ([]byte, Errors) {
	var errs Errors
	values := make([]json.RawMessage, len(s.fields))
	for i := range s.fields {
		f := &s.fields[i]
		raw, err := s.coerce(f, in[f.Name])
		if err != nil {
			errs = append(errs, *err)
			continue
		}
		if raw == nil {
			continue
		}
		if bad := s.checkOne(f, raw); bad != nil {
			errs = append(errs, bad...)
			continue
		}
		values[i] = raw
	}
	var unknown []string
	for name := range in {
		if _, ok := s.index[name]; !ok {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		if len(errs) >= maxErrors {
			break
		}
		errs = append(errs, Error{Field: name, Pointer: join(name), Code: CodeUnknownField,
			Text: "“" + clip(clean(name), 80) + "” was not asked for"})
	}
	for _, name := range s.undeclared {
		f := Field{Name: name, Kind: Unsupported}
		errs = append(errs, f.fail(CodeRequired, nil))
	}
	if len(errs) > 0 {
		return nil, s.sortErrors(errs)
	}
	content := s.build(values, nil)
	if limit := s.maxContent(); len(content) > limit {
		return nil, Errors{whole("The answer is too large", CodeTooLarge, map[string]any{"max": limit})}
	}
	return content, nil
}

// coerce gives the JSON of one entry, nil for no answer.
func (s *Schema) coerce(f *Field, e Entry) (json.RawMessage, *Error) {
	fail := func(code string) (json.RawMessage, *Error) {
		err := f.fail(code, nil)
		return nil, &err
	}
	if f.Kind == Unsupported {
		if e.blank() {
			if f.Required {
				return fail(CodeRequired)
			}
			return nil, nil
		}
		return fail(CodeUnsupported)
	}
	if f.Kind == Choices {
		return s.coerceChoices(f, e)
	}
	if len(e.values) > 1 {
		err := f.fail(CodeType, map[string]any{"want": f.want()})
		return nil, &err
	}
	text := e.Text()
	if f.Kind == Choice {
		if text == "" && !e.empty {
			return f.nothing()
		}
		if i, ok := f.byValue[text]; ok {
			return f.Options[i].Raw, nil
		}
		return fail(CodeNotAnOption)
	}
	if f.Kind == Text {
		return f.coerceText(text, e.empty)
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return f.nothing()
	}
	switch f.Kind {
	case Boolean:
		if text != "true" && text != "false" {
			err := f.fail(CodeType, map[string]any{"want": f.want()})
			return nil, &err
		}
		return json.RawMessage(text), nil
	case Integer, Number:
		lit, code := parseTyped(text, f.Kind == Integer)
		if code != "" {
			return fail(code)
		}
		return json.RawMessage(lit), nil
	}
	return json.RawMessage(text), nil // JSON: checkOne reads it
}

// nothing is the answer of a person who gave none.
func (f *Field) nothing() (json.RawMessage, *Error) {
	switch {
	case !f.Required:
		return nil, nil
	case f.Nullable:
		return json.RawMessage("null"), nil
	}
	err := f.fail(CodeRequired, nil)
	return nil, &err
}

func (f *Field) coerceText(text string, empty bool) (json.RawMessage, *Error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	// An untouched default goes back as it came, spaces and all.
	if f.DefaultUsable && f.Default[0] == '"' {
		def := string(unescape(f.Default[1 : len(f.Default)-1]))
		if strings.ReplaceAll(def, "\r\n", "\n") == text && (text != "" || f.Required) {
			return f.Default, nil
		}
	}
	text = strings.TrimSpace(text)
	if text != "" {
		return quote(text), nil
	}
	if f.Required && (empty && (f.MinLength == nil || *f.MinLength == 0) || f.blankIsText()) {
		return json.RawMessage(`""`), nil
	}
	return f.nothing()
}

func (s *Schema) coerceChoices(f *Field, e Entry) (json.RawMessage, *Error) {
	vals := e.values
	if !e.list && e.Text() == "" && !e.empty {
		vals = nil
	}
	if e.empty {
		vals = []string{""}
	}
	ticked := make([]bool, len(f.Options))
	n := 0
	for _, v := range vals {
		i, ok := f.byValue[v]
		if !ok {
			err := f.fail(CodeNotAnOption, nil)
			return nil, &err
		}
		if !ticked[i] {
			ticked[i] = true
			n++
		}
	}
	if n == 0 {
		switch {
		case !f.Required:
			return nil, nil
		case f.Nullable:
			return json.RawMessage("null"), nil
		case f.MinItems == nil || *f.MinItems == 0:
			return json.RawMessage("[]"), nil // an empty list is an answer
		}
		err := f.fail(CodeRequired, nil)
		return nil, &err
	}
	out := []byte{'['}
	for i, on := range ticked {
		if !on {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, f.Options[i].Raw...)
	}
	return append(out, ']'), nil
}
