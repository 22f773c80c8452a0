package elicit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// revision is a revision of the protocol, as far as forms differ.
type revision int

const (
	rev20250618 revision = iota
	rev20251125
	rev20260728
)

// maxBooleans is how many choices become a boolean each where a revision has
// no lists.
const maxBooleans = 10

// writeSchema returns the requestedSchema of the fields, in their order. The
// bytes go out as they are.
func writeSchema(fields []field, rev revision) (json.RawMessage, error) {
	if rev == rev20250618 {
		var err error
		if fields, err = reduce(fields); err != nil {
			return nil, err
		}
	}
	w := &objectWriter{}
	w.string("type", "object")
	properties, required := &objectWriter{}, []string{}
	for i := range fields {
		properties.raw(fields[i].name, fields[i].schema(rev))
		if fields[i].required {
			required = append(required, fields[i].name)
		}
	}
	w.raw("properties", properties.close())
	if len(required) > 0 {
		w.value("required", required)
	}
	return w.close(), nil
}

func (f *field) schema(rev revision) json.RawMessage {
	w := &objectWriter{}
	w.string("type", [...]string{"string", "integer", "number", "boolean", "string", "array"}[f.kind])
	if f.title != "" {
		w.string("title", f.title)
	}
	if f.description != "" {
		w.string("description", f.description)
	}
	w.number("minLength", f.minLength)
	w.number("maxLength", f.maxLength)
	if f.format != "" {
		w.string("format", f.format)
	}
	w.number("minimum", f.minimum)
	w.number("maximum", f.maximum)
	w.number("minItems", f.minItems)
	w.number("maxItems", f.maxItems)
	switch f.kind {
	case kindChoice:
		f.writeOptions(w, "oneOf", rev)
	case kindChoices:
		items := &objectWriter{}
		if !titled(f.options) {
			// Only the untitled form has a type in the schema of the
			// specification; with titles it is anyOf alone.
			items.string("type", "string")
		}
		f.writeOptions(items, "anyOf", rev)
		w.raw("items", items.close())
	}
	if f.fallback != nil {
		w.raw("default", f.fallback)
	}
	return w.close()
}

func (f *field) writeOptions(w *objectWriter, combiner string, rev revision) {
	if titled(f.options) && rev > rev20250618 {
		branches := make([]json.RawMessage, len(f.options))
		for i, option := range f.options {
			branch := &objectWriter{}
			branch.string("const", option.Value)
			branch.string("title", option.label())
			branches[i] = branch.close()
		}
		w.value(combiner, branches)
		return
	}
	values, names := make([]string, len(f.options)), make([]string, len(f.options))
	for i, option := range f.options {
		values[i], names[i] = option.Value, option.label()
	}
	w.value("enum", values)
	if titled(f.options) {
		w.value("enumNames", names)
	}
}

func (o Option) label() string {
	if o.Title == "" {
		return o.Value
	}
	return o.Title
}

func titled(options []Option) bool {
	return slices.ContainsFunc(options, func(o Option) bool { return o.Title != "" && o.Title != o.Value })
}

// reduce rewrites fields for MCP 2025-06-18, "Supported Schema Types": no
// arrays, and defaults for booleans only. A list becomes one boolean per
// option; the default of everything else moves into the description.
func reduce(fields []field) ([]field, error) {
	var reduced []field
	for _, f := range fields {
		if f.kind != kindChoices {
			if f.kind != kindBoolean && f.fallback != nil {
				f.description = join(f.description, "Default: "+f.showDefault()+".")
				f.fallback = nil
			}
			reduced = append(reduced, f)
			continue
		}
		if len(f.options) > maxBooleans {
			return nil, fmt.Errorf("%q offers more than %d choices at once, which MCP 2025-06-18 cannot ask", f.name, maxBooleans)
		}
		var chosen []string
		if f.fallback != nil {
			_ = json.Unmarshal(f.fallback, &chosen) // checked with the full schema
		}
		for i, option := range f.options {
			boolean := field{
				name:        f.booleanName(i),
				kind:        kindBoolean,
				title:       heading(f.title, f.name) + ": " + option.label(),
				description: f.description,
			}
			if f.fallback != nil {
				boolean.fallback = strconv.AppendBool(nil, slices.Contains(chosen, option.Value))
			}
			if i == 0 {
				boolean.description = join(f.description, f.countHint())
			}
			reduced = append(reduced, boolean)
		}
	}
	names := make(map[string]bool, len(reduced))
	for _, f := range reduced {
		if names[f.name] {
			return nil, fmt.Errorf("%q is the name of two fields in MCP 2025-06-18", f.name)
		}
		names[f.name] = true
	}
	return reduced, nil
}

// booleanName names the boolean that stands for option i of a list. Values may
// be any text, so the name counts instead.
func (f *field) booleanName(i int) string { return f.name + "_" + strconv.Itoa(i+1) }

func (f *field) countHint() string {
	switch {
	case f.minItems != "" && f.maxItems != "":
		return "Choose " + f.minItems + " to " + f.maxItems + "."
	case f.minItems != "":
		return "Choose at least " + f.minItems + "."
	case f.maxItems != "":
		return "Choose at most " + f.maxItems + "."
	}
	return "Choose any number."
}

func (f *field) showDefault() string {
	var text string
	if json.Unmarshal(f.fallback, &text) != nil {
		return string(f.fallback)
	}
	for _, option := range f.options {
		if option.Value == text {
			return option.label()
		}
	}
	return text
}

// expand turns an answer to the reduced form back into an answer to the full
// one. Members it does not know stay as they are.
func expand(fields []field, answer map[string]json.RawMessage) error {
	for i := range fields {
		f := &fields[i]
		if f.kind != kindChoices {
			continue
		}
		chosen, given := []string{}, false
		for n, option := range f.options {
			name := f.booleanName(n)
			raw, ok := answer[name]
			if !ok {
				continue
			}
			delete(answer, name)
			given = true
			switch string(bytes.TrimSpace(raw)) {
			case "true":
				chosen = append(chosen, option.Value)
			case "false":
			default:
				return fmt.Errorf("%q is not true or false", name)
			}
		}
		// Nothing at all: the default of the list counts, if it has one.
		if given || f.required && f.fallback == nil {
			text, err := json.Marshal(chosen)
			if err != nil {
				return err
			}
			answer[f.name] = text
		}
	}
	return nil
}

func heading(title, name string) string {
	if title == "" {
		return name
	}
	return title
}

func join(text, more string) string { return strings.TrimSpace(text + " " + more) }

// objectWriter writes a JSON object with its members in the order of the calls.
type objectWriter struct{ buf bytes.Buffer }

func (w *objectWriter) raw(key string, value json.RawMessage) {
	if w.buf.Len() == 0 {
		w.buf.WriteByte('{')
	} else {
		w.buf.WriteByte(',')
	}
	w.buf.Write(appendString(nil, key))
	w.buf.WriteByte(':')
	w.buf.Write(value)
}

func (w *objectWriter) string(key, value string) { w.raw(key, appendString(nil, value)) }

// number writes a number literal as it is, and nothing for an empty one.
func (w *objectWriter) number(key, literal string) {
	if literal != "" {
		w.raw(key, json.RawMessage(literal))
	}
}

// value writes a value that always marshals: lists of strings and of raw JSON
// that this file wrote.
func (w *objectWriter) value(key string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	w.raw(key, text)
}

func (w *objectWriter) close() json.RawMessage {
	if w.buf.Len() == 0 {
		return json.RawMessage("{}")
	}
	w.buf.WriteByte('}')
	return w.buf.Bytes()
}
