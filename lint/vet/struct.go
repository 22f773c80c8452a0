package vet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/token"
	"go/types"
	"reflect"
	"strconv"
	"strings"
)

// A place is where a field of a form is declared.
type place struct {
	pos       token.Pos
	notSecret bool // by the tag: the author says that it only looks like one
}

// A fault is a field that the kit refuses at run time.
type fault struct {
	pos        token.Pos
	code, text string
}

// readStruct writes the schema that package elicit makes of a struct, as far
// as it is known from the source. Fields that are chosen at run time get one
// choice that stands for all.
func readStruct(s *types.Struct, chosen map[string]bool) (schema []byte, places map[string]place, bad []fault) {
	places = map[string]place{}
	var props bytes.Buffer
	var required []string
	for i := range s.NumFields() {
		f := s.Field(i)
		tag := reflect.StructTag(s.Tag(i))
		settings := tag.Get("elicit")
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		if settings == "-" || name == "-" || !f.Exported() && !f.Embedded() {
			continue
		}
		if f.Embedded() {
			bad = append(bad, fault{f.Pos(), "form-type", "a form is flat: write the fields of embedded " + f.Name() + " out"})
			continue
		}
		if name == "" {
			name = f.Name()
		}
		if _, twice := places[name]; twice {
			bad = append(bad, fault{f.Pos(), "form-tag", fmt.Sprintf("two fields are named %q", name)})
			continue
		}
		p := &property{chosen: chosen[name]}
		if text := p.fromType(f.Type()); text != "" {
			bad = append(bad, fault{f.Pos(), "form-type", text})
			continue
		}
		if text := p.fromTag(settings); text != "" {
			bad = append(bad, fault{f.Pos(), "form-tag", fmt.Sprintf("tag of %s: %s", f.Name(), text)})
			continue
		}
		places[name] = place{f.Pos(), p.notSecret}
		if props.Len() > 0 {
			props.WriteByte(',')
		}
		writeJSON(&props, name)
		props.WriteByte(':')
		p.write(&props, tag.Get("title"), tag.Get("description"))
		if !p.optional {
			required = append(required, name)
		}
	}
	var out bytes.Buffer
	out.WriteString(`{"type":"object","properties":{`)
	out.Write(props.Bytes())
	out.WriteByte('}')
	if len(required) > 0 {
		out.WriteString(`,"required":`)
		writeJSON(&out, required)
	}
	out.WriteByte('}')
	return out.Bytes(), places, bad
}

// A property is one field on its way into the schema.
type property struct {
	typ       string // of JSON Schema
	list      bool
	chosen    bool // at run time
	optional  bool
	notSecret bool
	format    string
	isTime    bool
	min, max  string
	options   [][2]string // value, title
	fallback  json.RawMessage
}

func isNamed(t types.Type, path, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == path && n.Obj().Name() == name
}

// hasOptions is true for a type that lists its own choices.
func hasOptions(t types.Type) bool {
	obj, _, _ := types.LookupFieldOrMethod(t, false, nil, "Options")
	_, ok := obj.(*types.Func)
	return ok
}

// sized are the integers whose type is a bound.
var sized = map[types.BasicKind]int{
	types.Int8: 8, types.Int16: 16, types.Int32: 32, types.Uint8: 8, types.Uint16: 16, types.Uint32: 32,
}

func (p *property) fromType(t types.Type) string {
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		p.optional = true
		t = ptr.Elem()
	}
	if isNamed(t, "time", "Time") {
		p.typ, p.format, p.isTime = "string", "date-time", true
		return ""
	}
	if isNamed(t, "encoding/json", "Number") {
		p.typ = "number"
		return ""
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		info := u.Info()
		switch {
		case u.Kind() == types.String:
			p.typ = "string"
			p.chosen = p.chosen || hasOptions(t)
			return ""
		case u.Kind() == types.Bool:
			p.typ = "boolean"
			return ""
		case info&types.IsUnsigned != 0 && u.Kind() != types.Uintptr:
			p.typ, p.min = "integer", "0"
			if bits := sized[u.Kind()]; bits > 0 {
				p.max = strconv.FormatUint(1<<bits-1, 10)
			}
			return ""
		case info&types.IsInteger != 0 && u.Kind() != types.Uintptr:
			p.typ = "integer"
			if bits := sized[u.Kind()]; bits > 0 {
				p.min = strconv.FormatInt(-1<<(bits-1), 10)
				p.max = strconv.FormatInt(1<<(bits-1)-1, 10)
			}
			return ""
		case info&types.IsFloat != 0:
			p.typ = "number"
			return ""
		}
	case *types.Slice:
		if e, ok := u.Elem().Underlying().(*types.Basic); ok && e.Kind() == types.String && !isNamed(u.Elem(), "encoding/json", "Number") {
			p.typ, p.list, p.chosen = "array", true, true
			return ""
		}
	}
	return "a form cannot ask for " + types.TypeString(t, func(*types.Package) string { return "" })
}

// fromTag reads the settings as package elicit does.
func (p *property) fromTag(tag string) string {
	var fallback string
	hasDefault := false
	for _, setting := range splitTag(tag, ',') {
		key, value, hasValue := strings.Cut(setting, "=")
		key = strings.TrimSpace(key)
		if key == "" {
			continue
		}
		if hasValue == (key == "optional" || key == "notsecret") {
			return fmt.Sprintf("%q: want key=value, or optional or notsecret", key)
		}
		switch key {
		case "optional":
			p.optional = true
		case "notsecret":
			p.notSecret = true
		case "min", "max":
			if _, err := strconv.ParseFloat(value, 64); err != nil || !json.Valid([]byte(value)) {
				return fmt.Sprintf("%s: %q is not a number", key, value)
			}
			if key == "min" {
				p.min = value
			} else {
				p.max = value
			}
		case "format":
			if p.typ != "string" || p.isTime {
				return "format: only a string has a format"
			}
			switch value {
			case "email", "uri", "date", "date-time":
				p.format = value
			default:
				return fmt.Sprintf("format %q: want email, uri, date or date-time", value)
			}
		case "options":
			if p.typ != "string" && p.typ != "array" {
				return "options: only strings have options"
			}
			p.chosen, p.options = false, nil
			for _, option := range splitTag(value, '|') {
				v, title, _ := strings.Cut(option, ":")
				p.options = append(p.options, [2]string{v, title})
			}
		case "default":
			fallback, hasDefault = value, true
		default:
			return fmt.Sprintf("%q: unknown setting", key)
		}
	}
	if !hasDefault || p.chosen {
		return ""
	}
	var b bytes.Buffer
	switch {
	case p.list:
		writeJSON(&b, splitTag(fallback, '|'))
	case p.typ == "string":
		writeJSON(&b, fallback)
	case !json.Valid([]byte(fallback)):
		return fmt.Sprintf("default: %q is not a value of this field", fallback)
	default:
		b.WriteString(fallback)
	}
	p.fallback = b.Bytes()
	return ""
}

// placeholder stands for choices that are known at run time only.
var placeholder = [][2]string{{"one", "One"}, {"another", "Another"}}

func (p *property) write(b *bytes.Buffer, title, description string) {
	b.WriteString(`{"type":`)
	writeJSON(b, p.typ)
	member := func(key string, value any) {
		b.WriteByte(',')
		writeJSON(b, key)
		b.WriteByte(':')
		writeJSON(b, value)
	}
	if title != "" {
		member("title", title)
	}
	if description != "" {
		member("description", description)
	}
	if p.format != "" {
		member("format", p.format)
	}
	low, high := "minimum", "maximum"
	switch {
	case p.list:
		low, high = "minItems", "maxItems"
	case p.typ == "string":
		low, high = "minLength", "maxLength"
	}
	// How many choices there will be is not known, so neither are their bounds.
	if p.min != "" && !p.chosen {
		member(low, json.Number(p.min))
	}
	if p.max != "" && !p.chosen {
		member(high, json.Number(p.max))
	}
	options := p.options
	if p.chosen {
		options = placeholder
	}
	if options != nil {
		type option struct {
			Const string `json:"const"`
			Title string `json:"title"`
		}
		var list []option
		for _, o := range options {
			if o[1] == "" {
				o[1] = o[0]
			}
			list = append(list, option{o[0], o[1]})
		}
		if p.list {
			member("items", map[string]any{"anyOf": list})
		} else {
			member("oneOf", list)
		}
	}
	if p.fallback != nil {
		member("default", p.fallback)
	}
	b.WriteByte('}')
}

func writeJSON(b *bytes.Buffer, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		text = []byte("null") // not reached: texts, lists of them and checked literals
	}
	b.Write(text)
}

// splitTag splits at sep; a backslash before it takes it as it is.
func splitTag(tag string, sep byte) []string {
	var parts []string
	var part []byte
	for i := 0; i < len(tag); i++ {
		switch {
		case tag[i] == '\\' && i+1 < len(tag) && tag[i+1] == sep:
			i++
			part = append(part, sep)
		case tag[i] == sep:
			parts = append(parts, string(part))
			part = nil
		default:
			part = append(part, tag[i])
		}
	}
	return append(parts, string(part))
}
